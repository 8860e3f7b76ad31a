"""The Python interface: read a test, check it under a model, look at the result.

Errors: every function that takes an input raises `ptxcore.diagnostics.InputError` for one that it cannot take; its text
has file, line, column, the source line and, where one helps, a hint. `OSError` comes through where a file cannot be
read.
"""

from __future__ import annotations

import re
import time
from dataclasses import replace
from typing import TYPE_CHECKING

from ptxmm.result import KINDS, Loop, Result, Spot, Witness, observation_of, out_of_time, verdict_of

if TYPE_CHECKING:
    from collections.abc import Iterable
    from os import PathLike

    from axioms.cat.model import Model
    from axioms.program import Program
    from axioms.result import Decision
    from litmus.test import Test
    from ptxmm.kernels.files import Variant
    from ptxmm.kernels.test import KernelTest

DEFAULT_MODEL = "ptx-9.0"
#: No test that anybody wrote is longer; a file that is (a device, a core dump) is refused before it fills the memory.
LONGEST_FILE = 32 << 20

_shipped: dict[tuple[str, frozenset[str]], Model] = {}  # read once; there are three, with options few more


def load(path: str | PathLike[str]) -> Test | KernelTest:
    """Reads a test from a file: a litmus test, or a kernel test from `lock.toml`, or `lock.toml:weak` for one variant of
    several. Raises InputError for what is wrong in it, OSError where it cannot be read."""
    from litmus.formats import read
    from ptxmm.kernels.files import Variant, split

    if str(path).endswith(".toml"):
        return load_variant(Variant(str(path), ""))
    variant = split(str(path))
    if variant is not None:
        return load_variant(variant)
    with open(path, "rb") as file:
        data = file.read(LONGEST_FILE + 1)
    if len(data) > LONGEST_FILE:
        raise OSError(f"longer than {LONGEST_FILE >> 20} MiB: not a litmus test")
    return read(data, str(path))


def load_variant(variant: Variant) -> KernelTest:
    """Reads one test of a kernel test file; an empty name is the only one that there is."""
    from ptxmm.kernels.toml import read

    return read(variant.path).test(variant.name)


def parse(text: str | bytes, path: str = "<input>") -> Test:
    """Reads a litmus test from text; `path` names it in messages."""
    from litmus.formats import read

    return read(text, path)


def models() -> list[str]:
    """The names of the models that ship."""
    from axioms.models import names

    return names()


def model_named(name: str, options: Iterable[str] = ()) -> Model:
    """A model by its name, or by the path of a .cat file, with those of `options` that are the model's. Raises InputError
    for a name or a file that is none, and for an option that the model does not have."""
    from axioms.models.options import of_models

    chosen = of_models(options)
    known = _shipped.get((name, chosen))
    if known is None:
        from axioms.models import load as load_model
        from axioms.models import names

        known = load_model(name, chosen)
        if name in names():
            _shipped[name, chosen] = known
    return known


