"""The database of a campaign: one SQLite file on a local disk, one writer.

    tests      the tests of the last command, by their place in it
    asked      its questions: the columns of a report
    questions  what was ever asked: a model with its texts, options, who answered
    results    the answers: one for each test text and question

Each transaction is a batch of results. What is in the file after a kill, or after the power failed, are whole batches, and the
journal that SQLite finds beside it takes back what was half written. Each result has a seal: one that a disk or an editor has
changed counts as not there.
"""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
import time
from collections.abc import Iterable, Iterator
from typing import Any

from ptxcore.records import NamedTuple
from ptxmm.campaigns.holders import holders
from ptxmm.campaigns.identity import CampaignQuestion, hash_of

#: How the format is numbered, and how a file says that it is one of ours ("ptxm").
SCHEMA, _OURS = 1, 0x7074786D
_PAGE = 16384  # bytes: a row lies in one page
_PATIENCE = 10.0  # seconds that a reader waits for a transaction to end
_WRITERS_PATIENCE = 60.0  # seconds that a writer waits for those who read
_AT_ONCE = 4096  # rows that are read without giving a writer its turn
#: What a result says that hangs on what else the machine did.
_SHORT_OF_MEMORY = "out of memory"
_HANDOVER = 2.0  # seconds that a writer waits for one that is about to end

_TABLES = """
CREATE TABLE questions(
  question TEXT PRIMARY KEY, model TEXT NOT NULL, options TEXT NOT NULL, version TEXT NOT NULL, texts TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE asked(place INTEGER PRIMARY KEY, question TEXT NOT NULL);
CREATE TABLE tests(place INTEGER PRIMARY KEY, path TEXT NOT NULL, test_hash TEXT NOT NULL, problem TEXT NOT NULL);
CREATE TABLE command(words TEXT NOT NULL, ended INTEGER NOT NULL);
CREATE TABLE results(
  test_hash TEXT NOT NULL, question TEXT NOT NULL,
  name TEXT NOT NULL, path TEXT NOT NULL, test TEXT NOT NULL, model TEXT NOT NULL, options TEXT NOT NULL,
  version TEXT NOT NULL, verdict TEXT NOT NULL, kind TEXT, observation TEXT, states TEXT NOT NULL,
  positive INTEGER NOT NULL, negative INTEGER NOT NULL, whole INTEGER NOT NULL, timeout REAL, error TEXT,
  outcome TEXT, seal TEXT NOT NULL, seconds REAL NOT NULL, decided TEXT NOT NULL,
  PRIMARY KEY(test_hash, question)
) WITHOUT ROWID;
"""


class DatabaseError(Exception):
    """What is wrong with a database, in a line."""


class CannotWrite(DatabaseError):
    """It cannot be written now, or by this user; it may well be read."""


def storable(text: str) -> str:
    """A text as a database can have it: names of files may have bytes that spell nothing."""
    return text.encode("utf-8", "backslashreplace").decode()


class ResultRow(NamedTuple):
    """One result, as the table has it. `states` are JSON; `whole`: nothing of it hangs on the `timeout` that there was;
    `outcome`: see `values`, None where there is no text of it."""

    test_hash: str
    question: str
    name: str
    path: str
    test: str
    model: str
    options: str
    version: str
    verdict: str
    kind: str | None
    observation: str | None
    states: str
    positive: int
    negative: int
    whole: int
    timeout: float | None
    error: str | None
    outcome: str | None
    seal: str
    seconds: float
    decided: str

    def sealed(self) -> ResultRow:
        """Ready to be stored."""
        found = ResultRow._make(storable(value) if isinstance(value, str) else value for value in self)
        return found._replace(seal=found._seal())

    def _seal(self) -> str:
        return hash_of(*map(repr, self[: ResultRow._fields.index("seal")]))

    @property
    def intact(self) -> bool:
        return self.seal == self._seal()

    def answers(self, timeout: float | None, retry: str = "error") -> bool:
        """Whether it is the answer also to somebody who gives so many seconds. `retry`, one of the package's
        `RETRIES`, says what is looked at again: `error` what is wrong with a test, or went wrong here, and what more time than
        there was could decide; `undecided` besides what no time limit explains; `none` nothing."""
        if not self.intact:
            return False
        if retry == "none":
            return True
        if self.verdict == "error" or self.error == _SHORT_OF_MEMORY:
            return False
        if retry == "undecided" and self.verdict == "undecided":
            return False
        if self.whole or self.timeout is None:
            return True
        return timeout is not None and timeout <= self.timeout


