"""Places of a function that all threads come by equally often.

A barrier that is put in there is met by all of them, and no other one is met otherwise for it: without it, each of the others
is met by the same threads in the same round. Where some threads go another way, one more barrier may meet what another one was
to meet, and a text with it says nothing of texts without it.

What is equal in all threads is followed along registers: what no thread's number, memory or other lane gave, written where all
threads come. Threads that end are waited for by no barrier but that of the grid, so that a branch to the end parts nobody else.
"""

from __future__ import annotations

from collections.abc import Sequence

from ptxcore.advice.graph import Graph, postdominators
from ptxcore.advice.values import space_of, written
from ptxcore.clock import tick
from ptxcore.syntax.tree import AnyStatement, Instruction, Label, Operand, names_in

#: Opcodes whose result hangs on their sources alone.
_PURE = frozenset(
    {"mov", "add", "sub", "mul", "mad", "mul24", "mad24", "fma", "div", "rem", "neg", "abs", "min", "max", "cvt", "cvta",
     "shl", "shr", "shf", "and", "or", "xor", "not", "cnot", "lop3", "setp", "set", "selp", "slct", "bfe", "bfi", "prmt",
     "popc", "clz", "brev", "bfind", "sad", "rcp", "sqrt", "copysign", "testp"}
)  # fmt: skip
#: Special registers that are the same in all threads of a CTA, and those of these that differ within a cluster.
_OF_CTA = frozenset(
    {"ntid", "nctaid", "ctaid", "gridid", "nwarpid", "nsmid", "cluster_nctaid", "cluster_nctarank", "nclusterid",
     "cluster_ctaid", "cluster_ctarank", "clusterid", "dynamic_smem_size", "total_smem_size",
     *(f"envreg{number}" for number in range(32))}
)  # fmt: skip
_WITHIN_CLUSTER = frozenset({"ctaid", "cluster_ctaid", "cluster_ctarank"})
#: By who meets, those that are the same in all of them.
_SAME = {"cta": _OF_CTA, "cluster": _OF_CTA - _WITHIN_CLUSTER, "grid": _OF_CTA - _WITHIN_CLUSTER - {"clusterid"}}
_ENDS = frozenset({"ret", "exit", "trap"})


class Divergence:
    """Of a kernel's `statements`, where all threads come `of` a `cta`, a `cluster` or the `grid`."""

    def __init__(self, statements: Sequence[AnyStatement], *, of: str = "cta") -> None:
        self._statements = statements
        self._graph = Graph([s for s in statements if isinstance(s, Instruction | Label)])
        self._same = _SAME[of]
        #: Whether those that have ended are waited for: a barrier of the grid counts blocks, and has one thread of each arrive.
        self._all = of == "grid"
        self._numbers = {id(instruction): i for i, instruction in enumerate(self._graph.instructions)}
        self._writes = [written(instruction) for instruction in self._graph.instructions]
        self._known = {name for names in self._writes for name in names}
        #: Registers that may differ, and blocks that not all threads may come by.
        self._differ: set[str] = set()
        self._apart: set[int] = set()
        self._after = postdominators(self._graph.following)
        while self._spread():
            pass

    def parts(self, i: int) -> bool:
        """Whether not all threads may come by the place before a statement."""
        statement = self._statements[i]
        if isinstance(statement, Instruction):
            return self._block(statement) in self._apart
        before = next((s for s in reversed(self._statements[:i]) if isinstance(s, Instruction)), None)
        if before is None:
            return False
        leaves = before.opcode in _ENDS or before.opcode in ("bra", "brx")
        if leaves and (before.guard is None or self._varies(before.guard)):
            return True
        return self._block(before) in self._apart

    def _block(self, instruction: Instruction) -> int:
        return self._graph.block_of[self._numbers[id(instruction)]]

    def _spread(self) -> bool:
        """One round: registers that differ, and blocks that are reached by some; whether there are more than before."""
        before = len(self._differ), len(self._apart)
        for i, instruction in enumerate(self._graph.instructions):
            tick()
            if self._gives_different(i, instruction):
                self._differ.update(self._writes[i])
        for b, block in enumerate(self._graph.blocks):
            if block and self._leads_apart(b, self._graph.instructions[block[-1]]):
                self._apart |= self._between(b)
        return before != (len(self._differ), len(self._apart))

    def _gives_different(self, i: int, instruction: Instruction) -> bool:
        if self._graph.block_of[i] in self._apart or (
            instruction.guard is not None and self._varies(instruction.guard)
        ):
            return True
        loads = instruction.opcode == "ld" and space_of(instruction) in ("param", "const")
        if not loads and instruction.opcode not in _PURE:
            return True
        return any(self._varies(operand) for operand in instruction.operands[1:])

    def _varies(self, operand: Operand) -> bool:
        """Whether what an operand gives may differ."""
        return any(
            name in self._differ
            or (name.startswith("%") and name not in self._known and name[1:].partition(".")[0] not in self._same)
            for name in names_in(operand)
        )

    def _leads_apart(self, number: int, last: Instruction) -> bool:
        """Whether threads that leave a block together may go on in several."""
        following = self._graph.following[number]
        if len(following) < 2 or (not self._all and any(self._only_ends(block, set()) for block in following)):
            return False
        return last.opcode == "brx" or last.guard is None or self._varies(last.guard)

    def _only_ends(self, block: int, seen: set[int]) -> bool:
        """Whether nothing is done from a block on but to end."""
        if block in seen:
            return False
        seen.add(block)
        inside = [self._graph.instructions[i] for i in self._graph.blocks[block]]
        ahead = self._graph.following[block]
        return all(instruction.opcode in _ENDS for instruction in inside) and all(
            self._only_ends(s, seen) for s in ahead
        )

    def _between(self, number: int) -> set[int]:
        """The blocks behind one, up to where all ways meet again."""
        found: set[int] = set()
        waiting = list(self._graph.following[number])
        while waiting:
            tick()
            block = waiting.pop()
            if block not in found and block != self._after[number]:
                found.add(block)
                waiting += self._graph.following[block]
        return found
