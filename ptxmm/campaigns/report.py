"""What a campaign amounts to, as values: who writes it down does not look at the database."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from ptxcore.records import NamedTuple
from ptxmm.campaigns.database import Database, ResultRow
from ptxmm.result import VERDICTS

NO_EXECUTION = "no execution"
#: What is told of an answer that is not there, and behind one that a bound or the end of the time may have cut short.
NOT_YET, SO_FAR = "not yet", " so far"
_OBSERVATIONS = ("never", "sometimes", "always", f"never{SO_FAR}", f"always{SO_FAR}", NO_EXECUTION)
#: Words that leave open what the answer is.
_OPEN = frozenset({NOT_YET, "error", "undecided", "bounded", f"never{SO_FAR}", f"always{SO_FAR}"})


class ReportColumn(NamedTuple):
    """One question: a model, and how it is asked. `name` tells it from the other columns."""

    name: str
    model: str
    options: str
    version: str


class ReportLine(NamedTuple):
    """A test, and for each column its result, None where there is none yet. `problem`: what is wrong with its path."""

    path: str
    name: str
    rows: tuple[ResultRow | None, ...]
    problem: str = ""

    @property
    def words(self) -> tuple[str, ...]:
        """What each column says."""
        return tuple(map(word_of, self.rows))

    @property
    def differs(self) -> str:
        """In what columns differ: `answer` where they say other things; `states` where the outcomes that they allow are other
        ones, and the answer is the same; empty where they do not, as far as is known."""
        if len(set(self.words) - _OPEN) > 1:
            return "answer"
        states = {row.states for row in self.rows if row is not None and row.whole}
        return "states" if len(states) > 1 else ""


class Slow(NamedTuple):
    """A result that took long."""

    line: ReportLine
    column: ReportColumn
    row: ResultRow


class Summary:
    """The last command of a database."""

    def __init__(
        self, path: str, command: str, ended: bool, columns: Sequence[ReportColumn], lines: Sequence[ReportLine]
    ) -> None:
        self.path, self.command, self.ended = path, command, ended
        self.columns, self.lines = columns, lines

    @property
    def problems(self) -> list[ReportLine]:
        return [line for line in self.lines if line.problem]

    @property
    def asked(self) -> int:
        """How many answers there are to be."""
        return len(self.columns) * (len(self.lines) - len(self.problems))

    @property
    def rows(self) -> list[ResultRow]:
        return [row for line in self.lines for row in line.rows if row is not None]

    @property
    def seconds(self) -> float:
        """What deciding took, of all processes together. Tests with the same text were decided once."""
        return sum({(row.test_hash, row.question): row.seconds for row in self.rows}.values())

    def verdicts(self) -> list[tuple[str, list[int]]]:
        """For each verdict that occurs how often, column by column."""
        return _counted([NOT_YET, *VERDICTS], self._each(lambda row: NOT_YET if row is None else row.verdict))

    def observations(self) -> list[tuple[str, list[int]]]:
        """Likewise, of what the condition asks for."""
        return _counted(_OBSERVATIONS, self._each(lambda row: "" if row is None else observed(row)))

    def _each(self, word: object) -> list[Counter[str]]:
        lines = [line for line in self.lines if not line.problem]
        return [Counter(word(line.rows[i]) for line in lines) for i in range(len(self.columns))]  # type: ignore[operator]

    def patterns(self) -> list[tuple[tuple[str, ...], int]]:
        """What the columns say together, and of how many tests, the most frequent first."""
        found = Counter(line.words for line in self.lines if not line.problem)
        return sorted(found.items(), key=lambda item: (-item[1], item[0]))

    def differing(self) -> list[ReportLine]:
        """The tests on which columns differ, those that differ in their answers first."""
        found = [(line.differs, line) for line in self.lines if not line.problem]
        return [line for how in ("answer", "states") for differs, line in found if differs == how]

    def slowest(self, count: int) -> list[Slow]:
        found = [
            Slow(line, column, row)
            for line in self.lines
            for column, row in zip(self.columns, line.rows, strict=False)
            if row is not None
        ]
        return sorted(found, key=lambda slow: (-slow.row.seconds, slow.line.path, slow.column.name))[:count]

    def unanswered(self) -> list[tuple[ReportLine, ReportColumn, ResultRow]]:
        """The results without a whole answer, and those of which more is to be told."""
        return [
            (line, column, row)
            for line in self.lines
            for column, row in zip(self.columns, line.rows, strict=False)
            if row is not None and (row.verdict in ("error", "undecided", "bounded") or row.error)
        ]


def word_of(row: ResultRow | None) -> str:
    """A result in a few words: what was observed, where there is a plain verdict; else the verdict."""
    if row is None:
        return NOT_YET
    plain = row.verdict in ("ok", "no") and row.observation is not None
    return observed(row) if plain else row.verdict


def reason(row: ResultRow) -> str:
    """Why it is no whole answer, or what else is to be told, in a line."""
    if row.verdict == "bounded" and not row.error:
        return "holds within the bounds of loops, which cut executions off"
    return (row.error or "").split("\n")[0]


def observed(row: ResultRow) -> str:
    """How often the condition is satisfied. `sometimes` is known once one execution satisfies it, and another does not; the
    others only when all were looked at."""
    if row.observation is None or row.verdict in ("error", "undefined"):
        return ""
    if not row.positive + row.negative:
        return NO_EXECUTION
    return row.observation + SO_FAR * (not row.whole and row.observation != "sometimes")


def _counted(words: Sequence[str], each: Sequence[Counter[str]]) -> list[tuple[str, list[int]]]:
    return [(word, [count[word] for count in each]) for word in words if any(count[word] for count in each)]


def summary(database: Database) -> Summary:
    """What the last command came to. Results that were changed since count as not there. Raises DatabaseError."""
    asked = database.asked()
    command, ended = database.command()
    names = Counter(model for _, model, _, _ in asked)
    columns = [ReportColumn(m if names[m] == 1 else f"{m} {o}".strip(), m, o, v) for _, m, o, v in asked]
    there: dict[tuple[str, str], ResultRow] = {}
    for row in database.results():
        if row.intact:
            there[row.test_hash, row.question] = row._replace(test="", outcome=None)
    lines = []
    for path, test, problem in database.tests():
        rows = () if problem else tuple(there.get((test, question)) for question, *_ in asked)
        name = next((row.name for row in rows if row is not None), path)
        lines.append(ReportLine(path, name, rows, problem))
    return Summary(database.path, command, ended, columns, lines)
