"""Which conversions there are: rules that hold for all types, told independently of the declarations."""

from __future__ import annotations

import itertools

import pytest

from ptxcore.isa.matching import Misfit
from ptxcore.isa.table import candidates
from ptxcore.isa.targets import missing, target, version

INTEGERS = ("u8", "u16", "u32", "u64", "s8", "s16", "s32", "s64")
FLOATS = ("f16", "bf16", "f32", "f64")
PRECISION = {"f16": (11, 5), "bf16": (8, 8), "f32": (24, 8), "f64": (53, 11)}  # bits of significand and exponent


def is_declared(statement: str, *, manual: bool = False) -> bool:
    opcode, *modifiers = statement.split(".")
    found = candidates(opcode, tuple(modifiers), manual=manual)
    return found is not None and not isinstance(found, Misfit)


def values(name: str) -> range:
    bits = int(name[1:])
    return range(-(1 << (bits - 1)), 1 << (bits - 1)) if name[0] == "s" else range(1 << bits)


@pytest.mark.parametrize(("d", "a"), [*itertools.product(INTEGERS, INTEGERS)])
def test_integers_saturate_exactly_where_a_value_can_be_out_of_range(d: str, a: str) -> None:
    fits = values(a)[0] in values(d) and values(a)[-1] in values(d)
    assert is_declared(f"cvt.{d}.{a}")
    assert is_declared(f"cvt.sat.{d}.{a}") is not fits


@pytest.mark.parametrize(("d", "a"), [*itertools.product(FLOATS, FLOATS)])
def test_a_rounding_is_asked_for_exactly_where_precision_is_lost(d: str, a: str) -> None:
    exact = all(to >= of for to, of in zip(PRECISION[d], PRECISION[a], strict=True))
    if {d, a} == {"f16", "bf16"}:
        exact = True  # ptxas rounds to nearest here where nothing is said
    assert is_declared(f"cvt.{d}.{a}") is exact
    if not exact:
        assert all(is_declared(f"cvt.{rounding}.{d}.{a}") for rounding in ("rn", "rz", "rm", "rp"))


@pytest.mark.parametrize(("i", "f"), [*itertools.product(INTEGERS, FLOATS)])
def test_between_integers_and_floats_a_rounding_is_always_asked_for(i: str, f: str) -> None:
    assert not is_declared(f"cvt.{i}.{f}")
    assert not is_declared(f"cvt.{f}.{i}")
    assert is_declared(f"cvt.rzi.{i}.{f}")
    assert is_declared(f"cvt.rn.{f}.{i}")
    assert not is_declared(f"cvt.rn.{i}.{f}")
    assert not is_declared(f"cvt.rni.{f}.{i}")


@pytest.mark.parametrize(("d", "a"), [*itertools.product((*INTEGERS, *FLOATS), repeat=2)])
def test_subnormals_are_flushed_only_beside_singles(d: str, a: str) -> None:
    roundings = ("", "rn.", "rni.")
    assert any(is_declared(f"cvt.{r}ftz.{d}.{a}") for r in roundings) is ("f32" in (d, a))


@pytest.mark.parametrize(
    ("statement", "needs"),
    [
        ("cvt.rn.f16.f32", "1.0 sm_10"),
        ("cvt.rn.bf16.f32", "7.0 sm_80"),
        ("cvt.rn.relu.f16.f32", "7.0 sm_80"),
        ("cvt.rn.satfinite.bf16x2.f32", "8.1 sm_80"),
        ("cvt.rna.tf32.f32", "7.0 sm_80"),
        ("cvt.rz.tf32.f32", "7.8 sm_90"),
        ("cvt.rz.satfinite.tf32.f32", "8.6 sm_100"),
        ("cvt.rn.satfinite.e4m3x2.f32", "8.1 sm_89"),
        ("cvt.rn.satfinite.e4m3x2.f32", "7.8 sm_90"),
        ("cvt.rn.satfinite.e2m1x2.f32", "8.6 sm_120a"),
        ("cvt.rn.satfinite.e2m1x2.f32", "8.8 sm_100f"),
        ("cvt.rs.f16x2.f32", "8.7 sm_100a"),
        ("cvt.pack.sat.u4.s32.b32", "6.5 sm_75"),
        ("cvta.param.u64", "7.7 sm_70"),
    ],
)
def test_a_conversion_is_there_from_its_gate_on_and_not_before(statement: str, needs: str) -> None:
    opcode, *modifiers = statement.split(".")
    uses = candidates(opcode, tuple(modifiers))
    assert isinstance(uses, tuple)
    name, where = needs.split()

    def allowed(at: str, on: str) -> bool:
        return any(all(missing(gate, version(at), target(on)) is None for _, gate in use.gates()) for use in uses)

    assert allowed(name, where)
    major, minor = version(name)
    if (major, minor) != (1, 0):
        assert not allowed(f"{major}.{minor - 1}" if minor else f"{major - 1}.9", where)
        assert not allowed(name, "sm_62")


def test_what_only_ptxas_takes_is_no_conversion_of_the_manual() -> None:
    assert is_declared("cvt.rn.satfinite.e2m1x2.f16x2")
    assert not is_declared("cvt.rn.satfinite.e2m1x2.f16x2", manual=True)