_COLUMNS = ", ".join(ResultRow._fields)
_MARKS = ", ".join("?" * len(ResultRow._fields))


class Database:
    """One database, open. What SQLite finds wrong is raised as DatabaseError."""

    def __init__(self, path: str, *, writes: bool) -> None:
        self.path, self._lock = path, -1
        if not writes and not os.path.exists(path):
            raise DatabaseError(f"{path}: error: there is no such file: a campaign makes it")
        if os.path.exists(path) and not os.path.isfile(path):
            raise DatabaseError(f"{path}: error: this is no regular file, as a database is")
        if writes:
            self._take_lock()
        try:
            with self._explained():
                patience = _WRITERS_PATIENCE if writes else _PATIENCE
                self._connection = sqlite3.connect(os.path.abspath(path), timeout=patience, isolation_level=None)
                try:
                    self._prepare(writes)
                except BaseException:
                    self._connection.close()
                    raise
        except BaseException:
            self._free_lock()
            raise

    def __enter__(self) -> Database:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        self._connection.close()
        self._free_lock()

    def _prepare(self, writes: bool) -> None:
        do = self._connection.execute
        ours, schema = do("PRAGMA application_id").fetchone()[0], do("PRAGMA user_version").fetchone()[0]
        tables = do("SELECT count(*) FROM sqlite_master").fetchone()[0]
        if not tables and not ours and writes:
            do("PRAGMA journal_mode = DELETE")
            do(f"PRAGMA page_size = {_PAGE}")
            with self.transaction():
                for statement in _TABLES.split(";\n"):
                    do(statement)
                do(f"PRAGMA application_id = {_OURS}")
                do(f"PRAGMA user_version = {SCHEMA}")
            return
        if ours != _OURS:
            raise DatabaseError(f"{self.path}: error: this is not the database of a campaign")
        if schema != SCHEMA:
            raise DatabaseError(
                f"{self.path}: error: its format has number {schema}, and this version of ptxmm knows number {SCHEMA}: "
                "use another file"
            )
        if writes:
            problem = do("PRAGMA quick_check(1)").fetchone()[0]
            if problem != "ok":
                raise sqlite3.DatabaseError(problem)

    # One writer.

    def _take_lock(self) -> None:
        """Raises DatabaseError where another process writes. The lock is that of the open file: it ends with this process,
        however that ends, and children of it do not have it."""
        try:
            import fcntl
        except ImportError:  # then SQLite's own lock, which is taken for each batch, has to do
            return
        try:
            self._lock = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        except OSError as error:
            raise CannotWrite(f"{self.path}: error: cannot be opened for writing: {error.strerror}") from None
        until = time.monotonic() + _HANDOVER
        while True:
            try:
                fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except OSError:
                if time.monotonic() > until:
                    who = _who(self.path)
                    self._free_lock()
                    raise CannotWrite(
                        f"{self.path}: error: another campaign, or check --cache, writes to it{who}: wait for its end, or use "
                        "another file"
                    ) from None
                time.sleep(0.05)
        os.register_at_fork(after_in_child=self._free_lock)

    def _free_lock(self) -> None:
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1

    @contextlib.contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.OperationalError as error:
            kind = CannotWrite if _name(error).startswith(_NOT_NOW) else DatabaseError
            raise kind(f"{self.path}: error: {_what_to_do(self.path, error)}") from None
        except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
            raise DatabaseError(
                f"{self.path}: error: the file is damaged, or no database ({error}): DATABASE stands before the tests, and "
                "what a damaged one had must be decided again, into another file"
            ) from None

    @contextlib.contextmanager
    def transaction(self) -> Iterator[None]:
        """All of what is written inside, or nothing."""
        with self._explained():
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._connection.execute("COMMIT")
            except BaseException:
                with contextlib.suppress(sqlite3.Error):  # a full disk has rolled back by itself
                    self._connection.execute("ROLLBACK")
                raise

    def _all(self, statement: str, *values: Any) -> list[Any]:
        with self._explained():
            return self._connection.execute(statement, values).fetchall()

    # What a command asks.

    def begin(self, command: str, questions: Iterable[CampaignQuestion]) -> None:
        """A command begins, or goes on: what it asks, and nothing of its tests unless it was the last one."""
        known = self._all("SELECT words FROM command")
        with self.transaction():
            do = self._connection.execute
            if known != [(storable(command),)]:
                do("DELETE FROM tests")
            do("DELETE FROM command")
            do("INSERT INTO command VALUES(?, 0)", (storable(command),))
            do("DELETE FROM asked")
            for place, asked in enumerate(questions):
                do("INSERT INTO asked VALUES(?, ?)", (place, asked.identity))
                self._note(asked)

    def _note(self, asked: CampaignQuestion) -> None:
        self._connection.execute(
            "INSERT OR IGNORE INTO questions VALUES(?, ?, ?, ?, ?)",
            (asked.identity, asked.model, asked.options, asked.version, json.dumps(asked.texts)),
        )

    def end(self, count: int) -> None:
        """The command came to its end, with so many tests."""
        with self.transaction():
            self._connection.execute("DELETE FROM tests WHERE place >= ?", (count,))
            self._connection.execute("UPDATE command SET ended = 1")

    def add(self, rows: Iterable[ResultRow], tests: Iterable[tuple[int, str, str, str]] = ()) -> None:
        """Writes results, and which tests there are: place, path, identity, what is wrong with the path. One transaction."""
        tests = [(place, storable(path), name, storable(problem)) for place, path, name, problem in tests]
        with self.transaction():
            self._connection.executemany("INSERT OR REPLACE INTO tests VALUES(?, ?, ?, ?)", tests)
            self._connection.executemany(f"INSERT OR REPLACE INTO results({_COLUMNS}) VALUES({_MARKS})", rows)

    def note(self, asked: CampaignQuestion) -> None:
        """A question that results of this run answer."""
        with self.transaction():
            self._note(asked)

    def result(self, test_hash: str, question: str) -> ResultRow | None:
        found = self._all(f"SELECT {_COLUMNS} FROM results WHERE test_hash = ? AND question = ?", test_hash, question)
        return ResultRow(*found[0]) if found else None

    # What a report asks.

    def asked(self) -> list[tuple[str, str, str, str]]:
        """The questions of the last command: identity, model, options, version."""
        return self._all(
            "SELECT question, model, options, version FROM asked JOIN questions USING(question) ORDER BY place"
        )

    def command(self) -> tuple[str, bool]:
        """The last command, and whether it came to its end."""
        found = self._all("SELECT words, ended FROM command")
        return (found[0][0], bool(found[0][1])) if found else ("", False)

    def tests(self) -> list[tuple[str, str, str]]:
        """The tests of the last command, in order: path, identity, what is wrong with the path."""
        return self._all("SELECT path, test_hash, problem FROM tests ORDER BY place")

    def results(self) -> Iterator[ResultRow]:
        """The results of the last command, in no order that says anything. Who writes gets a turn in between."""
        last = ("", "")
        while True:
            found = self._all(
                f"SELECT {_COLUMNS} FROM results WHERE (test_hash, question) > (?, ?) "
                "AND question IN (SELECT question FROM asked) AND test_hash IN (SELECT test_hash FROM tests) "
                f"ORDER BY test_hash, question LIMIT {_AT_ONCE}",
                *last,
            )
            yield from map(ResultRow._make, found)
            if len(found) < _AT_ONCE:
                return
            last = found[-1][:2]


