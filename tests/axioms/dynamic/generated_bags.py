"""Random kernels whose threads store at the places of tickets, and claims about what stands there, in any order or in one."""

from __future__ import annotations

import random

from ticketed_kernels import ticketed_kernel

from ptxmm.kernels.test import KernelTest

_WORDS = 24
_AT = "mad.lo.u32 %r6, {number}, {apart}, {first}; cvt.u64.u32 %rd2, %r6; add.u64 %rd2, %rd2, %rd1;"


def _takes(choose: random.Random, block: int) -> list[str]:
    """%t0 = the first number that a thread has, of one or two."""
    many = choose.choice(("1", "1", "1", "2", "%r5"))
    if choose.random() < 0.2:
        many = "1"
        guard = choose.choice(("@%p1 bra END;", "and.b32 %r7, %r4, 1; setp.eq.u32 %p3, %r7, 1; @%p3 bra END;"))
        return [guard, "atom.global.add.u32 %t0, [%rd3], 1;"]
    if block > 1 and choose.random() < 0.4:
        size = choose.choice((block, block, block + 1))
        return [
            "@%p2 st.shared.u32 [s], 0; bar.sync 0; atom.shared.add.u32 %t1, [s], 1;",
            f"@%p2 atom.global.add.u32 %t0, [%rd3], {size}; @%p2 st.shared.u32 [s+4], %t0; bar.sync 0;",
            "ld.shared.u32 %t0, [s+4]; add.u32 %t0, %t0, %t1;",
        ]
    return [f"atom.global.add.u32 %t0, [%rd3], {many};"]


def _stores(choose: random.Random) -> tuple[list[str], range]:
    """Each number gets some words, at places that are apart by some bytes. Gives the words of the first ones, too."""
    apart, first = choose.choice((4, 4, 8, 8, 12, -4)), choose.choice((0, 0, 4, 8))
    if apart < 0:
        first = 40
    lines = []
    for n in range(choose.choice((1, 1, 2, 2))):
        place = first + choose.choice((4 * n, 4 * n, 4 * n, 0, 48, 40)) * (n > 0)
        number = choose.choice(("%t0",) * 5 + ("%r8",))
        if number == "%r8":
            lines.append("add.u32 %r8, %t0, 1;")
        value = choose.choice(("%r5", "%r5", "%r5", "%r1", "7", "%r4", "%t0"))
        where = _AT.format(number=number, apart=apart, first=place)
        size = choose.choice(("u32",) * 9 + ("u16",))
        lines += [where, f"st.global.{size} [%rd2], {value};"]
        if choose.random() < 0.2:  # of the next number, too
            lines.append(f"st.global.u32 [%rd2+{abs(apart)}], {choose.choice(('%r5', '9'))};")
    return lines, range(first // 4, 12 if apart > 0 else -1, apart // 4)


def _besides(choose: random.Random) -> list[str]:
    """Something else that is done there, before or behind."""
    return [choose.choice((
        f"@%p1 st.global.u32 [%rd1+{4 * choose.randrange(4)}], 5;",
        "@%p1 st.global.u32 [%rd1+72], 5;",
        "atom.global.add.u32 %t2, [%rd3+4], 1; mul.wide.u32 %rd6, %t2, 4; add.u64 %rd6, %rd6, %rd1; "
        f"st.global.u32 [%rd6+{choose.choice((0, 8, 32, 48))}], 6;",
        "@%p1 ld.global.u32 %r9, [%rd1+4]; @%p1 st.global.u32 [%rd1+88], %r9;",
        "red.global.add.u32 [%rd3], 1;",
        "setp.lt.u32 %p4, %t0, 2; @%p4 st.global.u32 [%rd5+72], 3;",
        "setp.ge.u32 %p4, %t0, 2; @%p4 bra END;",
        "red.global.add.u32 [%rd1+64], %r5;",
    ))]  # fmt: skip


def _claim(choose: random.Random, stored: range, threads: int) -> str:
    """About places from one on, at steps: those that threads store to, as a rule."""
    if choose.random() < 0.75:
        places = stored[: choose.choice((threads, threads, threads, threads + 1, 2 * threads))]
    else:
        first, step = choose.choice((0, 0, 0, 1, 2, 10)), choose.choice((1, 1, 2, 2, 3))
        places = range(first, min(_WORDS - 10, first + step * choose.choice((1, 2, 2, 3, 3, 4, 4, 6, 8))), step)
    first, other = places[0], choose.choice((1, 1, 2, 10))
    of = f"for i in range({places.start}, {places.stop}, {places.step})"
    each = choose.choice((
        f"x[i] {choose.choice(('<', '>=', '==', '!='))} {choose.randrange(1, 4)}", "x[i] % 2 == 1", f"x[i] == x[i + {other}]",
        f"x[i] + 1 == x[i + {other}]", "x[i] == i + 1", f"x[i] <= x[{first}]", f"x[i] - x[i + {other}] < 3",
        "any(x[j] == i + 1 for j in range(4))", "x[i] == c[0]",
    ))  # fmt: skip
    kind = choose.randrange(5)
    if kind == 0:
        return f"sum(x[i] {of}) {choose.choice(('<', '==', '>'))} {choose.choice((3, 6, 10, 4))}"
    if kind == 1:
        return f"sum(({each}) {of}) {choose.choice(('<', '==', '>'))} {choose.randrange(1, 4)}"
    if kind == 2:
        return f"c[0] < 9 && all({each} {of})"
    if kind == 3:
        return f"sum(x[i] * {choose.choice(('3', 'i', 'x[i]', f'x[i + {other}]'))} {of}) < {choose.choice((9, 15, 30))}"
    return f"{choose.choice(('all', 'any', 'any'))}({each} {of})"


def bag_kernel(seed: int, *, claims: bool = False) -> KernelTest:
    """A kernel of 2 to 4 threads; with claims in the place of a check that is about all words."""
    choose = random.Random(seed)
    grid, block = choose.choice(((2, 1), (3, 1), (1, 2), (1, 3), (2, 2)))
    lines = _takes(choose, block)
    if choose.random() < 0.15:
        lines = [*_besides(choose)[:1], *lines]
    stores, stored = _stores(choose)
    lines += stores
    if choose.random() < 0.25:
        lines += ["bar.sync 0;"] * choose.randrange(2) + _besides(choose)
    body = "\n ".join(lines)
    seen = " && ".join(f"x[{i}] < 99999" for i in range(_WORDS))
    claimed = [_claim(choose, stored, grid * block) for _ in range(6)]
    start = choose.choice(((0, 0), (0, 0), (0, 0), (1, 0), (2, 1)))
    x = choose.choice(((0,), (0,), (7, 7, 7, 7), (1, 2, 3)))
    forall = claimed if claims else f"{seen} && c[0] < 999 && c[1] < 999"
    return ticketed_kernel(body, grid, block, _WORDS, start, forall, x)
