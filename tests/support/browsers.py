"""The browser that tests look at pages with: the system's Chromium, without a window."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

#: What the browser is called, where there is one.
_NAMES = ("chromium", "chromium-browser", "google-chrome")


@contextmanager
def browser() -> Iterator[Any]:
    """A Chromium; skips where there is none. A process can have one at a time, for Playwright has one event loop."""
    sync_api = pytest.importorskip("playwright.sync_api", reason="no playwright, which drives the browser")
    path = next(filter(None, map(shutil.which, _NAMES)), None)
    if path is None:
        pytest.skip("no Chromium on this machine")
    alone = ["--no-sandbox"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []
    with sync_api.sync_playwright() as driver:
        opened = driver.chromium.launch(executable_path=path, args=[*alone, "--disable-gpu", "--disable-dev-shm-usage"])
        try:
            yield opened
        finally:
            opened.close()
