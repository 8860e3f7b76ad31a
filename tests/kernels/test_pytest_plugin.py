"""Litmus tests and kernel tests as tests of pytest."""

from __future__ import annotations

import importlib
import os
import pkgutil

import pytest
from campaigns import lengths
from files import PTX, TOML
from spoilt import SPOILT

pytest_plugins = "pytester"

# `pytester` forgets what a run imports, and would leave the next one with classes of two generations.
for package in map(importlib.import_module, ("ptxcore", "litmus", "axioms", "ptxmm")):
    for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)

LITMUS = """PTX MP
{ x = 0; y = 0; }
 P0@cta 0,gpu 0 | P1@cta 1,gpu 0 ;
 st.weak.u32 [x], 1 | ld.acquire.gpu.u32 %r0, [y] ;
 st.release.gpu.u32 [y], 1 | ld.weak.u32 %r1, [x] ;
~exists (1:r0 = 1 /\\ 1:r1 = 0)
"""
KERNEL = TOML.replace('"x[0] == n && x[1] == 0"', '"x[0] == n"')


def run(pytester: pytest.Pytester, *arguments: str) -> pytest.RunResult:
    # As installed, but also where it is not.
    return pytester.runpytest_inprocess(
        "-p", "no:ptxmm", "-p", "ptxmm.pytest_plugin", "-p", "no:cacheprovider", *arguments
    )


@pytest.fixture
def project(pytester: pytest.Pytester) -> pytest.Pytester:
    pytester.path.joinpath("k.ptx").write_text(PTX, encoding="utf-8")
    pytester.path.joinpath("mp.litmus").write_text(LITMUS, encoding="utf-8")
    pytester.path.joinpath("weak.litmus").write_text(LITMUS.replace("release", "relaxed"), encoding="utf-8")
    pytester.path.joinpath("setup.toml").write_text("[tool.something]\nx = 1\n", encoding="utf-8")
    return pytester


def write_kernel(project: pytest.Pytester, text: str) -> None:
    project.path.joinpath("k.toml").write_text(text, encoding="utf-8")


def test_tests_are_collected_by_their_names(project: pytest.Pytester) -> None:
    write_kernel(project, KERNEL + '[[variant]]\nname = "one"\n[[variant]]\nname = "two"\nexpect = "no"\n')
    result = run(project, "--collect-only", "-q")
    result.stdout.fnmatch_lines(["k.toml::one", "k.toml::two", "mp.litmus::mp", "weak.litmus::weak"])
    result.stdout.no_fnmatch_line("*setup.toml*")


def test_a_failure_shows_the_report(project: pytest.Pytester) -> None:
    result = run(project, "mp.litmus", "weak.litmus")
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(
        ["*allowed: 1 of 4 outcomes  MP  under ptx-9.0*", "*no: *", "*expected ok*", "*1:r0=1  1:r1=0*"]
    )
    result.stdout.fnmatch_lines(["*which the other thread saw, has no release semantics*"])
    result.stdout.no_fnmatch_line("*Traceback*")
    result.stdout.no_fnmatch_line("*def runtest*")


def test_kernel_tests_pass_and_fail_as_they_say(project: pytest.Pytester) -> None:
    write_kernel(
        project,
        KERNEL + '[[variant]]\nname = "right"\n[[variant]]\nname = "wrong"\ncheck.forall = "x[0] == 3"\n'
        '[[variant]]\nname = "known"\ncheck.forall = "x[0] == 3"\nexpect = "no"\n',
    )
    result = run(project, "k.toml")
    result.assert_outcomes(passed=2, failed=1)
    result.stdout.fnmatch_lines(["*forall x[[]0[]] == 3 does not hold: x[[]0[]] = 4*"])


def test_a_bad_file_fails_with_its_place(project: pytest.Pytester) -> None:
    write_kernel(project, KERNEL.replace("entry", "entyr"))
    result = run(project, "k.toml")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*k.toml:2:1: error: a kernel test has no 'entyr'*", "*hint: did you mean 'entry'?*"])


def test_settings_come_from_the_ini_file_and_from_options(project: pytest.Pytester) -> None:
    project.makeini("[pytest]\nptxmm_model = ptx-7.5\n")
    run(project, "weak.litmus").stdout.fnmatch_lines(["*under ptx-7.5*"])
    run(project, "weak.litmus", "--ptxmm-model", "ptx-6.0").stdout.fnmatch_lines(["*under ptx-6.0*"])
    result = run(project, "weak.litmus", "--ptxmm-model", "ptx-5.0")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*ptx-5.0*"])


