"""Random kernels whose threads have critical sections, which commute or do not, under locks that are right or wrong."""

from __future__ import annotations

import random

from ptxmm.kernels.test import KernelTest
from ptxmm.kernels.toml import KernelFile

_HEAD = """.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 x)
{
 .reg .pred %p<6>; .reg .b32 %r<16>; .reg .b32 %v<4>; .reg .b64 %rd<8>; .shared .align 8 .b8 s[32];
 ld.param.u64 %rd1, [x]; mov.u32 %r1, %ctaid.x; mov.u32 %r2, %tid.x; mov.u32 %r3, %ntid.x;
 mad.lo.u32 %r4, %r1, %r3, %r2; add.u32 %r5, %r4, 1; setp.eq.u32 %p1, %r2, 0; mov.u32 %v0, 0; mov.u32 %v1, 0;
"""
#: Words of the buffer: locks, data that sections share, and what each thread has of its own.
LOCKS, DATA, OWN, WORDS = 0, 4, 8, 16


class Writer:
    """Writes what the threads do. `spoilt`: how often something is done otherwise than it should be."""

    def __init__(self, seed: int) -> None:
        self.choose = random.Random(seed)
        self.grid, self.block = self.choose.choice(((2, 1), (2, 1), (3, 1), (1, 2), (1, 2), (1, 3), (2, 2)))
        self.spoilt = self.choose.choice((0.0, 0.0, 0.06, 0.15))
        self.labels = 0
        self.shared = self.grid == 1 and self._often(0.4)
        self.take = self.choose.choice(("cas", "cas", "exch", "or", "ticket", "ticket"))
        self.ops = self.choose.choice(
            (
                ("add",),
                ("add",),
                ("max",),
                ("xor",),
                ("add", "add", "max"),
                ("put",),
                ("own",),
                ("branch",),
                ("branch", "add"),
                ("append",),
                ("append", "add"),
                ("append", "branch"),
            )
        )
        self.deep = self._often(0.25)  # whether sections are within others
        self.wide = self.choose.choice(("relaxed", "acquire"))
        self.look = self.choose.choice(("", "", "ld.relaxed", "ld.acquire", "ld.volatile"))
        self.slower = self._often(0.3)

    def _label(self) -> str:
        self.labels += 1
        return f"L{self.labels}"

    def _often(self, chance: float) -> bool:
        return self.choose.random() < chance

    def _wrong(self) -> bool:
        return self._often(self.spoilt)

    def _scope(self) -> str:
        return "cta" if self._wrong() or (self.grid == 1 and self._often(0.3)) else "gpu"

    def _place(self, word: int) -> tuple[str, str]:
        if self.shared:
            return "shared", f"[s+{4 * (word - DATA if word >= DATA else word + 4)}]"
        return "global", f"[%rd1+{4 * word}]"

    def _fence(self, kind: str = "") -> str:
        kind = kind or self.choose.choice(("acq_rel", "sc", "acq_rel"))
        return f"fence.{kind}.{self._scope()};"

    def _draws(self, lock: int) -> list[str]:
        """A number is drawn, and waited for."""
        again, (space, served), (_, counter) = self._label(), self._place(LOCKS + lock), self._place(LOCKS + 2 + lock)
        sem, drawn = "relaxed" if self._wrong() else self.wide, f"%r{12 + lock}"
        looks = self.choose.choice((
            f"ld.{sem}.{self._scope()}.{space}.u32 %r9, {served};",
            f"atom.{sem}.{self._scope()}.{space}.add.u32 %r9, {served}, 0;",
        ))  # fmt: skip
        lines = [f"atom.relaxed.{self._scope()}.{space}.add.u32 {drawn}, {counter}, {2 if self._wrong() else 1};"]
        lines += [self._meets()] if self.block > 1 and self._wrong() else []
        lines += [f"{again}: {looks}", f"setp.ne.u32 %p2, %r9, {drawn};"]
        lines += [] if self._wrong() else [f"@%p2 bra {again};"]
        return [*lines, *([self._fence()] if sem == "relaxed" and not self._wrong() else [])]

    def _serves(self, lock: int) -> list[str]:
        """The next number is served."""
        space, served = self._place(LOCKS + lock)
        by_fence = self._often(0.5)
        lines = [self._fence()] if by_fence and not self._wrong() else []
        sem = "relaxed" if by_fence or self._wrong() else "release"
        if self._often(0.3):
            return [*lines, f"red.{sem}.{self._scope()}.{space}.add.u32 {served}, {2 if self._wrong() else 1};"]
        lines.append(f"add.u32 %r7, %r{12 + lock}, {0 if self._wrong() else 1};")
        return [*lines, f"st.{'weak' if self._wrong() else f'{sem}.{self._scope()}'}.{space}.u32 {served}, %r7;"]

    def _takes(self, lock: int) -> list[str]:
        if self.take == "ticket":
            return self._draws(lock)
        again, (space, at) = self._label(), self._place(LOCKS + lock)
        sem = "relaxed" if self._wrong() else self.wide
        value = "%r5" if self.take == "cas" and self._often(0.2) else "1"
        operands = f"0, {value}" if self.take == "cas" else value
        kind = "b32"
        looks = []
        if self.look and not self._wrong():  # until it is free, before it is tried
            scope = "" if self.look == "ld.volatile" else f".{self._scope()}"
            looks = [f"{self.look}{scope}.{space}.u32 %r9, {at};", "setp.ne.u32 %p2, %r9, 0;", f"@%p2 bra {again};"]
        first = f"{again}: {' '.join(looks)}"
        if looks and self._often(0.5):  # a loop in the loop
            first = f"{again}: {again}B: {' '.join(looks[:2])} @%p2 bra {again}B;"
        slower = ["nanosleep.u32 %r10;", "add.u32 %r10, %r10, 1;"] if self.slower else []
        lines = [
            *(["mov.u32 %r10, 1;"] if slower else []), first,
            f"atom.{sem}.{self._scope()}.{space}.{self.take}.{kind} %r6, {at}, {operands};",
            *slower, "setp.ne.u32 %p2, %r6, 0;", f"@%p2 bra {again};",
        ]  # fmt: skip
        if looks and self._wrong():
            lines[-len(slower) - 3 :] = ["mov.u32 %r6, 0;"]  # it is not tried at all
        if self._wrong():
            lines = lines[:-2]  # whether it has the lock or not
        if sem == "relaxed" and not self._wrong():
            lines.append(self._fence())
        return lines

    def _gives_back(self, lock: int) -> list[str]:
        if self.take == "ticket":
            return self._serves(lock)
        space, at = self._place(LOCKS + lock)
        by_fence = self._often(0.5)
        lines = [self._fence()] if by_fence and not self._wrong() else []
        sem = "relaxed" if by_fence or self._wrong() else "release"
        if self._often(0.5):
            return [*lines, f"atom.{sem}.{self._scope()}.{space}.exch.b32 %r7, {at}, 0;"]
        if self._wrong():
            return [*lines, f"st.{space}.u32 {at}, 0;"]
        return [*lines, f"st.{sem}.{self._scope()}.{space}.u32 {at}, {'2' if self._wrong() else '0'};"]

    def _update(self) -> list[str]:
        """Something is done to the data."""
        word = DATA + self.choose.choice((0, 0, 1))
        space, at = self._place(word)
        ld, st = self.choose.choice((("ld", "st"), ("ld", "st"), ("ld.volatile", "st.volatile")))
        number = self.choose.choice(("1", "%r5", "3"))
        op = self.choose.choice(self.ops)
        if op == "own":
            return [f"{st}.{space}.u32 {at}, {self.choose.choice(('7', '7', number))};"]
        load, store = f"{ld}.{space}.u32 %v0, {at};", f"{st}.{space}.u32 {at}, %v0;"
        if op == "put":  # what the other one hangs on
            _, other = self._place(DATA + 2)
            return [load, f"add.u32 %v0, %v0, {number};", store, f"{st}.{space}.u32 {other}, %v0;"]
        if op == "max" and self._often(0.3):
            past = self._label()
            return [
                load,
                f"setp.ge.u32 %p3, %v0, {number};",
                f"@%p3 bra {past};",
                store.replace("%v0", number),
                f"{past}:",
            ]
        if op == "branch":  # one thing or another, by what is found
            one, other = self._label(), self._label()
            _, there = self._place(DATA + 2)
            by = self.choose.choice(("%v0", "%v0", "%r5"))
            ways = [
                [f"add.u32 %v0, %v0, {number};", store], [store.replace("%v0", number)], [f"{st}.{space}.u32 {there}, {by};"],
                [f"st.global.u32 [%rd3+{4 * OWN}], {number};"], ["bar.warp.sync 1;"], [self._fence()], [],
                [f"{ld}.{space}.u32 %v1, {there};", f"setp.lt.u32 %p4, %v1, %v0; @%p4 {st}.{space}.u32 {there}, 5;"],
            ]  # fmt: skip
            first, second = (
                self.choose.choice(ways[:4]),
                self.choose.choice(ways if self._wrong() else [*ways[:4], [], ways[7]]),
            )
            test = self.choose.choice(
                (f"setp.lt.u32 %p3, %v0, {number};", "setp.ge.u32 %p3, %v0, 2;", "setp.eq.u32 %p3, %v0, 1;")
            )
            return [load, test, f"@%p3 bra {one};", *first, f"bra {other};", f"{one}:", *second, f"{other}:"]
        if op == "append":  # what is found says where something is put, or found
            mask = 3 if self._wrong() else 1
            base = "mov.u64 %rd7, s;" if self.shared else "mov.u64 %rd7, %rd1;"
            first = 8 if self.shared else 4 * (DATA + 2)
            there = self.choose.choice(
                (
                    f"st.{space}.u32 [%rd6+{first}], {number};",
                    f"st.{space}.u32 [%rd6+{first}], %v0;",
                    f"ld.{space}.u32 %v1, [%rd6+{first}];",
                )
            )
            lead = [
                f"and.b32 %v1, %v0, {mask};",
                "mul.wide.u32 %rd6, %v1, 4;",
                base,
                "add.u64 %rd6, %rd6, %rd7;",
                there,
            ]
            return [load, *lead, f"add.u32 %v0, %v0, {number};", store]
        kind = "b32" if op == "xor" else "u32"
        return [load, f"{op}.{kind} %v0, %v0, {number};", store]

    def _tells(self) -> list[str]:
        """What was found decides something, or goes elsewhere."""
        own, leads = f"[%rd3+{4 * OWN}]", f"[%rd4+{4 * OWN}]"
        return self.choose.choice((
            [f"st.global.u32 {own}, %v0;"],
            ["setp.gt.u32 %p3, %v0, 2;", f"@%p3 st.global.u32 {own}, 1;"],
            ["and.b32 %v1, %v0, 1; mul.wide.u32 %rd4, %v1, 4; add.u64 %rd4, %rd1, %rd4;", f"st.global.u32 {leads}, %r5;"],
        ))  # fmt: skip

    def _early(self) -> list[str]:
        """Some threads have a section and end; others wait for them, maybe in one."""
        past = self._label()
        turned = "" if self._often(0.5) else "!"
        own = [*self._takes(0), *self._update(), *self._gives_back(0)]
        inner = self._often(0.5)
        meeting = [self._meets()]
        other = [*self._takes(0), *self._update(), *(meeting if inner else []), *self._gives_back(0)]
        return [f"@{turned}%p1 bra {past};", *own, "ret;", f"{past}:", *([] if inner else meeting), *other]

    def _asks_all(self) -> list[str]:
        """Threads of a warp tell each other what they found."""
        all_ = (1 << self.block) - 1
        return self.choose.choice((
            ["setp.gt.u32 %p3, %v0, 2;", f"vote.sync.ballot.b32 %v1, %p3, {all_};", f"st.global.u32 [%rd3+{4 * OWN}], %v1;"],
            [f"shfl.sync.idx.b32 %v1, %v0, 0, 31, {all_};", f"st.global.u32 [%rd3+{4 * OWN}], %v1;"],
            [f"shfl.sync.idx.b32 %v0, %v0, 0, 31, {all_};"],
            ["setp.gt.u32 %p3, %v0, 2;", "bar.red.or.pred %p4, 0, %p3;", f"@%p4 st.global.u32 [%rd3+{4 * OWN}], 1;"],
        ))  # fmt: skip

    def _section(self) -> list[str]:
        lock = self.choose.choice((0, 0, 0, 1)) if self._wrong() else 0
        lines = self._takes(lock)
        if self.block > 1 and self._often(0.15):
            lines.append(self._meets())
        nested = (self._wrong() and self._often(0.5)) or (self.deep and self._often(0.7))
        lines += self._takes(1 - lock) if nested else []
        for _ in range(self.choose.choice((1, 1, 2))):
            lines += self._update()
        if self._wrong():
            lines += self._tells()
        ends = [self._gives_back(1 - lock) if nested else [], self._gives_back(lock)]
        lines += [*ends[1], *ends[0]] if nested and self._often(0.3) else [*ends[0], *ends[1]]
        if self._wrong():
            lines += self._update()
        if self._often(0.3 * self.spoilt):
            lines += self._tells()
        return lines

    def _meets(self) -> str:
        return self.choose.choice(("bar.sync 0;", f"bar.warp.sync {(1 << self.block) - 1};"))

    def _by_some(self, lines: list[str]) -> list[str]:
        """Only the first thread of each CTA does something."""
        past = self._label()
        return [f"@!%p1 bra {past};", *lines, f"{past}:"]

    def _by_all(self) -> list[str]:
        """A thread has the lock for its CTA."""
        lines = self._by_some(self._takes(0))
        lines += [] if self._wrong() else [self._meets()]
        body = self._update()
        lines += self._by_some(body) if self._often(0.5) else ["mov.u32 %r8, %r2;", *self._own_place(body)]
        lines += [] if self._wrong() else [self._meets()]
        return [*lines, *self._by_some(self._gives_back(0))]

    def _own_place(self, lines: list[str]) -> list[str]:
        """The same on data that each thread of a CTA has for itself, and CTAs share."""
        first = ["mul.wide.u32 %rd5, %r2, 4;", "add.u64 %rd5, %rd1, %rd5;"]
        if self.shared:
            return lines
        return [*first, *(line.replace("[%rd1+", "[%rd5+") for line in lines)]

    def lines(self) -> list[str]:
        """The whole body."""
        first = ["mul.wide.u32 %rd3, %r4, 4;", "add.u64 %rd3, %rd1, %rd3;"]
        if self.shared:
            first += self._by_some([f"st.shared.u32 [s+{4 * i}], 0;" for i in range(8)])
            first += [] if self._wrong() else ["bar.sync 0;"]
        body: list[str] = []
        for _ in range(self.choose.choice((1, 1, 2))):
            whole = self.block > 1 and self._often(0.4)
            body += self._by_all() if whole else self._section()
            body += self._asks_all() if self.block > 1 and self._wrong() else []
            if self.block > 1 and self._often(0.06):
                return first + body + self._early()
            body += ["bar.sync 0;"] if self._often(0.2) else []
        if self.block > 1 and self._often(0.3):
            body += ["bar.sync 0;"] if not self._wrong() else []
            if self.shared or self.grid == 1:
                space, at = self._place(DATA)
                body += [f"ld.{space}.u32 %v2, {at};", f"st.global.u32 [%rd3+{4 * OWN}], %v2;"]
        if self.shared:
            past = ["bar.sync 0;"] if not self._wrong() else []
            body += [*past, *self._by_some(["ld.shared.u32 %v2, [s];", f"st.global.u32 [%rd1+{4 * DATA}], %v2;"])]
        return first + body


def section_kernel(seed: int) -> KernelTest:
    """A kernel test of a seed."""
    writer = Writer(seed)
    text = "\n ".join([_HEAD, *writer.lines(), "ret;", "}"])
    tree = {
        "ptx": "k.ptx", "entry": "k", "grid": writer.grid, "block": writer.block,
        "params": {"x": {"type": "u32", "elements": WORDS, "init": [0]}},
        "check": {
            "forall": " && ".join(f"x[{i}] < 999" for i in range(WORDS)), "race_free": True, "terminates": True,
        },
    }  # fmt: skip
    return KernelFile.of(tree, "k.toml", {"k.ptx": text}).test()
