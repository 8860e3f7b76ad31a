"""Small kernels whose workers take tickets, where each ticket leads to code of its own: to wait for what rounds before it have
done, to read and write, and to signal. The places are in the code, so the formula is fast. Many are wrong."""

from __future__ import annotations

from random import Random

from ptxmm.kernels.test import KernelTest
from ptxmm.kernels.toml import KernelFile

_HEAD = """.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 x, .param .u64 c)
{
 .reg .pred %p<8>; .reg .b32 %r<12>; .reg .b32 %t<2>; .reg .b64 %rd<4>;
 ld.param.u64 %rd1, [x]; ld.param.u64 %rd3, [c]; mov.u32 %r1, %ctaid.x; mov.u32 %r9, 0; mov.u32 %r10, 0;
"""
_FENCES = ("fence.acq_rel.gpu;", "fence.acq_rel.cta;", "", "fence.sc.gpu;")


class _Tasks:
    """What the rounds of a kernel do."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.adds, self.waits = random.random() < 0.7, 0
        self.style = random.choice(("chain", "both", "fan"))

    def often(self, usual: str, *others: str) -> str:
        return usual if self.random.random() < 0.94 else self.random.choice(others)

    def wait(self, flag: int, least: int) -> str:
        """A waiting loop, with its first poll before it or not."""
        order, self.waits = self.random.choice(("acquire", "acquire", "relaxed")), self.waits + 1
        looks = [
            f"ld.{self.often(order, 'acquire', 'relaxed')}.{self.often('gpu', 'cta', 'sys')}.global.u32 %r5, [%rd3+{flag}];"
            f" setp.lt.u32 %p5, %r5, {least};"
            for _ in range(2)
        ]
        behind = self.often(*_FENCES) if order == "relaxed" else self.often("", _FENCES[0])
        first = ""
        if self.random.random() < 0.4:
            first = f"{looks[1]} @!%p5 bra G{self.waits}; {self.often('', 'mov.u32 %r10, 1;', _FENCES[0])}"
        return f"{first} P{self.waits}: {looks[0]} @%p5 bra P{self.waits}; {self.often('', _FENCES[0])} G{self.waits}: {behind}"

    def signal(self, flag: int, value: int) -> str:
        fence, order = "", self.often("release", "relaxed")
        if self.random.random() < 0.35:
            fence, order = self.often(*_FENCES), "relaxed"
        how = f"{order}.{self.often('gpu', 'cta', 'sys')}.global"
        if self.adds:
            return f"{fence} red.{how}.add.u32 [%rd3+{flag}], {self.often('1', '2')};"
        return f"{fence} st.{how}.u32 [%rd3+{flag}], {value};"

    def reads(self, task: int) -> str:
        place = 4 * self.random.randrange(max(task, 1))
        return self.often(
            f"ld.global.u32 %r6, [%rd1+{place}];", f"ld.relaxed.gpu.global.u32 %r6, [%rd1+{place}];",
            f"ld.global.u32 %r6, [%rd1+{4 * task}];", "",
        )  # fmt: skip

    def writes(self, task: int) -> str:
        value, other = self.random.choice(("7", "%r6", "%r10", "%t0")), 4 * self.random.choice((task, 0, 1))
        return self.often(
            f"st.global.u32 [%rd1+{4 * task}], {value};", f"st.global.u32 [%rd1+{other}], 5;",
            f"red.relaxed.gpu.global.add.u32 [%rd1+{other}], 1;", f"st.relaxed.gpu.global.u32 [%rd1+{other}], 4;",
        )  # fmt: skip

    def task(self, task: int, last: bool) -> str:
        """What a round does by its ticket."""
        parts = ["mov.u32 %r6, 3;"]
        if task and self.random.random() < 0.95:
            flag = 8 if self.style == "both" and task > 1 else 4
            parts.append(self.wait(flag, task if self.style == "chain" else 1))
        parts += [self.reads(task) if task else "", self.writes(task)]
        parts.append(self.often("", self.writes(task), "add.u32 %r9, %r9, 1;", "st.global.u32 [%rd1+12], %r9;"))
        if not last and (self.style != "fan" or task == 0):
            parts += [
                self.signal(8 if self.style == "both" and task else 4, task + 1),
                self.often("", self.writes(task)),
            ]
        return " ".join(parts)


def generated(seed: int) -> KernelTest:
    """A kernel of two workers of one thread, in one CTA or two; who takes the last ticket may set the counter back."""
    random = Random(seed)
    tasks, number = _Tasks(random), random.choice((2, 2, 2, 3))
    grid, block = random.choice(((2, 1), (2, 1), (1, 2)))
    early = random.random() < 0.2
    take = f"atom.{tasks.often('relaxed', 'acq_rel')}.{tasks.often('gpu', 'cta')}.global.add.u32 %t0, [%rd3], 1;"
    after = ""
    if random.random() < 0.3:
        last = tasks.often(str(number + 1), str(number))
        after = f"setp.eq.u32 %p6, %t0, {last}; @%p6 {tasks.often('st', 'st.relaxed.gpu')}.global.u32 [%rd3], 0;"
    leads = " ".join(f"setp.eq.u32 %p1, %t0, {n}; @%p1 bra R{n};" for n in range(number))
    rounds = "\n ".join(f"R{n}: {tasks.task(n, n == number - 1)} bra NEXT;" for n in range(number))
    lines = [
        take if early else "", f"LOOP: {'' if early else take} setp.ge.u32 %p3, %t0, {number}; @%p3 bra END;",
        take.replace("%t0", "%t1") if early else "", leads, rounds,
        f"NEXT: {'mov.u32 %t0, %t1;' if early else ''} bra LOOP;", f"END: {after} ret;", "}",
    ]  # fmt: skip
    words = {"type": "u32", "elements": 4, "init": [0]}
    tree = {
        "ptx": "k.ptx", "entry": "k", "grid": grid, "block": block, "params": {"x": words, "c": words},
        "check": {
            "forall": " && ".join(f"x[{i}] < 99" for i in range(4)) + " && c[0] < 99", "race_free": True, "terminates": True,
        },
    }  # fmt: skip
    return KernelFile.of(tree, "k.toml", {"k.ptx": _HEAD + "\n ".join(lines)}).test()