@pytest.mark.long
def test_a_setting_that_is_none_is_refused(project: pytest.Pytester) -> None:
    for name, said, message in (
        ("timeout", "soon", "a time is needed, as 60, 60s, 2m or 1h (a number is one of seconds), not 'soon'"),
        ("timeout", "-1", "must be a positive time, not -1"),
        ("unroll", "0", "must be at least 1"),
        ("engine", "magic", "engine is solve or enumerate, not 'magic'"),
        ("backend", "cvc", "backend is z3 or sat, not 'cvc'"),
        ("progress", "sometimes", "sometimes"),
        ("resident", "none", "a whole number is needed"),
        ("check", "liveness", "check is one of race_free"),
        ("reading", "mine", "reading is one of"),
        ("baseline", "missing.json", "baseline missing.json: "),
    ):
        result = run(project, "mp.litmus", f"--ptxmm-{name}", said)
        assert result.ret != 0
        assert f"ptxmm: {message}" in result.stdout.str().replace("\n", " ") or message in result.stdout.str(), name


RACE = """PTX race
{ x = 0; }
P0@cta 0,gpu 0 { st.weak.u32 [x], 1; }
P1@cta 1,gpu 0 { st.weak.u32 [x], 2; }
exists (x = 1)
"""
WAITS = """PTX waits
{ x = 0; }
P0@cta 0,gpu 0 { W: ld.relaxed.gpu.u32 %r0, [x]; setp.eq.u32 %p0, %r0, 0; @%p0 bra W; }
P1@cta 1,gpu 0 { st.relaxed.gpu.u32 [x], 1; }
forall (x = 1)
"""


def test_everything_that_the_command_line_asks_may_be_asked_here(project: pytest.Pytester) -> None:
    """By an option, and by the ini file."""
    project.path.joinpath("race.litmus").write_text(RACE, encoding="utf-8")
    project.path.joinpath("waits.litmus").write_text(WAITS, encoding="utf-8")
    for test, options in (
        ("race", ["races"]),
        ("race", ["check=race_free"]),
        ("waits", ["check=terminates", "progress=unfair"]),
        ("waits", ["check=terminates", "resident=1"]),
    ):
        words = [f"--ptxmm-{option}" for option in options]
        project.makeini("[pytest]\n")
        run(project, f"{test}.litmus").assert_outcomes(passed=1)
        run(project, f"{test}.litmus", *words).assert_outcomes(failed=1)
        lines = [f"ptxmm_{option if '=' in option else option + '=true'}" for option in options]
        project.makeini("\n".join(["[pytest]", *lines]))
        run(project, f"{test}.litmus").assert_outcomes(failed=1)
    project.makeini("[pytest]\n")
    run(project, "waits.litmus", "--ptxmm-check=terminates", "--ptxmm-progress=fair").assert_outcomes(passed=1)


def test_known_findings_do_not_fail(project: pytest.Pytester) -> None:
    from ptxmm.cli.main import main

    project.path.joinpath("race.litmus").write_text(RACE, encoding="utf-8")
    tests = [str(project.path / "race.litmus"), str(project.path / "weak.litmus")]
    assert main(["check", tests[0], "--races", "--write-baseline", str(project.path / "known.json")]) == 1
    run(project, *tests, "--ptxmm-races", "--ptxmm-baseline", "known.json").assert_outcomes(passed=1, failed=1)
    project.makeini("[pytest]\nptxmm_races = true\nptxmm_baseline = known.json\n")
    run(project, *tests).assert_outcomes(passed=1, failed=1)


def test_a_model_of_the_ini_file_is_seen_from_there(project: pytest.Pytester) -> None:
    """Wherever pytest is called; one that an option names is seen from where it is called."""
    (project.path / "m.cat").write_text("m\nempty rf as nothing_is_read\n", encoding="utf-8")
    (project.path / "sub").mkdir()
    (project.path / "sub" / "m.cat").write_text("m\nacyclic po-loc | rf | co | fr as coherence\n", encoding="utf-8")
    project.path.joinpath("waits.litmus").write_text(WAITS.replace("forall", "exists"), encoding="utf-8")
    project.makeini("[pytest]\nptxmm_model = m.cat\n")
    with pytest.MonkeyPatch.context() as there:
        there.chdir(project.path / "sub")
        run(project, "../waits.litmus").assert_outcomes(failed=1)
        run(project, "../waits.litmus", "--ptxmm-model=m.cat").assert_outcomes(passed=1)


