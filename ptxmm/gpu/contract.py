"""What a module and its host agree on: the control block, the rows of results, and what a module is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from litmus.test import TYPE_WIDTHS, LitmusThread, Location, LocationTerm, RegisterTerm, Test
from ptxcore.diagnostics import Span, fail
from ptxcore.records import NamedTuple, dataclass
from ptxmm.gpu.host import HostStep, host_thread
from ptxmm.gpu.images import InstanceImage
from ptxmm.gpu.placement import GpuPlacement

ENTRY = "litmus"
#: What a module is written for where nobody says otherwise.
TARGET, VERSION = "sm_90", "9.0"
#: The words of the control block of a launch, in order: which of the clusters of an instance are its own, which launch it is,
#: the shape, and what parameters say; behind them two for each location (where that of the first instance lies, and how
#: far from it that of the next), and one for each warp of an instance (how far its instances are rotated).
CONTROL = (
    "first", "own", "part",
    "groups", "slots", "blocks", "per_warp", "polls", "seed", "jitter", "preload", "stress_turns", "pre_stress",
    "stress_pattern", "stress_lines", "stress_stride", "start", "counter_stride", "end", "shared_stride",
)  # fmt: skip
#: What a thread stores of itself: that it came to its end, or that its instance did not start, or did not end, together; 0 is
#: what stands there before.
DONE, NOT_STARTED, NOT_ENDED = 1, 2, 3
#: Bits of the place that a thread stores: its number in its CTA; behind them its CTA, and from here on the launch.
PLACE_BITS, PART_BITS = 10, 32
#: Bytes between the words of two kernels in the counter of an instance.
KERNEL_COUNTER = 4
#: The parameters of the kernel; behind them one for each further mapping of its memory, and `HANDLES` where it has textures or
#: surfaces: for each instance the handles of these.
PARAMETERS = ("memory", "results", "control", "clusters", "instances", "scratch")
HANDLES = "handles"


class ListedValue(NamedTuple):
    """Something that a state lists: its name, bits and sign; and the `term` of the test."""

    label: str
    width: int
    signed: bool
    term: RegisterTerm | LocationTerm


@dataclass(frozen=True)
class GpuModule:
    """The text, and what the host must know of it. A row of results has for each thread of a GPU its status and its place, then
    a number for each of `stored`; registers of the host's thread are not among these. `spans` says of each line of the text
    which statement of the test it is of."""

    test: Test
    text: str
    placement: GpuPlacement
    values: tuple[ListedValue, ...]
    stored: tuple[ListedValue, ...]
    spans: dict[int, Span]
    target: str
    version: str
    #: By which mapping of memory each location is seen.
    mappings: Mapping[str, int]
    #: The textures and surfaces that it uses.
    images: tuple[InstanceImage, ...] = ()
    #: What the thread of the host does, if there is one, and the bits of its registers.
    steps: tuple[HostStep, ...] = ()
    host_widths: Mapping[str, int] = field(default_factory=dict)

    @property
    def host_first(self) -> dict[str, int]:
        """What registers of the host's thread hold at first, where that is not 0."""
        thread = host_thread(self.test)
        registers = () if thread is None else thread.registers
        return {name.lstrip("%"): value for name, value in registers if isinstance(value, int)}

    @property
    def threads(self) -> list[LitmusThread]:
        """The threads that run on a GPU."""
        return [self.test.threads[number] for number in self.placement.threads]

    def is_of_host(self, value: ListedValue) -> bool:
        """Whether a value is one of a register of the host's thread."""
        return isinstance(value.term, RegisterTerm) and any(
            t.name == value.term.thread and t.place.host for t in self.test.threads
        )

    @property
    def extra_mappings(self) -> int:
        """How many mappings of its memory the kernel has besides the first."""
        return max(self.mappings.values(), default=0)

    @property
    def columns(self) -> int:
        return 2 * len(self.placement.threads) + len(self.stored)


def check_pointer(location: Location) -> None:
    """Raises InputError for a location that is too small for the address that it has at first."""
    width = TYPE_WIDTHS[location.type]
    if width != 64:
        raise fail(location.span, f"'{location.name}' has {width} bits, and an address has 64 on a GPU")
