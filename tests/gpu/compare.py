"""Compares a GPU with our machine, form by form, bit for bit: `python tests/gpu/compare.py [--section 9.7.3]`.

For each form of the table that a thread or a warp alone decides, kernels are made for its modifiers and types, run on
inputs at random and at boundaries, on the GPU and on our machine. A table on standard output has a line for each form:

    inputs    threads that were compared
    NaN       results that are NaN in both, in bits that the manual leaves open
    near      results of approximate functions, within the stated error; `worst` is the largest share of it
    unstated  results of functions for which the manual states no error
    known     differences that `known.py` explains
    differ    all others

and below it the first example of each difference, and what was left out and why. Exit status: 0 where nothing differs
or fails, 1 where something does, 2 where there is no GPU. With `--without-gpu` the kernels are checked, run on our machine, and
compared with the meanings called directly.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, field
from importlib import import_module
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
for folder in (TESTS.parent, TESTS, TESTS / "support", TESTS / "ptxcore" / "semantics"):
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))

import reference  # noqa: E402
from gpu import modules, tolerances  # noqa: E402
from gpu.cuda import BuildError, CudaError, Gpu  # noqa: E402
from gpu.execution import draw_cases, launch_of, results_of, run_here  # noqa: E402
from gpu.known import explanation  # noqa: E402
from gpu.launches import Launch, Outcome  # noqa: E402
from gpu.modules import Machine, Plan  # noqa: E402
from gpu.probes import Case, Probe  # noqa: E402

from ptxcore.isa.form import Form  # noqa: E402

INPUTS, KERNELS = 4096, 64
#: Inputs of a kernel, however many a form has; kernels of a module.
FEWEST, BATCH = 32, 50

#: Runs the kernels of a group: (version and target, probes, launches) -> outcomes.
Runner = Callable[[tuple[str, str], Sequence[Probe], Sequence[Launch]], list[Outcome]]


@dataclass
class Result:
    """What came out of a form's comparison."""

    section: str
    form: str
    kernels: int = 0
    inputs: int = 0
    nan: int = 0
    near: int = 0
    unstated: int = 0
    known: int = 0
    differing: int = 0
    worst: float = 0.0
    example: str = ""
    notes: list[str] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)

    @property
    def is_good(self) -> bool:
        return not self.differing and not self.failures


def forms(sections: Sequence[str] = (), containing: str = "") -> list[Form]:
    """The forms with a meaning, in the sections (and theirs below) that are asked for."""
    found = reference.all_forms()
    return [
        form
        for form in found
        if (not sections or any(f"{form.section}.".startswith(f"{s}.") for s in sections)) and containing in form.syntax
    ]


