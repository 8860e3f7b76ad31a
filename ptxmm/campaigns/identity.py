"""What an answer hangs on: the test as it is written, the model with all that it includes, what was asked, and who answers. Two
questions of the same identity have the same answer; whoever changes any of it asks anew."""

from __future__ import annotations

import functools
import os
from collections.abc import Iterable
from hashlib import blake2b
from importlib import metadata
from typing import TYPE_CHECKING

from ptxcore.records import dataclass
from ptxmm import __version__
from ptxmm.checker import Settings

if TYPE_CHECKING:
    from axioms.cat.model import Model

_PACKAGES = ("ptxcore", "litmus", "axioms", "ptxmm")
_SOURCES = (".py", ".cat", ".lark")
#: They have no say in what holds, but in which execution is told of several.
_SOLVERS = ("z3-solver", "python-sat")
#: What is asked that changes no answer, or is part of an identity by itself.
_NO_PART = frozenset({"model", "timeout", "bounded_ok"})
#: What is left out where time is short, so that the time is part of the question.
_IF_THERE_IS_TIME = ("drawings", "explain", "why", "tell")


def hash_of(*parts: str | bytes) -> str:
    """The identity of some texts, in this order."""
    found = blake2b(digest_size=16)
    for part in parts:
        data = part.encode("utf-8", "surrogatepass") if isinstance(part, str) else part
        found.update(len(data).to_bytes(8, "big") + data)
    return found.hexdigest()


@functools.cache
def version() -> str:
    """Who answers: the version of ptxmm, and a hash of its source as it is here and of the versions of the solvers. A checkout
    in which something was changed is another one."""
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    found = blake2b(digest_size=6)
    for path in sorted(_sources(root)):
        with open(path, "rb") as file:
            data = file.read()
        found.update(f"{os.path.relpath(path, root).replace(os.sep, '/')} {len(data)}\n".encode() + data)
    for name in _SOLVERS:
        found.update(f"{name} {_version_of(name)}\n".encode())
    return f"{__version__}+{found.hexdigest()}"


def _sources(root: str) -> Iterable[str]:
    for package in _PACKAGES:
        for folder, _, names in os.walk(os.path.join(root, package)):
            yield from (os.path.join(folder, name) for name in names if name.endswith(_SOURCES))


def _version_of(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return "none"


@dataclass(frozen=True, slots=True)
class CampaignQuestion:
    """What is asked of a test: the name of a model and the `texts` of its files, `options` in words, the `version` of who
    answers."""

    model: str
    texts: tuple[tuple[str, str], ...]
    options: str
    version: str

    @property
    def identity(self) -> str:
        flat = [part for text in self.texts for part in text]
        return hash_of(self.model, self.options, self.version, *flat)


def question(settings: Settings, model: Model) -> CampaignQuestion:
    """What is asked with some settings, under the model that their name stands for now."""
    return CampaignQuestion(settings.model, model.sources, words(settings), version())


def words(settings: Settings) -> str:
    """What differs from what is asked unless said otherwise, sorted; empty where nothing does."""
    if settings.executions is None:  # of which there are documents
        settings = settings._replace(documents=False)
    if "txt" not in settings.drawings:  # pictures of characters, the only ones that are as wide as the terminal
        settings = settings._replace(width=Settings().width)
    usual = Settings()._asdict()
    found = {name: value for name, value in settings._asdict().items() if name not in _NO_PART and value != usual[name]}
    if any(found.get(name) for name in _IF_THERE_IS_TIME) and settings.timeout is not None:
        found["timeout"] = settings.timeout
    return " ".join(f"{name}={_word(value)}" for name, value in sorted(found.items()))


def _word(value: object) -> str:
    if isinstance(value, (frozenset, tuple)):
        return ",".join(sorted(map(str, value)))
    return str(value).replace(" ", "_")
