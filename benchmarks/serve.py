"""Many people who type, at one server: `python benchmarks/serve.py [--clients 50] [--seconds 60] [--url http://127.0.0.1:8737/]`.

Each client is a page that somebody edits: bursts of keys, a pause to read, a check as soon as no key has come for a moment, and
the reasons of its answer in the pause; a newer check takes the place of an older one. Two texts of three are tests, no two of
them the same; the others have a word that is mistyped. Told are how long answers took, how many were taken back, and how many
were lost: neither answered nor taken back. Without --url it starts a server of its own, and looks whether a worker is left.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import re
import signal
import statistics
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

#: Seconds between two keys of a burst, keys of a burst, seconds between bursts; between the last key and a check, and reasons.
_KEY, _KEYS, _REST, _PAUSE, _CALM = 0.18, (4, 12), (0.8, 2.4), 0.06, 0.5
_PATIENCE = 60.0
_TYPED = ("%r2", "release", "acquire", "weak", "relaxed", "1", "2", "x", "y", "gpu", "cta", " ", "0")


@dataclass
class Seen:
    """What became of the requests of all clients."""

    seconds: dict[str, list[float]] = field(default_factory=dict)
    statuses: Counter[int] = field(default_factory=Counter)
    lost: list[str] = field(default_factory=list)

    def add(self, name: str, seconds: float, status: int) -> None:
        self.statuses[status] += 1
        if status == 200:
            self.seconds.setdefault(name, []).append(seconds)
        elif status != 409:
            self.lost.append(f"{name}: {status}")


class Client:
    """One page: `text` is what stands in its editor."""

    def __init__(self, number: int, host: str, port: int, seen: Seen) -> None:
        from litmus.library import paths

        self._random = random.Random(number)
        self._text = Path(self._random.choice(paths())).read_text(encoding="utf-8")
        self._page, self._host, self._port, self._seen = f"client-{number}", host, port, seen

    async def types(self, seconds: float) -> None:
        """Types for so long; every request is waited for."""
        end = time.monotonic() + seconds
        waiting = set()
        while time.monotonic() < end:
            for _ in range(self._random.randint(*_KEYS)):
                key = self._random.expovariate(1 / _KEY)
                await asyncio.sleep(min(key, _PAUSE))
                if key > _PAUSE:
                    waiting.add(asyncio.ensure_future(self._ask("check", self._edited())))
                    await asyncio.sleep(key - _PAUSE)
            text = self._edited()
            waiting.add(asyncio.ensure_future(self._ask("check", text)))
            await asyncio.sleep(_CALM)
            waiting.add(asyncio.ensure_future(self._ask("reasons", text)))
            await asyncio.sleep(self._random.uniform(*_REST) - _CALM)
        await asyncio.gather(*waiting)

    def _edited(self) -> str:
        """What stands there behind a key: a test with another number in it, or one of which a word is not right yet."""
        text, choose = self._text, self._random.choice
        if self._random.random() < 1 / 3:
            word = choose(list(re.finditer(r"[\w%]{2,}", text)))
            return text[: word.end() - 1] + choose(("", *_TYPED)) + text[word.end() :]
        number = choose(list(re.finditer(r"(?<=, )\d\b|(?<== )\d\b", text)) or [None])
        if number is not None:
            text = text[: number.start()] + choose("0123") + text[number.end() :]
        return text + " " * self._random.randrange(10000)

    async def _ask(self, name: str, text: str) -> None:
        asked = {"text": text, "kind": "litmus", "page": f"{self._page}-{name}", "options": {"why": name == "reasons"}}
        body = json.dumps(asked).encode()
        head = f"POST /api/check HTTP/1.1\r\nHost: {self._host}:{self._port}\r\nContent-Type: application/json\r\n"
        head += f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n"
        start = time.perf_counter()
        try:
            async with asyncio.timeout(_PATIENCE):
                reader, writer = await asyncio.open_connection(self._host, self._port)
                writer.write(head.encode() + body)
                answer = await reader.read()
                writer.close()
            status = int(answer[9:12])
            if status == 200:
                json.loads(answer.partition(b"\r\n\r\n")[2])
        except (OSError, TimeoutError, ValueError) as error:
            self._seen.lost.append(f"{name}: {type(error).__name__} {error}")
            return
        self._seen.add(name, time.perf_counter() - start, status)


async def load(host: str, port: int, clients: int, seconds: float) -> Seen:
    """What so many clients see who type for so long."""
    seen = Seen()
    await asyncio.gather(*(Client(number, host, port, seen).types(seconds) for number in range(clients)))
    return seen


def told(seen: Seen) -> Iterator[str]:
    """What is printed."""
    for name, seconds in sorted(seen.seconds.items()):
        ordered = sorted(seconds)
        middle, most = statistics.median(ordered), ordered[int(0.95 * (len(ordered) - 1))]
        yield (
            f"{name:9}{len(ordered):7} answers   median {1000 * middle:7.1f} ms   95 % {1000 * most:7.1f} ms   "
            f"longest {1000 * ordered[-1]:7.1f} ms"
        )
    yield f"taken back by a newer one: {seen.statuses[409]}; lost: {len(seen.lost)}"
    yield from (f"  {count} x {what}" for what, count in Counter(seen.lost).most_common(5))


class Server:
    """A server of its own, on a free port."""

    def __init__(self, jobs: int | None) -> None:
        command = [sys.executable, "-m", "ptxmm", "serve", "--port", "0", *(["--jobs", str(jobs)] if jobs else [])]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True)
        assert self._process.stdout is not None
        found = re.search(r"http://\S+", self._process.stdout.readline())
        if found is None:
            raise SystemExit("the server does not start")
        self.url = found[0]

    def end(self) -> int:
        """Ends it; how many of its processes are left."""
        self._process.send_signal(signal.SIGINT)
        self._process.wait()
        try:
            os.killpg(self._process.pid, 0)
        except ProcessLookupError:
            return 0
        return 1


def main() -> int:
    reader = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    reader.add_argument("--clients", type=int, default=50)
    reader.add_argument("--seconds", type=float, default=60.0)
    reader.add_argument("--url", help="of a server that runs")
    reader.add_argument("--jobs", type=int, help="of the server that is started")
    options = reader.parse_args()
    server = None if options.url else Server(options.jobs)
    where = urlsplit(options.url or server.url)  # type: ignore[union-attr]
    left = 0
    try:
        seen = asyncio.run(load(where.hostname or "127.0.0.1", where.port or 80, options.clients, options.seconds))
    finally:
        left = server.end() if server else 0
    print(f"{options.clients} clients type for {options.seconds:g} s")
    print("\n".join(told(seen)))
    if server:
        print("workers left behind: " + ("some" if left else "none"))
    return int(bool(seen.lost or left or not seen.seconds))


if __name__ == "__main__":
    sys.exit(main())
