"""How fast ptxmm is: prints the tables that docs/benchmarks.md shows.

    python benchmarks/bench.py                      all parts, 60 s for a measurement at most
    python benchmarks/bench.py cold warm            some parts
    python benchmarks/bench.py growth --limit 5 --family cas-lock
    python benchmarks/bench.py --docs               also puts the output into docs/benchmarks.md

Parts: `cold` (a command for one test, start-up included), `warm` (one test after another in one process), `rows` (the
published tests, when the reference material lies beside the repository), `rings` (three families at 32), `growth` (time
against threads). What may take long runs in a process of its own, which is killed at the limit.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

ROOT = Path(__file__).resolve().parents[1]
if str(ROOT) not in sys.path:  # a checkout that nobody installed
    sys.path.insert(0, str(ROOT))

if TYPE_CHECKING:
    from litmus.test import Test

REFERENCE = ROOT / ".." / "shared" / "litmus" / "dat3m"
DOCUMENT = ROOT / "docs" / "benchmarks.md"
PUBLISHED = {"ptx-6.0": "PTXv6_0-expected.csv", "ptx-7.5": "PTXv7_5-expected.csv"}
MODEL = "ptx-9.0"

#: Engine and backend of each column of the growth tables.
ENGINES = (("solve", "sat"), ("solve", "z3"), ("enumerate", None))
#: Families by the name that the tables give them: the function in litmus.families, its options, and what is decided.
FAMILIES: dict[str, tuple[str, dict[str, str], str]] = {
    "SB": ("store_buffering_ring", {}, "store buffering in a ring, fence.sc between store and load: forbidden"),
    "MP-chain": ("message_passing_chain", {}, "a message through n threads, release and acquire: forbidden"),
    "IRIW": ("independent_reads", {}, "n writers and n readers with fence.sc between two reads: forbidden"),
    "barrier": ("all_to_one_barrier", {}, "n-1 threads raise a flag each, one waits for all: all data is there"),
    "count-barrier": (
        "all_to_one_barrier",
        {"signal": "red"},
        "n-1 threads count themselves, one waits: all data is there",
    ),
    "cas-lock": ("cas_lock", {}, "n threads increment a counter under a compare-and-swap lock: none is lost"),
    "ticket-lock": ("ticket_lock", {}, "n threads increment a counter under a ticket lock: none is lost"),
}
SIZES = (2, 3, 4, 5, 6, 7, 8, 10, 12, 16, 20, 24, 32, 40, 48, 64, 96, 128, 192, 256, 384, 512)
#: Bytes that a measurement may use, so that one too large ends by itself and not the machine.
MEMORY = 6 << 30

MP = """PTX MP
{ x=0; f=0; }
 P0@cta 0,gpu 0            | P1@cta 1,gpu 0              ;
 st.weak.u32 [x], 1        | ld.acquire.gpu.u32 %r0, [f] ;
 st.release.gpu.u32 [f], 1 | ld.weak.u32 %r1, [x]        ;
