"""Order that one run has, and other executions do not: none of it may settle a launch. The formula says what is right of each
kernel; a run says the same, or leaves it open, in every order of the CTAs."""

from __future__ import annotations

from itertools import permutations

import pytest
from by_runs import by_formula, by_runs
from test_peeks import _WAIT, PTX

from ptxmm.kernels.test import KernelTest
from ptxmm.kernels.toml import KernelFile

_HEAD = """.version 8.6
.target sm_90
.address_size 64
.visible .entry k(.param .u64 x)
{
 .reg .pred %p<8>; .reg .b32 %r<16>; .reg .b64 %rd<8>;
 ld.param.u64 %rd1, [x]; mov.u32 %r1, %ctaid.x;
"""
_DATA, _ONE, _TWO, _OUT = 0, 16, 32, 64


def _store(at: int, value: object, order: str = "") -> str:
    return f" st{order}.global.u32 [%rd1+{at}], {value};"


def _wait(at: int, order: str, label: str, *, vain: str = "") -> str:
    look = f"{label}: ld{order}.global.u32 %r5, [%rd1+{at}]; setp.eq.u32 %p1, %r5, 0;"
    return f"{look} @!%p1 bra {label}_; {vain} bra {label};\n{label}_:" if vain else f"{look} @%p1 bra {label};\n"


_READ = f" ld.global.u32 %r6, [%rd1+{_DATA}]; st.global.u32 [%rd1+{_OUT}], %r6;"
_GO_ON = f" red.relaxed.gpu.global.add.u32 [%rd1+{_ONE}], 10;"
_OWN = f" red.relaxed.gpu.global.add.u32 [%rd1+{_ONE}], 1;"
_BESIDE = _wait(_ONE, ".relaxed.gpu", "L") + " fence.acq_rel.gpu;" + _GO_ON
_SHOWN = f" st.global.u32 [%rd1+{_OUT}], %r8;"


def _relay(order: str) -> list[str]:
    """A message whose flag another thread sets anew."""
    return [
        _store(_DATA, 7) + _store(_ONE, 1, ".release.gpu"),
        _wait(_ONE, ".acquire.gpu", "L") + _store(_ONE, 2, order),
        _wait(_ONE, ".acquire.gpu", "M") + _READ,
    ]


#: By name the CTAs, of one thread each, the claim, and whether it holds.
CASES: dict[str, tuple[list[str], dict[str, object], bool]] = {
    # Only read-modify-writes carry on what a release hands over (section 8.8).
    "relayed by a relaxed store": (_relay(".relaxed.gpu"), {"race_free": True}, False),
    "relayed by a release": (_relay(".release.gpu"), {"race_free": True}, True),
    # Who finds the flag at once never comes by the fence.
    "a release fence in vain": (
        [
            _store(_DATA, 7) + _wait(_TWO, ".relaxed.gpu", "L", vain="fence.acq_rel.gpu;") + _store(_ONE, 1, ".relaxed.gpu"),
            _store(_TWO, 1, ".relaxed.gpu"),
            _wait(_ONE, ".acquire.gpu", "M") + _READ,
        ],
        {"race_free": True},
        False,
    ),
    "an acquire fence in vain": (
        [
            _wait(_ONE, ".relaxed.gpu", "K") + _wait(_TWO, ".relaxed.gpu", "L", vain="fence.acq_rel.gpu;") + _READ,
            _store(_DATA, 7) + _store(_ONE, 1, ".release.gpu"),
            _wait(_ONE, ".relaxed.gpu", "M") + _store(_TWO, 1, ".relaxed.gpu"),
        ],
        {"race_free": True},
        False,
    ),
    # What waits for the first of two operations of a thread may come before the second one.
    "a read behind an own write": (
        [_OWN + f" ld.relaxed.gpu.global.u32 %r8, [%rd1+{_ONE}];" + _SHOWN, _BESIDE], {"forall": "x[16] == 1"}, False
    ),
    "an atomic behind an own one": (
        [_OWN + f" atom.relaxed.gpu.global.add.u32 %r8, [%rd1+{_ONE}], 0;" + _SHOWN, _BESIDE],
        {"forall": "x[16] == 1"},
        False,
    ),
}  # fmt: skip


