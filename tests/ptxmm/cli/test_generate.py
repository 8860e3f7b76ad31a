"""`ptxmm generate`: what it prints and writes, and what it says of what no test can be made of."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import ptxmm
from litmus.cycles import enumerate as enumerate_cycles
from litmus.families import FAMILIES, family
from ptxmm.cli.habits import HERE
from ptxmm.cli.main import main


def told(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    status = main(["generate", *words])
    out, err = capsys.readouterr()
    return status, out, err


def test_what_is_printed_is_read_again(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = told(capsys, "PodWR", "Fre", "PodWR", "Fre", "--places", "all")
    tests = [ptxmm.parse(text) for text in out.split("\n\n")]
    assert status == 0
    assert [test.name for test in tests] == ["SB", "SB@cta", "SB@cluster", "SB@sys"]
    assert dict(tests[0].meta) == {"Cycle": "Fre PodWR Fre PodWR", "Com": "Fr Fr"}


def test_a_folder_has_a_file_for_each_test_and_a_list_of_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status, out, _ = told(capsys, "--edges", "Pod**,Rfe,Fre,Coe", "--size", "4", "-o", str(tmp_path / "new"))
    names = (tmp_path / "new" / "@all").read_text(encoding="utf-8").splitlines()
    assert status == 0 and out.startswith("6 tests written")
    assert names == ["R.litmus", "2+2W.litmus", "S.litmus", "MP.litmus", "SB.litmus", "LB.litmus"] or len(names) == 6
    assert {ptxmm.load(tmp_path / "new" / name).name + ".litmus" for name in names} == set(names)
    assert main(["check", f"@{tmp_path / 'new' / '@all'}"]) == 0


def test_json_is_one_document(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = told(
        capsys, "--edges", "Fence.sc.gpudWR,Fre", "--size", "4", "--format", "json", "--model", "ptx-9.0"
    )
    (item,) = json.loads(out)["tests"]
    assert status == 0
    assert (item["name"], item["threads"], item["expect"]) == ("SB+fence.sc.gpus", 2, "no")
    assert ptxmm.check(ptxmm.parse(item["text"])).verdict == "no"
    assert ptxmm.parse(item["text"]).expectation == "no"


@pytest.mark.parametrize("name", FAMILIES)
def test_families_are_told_by_the_same_command(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = told(capsys, name, "2", "scope=cta")
    assert status == 0
    assert ptxmm.parse(out) == family(name, 2, {"scope": "cta"})


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["PodWW Rfe PodRR Frx"], "<cycle>:1:17: error: 'Frx' is no edge"),
        (["--edges", "Pod**,Rfx"], "<edges>:1:7: error: 'Rfx' is no edge"),
        (["--edges", "Rfe", "--size", "2", "PodWW"], "one too many"),
        ([], "a cycle is needed"),
        (["lock:cas"], "a family has a size"),
        (["lock:cas", "1"], "starts at 2"),
        (["lock:cas", "9" * 12], "ends at 1000"),
        (["lock:none", "2"], "no family"),
        (["--edges", "Pod**", "--size", "9" * 20], "at most 100 edges"),
        (["lock:cas", "2", "relaxed=maybe"], "yes or no"),
        (["lock:cas", "2", "colour=red"], "takes no 'colour'"),
        (["PodWW Rfe PodRR Fre", "--places", "012"], "does not place 2 threads"),
        (["--edges", "Pod**,Rfe,Fre", "--places", "here"], "does not place"),
        (["PodWW Rfe PodRR Fre", "--events", "acq.gpu"], "a write cannot be 'acq'"),
        (["PodWW Rfe PodRR Fre", "--events", "often"], "'often' says nothing"),
        (["PodWW Rfe PodRR Fre", "--model", "ptx-1.0"], "ptx-1.0"),
        (
            ["PodWW Rfe PodRR Fre", "--size", "4"],
            "--size bounds the cycles of --edges, and has no effect on a single cycle",
        ),
        (["PodWW Rfe PodRR Fre", "--places", "cta", "--one-location"], "--one-location bounds the cycles"),
        (
            ["lock:cas", "2", "--places", "cta"],
            "--places bounds the cycles of --edges, and has no effect on a test of a",
        ),
    ],
)
def test_what_cannot_be_made_is_refused(words: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = told(capsys, *words)
    assert (status, out) == (2, "")
    assert message in err and "Traceback" not in err


@pytest.mark.parametrize(
    ("edge", "instead"),
    [
        ("DMB.SYdWW", "as in Fence.sc.gpudWW"),
        ("MFencedWW", "as in Fence.sc.gpudWW"),
        ("LwSyncdWW", "as in Fence.acq_rel.gpudWW"),
        ("PodWWPL", "PodWW._.rel.gpu"),
        ("Amo.SwpdWW", "an atomic operation is Rmw"),
        ("DpCtrlIsbdR", "PTX has no instruction fence"),
        ("Hat", "it is Fre Rfe"),
    ],
)
def test_edges_of_other_architectures_are_told_what_is_right(
    edge: str, instead: str, capsys: pytest.CaptureFixture[str]
) -> None:
    status, _, err = told(capsys, f"{edge} Rfe PodRR Fre")
    assert status == 2 and f"'{edge}' is no edge" in err and instead in err
    suggestion = instead.split()[-1]
    if "." in suggestion:
        assert told(capsys, f"{suggestion} Rfe PodRR Fre")[0] == 0


@pytest.mark.parametrize("mode", ["thin", "transitive", "mixed", "often"])
def test_a_mode_that_is_none_is_refused(mode: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["generate", "--edges", "Pod**,Rfe", "--mode", mode])
    err = capsys.readouterr().err
    assert ended.value.code == 2 and f"'{mode}'" in err and "the modes are sc, critical, free" in err
    with pytest.raises(ValueError, match=mode):
        enumerate_cycles("Pod**,Rfe", mode=mode)


def test_a_list_of_cycles_is_what_classify_tells(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Tests, the cycles that are found in them, and the tests of that list: the same, names and places included."""
    folder = str(tmp_path / "one")
    told(capsys, "--edges", "Pod**.rel.gpu,Fence.*.gpudWR,Rfe,Fre,Coe", "--size", "4", "--places", "all", "-o", folder)
    assert main(["classify", folder, "--diyone"]) == 0
    cycles = tmp_path / "cycles"
    cycles.write_text("# found\n\n" + capsys.readouterr().out, encoding="utf-8")
    assert told(capsys, f"@{cycles}", "-o", str(tmp_path / "two"))[0] == 0
    first, second = ({p.name: p.read_text() for p in (tmp_path / name).iterdir()} for name in ("one", "two"))
    first.pop("@all"), second.pop("@all")
    assert len(first) > 20 and first == second


