"""Every form of texture and surface instructions, run on random images, against NumPy (`images`)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from itertools import product
from random import Random
from typing import Any

import numpy as np
import ptxas
import pytest
from agreement import compared
from campaigns import share
from images import WORDS_OUT, Case, lookup_case, query_case, surface_case

from ptxcore.isa.form import Form
from ptxcore.isa.table import forms_of
from ptxcore.machine.run.faults import KernelError
from ptxcore.machine.run.launch import load
from ptxmm.images import Surface
from ptxmm.running import launch

#: Forms of which the manual says enough to be executed.
MEANT = [f for section in ("texture", "surface") for f in forms_of(section) if f.run is not None and f.only != "ptxas"]


def ran(case: Case) -> Any:
    """What comes out; -1 for what the manual leaves open."""
    device = load(case.text, "images.ptx")
    count = len(case.expected[0]) if case.expected[0] else 0
    out = np.zeros((len(case.expected), WORDS_OUT), np.uint32)
    try:
        launch(device, "k", (1,), (len(case.expected),), case.arguments(out), references=case.references)
    except KernelError as error:
        if error.kind == "undefined-texel":
            return None
        raise
    return out[:, :count]


def agrees(case: Case) -> None:
    """The case comes out as the reference says."""
    known = settled(case)
    out = ran(case)
    assert out is not None, case.text
    for row, expected in zip(out, case.expected, strict=True):
        assert [int(row[n]) for n in known] == [expected[n] for n in known], case.text
    for array, wanted in zip(case.after, case.wanted_after, strict=True):
        assert array.tobytes() == wanted.tobytes(), case.text


def settled(case: Case) -> list[int]:
    """Which words come back that something is known of; the others, which the manual leaves open, are not stored."""
    known = [n for n in range(len(case.expected[0])) if all(row[n] is not None for row in case.expected)]
    if len(known) < len(case.expected[0]):  # what is left open may not be stored
        lines = case.text.split("\n")
        kept = [
            line
            for line in lines
            if not any(f"], %o{n};" in line and "st.global" in line and n not in known for n in range(8))
        ]
        case.text = "\n".join(kept)
    return known


def forms(case: Case) -> set[Form]:
    """The forms that a case has, of images."""
    code = load(case.text).program.functions["k"]
    return {op.use.form for op in code.ops if op.use.form.section.startswith(("9.7.10", "9.7.11"))}


def cases(random: Random, count: int) -> list[Case]:
    makers = (lookup_case, lookup_case, lookup_case, lookup_case, surface_case, surface_case, query_case)
    return [makers[n % len(makers)](random) for n in range(count)]


@pytest.mark.part(4)
@pytest.mark.parametrize("seed", range(4))
def test_images_are_as_numpy_has_them(seed: int) -> None:
    for case in cases(Random(seed), 35):
        agrees(compared(case))


#: What draws cases of few forms each, by name: with the first ones a form is drawn as often as is asked for.
MAKERS: dict[str, Callable[[Random], Case]] = {
    f"{kind}{'-offset' * offset}{'-named' * named}{'-predicate' * predicate}": partial(
        lookup_case, **given, offset=offset, named=named, predicate=predicate, threads=8
    )
    for kind, given in {
        "tex": {"gathers": False, "modes": ("", "base")}, "level": {"gathers": False, "mode": "level"},
        "grad": {"gathers": False, "mode": "grad"}, "gather": {"gathers": True},
    }.items()
    for offset, named, predicate in product(*[(False, True)] * 3)
} | {
    **{name: partial(surface_case, opcode=name) for name in ("suld.b", "sust.b", "sust.p", "sured.b", "sured.p")},
    "query": query_case,
}  # fmt: skip


@pytest.mark.campaign
@pytest.mark.parametrize("maker", MAKERS)
def test_a_thousand_inputs_of_each_form_are_as_numpy_has_them(maker: str) -> None:
    """As many of each form that comes up among the first cases: some eight of a module, since to read one takes longest."""
    random, seen, cases_ = Random(maker), Counter[Form](), 0
    while cases_ < share(100) or min(seen.values()) < share(1000):
        case = MAKERS[maker](random)
        agrees(compared(case))
        found = forms(case)
        cases_ += 1
        for form in found if cases_ <= share(100) else found & seen.keys():
            seen[form] += case.inputs
    for form, count in seen.items():
        print(f"{count} inputs of {form.syntax}")  # with -s


@pytest.mark.long
def test_every_form_is_of_a_maker() -> None:
    """Whatever the campaign draws."""
    left = set(MEANT)
    for name, maker in MAKERS.items():
        random = Random(name)
        for _ in range(30 if name == "query" else 12):
            left -= forms(maker(random)) if left else set()
    assert not sorted(form.syntax for form in left)


def every(random: Random, **wanted: bool) -> Iterator[Case]:
    """Lookups in all combinations of what makes a form, and some of each other instruction. `wanted` is of all lookups."""
    for mode, gathers, *flags in product(("", "base", "level", "grad"), *[(False, True)] * 5):
        names = ("offset", "named", "independent", "predicate")
        if not gathers or not mode:
            given = dict(zip(names, flags, strict=True)) | wanted
            yield lookup_case(random, "2d", mode=mode, gathers=gathers, **given)
    for _ in range(20):
        yield query_case(random)
        for opcode in ("suld.b", "sust.b", "sust.p", "sured.b", "sured.p"):
            yield surface_case(random, opcode)


@pytest.mark.long
def test_every_form_that_has_a_meaning_is_drawn() -> None:
    left = set(MEANT)
    for case in every(Random(3)):
        left -= forms(case) if left else set()
        agrees(compared(case))
    assert not sorted(form.syntax for form in left)


@pytest.mark.skipif(ptxas.executable() is None, reason="no ptxas 13.0 here")
def test_ptxas_accepts_what_is_run() -> None:
    with ptxas.Oracle("sm_80") as oracle:
        for case in cases(Random(5), 42):
            said = oracle.ask(case.text)
            assert compared(said).accepted, (said, case.text)


if __name__ == "__main__":  # a longer look: python tests/ptxcore/semantics/test_images.py SEEDS
    import sys

    for one in range(int(sys.argv[1])):
        for drawn in cases(Random(one + 1000), 35):
            agrees(drawn)


def test_braces_around_one_register_of_a_surface_access_say_no_more_than_the_register() -> None:
    """nvcc writes `surf1Dread` and `surf1Dwrite` so."""
    text = """.version 8.1
.target sm_80
.address_size 64
.visible .entry k(.param .u64 s) {
 .reg .b64 %s; .reg .b32 %r<4>;
 ld.param.u64 %s, [s]; mov.u32 %r1, %tid.x; shl.b32 %r1, %r1, 2;
 suld.b.1d.b32.trap {%r2}, [%s, {%r1}]; add.u32 %r2, %r2, 5; sust.b.1d.b32.trap [%s, {%r1}], {%r2};
 ret;
}"""
    array = np.arange(4, dtype=np.uint32)
    launch(load(text, "k.ptx"), "k", (1,), (4,), [Surface(array)])
    assert array.tolist() == [5, 6, 7, 8]
