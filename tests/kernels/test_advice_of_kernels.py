"""What `lint` advises about kernels whose verdicts are known: nothing about those that are right, and what mends those that are
wrong mends them, which a check proves."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from campaigns import lengths

import ptxmm
from ptxcore.fixes import applied
from ptxmm.linting import lint_text, read

ROOT = Path(__file__).resolve().parents[2]
GATE = ROOT / "tests" / "kernels" / "gate"
SHARED = ROOT.parent / "shared"
#: Modules that nothing is wrong with: ours, pairs from public reports, launches as libraries have them, what compilers print.
RIGHT = [
    *(path for path in GATE.glob("*/*.ptx") if path.name != "buggy.ptx"),
    *ROOT.glob("tests/kernels/locks/*.correct.ptx"),
    *(path for name in ("fixed", "ok") for path in SHARED.glob(f"kernels/*/{name}.ptx")),
    *SHARED.glob("launches/patterns/*/fixed.ptx"),
    *SHARED.glob("launches/*.ptx"),
    *(
        path for path in SHARED.glob("real/*.ptx") if not path.name.startswith("atomics.")
    ),  # which mix accesses on purpose
]
WRONG = sorted(GATE.glob("*/buggy.ptx"))
#: Those of which the fixes that are offered are all that is missing.
MENDED = {
    "atomic_float", "bulk_reduce", "bulk_reduce_cluster", "cache_hints", "clh_lock", "cuda_barrier_device",
    "dissemination_barrier", "hierarchical_count", "hoisted_spin", "latch", "mpmc_two_by_two", "mutex_wait", "nccl_simple_step",
    "nv_atomic_cluster_lock", "ptx_bulk_store", "semaphore_lock", "system_fence", "ticket_relaxed", "timeout_spin",
    "timeout_trap", "ttas_exchange_relaxed", "ttas_nanosleep", "volatile_flag",
}  # fmt: skip


@pytest.mark.parametrize("every", lengths(6, 1))
def test_nothing_is_advised_about_what_is_right(every: int) -> None:
    found = {
        str(path): [(d.span.line, d.code) for d in lint_text(read(path)) if d.code != "later-version"]
        for path in RIGHT[::every]
    }
    assert len(found) >= (240 if SHARED.exists() else 180) / every
    assert {path: advice for path, advice in found.items() if advice} == {}


@pytest.mark.long
def test_a_fix_leaves_a_module_without_errors_and_without_what_it_mends() -> None:
    codes: dict[str, int] = {}
    for path in WRONG:
        text = read(path)
        found = lint_text(text)
        new, mended = applied(text, found)
        left = lint_text(new)
        assert all(d.severity == "warning" for d in left), path
        assert {d.code for d in mended} & {d.code for d in left} == set(), path
        assert applied(new, left)[0] == new or {d.code for d in left} - {d.code for d in found}
        for finding in mended:
            codes[finding.code] = codes.get(finding.code, 0) + 1
    assert len(codes) >= 8 and sum(codes.values()) >= 30, codes


@pytest.mark.part(4)
@pytest.mark.parametrize("name", sorted(MENDED))
def test_what_mends_a_kernel_makes_it_right(name: str, tmp_path: Path) -> None:
    folder = tmp_path / name
    shutil.copytree(GATE / name, folder)
    assert ptxmm.check(ptxmm.load(f"{folder}/test.toml:buggy")).verdict in ("no", "undefined")
    text = read(folder / "buggy.ptx")
    (folder / "buggy.ptx").write_text(applied(text, lint_text(text))[0])
    assert ptxmm.check(ptxmm.load(f"{folder}/test.toml:buggy")).verdict == "ok"