def inputs_of(plan: Plan, wanted: int) -> dict[str, int]:
    """How many inputs each kernel gets, by its name, so that a form has as many as wanted."""
    kernels: dict[Form, int] = {}
    for probe in plan.probes():
        kernels[probe.use.form] = kernels.get(probe.use.form, 0) + 1
    return {p.name: max(FEWEST, -(-wanted // kernels[p.use.form])) for p in plan.probes()}


def compare(
    plan: Plan, wanted: int, seed: object, there: Runner, progress: Callable[[int, int, str], None]
) -> list[Result]:
    """Runs all kernels of a plan here and there."""
    results: dict[Form, Result] = {}
    number = inputs_of(plan, wanted)
    done, everything = 0, len(plan.probes())
    for where, group in plan.groups.items():
        for batch in modules.batches(group, BATCH):
            progress(done, everything, batch[0].use.form.section)
            cases = [draw_cases(probe, number[probe.name], seed) for probe in batch]
            launches = [launch_of(probe, c) for probe, c in zip(batch, cases, strict=True)]
            ours = run_here(modules.text(where, batch), launches)
            theirs = there(where, batch, launches)
            for probe, c, here, other in zip(batch, cases, ours, theirs, strict=True):
                form = probe.use.form
                result = results.setdefault(form, Result(form.section, form.shown()))
                result.kernels += 1
                _judge(result, probe, c, here, other)
            done += len(batch)
    for form, reasons in plan.partly.items():
        results[form].notes += reasons
    progress(everything, everything, "")
    return list(results.values())


#: A module or kernel that a driver refuses is no difference: what begins so is a note.
_REFUSALS = ("cuModuleLoadDataEx", "ptxas")


def _judge(result: Result, probe: Probe, cases: list[Case], here: Outcome, there: Outcome) -> None:
    if here.error or there.error:
        text = f"{probe.instruction} {here.error or there.error}"
        refused = not here.error and there.error.startswith(_REFUSALS)
        (result.notes if refused else result.failures).append(text)
        return
    wanted, got = results_of(probe, cases, here.data), results_of(probe, cases, there.data)
    for case, our_rows, their_rows in zip(cases, wanted, got, strict=True):
        left_open = probe.is_open(case) if probe.is_open else None
        for thread, (ours, theirs) in enumerate(zip(our_rows, their_rows, strict=True)):
            result.inputs += 1
            if ours != theirs:
                _judge_thread(result, probe, case, thread, ours, theirs, left_open[thread] if left_open else None)


def _judge_thread(
    result: Result,
    probe: Probe,
    case: Case,
    thread: int,
    ours: list[int],
    theirs: list[int],
    left_open: list[bool] | None,
) -> None:
    row, fields = case[thread], probe.inputs.fields
    sources = [(f.type, value & (1 << f.width) - 1) for f, value in zip(fields, row, strict=True)]
    verdicts = [
        tolerances.SAME if left_open and left_open[i] else tolerances.compare(probe.use, f.type, x, y, sources)
        for i, (f, x, y) in enumerate(zip(probe.outputs.fields, ours, theirs, strict=True))
    ]
    kinds = {verdict.kind for verdict in verdicts}
    result.worst = max(result.worst, *(v.error for v in verdicts if v.kind == "near"), 0.0)
    if "differs" in kinds:
        if explanation(probe.use, [value for _, value in sources]):
            result.known += 1
            return
        result.differing += 1
        if not result.example:
            shown = ", ".join(f"{f.name} = {value:#x}" for f, value in zip(fields, row, strict=True))
            result.example = f"{probe.instruction}\n  on {shown}\n  here {_shown(ours)}, there {_shown(theirs)}"
            if probe.threads > 1:
                result.example += f"\n  in thread {thread} of {[[hex(x) for x in r] for r in case]}"
    for kind in ("unstated", "near", "nan"):
        if kind in kinds and "differs" not in kinds:
            setattr(result, kind, getattr(result, kind) + 1)
            break


def _shown(values: Iterable[int]) -> str:
    return ", ".join(hex(value) for value in values)


# Where the kernels run.


def on_gpu(gpu: Gpu, *, by_ptxas: bool) -> Runner:
    """Modules are compiled by the driver, or by ptxas before."""

    def run(where: tuple[str, str], probes: Sequence[Probe], launches: Sequence[Launch]) -> list[Outcome]:
        def build(indices: Sequence[int]) -> bytes:
            text = modules.text(where, [probes[i] for i in indices])
            return _assembled(text, gpu.device.arch, where[1]) if by_ptxas else text.encode()

        return gpu.run(build, launches)

    return run


def _assembled(text: str, arch: str, target: str) -> bytes:
    import ptxas

    path = ptxas.executable()
    if path is None:
        raise BuildError(f"ptxas {ptxas.RELEASE} is not here")
    with tempfile.TemporaryDirectory(prefix="ptxmm-gpu-") as folder:
        source, image = Path(folder) / "m.ptx", Path(folder) / "m.cubin"
        source.write_text(text)
        own = target if target.startswith(arch) else arch
        done = subprocess.run([path, f"-arch={own}", "-o", image, source], capture_output=True, text=True)
        if done.returncode:
            raise BuildError(f"ptxas: {(done.stderr or done.stdout).strip()[:500]}")
        return image.read_bytes()


def by_meaning(probes: Sequence[Probe], cases: Sequence[list[Case]], outcomes: Sequence[Outcome]) -> list[str]:
    """Where our machine's results are not those of the meanings, called directly."""
    found = []
    for probe, drawn, outcome in zip(probes, cases, outcomes, strict=True):
        if outcome.error:
            found.append(f"{probe.instruction} {outcome.error}")
            continue
        if probe.meaning is None:
            continue
        for case, rows in zip(drawn, results_of(probe, drawn, outcome.data), strict=True):
            wanted = probe.meaning(case)
            if rows != wanted:
                found.append(f"{probe.instruction} on {case}: the machine gives {rows}, the meaning {wanted}")
                break
    return found


def check_here(plan: Plan, wanted: int, seed: object, progress: Callable[[int, int, str], None]) -> list[str]:
    """What is wrong with the kernels: the checker refuses them, our machine stops, or gives not what meanings give."""
    found: list[str] = []
    number = inputs_of(plan, wanted)
    done, everything = 0, len(plan.probes())
    for where, group in plan.groups.items():
        for batch in modules.batches(group, BATCH):
            progress(done, everything, batch[0].use.form.section)
            found += [f"{name}: {message}" for name, message in modules.faults(where, batch).items()]
            cases = [draw_cases(probe, number[probe.name], seed) for probe in batch]
            launches = [launch_of(probe, c) for probe, c in zip(batch, cases, strict=True)]
            found += by_meaning(batch, cases, run_here(modules.text(where, batch), launches))
            done += len(batch)
    progress(everything, everything, "")
    return found


def make_do() -> list[str]:
    """Where a machine lacks packages that some references need (NumPy, ml_dtypes), goes on without these references: of
    them only ways to draw inputs are used here. Gives what is missing."""
    missing: dict[str, str] = {}
    found = []
    for path in sorted((TESTS / "ptxcore" / "semantics" / "references").glob("*.py")):
        try:
            found.append(import_module(f"references.{path.stem}"))
        except ModuleNotFoundError as error:
            missing[path.stem] = str(error)
    if missing:
        reference._modules = lambda: tuple(found)  # type: ignore[assignment]
        reference.inputs.cache_clear()
    return [f"{name}: {error}" for name, error in missing.items()]


# The command line.


class Progress:
    """A line on standard error: rewritten on a terminal, else one now and then."""

    def __init__(self) -> None:
        self.start = self.last = time.monotonic()

    def __call__(self, done: int, everything: int, section: str) -> None:
        now = time.monotonic()
        terminal = sys.stderr.isatty()
        if not terminal and now - self.last < 10 and done < everything:
            return
        self.last = now
        line = f"{done} of {everything} kernels, {now - self.start:.0f} s  {section}"
        print(f"\r\x1b[K{line}" if terminal else line, end="" if terminal and done < everything else "\n",
              file=sys.stderr, flush=True)  # fmt: skip


def report(results: Sequence[Result], plan: Plan) -> str:
    lines = [f"{'section':<14}{'kernels':>8}{'inputs':>8}{'NaN':>7}{'near':>7}{'worst':>7}{'unstated':>9}{'known':>7}"
             f"{'differ':>8}  form"]  # fmt: skip
    for r in results:
        worst = f"{r.worst:.2f}" if r.near else ""
        lines.append(f"{r.section:<14}{r.kernels:>8}{r.inputs:>8}{r.nan:>7}{r.near:>7}{worst:>7}{r.unstated:>9}{r.known:>7}"
                     f"{r.differing:>8}  {r.form}")  # fmt: skip
    for title, chosen in (
        ("Differences", [(r, r.example) for r in results if r.example]),
        ("Failures", [(r, text) for r in results for text in r.failures[:3]]),
        ("Not run", [(r, text) for r in results for text in r.notes[:3]]),
    ):
        if chosen:
            lines += ["", title, *(f"- {r.section} {r.form}\n  {text}" for r, text in chosen)]
    if plan.left_out:
        lines += ["", "Left out", *(f"- {form.section} {form.shown()}: {why}" for form, why in plan.left_out.items())]
    bad = sum(not r.is_good for r in results)
    lines += ["", f"{len(results)} forms, {sum(r.inputs for r in results)} inputs, {bad} forms that differ or fail"]
    return "\n".join(lines)


def _arguments(given: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Compares a GPU with our machine, form by form, bit for bit.")
    parser.add_argument(
        "--section", action="append", default=[], help="only this section of the manual, and those in it"
    )
    parser.add_argument("--form", default="", help="only forms whose syntax line has this text")
    parser.add_argument("--inputs", type=int, default=INPUTS, help="inputs of a form, at least (default: %(default)s)")
    parser.add_argument(
        "--kernels", type=int, default=KERNELS, help="kernels of a form, at most (default: %(default)s)"
    )
    parser.add_argument("--seed", default="0", help="another seed gives other inputs and choices of modifiers")
    parser.add_argument("--device", type=int, default=0, help="the number of the GPU")
    parser.add_argument("--device-arch", help="the architecture that modules are made for (default: the GPU's)")
    parser.add_argument("--ptx", help="the version of the modules (default: the newest that the driver takes)")
    parser.add_argument("--ptxas", action="store_true", help="compile by ptxas, not by the driver")
    parser.add_argument("--json", type=Path, help="a file for the results")
    parser.add_argument("--without-gpu", action="store_true", help="check the kernels, and our machine by the meanings")
    return parser.parse_args(given)


def main(given: Sequence[str] | None = None) -> int:
    options = _arguments(given)
    for note in make_do():
        print(f"without the references of {note}", file=sys.stderr)
    chosen = forms(options.section, options.form)
    if options.without_gpu:
        machine = Machine(options.device_arch or "sm_90", options.ptx or "9.0")
        plan = modules.plan(chosen, machine, most=options.kernels, seed=options.seed)
        found = check_here(plan, options.inputs, options.seed, Progress())
        print("\n".join([*found[:50], f"{len(plan.probes())} kernels, {len(found)} of them wrong"]))
        return 1 if found else 0
    try:
        gpu = Gpu(options.device)
    except CudaError as error:
        print(f"skipped: {error}", file=sys.stderr)
        return 2
    try:
        print(
            f"{gpu.device.name}, {gpu.device.arch}, driver {gpu.device.driver}, PTX ISA {gpu.device.ptx}",
            file=sys.stderr,
        )
        version = options.ptx or ("9.0" if options.ptxas else gpu.device.ptx)
        machine = Machine(options.device_arch or gpu.device.arch, version)
        plan = modules.plan(chosen, machine, most=options.kernels, seed=options.seed)
        runner = on_gpu(gpu, by_ptxas=options.ptxas)
        results = compare(plan, options.inputs, options.seed, runner, Progress())
    finally:
        gpu.close()
    print(report(results, plan))
    if options.json:
        options.json.write_text(json.dumps([asdict(r) for r in results], indent=1))
    return 0 if all(r.is_good for r in results) else 1


if __name__ == "__main__":
    sys.exit(main())
