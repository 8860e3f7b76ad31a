"""Rules of the synchronization instructions that the memory model rests on: which modifiers go together, what they
need, and where ptxas and the manual part (PTX ISA 9.0, section 9.7.13)."""

from __future__ import annotations

import pytest

from ptxcore.check.constants import check_values
from ptxcore.check.mismatch import OperandMismatch
from ptxcore.check.operands import arrange, judge
from ptxcore.isa import synchronization
from ptxcore.isa.form import Use
from ptxcore.isa.matching import Misfit
from ptxcore.isa.table import candidates
from ptxcore.isa.targets import missing, target, version
from ptxcore.places import SCOPES


def uses(text: str, manual: bool = False) -> tuple[Use, ...]:
    opcode, *modifiers = text.split(".")
    found = candidates(opcode, tuple(modifiers), manual=manual)
    assert found is not None, text
    return () if isinstance(found, Misfit) else found


BOTH, PTXAS, MANUAL, NEITHER = (True, True), (True, False), (False, True), (False, False)


@pytest.mark.parametrize(
    ("text", "taken"),
    [
        ("fence.gpu", BOTH),
        ("fence.cta.sc", BOTH),
        ("fence.sc", NEITHER),
        ("fence.relaxed.gpu", NEITHER),
        ("fence.acquire.sync_restrict::shared::cluster.cluster", BOTH),
        ("fence.release.sync_restrict::shared::cluster.cluster", NEITHER),
        ("fence.release.sync_restrict::shared::cta.cluster", BOTH),
        ("fence.release.sync_restrict::shared::cta.gpu", NEITHER),
        ("fence.mbarrier_init.release.cluster", BOTH),
        ("fence.mbarrier_init.acquire.cluster", NEITHER),
        ("fence.mbarrier_init.sync_restrict::shared::cta.release.cluster", PTXAS),
        ("fence.proxy.async.global", BOTH),
        ("fence.proxy.global.async", BOTH),
        ("fence.proxy.async.shared", NEITHER),
        ("fence.alias.proxy", NEITHER),
        ("fence.proxy.alias.gpu", NEITHER),
        ("fence.proxy.alias.sync_restrict::shared::cta", PTXAS),
        ("fence.proxy.tensormap::generic.acquire.gpu", BOTH),
        ("fence.proxy.tensormap::generic.gpu", NEITHER),
        ("fence.proxy.async::generic.acquire.sync_restrict::shared::cluster.cluster", BOTH),
        ("fence.proxy.async::generic.acquire.sync_restrict::shared::cluster.sys", NEITHER),
        ("membar.gl", BOTH),
        ("membar.gpu", NEITHER),
        ("membar.proxy.alias", BOTH),
        ("membar.proxy.async", MANUAL),
        ("atom.acquire.global.add.u32", BOTH),
        ("atom.weak.global.add.u32", NEITHER),
        ("atom.add.s64", NEITHER),
        ("atom.min.f32", NEITHER),
        ("atom.add.f16", NEITHER),
        ("atom.add.noftz.f16", BOTH),
        ("atom.min.noftz.f16", NEITHER),
        ("atom.v2.min.noftz.f16", BOTH),
        ("atom.v8.add.noftz.f16x2", NEITHER),
        ("atom.shared.v2.add.f32", NEITHER),
        ("atom.shared.add.L2::cache_hint.u32", NEITHER),
        ("atom.cas.L2::cache_hint.b32", NEITHER),
        ("red.release.gpu.add.u32", BOTH),
        ("red.acquire.gpu.add.u32", NEITHER),
        ("red.exch.b32", NEITHER),
        ("red.async.relaxed.cluster.mbarrier::complete_tx::bytes.inc.u32", BOTH),
        ("red.async.relaxed.gpu.global.add.u32", PTXAS),
        ("red.async.release.gpu.global.inc.u32", PTXAS),
        ("red.async.release.cluster.global.add.u32", MANUAL),
        ("mbarrier.arrive.release.cluster.shared::cta.b64", BOTH),
        ("mbarrier.arrive.release.b64", MANUAL),
        ("mbarrier.arrive.cta.b64", MANUAL),
        ("mbarrier.arrive.release.gpu.b64", NEITHER),
        ("mbarrier.arrive.noComplete.relaxed.cta.b64", NEITHER),
        ("mbarrier.arrive.noComplete.shared::cluster.b64", NEITHER),
        ("mbarrier.test_wait.release.cta.b64", NEITHER),
        ("mbarrier.test_wait.shared::cluster.b64", NEITHER),
        ("mbarrier.shared.init.b64", NEITHER),
        ("barrier.cluster.arrive.acquire", NEITHER),
        ("barrier.cluster.wait.acquire.aligned", BOTH),
        ("bar.sync.cta", NEITHER),
        ("barrier.aligned.sync", BOTH),
        ("vote.sync.all.uni.pred", NEITHER),
        ("vote.sync.all.b32", NEITHER),
        ("redux.sync.add.f32", NEITHER),
        ("redux.sync.max.abs.s32", NEITHER),
        ("tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned", BOTH),
        ("tensormap.cp_fenceproxy.shared::cta.global.tensormap::generic.release.gpu.sync.aligned", NEITHER),
    ],
)
def test_modifiers_go_together_as_measured_and_as_written(text: str, taken: tuple[bool, bool]) -> None:
    assert (bool(uses(text)), bool(uses(text, manual=True))) == taken


