"""Products of warpgroups in launches that one run decides: right ones, and each mistake in them."""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest
from by_runs import by_formula, by_runs
from campaigns import some
from warpgroup_kernels import COMMIT, FENCE, PRODUCT, WAIT, ring, tile

import ptxmm
from axioms.dynamic.asynchronous.fenced import unfenced
from ptxcore.machine.run.launch import load
from ptxmm.kernels.toml import KernelFile
from ptxmm.result import Result


class Mistake(NamedTuple):
    """What is written instead of what, keys of tensor maps, and what comes of it: the verdict, words of the reason, and of an
    instruction that is told."""

    changes: tuple[tuple[str, str], ...]
    verdict: str
    said: str
    where: str = ""
    keys: dict[str, Any] = {}  # noqa: RUF012


_EMPTY, _FULL = "EMPTY: mbarrier.try_wait", "FULL: mbarrier.try_wait"
_UNORDERED = "an access that nothing orders with that of an asynchronous operation"
_ARRIVE = "mbarrier.arrive.shared.b64 _, [%r8];"
_PROXY = "fence.proxy.async.shared::cta;"
IN_RING = {
    "a phase bit of the producer": Mistake((("xor.b32 %r5, %r5, 1", "xor.b32 %r5, %r5, 0"),), "undefined",
                                           "more arrivals than the mbarrier object waits for", "expect_tx"),
    "a phase bit of the consumer": Mistake((("%p1, [%r7], %r5", "%p1, [%r7], 0"),), "no", "deadlock", "%p1, [%r7], 0"),
    "more bytes expected": Mistake((("2304;", "2320;"),), "no", "deadlock", _FULL),
    "fewer bytes expected": Mistake((("2304;", "2288;"),), "no", "deadlock", _FULL),
    "more arrivals expected": Mistake((("[empty], 128", "[empty], 129"),), "no", "deadlock", _FULL),
    "fewer arrivals expected": Mistake((("[empty], 128", "[empty], 127"),), "undefined", "an arrival in a phase", _ARRIVE),
    "no wgmma.fence": Mistake(((FENCE, ""),), "undefined", "no 'wgmma.fence' stands before", PRODUCT),
    "no wait_group": Mistake(((WAIT, ""),), "undefined", "is used before 'wgmma.wait_group' has waited", "st.global.f32"),
    "no commit_group": Mistake(((COMMIT, ""),), "undefined", "is used before 'wgmma.wait_group' has waited", "st.global.f32"),
    "a stage is given back early": Mistake(((f"{WAIT}\n {_ARRIVE}", f"{_ARRIVE}\n {WAIT}"),), "undefined", _UNORDERED,
                                           "cp.async.bulk.tensor"),
    "a stage is filled early": Mistake((("setp.lt.u32 %p1, %r2, 2; @%p1 bra GO;", "bra GO;"),), "undefined",
                                       "more arrivals than the mbarrier object waits for", "expect_tx"),
    "no fence behind the initialisation": Mistake((("fence.mbarrier_init.release.cluster;", ""),), "undefined",
                                                  "before which its initialisation does not certainly come", "mbarrier.init"),
    "a wgmma.fence before the wait alone": Mistake(((FENCE, ""), ("CONSUME:", f"{FENCE}\nCONSUME:")), "undefined",
                                                   _UNORDERED, PRODUCT),
    "a wgmma.fence before the wait, a fence of global memory behind it": Mistake(
        ((FENCE, "fence.proxy.async.global;"), ("CONSUME:", f"{FENCE}\nCONSUME:")), "undefined", _UNORDERED, PRODUCT),
    "a box too small": Mistake((), "no", "deadlock", _FULL, {"b_box": [16, 4]}),
    "a box of the same size": Mistake((), "no", "forall", "", {"b_box": [8, 16]}),
    "another swizzle than the descriptors'": Mistake((), "no", "forall", "", {"swizzle": "none"}),
    "another swizzle of B": Mistake((), "no", "forall", "", {"b_swizzle": "none"}),
    "a tensor map that does not fit": Mistake((("tensor.2d", "tensor.3d"), ("%r20}", "%r20, %r20}")), "undefined",
                                              "the copy has 3 coordinates, the tensor 2 dimensions", "cp.async"),
}  # fmt: skip
_AGAIN = "st.shared.v4.u32 [%r1], {%r14, %r15, %r16, %r17};"
IN_TILE = {
    "no fence between the proxies": Mistake(((_PROXY, ""),), "undefined", _UNORDERED, "st.shared"),
    "a write before the wait": Mistake(((WAIT, f"{_AGAIN} {WAIT}"),), "undefined", _UNORDERED, _AGAIN),
    "another value behind the fence": Mistake(((FENCE, f"{FENCE} mov.f32 %f1, 0f3F800000;"),), "undefined",
                                              "%f1, which 'wgmma.mma_async' accesses, was written since", PRODUCT),
    "a register read before the wait": Mistake(((WAIT, f"add.f32 %f1, %f0, %f0; {WAIT}"),), "undefined",
                                               "is used before 'wgmma.wait_group' has waited", "add.f32"),
    "a matrix beyond the end": Mistake((("%rd5, %rd4, 128", "%rd5, %rd4, 130"),), "undefined", "out of bounds", PRODUCT),
}  # fmt: skip
#: What no run decides, and the manual leaves open or the code alone does not tell.
OPEN = {
    "no barrier": ((("bar.sync 0;", ""),), "of which only some threads come behind what it reads"),
    "the same value behind the fence": (((FENCE, f"{FENCE} mov.f32 %f1, 0f00000000;"),), "since the last wgmma.fence"),
    "a register read behind the fence": (((FENCE, f"{FENCE} setp.eq.f32 %p0, %f1, %f1;"),), "since the last wgmma.fence"),
}  # fmt: skip


