"""Workers that stay: late ones, lost ones, newer jobs, full queues, and that none is left behind."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from ptxmm.web.workroom import Busy, Job, JobGroup, JobLate, Lost, Replaced, Workroom


def task(name: str, request: Any, seconds: float) -> Any:
    """What a job says that shall happen."""
    if name == "sleep":
        time.sleep(request)
    elif name == "die":
        os._exit(7)
    elif name == "fail":
        raise ValueError(request)
    elif name == "take":
        return len(bytearray(request))
    return os.getpid() if name == "who" else request


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def inside(what: Callable[[Workroom], Awaitable[None]], *, workers: int = 1, queue: int = 8) -> None:
    """Runs something in a room; none of its workers is left behind."""

    async def run() -> None:
        room = Workroom(task, {"slow": workers}, longest_queue=queue)
        room.open()
        seen.append(room)
        try:
            await what(room)
        finally:
            pids.extend(room.processes())
            room.close()

    seen: list[Workroom] = []
    pids: list[int] = []
    with ThreadPoolExecutor(1) as other:  # this thread may have a loop already: a browser's, for other tests
        other.submit(asyncio.run, run()).result()
    assert pids and not any(map(alive, pids)) and seen[0].processes() == []


def job(name: str, request: Any = None, seconds: float = 60.0, **more: Any) -> Job:
    return Job(name, request, "slow", seconds, **more)


@pytest.mark.long
def test_jobs_have_answers() -> None:
    async def what(room: Workroom) -> None:
        assert await asyncio.gather(*(room.ask(job("echo", i)) for i in range(8))) == list(range(8))
        assert await room.ask(job("who")) in room.processes()

    inside(what, workers=2)


def test_a_late_worker_is_killed_and_replaced() -> None:
    async def what(room: Workroom) -> None:
        before = room.processes()
        with pytest.raises(JobLate):
            await room.ask(job("sleep", 600, 0.1))
        assert await room.ask(job("who")) not in before and not any(map(alive, before))

    inside(what)


@pytest.mark.parametrize("name", ["die", "fail"])
def test_a_lost_worker_is_replaced(name: str) -> None:
    async def what(room: Workroom) -> None:
        before = room.processes()
        with pytest.raises(Lost):
            await room.ask(job(name, "it"))
        assert await room.ask(job("who")) not in before

    inside(what)


def test_one_that_takes_too_much_memory_does_not_get_it() -> None:
    async def what(room: Workroom) -> None:
        assert await room.ask(job("take", 1 << 20)) == 1 << 20
        with pytest.raises(Lost, match="MemoryError"):
            await room.ask(job("take", 1 << 33))
        assert await room.ask(job("echo", 1)) == 1

    inside(what)


def test_a_worker_that_somebody_kills_is_replaced() -> None:
    async def what(room: Workroom) -> None:
        asked = asyncio.ensure_future(room.ask(job("sleep", 600)))
        await room_is_at(room)
        os.kill(room.processes()[0], signal.SIGKILL)
        with pytest.raises(Lost):
            await asked
        assert await room.ask(job("echo", 1)) == 1

    inside(what)


async def room_is_at(room: Workroom) -> None:
    """Until nothing waits: every worker that there is has its job."""
    while room.waiting() or not any(worker.busy for worker in room._workers):
        await asyncio.sleep(0.01)


def test_a_newer_job_takes_the_place_of_an_older_one() -> None:
    async def what(room: Workroom) -> None:
        first = asyncio.ensure_future(room.ask(job("sleep", 600, place="p", group=JobGroup())))
        await room_is_at(room)
        group = JobGroup()
        others = [asyncio.ensure_future(room.ask(job("echo", i, place="p", group=group))) for i in range(2)]
        elsewhere = asyncio.ensure_future(room.ask(job("echo", 5, place="q", group=JobGroup())))
        with pytest.raises(Replaced):
            await first
        assert await asyncio.gather(*others, elsewhere) == [0, 1, 5]  # its worker was taken from the first one

    inside(what)


def test_who_asks_anew_keeps_the_place_in_the_queue() -> None:
    async def what(room: Workroom) -> None:
        first = asyncio.ensure_future(room.ask(job("sleep", 600)))
        await room_is_at(room)
        done: list[str] = []

        async def ask(name: str, place: str) -> None:
            done.append(await room.ask(job("echo", name, place=place, group=JobGroup())))

        asked = [asyncio.ensure_future(ask(*who)) for who in (("a", "p"), ("b", "q"), ("c", "r"), ("a again", "p"))]
        await asyncio.sleep(0)
        first.cancel()
        with pytest.raises(Replaced):
            await asked[0]
        await asyncio.gather(*asked[1:])
        assert done == ["a again", "b", "c"]

    inside(what)


def test_whoever_goes_away_takes_the_job_along() -> None:
    async def what(room: Workroom) -> None:
        asked = asyncio.ensure_future(room.ask(job("sleep", 600)))
        await room_is_at(room)
        asked.cancel()
        assert await room.ask(job("echo", 1)) == 1

    inside(what)


def test_a_full_queue_refuses() -> None:
    async def what(room: Workroom) -> None:
        asked = [asyncio.ensure_future(room.ask(job("sleep", 600)))]
        await room_is_at(room)
        asked += [asyncio.ensure_future(room.ask(job("echo", i))) for i in range(3)]
        await asyncio.sleep(0)
        with pytest.raises(Busy):
            await room.ask(job("echo", 1))
        asked[0].cancel()
        assert await asyncio.gather(*asked[1:]) == [0, 1, 2]

    inside(what, queue=3)


def test_who_waits_at_the_end_is_told() -> None:
    async def what(room: Workroom) -> None:
        asked = [asyncio.ensure_future(room.ask(job("sleep", 600))) for _ in range(3)]
        await room_is_at_least(room, 1)
        pids = room.processes()
        room.close()
        assert [type(e) for e in await asyncio.gather(*asked, return_exceptions=True)] == [Lost] * 3
        assert not any(map(alive, pids))
        with pytest.raises(Lost):
            await room.ask(job("echo", 1))
        room._closed = False
        room.open()

    inside(what)


async def room_is_at_least(room: Workroom, count: int) -> None:
    while sum(worker.busy is not None for worker in room._workers) < count:
        await asyncio.sleep(0.01)


def test_answers_that_are_kept_are_bounded() -> None:
    from ptxmm.web.kept import Kept, Ready

    kept = Kept(3, 1000)
    for i in range(5):
        kept.put(i, Ready(200, b"x" * 50), 10)
    assert [kept.get(i) is not None for i in range(5)] == [False, False, True, True, True] and kept.used == 180
    kept.get(2)
    kept.put(5, Ready(200, b"x"), 0)
    assert kept.get(2) is not None and kept.get(3) is None
    kept.put(6, Ready(200, b"x" * 500), 0)
    assert kept.get(6) is None  # one must not drive out all others
