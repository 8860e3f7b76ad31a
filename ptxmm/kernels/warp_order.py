"""Instructions that threads of a warp execute together, taken for barriers of these threads.

By the manual they have threads wait for each other, and order no memory (PTX ISA 9.0, sections 9.7.9.6 and 9.7.13.8 to
9.7.13.16). Under the reading `warp-sync-orders` whatever a lane does before one comes before what others of its lanes do there
and behind it, as `bar.warp.sync` has it (section 9.7.13.2). So what is executed under it is the module with `bar.warp.sync` of
the same lanes before each of them: lanes come to both together, or to neither, since one
follows the other under the same guard, with the same mask.
"""

from __future__ import annotations

from functools import lru_cache

from ptxcore.check.module import accepted
from ptxcore.isa.tensor_replace import copy_and_fence
from ptxcore.machine.ir.collective import mask_position
from ptxcore.machine.lower.module import lower
from ptxcore.machine.lower.ops import Op
from ptxcore.syntax.printer import print_operand

#: The reading.
WARP_SYNC_ORDERS = "warp-sync-orders"
_BARRIER = "bar"
#: All lanes, for instructions that all threads of a warp execute.
_EVERYBODY = "-1"


@lru_cache(maxsize=8)
def in_warp_order(text: str) -> str:
    """A module with `bar.warp.sync` before each instruction that lanes of a warp execute together and that is none; on the same
    line. Raises InputError for a module that is wrong."""
    module, _ = accepted(text)
    inserted: dict[tuple[int, int], str] = {}
    for code in lower(module).functions.values():
        for op in code.ops:
            mask = _lanes(op)
            if mask:
                guard = op.instruction.guard
                said = "" if guard is None else f"@{guard.prefix}{guard.name} "
                inserted[op.instruction.start] = f"{said}bar.warp.sync {mask}; "
    lines = text.split("\n")
    for (line, column), barrier in sorted(inserted.items(), reverse=True):
        lines[line - 1] = lines[line - 1][: column - 1] + barrier + lines[line - 1][column - 1 :]
    return "\n".join(lines)


def _lanes(op: Op) -> str:
    """The member mask of an instruction as it is written, or that of all lanes; empty for other instructions."""
    form = op.use.form
    if form.run is copy_and_fence or (form.kind == "warp" and form.whole is not None):
        return _EVERYBODY
    if form.kind != "warp" or form.mnemonic == _BARRIER or mask_position(op.use) is None:
        return ""
    return print_operand(op.instruction.operands[-1])  # the last one of each of them


__all__ = ["WARP_SYNC_ORDERS", "in_warp_order"]
