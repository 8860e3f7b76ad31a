"""Requests answered: from what is kept, or by a worker. Knows nothing of HTTP but the numbers of its statuses."""

from __future__ import annotations

import asyncio
import json
import time
from typing import Any

from ptxmm.web import limits, tasks
from ptxmm.web.asked import PageRequest
from ptxmm.web.kept import Kept, Ready
from ptxmm.web.workroom import Busy, Job, JobGroup, JobLate, Lost, Replaced, Workroom

#: What is asked as one types has workers of its own, so that a long check holds up no diagnosis.
_QUICK = frozenset({"diagnose", "complete", "cycle"})


class Answers:
    """Who answers: `room` has the workers, `seconds` are for one answer."""

    def __init__(self, room: Workroom, seconds: float = limits.SECONDS) -> None:
        self.room, self.seconds = room, seconds
        self.kept = Kept(limits.MOST_KEPT, limits.KEPT_BYTES)
        self._tables: asyncio.Future[tasks.PageAnswer] | None = None

    async def tables(self) -> dict[str, Any]:
        """What does not change while the server runs: models, options, examples. Raises `Refused`."""
        if self._tables is None or (self._tables.done() and (self._tables.cancelled() or self._tables.exception())):
            self._tables = asyncio.ensure_future(self.room.ask(Job("tables", PageRequest(), "quick", 60.0)))
        return (await asyncio.shield(self._tables)).value

    async def answer(self, name: str, asked: PageRequest) -> Ready:
        """The answer to a request."""
        if name == "check":
            return await self._check(asked)
        return await self._one(name, asked, JobGroup())

    async def _check(self, asked: PageRequest) -> Ready:
        """The answers of all models together."""
        start = time.perf_counter()
        if asked.kind == "cat":
            found = await self._one("diagnose", asked._replace(models=(), cat=None), JobGroup())
            if found.status != 200:
                return found
            value = {"models": [], **json.loads(found.body)}
        else:
            group = JobGroup()
            each = [asked._replace(models=(model,)) for model in asked.models]
            answers = await asyncio.gather(*(self._one("check", one, group) for one in each))
            bad = next((a for a in answers if a.status != 200), None)
            if bad is not None:
                return bad
            value = _together([json.loads(a.body) for a in answers])
        value["milliseconds"] = round(1000 * (time.perf_counter() - start), 1)
        return _ready(200, value)

    async def _one(self, name: str, asked: PageRequest, group: JobGroup) -> Ready:
        place = f"{name}/{asked.page}" if asked.page else ""
        asked = asked._replace(page="")
        if asked.models != ("yours",) and name == "check":
            asked = asked._replace(cat=None)
        known = self.kept.get((name, asked))
        if known is not None:
            if place:
                self.room.supersede(place, group)
            return known
        seconds = min(self.seconds, limits.QUICK_SECONDS) if name in _QUICK else self.seconds
        job = Job(name, asked, "quick" if name in _QUICK else "slow", seconds, place, group)
        try:
            answer: tasks.PageAnswer = await self.room.ask(job)
        except Busy as error:
            return _ready(503, {"error": str(error)})
        except Replaced as error:
            return _ready(409, {"error": str(error)})
        except JobLate:
            return _ready(200, tasks.late(name, asked, seconds))
        except Lost as error:
            return _ready(200, tasks.lost(name, asked, str(error)))
        ready = _ready(answer.status, answer.value)
        if answer.lasting:
            self.kept.put((name, asked), ready, len(asked.text) + sum(len(text) for _, text in asked.files))
        return ready


def _together(found: list[dict[str, Any]]) -> dict[str, Any]:
    """One answer of those of several models: what concerns the text stands beside them, once."""
    beside: dict[str, dict[str, Any]] = {}
    for answer in found:
        for diagnostic in answer.pop("diagnostics"):
            beside[json.dumps(diagnostic, sort_keys=True)] = diagnostic
    several = [answer.pop("variants") for answer in found]
    return {"models": found, "diagnostics": list(beside.values()), "variants": several[0] if several else []}


def _ready(status: int, value: dict[str, Any]) -> Ready:
    return Ready(status, json.dumps(value, separators=(",", ":")).encode())
