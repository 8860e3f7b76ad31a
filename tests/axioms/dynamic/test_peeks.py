"""Waits that are looked at once, and waited for only where the answer was no, as pipelines of CUTLASS do: by a run, and by the
formula of the same kernel with two threads."""

from __future__ import annotations

import ptxas
import pytest
from by_runs import by_runs
from tensor_memory_kernels import changed

import ptxmm
from axioms.dynamic.asynchronous.peeks import peeks_of
from ptxcore.machine.run.launch import load
from ptxmm.kernels.test import KernelTest
from ptxmm.kernels.toml import KernelFile

_WAIT = "mbarrier.try_wait.parity.shared.b64"
#: Thread 0 fills a buffer of its own round by round; the others look for the round at its beginning, do something else, and
#: wait for it if they must.
PTX = f""".version 8.6
.target sm_90
.address_size 64
.visible .entry k(.param .u64 out, .param .u32 rounds)
{{
 .reg .pred %p, %q, %token, %told, %t0; .reg .b32 %r<9>; .reg .b64 %out, %at;
 .shared .align 8 .b64 full[2]; .shared .align 8 .b64 other; .shared .align 4 .b32 s[8];
 ld.param.u64 %out, [out]; ld.param.u32 %r1, [rounds]; mov.u32 %r0, %tid.x; setp.eq.u32 %t0, %r0, 0;
 @!%t0 bra BEGUN;
 mbarrier.init.shared.b64 [full], 1; mbarrier.init.shared.b64 [full+8], 1; mbarrier.init.shared.b64 [other], 1;
BEGUN: bar.sync 0;
 mov.u32 %r2, 0; mov.u32 %r5, 0; mov.u32 %r6, s; mov.u32 %r7, full;
 @!%t0 bra READ;
WRITE:
 add.u32 %r3, %r2, 7; st.shared.u32 [%r6], %r3;
 mbarrier.arrive.shared.b64 _, [%r7];
 add.u32 %r6, %r6, 4; add.u32 %r7, %r7, 8; add.u32 %r2, %r2, 1; setp.lt.u32 %p, %r2, %r1; @%p bra WRITE;
 mbarrier.arrive.shared.b64 _, [other];
 bra.uni DONE;
READ:
 {_WAIT} %token, [%r7], 0;
LOOP:
 add.u32 %r2, %r2, 1;
 @%token bra READY;
AGAIN: {_WAIT} %q, [%r7], 0; @!%q bra AGAIN;
READY:
 ld.shared.u32 %r4, [%r6]; add.u32 %r5, %r5, %r4;
 add.u32 %r6, %r6, 4; add.u32 %r7, %r7, 8; setp.lt.u32 %p, %r2, %r1; @!%p bra DONE;
 {_WAIT} %token, [%r7], 0;
 mul.lo.u32 %r8, %r2, 3;
 bra LOOP;
DONE:
 mul.wide.u32 %at, %r0, 4; add.u64 %out, %out, %at;
 st.global.u32 [%out], %r5;
 ret;
}}
"""
_BRANCH, _AGAIN = "@%token bra READY;", f"AGAIN: {_WAIT} %q, [%r7], 0; @!%q bra AGAIN;"
_LOAD = "ld.shared.u32 %r4, [%r6];"


def _test(block: int, *changes: tuple[str, str], rounds: int = 2) -> KernelTest:
    tree = {
        "ptx": "k.ptx", "entry": "k", "grid": 1, "block": block,
        "params": {"out": {"type": "u32", "elements": block}, "rounds": {"type": "u32", "value": rounds}},
        "check": {"forall": f"out[1] == {[0, 7, 15][rounds]}", "race_free": True, "terminates": True},
    }  # fmt: skip
    return KernelFile.of(tree, "k.toml", {"k.ptx": changed(PTX, changes)}).test()


@pytest.mark.parametrize("rounds", [1, 2])
def test_a_run_decides_what_peeks(rounds: int) -> None:
    open_, result = by_runs(_test(64, rounds=rounds))
    assert (open_, result.verdict) == ("", "ok")
    assert ptxmm.check(_test(2, rounds=rounds)).verdict in ("ok", "bounded")


