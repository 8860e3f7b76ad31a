"""The models that ship differ where they are meant to and nowhere else: outcome sets on the library and on public tests."""

from __future__ import annotations

from pathlib import Path

import pytest

LIBRARY = Path(__file__).resolve().parents[3] / "litmus" / "library"
DAT3M = Path(__file__).resolve().parents[4] / "shared" / "litmus" / "dat3m"
#: Topics that are mostly about what ptx-7.5 has no words for: clusters, barrier objects, copies, kernels, single bytes.
SINCE_9_0 = ("model", "asynchronous", "kernels")
SHIPPED = sorted(
    path
    for path in LIBRARY.rglob("*.litmus")
    if path.parent.name not in SINCE_9_0 and "; kernel " not in path.read_text(encoding="utf-8")
)
FILES = [*SHIPPED, *sorted(DAT3M.rglob("*.litmus"))]
IDS = [str(path.relative_to(LIBRARY if LIBRARY in path.parents else DAT3M).with_suffix("")) for path in FILES]

#: The tests that ptx-9.0 and ptx-7.5 answer differently, each with the outcomes that only ptx-9.0 allows. None of the public
#: ones is among them.
MORE_SINCE_9_0: dict[str, list[dict[str, int]]] = {
    # A reduction, or an atom whose result is thrown away, stands before an acquire fence: since 9.0 the manual says
    # (8.11.1) that this is no acquire pattern (clause C10).
    "manual/MP+rel+red-fence.acquire": [{"1:r1": 0, "flag": 2}],
    "message-passing/MP+rel+sink-fence.acquire": [{"1:r1": 0, "f": 2}],
    # A weak read that is not ordered after a weak write of several bytes may return some of them (8.10.3, clause C22);
    # ptx-7.5 knows no bytes.
    "message-passing/MP+rel+acq-64": [{"1:r0": 0, "1:rd1": 2}, {"1:r0": 0, "1:rd1": 1 << 32}],
    # A fence for tensor maps orders generic accesses with those through their proxy (8.6, 9.7.13.4). ptx-7.5 has no such
    # proxy, and takes it for a fence.
    "proxies/MP+fence.proxy.tensormap": [{"1:r0": 1, "1:r1": 0}],
}


def _states(path: Path, model: str) -> list[dict[str, int]]:
    import ptxmm

    result = ptxmm.check(ptxmm.load(path), model=model, all_registers=True)
    assert result.listed_all
    return result.states


@pytest.mark.skipif(not DAT3M.is_dir(), reason=f"the reference tests are not at {DAT3M}")
def test_the_public_tests_are_read() -> None:
    assert sum(DAT3M in path.parents for path in FILES) == 128


@pytest.mark.part(24)
@pytest.mark.parametrize(("path", "name"), list(zip(FILES, IDS, strict=True)), ids=IDS)
def test_a_newer_model_allows_what_an_older_one_does_but_for_what_is_listed(path: Path, name: str) -> None:
    newest, newer, oldest = (_states(path, model) for model in ("ptx-9.0", "ptx-7.5", "ptx-6.0"))
    assert [s for s in newer if s not in newest] == []
    assert [s for s in newest if s not in newer] == MORE_SINCE_9_0.get(name, [])
    # ptx-6.0 has no proxies and takes every access to a location for a generic one, so it may only allow less there.
    assert [s for s in oldest if s not in newer] == []
    assert newer == oldest or " aliases " in path.read_text()
