"""What runs show that follow copies, phases and clusters beside open operations: each is wrong by the formula, too."""

from __future__ import annotations

from collections import Counter

import generated_transfers
import pytest
from agreement import note
from by_runs import by_formula, by_runs
from campaigns import lengths, share

from ptxmm.kernels.hunting import Wrong, hunt, race_of
from ptxmm.kernels.runs import Runs
from ptxmm.kernels.test import KernelTest
from ptxmm.kernels.toml import KernelFile

#: Runs that begin otherwise than those before them.
_RUNS = 12


def _shown(test: KernelTest) -> Wrong | None:
    """What some run shows that is wrong."""
    runs = Runs(test, watched=True)
    return race_of(runs, lambda _: False) or hunt(runs, lambda _: False, _RUNS)


def _compare(seeds: range, monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Of kernels with flags among their copies: how many are shown to be wrong, and how many of those that the formula finds
    wrong are not."""
    found: Counter[str] = Counter()
    for seed in seeds:
        test = generated_transfers.kernel(seed, flags=True)
        wrong = _shown(test)
        expected = by_formula(test, monkeypatch)
        if expected.verdict == "undecided":
            found["undecided"] += 1
        elif wrong is None:
            found["missed" if expected.verdict in ("no", "undefined") else "right"] += 1
        else:
            assert expected.verdict in ("no", "undefined"), (seed, type(wrong).__name__)
            found["shown"] += 1
    note(found["shown"] + found["right"] + found["missed"], Counter({"undecided": found["undecided"]}))
    return found


@pytest.mark.parametrize("seeds", lengths(range(8), range(80)))
def test_what_runs_show_beside_copies_is_wrong_by_the_formula(seeds: range, monkeypatch: pytest.MonkeyPatch) -> None:
    found = _compare(seeds, monkeypatch)
    assert found["shown"] > len(seeds) / 4


@pytest.mark.campaign
def test_what_runs_show_beside_many_copies_is_wrong_by_the_formula(monkeypatch: pytest.MonkeyPatch) -> None:
    _compare(range(1000, 1000 + share(3000)), monkeypatch)


#: A scheduler of tiles: the first thread draws one, and has it copied into shared memory, where all read it.
_TILES = """.version 8.6
.target sm_90
.address_size 64
.visible .entry k(.param .u64 x, .param .u64 out, .param .u64 next)
{{
 .reg .pred %p<4>; .reg .b32 %r<9>; .reg .b64 %rd<9>;
 .shared .align 16 .b8 s[256]; .shared .align 8 .b64 m; .shared .align 4 .b32 tile;
 ld.param.u64 %rd1, [x]; ld.param.u64 %rd2, [out]; ld.param.u64 %rd3, [next];
 mov.u32 %r1, %tid.x; setp.ne.u32 %p1, %r1, 0; mul.wide.u32 %rd4, %r1, 4; mov.u32 %r5, 0; mov.u32 %r6, s; shl.b32 %r7, %r1, 2;
 add.u32 %r6, %r6, %r7;
 @%p1 bra BEGUN; mbarrier.init.shared.b64 [m], 1; fence.mbarrier_init.release.cluster;
BEGUN: bar.sync 0;
TURN: @%p1 bra DRAWN;
 atom.global.add.u32 %r2, [%rd3], 1; st.shared.u32 [tile], %r2; setp.ge.u32 %p2, %r2, 6; @%p2 bra DRAWN;
 mul.wide.u32 %rd5, %r2, 256; add.u64 %rd5, %rd1, %rd5; {proxy}
 mbarrier.arrive.expect_tx.shared.b64 _, [m], 256;
 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [s], [%rd5], 256, [m];
DRAWN: bar.sync 0; ld.shared.u32 %r2, [tile]; setp.ge.u32 %p2, %r2, 6; @%p2 bra DONE;
W: {wait}
 ld.shared.u32 %r3, [%r6]; {behind} xor.b32 %r5, %r5, 1;
 mul.wide.u32 %rd5, %r2, 256; add.u64 %rd5, %rd2, %rd5; add.u64 %rd5, %rd5, %rd4; st.global.u32 [%rd5], %r3; bra TURN;
DONE: ret;
}}
"""
_RIGHT = {
    "proxy": "fence.proxy.async;",
    "wait": "mbarrier.try_wait.parity.shared.b64 %p3, [m], %r5; @!%p3 bra W;",
    "behind": "bar.sync 0;",
}


def _tiles(contents: object = 0, **changed: str) -> KernelTest:
    sizes = {"x": 384, "out": 384, "next": 1}
    params = {name: {"type": "u32", "elements": size} for name, size in sizes.items()}
    params["x"]["init"] = contents
    tree = {
        "ptx": "k.ptx", "entry": "k", "grid": 2, "block": 64, "params": params,
        "check": {"race_free": True, "terminates": True},
    }  # fmt: skip
    return KernelFile.of(tree, "k.toml", {"k.ptx": _TILES.format(**{**_RIGHT, **changed})}).test()


@pytest.mark.parametrize("contents", [0, "any"])
@pytest.mark.parametrize(("changed", "verdict"), [("proxy", "no"), ("wait", "undefined"), ("behind", "no")])
def test_a_mistake_beside_a_counter_and_copies_is_shown(changed: str, verdict: str, contents: object) -> None:
    open_, found = by_runs(_tiles(contents, **{changed: ""}))
    assert not open_ and found.verdict == verdict
    assert any("x holds 0x00 in every byte" in note for note in found.notes) is (contents == "any")


def test_nothing_is_shown_where_there_is_no_mistake() -> None:
    assert _shown(_tiles()) is None