def wants(text: str, where: str, manual: bool = False) -> bool:
    """Whether something is missing where `text` stands, a target and a version."""
    name, number = where.split()
    use = uses(text, manual)[0]
    have = version(number), target(name)
    gone = bool(use.form.until) and missing(use.form.until, *have) is None
    return gone or any(missing(gate, *have) is not None for _, gate in use.gates(manual=manual))


@pytest.mark.parametrize(
    ("text", "enough", "short"),
    [
        ("atom.global.add.u32", "sm_11 1.1", "sm_10 9.0"),
        ("atom.add.u32", "sm_20 2.0", "sm_13 9.0"),
        ("atom.shared.add.u64", "sm_20 2.0", "sm_13 9.0"),
        ("atom.and.b64", "sm_32 4.0", "sm_30 9.0"),
        ("atom.cta.global.add.u32", "sm_60 5.0", "sm_53 9.0"),
        ("atom.relaxed.global.add.u32", "sm_70 6.0", "sm_62 9.0"),
        ("atom.acq_rel.cluster.global.add.u32", "sm_90 7.8", "sm_89 9.0"),
        ("atom.sys.cas.b128", "sm_90 8.4", "sm_90 8.3"),
        ("atom.gpu.cas.b128", "sm_90 8.3", "sm_90 8.2"),
        ("fence.sc.gpu", "sm_70 6.0", "sm_62 9.0"),
        ("fence.sc.cluster", "sm_90 7.8", "sm_89 7.8"),
        ("fence.proxy.alias", "sm_70 7.5", "sm_70 7.4"),
        ("fence.proxy.async", "sm_90 8.0", "sm_90 7.8"),
        ("fence.proxy.tensormap::generic.release.gpu", "sm_90 8.3", "sm_90 8.2"),
        ("membar.sys", "sm_20 2.0", "sm_13 9.0"),
        ("vote.all.pred", "sm_75 6.3", "sm_70 6.4"),
        ("redux.sync.min.f32", "sm_103f 8.8", "sm_110f 9.0"),
        ("mbarrier.arrive.relaxed.cta.b64", "sm_90 8.6", "sm_90 8.5"),
        ("mbarrier.test_wait.parity.b64", "sm_80 7.1", "sm_80 7.0"),
    ],
)
def test_modifiers_need_what_brought_them(text: str, enough: str, short: str) -> None:
    for manual in (False, True):
        assert not wants(text, enough, manual)
        assert wants(text, short, manual)


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("fence.acquire.gpu", "sm_70 6.0"),
        ("fence.release.cta", "sm_90 8.5"),
        ("atom.shared::cta.add.u32", "sm_20 7.8"),
        ("bar.sync", "sm_10 1.0"),
    ],
)
def test_the_manual_asks_for_more_than_ptxas(text: str, where: str) -> None:
    assert not wants(text, where)
    assert all(
        any(missing(gate, version(where.split()[1]), target(where.split()[0])) for _, gate in use.gates(manual=True))
        for use in uses(text, manual=True)
        if not any("imm" in p.flags for p in use.form.pattern.parameters)
    )


