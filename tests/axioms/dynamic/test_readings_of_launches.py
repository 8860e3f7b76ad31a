"""Readings of the manual that launches hang on: what each of them makes of a kernel, and what a report says without one."""

from __future__ import annotations

import pytest
from by_runs import by_runs
from campaigns import some
from tensor_memory_cases import AFTER, BEFORE, COMMIT, WAIT, WAIT_LD, WAIT_ST
from tensor_memory_kernels import ring
from test_tensor_memory_pair_ring import _FENCE, pair
from test_tensor_memory_patterns import _PROXY, _READ, _WRITE, COPY, LOAD, MMA, STORE, kernel, of

import ptxmm
from axioms.models.options import CONTRARY, OF_LAUNCHES
from ptxcore.diagnostics import InputError
from ptxmm.kernels import by_readings
from ptxmm.kernels.test import KernelTest
from ptxmm.words.whole import left_open

SYNC, ALONE, OWN, ISSUER, *_ = OF_LAUNCHES
_RELAXED = WAIT.replace("parity", "parity.relaxed.cluster")
#: Of a body: what it is under `--tcgen05-by-sync`. Without its fences the manual's rules for `tcgen05` do not order it.
_BY_SYNC = {
    f"{STORE} {WAIT_ST} bar.sync 0; @%py {MMA}": "ok",  # as Triton sets accumulators to zero
    f"{LOAD} {WAIT_LD} bar.sync 0; @%py {MMA}": "ok",
    f"@%px {MMA} @%px {COMMIT} {WAIT} {LOAD}": "ok",
    f"@!%px bra N; {MMA} {COMMIT} {WAIT} N: bar.sync 0; {LOAD}": "ok",
    f"{STORE} bar.sync 0; @%py {MMA}": "undefined",  # nobody waits
    f"{STORE} {WAIT_ST} @%py {MMA}": "undefined",  # nothing comes between
    f"@%px {MMA} @%px {COMMIT} {_RELAXED} {LOAD}": "undefined",  # acquires nothing
    f"@%px {COPY} bar.sync 0; @%py {MMA}": "undefined",  # the copy need not be complete
    f"@!%px bra N; {MMA} {COMMIT} N: bar.sync 0; {LOAD}": "undefined",
    f"{STORE} {WAIT_LD} bar.sync 0; @%py {MMA}": "undefined",
}


@pytest.mark.part(6)
@pytest.mark.parametrize("body", some(3, list(_BY_SYNC)))
def test_synchronization_that_acquires_orders_cells_under_one_reading(body: str) -> None:
    """9.7.16.6.3: "The standard memory consistency model synchronization mechanisms also apply"."""
    test = of(kernel(body))
    plain, alone, found = (ptxmm.check(test, options=o) for o in ((), (ALONE,), (SYNC,)))
    assert plain.verdict == alone.verdict == "undefined"
    assert found.verdict == _BY_SYNC[body]
    hint = any(f"--{SYNC} is the reading that asks for none" in str(race.reason) for race in plain.races)
    assert hint is (found.verdict == "ok")


@pytest.mark.long
def test_fences_are_right_under_each_reading() -> None:
    test = of(kernel(f"{STORE} {WAIT_ST} {BEFORE} bar.sync 0; {AFTER} @%py {MMA}"))
    assert {ptxmm.check(test, options=o).verdict for o in ((), (SYNC,), (ALONE,))} == {"ok"}


#: What stands between a barrier and a product of bytes that threads wrote before it: what the launch is under no reading,
#: under `--tcgen05-by-sync`, and under `--tcgen05-by-fence`.
_BEHIND_A_BARRIER = {
    "": ("undecided", "ok", "undefined"),
    AFTER: ("ok", "ok", "ok"),
    "fence.proxy.async;": ("ok", "ok", "ok"),
    _PROXY: ("ok", "ok", "ok"),
    "fence.proxy.async.global;": ("undecided", "ok", "undefined"),
}


