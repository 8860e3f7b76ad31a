"""How long campaigns are: as long as they say, or one part in so many, as CI runs them.

pytest -m campaign                      # hours
PTXMM_SHARE=200 pytest -m campaign      # minutes, and the same ones each time
PTXMM_LONG=3 pytest -m long             # of each test one in three of what is left out of every run
PTXMM_MISTAKES=4 pytest -m mutation     # one in four of the mistakes that are planted
"""

from __future__ import annotations

import os
import time
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any
from zlib import crc32

import pytest
from hypothesis import is_hypothesis_test

#: More of what a short test looks at a part of: CI runs a share of it in its own step (`-m long`), beside the planted
#: mistakes.
LONG = pytest.mark.long
#: Marks of what is left out of every run.
LEFT_OUT = frozenset(("long", "campaign", "mutation"))
#: Whether long tests or campaigns are asked for; set before tests are collected.
whole = False
#: Whether it is the run of all tests that leaves out what is marked so.
every_run = False
#: Of what hypothesis draws where they are: so many times as much as in other runs, which draw so many at least.
_TIMES, _LEAST = 10, 12
#: One in so many of what a campaign looks at.
SHARE = max(1, int(os.environ.get("PTXMM_SHARE", "1")))
#: One in so many of the long tests.
SHARE_OF_LONG = max(1, int(os.environ.get("PTXMM_LONG", "1")))
#: One in so many of the mistakes that are planted.
SHARE_OF_MISTAKES = max(1, int(os.environ.get("PTXMM_MISTAKES", "1")))


def some(every: int, values: Iterable[Any]) -> list[Any]:
    """Parameters of a test of which one in so many is tried in every run, and the others where CI asks for them."""
    return [value if i % every == 0 else _long(value) for i, value in enumerate(values)]


def lengths(short: Any, whole: Any) -> list[Any]:
    """Of a test's parameter that says how much it looks at: `short` in every run, and `whole` where CI asks for it."""
    return [short, _long(whole)]


def drawn(count: int, least: int = _LEAST) -> int:
    """How many examples of a test hypothesis draws: so many where long tests are asked for, a tenth of them in every run, but
    so many at least."""
    return count if whole else max(min(count, least), count // _TIMES)


def take_drawn(items: Sequence[pytest.Item]) -> None:
    """What hypothesis draws more examples for where long tests are asked for is one of them."""
    for item in items:
        if is_hypothesis_test(getattr(item, "obj", None)) and not any(map(item.get_closest_marker, LEFT_OUT)):
            item.add_marker(LONG)


def take_parts(items: Sequence[pytest.Item]) -> None:
    """Of a test that is marked with `part(every)`, one in so many of its parameters is for every run, and the others are long.

    Which ones hangs on their names alone, so that those of one engine or one model are not always the ones left out. Who
    asks for one by its name gets it.
    """
    tests = defaultdict[str, list[pytest.Item]](list)
    for item in items:
        if item.get_closest_marker("part") is not None and not any(map(item.get_closest_marker, LEFT_OUT)):
            tests[item.nodeid.partition("[")[0]].append(item)
    for of_test in tests.values():
        (every,) = of_test[0].get_closest_marker("part").args  # type: ignore[union-attr]
        of_test.sort(key=lambda item: crc32(item.name.encode()))
        for item in of_test[-(-len(of_test) // every) :]:
            item.add_marker(LONG)


def passed_over(items: Sequence[pytest.Item]) -> set[str]:
    """Where a share of the long tests is asked for: those of which not even one parameter is tried, five in six.
    Which ones hangs on their names alone."""
    if SHARE_OF_LONG == 1:
        return set()
    tests = {
        item.nodeid.partition("[")[0]
        for item in items
        if item.get_closest_marker("long") is not None and not is_hypothesis_test(getattr(item, "obj", None))
    }
    by_name = sorted(tests, key=lambda name: crc32(name.encode()))
    return set(by_name[-(-len(by_name) // 6) :])


def _long(value: Any) -> Any:
    values = value if isinstance(value, tuple) else (value,)
    return pytest.param(*values, marks=LONG)


def share(count: int) -> int:
    """How many to look at, of so many."""
    return -(-count // SHARE)


def as_a_script(megabytes: int) -> None:
    """For a campaign that a process of its own runs: deadlines are of its processor time, so that what is compared does not
    hang on who else computes, and it has no more addresses than so many megabytes, where the system knows of such limits."""
    pytest.MonkeyPatch().setattr(time, "monotonic", time.process_time)
    try:
        import resource
    except ImportError:
        return
    resource.setrlimit(resource.RLIMIT_AS, (megabytes << 20, megabytes << 20))
