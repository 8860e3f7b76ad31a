"""`ptxmm gpu`: histograms that others read, what a GPU that breaks the model gives, and how likely it had been caught."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest
from agreement import compared, pass_over
from campaigns import some
from waiting import PATIENCE

import ptxmm
from litmus.test import Test
from ptxcore.diagnostics import InputError
from ptxmm.campaigns.database import Database
from ptxmm.cli.main import main
from ptxmm.comparing.logs import read_log
from ptxmm.gpu.conditions import holds
from ptxmm.gpu.confidence import chance, confident, least, needed
from ptxmm.gpu.contract import GpuModule
from ptxmm.gpu.driver import LIBRARY, GpuDevice
from ptxmm.gpu.histograms import Where, histogram
from ptxmm.gpu.judging import judge
from ptxmm.gpu.layout import GpuLaunch, SeenStates
from ptxmm.gpu.mutants import mutants
from ptxmm.gpu.page import NOTHING, table
from ptxmm.gpu.parameters import SIMULATED, Parameters
from ptxmm.gpu.running import Until, observe
from ptxmm.gpu.simulator import NoEnd, Simulator
from ptxmm.gpu.tuning import best, trials
from ptxmm.gpu.worker import Worker
from ptxmm.gpu.writer import values_of
from ptxmm.pipeline import build
from ptxmm.weakened import forbids

ROOT = Path(__file__).resolve().parents[3]
LIBRARY_TESTS = sorted((ROOT / "litmus" / "library").rglob("*.litmus"))
MP = "library:MP+rel+acq"


def loaded(name: str) -> Test:
    (path,) = [p for p in LIBRARY_TESTS if p.stem == name]
    test = ptxmm.load(path)
    assert isinstance(test, Test)
    return test


# What is printed.


def test_the_histogram_is_read_as_a_log(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names = ["SB", "MP+rel+acq", "ISA2+cta+cluster", "IRIW+fence.sc.gpu"]
    assert main(["gpu", *(f"library:{name}" for name in names), "--simulate", "--launches", "5"]) == 0
    log = tmp_path / "seen.log"
    log.write_text(capsys.readouterr().out)
    read = read_log(str(log))
    where = Where(SIMULATED)
    for name in names:
        found = histogram(loaded(name), where, launches=5)
        answer = read.of(name)
        assert list(answer.states) == [row.state for row in found.judged.rows] and len(answer.states) > 1
        assert answer.runs and not answer.exact and answer.verdict == ("ok" if found.judged.held else "no")
        (own,) = [b for b in log.read_text().split("\n\n") if b.startswith(f"Test {name} ")]
        assert sum(map(int, re.findall(r"^(\d+) +[:*]>", own, re.MULTILINE))) == 40


def test_compare_puts_what_was_seen_beside_a_model(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "mp.litmus").write_text(loaded("MP+rel+acq").text)
    assert main(["gpu", str(tmp_path / "mp.litmus"), "--simulate", "--launches", "20"]) == 0
    (tmp_path / "seen.log").write_text(capsys.readouterr().out)
    words = ["compare", "--model", "ptx-9.0", "--model", str(tmp_path / "seen.log"), str(tmp_path / "mp.litmus")]
    status = main([*words, "--format", "json"])
    document = json.loads(capsys.readouterr().out)
    assert status == 0, document


def test_the_same_seed_shows_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    said = []
    for seed in ("3", "3", "4"):
        assert main(["gpu", "library:SB", "--simulate", "--launches", "5", "--seed", seed]) == 0
        said.append(re.sub(r"Time.*", "", capsys.readouterr().out))
    assert said[0] == said[1] != said[2]


def test_modules_are_written_and_nothing_is_launched(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["gpu", "library:SB", MP, "--emit", str(tmp_path / "made"), "--target", "sm_80"]) == 0
    assert sorted(p.name for p in (tmp_path / "made").iterdir()) == ["MP+rel+acq.ptx", "SB.ptx"]
    assert ".target sm_80" in (tmp_path / "made" / "SB.ptx").read_text() and capsys.readouterr().out == ""


@pytest.mark.parametrize(
    ("name", "what"),
    [
        ("grids+wait", "P1: griddepcontrol.wait dropped"),
        ("CoWR+sust+suld", "P0: sust.b.1d.b32.trap [s, {0}], 1 and suld.b.1d.b32.trap %r0, [s, {0}] swapped"),
        ("host+launch+sync", "P1: st.weak.u32 [x], 1 and launch k1 swapped"),
        ("host+launch+sync", "P1: sync k1 and ld.weak.u32 %r1, [y] swapped"),
    ],
)
def test_mutants_are_of_whatever_orders_the_test(name: str, what: str) -> None:
    """And our machine shows what they allow."""
    test = loaded(name)
    (mutant,) = [one for one in mutants(test, "ptx-9.0", 60.0) if one.what == what]
    made = Where(SIMULATED).made(mutant.test)
    judged = judge(made, observe(made, Simulator(made), SIMULATED, Until(launches=20))[0], "ptx-9.0")
    assert judged.positive and not judged.forbidden


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["library:SB", "--simulate", "--parameters", "strides=4"], "no parameter 'strides'"),
        (["library:SB", "--simulate", "--parameters", "@/nowhere/p.json"], "/nowhere/p.json: cannot read"),
        (["library:SB", "--simulate", "--model", "ptx-1.0"], "ptx-1.0"),
        (["/nowhere/x.litmus", "--simulate"], "/nowhere/x.litmus"),
        (["library:CoWW+st+sust", "--simulate"], "CUDA arrays only, which have no address"),
        (["library:SB", "--simulate", "--parameters", "stride=1048576,instances=400000"], "more than 1073741824"),
        (
            ["library:CoWR+st+tex", "--simulate", "--parameters", "instances=70000"],
            "textures and surfaces, more than 65536",
        ),
        (["library:SB", "--simulate", "--target", "sm_5"], "'sm_5' is no target"),
    ],
)
def test_what_cannot_be_run_is_told(words: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["gpu", *words]) == 2
    assert said in capsys.readouterr().err


def test_without_a_gpu_the_way_that_needs_none_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(LIBRARY, "/nowhere/libcuda.so")
    assert main(["gpu", MP]) == 2
    assert "no CUDA driver can be loaded" in (said := capsys.readouterr().err) and "--simulate" in said


def test_parameters_are_listed_with_their_defaults(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["gpu", MP, "--parameters", "help"]) == 0
    said = capsys.readouterr().out
    assert all(
        re.search(rf"^{name} +{value} ", said, re.MULTILINE) for name, value in json.loads(Parameters().json()).items()
    )


# A GPU that breaks the model.


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> str:
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("no C compiler here")
    path = tmp_path_factory.mktemp("driver") / "libfake.so"
    subprocess.run([compiler, "-shared", "-fPIC", "-o", path, ROOT / "tests" / "gpu" / "fake_driver.c"], check=True)
    return str(path)


def test_a_state_that_the_model_forbids_is_told_with_the_execution_it_needs(
    library: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setenv(LIBRARY, library)
    database = str(tmp_path / "runs.db")
    words = ["--launches", "3", "--parameters", "instances=100,per_cta=4", "--database", database]
    assert main(["gpu", MP, *words]) == 1
    said = capsys.readouterr().out
    assert "3       *>1:r0=1; 1:r1=0;" in said and "189     :>1:r0=0; 1:r1=0;" in said  # 16 groups of 4 run at once
    assert "Under ptx-9.0: FORBIDDEN, and seen 3 times: 1:r0=1; 1:r1=0;" in said
    assert "synchronizes with P1" in said and "On fake: 192 instances in 3 launches" in said and "\nNo\n" in said
    assert main(["gpu", MP, "--launches", "1", "--format", "json"]) == 1
    document = json.loads(capsys.readouterr().out)
    assert (document["machine"], document["driver"]) == ("fake", "12080")
    assert [s["allowed"] for s in document["tests"][0]["states"]] == [True, False]
    assert main(["campaign", database, "--report"]) in (0, 3)
    said = capsys.readouterr().out
    assert "fake (12080)" in said and "1 state seen that ptx-9.0 forbids" in said


def test_a_state_of_a_test_that_never_ends_under_the_model_is_forbidden(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """That no execution ends is no counterexample to "no execution ends so"."""
    (tmp_path / "none.cat").write_text('"none"\nempty rf as nothing-is-read\n', encoding="utf-8")
    words = ["gpu", MP, "--simulate", "--launches", "2", "--model", str(tmp_path / "none.cat")]
    assert main(words) == 1
    said = capsys.readouterr().out
    assert "FORBIDDEN, and seen" in said and "no execution of the test ends" in said and "are allowed" not in said


def test_a_ptxas_that_is_not_there_is_told(
    library: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(LIBRARY, library)
    assert main(["gpu", MP, "--launches", "1", "--ptxas", "/nowhere/ptxas"]) == 2
    assert "/nowhere/ptxas: No such file" in capsys.readouterr().err


# Conditions.


@pytest.mark.compares(0.7)
@pytest.mark.parametrize("part", some(12, range(12)))
def test_conditions_are_read_as_the_engine_reads_them(part: int) -> None:
    for path in LIBRARY_TESTS[part::12]:
        test = ptxmm.load(path)
        assert isinstance(test, Test)
        result = ptxmm.check(test, timeout=PATIENCE, witnesses=False)
        if not result.states or test.filter is not None or result.verdict == "undefined":
            pass_over("lists no states")
            continue
        widths = {v.label: (v.width, v.signed) for v in values_of(test, build(test))}
        own = [holds(test.condition.proposition, state, widths, {}) for state in result.states]
        assert compared(own) == result.satisfied, path


def test_numbers_are_compared_as_their_types_say() -> None:
    test = ptxmm.parse(
        "PTX t\n{ .s8 a = -1; .u16 b = 65535; .u64 c = 5; }\n P0@cta 0 ;\n ld.weak.u64 %rd0, [c] ;\n"
        "exists (a < 0 /\\ b > 0 /\\ b = -1 /\\ 0:rd0 <= 5 /\\ ~(a = [b]) /\\ (a = 1 => c = 7) \\/ c = 9)\n"
    )
    widths = {v.label: (v.width, v.signed) for v in values_of(test, build(test))}
    (state,) = ptxmm.check(test, witnesses=False).states
    assert holds(test.condition.proposition, state, widths, {}) == (ptxmm.check(test).verdict == "ok")


# Confidence.


def test_mutants_are_allowed_what_the_test_forbids() -> None:
    test = loaded("MP+rel+acq")
    assert forbids(test, "ptx-9.0", 20) and forbids(loaded("MP"), "ptx-9.0", 20) is False
    found = list(mutants(test, "ptx-9.0", 20))
    assert {m.kind for m in found} == {"weakened", "swapped"} and len(found) == len({m.what for m in found}) == 6
    for mutant in found:
        assert not forbids(mutant.test, "ptx-9.0", 20)


def test_a_rate_and_its_instances_say_how_likely_something_was_seen() -> None:
    for rate in (0.5, 0.01, 1e-6):
        for wanted in (0.5, 0.95, 0.999):
            count = needed(rate, wanted)
            assert chance(rate, count) >= wanted > chance(rate, count - 1)
            assert chance(rate, count) == pytest.approx(1 - (1 - rate) ** count, rel=1e-6)
    assert least(0, 100) == 0 and chance(0.0, 10**9) == 0
    for seen, count in ((1, 10), (5, 100), (100, 100), (999, 1000)):
        assert 0 < least(seen, count) < seen / count
        assert least(10 * seen, 10 * count) > least(seen, count)


def test_confidence_is_that_of_the_rarest_mutant_that_was_seen() -> None:
    where = Where(replace(SIMULATED, instances=16))
    found = confident(
        loaded("MP+rel+acq"), where.made, where.machine, where.parameters, "ptx-9.0", 0.9, 1000.0, launches=12
    )
    assert {r.mutant.kind for r in found.shown} == {"swapped"}  # a machine that takes turns shows no other
    assert found.reached == min(chance(r.least, found.instances) for r in found.shown) > 0
    assert found.violations == 0 and found.instances <= 16 * 12


def test_a_machine_that_swaps_accesses_is_caught() -> None:
    """What confidence is about: a machine that does to the test what a mutant does."""
    test = loaded("MP+rel+acq")
    (mutant,) = [m for m in mutants(test, "ptx-9.0", 20) if m.kind == "swapped" and "P1" in m.what]

    class Broken(Simulator):
        def __init__(self, made: GpuModule) -> None:
            super().__init__(where.made(replace(mutant.test, name=test.name)) if made.test == test else made)

        def run(self, launch: GpuLaunch, seed: int, addresses: dict[str, int]) -> SeenStates:
            return super().run(launch, seed, addresses)

    where = Where(replace(SIMULATED, instances=16))
    found = confident(test, where.made, Broken, where.parameters, "ptx-9.0", 0.99, 1000.0, launches=20)
    assert found.violations > 0 and found.reached is not None


def test_of_a_test_that_forbids_nothing_no_confidence_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["gpu", "library:SB", "--simulate", "--confidence", "0.9"]) == 3
    assert "Confidence: none: the model allows the outcome" in capsys.readouterr().out


def test_the_tuner_takes_what_showed_most() -> None:
    where = Where(replace(SIMULATED, instances=16))
    found = list(trials([loaded("MP+rel+acq")], where.made, where.machine, where.parameters, "ptx-9.0", 4))
    assert len(found) == 4 and found[0].parameters == where.parameters
    assert best(found).score == max(t.score for t in found) > (0, 0)


def test_the_page_of_measurements_says_what_was_measured_and_no_more(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["gpu", MP, "--simulate", "--launches", "2", "--format", "json"]) == 0
    simulated = capsys.readouterr().out
    assert table([]) == table([simulated]) == NOTHING
    measured = json.loads(simulated) | {"machine": "A GPU", "driver": "13000"}
    (line,) = [line for line in table([json.dumps(measured)]).splitlines() if "A GPU" in line]
    assert line.startswith("| A GPU | 13000 | 1 | 16 | 0 | ") and "not asked for" in line
    assert "No state that the model forbids was seen." in table([json.dumps(measured)])
    measured["tests"][0]["states"][0]["allowed"] = False
    said = table([json.dumps(measured)])
    assert "| 1 | 16 | 1 |" in said and "- `MP+rel+acq` on A GPU, driver 13000: `1:r0=0; 1:r1=0` in " in said
    assert "No state" not in said


def test_a_defect_in_one_test_is_told_and_the_others_run(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run = Simulator.run

    def broken(self: Simulator, launch: GpuLaunch, seed: int, addresses: dict[str, int]) -> SeenStates:
        if launch.module.test.name == "SB":
            raise AssertionError("a mistake")
        return run(self, launch, seed, addresses)

    monkeypatch.setattr(Simulator, "run", broken)
    assert main(["gpu", "library:SB", MP, "--simulate"]) == 2
    said = capsys.readouterr()
    assert "Test MP+rel+acq Forbidden" in said.out and "has a defect: AssertionError" in said.err and "SB" in said.err


def test_a_gpu_has_what_is_specific_to_its_architecture() -> None:
    worker = SimpleNamespace(device=GpuDevice("a GPU", "sm_100", "9.0", 13000))
    assert Where(Parameters(), worker=cast(Worker, worker)).targets == ["sm_100", "sm_100a"]
    assert Where(SIMULATED).made(loaded("MP")).target == "sm_90"
    assert Where(SIMULATED).made(loaded("st.async+release")).target == "sm_100a"
    with pytest.raises(InputError):
        Where(SIMULATED, target="sm_90").made(loaded("st.async+release"))


@pytest.mark.parametrize(
    ("arch", "targets"),
    [
        ("sm_75", ["sm_75"]),
        ("sm_90", ["sm_90", "sm_90a"]),
        ("sm_121", ["sm_121", "sm_121a"]),
        ("sm_107", ["sm_103"]),
        ("sm_140", ["sm_121"]),
    ],
)
def test_a_gpu_that_came_later_gets_what_is_known(arch: str, targets: list[str]) -> None:
    """Without what is specific to another architecture, which does not run there."""
    worker = SimpleNamespace(device=GpuDevice("a GPU", arch, "9.0", 13000))
    assert Where(Parameters(), worker=cast(Worker, worker)).targets == targets


def test_a_run_in_which_no_instance_counts_answers_nothing(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    database = str(tmp_path / "runs.db")
    late = ["--simulate", "--parameters", "polls=1,pre_stress=300", "--database", database]
    assert main(["gpu", MP, *late]) == 3
    said = capsys.readouterr().out
    assert "Nothing was seen" in said and "is NOT validated" in said and "are allowed" not in said
    with Database(database, writes=False) as kept:
        assert kept._all("SELECT verdict, states FROM results") == [("undecided", "[]")]
    assert main(["campaign", database, "--report"]) == 3
    assert "no instance counted" in capsys.readouterr().out


def test_a_row_says_in_how_many_instances_a_condition_held_or_was_never_seen(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    database = str(tmp_path / "runs.db")
    assert main(["gpu", MP, "library:SB", "--simulate", "--launches", "2", "--database", database]) == 0
    assert main(["campaign", database, "--report"]) == 3
    said = " ".join(capsys.readouterr().out.split())
    assert "simulated holds in 16 instances, which is no proof" in said
    assert "simulated never seen in 16 instances, which is no proof" in said and "loops" not in said


def test_mutants_say_how_likely_a_violation_would_have_been_seen_in_the_launches_of_the_test(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["gpu", MP, "--simulate", "--launches", "30", "--mutants"]) == 0
    said = capsys.readouterr().out
    assert said.count("Mutant seen ") == 6 and re.search(r"Confidence: 0\.\d+ in 240 instances", said)
    assert main(["gpu", "library:SB", "--simulate", "--mutants"]) == 0
    assert "Mutants: the model allows the outcome" in capsys.readouterr().out


def test_a_mutant_that_goes_wrong_is_left_out_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    run = Simulator.run

    def broken(self: Simulator, launch: GpuLaunch, seed: int, addresses: dict[str, int]) -> SeenStates:
        if "relaxed" in launch.module.text.split("GO_P0:")[1]:
            raise NoEnd("no answer within 60 s")
        return run(self, launch, seed, addresses)

    monkeypatch.setattr(Simulator, "run", broken)
    where = Where(replace(SIMULATED, instances=16))
    found = confident(
        loaded("MP+rel+acq"), where.made, where.machine, where.parameters, "ptx-9.0", 0.5, 1000.0, launches=9
    )
    assert len(found.left_out) == 2 and all(
        "which went wrong: no answer within 60 s" in what for what in found.left_out
    )
    assert found.good and len(found.rates) == 4


def test_what_was_seen_before_an_interruption_is_printed_and_kept(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    run = Simulator.run

    def interrupted(self: Simulator, launch: GpuLaunch, seed: int, addresses: dict[str, int]) -> SeenStates:
        if launch.module.test.name == "SB":
            raise KeyboardInterrupt
        return run(self, launch, seed, addresses)

    monkeypatch.setattr(Simulator, "run", interrupted)
    database = str(tmp_path / "runs.db")
    with pytest.raises(KeyboardInterrupt):
        main(["gpu", MP, "library:SB", "--simulate", "--format", "json", "--database", database])
    assert [test["name"] for test in json.loads(capsys.readouterr().out)["tests"]] == ["MP+rel+acq"]
    with Database(database, writes=False) as kept:
        assert len(kept._all("SELECT * FROM results")) == 1
