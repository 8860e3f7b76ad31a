"""What an answer rests on, in words: loops that were cut or reduced, and what was taken for granted."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from ptxmm.result import ASSERTIONS

if TYPE_CHECKING:
    from axioms.witness.execution import ExecutedEvent
    from ptxmm.result import Loop, Result
    from ptxmm.words.linearisation import Cast

#: What is taken for granted of what a kernel uses, by a name for it.
ASSUMED = {
    "smid": "%smid is taken to be 0 in every thread",
    "activemask": "activemask is taken to give all threads of the warp that execute it, in loops those in the same round",
    "surface": (
        "a surface read is taken to find what comes before it in its own CTA; section 2.3 calls undefined what it returns of "
        "bytes that the same kernel has written"
    ),
    "texel": "what the documents leave open of texels that are filtered or converted is taken to be any value",
    "sum": "a sum of floating-point numbers that depends on the order of its additions is taken to be any value",
    "malloc": "malloc is taken to find memory whenever it is asked",
    "free": "memory that free takes back is taken not to be given out again",
}


def ran_out_executing(threads: int) -> str:
    """The time ran out before the formula was there."""
    said = f"the time ran out while {threads:,} threads were executed for the formula"
    return f"{said}: fewer threads or iterations may be decided"


def ran_out_deciding(threads: int, events: int, most: int = 0, place: str = "") -> str:
    """The time ran out with the formula; `most` of the events are of the instruction at `place`."""
    of_which = f", {most:,} of them of the instruction at {place}" if most else ""
    return (
        f"the time ran out while the formula was decided: {threads:,} threads with {events:,} events{of_which}; fewer threads, "
        "iterations or accesses there may be decided"
    )


def too_large(threads: int, of: int, events: int, most: int = 0, place: str = "") -> str:
    """`threads` of so many already have too many events for a formula; `most` of these are of the instruction at `place`."""
    of_which = f", {most:,} of them of the instruction at {place}" if most else ""
    return (
        f"no formula was made: the first {threads:,} of {of:,} threads have {events:,} events{of_which}; fewer threads, "
        "iterations or accesses there may be decided"
    )


def smaller_is_wrong(ctas: int, threads: int, what: str) -> str:
    """A smaller launch of the kernel is wrong."""
    return f"{_smaller(ctas, threads)} is wrong: {what}; of the launch that was asked for this says nothing for certain"


def smaller_is_right(ctas: int, threads: int) -> str:
    """A smaller launch of the kernel is right."""
    return f"{_smaller(ctas, threads)} was decided: ok, as far as no check is about values"


def _smaller(ctas: int, threads: int) -> str:
    of_ctas = f"{ctas:,} CTA{'s' * (ctas != 1)}"
    return f"a smaller launch with the same arguments, {of_ctas} of {threads:,} thread{'s' * (threads != 1)},"


def followed(loop: Loop) -> str:
    """How far a loop was followed."""
    where = f"{loop.spot} ({loop.label})" if loop.label else str(loop.spot)
    if loop.source:
        where = f"{loop.source} (PTX {loop.spot.line}{f', {loop.label}' * bool(loop.label)})"
    if loop.kind == "waiting":
        return f"the loop at {where} is a spin loop: its last iteration stands for all"
    return f"the loop at {where} was unrolled at most {loop.iterations} time{'s' * (loop.iterations != 1)}"


#: Of an access beside what there is, in a module that declares dynamic shared memory.
NO_DYNAMIC = (
    "the launch gives none of the dynamic shared memory that the module declares: dynamic_shared, or --dynamic-shared"
)
#: Of a kernel with claims about its execution only.
NOT_ASKED = (
    "not asked: what the kernel computes (forall, exists, never), and whether it is always the same (deterministic)"
)


def not_asked(result: Result) -> list[str]:
    """That nothing was claimed of what a kernel computes, where its answer could be taken for a claim about it."""
    claims = any(check.kind != check.text or check.kind == ASSERTIONS for check in result.checks)
    if not result.of_kernel or claims or result.verdict not in ("ok", "bounded"):
        return []
    return [NOT_ASKED]


def nothing_passes(*, complete: bool) -> str:
    """That a filter leaves no outcome, so that an answer about all of them is one about none."""
    explored = "" if complete else " within the bounds of loops"
    return f"no execution{explored} satisfies the filter: what is asked of all outcomes is asked of none"


def warned(result: Result) -> list[str]:
    """What the authors of modules should know, with the places."""
    return [f"{spot}: warning: {message}" for spot, message in result.warnings]


def unset(read: ExecutedEvent, more: int, cast: Cast) -> str:
    """A read of memory to which nothing was written, and how many more reads of its place are such."""
    reader = f"by {cast.name(read.thread)} at {cast.place(read)}"
    return f"the read of {read.location} {reader} may find what nothing wrote{f', and {more} more there' * bool(more)}"


def unset_elsewhere(more: int) -> list[str]:
    """That there are more places of such reads than are told."""
    return [f"reads at {more} more place{'s' * (more != 1)} may find what nothing wrote"] * (more > 0)


def races_untold(number: int) -> str:
    """So many races were found of which there was no time to tell."""
    return f"{number} more race{'s' * (number != 1)} found, of which there was no time to tell"


def held_at_first(buffers: list[str]) -> list[str]:
    """Whose contents an answer is about."""
    if not buffers:
        return []
    whose = "its" if len(buffers) == 1 else "their"
    return [f"{', '.join(buffers)} may hold anything at first: executions begin with each of {whose} contents"]


def held(contents: str) -> str:
    """The answer is one with other contents than zeros."""
    return f"memory that nothing wrote holds {contents} in this answer"


def alike(contents: Iterable[str]) -> str:
    """The answer does not hang on the contents that were tried."""
    return f"the answer is the same with zeros there, and with {', '.join(contents)}; others were not tried"


def only_read(error: Exception) -> str:
    """A cache cannot be written."""
    return f"{str(error).replace(': error:', ':', 1)}; what it knows is used, and nothing is kept"
