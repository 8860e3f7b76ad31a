"""The comparison with a GPU: what can be tried of it without one, and the comparison itself where there is one."""

from __future__ import annotations

import random
import shutil
import struct
import subprocess
import sys
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

import pytest

for folder in (Path(__file__).parents[1], Path(__file__).parents[1] / "ptxcore" / "semantics"):
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))

import ptxas  # noqa: E402
import reference  # noqa: E402
from campaigns import LONG  # noqa: E402
from gpu import compare, known, left_out, modules, tolerances  # noqa: E402
from gpu.cuda import LIBRARY, CudaError, Gpu  # noqa: E402
from gpu.execution import run_here  # noqa: E402
from gpu.launches import Launch, Outcome  # noqa: E402
from gpu.modules import Machine, Plan  # noqa: E402
from gpu.probes import Probe  # noqa: E402

from ptxcore.isa.form import Form, Use  # noqa: E402
from ptxcore.isa.matching import Misfit  # noqa: E402
from ptxcore.isa.table import candidates  # noqa: E402

HOPPER, BLACKWELL = Machine("sm_90", "9.0"), Machine("sm_100", "9.0")
needs_ptxas = pytest.mark.skipif(ptxas.executable() is None, reason=f"no ptxas {ptxas.RELEASE} here")


def silent(done: int, everything: int, section: str) -> None:
    """No progress."""


@cache
def plan(machine: Machine, most: int, step: int = 1) -> Plan:
    return modules.plan(reference.all_forms()[::step], machine, most=most, seed="test")


# What there are kernels of.


def test_every_meaning_has_a_kernel_or_a_reason_why_not() -> None:
    made = plan(BLACKWELL, 2)
    covered = {probe.use.form for probe in made.probes()}
    for form in reference.all_forms():
        assert (form in covered) != (form in made.left_out), form
    left = {f: why for f, why in made.left_out.items() if not left_out.is_whole(f)}  # whole kernels: test_whole.py
    unexplained = {f: why for f, why in left.items() if not left_out.nowhere(f)}
    # Memory that all threads have in common, and targets that the device's architecture is none of.
    assert {f: why for f, why in unexplained.items() if not why.startswith("needs ")} == {}
    assert len(covered) > 300


def test_every_reason_is_of_some_form() -> None:
    sections = [form.section for form in reference.all_forms()]
    named = (*left_out.NOWHERE, *left_out.WHOLE)
    assert [s for s in named if not any(f"{x}.".startswith(f"{s}.") for x in sections)] == []
    assert len({left_out.nowhere(form) for form in reference.all_forms()}) == 8


STORED = """.version 9.0
.target sm_100a
.address_size 64
.visible .entry k(.param .u64 p) {
.reg .b32 %r<9>; .reg .b64 %rd<2>; .shared .align 16 .b8 s[64]; .shared .align 8 .b64 bar;
ld.param.u64 %rd0, [p]; mov.u32 %r8, s; mov.u32 %r7, bar; mov.u32 %r1, 5;
BODY
ld.shared.u32 %r3, [s]; st.global.u32 [%rd0], %r3; ret; }
"""
#: What ptxas breaks off on, what it makes no code of, and what it makes the code of another spelling of.
CODE = {
    "st.async.weak.global.u32 [%rd0], %r1, [%rd0];": None,
    "st.async.release.gpu.global.u32 [%rd0], %r1, [%rd0];": None,
    "st.async.weak.global.u32 [%rd0], %r1;": "",
    "st.async.shared::cta.u32 [%r8], %r1;": "",
    "st.async.shared::cta.mbarrier::complete_tx::bytes.u32 [%r8], %r1;": "",
    **dict.fromkeys(
        ("st.async.shared::cta.u32 [%r8], %r1, [%r7];", "st.async.weak.shared.u32 [%r8], %r1, [%r7];"),
        "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.u32 [%r8], %r1, [%r7];",
    ),
}


@needs_ptxas
@pytest.mark.parametrize(  # ptxas takes some 15 seconds until it breaks off
    "instruction",
    [spelling if code is not None else pytest.param(spelling, marks=LONG) for spelling, code in CODE.items()],
)
def test_ptxas_makes_of_a_spelling_what_its_reason_says(instruction: str, tmp_path: Path) -> None:
    def code(body: str) -> bytes | None:
        source, image = tmp_path / "m.ptx", tmp_path / "m.cubin"
        source.write_text(STORED.replace("BODY", body))
        ran = subprocess.run([ptxas.executable(), "-arch=sm_100a", "-o", image, source], capture_output=True)  # type: ignore[list-item]
        assert not ran.stdout + ran.stderr  # no word of an error
        return image.read_bytes() if ran.returncode == 0 else None

    other = CODE[instruction]
    assert code(instruction) == (other if other is None else code(other))
    assert code("") != code("st.async.release.gpu.global.u32 [%rd0], %r1;")


