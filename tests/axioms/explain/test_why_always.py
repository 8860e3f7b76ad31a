"""Whatever is checked can be asked why: of every kind of test, forbidden or allowed, `why` never fails."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from campaigns import lengths

import ptxmm

LIBRARY = sorted((Path(__file__).resolve().parents[3] / "litmus" / "library").rglob("*.litmus"))


def overlapping(chance: random.Random) -> str:
    """Atomic additions of several sizes to the same sixteen bytes, and a sum that a word of them cannot have."""
    sums, threads = [0] * 4, []
    for t in range(chance.choice((2, 2, 3))):
        bits, word = chance.choice(((32, chance.randrange(4)), (64, chance.choice((0, 2)))))
        high = bits == 64 and chance.random() < 0.6
        sums[word + high] += 1
        added = "0x100000000" if high else "1"
        register = f"%r{'d' * (bits == 64)}1"
        threads.append(
            f"P{t}@cta {t},gpu 0 {{ atom.relaxed.{chance.choice(('gpu', 'gpu', 'cta'))}.add.u{bits} {register}, "
            f"[x+{4 * word}], {added}; }}"
        )
    asked = chance.choice([w for w in range(4) if sums[w]])
    return "\n".join(["PTX t", "{ .align 16 .u32 x[4]; }", *threads, f"exists (x[{asked}] != {sums[asked]})"])


@pytest.mark.parametrize("count", lengths(30, 60))
def test_atomics_that_overlap_in_part_can_be_asked_why(count: int) -> None:
    chance = random.Random(21)
    results = [ptxmm.check(ptxmm.parse(overlapping(chance)), why=True) for _ in range(count)]
    assert sum(r.why is not None and r.why["axiom"] is not None for r in results) >= count / 8


def test_a_reason_rests_on_atomics_that_are_cut_into_pieces() -> None:
    test = ptxmm.parse(
        "PTX t\n{ .align 16 .u32 x[4]; }\nP0@cta 0,gpu 0 { atom.relaxed.gpu.add.u32 %r1, [x+4], 1; }\n"
        "P1@cta 1,gpu 0 { atom.relaxed.gpu.add.u64 %rd1, [x], 0x100000000; }\nexists (x[1] != 2)"
    )
    result = ptxmm.check(test, why=True)
    assert result.verdict == "undefined" and result.why is not None
    assert [(r["thread"], r["kind"]) for r in result.why["rests_on"]] == [("P0", "scope"), ("P1", "scope")]


@pytest.mark.long
@pytest.mark.parametrize("every", lengths(15, 5))
def test_the_library_can_be_asked_why(every: int) -> None:
    """Of what never or always occurs an axiom is told or how it comes about, in words; nothing raises."""
    explained = told = 0
    for path in LIBRARY[2::every]:
        result = ptxmm.check(ptxmm.load(path), why=True)
        if result.verdict in ("ok", "no"):
            assert result.why is not None and result.why["text"], path
            explained, told = explained + 1, told + (result.why["axiom"] is not None)
    assert explained >= 250 / every and told >= 100 / every
