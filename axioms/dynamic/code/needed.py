"""Which bits of a register anything depends on: of what an atomic operation gave, a barrier of a grid looks at one."""

from __future__ import annotations

from ptxcore.machine.lower.liveness import reads, writes
from ptxcore.machine.lower.ops import Code, Op, Source, TargetRegister

_ALL = -1
#: Comparisons with a constant that ask for the sign alone.
_SIGNS = {("lt", 0), ("ge", 0), ("gt", -1), ("le", -1)}


def needed_bits(code: Code, idle: frozenset[int] = frozenset()) -> dict[int, int]:
    """For each register, by slot, the bits that some instruction of the function may depend on, wherever it stands; but
    for those
    of which it is of no matter what they do (`code.idle`), by their identities."""
    found: dict[int, int] = {}
    for formal in code.results:
        if formal.slot is not None:
            found[formal.slot] = _ALL
    changed = True
    while changed:
        changed = False
        for op in code.ops:
            if id(op) in idle:
                continue
            for slot, bits in _asked(op, found).items():
                if bits & ~found.get(slot, 0):
                    found[slot] = found.get(slot, 0) | bits
                    changed = True
    return found


def _asked(op: Op, needed: dict[int, int]) -> dict[int, int]:
    """The bits of its registers that an instruction depends on, where `needed` are those that others do. How long a thread
    sleeps (`nanosleep`) is of no matter to anybody, nor what is computed for nobody."""
    if op.use.form.mnemonic == "nanosleep" or (_computes(op) and not any(needed.get(slot) for slot in writes(op))):
        return {}
    asked = dict.fromkeys(reads(op), _ALL)
    plain = [s for s in op.sources if s is not None]
    if op.call is not None or len(plain) != len(op.sources) or len(op.targets) != 1:
        return asked
    target = op.targets[0]
    if op.use.form.mnemonic == "setp" and isinstance(target, list):
        target = target[0]
    if not isinstance(target, TargetRegister) or not all(_plain(s) for s in plain):
        return asked
    guard = {} if op.guard is None else {op.guard[0]: _ALL}
    found: dict[int, int] = {}
    for source in plain:
        if source.kind == "register":
            other = next((s for s in plain if s is not source and s.kind == "constant"), None)
            bits = _through(op, target, source, other, needed.get(target.slot, 0))
            found[source.value] = found.get(source.value, 0) | bits
    return found | guard


def _computes(op: Op) -> bool:
    """Whether an instruction does nothing but compute what it writes to registers."""
    return op.use.form.kind == "value" and op.call is None and not op.use.form.carry and bool(op.targets)


def _plain(source: Source) -> bool:
    """Whether a source is a whole register, or a constant."""
    whole = not source.offset and not source.negated and source.has == source.width
    return (source.kind == "register" and whole) or source.kind == "constant"


def _through(op: Op, target: TargetRegister, source: Source, other: Source | None, result: int) -> int:
    """The bits of a source on which those bits of the result depend."""
    name = op.use.form.mnemonic
    if name == "setp" and other is not None and len(op.sources) == 2 and op.sources[0] is source:
        sign = 1 << (source.width - 1)
        constant = (other.value + other.offset) & ((1 << source.width) - 1)
        constant -= (constant & sign) << 1
        return sign if op.use.signed and (_comparison(op), constant) in _SIGNS else _ALL
    if target.has != target.width or target.width != source.width or name not in ("and", "or", "xor", "not", "mov"):
        return _ALL
    constant = 0 if other is None else other.value + other.offset
    if name == "and" and other is not None:
        return result & constant
    return result & ~constant if name == "or" and other is not None else result


def _comparison(op: Op) -> str:
    """How a `setp` compares, where it does nothing else."""
    modifiers = op.instruction.modifiers
    return modifiers[0] if len(modifiers) == 2 else ""