#: The wait as libcu++ has it, whose loop begins with what passes time, and whose answer becomes a number first.
_COUNTED = f"""mov.u32 %r8, 0;
IDLE: setp.lt.u32 %told, %r8, 16; @%told bra COUNT; nanosleep.u32 100; bra.uni AGAIN;
COUNT: add.u32 %r8, %r8, 1;
AGAIN: {_WAIT} %q, [%r7], 0; selp.b32 %r4, 1, 0, %q; setp.eq.u32 %p, %r4, 0; @%p bra IDLE;"""


def test_a_wait_that_passes_time_in_between_is_one() -> None:
    test = _test(64, (_AGAIN, _COUNTED))
    code = load(test.launches[0].text).program.functions["k"]
    assert len(peeks_of(code).peeks) == 2
    open_, result = by_runs(test)
    assert (open_, result.verdict) == ("", "ok")
    assert ptxmm.check(_test(2, (_AGAIN, _COUNTED))).verdict in ("ok", "bounded")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("setp.eq.u32 %p, %r4, 0;", "setp.ne.u32 %p, %r4, 0;"),  # a yes leads back
        ("selp.b32 %r4, 1, 0, %q;", "selp.b32 %r4, 0, 0, %q;"),  # nothing leads on
        ("setp.eq.u32 %p, %r4, 0;", "setp.gt.u32 %p, %r8, 1;"),  # how often it has looked leads on
        ("COUNT: add.u32 %r8, %r8, 1;", "COUNT: add.u32 %r8, %r8, 1; add.u32 %r5, %r5, 1;"),  # and is told
    ],
)
def test_a_wait_that_passes_time_and_does_more_is_none(old: str, new: str) -> None:
    assert old in _COUNTED
    test = _test(64, (_AGAIN, _COUNTED.replace(old, new)))
    open_, result = by_runs(test)
    assert open_ or result.verdict != "ok"


@pytest.mark.part(3)
@pytest.mark.parametrize(
    ("changes", "verdict"),
    [
        # Nobody waits; or what was to be read is read before.
        (((_AGAIN, "AGAIN:"),), "no"),
        (((_BRANCH, f"{_LOAD} {_BRANCH}"), (f"READY:\n {_LOAD}", "READY:")), "no"),
        # The two are about another phase, or another object: who was told yes has not waited for what it reads.
        (((f"READ:\n {_WAIT} %token, [%r7], 0;", f"READ:\n {_WAIT} %token, [%r7], 1;"),), "no"),
        (((f"READ:\n {_WAIT} %token, [%r7], 0;", f"READ:\n {_WAIT} %token, [other], 1;"),), "no"),
        # What is done with the answer is more than that.
        (((_AGAIN, f"{_AGAIN} add.u32 %r5, %r5, 1;"),), "no"),
        (((_BRANCH, f"selp.u32 %r3, 1, 0, %token; add.u32 %r5, %r5, %r3; {_BRANCH}"),), "no"),
        (((_BRANCH, f"@%token ld.shared.u32 %r8, [%r6]; {_BRANCH}"),), "ok"),
        (((_AGAIN, "@!%token bra DONE;"),), "no"),
    ],
)  # fmt: skip
def test_a_run_never_says_more_than_the_formula(changes: tuple[tuple[str, str], ...], verdict: str) -> None:
    expected = ptxmm.check(_test(2, *changes)).verdict.replace("bounded", "ok")
    assert expected == verdict
    open_, result = by_runs(_test(64, *changes))
    assert open_ or result.verdict == verdict


def _found(*changes: tuple[str, str]) -> tuple[int, int]:
    """How many peeks there are, and how many waits that they lead to."""
    (code,) = load(changed(PTX, changes)).program.functions.values()
    found = peeks_of(code)
    return len(found.peeks), len(found.behind)


def test_peeks_are_found_by_the_code() -> None:
    assert _found() == (2, 1)
    told = "selp.b32 %r8, 1, 0, %token; setp.ne.s32 %told, %r8, 0; @%told bra READY;"
    assert _found((_BRANCH, told)) == (2, 1)
    assert _found((_BRANCH, f"{told} st.global.u32 [%out], %r8;")) == (0, 0)
    assert _found((_AGAIN, f"{_AGAIN} add.u32 %r5, %r5, 1;")) == (0, 0)
    assert _found((_BRANCH, f"@%token st.shared.u32 [s], 1; {_BRANCH}")) == (0, 0)


@pytest.mark.skipif(ptxas.executable() is None, reason="no ptxas 13.0 here")
def test_ptxas_accepts_it() -> None:
    assert not ptxas.check_module(PTX)