def test_what_a_gpu_lacks_is_left_out_with_the_reason() -> None:
    made = modules.plan(compare.forms(("9.7.9.21",), "e2m1"), HOPPER, most=4, seed=0)
    assert not made.probes()
    assert all("sm_100" in why or "ptxas" in why for why in made.left_out.values())


@pytest.mark.long
@needs_ptxas
def test_ptxas_and_the_checker_take_the_kernels() -> None:
    accepted(plan(HOPPER, 2), whole=False)


@needs_ptxas
@pytest.mark.campaign
@pytest.mark.parametrize("machine", [HOPPER, BLACKWELL], ids=lambda m: m.arch)
def test_ptxas_compiles_all_kernels(machine: Machine) -> None:
    accepted(plan(machine, compare.KERNELS), whole=True)


def accepted(made: Plan, *, whole: bool) -> None:
    for where, group in made.groups.items():
        for batch in modules.batches(group, 100):
            text = modules.text(where, batch)
            assert modules.faults(where, batch) == {}
            arch = ptxas.architecture(where[1], whole=whole)
            errors = ptxas.check_module(text, arch)
            lines = text.splitlines()
            assert [(message, lines[line - 1]) for line, message in errors] == [], where


# Kernels on our machine.


def test_kernels_give_here_what_the_meanings_give() -> None:
    assert compare.check_here(plan(HOPPER, 1, 3), 16, "test", silent) == []


@pytest.mark.campaign
@pytest.mark.parametrize("machine", [HOPPER, BLACKWELL], ids=lambda m: m.arch)
def test_all_kernels_give_here_what_the_meanings_give(machine: Machine) -> None:
    assert compare.check_here(plan(machine, compare.KERNELS), compare.INPUTS, random.random(), silent) == []


def here(where: tuple[str, str], chosen: Sequence[Probe], launches: Sequence[Launch]) -> list[Outcome]:
    """Our machine, as if it were another."""
    return run_here(modules.text(where, chosen), launches)


def spoiled(where: tuple[str, str], chosen: Sequence[Probe], launches: Sequence[Launch]) -> list[Outcome]:
    """Another machine, whose first output has its lowest bit turned in the first thread."""
    found = []
    for outcome in here(where, chosen, launches):
        assert not outcome.error
        found.append(Outcome(bytes([outcome.data[0] ^ 1]) + outcome.data[1:]))
    return found


def test_machines_that_agree_are_found_to() -> None:
    made = plan(HOPPER, 1, 40)
    results = compare.compare(made, 40, 0, here, silent)
    assert {r.form for r in results} == {p.use.form.shown() for p in made.probes()}
    assert all(r.is_good and r.inputs >= 32 for r in results)


def test_a_bit_that_differs_is_found_with_its_inputs() -> None:
    made = modules.plan(compare.forms(("9.7.1.1", "9.7.13.5", "9.7.13.9"), ""), HOPPER, most=1, seed=0)
    results = compare.compare(made, 32, 0, spoiled, silent)
    assert results and all(r.differing >= 1 and not r.is_good for r in results if r.section != "9.7.13.9")
    (first, *_) = results
    assert first.section == "9.7.1.1" and "here" in first.example and "a = 0x" in first.example
    assert first.example in compare.report(results, made)


def test_inputs_are_at_least_as_many_as_asked_for() -> None:
    made = modules.plan(compare.forms(("9.7.1", "9.7.9.6")), HOPPER, most=7, seed=0)
    number = compare.inputs_of(made, 4096)
    per_form: dict[Form, int] = {}
    for probe in made.probes():
        per_form[probe.use.form] = per_form.get(probe.use.form, 0) + number[probe.name]
    assert min(per_form.values()) >= 4096


def test_a_shuffle_from_a_thread_that_takes_no_part_is_not_compared() -> None:
    made = modules.plan(compare.forms(("9.7.9.6",)), HOPPER, most=1, seed=0)
    (probe, *_) = made.probes()
    lanes = {f.name: i for i, f in enumerate(probe.inputs.fields)}
    row = dict.fromkeys(lanes, 0) | {"active": 1, "b": 5, "c": 0x1F, "membermask": 3}
    case = [list(row.values()) if lane < 2 else [0] * len(row) for lane in range(32)]
    assert probe.is_open is not None
    is_open = probe.is_open(case)
    shuffled = {"up": False, "down": True, "bfly": True, "idx": True}[probe.use.words["mode"]]
    assert is_open[0] == [shuffled, False] and is_open[2] == [False, False]