def told(result: Result) -> str:
    return " ".join(
        [result.error or "", *(f"{c.text}: {c.holds} {c.message}" for c in result.checks if c.holds is False)]
    )


def lines(result: Result, text: str) -> list[str]:
    """The lines of the module that are told."""
    spots = [spot.line for spot, _ in result.places] + [s.line for c in result.checks for s, _ in c.spots]
    spots += [event.line for race in result.races for event in race.events]
    return [text.splitlines()[line - 1] for line in spots if line]


@pytest.mark.parametrize("made", [ring, tile])
def test_products_are_decided_at_their_size(made: Any) -> None:
    open_, result = by_runs(made())
    assert (open_, result.verdict, [c.holds for c in result.checks]) == ("", "ok", [True, True, True])
    assert "asynchronous operations" in result.notes[0]
    assert result.notes[1].startswith("no address, branch or count depends on the contents of")
    assert "some" not in result.notes[1]


def test_a_register_that_only_counts_for_itself_is_no_matter() -> None:
    counted = "mov.u32 %r21, 0;\nCONSUME:\n xor.b32 %r21, %r21, 1;"
    assert by_runs(ring(("CONSUME:\n", counted)))[1].verdict == "ok"


@pytest.mark.part(4)
@pytest.mark.parametrize("name", some(2, [*IN_RING, *IN_TILE]))
def test_each_mistake_is_told_at_its_line(name: str) -> None:
    mistake = {**IN_RING, **IN_TILE}[name]
    test = (ring if name in IN_RING else tile)(*mistake.changes, **mistake.keys)
    open_, result = by_runs(test)
    assert not open_ and result.verdict == mistake.verdict, (open_, told(result))
    assert mistake.said in told(result)
    found = lines(result, test.launches[0].text)
    assert not mistake.where or any(mistake.where in line for line in found), found


def test_products_of_memory_that_nobody_wrote_are_shown_with_zeros_there() -> None:
    result = ptxmm.check(tile(("setp.ge.u32 %p0, %r0, 16;", "setp.ge.u32 %p0, %r0, 8;")))
    assert result.verdict == "no"
    assert any(note.startswith("what nothing determines may be anything") for note in result.notes)


@pytest.mark.parametrize("name", OPEN)
def test_what_is_not_followed_is_named(name: str) -> None:
    changes, said = OPEN[name]
    result = ptxmm.check(tile(*changes))
    assert result.verdict == "undecided"
    assert result.error.startswith("products of warpgroups (wgmma) are followed by runs of all threads alone")
    assert said in result.error


def test_sums_that_the_manual_leaves_open_leave_open_only_checks_of_them() -> None:
    result = ptxmm.check(tile(("0f00000000", "0f3E99999A")))
    assert [c.holds for c in result.checks] == [None, True, True]
    assert "depend on sums of products of matrices (k.toml:20)" in result.checks[0].message


