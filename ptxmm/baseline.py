"""Known findings: a file that a gate compares with, so that only what is new fails.

    {"ptxmm-baseline": 1, "findings": [{"test": "lock.toml:weak", "kind": "forall", "place": "...", "count": 1, ...}]}

A finding is known by its test (its path seen from the folder of the file), its kind and its place; lines and columns do
not count, so that unrelated edits leave it known. Where one place has more findings than are known, the others are new.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from ptxcore.sources import read_bytes
from ptxmm.findings import Finding
from ptxmm.writing import write_whole

_VERSION = 1
_LONGEST = 64 << 20  # bytes of a file
FindingKey = tuple[str, str, str]


class BaselineError(ValueError):
    """A file that is no baseline, in words."""


class Baseline:
    """The known findings of one file."""

    def __init__(self, path: str, known: Counter[FindingKey] | None = None) -> None:
        self._folder = os.path.dirname(os.path.abspath(path))
        self._known = known or Counter()
        self._left = Counter(self._known)
        self._checked: set[str] = set()

    @classmethod
    def read(cls, path: str) -> Baseline:
        """Raises OSError where the file cannot be read, BaselineError where it is none."""
        data = read_bytes(path, _LONGEST, "a baseline")
        try:
            document = json.loads(data.decode("utf-8-sig"))
        except (ValueError, RecursionError) as error:
            raise BaselineError(f"{path}: no baseline: {error}") from None
        if not isinstance(document, dict) or document.get("ptxmm-baseline") != _VERSION:
            raise BaselineError(f'{path}: no baseline: "ptxmm-baseline": {_VERSION} is missing')
        known: Counter[FindingKey] = Counter()
        entries = document.get("findings")
        for entry in entries if isinstance(entries, list) else [{}]:
            known[_entry_key(path, entry)] += entry["count"]
        return cls(path, known)

    def key(self, finding: Finding) -> FindingKey:
        path = os.path.relpath(os.path.abspath(finding.test), self._folder)
        return path.replace(os.sep, "/"), finding.kind, finding.place

    def marked(self, test: str, found: Iterable[Finding]) -> list[Finding]:
        """The findings of a test, those that are known marked as such. To be asked once for each test."""
        self._checked.add(self._name(test))
        return [replace(finding, known=self._accepts(finding)) for finding in found]

    def _accepts(self, finding: Finding) -> bool:
        key = self.key(finding)
        if not finding.may_be_known or self._left[key] <= 0:
            return False
        self._left[key] -= 1
        return True

    def _name(self, test: str) -> str:
        return os.path.relpath(os.path.abspath(test), self._folder).replace(os.sep, "/")

    def vanished(self) -> list[FindingKey]:
        """What is known but was not found: in tests that were checked, and in files that are no more."""
        gone = []
        for key, count in sorted(self._left.items()):
            if count > 0 and (key[0] in self._checked or not self._is_there(key[0])):
                gone.append(key)
        return gone

    def _is_there(self, test: str) -> bool:
        path = os.path.join(self._folder, test)
        return os.path.exists(path) or os.path.exists(path.rpartition(":")[0])


def _entry_key(path: str, entry: Any) -> FindingKey:
    fields = entry if isinstance(entry, dict) else {}
    test, kind, place, count = (fields.get(key) for key in ("test", "kind", "place", "count"))
    if isinstance(test, str) and isinstance(kind, str) and isinstance(place, str) and type(count) is int:
        return test, kind, place
    raise BaselineError(f"{path}: no baseline: each finding has a test, a kind, a place and a count")


def write(path: str, found: Iterable[Finding]) -> int:
    """Writes a baseline that knows these findings; gives their number. Raises OSError."""
    baseline = Baseline(path)
    counts: Counter[FindingKey] = Counter()
    messages: dict[FindingKey, str] = {}
    for finding in found:
        if finding.may_be_known:
            key = baseline.key(finding)
            counts[key] += 1
            messages.setdefault(key, finding.message)
    entries = [
        {
            "test": test,
            "kind": kind,
            "place": place,
            "count": counts[test, kind, place],
            "message": messages[test, kind, place],
        }
        for test, kind, place in sorted(counts)
    ]
    write_whole(path, json.dumps({"ptxmm-baseline": _VERSION, "findings": entries}, indent=1) + "\n")
    return sum(counts.values())
