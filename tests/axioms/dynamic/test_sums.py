"""Sums of floating-point numbers by atomic operations: those that are the same in any order are values, and of the others all
is decided but what hangs on them."""

from __future__ import annotations

import struct
import tomllib
from itertools import permutations
from random import Random

import pytest
from by_runs import by_runs, compare
from campaigns import lengths

from axioms.dynamic.core.sums import Sums
from ptxcore.clock import OutOfTime
from ptxcore.values.floats import fconvert
from ptxcore.values.ieee import FORMATS, FloatFormat, add, flush
from ptxmm.api import model_named
from ptxmm.kernels import check as checking
from ptxmm.kernels.test import KernelTest
from ptxmm.kernels.toml import KernelFile

TYPES = ("f16", "bf16", "f32", "f64")


def bits_of(value: float, type_: str) -> int:
    found = fconvert("f64", type_, int.from_bytes(struct.pack("<d", value), "little"))
    assert isinstance(found, int)
    return found


def some_numbers(draw: Random, type_: str, count: int) -> list[int]:
    """Bits of numbers that often add up exactly, and of some that do not."""
    form = FORMATS[type_]
    unit = 2.0 ** draw.choice((0, 0, -3, 5, form.lowest + form.fraction, form.lowest))
    large = 1 << draw.choice((2, 3, form.fraction - 1, form.fraction, form.fraction + 1))
    numbers = [bits_of(unit * draw.randint(-large, large), type_) for _ in range(count)]
    if draw.random() < 0.2:
        numbers[draw.randrange(count)] = draw.choice((form.sign_bit, form.infinity, form.nan, form.largest, 1))
    return numbers


def flushed(form: FloatFormat, a: int, b: int) -> int:
    """`atom.add.f32` in `.global` memory flushes subnormal numbers."""
    return flush(form, add(form, flush(form, a), flush(form, b)))


@pytest.mark.parametrize("type_", TYPES)
def test_sums_that_are_told_to_be_exact_are_the_same_in_all_orders(type_: str) -> None:
    draw, form, exact, same = Random(type_), FORMATS[type_], 0, 0
    for _ in range(150):
        first, *added = some_numbers(draw, type_, draw.randint(2, 5))
        for step in (add, flushed):
            sums, value, told = Sums(), first, True
            for number in added:
                told = sums.exact((0, 0), type_, value, number)
                value = step(form, value, number)
            results = set()
            for order in permutations(added):
                value = first
                for number in order:
                    value = step(form, value, number)
                results.add(value)
            assert not told or len(results) == 1, (first, added)
            exact, same = exact + told, same + (len(results) == 1)
    assert 60 < exact < same < 300


def test_what_is_written_over_counts_from_then_on_and_halves_are_apart() -> None:
    sums = Sums()
    large, one = bits_of(2.0**24, "f32"), bits_of(1.0, "f32")
    assert sums.exact((0, 0), "f32", 0, one) and sums.exact((0, 4), "f32", large, bits_of(0.0, "f32"))
    assert not sums.exact((0, 0), "f32", large, one)  # 2^24 and 1
    assert not sums.exact((0, 0), "f32", 0, 0)  # nor with what was written later
    half = bits_of(2048.0, "f16")
    assert sums.exact((1, 0), "f16x2", half << 16, bits_of(1.0, "f16"))
    assert not sums.exact((1, 0), "f16x2", half << 16 | bits_of(1.0, "f16"), bits_of(1.0, "f16") << 16)
    assert not sums.exact((2, 0), "f32", None, one)


# Launches.

_HEAD = """.version 9.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 x, .param .u64 m, .param .u64 o)
{
 .reg .pred %p<4>; .reg .b16 %h<4>; .reg .b32 %r<9>; .reg .b64 %rd<9>; .reg .f32 %f<4>; .reg .f64 %d<4>;
 .shared .align 16 .b8 s[1024];
 ld.param.u64 %rd1, [x]; ld.param.u64 %rd2, [m]; ld.param.u64 %rd3, [o];
 mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x; mad.lo.u32 %r4, %r2, %r3, %r1;
 mul.wide.u32 %rd4, %r4, SIZE; add.u64 %rd4, %rd1, %rd4; mul.wide.u32 %rd5, %r4, 4; add.u64 %rd5, %rd3, %rd5;
"""
#: By type: its size, a register, how it is loaded.
_OF = {"f16": (2, "%h1", "b16"), "bf16": (2, "%h1", "b16"), "f32": (4, "%f1", "f32"), "f64": (8, "%d1", "f64")}


