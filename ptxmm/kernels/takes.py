"""What a kernel takes, as people know it: the names and types of its source beside those of the PTX, and the types of what its
pointers lead to."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence

from ptxcore.diagnostics import nearest
from ptxcore.records import NamedTuple
from ptxcore.sources import beside, read_bytes
from ptxmm.kernels.cuda_source import KernelHead, element, heads
from ptxmm.kernels.demangled import demangled
from ptxmm.kernels.expressions import TYPES
from ptxmm.kernels.modules import PtxText, bare
from ptxmm.kernels.plain_names import base
from ptxmm.kernels.signature import Formal, formals

_LONGEST = 16 << 20  # bytes of a source
#: How nvcc and clang call parameters, whose names in the source PTX does not have.
_MADE = re.compile(r"_param_\d+\Z")
_POINTER = 8  # bytes
_LOC = re.compile(r"^[ \t]*\.loc\s+(\d+)\s", re.M)
_CONST = re.compile(r"\bconst\b[^*&,]*[*&]")


class TakenParameter(NamedTuple):
    """A parameter: what the PTX says of it, its name for people (empty where nobody gave it one), its type in the source, what
    a pointer leads to (a PTX type; None for what is no pointer), where it stands in `KernelSignature.text`, and whether the
    source says that what it leads to is not written."""

    formal: Formal
    name: str
    declared: str
    pointee: str | None
    start: int
    end: int
    const: bool = False

    def __str__(self) -> str:
        shown = f"{self.declared} {self.name}".strip() if self.declared else str(self.formal)
        return re.sub(r"\* ", " *", shown)

    @property
    def number_type(self) -> str:
        """The PTX type of a number for it: that of the source, which tells signs apart, where it has as many bits."""
        declared = element(self.declared) if self.declared and self.pointee is None else None
        return declared if declared and TYPES[declared].width == 8 * self.formal.size else self.formal.type


class KernelSignature(NamedTuple):
    """A kernel for people: the file where its head stands, that file's text, and where in it the head stands."""

    entry: str
    parameters: tuple[TakenParameter, ...]
    path: str
    text: str
    start: int

    @property
    def line(self) -> int:
        return self.text.count("\n", 0, self.start) + 1

    def names(self) -> list[str]:
        """A name for each parameter."""
        return [taken.name or taken.formal.name for taken in self.parameters]


def kernel(module: PtxText, entry: str) -> KernelSignature | None:
    """What an entry of a module takes; None where its head cannot be read (who reads the module will say why)."""
    wanted = formals(module.text, entry)
    if wanted is None:
        return None
    used = pointees(module.text, entry)
    found = _declared(module, entry, len(wanted))
    if found is not None:
        path, text, head = found
        types = _types(entry, head)
        taken = tuple(
            TakenParameter(
                f,
                d.name,
                kind,
                _pointee(f, kind, used),
                d.start,
                d.end,
                _CONST.search(text, d.start, d.end) is not None,
            )
            for f, d, kind in zip(wanted, head.parameters, types, strict=True)
        )
        return KernelSignature(entry, taken, path, text, head.start)
    code = bare_places(module.text)
    start = re.search(rf"\.entry\s+{re.escape(entry)}(?![\w$])", code)
    at = start.start() if start else 0
    taken = tuple(
        TakenParameter(f, "" if _MADE.search(f.name) else f.name, "", _pointee(f, "", used), *_place(code, f.name, at))
        for f in wanted
    )
    return KernelSignature(entry, taken, module.path, module.text, at)


def bare_places(text: str) -> str:
    """A module with blanks for its comments and strings: every character stays where it is."""
    from ptxmm.kernels.cuda_source import without_comments

    return without_comments(text)


def _place(code: str, name: str, at: int) -> tuple[int, int]:
    found = re.compile(rf"(?<![\w$%]){re.escape(name)}(?![\w$])").search(code, at)
    return (found.start(), found.end()) if found else (at, at)


def _declared(module: PtxText, entry: str, count: int) -> tuple[str, str, KernelHead] | None:
    """The head in the source that the module was made of just now, or in the header that it stands in, with that file and its
    text; None where none is certainly that."""
    found: list[tuple[str, str, KernelHead]] = []
    for path in dict.fromkeys([module.source, _header(module, entry)]) if module.source else ():
        text = source_text(path)
        fitting = [head for head in heads(text) if head.name == base(entry) and len(head.parameters) == count]
        fitting = [head for head in fitting if head.defined] or fitting  # no instantiation, which names no parameters
        if fitting and len({tuple((p.type, p.name) for p in head.parameters) for head in fitting}) == 1:
            found.append((path, text, fitting[0]))
    return next((one for one in found if one[2].defined), found[0] if found else None)


def source_text(path: str) -> str:
    """The text of a file of CUDA C++; empty where it cannot be read."""
    try:
        return read_bytes(path, _LONGEST, "CUDA source").decode("utf-8", "replace") if path else ""
    except (OSError, ValueError):
        return ""


