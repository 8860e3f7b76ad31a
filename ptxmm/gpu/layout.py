"""A run of a module: how many CTAs each of its launches has, what memory holds before, and which states it shows."""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, replace
from random import Random

from litmus.test import TYPE_WIDTHS, AddressOf, Location, LocationTerm, RegisterTerm
from ptxcore.places import Placement
from ptxcore.records import NamedTuple, dataclass
from ptxmm.gpu.contract import (
    CONTROL,
    DONE,
    NOT_ENDED,
    NOT_STARTED,
    PART_BITS,
    PLACE_BITS,
    GpuModule,
    ListedValue,
    check_pointer,
)
from ptxmm.gpu.images import TEXTURE_ALIGNED, root_of
from ptxmm.gpu.parameters import Parameters
from ptxmm.gpu.placement import MOST_WARPS, WARP

#: Bytes between the counters of two instances, and what every stretch of memory begins at a multiple of.
_COUNTER, _ALIGNED = 128, 256
#: Bytes of shared memory that a CTA has on every GPU without being asked for.
MOST_SHARED = 48 << 10
#: Bytes that a launch may have.
MOST_MEMORY = 1 << 30
#: Textures and surfaces that a launch may have, each of which is an object of the driver.
MOST_HANDLES = 1 << 16
#: A state as values in the order of the module's.
GpuState = tuple[int, ...]


class DoesNotFit(ValueError):
    """Parameters with which a test does not fit."""


class InstanceShape(NamedTuple):
    """How instances lie in CTAs: each CTA has `slots`, of which `per_warp` share a warp, in `blocks` warps for each warp of the
    test; `groups` times a CTA for each of the test."""

    slots: int
    per_warp: int
    blocks: int
    groups: int

    @property
    def instances(self) -> int:
        return self.slots * self.groups


class Tables(NamedTuple):
    """What changes from run to run: for each launch the control block and which cluster each is; and which memory each instance
    has."""

    control: tuple[bytes, ...]
    clusters: tuple[bytes, ...]
    instances: bytes


