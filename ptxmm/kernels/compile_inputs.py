"""What the compiler looked at besides a source, so that it is known whether another compilation would see the same.

That is each file that was read, by its contents; and each name that the preprocessor may have looked for (what stands in
`#include`, `__has_include` and macros for them), in each folder where it looks: a header that comes later may stand before one
that was read, or answer a question. The compiler itself tells where it looks (`-v` of gcc and clang), whatever chose that:
options, those of the host's compiler, the environment. One that does not tell leaves the inputs unknown. A name that is put
together by a macro, of a header that is not there yet, is not seen.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterable, Sequence
from hashlib import sha256
from typing import Any

from ptxcore.records import NamedTuple

_LONGEST = 256 << 20  # bytes of a file
#: Seconds by which a file's time may be behind the clock.
_COARSE = 0.1
#: What a text may ask for that is another one each time.
_TIMES = re.compile(rb"__(?:DATE|TIME|TIMESTAMP)__")
#: Options that write dependencies themselves, and those that lead to a file of options, which no list of headers names.
_OWN = ("-M", "--generate-dependencies", "--generate-nonsystem", "--dependency", "-optf", "--options-file", "@")
#: What gcc and clang say of where they look, and of who they are.
_LISTS = re.compile(
    r'^#include (?:"\.\.\."|<\.\.\.>) search starts here:\n((?: .*\n|#include .*\n)*)End of search list', re.M
)
_FOLDER = re.compile(r'^ (.*)$|^ignoring (?:nonexistent|duplicate) directory "(.*)"$', re.M)
_TOOL = re.compile(r"^(?:COLLECT_GCC=|InstalledDir: )(.*)$", re.M)
#: Lines of directives, and names of files on them.
_DIRECTIVE = re.compile(rb"^.*(?:#|%:).*$", re.M)
_NAME = re.compile(rb'"([^"\n]+)"|<([^<>\n]+)>')
_CONTINUED = re.compile(rb"\\\r?\n")


class CompileInputs(NamedTuple):
    """`headers`: the files that were read besides the source, each with a hash of its contents; `folders`: where headers are
    looked for; `sought`: the names; `there`: a hash of which of them stood in which folder; `tools`: the host's compilers, each
    with what tells one version from another."""

    headers: tuple[tuple[str, str], ...]
    folders: tuple[str, ...]
    sought: tuple[str, ...]
    there: str
    tools: tuple[tuple[str, str], ...]

    def unchanged(self) -> bool:
        """Whether another compilation would see the same. Raises OSError where a file cannot be read, and what reading a
        damaged value raises."""
        return (
            all(tool_of(name) == known for name, known in self.tools)
            and all(_hash(name) == known for name, known in self.headers)
            and _there(self.folders, self.sought) == self.there
        )

    @classmethod
    def read(cls, data: Any) -> CompileInputs:
        """The value of what JSON makes of one. Raises TypeError and ValueError for what is none."""
        headers, folders, sought, there, tools = data
        pairs = tuple((str(name), str(known)) for name, known in headers)
        return cls(pairs, tuple(folders), tuple(sought), there, tuple((str(n), str(known)) for n, known in tools))


def untold(options: Iterable[str], flags: Iterable[str | None]) -> bool:
    """Whether what is compiled hangs on more than can be found out, by options and those that variables hold."""
    words = [part for option in options for part in option.split(",")]
    words += [word for held in flags if held for part in held.split(",") for word in part.split()]
    return any(word.startswith(_OWN) for word in words)


def telling(target: str) -> list[str]:
    """What the compiler must be told so that it writes which files it reads into `target`, and says where it looks."""
    return ["-MD", "-MF", target, "-Xcompiler", "-v"]


def inputs_of(path: str, source: bytes, target: str, printed: str, begun: float) -> CompileInputs | None:
    """What a compilation of a source looked at that `begun` then, wrote `target` and `printed` that; None where something
    changed meanwhile, where it is another one each time, or where the compiler does not tell. Raises OSError and ValueError."""
    folders = _searched(printed)
    names = _dependencies(target)
    if not folders or not names or contents(path) != source:
        return None
    texts = {name: source if _is(name, path) else contents(name) for name in names}
    if any(os.stat(name).st_mtime > begun - _COARSE for name in names):
        return None
    if any(_TIMES.search(text) for text in texts.values()):
        return None
    folders += [os.getcwd(), *(os.path.dirname(os.path.abspath(name)) for name in (path, *names))]
    looked = tuple(dict.fromkeys(folders))
    sought = tuple(sorted(_below(names, looked).union(*map(_named, texts.values()))))
    headers = tuple((name, _digest(text)) for name, text in texts.items() if not _is(name, path))
    tools = tuple((name, tool_of(name)) for name in dict.fromkeys(_TOOL.findall(printed)))
    return CompileInputs(headers, looked, sought, _there(looked, sought), tools)


def tool_of(name: str) -> str:
    """What tells a program, or the folder of one, from another that is there later. Raises OSError where it is gone."""
    found = os.path.realpath(shutil.which(name) or name)
    about = os.stat(found)
    return f"{found} {about.st_mtime_ns} {about.st_size}"


def contents(path: str) -> bytes:
    """Raises OSError."""
    with open(path, "rb") as file:
        data = file.read(_LONGEST + 1)
    if len(data) > _LONGEST:
        raise OSError("too long")
    return data


def _searched(printed: str) -> list[str]:
    """Where a compiler looks for headers, also where there is no such folder yet; nothing where it does not tell."""
    if not _LISTS.search(printed):
        return []
    return [os.path.abspath(listed or ignored) for listed, ignored in _FOLDER.findall(printed) if listed or ignored]


def _dependencies(target: str) -> list[str]:
    """The files that a compiler has read, as it wrote them for make. Raises OSError, and ValueError for what is none."""
    text = contents(target).decode("utf-8")
    rule = re.search(r":(?=\s)", text)
    if rule is None:
        raise ValueError("no rule")
    words = re.findall(
        r"(?:\\[ #\\]|\$\$|[^\s\\]|\\(?![\n\r #\\]))+", text[rule.end() :].replace("\\\r\n", " ").replace("\\\n", " ")
    )
    return list(dict.fromkeys(re.sub(r"\\([ #\\])|\$(\$)", r"\1\2", word) for word in words))


def _named(text: bytes) -> set[str]:
    """Every name of a file that a directive may look for, whether it does or not."""
    lines = b"\n".join(_DIRECTIVE.findall(_CONTINUED.sub(b" ", text)))
    return {(quoted or angled).decode("utf-8", "surrogateescape").strip() for quoted, angled in _NAME.findall(lines)}


def _below(names: Iterable[str], folders: Sequence[str]) -> set[str]:
    """The names by which files are found from folders that they are in, whatever macro made them."""
    found = set()
    for name in map(os.path.abspath, names):
        above = os.path.dirname(name)
        while above != os.path.dirname(above):
            if above in folders:
                found.add(os.path.relpath(name, above))
            above = os.path.dirname(above)
    return found


def _there(folders: Sequence[str], sought: Sequence[str]) -> str:
    """A hash of which names stand for something, in which folder."""
    by_first: dict[str, list[str]] = {}
    for name in sought:
        if "\0" not in name:
            by_first.setdefault(name.replace("\\", "/").split("/")[0], []).append(name)
    found = []
    for folder in folders:
        here = {*_listed(folder), *_ABOVE} & by_first.keys()
        found.append([n for first in sorted(here) for n in by_first[first] if os.path.exists(os.path.join(folder, n))])
    return _digest(repr(found).encode("utf-8", "surrogatepass"))


#: First parts of names that no folder lists: of absolute names, and of those that lead up.
_ABOVE = ("", ".", "..")


def _listed(name: str) -> Iterable[str]:
    try:
        return os.listdir(name)
    except OSError:
        return ()


def _hash(path: str) -> str:
    return _digest(contents(path))


def _digest(data: bytes) -> str:
    return sha256(data).hexdigest()


def _is(name: str, path: str) -> bool:
    return os.path.abspath(name) == os.path.abspath(path)
