"""An edit of PTX as an edit of the source that it was compiled from: compiled again, and checked again.

Each change has candidates; sets of them, one for each change, are tried in the order of their likelihood. The first whose
module checks is the answer.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise, product

from ptxcore.clock import OutOfTime
from ptxcore.machine.lower.inlining import calls_of
from ptxcore.records import dataclass
from ptxcore.sources import beside, read_bytes
from ptxcore.syntax.reader import read_module
from ptxmm.kernels.modules import ModuleError, bare, body_of, compile_changed
from ptxmm.repair.cuda.candidates import candidates
from ptxmm.repair.cuda.code import CudaCode
from ptxmm.repair.cuda.source_edits import Places, SourceEdits
from ptxmm.repair.judgement import Judgement
from ptxmm.repair.sites import MOVE, TextEdit, Wanted, edited

_LONGEST = 16 << 20  # bytes of a source
#: So many changed sources are compiled for one proposal; so many sets of candidates are put in order.
_MOST, _SETS = 24, 4096
#: So many more are looked at for one that is executed less often.
_FURTHER = 6
#: What is put in that costs something each time.
_MEETINGS = ("bar.", "barrier.", "fence.", "membar.")
_ENTRY = re.compile(r"(?<![\w$.])\.entry\s+([\w$]+)")
_REGISTER = re.compile(r"%[A-Za-z]+\d+")


@dataclass(frozen=True, slots=True)
class Rewritten:
    """The source with an edit that is proven: its `text`, and the `module` that nvcc makes of it. Or `why` there is none.
    `bounded`: what holds of it rests on bounds of loops; `late`: the time ran out."""

    path: str
    old: str = ""
    text: str = ""
    module: str = ""
    why: str = ""
    bounded: bool = False
    late: bool = False


class CudaSource:
    """A source in CUDA C++, or a header of one, and the module that it was compiled to, with the compiler's options."""

    def __init__(self, path: str, module: str, options: Sequence[str], source: str = "") -> None:
        """`source`: the file that was compiled, where that at `path` is a header of it. Raises OSError where it cannot be
        read."""
        self.path, self._source = path, source
        self._module, self._options = module, options
        text = read_bytes(path, _LONGEST, "CUDA source").decode("utf-8", "surrogateescape")
        self._text = text.replace("\r\n", "\n")
        self._code = CudaCode(self._text)

    def rewritten(self, changes: Sequence[Wanted], judge: Callable[[str], Judgement]) -> Rewritten:
        """The source with these changes of the module, as far as one is found of which `judge` says that it holds; or the
        header that the kernel, or what it calls, stands in."""
        tried: list[Rewritten] = []
        try:
            for path in self._files(changes):
                source = self if path == self.path else CudaSource(path, self._module, self._options, self.path)
                tried.append(source._here(changes, judge))
                if tried[-1].text or tried[-1].late:
                    return tried[-1]
        except OutOfTime:  # while it was looked up where an edit may stand
            return self._out_of_time()
        return tried[0]

    def _out_of_time(self) -> Rewritten:
        return Rewritten(self.path, self._text, why="out of time", late=True)

    def _here(self, changes: Sequence[Wanted], judge: Callable[[str], Judgement]) -> Rewritten:
        places = self._places({line for w in changes for line in (w.line, w.before) if line})
        several: list[list[SourceEdits]] = []
        for wanted in changes:
            found = candidates(self._code, wanted, places.get(wanted.line, ()), places.get(wanted.before, ()))
            if not found:
                return Rewritten(self.path, self._text, why=self._unknown(wanted, places.get(wanted.line, ())))
            several.append(found)
        tried = found_at = least = 0
        best = Rewritten(self.path, self._text)
        try:
            for text in self._texts(several):
                if tried == _MOST or (best.text and tried >= found_at + _FURTHER):
                    break
                tried += 1
                try:
                    module = compile_changed(text, self.path, self._options, self._source)
                except ModuleError as error:
                    if not error.details:  # no compiler
                        return Rewritten(self.path, self._text, why=error.message)
                    continue
                often = self._often(changes, module)
                if not self._faithful(changes, module) or (best.text and often >= least):
                    continue
                judged = judge(module)
                if judged.holds:
                    best = Rewritten(self.path, self._text, text, module, bounded=judged.bounded)
                    if often <= 1:
                        return best
                    least, found_at = often, tried
        except OutOfTime:
            return best if best.text else self._out_of_time()
        if best.text:
            return best
        where = ", ".join(dict.fromkeys(self._where(w, places.get(w.line, ())) for w in changes))
        return Rewritten(
            self.path, self._text, why=f"no edit at {where} is known that compiles to this and checks ({tried} tried)"
        )

    def _places(self, lines: set[int]) -> dict[int, Places]:
        """For each line of the module the places of this source, the innermost first."""
        module, _ = read_module(self._module)
        name = os.path.basename(self.path)
        found: dict[int, Places] = {}
        for line, calls in calls_of(module, lines).items():
            found[line] = [(number, column) for file, number, column in calls if os.path.basename(file) == name]
        return found

    def _files(self, changes: Sequence[Wanted]) -> list[str]:
        """The files that may be edited: those below the source's folder that the code that changes is from, outermost first;
        else the source itself."""
        module, _ = read_module(self._module)
        calls = calls_of(module, {wanted.line for wanted in changes})
        several = [[self._opened(file) for file, _, _ in reversed(calls.get(w.line, ()))] for w in changes]
        found = [path for path in dict.fromkeys(several[0]) if path and all(path in files for files in several)]
        return found or [self.path]

    def _opened(self, file: str) -> str:
        """A file that the module names, as it is opened from here; empty for one elsewhere, as those of libraries."""
        if not file or os.path.basename(file) == os.path.basename(self.path):
            return self.path if file else ""
        path, here = beside(file, self.path), os.path.dirname(os.path.abspath(self.path))
        if os.path.relpath(os.path.abspath(path), here).startswith(os.pardir) or not os.access(path, os.R_OK):
            return ""
        return path if os.path.isabs(self.path) else os.path.relpath(path)

    def _unknown(self, wanted: Wanted, places: Places) -> str:
        if not places:
            return f"line {wanted.line} of the PTX comes from no line of {os.path.basename(self.path)}"
        return f"{self._where(wanted, places)}: no edit is known that compiles to this"

    def _where(self, wanted: Wanted, places: Places) -> str:
        name = os.path.basename(self.path)
        return f"{name}:{places[0][0]}" if places else name

    def _texts(self, several: Sequence[Sequence[SourceEdits]]) -> Iterator[str]:
        """The source with one candidate for each change, the likeliest first."""
        ways = sorted(_some(product(*(range(len(c)) for c in several))), key=lambda way: (sum(way), max(way)))
        known = {self._text}
        for way in ways:
            chosen = [c[i] for c, i in zip(several, way, strict=True)]
            edits = _together(chosen)
            if edits is None:
                continue
            text = self._with_headers(edited(self._text, edits), chosen)
            if text not in known:
                known.add(text)
                yield text

    def _with_headers(self, text: str, chosen: Sequence[SourceEdits]) -> str:
        wanted = dict.fromkeys(h for c in chosen for h in c.headers)
        missing = [h for h in wanted if not re.search(rf"#\s*include\s*<{re.escape(h)}>", self._text)]
        if not missing:
            return text
        at = CudaCode(text).where_includes_go()
        return edited(text, [TextEdit(at, at, "".join(f"#include <{header}>\n" for header in missing))])

    def _often(self, changes: Sequence[Wanted], module: str) -> int:
        """How often what is put in stands in the kernel then, for each time that it is asked for: within a loop that is
        unrolled it would be executed as often, and before the loop once."""
        puts = [wanted for wanted in changes if wanted.kind == "put"]
        if not puts or len(puts) < len(changes):
            return 1
        entry = _ENTRY.findall(self._module[: _line_start(self._module, puts[0].line)])
        if not entry:
            return 1
        old, new = (_lines(body_of(bare(text), entry[-1])) for text in (self._module, module))
        come = sum(count * _meetings(line) for line, count in (new - old).items())
        return -(-come // sum(max(_meetings(wanted.new), 1) for wanted in puts))

    def _faithful(self, changes: Sequence[Wanted], module: str) -> bool:
        """Whether a module has nothing but numbers changed, where those are what changes; and is another one at all. Where a
        statement is moved it has the same ones."""
        old, new = _lines(self._module), _lines(module)
        if old == new:
            kinds = {wanted.kind for wanted in changes}
            return MOVE in kinds or {"gone", "put"} <= kinds
        gone, come = old - new, new - old
        for wanted in changes:
            if wanted.kind == "number":
                number = re.compile(rf"(?<!\w){re.escape(wanted.old)}(?!\w)")
                # a number that others have, too, is in one register with them
                swapped = {line: number.sub(wanted.new, line) for line in old}
                if not ({swapped[line] for line in gone} <= new.keys() and come.keys() <= set(swapped.values())):
                    return False
        return True


def _meetings(statements: str) -> int:
    """How many barriers and fences are among statements, which may stand on one line: an arrival and its wait are two."""
    return sum(statement.strip().startswith(_MEETINGS) for statement in statements.split(";"))


def _line_start(text: str, line: int) -> int:
    """Where a line, from 1, begins."""
    return sum(len(one) + 1 for one in text.split("\n")[: line - 1])


def _some(ways: Iterator[tuple[int, ...]]) -> list[tuple[int, ...]]:
    return [way for way, _ in zip(ways, range(_SETS), strict=False)]


def _together(chosen: Sequence[SourceEdits]) -> list[TextEdit] | None:
    """All edits, each once; None where two of them are about the same characters."""
    edits = sorted({edit for c in chosen for edit in c.edits})
    for one, other in pairwise(edits):
        if other.start < one.end or (one.start == other.start and one.end > one.start):
            return None
    return edits


def _lines(module: str) -> Counter[str]:
    """The statements of a module, whatever its registers are called."""
    lines = (_REGISTER.sub("%", line.strip()) for line in bare(module).splitlines())
    return Counter(line for line in lines if line and not line.startswith((".", "$", "{", "}")))
