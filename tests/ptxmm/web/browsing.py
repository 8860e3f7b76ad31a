"""A browser that looks at the explorer: the server runs as a user starts it, Chromium is the system's."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import waiting

ROOT = Path(__file__).resolve().parents[3]
#: Where a test is started from when its page is to be about something else than the first example.
FIRST = "message-passing/MP+rel+acq"


@contextmanager
def served(*options: str) -> Iterator[str]:
    """The address of a server that runs until the context ends."""
    for module in ("starlette", "uvicorn"):
        pytest.importorskip(module, reason=f"no {module}, which the server needs")
    command = [sys.executable, "-m", "ptxmm", "serve", "--port", "0", "--jobs", "1", "--timeout", "3600", *options]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            match = re.search(r"http://\S+/", line)
            assert match, f"the server did not say where it is: {line}{process.stdout.read()}"
            yield match[0]
        finally:
            process.terminate()
            process.wait(timeout=waiting.PATIENCE)


class Visitor:
    """Opens pages in one browser, and fails where a page complained of an error of its own."""

    def __init__(self, opened: Any, address: str) -> None:
        self._opened, self.address = opened, address
        self._usual: Any = None
        self._others: list[Any] = []
        self._pages: list[Any] = []
        self.complaints: list[str] = []

    def page(self, fragment: str = "", **options: Any) -> Any:
        """A new page, when it shows its first answer and picture. With options it is that of another visitor."""
        page = self._context(options).new_page()
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("console", lambda said: self.complaints.append(said.text) if said.type == "error" else None)
        page.on("response", self._look)
        self._pages.append(page)
        page.goto(self.address + fragment)
        settled(page)
        return page

    def _context(self, options: dict[str, Any]) -> Any:
        """What the browser keeps for a visitor; for all who want nothing special the same, which is cleaned between tests."""
        if not options and self._usual is not None:
            return self._usual
        context = self._opened.new_context(
            **{"viewport": {"width": 1280, "height": 900}, "color_scheme": "light", **options}
        )
        context.set_default_timeout(waiting.PATIENCE * 1000)
        if options:
            self._others.append(context)
        else:
            self._usual = context
        return context

    def _look(self, answer: Any) -> None:
        if answer.status >= 400:
            self.complaints.append(f"{answer.status} {answer.url} {(answer.request.post_data or '')[:2000]}")

    def leave(self) -> None:
        for page in self._pages:
            page.evaluate("() => localStorage.clear()")
            page.close()
        for context in self._others:
            context.close()
        self._pages.clear()
        self._others.clear()


def settled(page: Any) -> None:
    """Waits until the page shows the answer to what its editor says, with the picture."""
    page.wait_for_function(
        """() => {
          const pane = document.getElementById('answer-pane');
          return !pane.classList.contains('old') && document.querySelector('#verdicts').childElementCount > 0
            && !document.querySelector('#execution.waiting');
        }""",
        polling=20,
    )


def write(page: Any, text: str) -> None:
    """Another text in the editor, as if pasted, and its answer."""
    area = page.locator("textarea.code:visible")
    area.focus()
    page.keyboard.press("Control+a")
    page.keyboard.insert_text(text)
    settled(page)


def caret(page: Any, offset: int) -> None:
    """The caret before the character at `offset`."""
    area = page.locator("textarea.code:visible")
    area.focus()
    area.evaluate("(area, at) => area.setSelectionRange(at, at)", offset)


def open_example(page: Any, name: str) -> None:
    """Opens a test of the library, as a person does."""
    page.get_by_role("button", name="Library").click()
    search = page.get_by_role("combobox", name="Search by name, topic or text")
    search.fill(name)
    page.locator("dialog [role=option]").filter(has_text=name).first.wait_for()
    search.press("Enter")
    page.locator("dialog#library").wait_for(state="hidden")
    settled(page)


def verdicts(page: Any) -> dict[str, str]:
    """The verdict of each model that is shown."""
    cards = page.locator(".card")
    return {
        cards.nth(i).get_attribute("data-model"): cards.nth(i).locator(".word").inner_text()
        for i in range(cards.count())
    }


def table(page: Any) -> tuple[list[str], list[list[str]]]:
    """The heads of the table of states, and its rows."""
    cells = "rows => rows.map(row => [...row.cells].map(cell => cell.innerText.trim()))"
    rows = page.locator("table.states tr").evaluate_all(cells)
    return rows[0], rows[1:]