# What counts as the same.


def use_of(instruction: str) -> Use:
    opcode, *words = instruction.split(".")
    found = candidates(opcode, tuple(words))
    assert found is not None and not isinstance(found, Misfit)
    return found[0]


def single(x: float) -> int:
    return int.from_bytes(struct.pack("<f", x), "little")


ONE, TWO = single(1.0), single(2.0)


@pytest.mark.parametrize(
    ("instruction", "kind", "wanted", "got", "sources", "verdict"),
    [
        ("add.u32", "u32", 1, 1, (), "same"),
        ("add.u32", "u32", 1, 2, (), "differs"),
        ("add.f32", "f32", ONE, ONE + 1, (ONE, ONE), "differs"),
        ("add.f32", "f32", 0x7FFFFFFF, 0x7FC00000, (ONE, ONE), "nan"),
        ("add.f32", "f32", 0x7FFFFFFF, 0x7F800000, (ONE, ONE), "differs"),
        ("min.NaN.f32", "f32", 0x7FFFFFFF, 0x7FC00000, (ONE, ONE), "differs"),
        ("add.f64", "f64", 0x7FF8 << 48, 0x7FF9 << 48, (), "differs"),
        ("selp.f32", "f32", 0x7FFFFFFF, 0x7FC00000, (ONE, ONE), "differs"),
        ("add.f16x2", "f16x2", 0x7FFF3C00, 0x7E003C00, (), "nan"),
        ("add.f16x2", "f16x2", 0x7FFF3C00, 0x7E003C01, (), "differs"),
        ("rcp.approx.f32", "f32", ONE, ONE + 1, (ONE,), "near"),
        ("rcp.approx.f32", "f32", ONE, ONE + 2, (ONE,), "differs"),
        ("rcp.approx.f32", "f32", 0, 0x80000000, (ONE,), "differs"),
        ("rcp.rn.f32", "f32", ONE, ONE + 1, (ONE,), "differs"),
        ("div.full.f32", "f32", ONE, ONE - 4, (ONE, ONE), "near"),
        ("div.approx.f32", "f32", ONE, ONE + 9, (ONE, 1), "unstated"),
        ("div.approx.f32", "f32", 0, 1, (ONE, single(1.5 * 2.0**126)), "differs"),
        ("sin.approx.f32", "f32", single(0.5), single(0.5) + 11, (ONE,), "near"),
        ("sin.approx.f32", "f32", single(0.5), single(0.5) + 13, (ONE,), "differs"),
        ("sin.approx.f32", "f32", single(0.5), single(0.5) + 13, (single(-7.0),), "near"),
        ("sin.approx.f32", "f32", single(0.5), ONE, (single(400.0),), "unstated"),
        ("sin.approx.f32", "f32", single(0.5), 0x7FFFFFFF, (single(400.0),), "differs"),
        ("ex2.approx.ftz.f32", "f32", 0x00800000, 0, (single(-126.0),), "near"),
        ("ex2.approx.f32", "f32", 0x00800000, 0, (single(-126.0),), "differs"),
        ("ex2.approx.f32", "f32", 0x7F800000, 0x7F7FFFFF, (single(128.0),), "near"),
        ("lg2.approx.f32", "f32", single(3.0), single(3.0) + 3, (single(8.0),), "near"),
        ("lg2.approx.f32", "f32", single(3.0), single(3.0) + 5, (single(8.0),), "differs"),
        ("tanh.approx.f16x2", "f16x2", 0x38003800, 0x38013801, (0x40004000,), "near"),
        ("tanh.approx.f16x2", "f16x2", 0x38003800, 0x38033800, (0x40004000,), "differs"),
    ],
)  # fmt: skip
def test_results_are_judged_as_the_manual_says(
    instruction: str, kind: str, wanted: int, got: int, sources: tuple[int, ...], verdict: str
) -> None:
    use = use_of(instruction)
    assert tolerances.compare(use, kind, wanted, got, [(use.type, x) for x in sources]).kind == verdict


def test_every_approximate_form_has_a_bound_and_every_bound_a_form() -> None:
    forms = [f for f in reference.all_forms() if f.section.startswith(("9.7.3.", "9.7.4."))]
    approximate = {f.section for f in forms if ".approx" in f.syntax or ".full" in f.syntax}
    assert approximate == {bound.section for bound in tolerances.BOUNDS}