def launch(
    body: str, grid: int, block: int, values: list[int], checks: str, type_: str = "f32", first: int = 0, **more: str
) -> KernelTest:
    """A kernel of which each thread has a number of `x` in a register `V`, and adds it by `ADD` to an address."""
    size, register, loaded = _OF[type_]
    noftz = ".noftz" if size == 2 else ""
    text_of_copy = f"cp.reduce.async.bulk.global.shared::cta.bulk_group.add{noftz}.{type_}"
    body = body.replace("REDUCE", text_of_copy).replace("STORE", f"st.shared.{loaded}")
    add = f"red.relaxed.SCOPE.SPACE.add{noftz}.{type_}"
    text = _HEAD.replace("SIZE", str(size)) + f" ld.global.{loaded} {register}, [%rd4];\n" + body + "\n ret;\n}\n"
    for space, scope in (("global", "gpu"), ("shared", "cta")):
        text = text.replace(f"ADD.{space}", add.replace("SPACE", space).replace("SCOPE", scope))
    text = text.replace(" V", f" {register}")
    any_ = more.get("init", repr(values))
    toml = f"""grid = {grid}
block = {block}
ptx = "k.ptx"
[params]
x = {{type = "{"u" + str(8 * size)}", elements = {grid * block}, init = {any_}}}
m = {{type = "{"u" + str(8 * size)}", elements = {max(4, 16 // size)}, init = [{first}]}}
o = {{type = "u32", elements = {grid * block}}}
[check]
{checks}
"""
    return KernelFile.of(tomllib.loads(toml), "k.toml", {"k.ptx": text}).test()


ALL = "race_free = true\nterminates = true\n"
PLAIN = " ADD.global [%rd2], V;"
OVER_SHARED = """ setp.eq.u32 %p1, %r1, 0; @%p1 st.shared.b64 [s], 0; bar.sync 0;
 ADD.shared [s], V; bar.sync 0;"""
DECIDES = f"""{OVER_SHARED} ld.shared.u32 %r5, [s]; setp.ge.u32 %p2, %r5, 1000; @%p2 st.global.u32 [%rd5], 1;"""
STORES = f"""{OVER_SHARED} ld.shared.u32 %r5, [s]; st.global.u32 [%rd5], %r5;"""
#: Each thread adds its number by a copy of 16 bytes.
COPIED = """ shl.b32 %r6, %r1, 4; mov.u32 %r5, s; add.u32 %r6, %r6, %r5;
 st.shared.v4.u32 [%r6], {0, 0, 0, 0}; STORE [%r6], V; fence.proxy.async.shared::cta;
 REDUCE [%rd2], [%r6], 16; cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;"""


@pytest.mark.parametrize("space", ["global", "shared"])
def test_a_number_may_stand_in_the_instruction(space: str) -> None:
    """`atomicAdd(&sum, 1.f)`: the same number of all threads is no register."""
    body = {
        "global": " ADD.global [%rd2], 0f3F800000;",
        "shared": OVER_SHARED.replace(" V;", " 0f3F800000;") + " ld.shared.u32 %r5, [s]; st.global.u32 [%rd2], %r5;",
    }[space]
    body = body if space == "global" else body.replace("st.global", "@%p1 st.global")
    test = launch(body, 1, 64, [0] * 64, f'forall = "m[0] == {bits_of(64.0, "f32")}"\n' + ALL)
    open_, result = by_runs(test)
    assert not open_ and result.verdict == "ok"


def generated(seed: int, bodies: tuple[str, ...] = (PLAIN, PLAIN, DECIDES, STORES)) -> KernelTest:
    draw = Random(seed)
    type_ = draw.choice(TYPES)
    grid, block = draw.choice(((1, 2), (1, 3), (2, 1), (3, 1), (2, 2)))
    body = draw.choice(bodies)
    values = some_numbers(draw, type_, grid * block)
    checks = ALL + draw.choice(("", f'forall = "m[0] == {bits_of(6.0, type_)}"', 'forall = "o[0] == 0 || o[0] > 1"'))
    first = some_numbers(draw, type_, 1)[0] if draw.random() < 0.5 else 0
    return launch(body, grid, block, values, checks, type_, first)


@pytest.mark.compares(0.4)
@pytest.mark.parametrize("seeds", lengths(range(14, 24), range(24, 90)))
def test_one_run_says_of_sums_what_the_formula_says(seeds: range, monkeypatch: pytest.MonkeyPatch) -> None:
    found = compare(generated, seeds, monkeypatch)
    assert found["ok"] > len(seeds) / 8 and found["no"]


def copied(seed: int) -> KernelTest:
    return generated(seed, (*[COPIED] * 5, COPIED + PLAIN))


@pytest.mark.compares(0.4)
@pytest.mark.parametrize("seeds", lengths(range(1), range(1, 12)))
def test_one_run_says_of_sums_of_copies_what_the_formula_says(seeds: range, monkeypatch: pytest.MonkeyPatch) -> None:
    assert compare(copied, seeds, monkeypatch)["ok"]


