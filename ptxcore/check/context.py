"""What every part of the checker shares: the module's version and target, the findings so far, the open scopes."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice

from ptxcore.check.symbols import Scopes
from ptxcore.diagnostics import Diagnostic, Span, brief, nearest
from ptxcore.isa.targets import NEWEST, Target, missing

#: Suggestions cost time, so only the first names that are not declared get one, among not too many.
_MOST_SUGGESTIONS = 16
_MOST_NAMES = 1000


def kind_of_need(lacking: str) -> str:
    """The code of a finding about what a module lacks, from its words (`ptxcore.isa.targets`)."""
    return "version" if "PTX ISA" in lacking else "target"


def quoted(what: str) -> str:
    """A word of the language in quotes; several words as they are."""
    return what if " " in what else f"'{what}'"


class Context:
    """State of one check. `version` and `target` are what the header says (None: no usable target); `manual` judges as
    the manual says where ptxas differs; `options` are the other words of `.target`.

    `later` is the version that the module says where it is later than all known ones: then `version` is the newest of these.

    `faulty` are the lines in which something could not be read; `headless` says that the head of the body that is open
    could not, so that names it may have declared are not known."""

    __slots__ = (
        "_suggestions", "faulty", "findings", "headless", "later", "manual", "options", "scopes", "target",
        "version",
    )  # fmt: skip

    def __init__(self, manual: bool, faulty: frozenset[int] = frozenset()) -> None:
        self.manual = manual
        self.faulty = faulty
        self.headless = False
        self.version = NEWEST  # until the header says something that can be used
        self.later: tuple[int, int] | None = None
        self.target: Target | None = None
        self.options: frozenset[str] = frozenset()
        self.findings: list[Diagnostic] = []
        self.scopes = Scopes()
        self._suggestions = _MOST_SUGGESTIONS

    def report(self, code: str, span: Span, message: str, hint: str | None = None) -> None:
        """Note an error; `code` is its kind (`ptxcore.findings`)."""
        self.findings.append(Diagnostic(span, brief(message), hint and brief(hint), code=code))

    def warn(self, code: str, span: Span, message: str, hint: str | None = None) -> None:
        """Note what the author should know, and what is no error."""
        self.findings.append(Diagnostic(span, brief(message), hint, "warning", code))

    def suggest(self, name: str, more: Iterable[str] = ()) -> str | None:
        """A declared name, or one of `more`, that is close to one that is not declared."""
        return self.suggest_among(name, self.scopes.known(), more) or self.scopes.range_hint(name)

    def suggest_among(self, name: str, known: Iterable[str], more: Iterable[str] = ()) -> str | None:
        """A name that is close, where there were not too many suggestions before."""
        if not self._suggestions:
            return None
        self._suggestions -= 1
        return nearest(name, (*islice(known, _MOST_NAMES), *more))

    def lacks(self, gate: str) -> str | None:
        """What the module lacks for `gate`, in words (`ptxcore.isa.targets`)."""
        return missing(gate, self.version, self.target)

    def gate(self, span: Span, what: str, gate: str) -> bool:
        """Report that `what` needs more than the module says; whether it has it."""
        lacking = self.lacks(gate)
        if lacking is not None:
            self.report(kind_of_need(lacking), span, f"{quoted(what)} {lacking}")
        return lacking is None

    def gone(self, span: Span, what: str, since: tuple[int, int], hint: str | None = None) -> bool:
        """Report that `what` was removed with PTX ISA `since`; whether it still stands."""
        if self.version < since:
            return True
        says = f"the module says {self.version[0]}.{self.version[1]}"
        self.report("version", span, f"{quoted(what)} is gone since PTX ISA {since[0]}.{since[1]}, {says}", hint)
        return False
