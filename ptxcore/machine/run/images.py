"""Textures and surfaces as a running thread sees them: handles, texels, and what the manual leaves open of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NoReturn

from ptxcore.isa.form import Use
from ptxcore.isa.image import Image
from ptxcore.machine.ir.windows import PARAM, WINDOW_BITS
from ptxcore.machine.run.faults import fault
from ptxcore.machine.run.uninitialised import Uninitialised, UninitialisedRead, opaque
from ptxcore.values.terms import concat

if TYPE_CHECKING:
    from ptxcore.machine.run.memory import Segment
    from ptxcore.machine.run.surroundings import LaunchView

_WINDOW = ~((1 << WINDOW_BITS) - 1)
_ADDRESS = 8


class Images:
    """What `ptxcore.isa.thread.Thread` asks of images."""

    __slots__ = ()

    if TYPE_CHECKING:
        launch: LaunchView
        op: int

        def segment(self, address: int) -> tuple[Segment, int]: ...

    def image(self, how: Use, handle: int, kind: str = "") -> Image:
        handle = self._handle(handle)
        found: Image | None = self.launch.memory.images.get(handle)
        if found is None:
            raise fault("bad-texture", f"{self._called(handle)} is bound to no texture, surface or sampler")
        if kind and found.kind != kind and not (kind == "samplerref" and found.kind == "texref"):
            raise fault("bad-texture", f"'{found.name}' is a {_KINDS[found.kind]}, no {_KINDS[kind]}")
        return found

    def is_image(self, handle: int, kind: str) -> int:
        found = self.launch.memory.images.get(self._handle(handle))
        return int(found is not None and found.kind == kind)

    def _handle(self, address: int) -> int:
        """The handle that stands at the address of a parameter; anything else is one itself."""
        if address & _WINDOW == PARAM:
            return self.launch.parameters.read(address - PARAM, _ADDRESS)
        return address

    def _called(self, handle: int) -> str:
        names = {p.address: p.name for p in self.launch.program.layout.variables}
        return f"'{names[handle]}'" if handle in names else f"{handle:#x}"

    def texel(self, how: Use, address: int, width: int, when: int = 1) -> int:
        if not when:
            return 0
        segment, offset = self.segment(address)  # a row may end anywhere
        return segment.read(offset, width // 8)

    def put_texel(self, how: Use, address: int, width: int, value: Any, when: int = 1) -> None:
        if when:
            segment, offset = self.segment(address)
            segment.write(offset, width // 8, value)

    def reduce_texel(self, how: Use, address: int, combine: Callable[[Any], Any], when: int = 1) -> None:
        if when:
            size = how.width // 8
            segment, offset = self.segment(address)
            segment.write(offset, size, combine(segment.read(offset, size)))

    def approximated(self, how: Use, value: int, exact: int, width: int) -> int:
        return value

    def undetermined(self, how: Use, width: int, why: str, target: int = -1) -> Any:
        op = self.launch.compiled.ops[self.op]
        return opaque(width, UninitialisedRead("undefined-texel", f"{why} was read", op))

    def packed(self, low: Any, high: Any) -> Any:
        if type(low) is int and type(high) is int:
            return high << 16 | low
        parts = [part.term if isinstance(part, Uninitialised) else part for part in (high, low)]
        cause = next(part.cause for part in (high, low) if isinstance(part, Uninitialised))
        return Uninitialised(concat(parts[0], parts[1], 16, 16), cause)  # type: ignore[arg-type]

    def trap(self, how: Use, when: int, why: str) -> None:
        if when:
            raise fault("trap", f"the kernel traps: {why}")

    def refuse_operand(self, how: Use, why: str) -> NoReturn:
        raise fault("not-executed", f"'{how.form.mnemonic}' has {why}")


_KINDS = {"texref": "texture", "surfref": "surface", "samplerref": "sampler"}
