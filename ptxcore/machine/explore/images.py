"""Textures and surfaces of a thread that is explored: texels are accesses through their proxies. And multimem addresses."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NoReturn

from ptxcore.isa.effect_kinds import INPUT, LOAD, RED, STOP, STORE, EffectKind
from ptxcore.isa.form import Use
from ptxcore.machine.ir.dependencies import union
from ptxcore.machine.ir.effects import Effect
from ptxcore.machine.ir.windows import PARAM, WINDOW_BITS
from ptxcore.values.packed import join, split
from ptxcore.values.spread import spread
from ptxcore.values.terms import Value, add, concat, conj, ite, negate

if TYPE_CHECKING:
    from ptxcore.isa.image import Image
    from ptxcore.machine.ir.dependencies import Dependencies
    from ptxcore.machine.ir.effects import Requirement
    from ptxcore.machine.ir.steps import InstructionStep, ThreadCode

_WINDOW = ~((1 << WINDOW_BITS) - 1)
_ADDRESS = 8
_KINDS = {"texref": "texture", "surfref": "surface", "samplerref": "sampler"}
#: The operation of an `input` that stands for what the documents leave open of a texel.
TEXEL = "texel"
#: Or of a sum of floating-point numbers.
SUM = "sum"
#: And for a component of it that there is not.
MISSING = "component"


def _piece(address: Value, width: int) -> int:
    """The bits that can be accessed at once from an address on: a row of texels may end anywhere."""
    low, _, step = spread(address)
    size = width
    while size > 8 and (low % (size // 8) or step % (size // 8)):
        size //= 2
    return size


class SymbolicImages:
    """What `ptxcore.isa.thread.Thread` asks of images and multimem addresses."""

    if TYPE_CHECKING:
        code: ThreadCode
        effects: list[Effect]
        requirements: list[Requirement]
        _guard: Value
        _returned: Dependencies
        _own_from: int
        _elements: list[Dependencies] | None
        _stopped: Value
        _step: InstructionStep

        def effect(self, kind: EffectKind, how: Use, **fields: Any) -> Effect: ...
        def _access(self, kind: EffectKind, how: Use, address: Value) -> Effect: ...
        def _answered(self, effect: Effect, width: int) -> Value: ...
        def _refuse(self, why: str) -> NoReturn: ...
        def require(self, condition: Value, kind: str, message: str) -> None: ...

    def image(self, how: Use, handle: Value, kind: str = "") -> Image:
        """What stands behind a handle, which must be known. Raises InputError."""
        found = self._image(handle)
        if found is None:
            self._refuse(
                "is on no texture, surface or sampler that the launch has: in a kernel test these are parameters; one that the "
                "module declares by name stands in [memory]"
            )
        if kind and found.kind != kind and not (kind == "samplerref" and found.kind == "texref"):
            self._refuse(f"wants a {_KINDS[kind]}, and '{found.name}' is a {_KINDS[found.kind]}")
        return found

    def is_image(self, handle: Value, kind: str) -> Value:
        """Whether a handle is one of a kind."""
        found = self._image(handle)
        return int(found is not None and found.kind == kind)

    def _image(self, handle: Value) -> Image | None:
        if type(handle) is not int:
            self._refuse("cannot be explored with a handle that is read from memory others may write")
        if handle & _WINDOW == PARAM and self.code.private is not None:
            for known in self.code.private.constants:
                at = handle - known.address
                if 0 <= at <= len(known.data) - _ADDRESS:
                    handle = int.from_bytes(known.data[at : at + _ADDRESS], "little")
                    break
        return self.code.images.get(handle)

    def texel(self, how: Use, address: Value, width: int, when: Value = 1) -> Value:
        """A channel of a texel, where a condition holds."""
        before, self._guard = self._guard, conj(self._guard, when)
        value: Value = 0
        if self._guard != 0:
            pieces: list[Value] = []
            size = _piece(address, width)
            for at in range(0, width, size):
                effect = self._of_texel(LOAD, how, add(address, at // 8, 64), size)
                pieces.append(self._answered(effect, size))
                own: Dependencies = {effect.index: when}
                self._returned = union(self._returned, own) if self._returned else own
            value = ite(when, join(pieces, size), 0, width)
        self._guard = before
        return value

    def put_texel(self, how: Use, address: Value, width: int, value: Value, when: Value = 1) -> None:
        """Writes a channel of a texel, where a condition holds."""
        before, self._guard = self._guard, conj(self._guard, when)
        if self._guard != 0:
            size = _piece(address, width)
            for at, part in zip(range(0, width, size), split(value, size, width // size), strict=True):
                self._of_texel(STORE, how, add(address, at // 8, 64), size).value = part
        self._guard = before

    def reduce_texel(self, how: Use, address: Value, combine: Callable[[Value], Value], when: Value = 1) -> None:
        """Replaces a texel by what `combine` makes of it, in one step."""
        before, self._guard = self._guard, conj(self._guard, when)
        if self._guard != 0:
            if _piece(address, how.width) < how.width:
                if any(r.condition == 0 and r.instruction is self._step.instruction for r in self.requirements):
                    return  # which has no meaning anyway
                self._refuse("cannot be explored where rows of the surface are no multiples of its size")
            effect = self._of_texel(RED, how, address, how.width)
            effect.group, effect.returns = -1, False
            effect.operation, effect.type = how.op, how.type
            effect.value = combine(self._answered(effect, how.width))
        self._guard = before

    def _of_texel(self, kind: EffectKind, how: Use, address: Value, width: int) -> Effect:
        effect = self._access(kind, how, address)
        effect.space, effect.width = "global", width
        first = next((e for e in self.effects[self._own_from :] if e.kind == kind), effect)
        effect.group = first.index
        return effect

    def approximated(self, how: Use, value: Value, exact: Value, width: int) -> Value:
        """A value that the documents leave open where `exact` does not hold: any, there."""
        if exact == 1:
            return value
        before, self._guard = self._guard, conj(self._guard, negate(exact))
        if self._guard != 0:
            operation = SUM if how.proxy == "generic" else TEXEL
            open_ = self._answered(self.effect(INPUT, how, operation=operation, width=width), width)
            value = ite(exact, value, open_, width)
        self._guard = before
        return value

    def undetermined(self, how: Use, width: int, why: str, target: int = -1) -> Value:
        """Any value, unless its register is dropped."""
        if target >= 0 and self._step.targets[target] is None:
            return 0
        return self._answered(self.effect(INPUT, how, operation=MISSING, width=width), width)

    def packed(self, low: Value, high: Value) -> Value:
        """Two halves in a register."""
        return concat(high, low, 16, 16)

    def trap(self, how: Use, when: Value, why: str) -> None:
        """Ends the launch where a condition holds."""
        before, self._guard = self._guard, conj(self._guard, when)
        if self._guard != 0:
            self.effect(STOP, how, operation="trap")
            self._stopped = self._guard
        self._guard = conj(before, negate(when))

    def refuse_operand(self, how: Use, why: str) -> NoReturn:
        """An operand that is not explored."""
        self._refuse(f"cannot be explored with {why}")

    def replicas(self, how: Use, address: Value) -> Iterator[Value]:
        """The locations behind a multimem address. What is done at them is in no order."""
        from ptxcore.machine.explore.multimem import of_targets, places  # few programs have any

        elements: list[list[Dependencies]] = []
        first = len(self.effects)
        found = places(address, self.code.multimem)
        if found is None:
            self._refuse("is at one of several multimem addresses, of different numbers of devices")
        self.require(found.inside, "bad-multimem", "a multimem instruction at an address that is no multimem address")
        for place in found.addresses:
            self._elements = None
            yield place
            elements.append(self._elements or [])
        self._elements = None
        for effect in self.effects[first:]:
            effect.group = first
        targets = len(self._step.targets)
        if targets and elements[0]:
            made = of_targets(elements, targets)
            self._elements = made if targets > 1 else None
            self._returned = union(self._returned, made[0]) if targets == 1 else self._returned
