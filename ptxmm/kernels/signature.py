"""Whether a launch fits the kernel: which kernels a module has, and what each takes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache
from math import prod

from ptxcore.diagnostics import nearest
from ptxcore.isa.types import WIDTHS
from ptxcore.records import NamedTuple
from ptxmm.kernels.expressions import TYPES
from ptxmm.kernels.launch import Argument, Buffer, Dimensions, Imaged, MultimemBuffers, Structure
from ptxmm.kernels.modules import PtxText, bare
from ptxmm.kernels.plain_names import base, by_turns, meant, shortest

_PARAMETER = re.compile(
    r"\s*+\.param\s*+(?>(?:\.align\s++\d++\s*+)?)\.(?P<type>\w++)\s*+(?>(?P<pointer>\.ptr\b)?)(?>(?:\s*+\.\w++(?>(?:\s++\d++)?))*)"
    r"\s*+(?P<name>[\w$%]++)\s*+(?>(?:\[\s*+(?P<count>\d{1,9}+)\s*+\])?)\s*+\Z"
)
_DIMENSIONS = r"\s+(\d+)(?:\s*,\s*(\d+))?(?:\s*,\s*(\d+))?"
_MOST_THREADS, _MOST_CLUSTER = 1024, 16
#: More threads than anybody waits for.
_MOST_EXPLORED = 1 << 20


class Formal(NamedTuple):
    """A parameter of a kernel: its type, how many of them (an array is a structure passed by value), and its bytes."""

    name: str
    type: str
    elements: int | None
    pointer: bool

    @property
    def size(self) -> int:
        return WIDTHS.get(self.type, 64) // 8 * (self.elements or 1)

    def __str__(self) -> str:
        return f".{self.type} {self.name}" + (f"[{self.elements}]" if self.elements else "")


def formals(text: str, entry: str) -> list[Formal] | None:
    """The parameters of a kernel, in order; None where its head cannot be read (who reads the module will say why)."""
    head = re.search(rf"\.entry\s+{re.escape(entry)}(?![\w$])\s*(?:\((?P<list>[^()]*)\))?", bare(text))
    if head is None:
        return None
    found: list[Formal] = []
    for part in (head["list"] or "").split(","):
        if not part.strip():
            continue
        p = _PARAMETER.match(part)
        if p is None or p["type"] not in WIDTHS:
            return None
        found.append(Formal(p["name"], p["type"], int(p["count"]) if p["count"] else None, p["pointer"] is not None))
    return found


def own_sizes(text: str, entry: str) -> tuple[list[int] | None, list[int] | None]:
    """How large a kernel says that its CTAs and its clusters are (`.reqntid`, `.reqnctapercluster`); None where it does not."""
    code = bare(text)
    found = re.search(rf"\.entry\s+{re.escape(entry)}(?![\w$])", code)
    head = code[found.end() : code.find("{", found.end())] if found else ""
    said = [re.search(rf"\.{word}{_DIMENSIONS}", head) for word in ("reqntid", "reqnctapercluster")]
    block, cluster = ([int(n) for n in one.groups() if n is not None] if one else None for one in said)
    return block, cluster


@cache
def declares_clusters(text: str) -> bool:
    """Whether some kernel of a module says that it is launched in clusters."""
    return re.search(r"\.(?:reqnctapercluster|explicitcluster|blocksareclusters)\b", bare(text)) is not None


def declared_images(text: str) -> dict[str, str]:
    """The textures and surfaces that a module declares by name: `texref` or `surfref` of each."""
    found = re.finditer(r"\.(?:global\s*\.(texref|surfref)|tex\s*\.\w+)\s+([\w$%]+)", bare(text))
    return {match[2]: match[1] or "texref" for match in found}


def entry_problem(
    module: PtxText, name: str | None, example: str = 'entry = "{}"'
) -> tuple[str | None, str, str | None]:
    """The kernel that is meant; or what is wrong, and what would be right. `example` is how one is named where it was asked.
    A name without what C++ makes of it is enough where it means one kernel: `incr` for `_Z4incrPjS_`."""
    entries = module.entries()
    if not entries:
        return None, f"{module.path} has no kernel: no .entry stands in it", None
    if name is None:
        if len(entries) == 1:
            return entries[0], "", None
        names = shortest(entries)
        known = [names[entry] for entry in by_turns(entries)]
        message = f"which of the {len(entries)} kernels is meant?"
        return None, message, f"as in {example.format(known[0])}; there are {_listed(known)}"
    found = meant(name, entries)
    if len(found) == 1:
        return found[0], "", None
    if found:
        return (
            None,
            f"'{name}' may be {len(found)} kernels",
            f"say which: {_listed([shortest(entries)[e] for e in by_turns(found)])}",
        )
    known = list(shortest(entries).values())
    hint = nearest(name, [*known, *map(base, entries)]) or nearest(name, entries) or f"it has {_listed(known)}"
    return None, f"the module has no kernel '{name}'", hint


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names[:10]) + (" ..." if len(names) > 10 else "")


def parameter_problems(module: PtxText, entry: str, given: Sequence[Argument]) -> Iterator[tuple[str, str, str | None]]:
    """For each argument that does not fit: its name ("" for all together), what is wrong, and what would be right."""
    wanted = formals(module.text, entry)
    if wanted is None:
        return
    listed = ", ".join(map(str, wanted)) or "none"
    if len(wanted) != len(given):
        yield "", f"'{entry}' takes {len(wanted)} parameters, not {len(given)}", f"they are {listed}"
        return
    order = f"the order of the parameters counts; '{entry}' takes {listed}"
    for number, (formal, argument) in enumerate(zip(wanted, given, strict=True), 1):
        what = f"parameter {number} of '{entry}' is {formal}"
        if isinstance(argument, Buffer):
            if formal.elements is not None or formal.size != 8:
                yield argument.name, f"{what}, which cannot take the address of the buffer '{argument.name}'", order
        elif isinstance(argument, MultimemBuffers):
            if formal.elements is not None or formal.size != 8:
                yield argument.name, f"{what}, which cannot take the multimem address '{argument.name}'", order
        elif isinstance(argument, Imaged):
            if formal.elements is not None or formal.size != 8:
                yield argument.name, f"{what}, which cannot take the handle of '{argument.name}'", order
        elif isinstance(argument, Structure):
            if argument.size != formal.size:
                message = f"{what}, of {formal.size} bytes, and '{argument.name}' has {argument.size}"
                yield argument.name, message, order
            elif formal.pointer and not argument.is_pointer:
                yield argument.name, f"{what}, a pointer, and '{argument.name}' is a structure", order
        elif formal.pointer:
            yield argument.name, f"{what}, a pointer, and '{argument.name}' is a scalar", order
        elif isinstance(argument.value, bytes):
            if len(argument.value) != formal.size:
                message = f"{what}, of {formal.size} bytes, and '{argument.name}' has {len(argument.value)}"
                yield argument.name, message, order
        elif TYPES[argument.type].width != 8 * formal.size:
            yield argument.name, f"{what}, and '{argument.name}' is {argument.type}", order


def shape_problem(grid: Dimensions, block: Dimensions, cluster: Dimensions | None) -> tuple[str, str] | None:
    """The key that is wrong, and how."""
    threads = block[0] * block[1] * block[2]
    if threads > _MOST_THREADS:
        return "block", f"a CTA has at most {_MOST_THREADS} threads, not {threads}"
    if threads * prod(grid) > _MOST_EXPLORED:
        return "grid", f"a launch of {threads * prod(grid)} threads: at most {_MOST_EXPLORED} are explored"
    if cluster is not None:
        if any(g % c for g, c in zip(grid, cluster, strict=True)):
            return "cluster", f"the grid {list(grid)} is no multiple of the cluster {list(cluster)}"
        ctas = cluster[0] * cluster[1] * cluster[2]
        if ctas > _MOST_CLUSTER:
            return "cluster", f"a cluster has at most {_MOST_CLUSTER} CTAs, not {ctas}"
    return None