STATE, SHARED_ADDRESS = "b64", ("[", ("var", "shared", "b64"))


@pytest.mark.parametrize(
    ("text", "kinds", "fits"),
    [
        ("mbarrier.arrive.shared::cta.b64", (STATE, SHARED_ADDRESS), True),
        ("mbarrier.arrive.shared::cta.b64", ("_", SHARED_ADDRESS), True),
        ("mbarrier.arrive.shared::cluster.b64", (STATE, SHARED_ADDRESS), False),
        ("mbarrier.arrive.shared::cluster.b64", ("_", SHARED_ADDRESS), True),
        ("mbarrier.arrive.b64", (STATE, ("[", ("var", "global", "b64"))), False),
        ("atom.add.u32", ("_", ("[", "b64"), "b32"), True),
        ("atom.add.u32", ("b32", ("[", "b64"), "b32", "b64"), False),
        ("atom.add.L2::cache_hint.u32", ("b32", ("[", "b64"), "b32", "b64"), True),
        ("atom.add.L2::cache_hint.u32", ("b32", ("[", "b64"), "b32"), False),
        ("atom.v2.add.f32", (("{", "f32", "_"), ("[", "b64"), ("{", "f32", "f32")), True),
        ("atom.v2.add.f32", ("f32", ("[", "b64"), "f32"), False),
        ("fence.proxy.tensormap::generic.acquire.gpu", (("[", "b64"), "int"), True),
        ("fence.proxy.tensormap::generic.acquire.gpu", (), False),
        ("fence.proxy.tensormap::generic.release.gpu", (), True),
        ("elect.sync", (("|", "_", "pred"), "b32"), True),
        ("elect.sync", (("|", "b32", "_"), "b32"), False),
        ("elect.sync", ("b32", "b32"), False),
        ("match.all.sync.b32", (("|", "b32", "_"), "b32", "b32"), True),
        ("match.all.sync.b32", (("|", "_", "_"), "b32", "b32"), False),
    ],
)
def test_operands_of_barrier_objects_atomics_and_fences(text: str, kinds: tuple[object, ...], fits: bool) -> None:
    assert isinstance(judge(uses(text), kinds), Use) is fits


@pytest.mark.parametrize(
    ("text", "values", "fits"),
    [
        ("bar.sync", (15,), True),
        ("bar.sync", (16,), False),
        ("bar.sync", (0, 64), True),
        ("bar.sync", (0, 33), False),
        ("bar.sync", (0, 0), True),
        ("bar.arrive", (0, 0), False),
        ("fence.proxy.tensormap::generic.acquire.gpu", (None, 64), False),
        ("fence.proxy.tensormap::generic.acquire.gpu", (None, 128), True),
        ("mbarrier.test_wait.parity.b64", (None, None, 2), False),
        ("mbarrier.arrive.b64", (None, None, 0), False),
    ],
)
def test_constants_that_stand(text: str, values: tuple[int | None, ...], fits: bool) -> None:
    use = next(use for use in uses(text) if arrange(use, len(values)) is not None)
    places = arrange(use, len(values))
    assert places is not None
    assert (not isinstance(check_values(use, places, values), OperandMismatch)) is fits


def test_scopes_are_those_of_the_places() -> None:
    """One definition of a scope: no form names another, and every word of SCOPES stands in an atomic."""
    for form in synchronization.FORMS:
        for slot in form.pattern.slots:
            if slot.name == "scope" and form.mnemonic != "membar":
                assert set(slot.words) <= set(SCOPES)
    assert all(uses(f"atom.{scope}.add.u32") for scope in SCOPES)


def test_every_section_of_the_manual_has_forms() -> None:
    sections = list(dict.fromkeys(form.section for form in synchronization.FORMS))
    assert len(sections) == 26
    assert all(section.startswith("9.7.13.") for section in sections)
