"""Python's arguments as kernels take them: arrays become buffers in global memory, numbers go by value."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ptxcore.machine.ir.windows import IMAGES
from ptxcore.machine.lower.references import kind_of, references
from ptxcore.machine.run.launch import UsageError
from ptxcore.machine.run.memory import LARGEST
from ptxmm.kernels.packing import Packed, is_array, packed
from ptxmm.multimem import Replicas

if TYPE_CHECKING:
    from ptxcore.machine.lower.ops import FormalParameter
    from ptxcore.machine.run.launch import Device
    from ptxmm.images import Bound

_ADDRESS = 8  # bytes
#: Between the handles of two images.
_HANDLE = 32
_FLOATS = {"f16": "<e", "f32": "<f", "f64": "<d"}
#: Bytes of a number: how Python's floats go into parameters that say nothing of their type.
_FLOATS_BY_SIZE = {2: "<e", 4: "<f", 8: "<d"}
#: Steps that NumPy may take to find out whether two arrays that interleave share an element.
_MOST_WORK = 10_000


class LaunchArguments:
    """The arguments of one launch. `values` are the bytes of each parameter; the buffers live until `free`."""

    def __init__(
        self,
        device: Device,
        parameters: Sequence[FormalParameter],
        arguments: Sequence[Any],
        references: Mapping[str, Any] | None = None,
        names: Mapping[int, str] | None = None,
    ) -> None:
        """`references`: what textures, samplers and surfaces of the module are bound to, by name; `names`: what buffers
        are called, by the identity of their arrays, where that is not the name of their parameter. Raises UsageError where an
        argument does not fit its parameter."""
        self._memory = device.memory
        #: Arrays in buffers: the address of the first element.
        self.places: list[tuple[Any, int]] = []
        self._buffers: list[int] = []
        self._images: list[int] = []
        arguments = [
            packed(p.name, a)
            if isinstance(a, Mapping)
            else a.packed(p.name)
            if hasattr(a, "packed")
            else a.bound(p.name)
            if hasattr(a, "bound")
            else a
            for p, a in zip(parameters, arguments, strict=True)
        ]
        bound = _references(device, references or {})
        named = [named for p, a in zip(parameters, arguments, strict=True) for named in _arrays(p, a)]
        named += [(b.image.name, array) for b in bound.values() for array in b.arrays]
        places = self._place([((names or {}).get(id(array), name), array) for name, array in named])
        for address, b in bound.items():
            self._show(b, places, address)
        self.values: list[bytes] = []
        for parameter, argument in zip(parameters, arguments, strict=True):
            if _is_buffer(parameter, argument):
                self.values.append(_address(parameter, argument, places[id(argument)]))
            elif isinstance(argument, Packed):
                self.values.append(_filled(parameter, argument, places))
            elif isinstance(argument, Replicas):
                self.values.append(self._multimem(parameter, argument, places))
            elif hasattr(argument, "image"):
                self.values.append(self._handle(parameter, argument, places))
            else:
                self.values.append(_scalar(parameter, argument))

    def _place(self, named: list[tuple[str, Any]]) -> dict[int, int]:
        """Gives each array a place in a buffer; gives the places, by the identity of the array. Arrays that are parts of
        the same memory stay so."""
        arrays = {id(array): (name, array) for name, array in reversed(named)}
        for name, array in arrays.values():
            if array.dtype.hasobject:
                raise UsageError(f"'{name}': an array of Python objects cannot be a buffer")
        dense = [(name, a) for name, a in arrays.values() if a.flags.c_contiguous]
        sparse = [(name, a) for name, a in arrays.values() if not a.flags.c_contiguous]
        places: dict[int, int] = {}
        order = {id(array): number for number, (_, array) in reversed(list(enumerate(named)))}
        # Buffers stand in the order of the arguments, wherever the host has their arrays.
        for group in sorted(_overlapping(dense), key=lambda group: min(order[id(a)] for _, a in group)):
            low = min(map(_start, (a for _, a in group)))
            high = max(_start(a) + a.nbytes for _, a in group)
            writable = any(a.flags.writeable for _, a in group)
            address = self._buffer(group[0][0], high - low, writable)
            for _, array in group:
                places[id(array)] = address + _start(array) - low
        for i, (name, array) in enumerate(sparse):
            for other, rest in (*dense, *sparse[:i]):
                if _shares(array, rest):
                    raise UsageError(f"'{name}' and '{other}' share memory, and not all of it lies in one piece")
            places[id(array)] = self._buffer(name, array.nbytes, array.flags.writeable)
        for _, array in arrays.values():
            place = places[id(array)]
            self.places.append((array, place))
            self._bytes(array, place)[:] = array.tobytes()
        return places

    def _buffer(self, name: str, size: int, writable: bool) -> int:
        if size > LARGEST:
            raise UsageError(f"'{name}': a buffer has at most {LARGEST} bytes, not {size}")
        address = self._memory.allocate(size, name)
        if not writable:
            self._memory.at(address).protect()
        self._buffers.append(address)
        return address

    def _bytes(self, array: Any, address: int) -> memoryview:
        offset = address & 0xFFFFFFFF
        return memoryview(self._memory.at(address).data)[offset : offset + array.nbytes]

    def _handle(self, parameter: FormalParameter, bound: Bound, places: Mapping[int, int]) -> bytes:
        """The handle of a texture or a surface."""
        if parameter.size != _ADDRESS:
            raise UsageError(f"'{parameter.name}' has {parameter.size} bytes, a handle has {_ADDRESS}")
        handle = IMAGES + _HANDLE * (len(self._images) + 1)
        self._show(bound, places, handle)
        return handle.to_bytes(_ADDRESS, "little")

    def _multimem(self, parameter: FormalParameter, replicas: Replicas, places: Mapping[int, int]) -> bytes:
        """A multimem address."""
        if parameter.size != _ADDRESS:
            raise UsageError(f"'{parameter.name}' has {parameter.size} bytes, an address has {_ADDRESS}")
        address = self._memory.multimem(replicas.name, tuple(places[id(array)] for array in replicas.arrays))
        self._buffers.append(address)
        return address.to_bytes(_ADDRESS, "little")

    def _show(self, bound: Bound, places: Mapping[int, int], handle: int) -> None:
        """Puts an image behind a handle."""
        bases = tuple(places[id(array)] for array in bound.arrays) or bound.image.bases
        if len(bases) == 1:  # levels of detail stand behind each other
            bases = tuple(bases[0] + base for base in bound.image.bases)
        self._memory.images[handle] = bound.image._replace(bases=bases)
        self._images.append(handle)

    def update(self) -> None:
        """Writes what the buffers hold back to the arrays."""
        import numpy

        for array, address in self.places:
            if array.flags.writeable:
                with self._bytes(array, address) as data:
                    array[...] = numpy.frombuffer(bytes(data), dtype=array.dtype).reshape(array.shape)

    def free(self) -> None:
        """Gives the buffers back."""
        for handle in self._images:
            del self._memory.images[handle]
        self._images = []
        for address in self._buffers:
            self._memory.free(address)
        self._buffers = []


def _is_buffer(parameter: FormalParameter, argument: Any) -> bool:
    """Whether an argument goes by reference: an array, unless it has just the bytes of a structure."""
    return is_array(argument) and not (parameter.elements > 1 and argument.nbytes == parameter.size)


def _arrays(parameter: FormalParameter, argument: Any) -> list[tuple[str, Any]]:
    """The arrays that an argument leads to, with their names."""
    if isinstance(argument, Packed):
        return [(p.name, p.array) for p in argument.pointers]
    if isinstance(argument, Replicas) or hasattr(argument, "image"):
        return [(parameter.name, array) for array in argument.arrays]
    return [(parameter.name, argument)] if _is_buffer(parameter, argument) else []


def _references(device: Device, given: Mapping[str, Any]) -> dict[int, Bound]:
    """What the textures, samplers and surfaces of a module are bound to, by their addresses. Raises UsageError."""
    known = references(device.program.layout)
    found: dict[int, Bound] = {}
    for name, image in given.items():
        placed = known.get(name)
        if placed is None:
            raise UsageError(
                f"the module has no .texref, .samplerref or .surfref '{name}'; it has {', '.join(known) or 'none'}"
            )
        if image.image.kind != kind_of(placed):
            raise UsageError(f"'{name}' is a .{kind_of(placed)}, and is bound to a .{image.image.kind}")
        found[placed.address] = image.bound(name) if hasattr(image, "bound") else image
    return found


def _filled(parameter: FormalParameter, argument: Packed, places: Mapping[int, int]) -> bytes:
    if len(argument.data) != parameter.size:
        raise UsageError(f"'{parameter.name}' has {parameter.size} bytes, the argument {len(argument.data)}")
    found = bytearray(argument.data)
    for p in argument.pointers:
        found[p.at : p.at + _ADDRESS] = (places[id(p.array)] + p.offset).to_bytes(_ADDRESS, "little")
    return bytes(found)


def _address(parameter: FormalParameter, array: Any, address: int) -> bytes:
    if parameter.size != _ADDRESS:
        raise UsageError(
            f"'{parameter.name}' (.{parameter.type}) has {parameter.size} bytes and takes no buffer; the argument is an "
            f"array of {array.size} {array.dtype}"
        )
    return address.to_bytes(_ADDRESS, "little")


def _start(array: Any) -> int:
    return int(array.__array_interface__["data"][0])


def _overlapping(arrays: list[tuple[str, Any]]) -> list[list[tuple[str, Any]]]:
    """Arrays that lie in one piece, grouped by whether they share memory."""
    groups: list[list[tuple[str, Any]]] = []
    end = -1
    for name, array in sorted(arrays, key=lambda named: _start(named[1])):
        if groups and _start(array) < end:
            groups[-1].append((name, array))
        else:
            groups.append([(name, array)])
        end = max(end, _start(array) + array.nbytes)
    return groups


def _shares(one: Any, other: Any) -> bool:
    import numpy

    try:
        return bool(numpy.shares_memory(one, other, max_work=_MOST_WORK))  # type: ignore[arg-type]
    except Exception:  # numpy's TooHardError has moved between versions
        return True


# Numbers.


def _scalar(parameter: FormalParameter, argument: Any) -> bytes:
    """The bytes of a parameter that is passed by value. Raises UsageError where the argument does not fit."""
    if argument is None and parameter.size == _ADDRESS:
        return bytes(_ADDRESS)
    if is_array(argument):  # a structure, by its bytes
        return bytes(argument.tobytes())
    kind = getattr(getattr(argument, "dtype", None), "kind", "")
    if kind in ("b", "i", "u"):
        return _integer(parameter, int(argument))
    if kind == "f":
        return _numpy_float(parameter, argument)
    if isinstance(argument, int):
        return _integer(parameter, argument)
    if isinstance(argument, float):
        return _float(parameter, argument)
    if kind:  # structures, complex numbers, formats that NumPy does not know
        return _exactly(parameter, argument.tobytes())
    try:
        data = memoryview(argument).tobytes()  # bytes, and structures of ctypes
    except TypeError:
        raise UsageError(
            f"'{parameter.name}' takes a number, bytes or a NumPy array, not {type(argument).__name__}"
        ) from None
    if len(data) > parameter.size:
        raise UsageError(f"'{parameter.name}' has {parameter.size} bytes, the argument {len(data)}")
    return data


def _integer(parameter: FormalParameter, value: int) -> bytes:
    if parameter.type in _FLOATS and parameter.elements == 1:
        return _float(parameter, value)
    width = 8 * parameter.size
    if not -(1 << (width - 1)) <= value < 1 << width:
        raise UsageError(f"{value} does not fit into '{parameter.name}', which has {parameter.size} bytes")
    return (value & ((1 << width) - 1)).to_bytes(parameter.size, "little")


def _float(parameter: FormalParameter, value: float) -> bytes:
    form = _FLOATS.get(parameter.type) if parameter.elements == 1 else None
    if form is None and parameter.type[:1] == "b":
        form = _FLOATS_BY_SIZE.get(parameter.size)
    if form is None:
        raise UsageError(f"'{parameter.name}' (.{parameter.type}) is no floating-point parameter, {value!r} no integer")
    try:
        return struct.pack(form, value)
    except OverflowError:
        raise UsageError(f"{value!r} does not fit into '{parameter.name}' (.{parameter.type})") from None


def _numpy_float(parameter: FormalParameter, value: Any) -> bytes:
    """A NumPy float in the format of the parameter; its own bits where that has no format."""
    if parameter.type in _FLOATS and parameter.elements == 1 and value.dtype.itemsize != parameter.size:
        return _float(parameter, float(value))
    return _exactly(parameter, value.tobytes())


def _exactly(parameter: FormalParameter, data: bytes) -> bytes:
    if len(data) != parameter.size:
        raise UsageError(f"'{parameter.name}' has {parameter.size} bytes, the argument {len(data)}")
    return data
