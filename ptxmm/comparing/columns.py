"""What is compared: models, and logs. Each is asked what it says of a test."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from ptxcore.records import NamedTuple
from ptxmm.checker import Checker, Settings, stem
from ptxmm.comparing.answers import AnsweredTest, absent, answer_of
from ptxmm.comparing.logs import HerdLog, is_log, read_log
from ptxmm.kernels.files import NamedTest

if TYPE_CHECKING:
    from litmus.test import Test
    from ptxmm.kernels.test import KernelTest


#: Seconds to see that models are the same for a program: small ones take a thousandth of one.
_GLANCE = 1.0


class Case(NamedTuple):
    """A test that is to be compared: a file (`item`), or a `test` that was read already. Of one that only logs know there is
    neither. `size`: how large it is, where tests come by size."""

    name: str
    item: NamedTest | None = None
    test: Test | KernelTest | None = None
    size: int = 0

    @property
    def path(self) -> str:
        return self.name if self.item is None else str(self.item)

    @property
    def readable(self) -> bool:
        return self.item is not None or self.test is not None

    def load(self) -> Test | KernelTest:
        """The test. A litmus test without a condition asks what may be. Raises InputError and OSError."""
        from litmus.test import Test
        from ptxmm import api

        test = self.test
        if test is None:
            assert self.item is not None
            test = api.load(self.item) if isinstance(self.item, str) else api.load_variant(self.item)
        if isinstance(test, Test):
            return replace(test, condition=replace(test.condition, asked=True), checks=())
        return test


class ComparedRow(NamedTuple):
    """A test, and what each column says of it. `name` is the test's own."""

    case: Case
    name: str
    answers: tuple[AnsweredTest, ...]


class ComparedColumns:
    """Models and logs by the names that were given for them. Calling it gives the row of a case; that never raises but for a
    keyboard interrupt."""

    def __init__(self, names: Sequence[str], settings: Settings) -> None:
        """Reads logs, and models once. Raises InputError for a model or a log that cannot be taken, OSError where one cannot be
        read."""
        self.names = tuple(names)
        self._settings = settings
        self._of: list[Checker | HerdLog] = []
        for name in names:
            column = read_log(name) if is_log(name) else Checker(settings._replace(model=name))
            if isinstance(column, Checker):
                column.prepare()
            self._of.append(column)

    @property
    def models(self) -> list[str]:
        return [name for name, column in zip(self.names, self._of, strict=True) if isinstance(column, Checker)]

    def only(self, names: Iterable[str]) -> ComparedColumns:
        """Some of them."""
        wanted, fewer = set(names), ComparedColumns((), self._settings)
        kept = [(name, column) for name, column in self._paired() if name in wanted]
        fewer.names, fewer._of = tuple(name for name, _ in kept), [column for _, column in kept]
        return fewer

    def logged(self) -> list[Case]:
        """The tests of the logs, each once, in their order."""
        logs = [column for column in self._of if isinstance(column, HerdLog)]
        return [Case(name) for name in dict.fromkeys(name for log in logs for name in log.answers)]

    def warm(self) -> None:
        """Before processes fork: see `Checker.warm`."""
        for column in self._of:
            if isinstance(column, Checker):
                column.warm()
                return

    def __call__(self, case: Case) -> ComparedRow:
        name = case.name
        if case.readable:
            test = _read(case)
            name = test.name if test is not None else stem(case.path)
        return ComparedRow(case, name, tuple(self._answer(column, of, case, name) for of, column in self._paired()))

    def alike(self, case: Case) -> bool:
        """Whether the models certainly say the same of a litmus test: then nobody need decide it. They differ in what its
        program has nothing of. Where that takes long to see, nobody knows."""
        from axioms.errors import UnsupportedProgram
        from axioms.models.naming import named
        from axioms.models.options import of_programs
        from axioms.witness.alike import alike
        from litmus.test import Test
        from ptxcore.clock import OutOfTime, limited
        from ptxcore.diagnostics import InputError
        from ptxmm.api import model_named
        from ptxmm.pipeline import build

        test = _read(case)
        if len(self.models) < len(self.names) or not isinstance(test, Test):
            return False
        options = {name: of_programs(named(name).options) for name in self.names}
        try:
            with limited(_GLANCE):
                built = {o: build(test, self._settings.unroll, options=o) for o in dict.fromkeys(options.values())}
                asked = [(built[options[name]], model_named(name)) for name in self.names]
                return alike(asked, races=self._settings.races)
        except (InputError, UnsupportedProgram, OutOfTime):
            return False  # each model says so

    def _paired(self) -> Iterator[tuple[str, Checker | HerdLog]]:
        yield from zip(self.names, self._of, strict=True)

    def _answer(self, column: Checker | HerdLog, of: str, case: Case, name: str) -> AnsweredTest:
        if isinstance(column, HerdLog):
            return column.of(name)
        if not case.readable:
            return absent(of, name)
        outcome = column.decide(case.path, case.load)
        answer = answer_of(outcome.result, of)
        if outcome.pointers:
            pointed = outcome.pointers
            named = tuple({k: pointed.get((k, v), v) for k, v in state.items()} for state in outcome.result.states)
            answer = replace(answer, states=named)
        return answer

    def late(self, case: Case, seconds: float) -> ComparedRow:
        """For a test whose worker had to be stopped."""
        from ptxmm.result import out_of_time

        return self._unanswered(case, "undecided", out_of_time(self._settings.timeout))

    def lost(self, case: Case, reason: str) -> ComparedRow:
        """For a test whose worker died."""
        return self._unanswered(case, "error", f"its worker process {reason}; was memory short?")

    def _unanswered(self, case: Case, verdict: str, message: str) -> ComparedRow:
        answers = [
            column.of(case.name)
            if isinstance(column, HerdLog)
            else AnsweredTest(of=of, test=case.name, verdict=verdict, exact=False, message=message)
            for of, column in self._paired()
        ]
        return ComparedRow(case, case.name, tuple(answers))


def _read(case: Case) -> Test | KernelTest | None:
    from ptxcore.diagnostics import InputError

    try:
        return case.load()
    except (InputError, OSError):
        return None  # each model says what is wrong with it