def test_fences_of_proxies_on_either_side_of_a_barrier_are_enough() -> None:
    either = f"{_PROXY}\n bar.sync 0;"
    assert by_runs(tile((either, f"bar.sync 0; {_PROXY}")))[1].verdict == "ok"
    assert by_runs(tile((WAIT, f"{WAIT} {_AGAIN}")))[1].verdict == "ok"  # a wait is a fence, too


CODE = """.version 8.6
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 out)
{{
 .reg .pred %p; .reg .b32 %r<4>; .reg .b64 %o, %a; .reg .f32 %f<8>;
 {fence}
L:
 {body}
 wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {{%f0, %f1, %f2, %f3}}, %a, %a, 1, 1, 1, 0, 0;
 {behind}
 @%p bra L;
 ret;
}}
"""
_WIDER = ("wgmma.mma_async.sync.aligned.m64n16k16.f32.f16.f16 {%f0, %f1, %f2, %f3, %f4, %f5, %f6, %f7}, %a, %a, "
          "1, 1, 1, 0, 0;")  # fmt: skip
_OF_A = "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f4, %f5, %f6, %f7}, {%r0, %r1, %r2, %r3}, %a, 1, 1, 1, 0;"


@pytest.mark.parametrize(
    ("body", "behind", "count"),
    [
        ("", "", 0),
        (FENCE, "add.f32 %f0, %f0, %f0;", 0),
        ("", "add.f32 %f0, %f0, %f0;", 1),  # on the way back
        ("", "add.f32 %f4, %f5, %f5;", 0),
        ("", f"add.f32 %f0, %f0, %f0; {FENCE}", 0),
        ("@%p mov.f32 %f3, 0f00000000;", "", 1),
        ("st.global.f32 [%o], %f2;", "", 1),
        ("mov.u64 %a, 0;", "", 0),  # a descriptor
        ("", f"@%p {FENCE} add.f32 %f0, %f0, %f0;", 1),
        ("", _WIDER, 2),  # of another shape
        (FENCE, f"{FENCE} {_WIDER}", 0),
        (_OF_A, _OF_A, 0),
        (_OF_A, "mov.b32 %r2, 1;", 1),
    ],
)
def test_registers_that_are_accessed_since_a_fence_are_found_by_the_code(body: str, behind: str, count: int) -> None:
    code = load(CODE.format(fence=FENCE, body=body, behind=behind), "k.ptx").program.functions["k"]
    assert len(unfenced(code)) == count


_OUT = """.version 8.6
.target sm_90
.address_size 64
.visible .entry k(.param .u64 y)
{{
 .reg .pred %p; .reg .b32 %r<4>; .reg .b64 %rd<3>; .shared .align 128 .b8 s[512];
 ld.param.u64 %rd1, [y]; mov.u32 %r1, %tid.x; mov.u32 %r2, s; shl.b32 %r3, %r1, 2; add.u32 %r2, %r2, %r3;
 st.shared.u32 [%r2], %r1;
 {fence}
 bar.sync 0;
 {behind}
 setp.ne.u32 %p, %r1, 0; @%p bra DONE;
 mov.u32 %r2, s;
 cp.async.bulk.global.shared::cta.bulk_group [%rd1], [%r2], {size};
 cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;
DONE: ret;
}}
"""


@pytest.mark.parametrize(
    ("fence", "behind", "verdict"),
    [("", "", "undefined"), (_PROXY, "", "ok"), ("", _PROXY, "ok"), ("fence.proxy.async.global;", "", "undefined")],
)
def test_copies_out_of_what_threads_wrote_need_a_fence(
    fence: str, behind: str, verdict: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At 128 threads by a run, at 4 by the formula as well."""
    for block in (128, 4):
        tree = {"ptx": "k.ptx", "grid": 1, "block": block, "params": {"y": {"type": "u32", "elements": block}},
                "check": {"forall": f"y[{block - 1}] == {block - 1}", "race_free": True}}  # fmt: skip
        text = _OUT.format(fence=fence, behind=behind, size=4 * block)
        test = KernelFile.of(tree, "k.toml", {"k.ptx": text}).test()
        open_, found = by_runs(test)
        assert (open_, found.verdict) == ("", verdict)
        assert verdict == "ok" or _UNORDERED in (found.error or "")
        if block == 4:
            assert by_formula(test, monkeypatch).verdict == verdict
