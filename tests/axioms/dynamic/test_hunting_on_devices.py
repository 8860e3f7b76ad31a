"""What runs show of launches at the same time, on several devices and with CTAs of several sizes, and what one proves of those
on several devices: so says the formula."""

from __future__ import annotations

import random
from collections import Counter

import pytest
from agreement import note
from by_runs import by_formula, compare_right
from campaigns import lengths, share

from ptxmm.api import model_named
from ptxmm.kernels.check import check
from ptxmm.kernels.hunting import hunt, race_of
from ptxmm.kernels.runs import Runs
from ptxmm.kernels.test import KernelTest
from ptxmm.kernels.toml import KernelFile
from ptxmm.kernels.whole import decide_on_devices
from ptxmm.result import Checked, Result

_ENTRY = """.visible .entry {name}(.param .u64 x)
{{
 .reg .pred %p<4>; .reg .b32 %r<9>; .reg .b64 %rd<4>;
 ld.param.u64 %rd1, [x]; mov.u32 %r1, %tid.x;
 {body}
 ret;
}}
"""
_RUNS = 8


def _test(bodies: list[str], devices: list[int], blocks: list[int]) -> KernelTest:
    """Launches of one CTA each."""
    entries = [_ENTRY.format(name=f"k{n}", body=body) for n, body in enumerate(bodies)]
    kernels = [
        {"entry": f"k{n}", "device": device, "block": block, "grid": 1, "stream": n}
        for n, (device, block) in enumerate(zip(devices, blocks, strict=True))
    ]
    tree = {
        "ptx": "k.ptx", "kernel": kernels, "params": {"x": {"type": "u32", "elements": 8}},
        "check": {"race_free": True, "terminates": True},
    }  # fmt: skip
    head = ".version 8.0\n.target sm_90\n.address_size 64\n"
    return KernelFile.of(tree, "k.toml", {"k.ptx": head + "".join(entries)}).test()


def _step(choose: random.Random, label: int) -> str:
    """Data is at bytes 12 to 15; flags and counters are before it."""
    place = f"[%rd1+{4 * choose.randint(0, 1)}]"
    scope = choose.choice(("gpu", "sys", "sys", "cta"))
    strong = choose.random() < 0.7
    store, load, both = ("release", "acquire", "acq_rel") if strong else ("relaxed",) * 3
    once = f"ld.{load}.{scope}.global.u32 %r5, {place}; setp.eq.u32 %p2, %r5, 0;"
    data = choose.choice((f"st.global.u32 [%rd1+12], {label};", "ld.global.u32 %r6, [%rd1+12];"))
    return choose.choice((
        f"st.{store}.{scope}.global.u32 {place}, 1;",
        f"atom.{both}.{scope}.global.add.u32 %r5, {place}, 1;",
        f"W{label}: {once} @%p2 bra W{label};",
        f"{once} @%p2 bra M{label}; {data} M{label}:",
        f"fence.{choose.choice(('sc', 'acq_rel'))}.{scope};",
        data,
    ))  # fmt: skip


def _kernel(seed: int) -> KernelTest:
    choose = random.Random(seed)
    count = choose.choice((2, 2, 3))
    bodies = [" ".join(_step(choose, 10 * n + i + 1) for i in range(choose.choice((2, 3, 4)))) for n in range(count)]
    blocks = [choose.choice((1, 1, 2)) for _ in range(count)]
    first = "setp.ne.u32 %p1, %r1, 0; @%p1 bra END; {} END:"  # of two threads one does nothing
    bodies = [body if block == 1 else first.format(body) for body, block in zip(bodies, blocks, strict=True)]
    return _test(bodies, [0, *(choose.randint(0, 1) for _ in range(count - 1))], blocks)