def test_known_differences_are_of_instructions_that_there_are() -> None:
    forms = reference.all_forms()
    for entry in known.KNOWN:
        there = {f.mnemonic for f in forms if f"{f.section}.".startswith(f"{entry.section}.")}
        assert there and set(entry.mnemonics.split()) <= there, entry
        assert entry.kind in ("open", "deviates")


def test_a_known_difference_needs_the_inputs_that_it_speaks_of() -> None:
    use = use_of("div.u32")
    assert known.explanation(use, (5, 0)) is not None
    assert known.explanation(use, (5, 1)) is None
    use = use_of("vadd.s32.u32.s32.min")
    assert known.explanation(use, (0x7FFFFFFF, 1, 0)) is not None
    assert known.explanation(use, (0x7FFFFFFF, 0xFFFFFFFF, 0)) is None
    assert known.explanation(use.with_operands({"asel": "b3"}), (0x7FFFFFFF, 1, 0)) is None
    assert known.explanation(use_of("vadd.s32.u32.s32.add"), (0x7FFFFFFF, 1, 0)) is None


# The driver, of which there is a false one for tests.


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> str:
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("no C compiler here")
    path = tmp_path_factory.mktemp("driver") / "libfake.so"
    source = Path(__file__).with_name("fake_driver.c")
    subprocess.run([compiler, "-shared", "-fPIC", "-o", path, source], check=True)
    return str(path)


@pytest.fixture
def fake(library: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Gpu]:
    monkeypatch.setenv(LIBRARY, library)
    gpu = Gpu(patience=20)
    yield gpu
    gpu.close()


def launched(name: str, *values: int) -> Launch:
    data = struct.pack(f"<{len(values)}I", *values)
    return Launch(name, 3, 128, len(values), data, len(data))


def test_a_gpu_is_told_and_runs_kernels(fake: Gpu) -> None:
    assert (fake.device.name, fake.device.arch, fake.device.ptx) == ("fake", "sm_90", "8.7")
    (one, two) = fake.run(lambda _: b"k1 k2", [launched("k1", 1, 2), launched("k2", 7)])
    assert struct.unpack("<2I", one.data) == (3129, 3130)
    assert struct.unpack("<I", two.data) == (3135,)


def test_a_kernel_that_fails_does_not_lose_the_others(fake: Gpu) -> None:
    marks = {1: "// REFUSE", 4: "// DIE"}
    names = ["k0", "k1", "k2", "trap", "k4", "missing", "k6"]

    def build(indices: Sequence[int]) -> bytes:
        return "\n".join(marks.get(i, names[i].replace("missing", "")) for i in indices).encode()

    outcomes = fake.run(build, [launched(name, 1) for name in names])
    assert [bool(o.data) for o in outcomes] == [True, False, True, False, False, False, True]
    assert outcomes[1].error == "cuModuleLoadDataEx: CUDA_ERROR_INVALID_PTX: no such thing"
    assert outcomes[3].error == "cuCtxSynchronize: CUDA_ERROR_LAUNCH_FAILED"
    assert "died" in outcomes[4].error
    assert outcomes[5].error.startswith("cuModuleGetFunction")


def test_a_kernel_that_hangs_is_given_up(fake: Gpu) -> None:
    fake.patience = 2
    (outcome,) = fake.run(lambda _: b"hang", [launched("hang", 1)])
    assert outcome.error == "no answer within 2 s"
    fake.patience = 20
    (outcome,) = fake.run(lambda _: b"k", [launched("k", 1)])
    assert outcome.data


def test_without_a_driver_the_script_says_so(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(LIBRARY, "/nowhere/libcuda.so")
    assert compare.main(["--section", "9.7.1.1"]) == 2
    assert "skipped: no CUDA driver can be loaded" in capsys.readouterr().err


# The comparison.


def test_the_gpu_gives_what_the_meanings_give() -> None:
    run_on_gpu(2, 256)


@pytest.mark.campaign
def test_the_gpu_gives_what_the_meanings_give_on_many_inputs() -> None:
    run_on_gpu(compare.KERNELS, compare.INPUTS)


def run_on_gpu(most: int, inputs: int) -> None:
    try:
        gpu = Gpu()
    except CudaError as error:
        pytest.skip(f"no GPU: {error}")
    try:
        made = plan(Machine(gpu.device.arch, gpu.device.ptx), most)
        results = compare.compare(made, inputs, "test", compare.on_gpu(gpu, by_ptxas=False), silent)
    finally:
        gpu.close()
    assert all(r.is_good for r in results), compare.report([r for r in results if not r.is_good], Plan())