#: Errors after which a database may still be read.
_NOT_NOW = ("SQLITE_BUSY", "SQLITE_READONLY", "SQLITE_CANTOPEN")
#: What an error of SQLite is about, by the beginning of its name, and what to do.
_ERRORS = {
    "SQLITE_BUSY": "another program holds the file{who}: wait for its end, or end it, and ask again",
    "SQLITE_READONLY_DBMOVED": "the file was moved or deleted meanwhile; what came in before is in it",
    "SQLITE_READONLY": "the file, or its folder, where SQLite keeps a journal, cannot be written ({error})",
    "SQLITE_CANTOPEN": "the file, or the journal beside it, cannot be opened: may this user write to its folder? ({error})",
    "SQLITE_IOERR_DELETE": "the journal beside it cannot be removed: may this user write to its folder? ({error})",
    "SQLITE_FULL": "the disk is full: what came in before is there, and with more room the same command goes on",
    "SQLITE_IOERR": "the disk, or a limit on sizes of files, stands in the way ({error}): what came in before is there",
}


def _name(error: sqlite3.Error) -> str:
    return getattr(error, "sqlite_errorname", "")


def _what_to_do(path: str, error: sqlite3.Error) -> str:
    text = next((text for start, text in _ERRORS.items() if _name(error).startswith(start)), "{error}")
    return text.format(who=_who(path), error=error)


def _who(path: str) -> str:
    found = holders(path)
    return f" ({', '.join(found)})" if found else ""
