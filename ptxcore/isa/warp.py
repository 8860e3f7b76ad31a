"""Communication within a warp: `vote`, `match`, `activemask`, `redux`, `elect` (PTX ISA 9.0, sections 9.7.13.8 to
9.7.13.12 and 9.7.13.14)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial, reduce

from ptxcore.isa.atomics import OPERATIONS
from ptxcore.isa.difference import Difference
from ptxcore.isa.form import Form, Use
from ptxcore.values.floats import fabs, fmax, fmin
from ptxcore.values.terms import Value, all_of, any_of, bit_or, disj, eq, ite, negate

#: The sources of each thread that takes part, by its number in the warp.
Lanes = Mapping[int, tuple[Value, ...]]


def _ballot(truths: Mapping[int, Value]) -> Value:
    """The mask of the lanes for which something holds."""
    if all(type(truth) is int or type(truth) is bool for truth in truths.values()):
        return sum(1 << lane for lane, truth in truths.items() if truth)
    mask: Value = 0
    for lane, truth in truths.items():
        mask = bit_or(mask, ite(truth, 1 << lane, 0, 32), 32)
    return mask


def vote(how: Use, lanes: Lanes) -> dict[int, Value]:
    """d = whether all, whether any of the threads had a, or whether all had the same"""
    votes = [a for a, *_ in lanes.values()]
    every, none = all_of(votes), all_of(map(negate, votes))
    results = {"all": every, "any": any_of(votes), "uni": disj(every, none)}
    return dict.fromkeys(lanes, results[how.words["mode"]])


def ballot(how: Use, lanes: Lanes) -> dict[int, Value]:
    """d = the threads that had a, each as the bit of its number"""
    return dict.fromkeys(lanes, _ballot({lane: a for lane, (a, *_) in lanes.items()}))


def match_any(how: Use, lanes: Lanes) -> dict[int, Value]:
    """d = the mask of the threads that have the same a"""
    masks = {
        a: _ballot({other: eq(a, b) for other, (b, _) in lanes.items()})
        for a in dict.fromkeys(a for a, _ in lanes.values())
    }
    return {lane: masks[a] for lane, (a, _) in lanes.items()}


def match_all(how: Use, lanes: Lanes) -> dict[int, tuple[Value, Value]]:
    """p = whether all threads have the same a; d = the mask of them all, or 0"""
    first, *others = [a for a, _ in lanes.values()]
    same = all_of(eq(first, a) for a in others)
    return dict.fromkeys(lanes, (ite(same, _ballot(dict.fromkeys(lanes, 1)), 0, 32), same))


def activemask(how: Use, lanes: Lanes) -> dict[int, Value]:
    """d = the mask of the threads that execute this together"""
    return dict.fromkeys(lanes, _ballot(dict.fromkeys(lanes, 1)))


def redux(how: Use, lanes: Lanes) -> dict[int, Value]:
    """d = operation over a of all threads; a sum is cut to 32 bits"""
    operation = partial(OPERATIONS[how.op], how)
    return dict.fromkeys(lanes, reduce(operation, [a for a, _ in lanes.values()]))


def redux_float(how: Use, lanes: Lanes) -> dict[int, Value]:
    """d = the least or greatest a of all threads, with .abs of |a|; -0 is below +0. NaN counts with .NaN only, and is the
    canonical one then; without, it is what comes of nothing but NaN."""
    extremum: Callable[..., Value] = fmin if how.op == "min" else fmax
    operation = partial(extremum, "f32", nan=bool(how.words["NaN"]))
    operands = [fabs("f32", a) if how.words["abs"] else a for a, _ in lanes.values()]
    return dict.fromkeys(lanes, reduce(operation, operands, operands[0]))


def elect(how: Use, lanes: Lanes) -> dict[int, tuple[Value, Value]]:
    """d = the number of the thread that is elected; p = whether that is this thread. It is the lowest one: the manual
    says that it is always the same."""
    leader = min(lanes)
    return {lane: (leader, int(lane == leader)) for lane in lanes}


_MASK = "membermask:u32 own"
_warp = partial(Form, kind="warp")
_together = partial(_warp, mask="membermask")

# Without .sync: gone where threads of a warp run independently.
_old_vote = partial(_warp, section="9.7.13.8", version="1.2", target="sm_12", until="6.4 sm_70", repeats="uni")
_vote = partial(_together, section="9.7.13.9", version="6.0", target="sm_30", repeats="sync uni")
_match = partial(_together, section="9.7.13.10", version="6.0", target="sm_70", repeats="sync", type="b32 b64")
_redux = partial(_together, section="9.7.13.12", version="7.0", target="sm_80", repeats="sync NaN")

FORMS = (
    _old_vote("vote.mode.pred d, {!}a", vote, mode="all any uni"),
    _old_vote("vote.ballot.b32 d, {!}a", ballot, target="sm_20"),
    _vote(f"vote.sync.mode.pred d, {{!}}a, {_MASK}", vote, mode="all any uni"),
    _vote(f"vote.sync.ballot.b32 d, {{!}}a, {_MASK}", ballot),
    _match(f"match.any.sync.type d:u32, a, {_MASK}", match_any),
    _match(f"match.all.sync.type d|p?:u32 sink, a, {_MASK}", match_all),
    _warp("activemask.b32 d", activemask, section="9.7.13.11", version="6.2", target="sm_30"),
    _redux(f"redux.sync.op.type d:u32, a:u32 own, {_MASK}", redux, op="add min max", type="u32 s32"),
    _redux(f"redux.sync.op.b32 d:u32, a:u32, {_MASK}", redux, op="and or xor"),
    _redux(f"redux.sync.op{{.abs}}{{.NaN}}.f32 d, a, {_MASK}", redux_float, op="min max",
           version="8.6", target="sm_100a / 8.8 sm_100f"),
    _together(f"elect.sync d|p:u32 sink kept, {_MASK}", elect, section="9.7.13.14", version="8.0", target="sm_90",
              repeats="sync"),
)  # fmt: skip

DIFFERENCES = (
    Difference(
        "9.7.13.14",
        "The predicate of `elect.sync` cannot be `_`.",
        "Only the lane is said to be `_`.",
    ),
    Difference(
        "9.7.13.9",
        "`vote` takes `.f16x2` registers and names of functions for predicates. The checker does not.",
        "The operands are predicates.",
        checked=False,
    ),
)
