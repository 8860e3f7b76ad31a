"""A program answers alike as a litmus test and as a kernel test; what is proven at one bound of loops holds at every other."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest
from campaigns import lengths

import ptxmm
from ptxmm.result import Result

BOUNDS = (1, 2, 5)
QUANTIFIERS = {"forall": "forall", "exists": "exists", "~exists": "never"}
PROPERTIES = ("race_free", "no_deadlock", "terminates", "no_trap")


def thread(rng: random.Random, t: int, together: bool) -> Iterator[str]:
    """Statements of a thread, each on its own: accesses, retries, loops that wait or count, barriers, traps, early ends."""
    for i in range(rng.randint(1, 3)):
        place, r, p, label = rng.choice("xy"), f"%r{i}", f"%p{i}", f"L{t}_{i}"
        read = rng.choice([
            f"ld.relaxed.gpu.u32 {r}, [{place}];",
            f"atom.relaxed.gpu.exch.b32 {r}, [{place}], {rng.randint(0, 2)};",
            f"atom.acquire.gpu.cas.b32 {r}, [{place}], 0, {rng.randint(0, 2)};",
        ])  # fmt: skip
        asked = f"{read} setp.{rng.choice(['eq', 'ne'])}.u32 {p}, {r}, {rng.randint(0, 2)};"
        count = f"mov.u32 %c, 0; {label}: add.u32 %c, %c, 1; {read} setp.lt.u32 {p}, %c, {rng.randint(1, 4)}; @{p} bra {label};"
        yield rng.choice([
            f"st.{rng.choice(['weak', 'relaxed.gpu', 'release.gpu'])}.u32 [{place}], {rng.randint(0, 2)};",
            read,
            f"{asked} @{p} bra {label}; {rng.choice(['st.weak.u32 [y], 1;', 'trap;', 'exit;'])} {label}:",
            f"{label}: {asked} @{p} bra {label};",
            f"{asked} @{p} trap;",
            count,
            *["bar.sync 0;"] * together,
        ])  # fmt: skip


class Program:
    """One program: `together` its threads are a warp, else each a CTA."""

    def __init__(self, rng: random.Random) -> None:
        self.together = rng.random() < 0.5
        self.threads = [" ".join(thread(rng, t, self.together)) for t in range(rng.choice([1, 2, 2]))]
        self.quantifier, self.value = rng.choice([*QUANTIFIERS]), rng.randint(0, 2)
        self.place = rng.choice("xy")

    def litmus(self) -> str:
        places = ["warp 0,cta 0,gpu 0" if self.together else f"cta {t},gpu 0" for t in range(len(self.threads))]
        blocks = "\n".join(f"P{t}@{p} {{ {b} }}" for t, (p, b) in enumerate(zip(places, self.threads, strict=True)))
        asked = f"{self.quantifier} ({self.place} = {self.value}) {' '.join(PROPERTIES)}"
        return f"PTX t\n{{ x = 0; y = 0; }}\n{blocks}\n{asked}\n"

    def kernel(self) -> ptxmm.Kernel:
        count = len(self.threads)
        goes = "".join(f"setp.eq.u32 %q, %id, {t}; @%q bra T{t};\n" for t in range(count))
        code = "".join(f"T{t}: {b} ret;\n" for t, b in enumerate(self.threads))
        text = f""".version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 px, .param .u64 py)
{{
.reg .pred %q, %p<4>; .reg .b32 %c, %id, %r<4>; .reg .b64 %x, %y;
ld.param.u64 %x, [px]; ld.param.u64 %y, [py]; mov.u32 %id, {"%tid.x" if self.together else "%ctaid.x"};
{goes}{code.replace("[x]", "[%x]").replace("[y]", "[%y]")}}}
"""
        word = {"type": "u32", "elements": 1, "init": 0}
        grid, block = (1, count) if self.together else (count, 1)
        asked = {QUANTIFIERS[self.quantifier]: f"{self.place}[0] == {self.value}", **dict.fromkeys(PROPERTIES, True)}
        return ptxmm.Kernel(text, grid=grid, block=block, params={"x": word, "y": word}, check=asked)


def proven(result: Result) -> dict[str, bool]:
    """What is proven or refuted for good, by kind of check."""
    kinds = {"never": "~exists"}
    return {kinds.get(c.kind, c.kind): c.holds for c in result.checks if c.holds is not None and not c.bounded}


@pytest.mark.parametrize("programs", lengths(4, 16))
def test_a_program_answers_alike_in_every_form_and_at_every_bound(programs: int) -> None:
    rng, compared, answers = random.Random(7), 0, 0
    for _ in range(programs):
        program = Program(rng)
        test, kernel = ptxmm.parse(program.litmus()), program.kernel()
        results = {("litmus", u): ptxmm.check(test, unroll=u) for u in BOUNDS}
        results["kernel", BOUNDS[1]] = kernel.check(unroll=BOUNDS[1])
        known: dict[str, tuple[bool, tuple[str, int]]] = {}
        for form, result in results.items():
            if result.verdict == "undefined":
                continue
            for kind, holds in proven(result).items():
                first = known.setdefault(kind, (holds, form))
                assert first[0] == holds, f"{kind}: {first}, and {form} says {holds}\n{program.litmus()}"
                compared += first[1] != form
            answers += len(result.checks)
    assert compared >= answers / 2, (compared, answers)
