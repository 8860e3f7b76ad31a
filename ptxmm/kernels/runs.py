"""Kernel tests run on numbers: their modules loaded, their buffers made anew for each run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Set
from itertools import accumulate
from math import prod
from typing import TYPE_CHECKING, Any

from ptxcore.machine.ir.windows import GLOBAL_BITS
from ptxcore.records import NamedTuple
from ptxcore.values import terms
from ptxcore.values.terms import signed
from ptxmm.kernels.contents import BufferContents
from ptxmm.kernels.expressions import TYPES
from ptxmm.kernels.launch import Argument, Buffer, FinalElement, Imaged, Launch, MultimemBuffers, Scalar, Structure
from ptxmm.kernels.packing import pack
from ptxmm.kernels.signature import declares_clusters
from ptxmm.kernels.source import loaded
from ptxmm.kernels.symmetric import says_the_same
from ptxmm.kernels.test import Check, KernelTest, observed, resolver

if TYPE_CHECKING:
    from ptxcore.diagnostics import Diagnostic
    from ptxcore.machine.lower.ops import ExecutableModule
    from ptxcore.machine.run.launch import Device
    from ptxcore.machine.vector.watching import Watcher
    from ptxmm.kernels.expressions import Resolver
    from ptxmm.kernels.symmetric import Numbers

FinalValues = dict[str, int]


class Watchers(NamedTuple):
    """Who watches a launch: threads that go on together, and (made when there is need) single ones."""

    together: Watcher | None
    single: Callable[[], Any] | None


def all_beside(test: KernelTest) -> bool:
    """Whether all launches of a test run at the same time, each in a stream of its own, and are of one module and shape."""
    launches = test.launches
    alike = len({(launch.loaded, launch.block) for launch in launches}) == 1
    apart = len({launch.queue for launch in launches}) == len(launches) > 1
    return alike and apart and not any(launch.after or _in_clusters(launch) for launch in launches)


def side_by_side(test: KernelTest) -> bool:
    """Whether all launches of a test run at the same time and are of one module, on one device or several, with CTAs of one
    size or several."""
    launches = test.launches
    apart = len({launch.queue for launch in launches}) == len(launches) > 1
    one = len({launch.text for launch in launches}) == 1
    return apart and one and not any(launch.after or _in_clusters(launch) for launch in launches)


def _in_clusters(launch: Launch) -> bool:
    """Whether CTAs are launched in clusters, or kernels of its module say that they are."""
    return launch.cluster is not None or declares_clusters(launch.text)


def threads_of(test: KernelTest) -> int:
    """How many threads all launches have, as far as the test says it itself."""
    return sum(prod(launch.grid) * prod(launch.block) for launch in test.launches)


class Runs:
    """A kernel test ready to run; `watched`: by watchers; `readings`: those of the manual that they follow."""

    def __init__(self, test: KernelTest, *, watched: bool = False, readings: frozenset[str] = frozenset()) -> None:
        """Raises InputError for a module that is wrong."""
        self.test, self.readings = test, readings
        self.devices: dict[tuple[str, int], Device] = {}
        #: What is said of each module, by the number of its first launch.
        self.warnings: dict[int, tuple[Diagnostic, ...]] = {}
        for number, one in enumerate(test.launches):
            if one.loaded not in self.devices:
                self.devices[one.loaded] = loaded(one, watched=watched, readings=readings)
                self.warnings[number] = self.devices[one.loaded].warnings

    @property
    def most_threads(self) -> int:
        """The threads of the largest CTA of any launch."""
        return max(prod(launch.block) for launch in self.test.launches)

    @property
    def devices_of_ctas(self) -> tuple[int, ...]:
        """The device of each CTA of launches that run at the same time, those of the first ones first; empty where there is
        one."""
        launches = self.test.launches
        if len({launch.device for launch in launches}) == 1:
            return ()
        return tuple(launch.device for launch in launches for _ in range(prod(launch.grid)))

    def launch_of(self, number: int, cta: int) -> int:
        """The launch of a CTA: of several at the same time, the CTAs of the first ones begin first; else that of a number."""
        if not side_by_side(self.test):
            return number
        ends = accumulate(prod(launch.grid) for launch in self.test.launches)
        return next(n for n, end in enumerate(ends) if cta < end)

    def program_of(self, number: int) -> ExecutableModule:
        """The program of the launch of a number."""
        return self.devices[self.test.launches[number].loaded].program

    def run(
        self,
        seed: int | None = None,
        *,
        limit: int | None = None,
        watch: Callable[[Launch, ExecutableModule], Watchers] | None = None,
        progress: Callable[[int, int, int], None] | None = None,
        placed: Callable[[dict[int, str]], None] | None = None,
        fill: int = 0,
        unwritten: int | None = None,
    ) -> FinalValues:
        """One run of all launches, one after the other, or all at the same time: the final values of what the checks speak of.
        `limit` bounds the instructions of each launch; `watch` gives each launch, or all at the same time, its watchers;
        `progress` is told of it now and then, `placed` before each launch which segment of memory is which buffer. Buffers that
        may hold anything have `fill` in every byte, shared memory that nothing wrote `unwritten` (None: nobody knows
        what). Raises KernelError, UsageError."""
        from ptxmm.kernels.launching import launch

        arrays = {p.name: _array(p, fill) for p in self.test.parameters if isinstance(p, Buffer)}
        for device in self.devices.values():
            device.reset()
        if side_by_side(self.test):
            self._run_beside(arrays, seed, limit, watch, progress, placed, unwritten)
            return self._state(arrays)
        for number, one in enumerate(self.test.launches):
            given = [passed(p, arrays) for p in one.params]
            device = self.devices[one.loaded]
            watchers = watch(one, device.program) if watch else Watchers(None, None)

            launch(
                device, one.entry, one.grid, one.block, given, cluster=one.cluster,
                dynamic_shared=one.dynamic_shared, seed=None if seed is None else seed + number, limit=limit,
                references=bound(one, arrays),
                watcher=watchers.together, single=watchers.single, progress=progress, placed=_naming(placed, arrays),
                unwritten=unwritten, names=_named(arrays),
            )  # fmt: skip
        return self._state(arrays)

    def _run_beside(
        self, arrays: Mapping[str, Any], seed: int | None, limit: int | None,
        watch: Callable[[Launch, ExecutableModule], Watchers] | None, progress: Any, placed: Any,
        unwritten: int | None,
    ) -> None:  # fmt: skip
        """All launches at the same time; who watches them takes them for one."""
        from ptxmm.kernels.launching import ConcurrentLaunch, launch_together

        first = self.test.launches[0]
        device = self.devices[first.loaded]
        parts = [
            ConcurrentLaunch(
                one.entry, one.grid, one.block, [passed(p, arrays) for p in one.params], one.dynamic_shared
            )
            for one in self.test.launches
        ]
        watchers = watch(first, device.program) if watch else Watchers(None, None)
        launch_together(
            device,
            parts,
            seed=seed,
            limit=limit,
            references=bound(first, arrays),
            progress=progress,
            single=watchers.single,
            placed=_naming(placed, arrays),
            unwritten=unwritten,
            names=_named(arrays),
        )

    def _state(self, arrays: Mapping[str, Any]) -> FinalValues:
        """The final values of what the checks speak of."""
        state = {}
        for name, index in observed(self.test.checks):
            kind = TYPES[next(p.type for p in self.test.parameters if p.name == name and isinstance(p, Buffer))]
            value = int(arrays[name][index])
            state[f"{name}[{index}]"] = signed(value, kind.width) if kind.kind == "s" else value
        return state


def _named(arrays: Mapping[str, Any]) -> dict[int, str]:
    """What each array is called, by its identity."""
    return {id(array): name for name, array in arrays.items()}


def _naming(placed: Callable[[dict[int, str]], None] | None, arrays: Mapping[str, Any]) -> Any:
    """Who is told at which address each array is, so that it is told of segments and buffers."""
    if placed is None:
        return None
    names = _named(arrays)
    return lambda found: placed({address >> GLOBAL_BITS: names[id(a)] for a, address in found if id(a) in names})


def _array(buffer: Buffer, fill: int) -> Any:
    import numpy

    width = TYPES[buffer.type].width
    found = numpy.zeros(buffer.elements, dtype=f"<u{width // 8}")
    if buffer.open:
        found.view(numpy.uint8).fill(fill)
        return found
    if isinstance(buffer.init, BufferContents):
        again, size = numpy.frombuffer(buffer.init.data, found.dtype), len(buffer.init)
        whole = size - size % len(again) if len(again) else 0
        found[:whole].reshape(-1, max(1, len(again)))[:] = again
        found[whole:size] = again[: size - whole]
    else:
        found[: len(buffer.init)] = buffer.init
    return found


def bound(launch: Launch, arrays: Mapping[str, Any]) -> dict[str, Any]:
    """What the textures and surfaces are bound to that the module of a launch declares by name."""
    return {image.name: passed(image, arrays) for image in launch.references}


def passed(argument: Argument, arrays: Mapping[str, Any]) -> Any:
    """What a launch takes for an argument, buffers being arrays."""
    if isinstance(argument, Buffer):
        return arrays[argument.name]
    if isinstance(argument, Imaged):
        from ptxmm.images import Bound

        return Bound(argument.image, (arrays[argument.buffer.name],))
    if isinstance(argument, MultimemBuffers):
        from ptxmm.multimem import Replicas

        return Replicas(argument.name, tuple(arrays[buffer.name] for buffer in argument.buffers))
    return pack(argument, arrays) if isinstance(argument, Structure) else _bits(argument)


def _bits(scalar: Scalar) -> Any:
    """The bits of a scalar as its parameter takes them."""
    if isinstance(scalar.value, bytes):
        return scalar.value
    if TYPES[scalar.type].is_float:
        import numpy

        width = TYPES[scalar.type].width
        return numpy.array([scalar.value], dtype=f"<u{width // 8}").view(f"<f{width // 8}")[0]
    return scalar.value


def truth(test: KernelTest, check: Check, state: FinalValues) -> bool:
    """Whether an outcome is as a check wants it; a property holds of it."""
    if check.expression is None:
        return check.wanted
    truth = bool(check.expression.truth(_resolver(test, state)))
    return not truth if check.kind == "never" else truth


def open_elements(
    test: KernelTest, check: Check, state: FinalValues, differing: Set[str], orders: tuple[Numbers, ...] = ()
) -> Set[str]:
    """What a check speaks of that may have other values than in an outcome; nothing where it has one answer in whichever
    orders some of these stand."""
    found = check.elements() & differing
    if not found or check.expression is None:
        return found
    same = bool(orders) and says_the_same(check.expression, found, orders, _resolver(test, state))
    return frozenset() if same else found


def _resolver(test: KernelTest, state: FinalValues) -> Resolver:
    def final(name: str, index: int) -> FinalElement:
        label = f"{name}[{index}]"
        width = next(p for p in test.parameters if p.name == name and isinstance(p, Buffer)).type
        bits = TYPES[width].width
        return FinalElement(label, state[label] & terms.mask(bits), bits, TYPES[width].kind == "s")

    return resolver(test.parameters, final)