@dataclass(frozen=True)
class GpuLaunch:
    """All that a run is: sizes, and the bytes of each buffer before it. `grids` has the CTAs of each launch, in the order of
    the placement's parts. `image` needs the addresses at which memory is."""

    module: GpuModule
    parameters: Parameters
    shape: InstanceShape
    grids: tuple[int, ...]
    block: int
    shared_bytes: int
    memory_bytes: int
    offsets: Mapping[str, tuple[int, int]]
    start: int
    end: int
    initial: bytes = field(repr=False)
    scratch_bytes: int = 0

    @property
    def result_bytes(self) -> int:
        return 8 * self.module.columns * self.shape.instances

    def image(self, bases: Sequence[int]) -> bytes:
        """What memory holds at first, where its mappings begin at these addresses."""
        pointers = [l for l in self.module.test.locations if any(isinstance(v, AddressOf) for v in l.initial)]
        if not pointers:
            return self.initial
        data = bytearray(self.initial)
        for l in pointers:
            if l.space == "shared":
                continue
            check_pointer(l)
            offset, stride = self.offsets[l.name]
            for i, value in enumerate(l.initial):
                if isinstance(value, AddressOf):
                    base = bases[self.module.mappings[value.location]]
                    to, step = self.offsets[value.location]
                    for n in range(self.shape.instances):
                        struct.pack_into("<Q", data, offset + n * stride + 8 * i, base + to + n * step)
        return bytes(data)

    def tables(self, seed: int) -> Tables:
        """What changes from run to run, drawn from a seed."""
        p, placement = self.parameters, self.module.placement
        random = Random(seed)
        clusters = [list(range(grid // placement.ctas)) for grid in self.grids]
        instances = list(range(self.shape.instances))
        if p.shuffle:
            for own in clusters:
                random.shuffle(own)
            random.shuffle(instances)
        rotations = [random.randrange(self.shape.slots) if p.rotate else 0 for _ in range(placement.all_warps)]
        words = {
            **self.shape._asdict(), "polls": p.polls, "seed": random.getrandbits(32), "jitter": p.jitter,
            "preload": p.preload, "stress_turns": p.stress_turns, "pre_stress": p.pre_stress,
            "stress_pattern": p.stress_pattern, "stress_lines": p.stress_lines, "stress_stride": p.stress_stride,
            "start": self.start, "counter_stride": _COUNTER, "end": self.end,
            "shared_stride": self.shared_bytes // self.shape.slots,
        }  # fmt: skip
        places = [number for l in self.module.test.locations for number in self.offsets[l.name]]
        control = []
        for number, part in enumerate(placement.parts):
            own_words = words | {"first": part.first, "own": part.clusters, "part": number}
            control.append(_words([*(own_words[name] for name in CONTROL), *places, *rotations]))
        return Tables(tuple(control), tuple(map(_words, clusters)), _words(instances))


def _words(numbers: Sequence[int]) -> bytes:
    return struct.pack(f"<{len(numbers)}I", *numbers)


def planned(module: GpuModule, parameters: Parameters, most_ctas: int | None = None) -> GpuLaunch:
    """The launches of a module. `most_ctas`: how many CTAs of one run at once, where that is known; there are no more then.
    Raises TooLarge."""
    placement, test = module.placement, module.test
    shared = [l for l in test.locations if l.space == "shared"]
    shared_offsets, slot = _side_by_side(shared)
    slot = _up(slot, 128)
    if slot > MOST_SHARED:
        raise DoesNotFit(f"an instance has {slot} bytes of shared memory in a CTA, more than {MOST_SHARED}")
    per_warp = 1 if placement.alone else min(WARP // placement.lanes, parameters.per_cta)
    most = per_warp * (MOST_WARPS // placement.warps)
    slots = 1 if placement.alone else max(1, min(parameters.per_cta, most, MOST_SHARED // slot if slot else most))
    per_warp = min(per_warp, slots)
    slots -= slots % per_warp
    own = [part.clusters * placement.ctas for part in placement.parts]
    groups = -(-parameters.instances // slots)
    stress = -(-parameters.stress_ctas // placement.ctas) * placement.ctas
    if most_ctas is not None:
        groups = min(groups, max(1, (most_ctas - stress) // max(own)))
    shape = InstanceShape(slots, per_warp, slots // per_warp, groups)
    textured = {image.root for image in module.images if not image.in_array}
    stored = [
        replace(l, align=max(l.align or 1, TEXTURE_ALIGNED)) if l.name in textured else l
        for l in test.locations
        if l.space != "shared" and l.alias_of is None
    ]
    offsets, size = _spread(stored, parameters, shape.instances)
    start = _up(size, _ALIGNED)
    end = start + _COUNTER * shape.instances
    total = end + _COUNTER * shape.instances
    if total > MOST_MEMORY:
        raise DoesNotFit(
            f"{shape.instances} instances with a stride of {parameters.stride} have {total} bytes, more than {MOST_MEMORY}"
        )
    handles = shape.instances * len(module.images)
    if handles > MOST_HANDLES:
        raise DoesNotFit(f"{shape.instances} instances have {handles} textures and surfaces, more than {MOST_HANDLES}")
    offsets |= {name: (offset, 0) for name, offset in shared_offsets.items()}
    launch = GpuLaunch(
        module, parameters, shape, tuple(groups * ctas + stress for ctas in own), WARP * shape.blocks * placement.warps,
        slot * slots, total, {l.name: offsets[root_of(test, l).name] for l in test.locations}, start, end, b"",
        scratch_bytes=max(8, parameters.stress_lines * parameters.stress_stride + 8),
    )  # fmt: skip
    return replace(launch, initial=_initial(launch))


def _up(number: int, multiple: int) -> int:
    return -(-number // multiple) * multiple


def _size(l: Location) -> int:
    return (l.elements or 1) * TYPE_WIDTHS[l.type] // 8


def _alignment(l: Location) -> int:
    """What its address is a multiple of: 16, so that vectors and copies may access it, or what it declares."""
    return max(16 if l.elements else TYPE_WIDTHS[l.type] // 8, l.align or 1, 4)


def _side_by_side(locations: Sequence[Location]) -> tuple[dict[str, int], int]:
    offsets, at = {}, 0
    for l in locations:
        at = offsets[l.name] = _up(at, _alignment(l))
        at += _size(l)
    return offsets, at


def _spread(locations: Sequence[Location], p: Parameters, instances: int) -> tuple[dict[str, tuple[int, int]], int]:
    """For each location where that of the first instance lies, and how far it is to the next one's; and the size of all."""
    alignment = max([_alignment(l) for l in locations], default=4)
    if p.together:
        offsets, at = {}, 0
        for l in locations:
            offsets[l.name] = _up(at, _alignment(l))
            at = offsets[l.name] + _up(_size(l), 4)
        stride = _up(max(at, p.stride), alignment)
        return {name: (offset, stride) for name, offset in offsets.items()}, stride * instances
    found, at = {}, 0
    for l in locations:
        at = _up(at, max(_ALIGNED, _alignment(l)))
        stride = _up(max(_size(l), p.stride), _alignment(l))
        found[l.name] = at, stride
        at += stride * instances
    return found, at


def _initial(launch: GpuLaunch) -> bytes:
    data = bytearray(launch.memory_bytes)
    for l in launch.module.test.locations:
        if l.space == "shared" or l.alias_of is not None:
            continue
        width = TYPE_WIDTHS[l.type]
        own = b"".join(
            (0 if isinstance(v, AddressOf) else v & ((1 << width) - 1)).to_bytes(width // 8, "little")
            for v in l.initial
        )
        offset, stride = launch.offsets[l.name]
        if any(own):
            for n in range(launch.shape.instances):
                data[offset + n * stride : offset + n * stride + len(own)] = own
    return bytes(data)


# What a launch came to.


@dataclass
class SeenStates:
    """How often each state was seen, of how many instances; `not_started`, `not_ended`: instances whose threads did not meet in
    time, of which no state is counted. `misplaced` says what is wrong with the places of threads, where anything is."""

    states: Counter[GpuState] = field(default_factory=Counter)
    instances: int = 0
    not_started: int = 0
    not_ended: int = 0
    misplaced: str = ""

    def add(self, other: SeenStates) -> None:
        """What another launch came to."""
        self.states += other.states
        self.instances += other.instances
        self.not_started += other.not_started
        self.not_ended += other.not_ended
        self.misplaced = self.misplaced or other.misplaced


def seen(
    launch: GpuLaunch, instances: bytes, results: bytes, memory: bytes, bases: Sequence[int], addresses: Mapping[str, int],
    *, stuck: bool = False, host: Mapping[str, Sequence[int]] | None = None,
) -> SeenStates:  # fmt: skip
    """What buffers hold behind a run. `instances` is the table that it had, `bases` where the mappings of its memory were.
    `addresses` are what the model calls the addresses of locations: a value that is one of the instance's own is told as such.
    `stuck`: the run was ended while threads waited. `host`: what registers of the host's thread hold, by the memory that an
    instance has."""
    module, count = launch.module, launch.shape.instances
    cells = memoryview(results).cast("Q")
    columns, threads = module.columns, len(module.threads)
    status = [cells[2 * t :: columns].tolist() for t in range(threads)]
    places = [cells[2 * t + 1 :: columns].tolist() for t in range(threads)]
    indices = memoryview(instances).cast("I").tolist()
    stored = {v.label: cells[2 * threads + i :: columns].tolist() for i, v in enumerate(module.stored)}
    for v in module.values:
        if module.is_of_host(v):
            assert isinstance(v.term, RegisterTerm)
            held = (host or {}).get(v.term.register.lstrip("%"))
            stored[v.label] = [0 if held is None else held[n] for n in indices]
    values = [
        _read(stored[v.label], v) if v.label in stored else _final(launch, v, indices, memory) for v in module.values
    ]
    if addresses:
        values = [
            _named(launch, v, column, indices, bases, addresses)
            for v, column in zip(module.values, values, strict=True)
        ]
    found = SeenStates(instances=count, misplaced=_misplaced(launch, places, status))
    rows: Iterator[GpuState] = zip(*values, strict=True) if values else iter([()] * count)
    if all(column.count(DONE) == count for column in status):
        found.states.update(rows)
        return found
    whole = [set(row) for row in zip(*status, strict=True)]
    for state, ended in zip(rows, whole, strict=True):
        if ended == {DONE}:
            found.states[state] += 1
        elif 0 in ended and not stuck:
            found.misplaced = found.misplaced or f"threads of an instance did not run: they say {sorted(ended)}"
        elif NOT_STARTED in ended:
            found.not_started += 1
        elif NOT_ENDED in ended or stuck:
            found.not_ended += 1
        else:
            found.misplaced = found.misplaced or f"threads of an instance say {sorted(ended)}, which means nothing"
    return found


def _mask(width: int) -> int:
    return (1 << width) - 1


def _read(column: Sequence[int], value: ListedValue) -> list[int]:
    """What threads stored in 64 bits, as the values that they are."""
    mask = _mask(value.width)
    if value.signed:
        return [_signed(x & mask, value) for x in column]
    return [x & mask for x in column]


def _signed(number: int, value: ListedValue) -> int:
    return number - (1 << value.width) if value.signed and number >> (value.width - 1) else number


def _final(launch: GpuLaunch, value: ListedValue, indices: Sequence[int], memory: bytes) -> list[int]:
    """The last values of a location, by instance."""
    assert isinstance(value.term, LocationTerm)
    offset, stride = launch.offsets[value.term.location]
    size = value.width // 8
    offset += (value.term.element or 0) * size
    found = []
    for n in indices:
        at = offset + n * stride
        found.append(_signed(int.from_bytes(memory[at : at + size], "little"), value))
    return found


def _named(
    launch: GpuLaunch, value: ListedValue, column: list[int], indices: Sequence[int], bases: Sequence[int],
    addresses: Mapping[str, int],
) -> list[int]:  # fmt: skip
    """Values, with what is an address of the instance's own memory as the model has it. One of another instance stays as it is,
    and is none of the model's."""
    if value.width != 64:
        return column
    test, mappings = launch.module.test, launch.module.mappings
    own = [
        (l, _size(root_of(test, l)), bases[mappings[l.name]], *launch.offsets[l.name])
        for l in test.locations
        if l.space != "shared"
    ]
    found = []
    for n, number in zip(indices, column, strict=True):
        for l, size, base, offset, stride in own:
            inside = number - (base + offset + n * stride)
            if 0 <= inside <= size:  # one behind the last is written so, too
                number = addresses[l.name] + inside
                break
        found.append(number)
    return found


# Where threads were.


def _misplaced(launch: GpuLaunch, places: Sequence[Sequence[int]], status: Sequence[Sequence[int]]) -> str:
    """What is wrong with where threads were, which they say themselves; empty where nothing is: they are in the launches that
    they belong to, share warps, CTAs and clusters just where the test says so, and no two threads are one."""
    seats, threads = launch.module.placement.seats, launch.module.threads
    pairs = [
        (a, b, "" if seats[a].part != seats[b].part else _shared(threads[a].place, threads[b].place))
        for a in range(len(seats))
        for b in range(a)
    ]
    ctas = launch.module.placement.ctas
    if all(map(all, status)) and _in_place(launch, places, pairs):
        return ""
    taken: set[int] = set()
    for n in range(launch.shape.instances):
        if any(column[n] == 0 for column in status):
            continue  # told elsewhere
        parts = [column[n] >> PART_BITS for column in places]
        if parts != [seat.part for seat in seats]:
            return f"threads of instance {n} are in the launches {parts}"
        for a, b, wanted in pairs:
            found = _common(places[a][n], places[b][n], ctas)
            if found != wanted:
                names = f"{threads[b].name} and {threads[a].name} of instance {n}"
                return f"{names} share {found or 'the GPU'}, and should share {wanted or 'the GPU'}"
        ranks = [((column[n] & _mask(PART_BITS)) >> PLACE_BITS) % ctas for column in places]
        lanes = [column[n] & (WARP - 1) for column in places]
        alone = launch.module.placement.alone
        if ranks != [seat.rank for seat in seats] or (alone and lanes != [seat.lane for seat in seats]):
            return f"threads of instance {n} have lanes {lanes} and ranks {ranks}"
        own = [column[n] for column in places]
        if len(set(own)) < len(own) or taken & set(own):
            return f"two threads have the place of a thread of instance {n}"
        taken.update(own)
    return ""


def _in_place(launch: GpuLaunch, places: Sequence[Sequence[int]], pairs: Sequence[tuple[int, int, str]]) -> bool:
    """Whether all threads are in their places, instance by instance, by looks at whole columns: there are many instances, and
    mostly nothing is wrong. Where this says no, who looks at each of them finds out what is."""
    placement, cta = launch.module.placement, 1 << PLACE_BITS
    ctas, of_launch = placement.ctas, _mask(PART_BITS)
    for seat, column in zip(placement.seats, places, strict=True):
        if not min(column) >> PART_BITS == max(column) >> PART_BITS == seat.part:
            return False
        if ctas > 1 and any(((x & of_launch) >> PLACE_BITS) % ctas != seat.rank for x in column):
            return False
        if placement.alone and any(x & (WARP - 1) != seat.lane for x in column):
            return False
    for a, b, wanted in pairs:
        apart = [x ^ y for x, y in zip(places[a], places[b], strict=True)]
        if wanted == "a warp":
            right = max(apart) < WARP
        elif wanted == "a CTA":
            right = min(apart) >= WARP and max(apart) < cta
        else:
            right = min(apart) >= cta and all(
                (_common(x, y, ctas) == wanted for x, y in zip(places[a], places[b], strict=True)) if ctas > 1 else ()
            )
        if not right:
            return False
    return len(set().union(*places)) == len(places) * launch.shape.instances


def _common(a: int, b: int, ctas: int) -> str:
    """The narrowest that two places have in common."""
    first, second = a >> PLACE_BITS, b >> PLACE_BITS
    if first == second:
        lanes = _mask(PLACE_BITS)
        return "a warp" if (a & lanes) // WARP == (b & lanes) // WARP else "a CTA"
    same_launch = a >> PART_BITS == b >> PART_BITS
    return "a cluster" if ctas > 1 and same_launch and _cluster(a, ctas) == _cluster(b, ctas) else ""


def _cluster(place: int, ctas: int) -> int:
    return ((place & _mask(PART_BITS)) >> PLACE_BITS) // ctas


def _shared(a: Placement, b: Placement) -> str:
    """The narrowest that two threads of the test have in common."""
    if a.warp == b.warp:
        return "a warp"
    if a.cta == b.cta:
        return "a CTA"
    return "a cluster" if a.cluster == b.cluster else ""
