"""`--warp-sync-orders`: instructions that threads of a warp execute together order memory among them, as CUB's sort takes it.
What is right under it, what stays wrong, and what a report says without it."""

from __future__ import annotations

import random
from copy import copy

import ptxas
import pytest
from agreement import note
from by_runs import by_formula
from campaigns import lengths, share

import ptxmm
from axioms.cat.model import Model
from ptxcore.clock import OutOfTime
from ptxmm.api import model_named
from ptxmm.kernels import by_readings
from ptxmm.kernels.by_readings import in_warps
from ptxmm.kernels.test import KernelTest
from ptxmm.kernels.toml import KernelFile
from ptxmm.kernels.warp_order import WARP_SYNC_ORDERS, in_warp_order
from ptxmm.kernels.whole import decide_whole
from ptxmm.result import Checked, Result
from ptxmm.words.whole import left_open

_HEAD = """.version 8.6
.target sm_90
.address_size 64
.visible .entry k(.param .u64 x)
{
 .reg .pred %p<6>; .reg .b32 %r<20>; .reg .b64 %rd<4>; .shared .align 4 .b8 s[256]; .shared .align 4 .b32 n;
 ld.param.u64 %rd1, [x]; mov.u32 %r1, %tid.x; mul.wide.u32 %rd2, %r1, 4; add.u64 %rd2, %rd2, %rd1;
 shl.b32 %r2, %r1, 2; mov.u32 %r3, s; add.u32 %r3, %r3, %r2;
"""
_END = " st.global.u32 [%rd2], %r5; ret;\n}\n"


def _of(body: str, block: int = 64) -> KernelTest:
    tree = {
        "ptx": "k.ptx", "entry": "k", "grid": 1, "block": block, "params": {"x": {"type": "u32", "elements": block}},
        "check": {"race_free": True, "terminates": True},
    }  # fmt: skip
    return KernelFile.of(tree, "k.toml", {"k.ptx": _HEAD + body + _END}).test()


def _blank(test: KernelTest) -> Result:
    checks = [Checked(kind=c.kind, text=str(c)) for c in test.checks]
    return Result(path=test.identity, name=test.name, model="ptx-9.0", verdict="undecided", checks=checks)


#: What each lane stores, its neighbour reads.
_SHUFFLE = "shfl.sync.idx.b32 %r4, %r1, 0, 31, -1;"
_NEXT = "xor.b32 %r5, %r2, 4; mov.u32 %r6, s; add.u32 %r6, %r6, %r5; ld.shared.u32 %r5, [%r6];"
_HANDED = f"st.shared.u32 [%r3], %r1; {_SHUFFLE} {_NEXT}"


@pytest.mark.parametrize(
    "together",
    [
        _SHUFFLE,
        "vote.sync.ballot.b32 %r4, 1, 0xffffffff;",
        "match.any.sync.b32 %r4, %r1, -1;",
        "mov.u32 %r7, -1; setp.eq.u32 %p1, %r7, -1; @%p1 redux.sync.add.u32 %r4, %r1, %r7;",
        "elect.sync %r4|%p1, -1;",
        "movmatrix.sync.aligned.m8n8.trans.b16 %r4, %r1;",
    ],
)
def test_lanes_that_come_together_are_in_order(together: str) -> None:
    test = _of(_HANDED.replace(_SHUFFLE, together))
    plain, found = ptxmm.check(test), ptxmm.check(test, options=[WARP_SYNC_ORDERS])
    assert (plain.verdict, found.verdict) == ("no", "ok")
    assert f"tried: ok with --{WARP_SYNC_ORDERS}" in plain.notes


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (_SHUFFLE, ""),
        (
            _SHUFFLE,
            f"mov.u32 %r7, 0x55555555; and.b32 %r8, %r1, 1; shl.b32 %r7, %r7, %r8; {_SHUFFLE.replace('-1', '%r7')}",
        ),
        ("xor.b32 %r5, %r2, 4;", "xor.b32 %r5, %r2, 128;"),  # the other warp
        (f"{_SHUFFLE} {_NEXT}", f"{_NEXT} {_SHUFFLE}"),
        (_SHUFFLE, "activemask.b32 %r4;"),
        (_SHUFFLE, "setp.gt.u32 %p1, %r1, 99; @%p1 shfl.sync.idx.b32 %r4, %r1, 0, 31, -1;"),  # nobody executes it
    ],
)
def test_others_are_not(old: str, new: str) -> None:
    test = _of(_HANDED.replace(old, new))
    plain, found = ptxmm.check(test), ptxmm.check(test, options=[WARP_SYNC_ORDERS])
    assert (plain.verdict, found.verdict) == ("no", "no") and not [n for n in plain.notes if "tried" in n]


#: One lane adds, and then another one, both with the result.
_RANKS = f"""setp.eq.u32 %p1, %r1, 0; @%p1 st.shared.u32 [n], 0; bar.sync 0; setp.eq.u32 %p1, %r1, 3; setp.eq.u32 %p2, %r1, 7;
 mov.u32 %r5, 0; @%p1 atom.shared.add.u32 %r5, [n], 2; {_SHUFFLE} @%p2 atom.shared.add.u32 %r5, [n], 3;
 shl.b32 %r5, %r5, 2; mov.u32 %r6, s; add.u32 %r6, %r6, %r5; bar.sync 0; setp.lt.u32 %p3, %r1, 8;
 @%p3 st.volatile.shared.u32 [%r6], 1;"""