ONES = [bits_of(1.5, "f32")] * 256
TENTHS = [bits_of(0.1, "f32")] * 256
SUM = f'forall = "m[0] == {bits_of(384.0, "f32")}"\n'


@pytest.mark.parametrize(
    ("body", "values", "checks", "verdict", "said"),
    [
        (PLAIN, ONES, ALL + SUM, "ok", ""),
        (PLAIN, TENTHS, ALL, "ok", ""),
        (PLAIN, TENTHS, ALL + 'exists = "m[0] == 1"', "undecided", "as a sum does by how it is rounded"),
        (PLAIN, TENTHS, ALL + SUM, "no", "forall m[0] == "),
        (COPIED, ONES, ALL + SUM, "ok", ""),
        (COPIED, TENTHS, ALL + 'exists = "m[0] == 1"', "undecided", "as a sum does by how it is rounded"),
        (COPIED, [*ONES[1:], FORMATS["f32"].nan], ALL + SUM, "no", "forall m[0] == "),
        (STORES, TENTHS, ALL, "ok", ""),
        (
            STORES,
            TENTHS,
            ALL + 'never = "o[1] == 7"',
            "undecided",
            "depend on the order of atomic operations or strong writes (k.toml",
        ),
        (DECIDES, ONES, ALL + 'forall = "o[3] == 1"', "ok", ""),
        (DECIDES, TENTHS, ALL, "open", "what writes leave in memory"),
        (PLAIN.replace("[%rd2]", "[%rd3]") + " ld.global.u32 %r5, [%rd3];", ONES, ALL, "no", ""),  # a race
    ],
)
def test_what_hangs_on_a_sum_is_left_open_and_nothing_else(
    body: str, values: list[int], checks: str, verdict: str, said: str
) -> None:
    open_, found = by_runs(launch(body, 4, 64, values, checks))
    assert ("open" if open_ else found.verdict) == verdict
    assert said in (open_ or found.error or "".join(c.message or "" for c in found.checks))


def test_contents_that_may_be_any_are_added_up() -> None:
    open_, found = by_runs(launch(PLAIN, 4, 64, [], ALL, init='"any"'))
    assert not open_ and found.verdict == "ok"
    open_, found = by_runs(launch(PLAIN, 4, 64, [], ALL + SUM, init='"any"'))
    assert not open_ and found.verdict == "no"  # with zeros


@pytest.mark.parametrize("block", lengths(4, 16))
def test_several_runs_know_sums_that_are_exact(block: int) -> None:
    """The last CTA to come, by a ticket, tells the sum."""
    body = """ setp.eq.u32 %p1, %r1, 0; ADD.global [%rd2], V; bar.sync 0; @!%p1 bra OUT;
 fence.acq_rel.gpu; atom.relaxed.gpu.global.add.u32 %r5, [%rd2+4], 1; setp.ne.u32 %p2, %r5, 3; @%p2 bra OUT;
 fence.acq_rel.gpu; ld.global.u32 %r6, [%rd2]; st.global.u32 [%rd3], %r6;
OUT: """
    total = f'forall = "o[0] == {bits_of(4 * block * 1.5, "f32")}"\n'
    open_, found = by_runs(launch(body, 4, block, ONES[: 4 * block], ALL + total))
    assert not open_ and found.verdict == "ok"


def test_the_note_says_what_the_order_decides() -> None:
    _, found = by_runs(launch(PLAIN, 4, 64, TENTHS, ALL))
    assert any("or whose order decides nothing but what they leave in memory" in note for note in found.notes)
    _, found = by_runs(launch(PLAIN, 4, 64, ONES, ALL))
    assert not any("whose order" in note for note in found.notes)


@pytest.mark.parametrize(
    ("body", "checks", "formula"),
    [
        (PLAIN, ALL + 'exists = "m[0] == 1"', False),
        (PLAIN, ALL, False),  # one run decides all of it
        (STORES, ALL + 'exists = "o[0] == 1"', False),
        (" setp.lt.u32 %p1, %r1, 2; @%p1" + PLAIN, ALL + 'exists = "m[0] == 1"', True),  # 4 additions
    ],
)
def test_a_formula_is_asked_of_the_orders_of_a_sum_only_where_they_are_few(
    body: str, checks: str, formula: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    def question(*_: object, **__: object) -> None:
        asked.append(1)
        raise OutOfTime

    monkeypatch.setattr(checking, "KernelQuestion", question)
    found = checking.check(launch(body, 2, 32, TENTHS[:64], checks), model_named("ptx-9.0"), timeout=600)
    assert bool(asked) is formula and found.verdict == ("ok" if checks == ALL else "undecided")
    told = "".join(checked.message or "" for checked in found.checks)
    assert ("a formula does not try the orders" in told) is not (formula or checks == ALL)