def test_a_list_of_cycles_gives_names(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cycles = tmp_path / "cycles"
    cycles.write_text("mine: PodWW Rfe PodRR Fre\nPodWR Fre PodWR Fre\n", encoding="utf-8")
    _, out, _ = told(capsys, f"@{cycles}")
    assert [ptxmm.parse(text).name for text in out.split("\n\n")] == ["mine", "SB"]
    _, out, _ = told(capsys, f"@{cycles}", "--places", "all")
    assert [ptxmm.parse(text).name for text in out.split("\n\n")][:3] == ["mine", "mine@cta", "mine@cluster"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("# none\n", "1:1: error: a list of cycles has a cycle"),
        ("\nmine: PodWW Rfe PodRx Fre", "2:17: error: 'PodRx' is no edge"),
        ("mine: PodWW Rfe PodWR Fre", "1:17: error: this edge starts at a write"),
        ("MP: PodWW Rfe PodRR Fre\nPodWW Rfe PodRR Fre", "2:1: error: the list has two tests 'MP'"),
        ("MP@012: PodWW Rfe PodRR Fre", "1:9: error: '012' does not place 2 threads"),
    ],
)
def test_what_is_wrong_in_a_list_is_told_with_its_place(
    text: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cycles = tmp_path / "cycles"
    cycles.write_text(text, encoding="utf-8")
    status, out, err = told(capsys, f"@{cycles}")
    assert (status, out) == (2, "") and f"{cycles}:{message}" in err
    assert told(capsys, f"@{tmp_path / 'none'}")[0] == 2


def test_no_cycle_within_the_bounds_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = told(capsys, "--edges", "PodWW,Rfe", "--size", "4")
    assert (status, out) == (0, "") and "no cycle" in err


def test_families_are_listed_as_they_are_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = told(capsys, "--families")
    lines = [line for line in out.splitlines() if not line.startswith(" ")]
    assert status == 0 and [line.split()[0] for line in lines] == list(FAMILIES)
    for line in lines:  # with what stands there as it is without
        name, _, *options = line.split()
        assert told(capsys, name, "3", *options) == told(capsys, name, "3")


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("check -model sc.cat mp.litmus", "unrecognized arguments: -model; in place of -model: --model"),
        ("generate -safe PodWR,Fre -size 4", "in place of -safe: --edges LIST; in place of -size: --size 1..N"),
        ("classify -often mp.litmus", "unrecognized arguments: -often\n"),
    ],
)
def test_options_of_herdtools_are_told_what_is_right(words: str, told: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(words.split())
    assert ended.value.code == 2 and told in capsys.readouterr().err


def test_what_is_told_in_place_of_options_of_herdtools_exists() -> None:
    documented = (Path(__file__).parents[3] / "docs" / "cli.md").read_text(encoding="utf-8")
    options = {word.strip(",") for text in HERE.values() for word in text.split() if word.startswith("--")}
    assert len(options) > 10
    assert {option for option in options if f"`{option}" not in documented} == set()
