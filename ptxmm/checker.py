"""Checking one file from beginning to end, with every way in which that can go wrong turned into a result."""

from __future__ import annotations

import contextlib
import os
import time
from typing import TYPE_CHECKING

from ptxcore.clock import begun
from ptxcore.records import NamedTuple
from ptxmm.findings import Finding, findings
from ptxmm.kernels.files import ENDINGS, NamedTest
from ptxmm.result import Refusal, Result, Witness

if TYPE_CHECKING:
    from collections.abc import Callable

    from litmus.formats.questions import Questions
    from litmus.test import Test
    from ptxmm.kernels.test import KernelTest

_SMALL = """PTX warm
{ x=0; y=0; }
 P0 | P1 ;
 st.weak.u32 [y], 1 | ld.acquire.gpu.u32 %r0, [x] ;
 st.release.gpu.u32 [x], 1 | ld.weak.u32 %r1, [y] ;
~exists (1:%r0 = 1 /\\ 1:%r1 = 0)
"""


class Settings(NamedTuple):
    """What one command asks of every test. `drawings` are of `svg`, `dot`, `tex` and `txt`, the first by
    `svg_engine`, the last so many characters wide; `digest`:
    whether a hash of the test is wanted; `tell`: of a litmus test that fails, find out why as well; `bounded_ok`: an
    answer that rests on a bound is accepted where `ok` is expected; `checks`: what is asked of every test, `progress`,
    `resident` and `executions`: see `ptxmm.check`; `documents`: the latter are wanted as data."""

    model: str = "ptx-9.0"
    unroll: int = 4
    timeout: float | None = None
    engine: str = "solve"
    backend: str | None = None
    all_registers: bool = False
    drawings: tuple[str, ...] = ()
    svg_engine: str = "own"
    width: int = 100
    digest: bool = False
    explain: bool = False
    races: bool = False
    why: bool = False
    tell: bool = False
    bounded_ok: bool = False
    checks: tuple[str, ...] = ()
    progress: str | None = None
    resident: int | None = None
    options: frozenset[str] = frozenset()
    executions: int | None = None
    documents: bool = False
    questions: Questions | None = None


class Outcome(NamedTuple):
    """A result, light enough to send between processes: its witnesses stay behind, their drawings come along, and
    `extra` ones: of races, and of why not.

    `pointers` are the names of addresses in states, by place and number, where a `digest` was wanted. `findings` is what is
    wrong with the test, once whoever reports it has looked. For `undrawn` pictures there was no time."""

    result: Result
    drawings: dict[str, list[str]]
    digest: str = ""
    findings: tuple[Finding, ...] = ()
    extra: dict[str, dict[str, list[str]]] | None = None
    undrawn: int = 0
    pointers: dict[tuple[str, int], str] | None = None


class _Pen:
    """Draws witnesses in some formats, as long as there is time."""

    def __init__(self, settings: Settings) -> None:
        self.kinds, self.svg_engine, self.width = settings.drawings, settings.svg_engine, settings.width
        self.undrawn, seconds = 0, settings.timeout
        self.end = None if seconds is None else time.monotonic() + seconds

    def drawn(self, witnesses: list[Witness]) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {kind: [] for kind in self.kinds}
        for witness in witnesses if self.kinds else ():
            if self.end is not None and time.monotonic() > self.end:
                self.undrawn += 1
            else:
                for kind, drawings in found.items():
                    drawings.append(self._draw(kind, witness))
        return found

    def _draw(self, kind: str, witness: Witness) -> str:
        if kind == "svg":
            return self._svg(witness)
        if kind == "txt":
            return witness.text(self.width)
        return witness.tikz() if kind == "tex" else witness.dot()

    def _svg(self, witness: Witness) -> str:
        if self.svg_engine == "dot":
            from ptxmm.graphs.dot import NoDot

            with contextlib.suppress(NoDot):  # it fails on some graphs: then the other engine draws
                return witness.svg("dot")
        return witness.svg()


