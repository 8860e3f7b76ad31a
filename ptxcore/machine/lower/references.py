"""Textures, samplers and surfaces that a module declares by name: `.texref`, `.samplerref`, `.surfref` (PTX ISA 9.0, section
5.3)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from ptxcore.isa.image import Format, Image, Sampler
from ptxcore.machine.lower.layout import ModuleLayout, Placed
from ptxcore.syntax.tree import Immediate, Name, Vector, Wrapped

if TYPE_CHECKING:
    from ptxcore.machine.ir.operands import Variable

KINDS = ("texref", "samplerref", "surfref")


def references(layout: ModuleLayout) -> dict[str, Placed]:
    """Those of a module, by name."""
    return {p.name: p for p in layout.variables if p.variable.type in KINDS or p.variable.space == "tex"}


def kind_of(placed: Placed) -> str:
    """Which of the three kinds one is of."""
    return placed.variable.type if placed.variable.type in KINDS else "texref"


def samplers(layout: ModuleLayout) -> dict[int, Image]:
    """The samplers of a module, by address: what their initialisers say, and for the rest the nearest texel, clamped."""
    return {
        p.address: Image("samplerref", p.name, sampler=_sampler(p))
        for p in references(layout).values()
        if kind_of(p) == "samplerref"
    }


def _sampler(placed: Placed) -> Sampler:
    fields: dict[str, str | int] = {}
    value = placed.variable.value
    for one in value.elements if isinstance(value, Vector) else ():
        if isinstance(one, Wrapped) and isinstance(one.inner, Name | Immediate):
            fields[one.operator] = one.inner.name if isinstance(one.inner, Name) else one.inner.value
    default = Sampler()
    x, y, z = (str(fields.get(f"addr_mode_{n}", default.address[n])) for n in range(3))
    return default._replace(
        filter=str(fields.get("filter_mode", default.filter)),
        address=(x, y, z),
        forced=bool(fields.get("force_unnormalized_coords", 0)),
    )


# Litmus tests.

#: The kind of an image behind an address through a proxy, and texels of so many bits.
_IMAGES = {"texture": "texref", "surface": "surfref"}
_TEXELS = {8: Format("u", 8), 16: Format("u", 16), 32: Format("u", 32), 64: Format("u", 32, 2)}


def images_of(variables: Mapping[str, Variable]) -> dict[int, Image]:
    """The textures and surfaces of a litmus test: locations with an address through the proxy of either, by that address. They
    are linear memory of one dimension."""
    return {
        v.address: Image(_IMAGES[v.proxy], name, "1d", _TEXELS[v.width], v.elements, linear=True, bases=(v.address,))
        for name, v in variables.items()
        if v.proxy in _IMAGES and v.width in _TEXELS
    }
