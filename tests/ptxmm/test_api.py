"""The Python interface."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import ptxmm

ROOT = Path(__file__).resolve().parents[2]

TEXT = """PTX MP
{ x=0; f=0; }
 P0                  | P1                  ;
 st.weak x, 1        | ld.acquire.gpu r0, f  ;
 st.release.gpu f, 1 | ld.weak r1, x         ;
~exists (1:r0 == 1 /\\ 1:r1 == 0)
"""


def test_the_example_of_the_contract(tmp_path: Path) -> None:
    file = tmp_path / "mp.litmus"
    file.write_text(TEXT)
    test = ptxmm.load(file)
    assert test == ptxmm.parse(TEXT)
    result = ptxmm.check(test, model="ptx-9.0")
    assert (result.verdict, result.passed, result.observation, result.kind) == ("ok", True, "never", "not exists")
    assert result.condition == "(1:r0 == 1 /\\ 1:r1 == 0)"
    assert result.path == str(file) and result.name == "MP" and result.model == "ptx-9.0"
    assert (result.positive, result.negative, result.complete, result.races) == (0, 3, True, [])
    assert len(result.witnesses) == len(result.states) == 3
    witness = result.witnesses[0]
    assert witness.state == result.states[0] == {"1:r0": 0, "1:r1": 0}
    assert witness.svg().startswith("<svg") and "MP" in witness.svg()
    assert witness.dot().startswith("digraph")
    assert any(event.text for event in witness.events) and "po" in witness.relations


def test_explaining_names_an_axiom() -> None:
    assert ptxmm.check(ptxmm.parse(TEXT), explain=True).forbidding == ("causality",)


def test_models_are_named() -> None:
    assert ptxmm.models() == ["ptx-6.0", "ptx-7.5", "ptx-9.0"]


def test_bad_input_is_one_exception_with_its_place() -> None:
    with pytest.raises(ptxmm.InputError, match=r"<input>:\d+:\d+: error: "):
        ptxmm.parse("PTX")
    with pytest.raises(ptxmm.InputError):
        ptxmm.check(ptxmm.parse(TEXT), model="ptx-9.1")
    with pytest.raises(FileNotFoundError):
        ptxmm.load("there/is/no/such.litmus")


@pytest.mark.parametrize(
    "options", [{"unroll": 0}, {"timeout": -1.0}, {"timeout": float("nan")}, {"engine": "x"}, {"backend": "x"}]
)
def test_options_that_are_none_are_refused(options: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=next(iter(options))):
        ptxmm.check(ptxmm.parse(TEXT), **options)  # type: ignore[arg-type]


def test_unknown_names_are_attribute_errors() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'chek'"):
        ptxmm.chek  # noqa: B018
    assert set(ptxmm.__all__) <= set(dir(ptxmm))


def test_importing_is_cheap() -> None:
    code = (
        "import sys, ptxmm\n"
        "heavy = {'z3', 'pysat', 'networkx', 'graphviz', 'rich', 'multiprocessing', 'dataclasses', 'axioms'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True)
    assert done.stdout.strip() == "[]"


def test_checking_one_file_imports_nothing_that_it_does_not_need(tmp_path: Path) -> None:
    file = tmp_path / "mp.litmus"
    file.write_text(TEXT)
    code = (
        "import sys\nfrom ptxmm.cli.main import main\n"
        f"main(['check', {str(file)!r}])\n"
        "heavy = {'z3', 'networkx', 'graphviz', 'rich', 'multiprocessing', 'json', 'hashlib', 'ptxmm.graphs'}\n"
        "print(sorted(heavy & set(sys.modules)), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True)
    assert done.stderr.strip() == "[]"


#: Files that are about what a plain test has nothing of: barriers, copies, fences, kernels, warps, floating point, modules.
NOT_FOR_PLAIN_TESTS = """
axioms.sync.arrivals axioms.events.asynchronous axioms.events.barrier_events axioms.sync.barriers axioms.events.collectives
axioms.liveness.search axioms.oracle.outcomes axioms.oracle.liveness axioms.events.fences axioms.events.launches
axioms.sync.mbarrier_states axioms.sync.mbarriers axioms.sync.named_barriers axioms.sync.numbered_barriers axioms.sync.phases
axioms.sync.rounds axioms.encode.sketch axioms.sat.smt axioms.witness.staged axioms.encode.symbolic axioms.why
litmus.formats.host litmus.formats.short litmus.launches ptxcore.check.module ptxcore.isa.async_copy ptxcore.isa.atomics
ptxcore.isa.conversion ptxcore.isa.floating_point ptxcore.isa.mbarrier ptxcore.isa.synchronization ptxcore.machine.run
ptxcore.machine.loops.iterations ptxcore.machine.explore.concrete ptxcore.syntax.declarations ptxcore.syntax.directives
ptxcore.syntax.functions ptxcore.syntax.sections ptxcore.syntax.structures ptxmm.graphs ptxmm.kernels.check ptxmm.kernels.toml
ptxmm.report.json ptxmm.words.linearisation ptxmm.workers
"""
#: Parts of the standard library that take long to import, and that nothing on the way needs.
SLOW = "asyncio email json logging multiprocessing pathlib subprocess tomllib traceback unittest urllib"


PLAIN = """PTX plain
{ x=0; y=0; }
 P0@cta 0                  | P1@cta 1                    ;
 st.weak.u32 [x], 1        | ld.acquire.gpu.u32 %r0, [y] ;
 st.release.gpu.u32 [y], 1 | ld.weak.u32 %r1, [x]        ;
