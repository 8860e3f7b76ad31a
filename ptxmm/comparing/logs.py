"""Logs of herd7, of litmus7, and our own (`--format herd`): what they say of each test.

    Test MP Allowed                     Test MP Allowed
    States 3                            Histogram (3 states)
    1:r0=0; [x]=1;                      4994  :>1:r0=0; [x]=1;
    ...                                 ...
    Ok                                  Ok
    Witnesses                           Witnesses
    Positive: 1 Negative: 2             Positive: 12 Negative: 9988
    Condition exists (...)
    Observation MP Sometimes 1 2
    Hash=...

The left one lists what is allowed, the right one what was seen in runs. A test that stands in several blocks of a log has the
states of all of them.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace

from ptxcore.diagnostics import Diagnostic, InputError, Span
from ptxmm.comparing.answers import AnsweredTest, FinalState, FinalValue, absent
from ptxmm.herd_names import legal

#: Bytes of a log: campaigns on hardware write some ten.
LONGEST_LOG = 256 << 20
_TEST = re.compile(r"Test\s+(?P<name>\S+)(?:\s+(?P<kind>\S+))?\s*$")
_STATES = re.compile(r"States\s+(?P<count>\d+)\s*$")
_HISTOGRAM = re.compile(r"Histogram\s+\((?P<count>\d+)\s+states?\)\s*$")
_COUNTED = re.compile(r"\s*\d+\s*[:*]>")
_BINDING = re.compile(r"(?P<place>[^=;]++)=(?P<value>\s*+\{[^}]*+\}\s*+|[^;]*+);")
_NUMBER = re.compile(r"-?(?:0x[0-9a-fA-F]+|\d+)")
_ANSWER = re.compile(r"(?P<loop>Loop\s+)?(?P<answer>Ok|No|Undef|Succeeded|Failed|\?\?)\s*$")
_OBSERVATION = re.compile(r"Observation\s+\S+\s+(?P<what>Never|Sometimes|Always)\b")
_HASH = re.compile(r"Hash=(?P<hash>\S+)")
_KINDS = {
    **dict.fromkeys(("Allow", "Allowed"), "exists"),
    **dict.fromkeys(("Forbid", "Forbidden"), "not exists"),
    **dict.fromkeys(("Require", "Required"), "forall"),
}
_VERDICTS = {"Ok": "ok", "Succeeded": "ok", "No": "no", "Failed": "no", "Undef": "undefined", "??": "undecided"}


class HerdLog:
    """The answers of a log, by the names of the tests, in its order. `path` names it."""

    def __init__(self, path: str, answers: Mapping[str, AnsweredTest]) -> None:
        self.path, self.answers = path, answers

    def of(self, test: str) -> AnsweredTest:
        """What it says of a test: the name as it is, or as logs write names."""
        found = self.answers.get(test) or self.answers.get(legal(test))
        return absent(self.path, test) if found is None else replace(found, test=test)


def read_log(path: str) -> HerdLog:
    """Reads a log. Raises InputError for a file that is none, OSError where it cannot be read."""
    from ptxcore.sources import read_bytes

    try:
        text = read_bytes(path, LONGEST_LOG, "a log").decode("utf-8-sig", errors="replace")
    except ValueError as error:
        raise InputError([Diagnostic(Span(0, 0, 0), str(error))], path) from None
    return parse_log(text, path)


def parse_log(text: str, path: str) -> HerdLog:
    """Likewise, of a text."""
    answers: dict[str, AnsweredTest] = {}
    for answer in _Reader(text, path).answers():
        before = answers.get(answer.test)
        answers[answer.test] = answer if before is None else _joined(before, answer)
    if not answers:
        message = "this is no log of herd7 or litmus7: it has no 'Test NAME' with States or a Histogram"
        raise InputError([Diagnostic(Span(0, 0, 0), message, "a model is one that ships, or a file *.cat")], path)
    return HerdLog(path, answers)


def _joined(one: AnsweredTest, other: AnsweredTest) -> AnsweredTest:
    """Two blocks of one test: runs add up. Where models disagree with themselves nobody knows."""
    states = tuple({tuple(sorted(s.items(), key=str)): s for s in (*one.states, *other.states)}.values())
    verdict = one.verdict if one.verdict == other.verdict else "undecided"
    return replace(one, states=states, verdict=verdict, exact=one.exact and other.exact, runs=one.runs or other.runs)


class _Reader:
    def __init__(self, text: str, path: str) -> None:
        self._lines = text.splitlines()
        self._path = path
        self._at = 0

    def answers(self) -> Iterator[AnsweredTest]:
        while self._at < len(self._lines):
            found = _TEST.match(self._lines[self._at])
            self._at += 1
            if found and (answer := self._block(found["name"], found["kind"])) is not None:
                yield answer

    def _block(self, name: str, kind: str | None) -> AnsweredTest | None:
        """What stands behind the line of a test; None where it has no states: it went wrong there."""
        counted = None
        while self._at < len(self._lines) and not _TEST.match(self._line):
            counted = _STATES.match(self._line) or _HISTOGRAM.match(self._line)
            if counted:
                break
            self._at += 1
        if counted is None:
            return None
        runs = counted.re is _HISTOGRAM
        self._at += 1
        states = [self._state(name) for _ in range(int(counted["count"]))]
        rest = self._rest()
        told = next((m for line in rest if (m := _ANSWER.match(line))), None)
        seen = next((m for line in rest if (m := _OBSERVATION.match(line))), None)
        digest = next((m["hash"] for line in rest if (m := _HASH.match(line))), "")
        cut = bool(told and told["loop"])
        return AnsweredTest(
            of=self._path,
            test=name,
            verdict=_VERDICTS[told["answer"]] if told else "undecided",
            kind=_KINDS.get(kind or ""),
            states=tuple(states),
            exact=not (runs or cut),
            runs=runs,
            observation=seen["what"].lower() if seen else None,
            message="loops were cut" if cut else "",
            digest=digest,
        )

    @property
    def _line(self) -> str:
        return self._lines[self._at]

    def _rest(self) -> list[str]:
        """The lines up to the next test."""
        start = self._at
        while self._at < len(self._lines) and not _TEST.match(self._line):
            self._at += 1
        return self._lines[start : self._at]

    def _state(self, test: str) -> FinalState:
        if self._at >= len(self._lines) or _TEST.match(self._line):
            raise self._wrong(f"the states of {test} end here", "as many lines as are announced have a state each")
        line = self._line
        counted = _COUNTED.match(line)
        bare = line[counted.end() :] if counted else line
        state: dict[str, FinalValue] = {}
        end = 0
        while (found := _BINDING.match(bare, end)) is not None:
            state[_place(found["place"].strip())] = _value(found["value"].strip())
            end = found.end()
        if bare[end:].strip():
            raise self._wrong(f"this is no state of {test}", "as in 1:r0=1; [x]=2;")
        self._at += 1
        return state

    def _wrong(self, message: str, hint: str) -> InputError:
        line = min(self._at, len(self._lines) - 1)
        span = Span(line + 1, 1, len(self._lines[line]) + 1)
        return InputError([Diagnostic(span, message, hint)], self._path, "\n".join(self._lines))


def _place(text: str) -> str:
    """A register or a location, as states of ours name it."""
    inner = text[1:-1] if text.startswith("[") and text.endswith("]") else text
    thread, colon, register = inner.partition(":")
    return f"{thread}:{register.lstrip('%')}" if colon else inner


def _value(text: str) -> FinalValue:
    return int(text, 0) if _NUMBER.fullmatch(text) and not re.fullmatch(r"-?0\d+", text) else text


def is_log(name: str) -> bool:
    """Whether what is named as a model is a log: a file that is no model."""
    return not name.endswith(".cat") and os.path.isfile(name)