def check(
    test: Test | KernelTest,
    model: str | Model = DEFAULT_MODEL,
    *,
    unroll: int = 4,
    timeout: float | None = None,
    engine: str = "solve",
    backend: str | None = None,
    all_registers: bool = False,
    explain: bool = False,
    witnesses: bool = True,
    races: bool = False,
    why: bool = False,
    options: Iterable[str] = (),
) -> Result:
    """Decides a test under a model: a litmus test, or a kernel test.

    `model`: a name of `models()`, the path of a .cat file, or a model that was read already. `unroll`: how many times a
    loop body may execute at most, where a kernel test does not say so itself. `timeout`: seconds, after which the
    verdict is `undecided`; None: no limit. `engine`: `solve`, or `enumerate` (brute force). `backend`: `z3` or `sat`;
    None: the faster one. `all_registers`: states list all registers that the test names, or all elements of buffers.
    `explain`: for an outcome that does not occur, also find the axioms that forbid it. `why`: tell why it is forbidden, or
    how it comes about. `witnesses`: write out the execution of each state (all are re-checked either way). `races`: search
    for races of every kind; one makes the verdict `no`. `options`: readings of the manual that differ from ours, by the
    names of `ptxmm check --help`.

    Raises InputError when the test or the model cannot be taken (an instruction that is not there yet, a bad .cat
    file), `axioms.program.UnsupportedProgram` for a program that the engine does not decide yet, ValueError for an
    option that is none.
    """
    _check_options(unroll, timeout, engine, backend)
    from axioms.engine import decide
    from axioms.models.options import of_programs
    from axioms.result import OutOfTime
    from litmus.formats.printer import write_proposition
    from litmus.test import Test
    from ptxcore.diagnostics import InputError
    from ptxmm.pipeline import build

    options = frozenset(options)
    loaded = model_named(model, options) if isinstance(model, str) else model
    if not isinstance(test, Test):
        from ptxmm.kernels import check as kernels

        return kernels.check(
            test, loaded, unroll=unroll, engine=engine, backend=backend, timeout=timeout, all_elements=all_registers,
            races=races, why=why, explain=explain, options=of_programs(options),
            model_name=model if isinstance(model, str) else loaded.name,
        )  # fmt: skip
    condition = test.condition
    result = Result(
        path=test.path,
        name=test.name,
        model=model if isinstance(model, str) else loaded.name,
        verdict="undecided",
        kind=KINDS[condition.quantifier],
        condition=write_proposition(condition.proposition),
        expectation=test.expectation,
        spot=_condition_spot(test),
    )
    start = time.perf_counter()
    deadline = None if timeout is None else time.monotonic() + timeout
    try:
        program = build(test, unroll, all_registers, of_programs(options))
        decision = decide(
            program, loaded, engine=engine, backend=backend, deadline=deadline, explain=explain, witnesses=witnesses or why,
            races=races, why=why,
        )  # fmt: skip
    except (OutOfTime, TimeoutError):
        result.error = out_of_time(timeout)
        return result
    except InputError as error:
        if error.path == "<input>":
            error.path, error.text = test.path, test.text
        raise
    finally:
        result.seconds = time.perf_counter() - start
    result.states = decision.states
    result.positive, result.negative = decision.positive, decision.negative
    result.complete, result.listed_all = decision.complete, decision.listed_all
    result.loops = [] if decision.complete else _loops_cut(program, test.path)
    result.satisfied = decision.satisfied
    if decision.races:
        from ptxmm.races import entry
        from ptxmm.story import Cast

        cast = Cast(lambda thread: test.threads[thread].name, lambda event: Spot(test.path, event.line or 0))
        result.races = [entry(race, cast) for race in decision.races]
        result.race_witnesses = [
            Witness(replace(r.execution, title=f"{test.name}  ({loaded.name})  {r.kind} race")) for r in decision.races
        ]
    if why:
        _tell_why(result, decision, test, f"{test.name}  ({loaded.name})")
    result.forbidding, result.forbidding_each = decision.forbidding, decision.forbidding_each
    title = f"{test.name}  ({loaded.name})"
    result.witnesses = [Witness(replace(w, title=title)) for w in decision.witnesses]
    result.observation = observation_of(result.positive, result.negative)
    if decision.undefined:
        result.verdict, result.error = "undefined", decision.undefined
        result.culprits = [str(event) for event in decision.culprits]
    else:
        result.verdict = verdict_of(condition.quantifier, result.positive, result.negative)
        if result.races:
            result.verdict = "no"
    return result


_NO_REASON = "no axiom is told that forbids it: no execution gives this outcome, or finding the reason takes too long"


def _tell_why(result: Result, decision: Decision, test: Test, title: str) -> None:
    """The reasons in words: why an outcome is not there, or how it comes about."""
    from ptxmm.story import Cast, Story
    from ptxmm.why import Telling

    cast = Cast(lambda thread: test.threads[thread].name, lambda event: Spot(test.path, event.line or 0))
    if decision.why is not None:
        telling = Telling(decision.why, cast)
        result.why = telling.document()
        result.why_witness = Witness(
            replace(decision.why.execution, title=f"{title}  forbidden by {decision.why.axiom}")
        )
        return
    asked = test.condition.quantifier != "forall"
    shown = next((w for w, holds in zip(decision.witnesses, decision.satisfied, strict=False) if holds == asked), None)
    text = Story(shown, cast).told(shown.state) if shown is not None else [_NO_REASON]
    result.why = {"axiom": None, "steps": [], "rests_on": [], "text": text}


_CONDITION = re.compile(r"^[ \t]*(?:~[ \t]*exists|exists|forall)\b", re.MULTILINE)


def _condition_spot(test: Test) -> Spot:
    """Where the condition stands: behind the program, so the last that looks like one."""
    found = list(_CONDITION.finditer(test.text))
    return Spot(test.path, test.text.count("\n", 0, found[-1].end()) + 1 if found else 0)


def _loops_cut(program: Program, path: str) -> list[Loop]:
    """The loops that bounds may have cut, each with its threads."""
    threads: dict[tuple[str, int, int], dict[str, None]] = {}
    for thread in program.threads:
        for cut in thread.execution.cuts:
            line = cut.instruction.span.line if cut.instruction else 0
            threads.setdefault((cut.label, line, cut.turns), {})[thread.name] = None
    return [
        Loop("bounded", Spot(path, line), None, label, turns, tuple(names))
        for (label, line, turns), names in threads.items()
    ]


def _check_options(unroll: int, timeout: float | None, engine: str, backend: str | None) -> None:
    if unroll < 1:
        raise ValueError(f"unroll must be at least 1, not {unroll}")
    if timeout is not None and not 0 < timeout < float("inf"):
        raise ValueError(f"timeout must be a positive number of seconds, not {timeout}")
    if engine not in ("solve", "enumerate"):
        raise ValueError(f"engine must be 'solve' or 'enumerate', not '{engine}'")
    if backend not in (None, "z3", "sat"):
        raise ValueError(f"backend must be 'z3' or 'sat', not '{backend}'")
    if backend == "sat":
        from axioms.backends import sat_available

        if not sat_available():
            raise ValueError("backend 'sat' needs python-sat, which is not installed")
