"""The Python interface: read a test, check it under a model, look at the result.

Errors: every function that takes an input raises `ptxcore.diagnostics.InputError` for one that it cannot take; its text
has file, line, column, the source line and, where one helps, a hint. `OSError` comes through where a file cannot be
read.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from os import PathLike
    from typing import Unpack

    from axioms.cat.model import Model
    from litmus.test import Test
    from ptxmm.kernels.asked import AskedKernel, LaunchWords
    from ptxmm.kernels.files import Variant
    from ptxmm.kernels.test import KernelTest
    from ptxmm.result import Result, Witness

DEFAULT_MODEL = "ptx-9.0"

_shipped: dict[tuple[str, frozenset[str]], Model] = {}  # read once; there are three, with options few more


def load(path: str | PathLike[str]) -> Test | KernelTest:
    """Reads a test from a file. `path`: of a litmus test, or of a kernel test, as `lock.toml`, or `lock.toml:weak` for one
    variant of several, `mp.test:3` for one test of a template; `-` for a litmus test on standard input. Raises InputError for
    what is wrong in it, OSError where it cannot be read."""
    from litmus.formats import read
    from litmus.formats.files import text_of
    from ptxmm.kernels.files import Variant, of_kernels, split

    if of_kernels(str(path)):
        return load_variant(Variant(str(path), ""))
    variant = split(str(path))
    return read(text_of(path), str(path)) if variant is None else load_variant(variant)


def load_variant(variant: Variant | AskedKernel) -> Test | KernelTest:
    """Reads one test of a kernel test file, or of a template, where an empty name is the only one that there is; or makes
    one as it was asked for."""
    from ptxmm.kernels.files import Variant, of_kernels, tests_of

    if not isinstance(variant, Variant):
        return variant.test()
    if not of_kernels(variant.path):
        from litmus.formats import read as read_litmus
        from litmus.formats.files import text_of

        return read_litmus(text_of(variant.path), variant.path, variant.name)
    return tests_of(variant.path).test(variant.name)


def parse(text: str | bytes, path: str = "<input>") -> Test:
    """Reads a litmus test. `text`: what a file would have, as text or bytes; `path` names it in messages. Raises InputError
    for what is wrong in it, TypeError for what is no text."""
    from litmus.formats import read

    if not isinstance(text, str | bytes):
        raise TypeError(f"a test's text is needed, not {type(text).__name__}")
    return read(text, path)


def models() -> list[str]:
    """The names of the models that ship."""
    from axioms.models import names

    return names()


def model_named(name: str, options: Iterable[str] = ()) -> Model:
    """A model by its name, or by the path of a .cat file, with those of `options` that are the model's. The name may leave out
    axioms and choose readings, as `ptx-9.0/-atomicity --dep data`. Raises InputError for a name or a file that is none, and
    for an option or an axiom that the model does not have."""
    from axioms.models.options import of_models

    chosen = of_models(options)
    known = _shipped.get((name, chosen))
    if known is None:
        from axioms.models import load as load_model

        known = load_model(name, chosen)
        if ".cat" not in name:
            _shipped[name, chosen] = known
    return known


def remember(name: str, options: Iterable[str], model: Model) -> None:
    """From now on the name stands for this model in this process, whatever becomes of its file."""
    from axioms.models.options import of_models

    _shipped[name, of_models(options)] = model


def check(
    test: Test | KernelTest | str | PathLike[str],
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
    checks: Iterable[str] = (),
    progress: str | None = None,
    resident: int | None = None,
    options: Iterable[str] = (),
    without: Iterable[str] = (),
    executions: int | None = None,
    **launch: Unpack[LaunchWords],
) -> Result:
    """Decides a test under a model.

    `test`: a litmus test, or a kernel test, from `load` or `parse`. `model`: a name of `models()`, the path of a .cat
    file (either may leave out axioms, choose readings and say what witnesses show besides, and a file where it
    includes from: `ptx-9.0/-atomicity --dep data`, `ptx-9.0 --show rf;co as seen`, `my.cat -I herd/libdir`), or a
    model that was read already. `unroll`: how many times a loop body may execute at most, where a kernel test does
    not say so itself. `timeout`: seconds, after which the verdict is `undecided`; None: no limit. `engine`: `solve`,
    or `enumerate` (brute force). `backend`: `z3` or `sat`; None: the faster one. `all_registers`: states list all
    registers that the test names, or all elements of buffers. `explain`: for an outcome that does not occur, also
    find the axioms that forbid it. `why`: tell why it is forbidden, or how it comes about. `witnesses`: write out the
    execution of each state (all are re-checked either way). `races`: search for races of every kind; one makes the
    verdict `no`. `checks`: what else is asked, besides what the test asks itself: `race_free` (as `races`),
    `no_deadlock`, `terminates`, `no_trap`. `progress`: who is scheduled fairly, as `obe` or `cta=obe,gpu=fair`
    (`axioms.liveness.progress`); `resident`: how many CTAs run at once; None: what a kernel test says itself, else
    `fair` and all. `options`: readings of the manual that differ from ours, by the names of `ptxmm check --help`.
    `without`: passes that are left out, by the names of `axioms.passes`: answers are the same, as far as there are
    any, and take longer. `executions`: list at most so many executions of a litmus test (`Result.executions`),
    however many end in one state; None: none. `launch`: of the path of a kernel, in CUDA C++ or PTX, in place of a
    test what a kernel test would say: `entry`, `grid`, `block`, `cluster`, `dynamic_shared`, `args`, `memory`, `nvcc`,
    `expect`, `forall`, `exists`, `never`; without any of these its annotation.

    Raises InputError when the test or the model cannot be taken (an instruction that is not there yet, a bad .cat
    file), `axioms.program.UnsupportedProgram` for a program that the engine does not decide yet, ValueError for an
    option that is none, TypeError for what is no test, as the name of another file, and for words of a launch that are none.
    """
    _check_options(unroll, timeout, engine, backend)
    if progress is not None:
        from axioms.liveness.progress import progress_named

        progress_named(progress)
    if resident is not None and resident < 1:
        raise ValueError(f"resident must be at least 1, not {resident}")
    from axioms.models.naming import said_by
    from axioms.passes import left_out
    from litmus.test import PROPERTIES, Test
    from ptxcore.clock import limited

    options, asked = (
        frozenset([*options, *left_out(without)]),
        dict.fromkeys([*checks, *(["race_free"] if races else [])]),
    )
    unknown = [check for check in asked if check not in PROPERTIES]
    if unknown:
        raise ValueError(f"a check must be one of {', '.join(PROPERTIES)}, not '{unknown[0]}'")
    loaded, options = _taken(model, options)
    name = said_by(model) if isinstance(model, str) else loaded.name
    if launch or isinstance(test, str | os.PathLike):
        test = _kernel(test, launch, list(asked))
    if isinstance(test, Test):
        from ptxmm import litmus_check
        from ptxmm.result import HowDecided

        how = HowDecided(
            unroll, timeout, engine, backend, all_registers, options, explain, witnesses, why, tuple(asked), progress, resident,
            name,
        )  # fmt: skip
        with limited(timeout):
            result = litmus_check.check(test, loaded, how)
        if executions is not None:
            from ptxmm.listing import listed

            left = None if timeout is None else max(timeout - result.seconds, 0.01)
            result.executions = listed(test, loaded, executions, how._replace(timeout=left))
        return result
    from axioms.models.options import of_programs
    from ptxmm.kernels import check as kernels
    from ptxmm.kernels.test import KernelTest

    if not isinstance(test, KernelTest):
        raise TypeError(f"check takes a test that load or parse has read, not {type(test).__name__}")
    with limited(timeout):
        return kernels.check(
            test, loaded, unroll=unroll, engine=engine, backend=backend, timeout=timeout, all_elements=all_registers,
            asked=tuple(asked), why=why, explain=explain, options=of_programs(options), model_name=name,
            progress=progress, resident=resident,
        )  # fmt: skip


def _kernel(test: object, launch: LaunchWords, checks: list[str]) -> Test | KernelTest:
    """A kernel that is told by its file. Raises TypeError for what is none."""
    from ptxmm.kernels.asked import in_python
    from ptxmm.kernels.files import is_code, split

    path = os.fspath(test) if isinstance(test, str | os.PathLike) else None
    variant = split(path) if isinstance(path, str) and not launch else None
    if not isinstance(path, str) or not is_code(variant.path if variant else path):
        what = "a launch is said of" if launch else "check takes a test that load or parse has read, or"
        raise TypeError(f"{what} the path of a kernel, FILE.cu or FILE.ptx, not {type(test).__name__}")
    return in_python(path, launch, checks).test() if launch else load(path)


def executions(
    test: Test,
    model: str | Model = DEFAULT_MODEL,
    *,
    unroll: int = 4,
    timeout: float | None = None,
    engine: str = "solve",
    backend: str | None = None,
    all_registers: bool = False,
    options: Iterable[str] = (),
) -> Iterator[Witness]:
    """Every execution that a model allows and that ends, one after another, as they are found. Two are one where the same
    events happen with the same `rf`, orders, barrier instances and final values; `satisfied` says of each whether it satisfies
    the test's proposition.

    `test`: a litmus test, from `load` or `parse`; `model`, `timeout`, `engine`, `backend`, `all_registers` and `options` as
    those of `check`. Of a loop that only waits the last iteration counts; others execute at most `unroll` times in these
    executions.

    Raises what `check` raises, and `ptxcore.clock.OutOfTime` when `timeout` is over: there may be more executions then.
    """
    from litmus.test import Test
    from ptxmm.listing import executions as found
    from ptxmm.result import HowDecided

    _check_options(unroll, timeout, engine, backend)
    if not isinstance(test, Test):
        raise TypeError(
            f"executions are those of a litmus test that load or parse has read, not of {type(test).__name__}"
        )
    loaded, chosen = _taken(model, frozenset(options))
    return found(test, loaded, HowDecided(unroll, timeout, engine, backend, all_registers, chosen))


def _taken(model: str | Model, options: frozenset[str]) -> tuple[Model, frozenset[str]]:
    """The model that is meant, and all readings: those that are asked for, and those that its name chooses."""
    if not isinstance(model, str):
        return model, options
    from axioms.models.naming import named

    return model_named(model, options), named(model, options).options


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
        from axioms.sat.backends import sat_available

        if not sat_available():
            raise ValueError("backend 'sat' needs python-sat, which is not installed")
