"""Kernels of the gate with one thing wrong: the repair that is found costs at most what the known fix does, which is the
difference of the two modules as edits. `known_fixes.py` tells of each kernel what became of it."""

from __future__ import annotations

from pathlib import Path

import known_fixes
import pytest
from known_fixes import Compared, Fix, NotExpressible, compared, pairs, stem

from ptxcore.syntax.reader import read_module
from ptxcore.syntax.tree import Instruction

AS_GOOD = ("as the known fix", "cheaper than the known fix")
BOTH = {Path(wrong).parent.name: (wrong, right) for wrong, right in pairs() if "gate" in wrong}
#: What is known and what is found, of a fix of each kind that takes a second at most.
FEW = {
    "cluster_exit": "known: cost 18, 1 edits; found: cost 18, 1 edits: barrier.cluster.arrive; barrier.cluster.wait is put in",
    "bulk_store_unawaited": "known: cost 5, 1 edits; found: cost 5, 1 edits: cp.async.bulk.wait_group.read 0 is put in",
    "tma_store_wait": "known: cost 5, 1 edits; found: cost 5, 1 edits: cp.async.bulk.wait_group.read 0 is put in",
    "bulk_store_published": "found: cost 3, 1 edits: cp.async.bulk.wait_group.read 0 becomes cp.async.bulk.wait_group 0",
    "dekker": "known: cost 17, 1 edits; found: cost 17, 1 edits: fence.acq_rel.gpu becomes fence.sc.gpu",
    "cluster_scope_across_clusters": "found: cost 5, 1 edits: st.release.cluster.global.u32 becomes st.release.gpu.global.u32",
    "atomic_float": "found: cost 4, 1 edits: atom.global.cta.add.f32 becomes atom.relaxed.gpu.global.add.f32",
}


@pytest.mark.part(4)
@pytest.mark.parametrize("name", FEW)
def test_a_repair_costs_at_most_what_the_known_fix_does(name: str) -> None:
    became = compared(*BOTH[name])
    assert became.what in AS_GOOD and FEW[name] in became.told, became


@pytest.mark.campaign
@pytest.mark.parametrize("name", BOTH)
def test_each_repair_of_the_gate_costs_at_most_what_the_known_fix_does(name: str) -> None:
    became = compared(*BOTH[name])
    assert became.what in (
        *AS_GOOD,
        "known fix not expressible",
        "none in time",
        "dearer, a cheaper one not excluded",
    ), became


def test_a_dearer_repair_would_be_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(known_fixes, "cost_of", lambda sites, vector: 1)
    became = compared(*BOTH["atomic_float"])
    assert became.what == "dearer than the known fix" and "known: cost 1, 1 edits; found: cost 4" in became.told


def test_what_is_no_edit_is_told() -> None:
    assert compared(*BOTH["bit_flags"]) == Compared(
        "known fix not expressible", "the memory accesses, fences and barriers are the same"
    )
    assert compared(*BOTH["float_cas_add"]) == Compared("known fix not expressible", "st is gone or other")


def test_statements_differ_by_more_than_order_and_scope() -> None:
    text = "ld.acquire.gpu.u32 a, [b]; ld.u32 a, [b]; atom.add.u32 a, [b], 1; atom.exch.u32 a, [b], 1; membar.gl; fence.sc.cta;"
    module = read_module(f".version 8.0\n.target sm_90\n.entry k() {{ {text} }}")[0]
    load, weak, add, exch, membar, fence = (stem(s) for s in module.statements if isinstance(s, Instruction))
    assert load == weak and membar == fence and len({load, add, exch, membar}) == 4
    fix = Fix(())
    with pytest.raises(NotExpressible, match=r"atom\.add is gone or other"):
        fix.bodies(
            [s for s in module.statements if isinstance(s, Instruction)][2:3],
            [s for s in module.statements if isinstance(s, Instruction)][3:4],
        )
