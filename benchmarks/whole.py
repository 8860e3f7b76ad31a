"""What whole launches take to be decided: processor time and memory of `ptxmm check`, by kernel.

    python benchmarks/whole.py                          the kernels of tests/kernels/launches, right and with each mistake
    python benchmarks/whole.py last_block splitk        some of them
    python benchmarks/whole.py ../shared/launches/*.toml    kernel tests in files
    python benchmarks/whole.py --limit 120              seconds for each, 60 otherwise

Columns: the threads of the launch; the verdict, with `!` where the test expects another one; seconds of processor time of the
whole command, and of a run of all threads without a check; the most memory, in MB. Each is decided in a process of its own.
`benchmarks/launches.py` has the warp-specialised kernels of named barriers, beside Weft.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[1]
if str(ROOT) not in sys.path:  # a checkout that nobody installed
    sys.path.insert(0, str(ROOT))

KEPT = ROOT / "tests" / "kernels" / "launches"
_HEAD = f"{'kernel':34} {'threads':>8}  {'verdict':10} {'CPU s':>7} {'run s':>7} {'MB':>7}"


class Row(NamedTuple):
    """What was measured of one test; `run`: of a run without a check, None where it cannot be made."""

    name: str
    threads: int
    verdict: str
    passed: bool
    seconds: float
    run: float | None
    megabytes: float

    def __str__(self) -> str:
        run = "" if self.run is None else f"{self.run:.2f}"
        verdict = self.verdict + "!" * (not self.passed)
        return f"{self.name:34} {self.threads:>8,}  {verdict:10} {self.seconds:>7.2f} {run:>7} {self.megabytes:>7.0f}"


def tests(names: list[str]) -> Iterator[str]:
    """The tests that are asked for, as `ptxmm check` takes them."""
    from ptxmm.kernels.toml import read

    folders = {path.parent.name: path for path in sorted(KEPT.glob("*/test.toml"))}
    for path in [folders.get(name, Path(name)) for name in names] or folders.values():
        yield from (f"{path}:{variant}" if variant else str(path) for variant in read(path).variants)


def measured(test: str, limit: float) -> Row:
    """Decides a test in a process of its own."""
    import ptxmm
    from ptxmm.kernels.whole import threads_of

    path = Path(test.partition(":")[0])
    name = f"{path.parent.name if path.stem == 'test' else path.stem}:{test.partition(':')[2]}".rstrip(":")
    command = [sys.executable, "-m", "ptxmm", "check", test, "--format", "json", "--timeout", str(limit)]
    child = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env={**os.environ, "PYTHONPATH": str(ROOT)}
    )
    assert child.stdout is not None
    output = child.stdout.read()
    _, _, usage = os.wait4(child.pid, 0)
    child.returncode = 0
    found = json.loads(output)["tests"][0]
    kernel: Any = ptxmm.load(test)
    return Row(
        name,
        threads_of(kernel),
        found["verdict"],
        found["verdict"] in (kernel.expect or ("ok",)),
        usage.ru_utime + usage.ru_stime,
        _run(kernel),
        usage.ru_maxrss / 1024,
    )


def _run(kernel: Any) -> float | None:
    """Seconds of processor time of a run that nobody watches, with the module compiled before."""
    from ptxcore.machine.run.faults import KernelError
    from ptxmm.kernels.runs import Runs

    runs, taken = Runs(kernel), None
    try:
        for _ in range(2):
            begun = time.process_time()
            runs.run(None, limit=100_000_000)
            taken = time.process_time() - begun
    except KernelError:
        return None
    return taken


def main() -> int:
    parser = argparse.ArgumentParser(description="Measures what whole launches take to be decided.")
    parser.add_argument("tests", nargs="*", metavar="TEST", help="kernels that are kept, by name, or kernel tests")
    parser.add_argument("--limit", type=float, default=60.0, metavar="SECONDS", help="for each")
    options = parser.parse_args()
    print(_HEAD)
    rows = []
    for test in tests(options.tests):
        rows.append(measured(test, options.limit))
        print(rows[-1], flush=True)
    open_ = sum(row.verdict in ("undecided", "bounded") for row in rows)
    wrong = sum(not row.passed for row in rows) - open_
    most, longest = max((r.megabytes for r in rows), default=0), max((r.seconds for r in rows), default=0)
    print(f"{len(rows)} tests: {wrong} with another verdict than expected, {open_} left open", end="; ")
    print(f"at most {most:.0f} MB, {longest:.1f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
