"""One server and one browser for the tests that look at the page."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import browsing
import pytest
from serving import Served


@pytest.fixture(scope="session")
def _looking(browser: Any) -> Iterator[browsing.Visitor]:
    with browsing.served() as address:
        yield browsing.Visitor(browser, address)


@pytest.fixture
def visitor(_looking: browsing.Visitor) -> Iterator[browsing.Visitor]:
    """Who opens pages. A page that reported an error of its own fails the test, unless the test has looked at it."""
    _looking.complaints.clear()
    yield _looking
    _looking.leave()
    assert _looking.complaints == []


@pytest.fixture
def page(visitor: browsing.Visitor) -> Any:
    """The page as it first opens, with its first example."""
    return visitor.page()


@pytest.fixture(scope="session")
def served() -> Iterator[Served]:
    """A server for tests that ask without a browser, with all the time that a busy machine takes."""
    yield from _server("--timeout", "3600")


@pytest.fixture(scope="session")
def hasty() -> Iterator[Served]:
    """One with short limits, for what is to be stopped, or may be."""
    yield from _server("--timeout", "4", code="from ptxmm.web import limits; limits.PATIENCE = 3.0")


def _server(*options: str, **more: str) -> Iterator[Served]:
    pytest.importorskip("starlette")
    pytest.importorskip("uvicorn")
    with Served("--jobs", "2", *options, **more) as server:
        yield server