def _header(module: PtxText, entry: str) -> str:
    """The file that a kernel stands in, as the module says where its code is from; empty where it says nothing."""
    head = re.search(rf"\.entry\s+{re.escape(entry)}(?![\w$])", module.text)
    place = _LOC.search(module.text, head.end()) if head is not None else None
    named = re.search(rf'^[ \t]*\.file\s+{place[1]}\s+"([^"\n]+)"', module.text, re.M) if place is not None else None
    if named is None:
        return ""
    path = beside(named[1], module.source)
    return path if os.path.isabs(module.source) else os.path.relpath(path)


def _types(entry: str, head: KernelHead) -> list[str]:
    """The types of the parameters as the source has them; of a template's instance what the parameters of the template stand
    for, as far as the name of the entry tells."""
    read = demangled(entry)
    given = read.parameters if read is not None and len(read.parameters) == len(head.parameters) else ()
    return [
        own if element(own) is not None or element(told) is None else told
        for own, told in zip((p.type for p in head.parameters), given or [""] * len(head.parameters), strict=True)
    ]


def _pointee(formal: Formal, declared: str, used: dict[str, str]) -> str | None:
    if formal.elements is not None or formal.size != _POINTER:
        return None
    if declared.endswith(("*", "&")):
        return element(declared) or used.get(formal.name, "u32")
    return used.get(formal.name, "u32" if formal.pointer else None)


#: Instructions by which an address stays one of the same buffer, and those that go through it.
_SAME = re.compile(r"(?:mov|cvta|add|sub)\b")
_ACCESS = re.compile(r"(?:ld|st|atom|red|multimem|ldu)\.")
_ELSEWHERE = re.compile(r"\.(?:param|shared|local|const)\b")
_REGISTER = re.compile(r"%[\w$]+")
_AT = re.compile(r"\[\s*(%[\w$]+)")
_WORD = re.compile(r"(?:@!?%?[\w$]+\s+)?([a-z][\w.:]*)\s+([^;]*)", re.S)
#: Directives that end with their line, as `.loc`.
_DIRECTIVE = re.compile(r"^[ \t]*\.(?:loc|file|pragma)\b[^\n;]*$", re.M)
_ROUNDS = 3


def pointees(text: str, entry: str) -> dict[str, str]:
    """The types by which a kernel accesses memory through its parameters, by their names: of the first access of each."""
    found: dict[str, str] = {}
    copied: dict[str, str] = {}  # whose elements have no type
    leads: dict[str, set[str]] = {}
    body = list(_instructions(text, entry))
    for _ in range(_ROUNDS):  # registers that a loop sets further below
        for opcode, operands in body:
            registers = _REGISTER.findall(operands)
            if opcode.startswith("ld.param") and registers:
                parameter = re.search(r"\[\s*([\w$]+)\s*\]", operands)
                leads[registers[0]] = {parameter[1]} if parameter else set()
            elif _ACCESS.match(opcode) and not _ELSEWHERE.search(opcode):
                at = _AT.search(operands)
                known = leads.get(at[1], set()) if at else set()
                kind = opcode.rpartition(".")[2]
                if len(known) == 1 and kind in TYPES:
                    found.setdefault(next(iter(known)), kind)
            elif opcode.startswith("cp."):
                for register in _AT.findall(operands):
                    for name in leads.get(register, set()) if len(leads.get(register, set())) == 1 else ():
                        copied.setdefault(name, "u32")
            elif _SAME.match(opcode) and registers and opcode.endswith("64"):
                leads.setdefault(registers[0], set()).update(*(leads.get(r, set()) for r in registers[1:]))
    kinds = copied | found
    return {name: kind.replace("b", "u") if kind[0] == "b" and kind[1] != "f" else kind for name, kind in kinds.items()}


def _instructions(text: str, entry: str) -> Iterator[tuple[str, str]]:
    code = _DIRECTIVE.sub("", bare(text))
    head = re.search(rf"\.entry\s+{re.escape(entry)}(?![\w$])", code)
    start = code.find("{", head.end()) if head else -1
    if start < 0:
        return
    following = re.compile(r"\.(?:entry|func)\b").search(code, start)
    for part in code[start + 1 : following.start() if following else len(code)].split(";"):
        found = _WORD.search(re.sub(r"^[\s{}]*(?:[\w$]+:\s*)*", "", part))
        if found:
            yield found[1], found[2]


def places(given: Sequence[str], kernel: KernelSignature) -> list[int | str]:
    """Which parameter each name of an argument means, by its number; or what is wrong with the name."""
    return numbered(given, [(t.name, t.formal.name) for t in kernel.parameters])


def numbered(given: Sequence[str], known: Sequence[tuple[str, ...]]) -> list[int | str]:
    """Likewise, of parameters with these names: by a name, by a number, or, where a compiler made all their names, in order."""
    numbers = {name: i for i, names in enumerate(known) for name in names if name}
    if all(_MADE.search(n) for names in known for n in names if n) and not any(
        n in numbers or n.isdigit() for n in given
    ):
        return [i if i < len(known) else f"the kernel takes {len(known)}" for i in range(len(given))]
    shown = [next(n for n in names if n) for names in known]
    found: list[int | str] = []
    for name in given:
        if name in numbers:
            found.append(numbers[name])
        elif name.isdigit() and int(name) < len(known):
            found.append(int(name))
        else:
            found.append(nearest(name, shown) or f"they are {', '.join(shown) or 'none'}")
    return found
