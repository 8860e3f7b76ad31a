"""Small kernels that are right, generated from a seed: what is spoilt and repaired.

Two threads, of two CTAs, of one, or of two CTAs of a cluster, do one or two things that kernels do with each other: one hands a
word to the other by a flag, both count under a lock, both meet at a barrier, or the last one takes together what both wrote.
Each of these has words of its own, is synchronized in one of the ways that suffice, and says what comes out of it.
"""

from __future__ import annotations

import random

from generated_kernels import HEAD

import ptxmm

#: Words of global memory: what is handed over, flags, and what threads found.
_DATA, _FLAGS, _FOUND, _WORDS = 0, 2, 4, 8
#: CTAs, threads of each, CTAs of a cluster, and the scopes that take in both threads.
_SHAPES = (
    (2, 1, 1, ("gpu", "sys")),
    (1, 2, 1, ("cta", "gpu")),
    (2, 1, 2, ("cluster", "gpu")),
)


class _Writer:
    """Writes what both threads do, thing by thing; `claims` say what comes out of it."""

    def __init__(self, random_: random.Random) -> None:
        self.random = random_
        self.grid, self.block, self.cluster, self.scopes = random_.choice(_SHAPES)
        self.lines: list[str] = []
        self.claims: list[str] = []
        self._labels = 0

    def label(self) -> str:
        self._labels += 1
        return f"L{self._labels}"

    def scope(self) -> str:
        return self.random.choice(self.scopes)

    def only(self, thread: int, lines: list[str]) -> None:
        """What one of the threads does."""
        end = self.label()
        self.lines += [f"setp.ne.u32 %p1, %r4, {thread};", f"@%p1 bra {end};", *lines, f"{end}:"]

    def published(self, flag: str) -> list[str]:
        """A flag goes up, and what stands before it is seen with it."""
        scope = self.scope()
        return self.random.choice(
            (
                [f"st.release.{scope}.global.u32 {flag}, 1;"],
                [f"fence.acq_rel.{scope};", f"st.relaxed.{scope}.global.u32 {flag}, 1;"],
                [f"red.release.{scope}.global.add.u32 {flag}, 1;"],
                [f"atom.release.{scope}.global.exch.b32 %r5, {flag}, 1;"],
                [f"fence.acq_rel.{scope};", f"red.relaxed.{scope}.global.add.u32 {flag}, 1;"],
            )
        )

    def seen(self, flag: str) -> list[str]:
        """Waits for a flag."""
        scope, again = self.scope(), self.label()
        order, fence = self.random.choice((("acquire", []), ("relaxed", [f"fence.acq_rel.{scope};"])))
        read = f"{again}: ld.{order}.{scope}.global.u32 %r5, {flag};"
        return [read, "setp.eq.u32 %p1, %r5, 0;", f"@%p1 bra {again};", *fence]

    def hand_over(self, number: int) -> None:
        """One hands a word to the other."""
        word, flag, found = (f"[%rd2+{4 * (at + number)}]" for at in (_DATA, _FLAGS, _FOUND))
        self.only(0, [f"st.global.u32 {word}, 7;", *self.published(flag)])
        self.only(1, [*self.seen(flag), f"ld.global.u32 %r5, {word};", f"st.global.u32 {found}, %r5;"])
        self.claims.append(f"a[{_FOUND + number}] == 7")

    def lock(self, number: int) -> None:
        """Both count under a lock."""
        word, flag = (f"[%rd2+{4 * (at + number)}]" for at in (_DATA, _FLAGS))
        scope, again = self.scope(), self.label()
        opens = self.random.choice(
            (
                [f"st.release.{scope}.global.u32 {flag}, 0;"],
                [f"atom.release.{scope}.global.exch.b32 %r5, {flag}, 0;"],
                [f"fence.acq_rel.{scope};", f"st.relaxed.{scope}.global.u32 {flag}, 0;"],
            )
        )
        self.lines += [
            f"{again}: atom.acquire.{scope}.global.cas.b32 %r5, {flag}, 0, 1;", "setp.ne.u32 %p1, %r5, 0;",
            f"@%p1 bra {again};", f"ld.global.u32 %r5, {word};", "add.u32 %r5, %r5, 1;", f"st.global.u32 {word}, %r5;", *opens,
        ]  # fmt: skip
        self.claims.append(f"a[{_DATA + number}] == 2")

    def barrier(self, number: int) -> None:
        """Both meet behind what one wrote."""
        word, found = (f"[%rd2+{4 * (at + number)}]" for at in (_DATA, _FOUND))
        if self.cluster > 1:
            meet = ["barrier.cluster.arrive.release;", "barrier.cluster.wait.acquire;"]
        elif self.block > 1:
            meet = [self.random.choice(("bar.sync 0;", "bar.warp.sync 3;"))]
        else:
            self.hand_over(number)
            return
        self.only(0, [f"st.global.u32 {word}, 7;"])
        self.lines += meet
        self.only(1, [f"ld.global.u32 %r5, {word};", f"st.global.u32 {found}, %r5;"])
        self.claims.append(f"a[{_FOUND + number}] == 7")

    def last(self, number: int) -> None:
        """The last one takes together what both wrote."""
        flag, found = f"[%rd2+{4 * (_FLAGS + number)}]", f"[%rd2+{4 * (_DATA + number)}]"
        first = 4 * (_FOUND + 2 * number)
        scope, end = self.scope(), self.label()
        counts = self.random.choice(
            (
                [f"atom.acq_rel.{scope}.global.add.u32 %r5, {flag}, 1;"],
                [
                    f"fence.acq_rel.{scope};",
                    f"atom.relaxed.{scope}.global.add.u32 %r5, {flag}, 1;",
                    f"fence.acq_rel.{scope};",
                ],
            )
        )
        self.lines += [
            "mul.wide.u32 %rd3, %r4, 4;", "add.s64 %rd4, %rd2, %rd3;", f"st.global.u32 [%rd4+{first}], 3;", *counts,
            "setp.ne.u32 %p1, %r5, 1;", f"@%p1 bra {end};", f"ld.global.u32 %r5, [%rd2+{first}];",
            f"ld.global.u32 %r6, [%rd2+{first + 4}];", "add.u32 %r5, %r5, %r6;", f"st.global.u32 {found}, %r5;", f"{end}:",
        ]  # fmt: skip
        self.claims.append(f"a[{_DATA + number}] == 6")


def kernel(seed: int) -> ptxmm.Kernel:
    """A kernel with what is claimed of it."""
    random_ = random.Random(seed)
    writer = _Writer(random_)
    for number in range(random_.choice((1, 1, 2))):
        random_.choice((writer.hand_over, writer.lock, writer.barrier, writer.last))(number)
    text = "\n".join([HEAD.rstrip(), *(f"    {line}" for line in writer.lines), "    ret;", "}", ""])
    return ptxmm.Kernel(
        text, params={"a": {"type": "u32", "elements": _WORDS}}, grid=writer.grid, block=writer.block,
        cluster=writer.cluster, forall=writer.claims, race_free=True, terminates=True, name=f"correct-{seed}",
    )  # fmt: skip
