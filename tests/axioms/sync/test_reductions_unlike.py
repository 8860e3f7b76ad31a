"""`bar.red` of threads that reduce by different operations: one operation is specified, and one value goes to all who wait (PTX
ISA 9.0, section 9.7.13.1), so that such threads have no meaning, in runs and in what is explored."""

from __future__ import annotations

import itertools

import pytest

import ptxmm
from ptxcore.machine.run.faults import KernelError
from ptxcore.machine.run.launch import load

WAYS = {
    "popc": "bar.red.popc.u32 %r0, 1{count}, p;",
    "and": "bar.red.and.pred q, 1{count}, p; selp.u32 %r0, 1, 0, q;",
    "or": "bar.red.or.pred q, 1{count}, p; selp.u32 %r0, 1, 0, q;",
    "sync": "bar.sync 1{count}; mov.u32 %r0, 9;",
}
PAIRS = [*itertools.combinations_with_replacement(WAYS, 2)]
#: Without a count threads meet in rounds, with one in instances that are numbered.
COUNTS = ("", ", 64")


def litmus(ways: tuple[str, str], count: str) -> str:
    threads = "\n".join(
        f"P{i}@warp {i},cta 0 {{ .reg .pred p, q; setp.eq.u32 p, {i}, 0; {WAYS[way].format(count=count)} }}"
        for i, way in enumerate(ways)
    )
    return f"PTX reduced\n{{ }}\n{threads}\nexists (0:r0 = 1)\n"


def kernel(ways: tuple[str, str], count: str, threads: int = 64) -> str:
    first, second = (WAYS[way].format(count=count) for way in ways)
    return f""".version 9.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 out)
{{
.reg .b32 %t, %r0; .reg .b64 %o; .reg .pred p, q, %second;
mov.u32 %t, %tid.x; ld.param.u64 %o, [out]; mad.wide.u32 %o, %t, 4, %o;
setp.ge.u32 %second, %t, {threads // 2}; setp.lt.u32 p, %t, 5;
@%second bra S; {first} bra E; S: {second} E: st.global.u32 [%o], %r0; ret;
}}
"""


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("ways", PAIRS, ids="+".join)
def test_threads_that_reduce_in_different_ways_have_no_meaning(ways: tuple[str, str], count: str) -> None:
    for engine in ("solve", "enumerate"):
        result = ptxmm.check(ptxmm.parse(litmus(ways, count)), engine=engine)
        if ways[0] == ways[1]:
            assert result.verdict in ("ok", "no"), (engine, result.verdict)
            continue
        assert result.verdict == "undefined", (engine, result.verdict)
        mixed = "sync" in ways
        assert ("mixed with other barriers" if mixed else "bar.red with different operations") in result.trouble


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("ways", PAIRS, ids="+".join)
def test_a_run_says_so_too(ways: tuple[str, str], count: str) -> None:
    for seed in (None, 0, 1):
        device = load(kernel(ways, count), "k.ptx")
        out = device.memory.allocate(256, "out")
        launch = lambda d=device, o=out, s=seed: d.launch("k", (1, 1, 1), (64, 1, 1), [o], seed=s)  # noqa: E731
        if ways[0] == ways[1]:
            launch()
            wanted = {"popc": 5, "and": 0, "or": 1, "sync": 9}[ways[0]]
            assert {device.memory.at(out).read(4 * i, 4) for i in range(64)} == {wanted}
            continue
        with pytest.raises(KernelError) as told:
            launch()
        assert told.value.kind == "barrier-divergence"
        assert "to reduce" in told.value.message


def test_arrays_leave_them_to_single_threads() -> None:
    """A launch so large that arrays execute it."""
    from ptxcore.machine.vector.choice import launch

    for ways in (("popc", "popc"), ("popc", "or")):
        device = load(kernel(ways, "", 512), "k.ptx")
        out = device.memory.allocate(4 * 512, "out")
        args = (device, "k", (40, 1, 1), (512, 1, 1), [out])
        if ways[0] == ways[1]:
            launch(*args)
            assert device.memory.at(out).read(4 * 511, 4) == 5
            continue
        with pytest.raises(KernelError, match="reduce by"):
            launch(*args)
