"""The results of a campaign as the cache of `ptxmm check`: a litmus test is not decided where its answer is known, and what is
decided is kept. Kernel tests are decided every time: what they hang on lies in more files than one."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Sequence
from contextlib import closing

from litmus.formats.files import LONGEST_TEST
from ptxcore.sources import STANDARD_INPUT, read_bytes
from ptxmm import api
from ptxmm.campaigns.database import CannotWrite, Database, DatabaseError, ResultRow
from ptxmm.campaigns.deciding import Entry, Texts, row_of
from ptxmm.campaigns.identity import question
from ptxmm.campaigns.values import NoText, read
from ptxmm.checker import Outcome, Settings
from ptxmm.kernels.files import NamedTest, Variant, of_kernels
from ptxmm.words import notes

_SECONDS = 0.5  # between two transactions


class Cache:
    """A database, and what one command asks. `checker` decides tests as they were when they were looked up. `note` says why
    nothing is kept, where the database can only be read."""

    def __init__(self, path: str, settings: Settings) -> None:
        """Raises DatabaseError, and InputError for a model that cannot be taken."""
        model = api.model_named(settings.model, settings.options)
        self.checker = Texts(settings, model)
        self._settings, self._question = settings, question(settings, model)
        self._identity = self._question.identity
        self.note = ""
        self._database = self._opened(path)
        self._rows: list[ResultRow] = []
        self._written = time.monotonic()

    def _opened(self, path: str) -> Database:
        try:
            database = Database(path, writes=True)
            try:
                database.note(self._question)
            except BaseException:
                database.close()
                raise
            return database
        except CannotWrite as error:
            try:
                database = Database(path, writes=False)
            except DatabaseError:
                raise error from None
            self.note = notes.only_read(error)
            return database

    def __enter__(self) -> Cache:
        return self

    def __exit__(self, *error: object) -> None:
        try:
            self._write()
        finally:
            self._database.close()

    def outcomes(
        self, items: Sequence[NamedTest], decide: Callable[[list[NamedTest]], Generator[Outcome, None, None]]
    ) -> Generator[Outcome, None, None]:
        """The outcomes of some tests in order: those that are known, and what `decide` gives for the others. Raises
        DatabaseError."""
        entries = [_entry(item) for item in items]
        known = [None if entry is None else self._known(entry) for entry in entries]
        left = [item if e is None else e for item, e, k in zip(items, entries, known, strict=True) if k is None]
        with closing(decide(left)) as decided:  # type: ignore[arg-type]
            for entry, outcome in zip(entries, known, strict=True):
                if outcome is None:
                    outcome = next(decided)
                    if entry is not None:
                        self._keep(entry, outcome)
                yield outcome

    def _known(self, entry: Entry) -> Outcome | None:
        row = self._database.result(entry.identity, self._identity)
        if row is None or row.outcome is None or not row.answers(self._settings.timeout):
            return None
        try:
            outcome = read(row.outcome)
        except NoText:
            return None
        if outcome.result.path != str(entry):  # reports tell places in it
            return None
        outcome.result.seconds, outcome.result.bounded_ok = row.seconds, self._settings.bounded_ok
        return outcome

    def _keep(self, entry: Entry, outcome: Outcome) -> None:
        if self.note:
            return
        self._rows.append(row_of(entry, self._question, self._identity, outcome, self._settings.timeout))
        if time.monotonic() - self._written > _SECONDS:
            self._write()

    def _write(self) -> None:
        rows, self._rows = self._rows, []
        if rows:
            self._database.add(rows)
        self._written = time.monotonic()


def _entry(item: NamedTest) -> Entry | None:
    """A litmus test in a file; None for what is decided every time."""
    if not isinstance(item, str | Variant):
        return None
    path, instance = (item, "") if isinstance(item, str) else item
    if of_kernels(path) or path == STANDARD_INPUT:
        return None
    try:
        return Entry(path, read_bytes(path, LONGEST_TEST, "a litmus test"), instance)
    except OSError:  # deciding tells
        return None
