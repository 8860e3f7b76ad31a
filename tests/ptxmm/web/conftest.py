"""One server and one browser for the tests that look at the page."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import browsing
import pytest


@pytest.fixture(scope="session")
def _looking() -> Iterator[browsing.Visitor]:
    with browsing.browser() as opened, browsing.served() as address:
        yield browsing.Visitor(opened, address)


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