def test_what_is_open_for_the_order_of_lanes_is_told_with_what_it_is_so() -> None:
    model, of_order, of_time = model_named("ptx-9.0"), left_open("order", "k.ptx:1"), left_open("clock", "k.ptx:1")
    test, other = _of(_RANKS, 32), _of(_HANDED.replace(_SHUFFLE, ""))
    assert in_warps(test, _blank(test), None, model, of_order) == f"{of_order}; tried: ok with --{WARP_SYNC_ORDERS}"
    assert in_warps(test, _blank(test), None, model, of_time) == of_time
    assert in_warps(other, _blank(other), None, model, of_order) == of_order  # no lanes come together


def test_what_is_known_stays_so_where_a_reading_takes_too_long(monkeypatch: pytest.MonkeyPatch) -> None:
    def late(test: KernelTest, result: Result, deadline: float | None, model: Model) -> str:
        if WARP_SYNC_ORDERS in model.readings:
            raise OutOfTime
        return decide_whole(test, result, deadline, model)

    monkeypatch.setattr(by_readings, "decide_whole", late)
    test, of_order = _of(_HANDED), left_open("order", "k.ptx:1")
    assert ptxmm.check(test).verdict == "no"
    assert in_warps(test, _blank(test), None, model_named("ptx-9.0"), of_order) == of_order


def test_barriers_stand_before_what_lanes_do_together() -> None:
    text = (
        _HEAD
        + "L: @!%p1 shfl.sync.idx.b32 %r4, %r1, 0, 31, %r2; vote.sync.any.pred %p2, %p1, 7;\n bar.warp.sync 3;"
        + _END
    )
    made = in_warp_order(text)
    assert next(l for l in made.splitlines() if l.startswith("L:")) == (
        "L: @!%p1 bar.warp.sync %r2; @!%p1 shfl.sync.idx.b32 %r4, %r1, 0, 31, %r2; "
        "bar.warp.sync 7; vote.sync.any.pred %p2, %p1, 7;"
    )
    assert made.count("bar.warp.sync") == 3
    if ptxas.executable() is not None:
        assert not ptxas.check_module(made)


# Generated: eight lanes store, load and add up in shared memory, and come together in groups.


def _generated(seed: int) -> tuple[KernelTest, KernelTest]:
    """A kernel, and the same with `bar.warp.sync` written before what lanes do together."""
    rng = random.Random(seed)
    lanes = rng.choice((2, 4))
    plain, fenced = [], []
    for number in range(rng.randint(3, 6)):
        what = rng.choice(("store", "load", "add", "meet", "meet"))
        lane, place = rng.randrange(lanes), 4 * rng.randrange(2)
        only = f"setp.eq.u32 %p1, %r1, {lane};"
        if what == "meet":
            group = rng.choice([(1 << lanes) - 1, 3])
            inside = f"setp.lt.u32 %p2, %r1, {group.bit_length()};"
            one = rng.choice(
                ("shfl.sync.idx.b32 %r4, %r1, 0, 31", "vote.sync.ballot.b32 %r4, 1", "match.any.sync.b32 %r4, %r1")
            )
            plain.append(f"{inside} @%p2 {one}, {group};")
            fenced.append(f"{inside} @%p2 bar.warp.sync {group}; @%p2 {one}, {group};")
            continue
        done = {
            "store": f"@%p1 st.shared.u32 [s+{place}], {number};",
            "load": f"@%p1 ld.shared.u32 %r5, [s+{place}];",
            "add": f"@%p1 atom.shared.add.u32 %r5, [n], {number};",
        }[what]
        plain.append(f"{only} {done}")
        fenced.append(f"{only} {done}")
    begin = "mov.u32 %r5, 0; setp.eq.u32 %p1, %r1, 0;\n"
    begin += "".join(f"@%p1 st.shared.u32 [{place}], 0; " for place in ("s", "s+4", "n")) + "bar.sync 0;\n"
    one, two = (_of(begin + "\n".join(body), lanes) for body in (plain, fenced))
    return one, two


def _by_run(test: KernelTest) -> str | None:
    result = _blank(test)
    model = copy(model_named("ptx-9.0"))
    model.readings = model.readings | {WARP_SYNC_ORDERS}
    return None if decide_whole(test, result, None, model) else result.verdict


def _compare(seeds: range, monkeypatch: pytest.MonkeyPatch) -> dict[str, int]:
    found: dict[str, int] = {}
    for seed in seeds:
        plain, fenced = _generated(seed)
        verdict = _by_run(plain)
        if verdict is not None:
            assert by_formula(fenced, monkeypatch).verdict == verdict, seed
            found[verdict] = found.get(verdict, 0) + 1
    note(sum(found.values()), {})
    return found


@pytest.mark.compares(0.3)
@pytest.mark.parametrize("seeds", lengths(range(8), range(8, 80)))
def test_runs_say_of_it_what_the_formula_says_of_barriers(seeds: range, monkeypatch: pytest.MonkeyPatch) -> None:
    found = _compare(seeds, monkeypatch)
    assert {"ok", "no"} <= {*found}


@pytest.mark.campaign
@pytest.mark.compares(0.3)
def test_runs_say_of_many_what_the_formula_says_of_barriers(monkeypatch: pytest.MonkeyPatch) -> None:
    _compare(range(5000, 5000 + share(2000)), monkeypatch)
