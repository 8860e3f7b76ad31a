"""The worker processes: order, time limits, killed workers, and nothing left behind."""

from __future__ import annotations

import faulthandler
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from growth import calls
from waiting import PATIENCE, time_out_after, wait_until

from ptxmm.workers import Workers

ROOT = Path(__file__).resolve().parents[2]


def late(item: object, seconds: float) -> str:
    return f"late {item}"


def lost(item: object, reason: str) -> str:
    return f"lost {item}: {reason}"


def run(task: Callable[[int], object], count: int, **options: object) -> list[object]:
    settings = {"jobs": 2, "late": late, "lost": lost, **options}
    with Workers(task, range(count), **settings) as workers:  # type: ignore[arg-type]
        found = list(workers)
        pids = workers.processes()
    assert all(gone(pid) for pid in pids)
    return found


def gone(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


def square(i: int) -> int:
    return i * i


def uneven(i: int) -> int:
    time.sleep(0.03 if i % 5 == 0 else 0)
    return i


def hang_at_three(i: int) -> int:
    if i == 3:
        time.sleep(PATIENCE)
    return i


def die_at_three(i: int) -> int:
    if i == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    return i


def fail_at_three(i: int) -> int:
    if i == 3:
        raise RuntimeError("no luck")
    return i


def slow_first(i: int) -> int:
    time.sleep(0.5 if i == 0 else 0.001)
    return i


@pytest.mark.parametrize("jobs", [1, 2, 5])
def test_results_come_in_the_order_of_the_items(jobs: int) -> None:
    assert run(uneven, 60, jobs=jobs) == list(range(60))


def test_no_items_need_no_workers() -> None:
    assert run(square, 0) == []


def test_items_that_come_one_by_one_start_no_more_workers_than_they_are() -> None:
    with Workers(square, iter(range(3)), jobs=10**12, late=late, lost=lost) as workers:
        found = sorted(one for came in workers.as_they_come(1.0) for one in came)
        assert len(workers.processes()) == 3
    assert found == [0, 1, 4]


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_every_way_of_starting_processes_works(method: str) -> None:
    assert run(square, 10, start_method=method) == [i * i for i in range(10)]


def test_an_item_over_its_time_limit_is_stopped_and_the_others_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    time_out_after(monkeypatch, 3)
    assert run(hang_at_three, 12, jobs=1, limit=3600.0) == [0, 1, 2, "late 3", *range(4, 12)]


def test_a_limit_is_a_time_of_the_clock() -> None:
    assert run(hang_at_three, 4, jobs=1, limit=1.0)[3] == "late 3"


def test_an_item_that_kills_its_worker_twice_is_lost_and_no_other_is() -> None:
    found = run(die_at_three, 40)
    assert found[3] == "lost 3: was killed (SIGKILL), twice"
    assert found[:3] + found[4:] == [i for i in range(40) if i != 3]


@pytest.mark.parametrize("number", [signal.SIGABRT, signal.SIGSEGV])
def test_an_item_that_ends_its_worker_itself_is_not_tried_again(number: signal.Signals, tmp_path: Path) -> None:
    def fall(i: int) -> int:
        if i == 3:
            faulthandler.disable()  # pytest's
            with (tmp_path / "tried").open("a") as tried:
                tried.write("x")
            os.kill(os.getpid(), number)
        return i

    found = run(fall, 6)
    assert found[3] == f"lost 3: was killed ({number.name})" and found[:3] + found[4:] == [0, 1, 2, 4, 5]
    assert (tmp_path / "tried").read_text() in ("x", "xx")  # twice where an idle worker had taken it over


def test_a_limit_may_be_longer_than_the_system_can_wait() -> None:
    assert run(square, 3, limit=1e300) == [0, 1, 4]


def test_an_exception_loses_one_item() -> None:
    assert run(fail_at_three, 6)[3] == "lost 3: failed: RuntimeError: no luck"


def test_a_worker_killed_from_outside_costs_nothing(tmp_path: Path) -> None:
    def once(i: int) -> int:
        marker = tmp_path / "killed"
        if i == 4 and not marker.exists():
            marker.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return i

    assert run(once, 20) == list(range(20))


def test_idle_workers_are_killed_without_harm() -> None:
    with Workers(slow_first, range(3), jobs=2, late=late, lost=lost) as workers:
        results = iter(workers)
        assert next(results) == 0
        for pid in workers.processes():
            os.kill(pid, signal.SIGKILL)
        assert list(results) == [1, 2]


def test_what_waits_behind_a_slow_item_is_taken_over(tmp_path: Path) -> None:
    def first_is_last(i: int) -> int:
        if i == 0:
            wait_until(lambda: len(list(tmp_path.iterdir())) == 99)
        else:
            (tmp_path / str(i)).touch()
        return i

    assert run(first_is_last, 100) == list(range(100))


def test_what_is_finished_out_of_turn_is_kept_for_an_interrupted_run() -> None:
    with Workers(slow_first, range(8), jobs=2, late=late, lost=lost) as workers:
        results = iter(workers)
        assert next(results) == 0
        time.sleep(0.05)
        assert next(results) == 1
        assert workers.finished() == sorted(workers.finished())


def test_overhead_of_a_tiny_item_is_small() -> None:
    """Each answer comes by itself, and is told of each: at most so many calls."""
    most = calls(lambda: run(square, 1000, jobs=1)) - calls(lambda: run(square, 200, jobs=1))
    assert most < 800 * 300


SCRIPT = """
import sys, time
sys.path.insert(0, {root!r})
from ptxmm.workers import Workers
def task(i):
    if i >= 2: time.sleep(3600)
    return i
with Workers(task, range(6), jobs=2, late=None, lost=None) as workers:
    for r in workers:
        print(r, *workers.processes(), flush=True)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_an_interrupt_leaves_no_process() -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", SCRIPT.format(root=str(ROOT))],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert process.stdout is not None
    process.stdout.readline()
    pids = [int(word) for word in process.stdout.readline().split()[1:]]
    assert len(pids) == 2
    os.killpg(process.pid, signal.SIGINT)
    process.communicate(timeout=PATIENCE)
    assert all(gone(pid) for pid in pids)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux ends children with their parent")
def test_workers_end_with_a_parent_that_is_killed() -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", SCRIPT.format(root=str(ROOT))], stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    assert process.stdout is not None
    process.stdout.readline()
    pids = [int(word) for word in process.stdout.readline().split()[1:]]
    assert len(pids) == 2
    process.kill()
    process.communicate(timeout=PATIENCE)
    wait_until(lambda: all(ended(pid) for pid in pids))


def ended(pid: int) -> bool:
    """Gone, or dead and waiting for whoever inherited it."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] == "Z"
    except OSError:
        return True