class Checker:
    """Checks files with fixed settings; calling it never raises but for a keyboard interrupt."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings

    def prepare(self) -> None:
        """Imports and reads what every test needs. Raises InputError for a model that cannot be taken."""
        from ptxmm.api import model_named

        model_named(self.settings.model, self.settings.options)
        import ptxmm.pipeline  # noqa: F401

    def warm(self) -> None:
        """Checks a small test, so that what is imported and remembered on first use is there before processes fork."""
        from ptxmm import api

        plain = self.settings._replace(drawings=(), timeout=None, explain=False)
        with contextlib.suppress(Exception):  # what fails here fails again where it can be told
            Checker(plain)._decide(api.parse(_SMALL))

    def __call__(self, item: NamedTest) -> Outcome:
        return self._guarded(str(item), lambda: self._check(item))

    def decide(self, path: str, load: Callable[[], Test | KernelTest]) -> Outcome:
        """Likewise, for a test that `load` reads. `path` names it where it cannot be read."""
        return self._guarded(path, lambda: self._decide(load()))

    def _guarded(self, path: str, decided: Callable[[], Outcome]) -> Outcome:
        from axioms.errors import UnsupportedProgram
        from ptxcore.diagnostics import InputError

        start = time.perf_counter()
        try:
            with begun():
                outcome = decided()
        except InputError as error:
            if error.path == "<input>":
                error.path = path
            from ptxmm.words.refusals import of_input

            outcome = self._failure(path, "error", error.render(), of_input(error, path))
        except OSError as error:
            reason = error.strerror or str(error)
            outcome = self._refused(path, Refusal(f"cannot read: {reason}"))
        except UnsupportedProgram as error:
            outcome = self._refused(path, Refusal(str(error)))
        except MemoryError:
            outcome = self._failure(path, "undecided", "out of memory")
        except Exception as error:
            if "keyboard interrupt" in str(error).lower():  # how a solver reports the Ctrl-C that it caught
                raise KeyboardInterrupt from None
            from ptxmm.defects import defect

            outcome = self._refused(path, defect(error, "the test", self._conditions()))
        outcome.result.seconds = time.perf_counter() - start
        return outcome

    def _check(self, item: NamedTest) -> Outcome:
        from ptxmm import api

        test = api.load(item) if isinstance(item, str) else api.load_variant(item)
        if self.settings.questions is not None:
            from litmus.test import Test

            if isinstance(test, Test):
                test = self.settings.questions.asked_of(test)
        return self._decide(test)

    def checked(self, test: Test | KernelTest) -> Result:
        """What checking gives, with its executions as far as these settings want them. Raises as `ptxmm.check` does."""
        from ptxmm import api

        wanted = self.settings

        def check(why: bool) -> Result:
            return api.check(
                test,
                wanted.model,
                unroll=wanted.unroll,
                timeout=wanted.timeout,
                engine=wanted.engine,
                backend=wanted.backend,
                all_registers=wanted.all_registers,
                explain=wanted.explain,
                witnesses=bool(wanted.drawings),
                races=wanted.races,
                why=why,
                checks=wanted.checks,
                progress=wanted.progress,
                resident=wanted.resident,
                options=wanted.options,
                executions=wanted.executions,
            )

        result = check(wanted.why)
        result.bounded_ok = wanted.bounded_ok
        quick = wanted.timeout is None or result.seconds < wanted.timeout / 4
        if wanted.tell and quick and result.verdict == "no" and not (result.passed or result.of_kernel or result.why):
            again = check(True)
            result.why, result.why_edges, result.why_steps = again.why, again.why_edges, again.why_steps
        return result

    def _decide(self, test: Test | KernelTest) -> Outcome:
        wanted, result = self.settings, self.checked(test)
        waiting = [check.witness for check in result.checks if check.witness is not None]
        more = {
            "race": result.race_witnesses,
            "why": [result.why_witness] if result.why_witness else [],
            "wait": waiting,
        }
        pen = _Pen(wanted)
        extra = {what: pen.drawn(found) for what, found in more.items()}
        drawings = pen.drawn(result.executions.witnesses if result.executions else result.witnesses)
        if result.executions:
            from ptxmm.listing import document

            if wanted.documents:
                result.executions.documents = [document(witness) for witness in result.executions.witnesses]
            result.executions.witnesses = []
        result.witnesses, result.race_witnesses, result.why_witness = [], [], None
        for asked in result.checks:
            asked.witness = None
        outcome = Outcome(result, drawings, extra=extra, undrawn=pen.undrawn)
        if wanted.digest:
            outcome = outcome._replace(digest=digest(test), pointers=pointers(test, result.states))
        return outcome

    def _model(self) -> str:
        from axioms.models.naming import said_by

        return said_by(self.settings.model)

    def _refused(self, path: str, refusal: Refusal) -> Outcome:
        return refused(path, self._model(), refusal)

    def _failure(self, path: str, verdict: str, message: str, refusal: Refusal | None = None) -> Outcome:
        model = self._model()
        result = Result(
            path=path, name=stem(path), model=model, verdict=verdict, error=message, refusal=refusal,
            stopped=verdict == "undecided",
        )  # fmt: skip
        return Outcome(result, {})

    def _conditions(self) -> str:
        """What a report of a defect should say of how the test was checked."""
        chosen = self.settings
        return f"model {chosen.model}, engine {chosen.engine}, backend {chosen.backend or 'default'}, unroll {chosen.unroll}"

    def late(self, item: NamedTest, seconds: float) -> Outcome:
        """For a test whose worker had to be stopped at its time limit."""
        from ptxmm.result import out_of_time

        outcome = self._failure(str(item), "undecided", out_of_time(self.settings.timeout))
        outcome.result.seconds = seconds
        return outcome

    def lost(self, item: NamedTest, reason: str) -> Outcome:
        """For a test whose worker died: of itself, or more than once."""
        return self._refused(str(item), Refusal(f"its worker process {reason}; was memory short?"))


def refused(path: str, model: str, refusal: Refusal) -> Outcome:
    """A test that has no answer."""
    from ptxmm.words.refusals import written

    error = written(refusal, path)
    result = Result(path=path, name=stem(path), model=model, verdict="error", error=error, refusal=refusal)
    return Outcome(result, {})


def not_run(path: str, reason: str) -> Outcome:
    """A test of which nothing is known, since it was not run."""
    result = Result(path=path, name=stem(path), model="", verdict="undecided", error=reason)
    return Outcome(result, {}, findings=tuple(findings(result)))


def stem(path: str) -> str:
    """A name for a test that could not be read: its file's, and the variant's."""
    if any(f"{ending}:" in path for ending in ENDINGS):
        return os.path.basename(path)
    return os.path.splitext(os.path.basename(path))[0] or path


def pointers(test: Test | KernelTest, states: list[dict[str, int]]) -> dict[tuple[str, int], str]:
    """What numbers in states point to, by name, in a litmus test that takes addresses."""
    from litmus.test import Test

    if not isinstance(test, Test):
        return {}
    from ptxmm.addresses import names_of_addresses

    names = names_of_addresses(test)
    found = {item: names(*item) for item in dict.fromkeys(item for state in states for item in state.items())}
    return {item: name for item, name in found.items() if name}


def digest(test: Test | KernelTest) -> str:
    """A hash of everything in a test that counts for its verdict: not its name, comments, meta lines or file layout."""
    from dataclasses import replace
    from hashlib import md5

    from litmus.formats.printer import write
    from litmus.test import Test

    if isinstance(test, Test):
        text = write(replace(test, name="test", comments=(), meta=()))
    else:
        text = repr((test.launches, test.parameters, [str(c) for c in test.checks]))
    return md5(text.encode("utf-8", "surrogatepass"), usedforsecurity=False).hexdigest()
