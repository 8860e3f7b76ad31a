"""Where a wrong value at the end comes from: who wrote it, the products that it may be computed of, and who wrote what these
read, where the swizzle or the rows are others than the descriptor's."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from by_runs import by_runs

from ptxcore.clock import OutOfTime
from ptxmm.kernels import provenance
from ptxmm.kernels.test import KernelTest
from ptxmm.kernels.toml import KernelFile

sys.path.append(str(Path(__file__).parents[1] / "axioms" / "dynamic"))

from warpgroup_kernels import PRODUCT, ring, tile

GATE = Path(__file__).parent / "gate"


def told(test: KernelTest) -> list[tuple[str, str]]:
    """What is told of a check that does not hold: lines of the module, and what is said of them."""
    open_, result = by_runs(test)
    assert not open_ and result.verdict == "no" and result.checks[0].holds is False
    lines = test.launches[0].text.splitlines()
    return [(lines[spot.line - 1].strip(), what) for spot, what in result.checks[0].spots]


@pytest.mark.parametrize(
    ("keys", "matrices", "said"),
    [
        ({"swizzle": "none"}, "AB", "wrote these bytes with swizzle none, as its tensor map says"),
        ({"b_swizzle": "none"}, "B", "wrote these bytes with swizzle none, as its tensor map says"),
        (
            {"b_box": [8, 16]},
            "B",
            "in rows of 32 bytes; the copy at k.toml:50 wrote these bytes in rows of 16, as the box",
        ),
    ],
)
def test_a_swizzle_or_a_box_that_is_not_the_descriptors_is_named(
    keys: dict[str, Any], matrices: str, said: str
) -> None:
    (store, by), *products = told(ring(**keys))
    assert store.startswith("st.global.f32") and "was written last here, by CTA 0 thread" in by
    assert [line for line, _ in products] == [PRODUCT] * len(matrices)
    for matrix, (_, what) in zip(matrices, products, strict=True):
        assert f"reads {matrix} with swizzle 32B, as its descriptor says" in what and said in what


def test_where_nothing_differs_it_says_who_wrote_what_is_read() -> None:
    """A descriptor of B that begins 16 bytes too early, in A."""
    _, *products = told(tile(("%rd5, %rd4, 128", "%rd5, %rd4, 127")))
    assert [what.split(", ")[1] for _, what in products] == [
        "whose A was written at k.toml:11",
        "whose B was written at k.toml:13",
        "whose B was written at k.toml:11",
    ]


def test_a_value_is_followed_through_shared_memory_and_a_bulk_store() -> None:
    tree = {"ptx": "k.ptx", "entry": "k", "grid": 1, "block": 128,
            "params": {"out": {"type": "f32", "elements": 1024, "align": 128}},
            "check": {"forall": "out[0] == 177 && out[1023] == 621"}}  # fmt: skip
    text = (GATE / "wgmma_store" / "fixed.ptx").read_text()
    (store, by), *products = told(KernelFile.of(tree, "k.toml", {"k.ptx": text}).test())
    assert store.startswith("cp.async.bulk.global.shared::cta") and by.startswith("out[1023] was written last here")
    assert all("wgmma.mma_async" in line and "whose" in what for line, what in products[:-1])
    assert products[-1] == (store, "and of 6 more")


def _small(body: str, block: int = 64) -> KernelTest:
    text = f""".version 8.6
.target sm_90
.address_size 64
.visible .entry k(.param .u64 y)
{{
 .reg .pred %p; .reg .b32 %r<4>; .reg .b64 %y; ld.param.u64 %y, [y]; mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x;
{body}
 ret;
}}
"""
    tree = {"ptx": "k.ptx", "grid": 2, "block": block, "params": {"y": {"type": "u32", "elements": 2}},
            "check": {"forall": "y[0] == 7 && y[1] == 0"}}  # fmt: skip
    return KernelFile.of(tree, "k.toml", {"k.ptx": text}).test()


@pytest.mark.parametrize("store", ["red.relaxed.gpu.global.add.u32 [%y], 1;", "st.relaxed.gpu.global.u32 [%y], 1;"])
def test_a_plain_launch_says_who_wrote_a_value(store: str) -> None:
    assert told(_small(store)) == [(store, "y[0] was written last here, by CTA 1 thread 63")]


def test_a_compare_and_swap_that_fails_wrote_nothing() -> None:
    """One of all threads writes, whichever it is; the run shows the first one."""
    swap = "atom.relaxed.gpu.global.cas.b32 %r3, [%y], 0, 1;"
    assert told(_small(swap)) == [(swap, "y[0] was written last here, by CTA 0 thread 0")]


def test_nothing_is_told_of_what_nothing_wrote() -> None:
    assert told(_small("st.relaxed.gpu.global.u32 [%y+4], 0;")) == []


def test_nothing_is_told_of_a_value_that_another_order_left() -> None:
    """The last of the stores in the run leaves 7; in another execution it is the first one."""
    body = "xor.b32 %r3, %r2, 6; setp.eq.u32 %p, %r1, 0; @%p st.relaxed.gpu.global.u32 [%y], %r3;"
    result = by_runs(_small(body))[1]
    assert result.verdict == "no" and result.checks[0].spots == []


def test_a_verdict_stays_where_there_is_no_time_for_who_wrote_the_value(monkeypatch: pytest.MonkeyPatch) -> None:
    def late(*_: object) -> None:
        raise OutOfTime

    tree = {"ptx": "k.ptx", "entry": "k", "grid": 1, "block": 128,
            "params": {"out": {"type": "f32", "elements": 1024, "align": 128}},
            "check": {"forall": "out[0] == 177 && out[1023] == 621"}}  # fmt: skip
    text = (GATE / "wgmma_store" / "fixed.ptx").read_text()
    monkeypatch.setattr(provenance, "_watched", late)
    assert told(KernelFile.of(tree, "k.toml", {"k.ptx": text}).test()) == []