~exists (1:%r0 = 1 /\\ 1:%r1 = 0)
"""


def main() -> int:
    options = _arguments()
    if options.measure:
        return _measure(*options.measure)
    say(_machine())
    for part in options.parts or PARTS:
        say()
        PARTS[part](options)
    if options.docs:
        text = DOCUMENT.read_text(encoding="utf-8")
        head, opening, rest = text.partition("```text\n")
        _, closing, tail = rest.partition("```\n")
        DOCUMENT.write_text(head + opening + "\n".join([*_said, ""]) + closing + tail, encoding="utf-8")
    return 0


def say(line: str = "") -> None:
    """Prints a line of the tables, at once."""
    line = line.rstrip()
    print(line, flush=True)
    _said.append(line)


_said: list[str] = []


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Measures ptxmm.")
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"of {', '.join(PARTS)}; default: all")
    parser.add_argument("--limit", type=float, default=60.0, metavar="SECONDS", help="for one measurement of `growth`")
    parser.add_argument("--repeat", type=int, default=20, metavar="N", help="runs that a median is taken of")
    parser.add_argument("--family", action="append", choices=FAMILIES, help="only these families in `growth`")
    parser.add_argument("--docs", action="store_true", help="put the output into docs/benchmarks.md too")
    parser.add_argument("--measure", nargs=4, help=argparse.SUPPRESS, metavar=("FAMILY", "N", "ENGINE", "BACKEND"))
    options = parser.parse_args()
    for part in options.parts:
        if part not in PARTS:
            parser.error(f"no part '{part}'; the parts are {', '.join(PARTS)}")
    if options.repeat < 1 or options.limit <= 0:
        parser.error("--repeat and --limit must be positive")
    return options


# Parts.


def cold(options: argparse.Namespace) -> None:
    """Wall time of a whole command, from nothing."""
    say("cold: one test in a new process, median wall time")
    with tempfile.TemporaryDirectory() as folder:
        test = Path(folder, "mp.litmus")
        test.write_text(MP, encoding="utf-8")
        bare = [sys.executable, "-c", "pass"]
        runs: list[tuple[str, list[str]]] = [
            ("python -c pass", bare),
            ("ptxmm --version", [*_command(), "--version"]),
            ("ptxmm check mp.litmus", [*_command(), "check", str(test)]),
            ("ptxmm check --backend z3 mp.litmus", [*_command(), "check", "--backend", "z3", str(test)]),
        ]
        for _, command in runs:
            _wall(command, folder)  # byte code is written, files are in the cache
        for name, command in runs:
            times = [_wall(command, folder) for _ in range(options.repeat)]
            say(f"  {name:36} {_time(statistics.median(times)):>10}")


def warm(options: argparse.Namespace) -> None:
    """Reading, executing, deciding, listing all outcomes and re-checking their witnesses, in a process that did so
    before."""
    import ptxmm

    files = sorted((ROOT / "litmus" / "library").rglob("*.litmus"))
    library = [(path.stem, path.read_text(encoding="utf-8")) for path in files]
    two = [text for _, text in library if len(ptxmm.parse(text).threads) == 2]
    say(f"warm: read, execute, decide, list all outcomes, re-check; median and 90th percentile, under {MODEL}")
    say(f"  {'':10} {'MP':>12} {f'two threads ({len(two)} tests)':>34} {f'library ({len(library)} tests)':>34}")
    for name, engine, backend in (
        ("sat", "solve", "sat"),
        ("z3", "solve", "z3"),
        ("enumerate", "enumerate", None),
    ):

        def once(text: str, engine: str = engine, backend: str | None = backend) -> float:
            start = time.perf_counter()
            ptxmm.check(ptxmm.parse(text), MODEL, engine=engine, backend=backend)
            return time.perf_counter() - start

        for text in (MP, *two[:10]):
            once(text)
        mp = statistics.median(once(MP) for _ in range(10 * options.repeat))
        pairs = _spread([once(text) for text in two for _ in range(3)])
        everything = _spread([once(text) for _, text in library])
        say(f"  {name:10} {_time(mp):>12} {pairs:>34} {everything:>34}")


def rows(options: argparse.Namespace) -> None:
    """The published tests: one command for each model."""
    if not REFERENCE.is_dir():
        say(f"rows: skipped, the published tests are not at {os.path.relpath(REFERENCE, ROOT)}")
        return
    say("rows: all published tests in one command for each model, two jobs, start-up included; best of 3")
    together = 0.0
    with tempfile.TemporaryDirectory() as folder:
        for model, table in PUBLISHED.items():
            with open(REFERENCE / table, newline="", encoding="utf-8") as file:
                published = [(str((REFERENCE / name).resolve()), holds == "1") for name, holds in csv.reader(file)]
            listed = Path(folder, f"{model}.list")
            listed.write_text("".join(path + "\n" for path, _ in published), encoding="utf-8")
            command = [*_command(), "check", "--jobs", "2", "--model", model, f"@{listed}"]
            seconds = min(_wall(command, folder) for _ in range(3))
            output = subprocess.run([*command, "--format", "json"], capture_output=True, text=True, check=False).stdout
            verdicts = [entry["verdict"] for entry in json.loads(output)["tests"]]
            agreed = sum(v == ("ok" if holds else "no") for v, (_, holds) in zip(verdicts, published, strict=True))
            together += seconds
            say(f"  {model:10} {len(published):4} tests {_time(seconds):>10}   {agreed} as published")
    say(f"  {'together':10} {'':10} {_time(together):>10}")


def rings(options: argparse.Namespace) -> None:
    """Three families at 32: the verdict, and the command, which also lists states."""
    say(f"rings: families at 32, under {MODEL}")
    say(f"  {'':12} {'verdict, sat':>14} {'verdict, z3':>14} {'ptxmm check':>14}")
    for family in ("SB", "MP-chain", "IRIW"):
        cells = [_measured(family, 32, "solve", backend, options.limit)[1] for backend in ("sat", "z3")]
        with tempfile.TemporaryDirectory() as folder:
            from litmus.formats import write

            test = Path(folder, "test.litmus")
            test.write_text(write(_member(family, 32)), encoding="utf-8")
            try:
                cells.append(_time(_wall([*_command(), "check", str(test)], folder, options.limit)))
            except subprocess.TimeoutExpired:
                cells.append(f"> {options.limit:g} s")
        say(f"  {f'{family}-32':12} " + " ".join(f"{cell:>14}" for cell in cells))


def growth(options: argparse.Namespace) -> None:
    """Time to the verdict against threads, for each engine and backend, until the limit."""
    say(f"growth: time to the verdict against size, under {MODEL}, until {options.limit:g} s")
    for family in options.family or FAMILIES:
        names = [engine if backend is None else f"{engine}/{backend}" for engine, backend in ENGINES]
        say(f"\n  {family}-n: {FAMILIES[family][2]}")
        say(f"  {'n':>4} " + " ".join(f"{name:>14}" for name in names))
        running = list(ENGINES)
        for n in SIZES:
            cells = []
            for engine, backend in ENGINES:
                if (engine, backend) not in running:
                    cells.append("")
                    continue
                seconds, cell = _measured(family, n, engine, backend, options.limit)
                if seconds is None:
                    running.remove((engine, backend))
                cells.append(cell)
            say((f"  {n:4} " + " ".join(f"{cell:>14}" for cell in cells)).rstrip())
            if not running:
                break


PARTS: dict[str, Callable[[argparse.Namespace], None]] = {
    "cold": cold,
    "warm": warm,
    "rows": rows,
    "rings": rings,
    "growth": growth,
}


# One measurement in a process of its own.


def _measured(family: str, n: int, engine: str, backend: str | None, limit: float) -> tuple[float | None, str]:
    """Seconds, and how a table shows them; no seconds when the limit was passed or no verdict came."""
    command = [sys.executable, __file__, "--measure", family, str(n), engine, backend or "-"]
    try:
        # The limit is for the decision; starting the process and reading the test come on top.
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=limit + 2)
    except subprocess.TimeoutExpired:
        return None, f"> {limit:g} s"
    if done.returncode != 0:
        lines = done.stderr.strip().splitlines()
        error = lines[-1].partition(":")[0] if lines else f"status {done.returncode}"
        exhausted = error == "MemoryError" or "bad_alloc" in done.stderr  # ours, or a solver's
        return None, "out of memory" if exhausted else error
    answer = json.loads(done.stdout)
    if not answer["expected"]:
        return None, "WRONG"
    seconds = answer["seconds"]
    return (None, f"> {limit:g} s") if seconds > limit else (seconds, _time(seconds))


def _measure(family: str, n: str, engine: str, backend: str) -> int:
    """Inside that process: decides one test of a family and prints how long it took."""
    from axioms.engine import decide
    from ptxmm.api import model_named
    from ptxmm.pipeline import build

    _bound_memory()
    forced = None if backend == "-" else backend
    model = model_named(MODEL)
    small = _member(family, 2)
    decide(build(small, 4, False), model, engine=engine, backend=forced, max_states=1)  # imports what is imported late
    test = _member(family, int(n))
    start = time.perf_counter()
    decision = decide(build(test, 4, False), model, engine=engine, backend=forced, max_states=1)
    seconds = time.perf_counter() - start
    holds = {
        "exists": decision.positive > 0,
        "~exists": decision.positive == 0,
        "forall": decision.negative == 0,
    }[test.condition.quantifier]
    expected = holds and decision.positive + decision.negative > 0 and decision.undefined is None
    print(json.dumps({"seconds": seconds, "expected": expected}))
    return 0


def _member(family: str, n: int) -> Test:
    from litmus import families

    function, options, _ = FAMILIES[family]
    make: Callable[..., Test] = getattr(families, function)
    return make(n, **options)


def _bound_memory() -> None:
    try:
        import resource
    except ImportError:  # no such limits on this system
        return
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, resource.getrlimit(resource.RLIMIT_AS)[1]))


# Pieces.


def _command() -> list[str]:
    """The console script of this interpreter's environment, or the module where nobody installed it."""
    script = Path(sys.executable).with_name("ptxmm")
    return [str(script)] if script.is_file() else [sys.executable, "-m", "ptxmm"]


def _wall(command: Sequence[str], folder: str, limit: float | None = None) -> float:
    environment = dict(os.environ)
    if command[0] == sys.executable:
        environment["PYTHONPATH"] = str(ROOT)
    start = time.perf_counter()
    subprocess.run(
        command,
        cwd=folder,
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        check=False,
        timeout=limit,
    )
    return time.perf_counter() - start


def _time(seconds: float) -> str:
    if seconds < 0.1:
        return f"{1000 * seconds:.1f} ms"
    return f"{1000 * seconds:.0f} ms" if seconds < 1 else f"{seconds:.1f} s"


def _spread(times: Sequence[float]) -> str:
    ordered = sorted(times)
    return f"{_time(statistics.median(ordered))} / {_time(ordered[int(0.9 * (len(ordered) - 1))])}"


def _machine() -> str:
    def versions() -> Iterator[str]:
        from importlib.metadata import PackageNotFoundError, version

        for name in ("z3-solver", "python-sat"):
            try:
                yield f"{name} {version(name)}"
            except PackageNotFoundError:
                yield f"no {name}"

    count = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return (
        f"{platform.python_implementation()} {platform.python_version()}, {', '.join(versions())}, {count} processors"
    )


if __name__ == "__main__":
    sys.exit(main())