def _launch(ctas: list[str], check: dict[str, object]) -> KernelTest:
    text = _HEAD + "".join(f" setp.eq.u32 %p0, %r1, {n}; @%p0 bra C{n};\n" for n in range(len(ctas))) + " ret;\n"
    text += "".join(f"C{n}:\n{body}\n ret;\n" for n, body in enumerate(ctas)) + "}\n"
    params = {"x": {"type": "u32", "elements": 32, "init": [0]}}
    tree = {"ptx": "k.ptx", "entry": "k", "grid": len(ctas), "block": 1, "params": params, "check": check}
    return KernelFile.of(tree, "k.toml", {"k.ptx": text}).test()


@pytest.mark.parametrize("name", CASES)
def test_no_order_of_a_run_passes_for_one_of_all(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    ctas, check, holds = CASES[name]
    assert by_formula(_launch(ctas, check), monkeypatch).verdict == ("ok" if holds else "no")
    for order in permutations(ctas):
        open_, result = by_runs(_launch(list(order), check))
        assert open_ or result.verdict == ("ok" if holds else "no"), order


def test_a_peek_takes_in_as_much_as_the_wait_behind_it() -> None:
    """Else the execution in which it says yes reads what nothing has handed over."""
    first = f"READ:\n {_WAIT} %token, [%r7], 0;"
    assert first in PTX
    for peek in (
        "mbarrier.try_wait.parity.relaxed.cta.shared::cta.b64",
        "mbarrier.test_wait.parity.relaxed.cta.shared::cta.b64",
    ):
        tree = {
            "ptx": "k.ptx", "entry": "k", "grid": 1, "block": 64,
            "params": {"out": {"type": "u32", "elements": 64}, "rounds": {"type": "u32", "value": 1}},
            "check": {"forall": "out[1] == 7", "race_free": True},
        }  # fmt: skip
        text = PTX.replace(first, f"READ:\n {peek} %token, [%r7], 0;")
        open_, result = by_runs(KernelFile.of(tree, "k.toml", {"k.ptx": text}).test())
        assert open_ or result.verdict == "no"


#: A peek within the CTA before a wait within the cluster.
CLUSTER = """.version 8.6
.target sm_90
.address_size 64
.visible .entry k(.param .u64 x)
{
 .reg .pred %p0, %tok, %q; .reg .b32 %r<16>; .reg .b64 %rd1; .shared .align 8 .b64 bar;
 ld.param.u64 %rd1, [x]; mov.u32 %r1, %ctaid.x; mov.u32 %r2, %tid.x;
 setp.ne.u32 %p0, %r1, 0; @%p0 bra I; mbarrier.init.shared.b64 [bar], 1;
I: barrier.cluster.arrive; barrier.cluster.wait; @%p0 bra W; mov.u32 %r7, bar;
 mbarrier.try_wait.parity.acquire.PEEK.shared::cta.b64 %tok, [%r7], 0; mul.lo.u32 %r8, %r2, 3;
 @%tok bra READY;
AGAIN: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %q, [%r7], 0; @!%q bra AGAIN;
READY: ld.global.u32 %r4, [%rd1]; st.global.u32 [%rd1+64], %r4; bra E;
W: st.global.u32 [%rd1], 7; mov.u32 %r7, bar; mapa.shared::cluster.u32 %r8, %r7, 0;
 mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r8];
E: barrier.cluster.arrive; barrier.cluster.wait; ret;
}
"""


@pytest.mark.parametrize(("scope", "verdict"), [("cta", "no"), ("cluster", "ok")])
def test_a_peek_reaches_as_far_as_the_wait_behind_it(scope: str, verdict: str, monkeypatch: pytest.MonkeyPatch) -> None:
    tree = {
        "ptx": "k.ptx", "entry": "k", "grid": 2, "block": 1, "cluster": 2,
        "params": {"x": {"type": "u32", "elements": 32}}, "check": {"forall": "x[16] == 7", "race_free": True},
    }  # fmt: skip
    test = KernelFile.of(tree, "k.toml", {"k.ptx": CLUSTER.replace("PEEK", scope)}).test()
    open_, result = by_runs(test)
    assert (open_ and verdict == "no") or result.verdict == verdict
    assert by_formula(test, monkeypatch).verdict == verdict
