"""Why two accesses of a run race: what orders neither before the other, and who should have synchronized, in words."""

from __future__ import annotations

from ptxmm.words.readings import by_the_letter
from ptxmm.words.whole import missing as missing_for


def unordered(
    kind: str,
    where: str,
    first: int,
    last: int,
    *,
    synchronized: bool = False,
    missing: str = "",
    reading: str = "",
) -> str:
    """Why two accesses race. `synchronized`: threads synchronized with each other by more than barriers. `missing`: of accesses
    to Tensor Memory, what would order them; `reading`: one under which they are ordered as it is."""
    if missing:
        none = f" (--{reading} is the reading that asks for none)" if reading else ""
        return f"both access {part(first, last, 'column')} of {where}: {missing_for(missing)}{none}"
    why = _NOTHING if synchronized and kind in ("data", "mixed-size") else _UNORDERED[kind]
    return f"both access {part(first, last, 'byte')} of {where}; in a run of all threads {why}{by_the_letter(reading)}"


def part(first: int, last: int, unit: str) -> str:
    """`bytes 0 to 3`, `column 5`."""
    return f"{unit}s {first} to {last}" if last > first else f"{unit} {first}"


_NOTHING = "nothing orders one before the other"
_NO_BARRIER = (
    "neither program order nor a barrier orders one before the other, and no fence, acquire or release operation was "
    "executed"
)
#: What does not order two accesses, by the kind of their race.
_UNORDERED = {
    "data": _NO_BARRIER,
    "mixed-size": _NO_BARRIER,
    "async": _NOTHING,
    "war": "the write follows the read, but there is no fence between their proxies "
    "(--war-ok is the reading that asks for none)",
}
#: What waits for the end of an asynchronous operation, by words of its instruction, all of which it has (sections 9.7.9.25,
#: 9.7.15.7 and 9.7.16.6).
_WAITS = (
    ("wgmma", "a wgmma.wait_group for the product at {}"),
    ("tcgen05", "a wait for a tcgen05.commit behind {}"),
    ("bulk bulk_group", "a cp.async.bulk.wait_group for the copy at {}"),
    ("cp async mbarrier::complete_tx::bytes", "a wait for the phase that counts the copy at {}"),
    ("cp async", "a cp.async.wait_group, or a cp.async.mbarrier.arrive that is waited for, of the copy at {}"),
    ("", "a wait for what {} issues"),
)


def unawaited(lacks: str, operation: str, at: str) -> str:
    """What lacks, as `axioms.dynamic.core.findings.ByteRace` has it, where somebody accesses what an asynchronous operation at
    `at` accesses, by its instruction; of a `fence`, where the operation is, which is not behind the access at `at`."""
    words = set(operation.split("."))
    if lacks == "fence":
        fences = "fence.proxy.async" + " or wgmma.fence" * ("wgmma" in words)
        return f"no {fences} orders the access at {at} before this"
    if lacks in ("issue", "either"):
        return f"this comes neither before what {at} issues, nor behind a wait for it"
    wait = next(wait for has, wait in _WAITS if set(has.split()) <= words)
    return f"this does not come behind {wait.format(at)}"


def unfenced_read(operation: str, at: str) -> str:
    """That an asynchronous operation at a place writes what was read here, and that there is no fence between the proxies."""
    return (
        f"no fence.proxy.async comes behind this, before what {operation} at {at} writes here (--war-ok asks for none)"
    )


def constant_read() -> str:
    """That what was read here is of a memory that is taken to be constant, and is written in the same launch (section 8.1)."""
    return "nothing orders a .nc read with writes of the same launch"


def unsynchronized(lacks: str, scope: str, other: str, at: str) -> str:
    """What lacks where a thread finds at a place what is written here, or finds here what was written there, and does not
    synchronize: `release` or `acquire` semantics, or a scope that has the other one."""
    if lacks == "acquire":
        return f"no acquire semantics, where what {other} wrote at {at} is found"
    if lacks == "scope":
        return f"the .{scope} scope does not reach {other}, who accesses the same at {at}"
    if lacks == "scope of the reader":
        return f"the .{scope} scope does not reach {other}, who wrote at {at} what is found here"
    if lacks == "scope of the release":
        return f"the .{scope} scope of the release before this does not reach {other}, who finds this at {at}"
    if lacks == "arrival":
        return f"no release semantics, and {other} waits for this at {at}"
    without = "no release semantics" if lacks == "release" else f"the .{scope} scope does not reach {other}"
    return f"{without}, {'who' if scope else f'and {other}'} finds this at {at}"


def unmet(other: str, at: str) -> str:
    """That a thread comes here, and another one of its CTA there, and no barrier is between."""
    return f"no barrier orders what {other} does at {at} before this"


def unwaited(other: str, at: str) -> str:
    """That a launch which may begin early has not waited here for what the one before it does there."""
    return f"no griddepcontrol.wait comes before this, for what {other} does at {at} in a launch before"


def unstreamed(other: str, at: str) -> str:
    """That nothing orders a launch of one stream and what another one does."""
    return f"no event and no stream orders this launch and what {other} does at {at} in another one"


def found_older(reader: str, instruction: str, writer: str, at: str) -> str:
    """That a strong read finds something older than a write that nothing orders before it."""
    return f"{reader} finds here what was there before {writer} wrote at {at} ({instruction})"
