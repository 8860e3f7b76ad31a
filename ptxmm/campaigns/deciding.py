"""One test under one model, decided: what a worker does. It gives a row for the table, whatever happens."""

from __future__ import annotations

import copy
import datetime
import functools
import json
from typing import TYPE_CHECKING

from litmus.formats import read
from ptxcore.records import NamedTuple
from ptxmm import api
from ptxmm.campaigns.database import ResultRow
from ptxmm.campaigns.identity import CampaignQuestion, hash_of, question
from ptxmm.campaigns.values import NoText, written
from ptxmm.checker import Checker, Outcome, Settings
from ptxmm.findings import Finding
from ptxmm.kernels.files import may_be_template

if TYPE_CHECKING:
    from axioms.cat.model import Model
    from litmus.test import Test
    from ptxmm.result import Result


_TEMPLATE = "template"


class Entry(NamedTuple):
    """A test as it is written, `data` in a file named `path`; `instance`: the number of it where that is a template."""

    path: str
    data: bytes
    instance: str = ""

    def __str__(self) -> str:
        return f"{self.path}:{self.instance}" if self.instance else self.path

    @property
    def identity(self) -> str:
        """A hash of what it is read from. That is its text, but for files whose name says how they are read."""
        return hash_of(self.data, _TEMPLATE, self.instance) if may_be_template(self.path) else hash_of(self.data)


class AskedTest(NamedTuple):
    """One test, and the number of the question that is asked of it."""

    entry: Entry
    number: int


class Texts(Checker):
    """Checks tests as they were when they were looked up (`Entry`), and others, under a model as it was at the beginning."""

    def __init__(self, settings: Settings, model: Model) -> None:
        super().__init__(settings)
        self.model = model

    def __getstate__(self) -> dict[str, object]:
        model = copy.copy(self.model)
        model.special = {}  # each process finds that for itself
        return {"settings": self.settings, "model": model}

    def _check(self, item: object) -> Outcome:
        api.remember(self.settings.model, self.settings.options, self.model)
        return self._decide(_test_of(item)) if isinstance(item, Entry) else super()._check(item)  # type: ignore[arg-type]


@functools.lru_cache(maxsize=4)
def _test_of(entry: Entry) -> Test:
    """The test of an entry: a worker is often asked for it under one model after another."""
    return read(entry.data, entry.path, entry.instance)


class Decider:
    """Decides tests under each of some models. It can be sent to other processes, and to other machines."""

    def __init__(self, settings: list[Settings]) -> None:
        """Reads the models. Raises InputError for one that cannot be taken."""
        self.settings = settings
        self._checkers = [Texts(s, api.model_named(s.model, s.options)) for s in settings]
        self.questions: list[CampaignQuestion] = [question(c.settings, c.model) for c in self._checkers]
        self.identities = [q.identity for q in self.questions]

    def warm(self) -> None:
        """Before processes fork: see `Checker.warm`."""
        self._checkers[0].warm()

    def __call__(self, asked: AskedTest) -> ResultRow:
        checker = self._checkers[asked.number]
        return self._row(asked, checker(asked.entry))  # type: ignore[arg-type]

    def late(self, asked: AskedTest, seconds: float) -> ResultRow:
        """For a test whose worker had to be stopped."""
        return self._row(asked, self._checkers[asked.number].late(asked.entry, seconds))  # type: ignore[arg-type]

    def lost(self, asked: AskedTest, reason: str) -> ResultRow:
        """For a test whose worker died."""
        return self._row(asked, self._checkers[asked.number].lost(asked.entry, reason))  # type: ignore[arg-type]

    def _row(self, asked: AskedTest, outcome: Outcome) -> ResultRow:
        number = asked.number
        return row_of(
            asked.entry, self.questions[number], self.identities[number], outcome, self.settings[number].timeout
        )


def row_of(entry: Entry, asked: CampaignQuestion, identity: str, outcome: Outcome, timeout: float | None) -> ResultRow:
    """A result as a row. What differs from one run to the next, and hangs on nothing, is not in it but for two columns."""
    result = outcome.result
    seconds, accepted = result.seconds, result.bounded_ok
    result.seconds, result.bounded_ok = 0.0, False
    try:
        text: str | None = written(outcome._replace(findings=_NO_FINDINGS))
    except NoText:
        text = None
    result.seconds, result.bounded_ok = seconds, accepted
    return ResultRow(
        test_hash=entry.identity,
        question=identity,
        name=result.name,
        path=str(entry),
        test=entry.data.decode("utf-8", "backslashreplace"),
        model=asked.model,
        options=asked.options,
        version=asked.version,
        verdict=result.verdict,
        kind=result.kind,
        observation=result.observation,
        states=json.dumps(result.states),
        positive=result.positive,
        negative=result.negative,
        whole=int(_is_whole(result)),
        timeout=timeout,
        error=result.error,
        outcome=text,
        seal="",
        seconds=round(seconds, 6),
        decided=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
    ).sealed()


def _is_whole(result: Result) -> bool:
    """Whether more time could add nothing to it: there was enough to look at everything, and to list all that was asked for."""
    settled = all(check.holds is not None for check in result.checks) and result.verdict not in ("undecided", "error")
    listed = result.listed_all and (result.executions is None or result.executions.listed_all)
    return settled and listed and result.complete and not result.stopped


_NO_FINDINGS: tuple[Finding, ...] = ()
