"""Instructions that all threads of warps execute together, on matrices: what the threads tell each other is computed for
many warps at once, and what each of them then does by itself is traced once on symbols and printed as a function."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ptxcore.isa.effect_kinds import LOAD, STORE, EffectKind
from ptxcore.isa.form import Use
from ptxcore.machine.ir.collective import WARP, brought, brought_widths, result_widths
from ptxcore.machine.lower.ops import Op
from ptxcore.machine.vector.arrays import NAMES, ArrayPrinter, array_type
from ptxcore.machine.vector.registers import Irregular
from ptxcore.machine.vector.steps import required
from ptxcore.machine.vector.tracing import RANK, TracedThread
from ptxcore.machine.vector.watching import Watcher
from ptxcore.records import NamedTuple
from ptxcore.values.terms import Term, Value, symbol

_LANES = np.arange(WARP)


class MadeAccess(NamedTuple):
    """An access: its address, bits, the value that is stored; or the symbol of what is read."""

    kind: EffectKind
    space: str
    bits: int
    address: Value
    value: Value


class NotedSteps(TracedThread):
    """Takes down accesses in their order, and what must hold."""

    def __init__(self) -> None:
        super().__init__()
        self.made: list[MadeAccess] = []

    def load(self, how: Use, address: Value) -> Value:
        value = symbol(("read", len(self.made)), how.width)
        self.made.append(MadeAccess(LOAD, how.space, how.width, address, value))
        return value

    def store(self, how: Use, address: Value, value: Value) -> None:
        self.made.append(MadeAccess(STORE, how.space, how.width, address, value))


class CollectiveUse(NamedTuple):
    """How warps execute an instruction. `brings`: which of the operands (all sources, vectors taken apart) are brought;
    `after` is what threads do with what they are told, if anything: `after(G, I, n, told, operands)` gives the results."""

    op: Op
    use: Use
    brings: tuple[int, ...]
    kinds: tuple[Any, ...]
    after: Callable[..., Any] | None

    def execute(
        self, group: Any, lanes: Any, threads: Any, operands: tuple[Any, ...], watcher: Watcher | None = None
    ) -> tuple[Any, ...]:
        """The results for threads of whole warps. Raises Irregular where some of a warp are missing."""
        count = threads.size
        if count % WARP or not (lanes.reshape(-1, WARP) == _LANES).all():
            raise Irregular("a part of a warp")
        whole = self.use.form.whole
        assert whole is not None
        assert whole.arrays is not None
        columns = []
        for i, kind in zip(self.brings, self.kinds, strict=True):
            column = operands[i]
            column = column if column.dtype == kind else column.astype(kind)
            columns.append((column if column.ndim else np.full(count, column)).reshape(-1, WARP))
        if watcher is not None and whole.opens is not None and whole.opens(self.use, columns):
            watcher.unspecified(self.op)
        told = [np.ascontiguousarray(column).reshape(count) for column in whole.arrays(self.use, columns)]
        if self.after is None:
            return tuple(told)
        return self.after(group, threads, count, told, operands)  # type: ignore[no-any-return]


def prepared(op: Op) -> CollectiveUse:
    """The plan of an instruction. Raises Untraceable and Unprintable."""
    use = op.use
    whole = use.form.whole
    assert whole is not None
    numbers = iter(range(1000))
    shapes = [_numbered(source, numbers) for source in op.sources]
    brings = brought(use, shapes)
    # What may be left out stands last.
    kinds = tuple(np.dtype(array_type(w)) for _, w in zip(brings, brought_widths(use), strict=False))
    return CollectiveUse(op, use, brings, kinds, _after(op) if whole.after is not None else None)


def _numbered(source: Any, numbers: Any) -> Any:
    if source is None:
        return None
    if source.kind == "vector":
        return tuple(_numbered(part, numbers) for part in source.parts)
    return next(numbers)


def _after(op: Op) -> Callable[..., Any]:
    """What each thread does with what it is told."""
    use = op.use
    names: dict[Any, str] = {RANK: "rank"}
    told = []
    for i, width in enumerate(result_widths(use)):
        told.append(symbol(("told", i), width))
        names[told[-1]] = f"told[{i}]"

    def value_of(source: Any) -> Any:
        if source is None:
            return None
        if source.kind == "vector":
            return tuple(value_of(part) for part in source.parts)
        found = symbol(("operand", len(names)), source.width)
        names[found] = f"operands[{count[0]}]"
        count[0] += 1
        return found

    count = [0]
    sources = [value_of(source) for source in op.sources]
    steps = NotedSteps()
    assert use.form.whole is not None
    assert use.form.whole.after is not None
    results = use.form.whole.after(use, steps, told, *sources)
    for i, made in enumerate(steps.made):
        if made.kind is LOAD:
            names[made.value] = f"x{i}"
    printer = ArrayPrinter(names)
    lines = ["rank = G.rank(I)"]

    def printed(value: Value, width: int) -> str:
        more, (text,) = printer.print([(value, width)])
        lines.extend(more)
        return text

    lines += [f"required({printed(c, 1)})" for c in steps.required if c != 1]
    for i, made in enumerate(steps.made):
        where = f"O, {made.space!r}, {printed(made.address, 64)}, {made.bits // 8}"
        if made.kind is LOAD:
            lines.append(f"x{i} = G.load({where}, I, n)")
        else:
            value = printed(made.value, made.bits)
            lines.append(f"G.store({where}, {value}, I, n)")
    lines.append(f"return ({''.join(f'{printed(r, r.width if type(r) is Term else 32)}, ' for r in results)})")
    text = "def after(G, I, n, told, operands):\n" + "".join(f"    {line}\n" for line in lines)
    space: dict[str, Any] = {**NAMES, **printer.names, "required": required, "O": op}
    exec(text, space)
    return space["after"]  # type: ignore[no-any-return]