@pytest.mark.long
@pytest.mark.parametrize("fence", _BEHIND_A_BARRIER)
def test_a_fence_between_the_proxies_orders_what_products_read_of_shared_memory(fence: str) -> None:
    """9.7.16.6.5 asks for it in the thread that issues a product, so the product reads behind it, and behind what it comes
    behind (8.9.5). One of global memory says nothing of it."""
    test = of(kernel(f"{_WRITE} {_PROXY} bar.sync 0; {fence} {_READ}"))
    assert tuple(ptxmm.check(test, options=o).verdict for o in ((), (SYNC,), (ALONE,))) == _BEHIND_A_BARRIER[fence]


@pytest.mark.long
def test_a_fence_between_the_proxies_orders_no_cells() -> None:
    test = of(kernel(f"@%px {MMA} @%px {COMMIT} {WAIT} fence.proxy.async; {LOAD}"))
    assert [ptxmm.check(test, options=o).verdict for o in ((), (SYNC,), (ALONE,))] == ["undefined", "ok", "undefined"]


def _unfenced_ring() -> KernelTest:
    return ring((f"bra FULL;\n {AFTER}", "bra FULL;"))


def _pair_by_bytes() -> KernelTest:
    return pair((f" {_FENCE}\n", ""))


@pytest.mark.long
@pytest.mark.parametrize(
    ("made", "right", "wrong"), [(_unfenced_ring, SYNC, ALONE), (_pair_by_bytes, OWN, ISSUER)], ids=["issue", "pair"]
)
def test_what_a_reading_decides_is_told_with_both(made, right: str, wrong: str) -> None:  # type: ignore[no-untyped-def]
    test = made()
    result = ptxmm.check(test)
    assert result.verdict == "undecided"
    assert f"tried: ok with --{right}, undefined with --{wrong}" in str(result.error)
    for reading, verdict in ((right, "ok"), (wrong, "undefined")):
        assert ptxmm.check(test, options=[reading]).verdict == verdict


@pytest.mark.long
def test_two_readings_are_tried_together() -> None:
    result = ptxmm.check(pair((f"{_FENCE}\n {AFTER}", "")))
    both = f"ok with --{SYNC} --{OWN}, undefined with --{SYNC} --{ISSUER}, undefined with --{ALONE}"
    assert result.verdict == "undecided" and f"tried: {both}" in str(result.error)


def test_what_is_wrong_under_each_reading_is_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    """The two are wrong at different places, so that a run that follows neither leaves it open."""
    asked = []

    def decide(test, result, deadline, model) -> str:  # type: ignore[no-untyped-def]
        asked.append(model.readings)
        result.verdict = "undefined" if OWN in model.readings else "no"
        return ""

    model, test = ptxmm.api.model_named("ptx-9.0"), _pair_by_bytes()
    blank = by_runs(_unfenced_ring())[1]
    monkeypatch.setattr(by_readings, "decide_whole", decide)
    open_ = left_open("pair", "k.ptx:1")
    found, more = by_readings.by_readings(test, blank, None, model, open_)
    assert found is blank and "undefined with --pair-reads-own, no with" in more
    monkeypatch.setattr(
        by_readings, "decide_whole", lambda t, r, d, m: decide(t, r, d, m) or setattr(r, "verdict", "no") or ""
    )
    found, more = by_readings.by_readings(test, blank, None, model, open_)
    assert (found.verdict, more) == ("no", "") and "wrong under each reading" in found.notes[-1]
    assert asked == 2 * [frozenset((OWN,)), frozenset((ISSUER,))] and not model.readings


@pytest.mark.parametrize("two", CONTRARY)
def test_nobody_follows_two_readings_of_the_same_words(two: tuple[str, str]) -> None:
    with pytest.raises(InputError, match="two readings of the same words"):
        ptxmm.api.model_named("ptx-9.0", two)


def test_litmus_tests_are_the_same_under_them() -> None:
    text = "PTX T\n{ x = 0; }\n P0 ;\n st.weak.u32 [x], 1 ;\nexists (x = 1)\n"
    results = [ptxmm.check(ptxmm.parse(text), options=o) for o in ((), (SYNC, OWN))]
    assert results[0].states == results[1].states
