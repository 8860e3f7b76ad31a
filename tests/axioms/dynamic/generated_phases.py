"""Generated kernels whose threads meet at mbarrier objects: patterns that are right, with mistakes planted at random."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import NamedTuple

from ptxmm.kernels.test import KernelTest
from ptxmm.kernels.toml import KernelFile

_HEAD = """.version 8.6
.target sm_90
.address_size 64
.visible .entry k(.param .u64 x)
{{
 .reg .pred %p<4>; .reg .b32 %r<9>; .reg .b64 %rd<9>;
 .shared .align 16 .b8 s[64]; .shared .align 8 .b64 m[{objects}];
 ld.param.u64 %rd1, [x]; mov.u32 %r2, %tid.x; mov.u32 %r3, 0; mov.u64 %rd3, 0; setp.eq.u32 %p1, %r2, 0;
"""
#: Where the threads put what they read.
_OUT = 16


class Statement(NamedTuple):
    """What a thread does: `what` with a number (a word, a parity, bytes), on an object, with a semantics and a scope."""

    what: str
    number: int = 0
    object: int = 0
    sem: str = ""
    scope: str = "cta"


class Program(NamedTuple):
    """The counts of the objects, and what each thread does behind the initialisation."""

    counts: list[int]
    threads: list[list[Statement]]


_TEXTS: dict[str, str] = {
    "ld": "ld.shared.u32 %r4, [s+{word}]; mad.lo.u32 %r3, %r3, 5, %r4;",
    "st": "st.shared.u32 [s+{word}], {value};",
    "arrive": "mbarrier.arrive.{sem}.{scope}.shared.b64 _, [m+{at}];",
    "state": "mbarrier.arrive.{sem}.{scope}.shared.b64 %rd3, [m+{at}];",
    "drop": "mbarrier.arrive_drop.{sem}.{scope}.shared.b64 _, [m+{at}];",
    "arrive_expect": "mbarrier.arrive.expect_tx.{sem}.{scope}.shared.b64 _, [m+{at}], {number};",
    "expect": "mbarrier.expect_tx.relaxed.{scope}.shared.b64 [m+{at}], {number};",
    "complete": "mbarrier.complete_tx.relaxed.{scope}.shared.b64 [m+{at}], {number};",
    "wait": "W{label}: mbarrier.{how}.parity.{sem}.{scope}.shared.b64 %p2, [m+{at}], {number}; @!%p2 bra W{label};",
    "wait_state": "W{label}: mbarrier.{how}.{sem}.{scope}.shared.b64 %p2, [m+{at}], %rd3; @!%p2 bra W{label};",
    "fence": "fence.{sem}.{scope};",
    "inval": "mbarrier.inval.shared.b64 [m+{at}];",
    "bar": "bar.sync 0;",
}


def _text(statement: Statement, label: int, choose: random.Random) -> str:
    release = "acquire" if statement.what.startswith("wait") else "release"
    return _TEXTS[statement.what].format(
        word=4 * statement.number, value=label % 7 + 1, at=8 * statement.object, number=statement.number, label=label,
        sem=statement.sem or release, scope=statement.scope, how=choose.choice(("try_wait", "try_wait", "test_wait")),
    )  # fmt: skip


def _together(choose: random.Random, threads: int) -> Program:
    """All arrive and wait, round after round; what one writes before, the others read behind."""
    by_state = choose.random() < 0.3
    programs: list[list[Statement]] = [[] for _ in range(threads)]
    for i in range(choose.randint(1, 3)):
        writer = choose.randrange(threads)
        for t, program in enumerate(programs):
            program += [Statement("st", i % 2)] if t == writer else []
            if by_state:
                program += [Statement("state"), Statement("wait_state")]
            else:
                program += [Statement("arrive"), Statement("wait", i & 1)]
            program += [Statement("ld", i % 2)] if choose.random() < 0.7 else []
    return Program([threads], programs)


def _ring(choose: random.Random, threads: int) -> Program:
    """One thread produces, the others consume: a full and an empty object."""
    programs: list[list[Statement]] = [[] for _ in range(threads)]
    for i in range(choose.randint(1, 3)):
        programs[0] += [Statement("wait", (i & 1) ^ 1, 1), Statement("st", 0), Statement("arrive", 0, 0)]
        for program in programs[1:]:
            program += [Statement("wait", i & 1, 0), Statement("ld", 0), Statement("arrive", 0, 1)]
    return Program([1, threads - 1], programs)


def _counted(choose: random.Random, threads: int) -> Program:
    """Bytes that are expected and completed: the phase ends with both."""
    programs: list[list[Statement]] = [[] for _ in range(threads)]
    for i in range(choose.randint(1, 2)):
        if choose.random() < 0.5:
            programs[0] += [Statement("arrive_expect", 16)]
        else:
            programs[0] += [Statement("expect", 16), Statement("arrive")]
        programs[1] += [Statement("st", i), Statement("complete", 16), *[Statement("arrive")] * (threads > 2)]
        for t, program in enumerate(programs):
            program += [Statement("wait", i & 1), *[Statement("ld", i)] * (t != 1)]
    return Program([2 if threads > 2 else 1], programs)


def _mistaken(choose: random.Random, program: Program) -> None:
    """One mistake, more or less."""
    t = choose.randrange(len(program.threads))
    steps = program.threads[t]
    if not steps or choose.random() < 0.08:
        o = choose.randrange(len(program.counts))
        program.counts[o] = max(1, program.counts[o] + choose.choice((-1, 1)))
        return
    i = choose.randrange(len(steps))
    changes: list[Callable[[Statement], list[Statement]]] = [
        lambda s: [],
        lambda s: [s, s],
        lambda s: [s._replace(number=s.number ^ 1)],
        lambda s: [s._replace(sem="relaxed")] if s.what not in ("fence", "ld", "st") else [s],
        lambda s: [s._replace(sem="relaxed"), Statement("fence", sem="acquire")] if s.what == "wait" else [s],
        lambda s: [Statement("fence", sem="acq_rel"), s._replace(sem="relaxed")] if s.what == "arrive" else [s],
        lambda s: [s._replace(scope="cluster")] if s.what not in ("ld", "st") else [s],
        lambda s: [s._replace(what="drop")] if s.what == "arrive" else [s],
        lambda s: [s, Statement(choose.choice(("ld", "ld", "st")), choose.choice((0, 0, 1)))],
        lambda s: [s, Statement("inval")],
    ]  # fmt: skip
    weights = (4, 2, 4, 4, 2, 2, 1, 2, 5, 1)
    steps[i : i + 1] = choose.choices(changes, weights)[0](steps[i])


def program_of(choose: random.Random) -> Program:
    threads = choose.choice((2, 2, 3, 3, 4))
    program = choose.choice((_together, _ring, _counted))(choose, threads)
    for _ in range(choose.choice((0, 0, 1, 1, 2))):
        _mistaken(choose, program)
    return program


def kernel(seed: int) -> KernelTest:
    """Threads that meet at one or two objects; the first one initialises them."""
    choose = random.Random(seed)
    program = program_of(choose)
    label = 0
    lines = [f"@%p1 mbarrier.init.shared.b64 [m+{8 * o}], {count};" for o, count in enumerate(program.counts)]
    lines += ["@%p1 st.shared.v2.u32 [s], {0, 0};", *["bar.sync 0;"] * (choose.random() < 0.97)]
    lines += [f"setp.eq.u32 %p3, %r2, {t}; @%p3 bra C{t};" for t in range(len(program.threads))]
    for t, statements in enumerate(program.threads):
        lines.append(f"C{t}:")
        for statement in statements:
            label += 1
            lines.append(_text(statement, label, choose))
        lines.append("bra END;")
    end = f"END: mul.wide.u32 %rd2, %r2, 4; add.u64 %rd2, %rd2, %rd1; st.global.u32 [%rd2+{4 * _OUT}], %r3; ret;"
    text = "\n ".join([_HEAD.format(objects=len(program.counts)), *lines, end, "}"])
    wanted = " && ".join(f"x[{_OUT + t}] < {choose.choice((9, 1000))}" for t in range(len(program.threads)))
    tree = {
        "ptx": "k.ptx", "entry": "k", "grid": 1, "block": len(program.threads),
        "params": {"x": {"type": "u32", "elements": 32, "init": [0]}},
        "check": {"forall": wanted, "race_free": True, "terminates": True},
    }  # fmt: skip
    return KernelFile.of(tree, "k.toml", {"k.ptx": text}).test()
