"""How fast PTX modules are read and checked, and what they take in memory.

    python benchmarks/ptx.py                  a sort kernel of 0.7 MB, when the reference material lies beside the repository
    python benchmarks/ptx.py FILE.ptx ...     other modules

Times are the best of several runs, of one processor alone; MB are 10^6 bytes. Heap is in bytes for each byte of source: what
a module holds, and the most that reading and checking it take on the way.
"""

from __future__ import annotations

import argparse
import gc
import sys
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
if str(ROOT) not in sys.path:  # a checkout that nobody installed
    sys.path.insert(0, str(ROOT))

from ptxcore.check.module import check  # noqa: E402
from ptxcore.syntax.reader import read_module  # noqa: E402

SORT = ROOT / ".." / "shared" / "real" / "cub_sort.sm_90.ptx"


def main() -> int:
    parser = argparse.ArgumentParser(description="Measures reading and checking of PTX modules.")
    parser.add_argument("files", nargs="*", type=Path, default=[SORT], metavar="FILE")
    parser.add_argument("--repeat", type=int, default=10, metavar="N", help="runs that the best is taken of")
    options = parser.parse_args()
    columns = f"{'statements':>10} {'read MB/s':>10} {'read, checked MB/s':>19} {'heap held':>10} {'at most':>8}"
    print(f"{'module':32} {'MB':>6} {columns}")
    for path in options.files:
        if not path.is_file():
            print(f"{path.name}: not here")
            continue
        measure(path, options.repeat)
    return 0


def measure(path: Path, repeat: int) -> None:
    """One line of the table."""
    text = path.read_text(encoding="utf-8", errors="replace")
    size = len(text.encode()) / 1e6
    module, found = read_module(text)
    if found:
        print(f"{path.name}: line {found[0].span.line}: {found[0].message}")
        return
    reading = best(lambda: read_module(text), repeat)
    checking = best(lambda: check(read_module(text)[0]), max(1, repeat // 3))
    held, most = (heap_bytes / size / 1e6 for heap_bytes in heap(text))
    print(f"{path.name:32} {size:6.2f} {len(module.statements):10} {size / reading:10.1f} "
          f"{size / checking:19.1f} {held:10.1f} {most:8.1f}")  # fmt: skip


def best(run: Callable[[], object], repeat: int) -> float:
    """The shortest of several times, in seconds; results are dropped between them."""
    times = []
    for _ in range(max(1, repeat)):
        start = time.process_time()
        result = run()
        times.append(time.process_time() - start)
        del result
    return min(times)


def heap(text: str) -> tuple[int, int]:
    """Bytes that a module holds, its source not counted, and the most that reading and checking it take."""
    gc.collect()
    tracemalloc.start()
    try:
        module, faults = read_module(text)
        check(module, faults=faults)
        most = tracemalloc.get_traced_memory()[1]
        gc.collect()
        held = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    return held, most


if __name__ == "__main__":
    raise SystemExit(main())