def test_what_the_project_says_for_the_command_line_is_asked_here_too(project: pytest.Pytester) -> None:
    """Else pytest is green where `ptxmm check` is red."""
    project.path.joinpath("race.litmus").write_text(RACE, encoding="utf-8")
    project.path.joinpath("waits.litmus").write_text(WAITS, encoding="utf-8")
    (project.path / "sub").mkdir()
    for test, table in (
        ("race", "races = true"),
        ("race", 'check = ["race_free"]'),
        ("waits", 'check = ["terminates"]\nprogress = "unfair"'),
        ("waits", 'check = ["terminates"]\nresident = 1'),
    ):
        project.path.joinpath("pyproject.toml").write_text(f"[tool.ptxmm]\n{table}\n", encoding="utf-8")
        with pytest.MonkeyPatch.context() as there:
            there.chdir(project.path / "sub")
            run(project, f"../{test}.litmus").assert_outcomes(failed=1)
            run(project, f"../{test}.litmus", "--ptxmm-no-defaults").assert_outcomes(passed=1)
    run(project, "waits.litmus", "--ptxmm-resident=2").assert_outcomes(passed=1)
    project.path.joinpath("pyproject.toml").write_text("[tool.ptxmm]\nracse = true\n", encoding="utf-8")
    assert "pyproject.toml:2:1: error: ptxmm check has no default 'racse'" in run(project, "race.litmus").stdout.str()


def test_command_line_python_and_pytest_ask_the_same() -> None:
    """What changes an answer can be said in each of them."""
    import inspect

    import ptxmm
    from ptxmm.checker import Settings
    from ptxmm.cli.options import parser
    from ptxmm.pytest_plugin import _FLAGS, _LISTS, _SETTINGS

    asked = {"model", "unroll", "timeout", "engine", "backend", "races", "checks", "progress", "resident", "options"}
    python = set(inspect.signature(ptxmm.check).parameters)
    command = set(vars(parser().parse_args(["check", "x"])))
    plugin = {*_SETTINGS, *_FLAGS, *_LISTS}
    names = {"checks": "check", "options": "readings"}
    assert asked <= python and asked <= set(Settings._fields)
    assert {names.get(name, name) for name in asked} | {"bounded_ok", "baseline"} <= command
    assert {{"options": "reading"}.get(name, names.get(name, name)) for name in asked} | {
        "bounded-ok",
        "baseline",
    } <= plugin
    assert asked <= set(inspect.signature(ptxmm.Kernel.check).parameters) - {"self"}


def test_it_can_be_switched_off(project: pytest.Pytester) -> None:
    run(project, "--no-ptxmm").assert_outcomes()
    project.makeini("[pytest]\nptxmm = false\n")
    run(project).assert_outcomes()


def test_what_was_cut_fails_where_it_must_be_complete(project: pytest.Pytester) -> None:
    loop = " P0@cta 0,gpu 0 | P1@cta 1,gpu 0 ;\n mov.u32 %r0, 0 | st.relaxed.gpu.u32 [x], 1 ;\n"
    loop += " L1: atom.relaxed.gpu.add.u32 %r1, [y], 1 | ;\n ld.relaxed.gpu.u32 %r2, [x] | ;\n"
    loop += " setp.eq.u32 %p, %r2, 0 | ;\n @%p bra L1 | ;\n"
    project.path.joinpath("loop.litmus").write_text(
        "PTX loop\n{ x = 0; y = 0; }\n" + loop + "forall (x >= 0)\n", encoding="utf-8"
    )
    run(project, "loop.litmus", "--ptxmm-bounded-ok").assert_outcomes(passed=1)
    result = run(project, "loop.litmus")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*the loop at *loop.litmus:5 (L1) was unrolled at most 4 times*"])


@pytest.mark.parametrize("every", lengths(6, 1))
def test_files_that_may_be_tests_fail_where_they_cannot_be_taken(project: pytest.Pytester, every: int) -> None:
    made = [spoilt for i, spoilt in enumerate(SPOILT) if i % every == 0 or spoilt[1] == "empty"]
    project.path.joinpath("weak.litmus").unlink()
    for ending, how, make in made:
        folder = project.path / f"{ending} {how}"
        folder.mkdir()
        make(folder / f"bad.{ending}")
    os.symlink(".", project.path / "toml empty" / "round")
    result = run(project, "-rf")
    result.assert_outcomes(passed=1, failed=len(made))
    for ending, how, _ in made:
        result.stdout.fnmatch_lines([f"FAILED {ending} {how}/bad.{ending}::bad*"])


def test_a_link_to_a_folder_that_is_not_there_fails(project: pytest.Pytester) -> None:
    os.symlink("gone", project.path / "vendored")
    result = run(project, "-rf")
    result.stdout.fnmatch_lines(["FAILED vendored::vendored*"])
    run(project, "--no-ptxmm").assert_outcomes()


def test_links_to_folders_are_followed(project: pytest.Pytester) -> None:
    inner = project.path.parent / "inner"
    inner.mkdir()
    project.path.joinpath("weak.litmus").rename(inner / "weak.litmus")
    os.symlink(inner, project.path / "linked")
    run(project).assert_outcomes(passed=1, failed=1)