def _compare(seeds: range, monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    found: Counter[str] = Counter()
    for seed in seeds:
        test = _kernel(seed)
        runs = Runs(test, watched=True)
        wrong = race_of(runs, lambda _: False) or hunt(runs, lambda _: False, _RUNS)
        expected = by_formula(test, monkeypatch).verdict
        if wrong is None:
            found["missed" if expected == "no" else "right"] += 1
        else:
            assert expected in ("no", "undefined"), seed
            found["shown"] += 1
    note(found.total(), Counter())
    return found


@pytest.mark.parametrize("seeds", lengths(range(20), range(400)))
def test_what_runs_show_of_several_devices_is_wrong_by_the_formula(
    seeds: range, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = _compare(seeds, monkeypatch)
    assert found["shown"] > len(seeds) / 4 and found["right"]


@pytest.mark.campaign
def test_what_runs_show_of_many_devices_is_wrong_by_the_formula(monkeypatch: pytest.MonkeyPatch) -> None:
    _compare(range(1000, 1000 + share(10_000)), monkeypatch)


def _decided(test: KernelTest) -> Result | None:
    """What one run says of launches on several devices, where it stands for all executions."""
    checks = [Checked(kind=c.kind, text=str(c)) for c in test.checks]
    result = Result(path=test.identity, name=test.name, model="ptx-9.0", verdict="undecided", checks=checks)
    return result if decide_on_devices(test, result, None, model_named("ptx-9.0")) else None


def _chain(seed: int) -> KernelTest:
    """Each launch waits for the one before, accesses data, and lets the next one go on: often in scopes that reach."""
    choose = random.Random(seed)
    count = choose.choice((2, 3))
    devices = [0, *(choose.randint(0, 1) for _ in range(count - 1))]

    def scope(one: int, other: int) -> str:
        return choose.choice(
            ("sys", "sys", "gpu" if devices[one] == devices[other] else "sys", choose.choice(("gpu", "cta")))
        )

    def body(n: int) -> str:
        flag, label = f"[%rd1+{4 * n - 4}]", 10 * n
        waits = f"W{label}: ld.acquire.{scope(n, n - 1)}.global.u32 %r5, {flag}; setp.eq.u32 %p2, %r5, 0; @%p2 bra W{label};"
        data = choose.choice(
            ("st.global.u32 [%rd1+12], 7;", "ld.global.u32 %r6, [%rd1+12]; st.global.u32 [%rd1+12], %r6;")
        )
        counts = choose.choice(
            ("", "", f"red.relaxed.{choose.choice(('sys', 'sys', 'gpu'))}.global.add.u32 [%rd1+16], 1;")
        )
        tells = f"st.release.{scope(n, min(n + 1, count - 1))}.global.u32 [%rd1+{4 * n}], 1;" if n + 1 < count else ""
        return f"{waits if n else ''} {data} {counts} {tells}"

    return _test([body(n) for n in range(count)], devices, [1] * count)


def _prove(seeds: range, monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    def kernel(seed: int) -> KernelTest:
        return _chain(seed) if seed % 2 else _kernel(seed)

    return compare_right(kernel, seeds, monkeypatch, _decided, lambda found, _: found.verdict)


@pytest.mark.compares(0.1)
@pytest.mark.parametrize("seeds", lengths(range(60), range(600)))
def test_what_one_run_proves_of_several_devices_is_right_by_the_formula(
    seeds: range, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert _prove(seeds, monkeypatch)["ok"] > len(seeds) / 20


@pytest.mark.campaign
@pytest.mark.compares(0.1)
def test_what_one_run_proves_of_many_devices_is_right_by_the_formula(monkeypatch: pytest.MonkeyPatch) -> None:
    _prove(range(5000, 5000 + share(10_000)), monkeypatch)


_GIVES = (
    "setp.ne.u32 %p1, %r1, 0; @%p1 bra END; st.global.u32 [%rd1+12], 7; st.release.{scope}.global.u32 [%rd1], 1; END:"
)
_TAKES = (
    "setp.ne.u32 %p1, %r1, 0; @%p1 bra ALL; W: ld.acquire.sys.global.u32 %r5, [%rd1]; setp.eq.u32 %p2, %r5, 0; @%p2 bra W; "
    "ALL: {barrier} ld.global.u32 %r6, [%rd1+12];"
)


@pytest.mark.parametrize(
    ("scope", "devices", "barrier", "wrong"),
    [
        ("sys", [0, 1], "bar.sync 0;", False),
        ("gpu", [0, 1], "bar.sync 0;", True),
        ("gpu", [1, 1], "bar.sync 0;", False),
        ("sys", [0, 1], "", True),
    ],
)
def test_a_hand_over_between_devices_is_looked_at_at_its_size(
    scope: str, devices: list[int], barrier: str, wrong: bool
) -> None:
    """One thread of one launch gives, 128 of another one take."""
    test = _test([_GIVES.format(scope=scope), _TAKES.format(barrier=barrier)], devices, [1, 128])
    if wrong:
        found = check(test, model_named("ptx-9.0"))
        assert found.verdict == "no" and {e.thread.split(" of ")[1] for e in found.races[0].events} == {"k0", "k1"}
    else:
        runs = Runs(test, watched=True)
        assert race_of(runs, lambda _: False) is None and hunt(runs, lambda _: False, _RUNS) is None


_FLAG = """mov.u32 %r2, %ctaid.x; setp.ne.u32 %p0, %r1, 0; @%p0 ret;
 setp.ne.u32 %p0, %r2, 0; @%p0 bra READS;
 st.global.u32 [%rd1+4], 7; st.release.cluster.global.u32 [%rd1], 1; ret;
READS: ld.acquire.cluster.global.u32 %r3, [%rd1]; setp.eq.u32 %p0, %r3, 0; @%p0 bra READS;
 ld.global.u32 %r4, [%rd1+4]; st.global.u32 [%rd1+8], %r4;"""


@pytest.mark.parametrize(
    ("clusters", "verdict"), [((True, False), "ok"), ((False, True), "no"), ((False, False), "no")]
)
def test_clusters_of_one_launch_are_none_of_another_that_runs_beside_it(
    clusters: tuple[bool, bool], verdict: str
) -> None:
    """CTAs hand over in the scope of a cluster, which they are of or not; those of the other launch may be of clusters."""
    entries = [
        _ENTRY.format(name=name, body=body).replace("\n{", "\n.reqnctapercluster 2\n{" if declared else "\n{", 1)
        for name, body, declared in zip(("flag", "other"), (_FLAG, ""), clusters, strict=True)
    ]
    kernels = [{"entry": name, "stream": name, "grid": 2, "block": 256} for name in ("flag", "other")]
    tree = {
        "ptx": "k.ptx", "kernel": kernels, "params": {"x": {"type": "u32", "elements": 64}},
        "check": {"race_free": True, "terminates": True},
    }  # fmt: skip
    text = f".version 8.8\n.target sm_90\n.address_size 64\n{''.join(entries)}"
    found = check(KernelFile.of(tree, "k.toml", {"k.ptx": text}).test(), model_named("ptx-9.0"), timeout=300)
    assert found.verdict == verdict