~exists (1:%r0 = 1 /\\ 1:%r1 = 0)
"""


def test_a_plain_test_imports_nothing_of_what_it_does_not_have(tmp_path: Path) -> None:
    file = tmp_path / "mp.litmus"
    file.write_text(PLAIN)
    code = (
        "import sys\nbefore = set(sys.modules)\nfrom ptxmm.cli.main import main\n"
        f"main(['check', {str(file)!r}])\n"
        "print(*sorted(set(sys.modules) - before), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True)
    imported = set(done.stderr.split())
    assert sorted(imported.intersection(f"{NOT_FOR_PLAIN_TESTS} {SLOW}".split())) == []
    ours = [name for name in imported if name.partition(".")[0] in ("ptxmm", "axioms", "litmus", "ptxcore")]
    assert len(ours) <= 151, "each file more is a third of a millisecond at every start"


SHARED = "P0@cta 0 { ld.weak.shared.u32 %r0, [c]; }\nP1@cta 1 { ld.weak.shared.u32 %r0, [b]; }"


@pytest.mark.parametrize(
    ("init", "threads"),
    [
        ("y @ generic aliases x; x = 3;", "P0 { ld.weak.u32 %r0, [y]; }\nP1 { ld.weak.u32 %r0, [x]; }"),
        ("b @ generic aliases a; .shared .u32 a = 3; c @ generic aliases b;", SHARED),
        (".shared .u32 a = 3; b @ generic aliases a; c @ generic aliases b;", SHARED),
    ],
)
def test_aliases_reach_their_storage_wherever_it_is_declared_and_used(init: str, threads: str) -> None:
    text = f"PTX alias\n{{ {init} }}\n{threads}\nforall (0:r0 = 3 /\\ 1:r0 = 3)\n"
    assert ptxmm.check(ptxmm.parse(text)).verdict == "ok"


def test_what_brute_force_cannot_take_stays_undecided_and_says_why() -> None:
    writes = "".join(f"st.weak.u32 [x], {i}; " for i in range(9))
    test = ptxmm.parse(f"PTX crowd\n{{ x = 0; }}\nP0 {{ {writes} }}\nP1 {{ {writes} }}\nexists (x = 1)")
    result = ptxmm.check(test, engine="enumerate")
    assert (result.verdict, result.error) == ("undecided", "too many writes to one location for brute force")


@pytest.mark.parametrize("what", ["lock.toml", None, 3])
def test_what_is_no_test_is_refused(what: object) -> None:
    with pytest.raises(TypeError, match="a test that load or parse has read"):
        ptxmm.check(what)  # type: ignore[arg-type]


def test_a_result_is_not_asked_whether_it_is_true() -> None:
    """`assert ptxmm.check(test)` could not fail."""
    failing = ptxmm.check(ptxmm.parse(PLAIN.replace("release.gpu", "relaxed.gpu")))
    assert failing.verdict == "no"
    with pytest.raises(TypeError, match="ask for its verdict"):
        assert failing


def test_a_text_that_is_none_is_told() -> None:
    with pytest.raises(TypeError, match="a test's text is needed, not int"):
        ptxmm.parse(5)  # type: ignore[arg-type]
