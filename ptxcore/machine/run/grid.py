"""The grid: the CTAs of a launch, and whose turn it is.

Threads run one at a time, a number of blocks each, and switch only between instructions: what they see of each other is
sequentially consistent. The order is round-robin, or random from a seed, which replays.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from random import Random
from typing import Any

from ptxcore.isa.form import Use
from ptxcore.machine.ir.collective import mask_position
from ptxcore.machine.lower.ops import ExecutableModule, Op
from ptxcore.machine.run import special
from ptxcore.machine.run.asynchronous import AsyncOperation, due
from ptxcore.machine.run.clusters import LaunchedClusters, clusters_of
from ptxcore.machine.run.codegen import Compiled, Compiler, polls
from ptxcore.machine.run.cta import Cta
from ptxcore.machine.run.dependence import GridDependence
from ptxcore.machine.run.emulation import blame, recover, undefined_registers, values_of
from ptxcore.machine.run.faults import Blamed, Fault, KernelError, Longer, ThreadName, UnwrittenValue, fault, line_of
from ptxcore.machine.run.memory import GlobalMemory, ParameterValues, Segment
from ptxcore.machine.run.special import LaunchShape, SpecialRegisters, Triple
from ptxcore.machine.run.thread import NOWHERE, Asleep, Polled, RunningThread, Suspended, idle

#: Blocks that a thread runs before the next one's turn: whole rounds of most short loops, so that those that change nothing
#: are at the same place afterwards.
_TURN = 840
#: Threads that are under way at first. When a whole round ends no CTA, they may wait for CTAs that have not begun, and
#: more are let in.
_RESIDENT = 1024
#: How often threads that sleep are told to go on although nothing else happened; then it is a deadlock.
_MOST_STALLS = 200
#: What a round counts in which threads were busy, with nothing coming of it, or looked again, and no register changed.
_IDLE_STALL = 20
#: So many threads are named that a run has left waiting.
_MOST_TOLD = 8
#: Rounds after which threads that sleep go on, and one more CTA is let in, although others get on.
_PATIENCE = 16
#: Blocks that a thread runs in random schedules to look once more at what it waits for.
_LOOK = 32
#: In random schedules a round of so many has long turns: threads that only go round and round are found there.
_LONG = 1000
#: Errors of which the values of registers say nothing.
_WITHOUT_VALUES = ("deadlock", "limit")
#: Seconds between two reports of progress.
_INTERVAL = 0.1
#: Bytes of the buffer through which the threads of a grid synchronize; %envreg1 and %envreg2 have the halves of its address.
_WORKSPACE = 64


class GridLaunch:
    """One launch of a kernel."""

    def __init__(
        self,
        program: ExecutableModule,
        compiled: Compiled,
        memory: GlobalMemory,
        entry: str,
        grid: Triple,
        block: Triple,
        cluster: Triple = (1, 1, 1),
        *,
        dynamic_shared: int = 0,
        seed: int | None = None,
        limit: int | None = None,
        path: str = "<module>",
        progress: Callable[[int, int, int], None] | None = None,
        watcher: Any = None,
        unwritten: int | None = None,
    ) -> None:
        #: Who is told what threads do: see `ptxcore.machine.run.watched`.
        self.watcher = watcher
        self.program, self.compiled, self.memory, self.entry = program, compiled, memory, entry
        self.grid, self.block, self.cluster = grid, block, cluster
        self.seed, self.limit, self.path, self.progress = seed, limit, path, progress
        self.random = None if seed is None else Random(seed)
        self.dynamic_shared = dynamic_shared
        #: Where the shared memory begins whose size the launch gives.
        self.dynamic_start = program.layout.dynamic(entry)
        #: What the kernel has of shared memory, what of it nobody knows, what is in each byte of the rest, and what there
        #: is with
        #: that of system software.
        self.kernel_shared = self.dynamic_start + dynamic_shared
        self.contents = unwritten
        self.unwritten, self.filling = (self.kernel_shared, 0) if unwritten is None else (0, unwritten)
        reads_reserved = not special.OF_RESERVED.isdisjoint(program.special)
        whole = special.reserved_offset(self.kernel_shared) + special.RESERVED
        self.shared_bytes = whole if reads_reserved else self.kernel_shared
        self.parameters = Segment(0, "kernel parameters", writable=False)
        self.constants = Segment(0, "constant memory", writable=False)
        self.read_parameters = ParameterValues(self)
        self.places = special.places(block)
        self.executed = self._asked = 0
        #: The CTAs that arrays had executed when they came to something that they cannot.
        self.by_arrays = 0
        #: Instructions after which somebody wants to run it in another way; None: however many.
        self.patience: int | None = None
        self.started, self.reported = time.monotonic_ns(), 0.0
        self._functions = {address: name for name, address in program.layout.functions.items()}
        self._collective: dict[int, tuple[Use, int | None]] = {}
        #: Asynchronous operations that are still to be done.
        self.pending: list[AsyncOperation] = []
        ops = compiled.ops if self.random else ()
        self.cancels = any(op.use.form.mnemonic == "clusterlaunchcontrol" for op in ops)
        self.waiting = clusters_of(watcher, grid, cluster, self.random if self.cancels else None)
        #: Whether anything came of this round, and whether a thread was still busy when its turn ended.
        self.progressed = self.busy = False
        #: Whether this round has long turns.
        self.long = self.random is None
        workspace = any(name.startswith("envreg") for name in program.special)
        self.workspace = memory.allocate(_WORKSPACE, "the grid's workspace") if workspace else 0
        self.shape = LaunchShape(
            grid, block, cluster, self.kernel_shared, dynamic_shared, self.workspace, program.target
        )
        #: What `vprintf` printed.
        self.output: list[str] = []
        self.dependence = GridDependence(grid[0] * grid[1] * grid[2])

    # Registers of CTAs.

    def cta_registers(self, cta: Cta) -> SpecialRegisters:
        """The special registers that all threads of a CTA share."""
        return special.of_cta(self.shape, cta.index)

    def clock(self, name: str) -> int:
        """Clocks count instructions, and how often they were asked; timers nanoseconds."""
        if name.startswith("globaltimer"):
            now = time.monotonic_ns()
            return now >> 32 if name.endswith("hi") else now & 0xFFFFFFFF if name.endswith("lo") else now
        self._asked += 1
        now = self.executed + self._asked
        return now >> 32 if name == "clock_hi" else now & ((1 << 64) - 1)

    def collective(self, op: int) -> tuple[Use, int | None]:
        """The use of an instruction that threads execute together, and which source is its member mask."""
        found = self._collective.get(op)
        if found is None:
            how = self.compiled.ops[op].use
            found = self._collective[op] = how, mask_position(how)
        return found

    def function_at(self, address: int) -> str:
        """The function whose address this is. Raises Fault where there is none."""
        name = self._functions.get(address)
        if name is None or name not in self.program.functions:
            raise fault("bad-call", f"a call goes to {address:#x}, where no function is")
        return name

    # Running.

    def run(self) -> None:
        """Runs all threads to their ends. Raises KernelError, with what was printed before, and Longer."""
        try:
            self._run()
        except KernelError as error:
            error.printed = "".join(self.output)
            raise
        finally:
            if self.workspace:
                self.memory.free(self.workspace)

    def _run(self) -> None:
        resident: list[Cta] = []
        total = self.grid[0] * self.grid[1] * self.grid[2]
        finished = threads = stalls = rounds = 0
        most, more = self._at_first(), True
        while more or resident:
            while more and (not resident or threads < most):
                ctas = self._begun()
                if not ctas:
                    more = ctas is not None
                    break
                for cta in ctas:
                    cta.start()
                    threads += cta.alive
                resident += ctas
            if not resident and not more:
                break
            self.long = self.random is None or (self.long and not self.progressed) or rounds % _LONG == _LONG - 1
            self.progressed = self.busy = False
            for cta in self._order(resident):
                self._turns(cta)
                self.report(finished, total)
            self._do_pending()
            ended = [cta for cta in resident if not cta.alive]
            for cta in ended:
                self._complete(cta)
                threads -= len(cta.threads)
                finished += 1
                cta.end()
            self.report(finished, total)
            if ended:
                resident = [cta for cta in resident if cta.alive]
                continue
            rounds += 1
            patient = self.progressed and rounds % _PATIENCE != 0
            sleepers = [thread for cta in resident for thread in cta.sleeping]
            stalls = 0 if self.progressed else stalls + (_IDLE_STALL if self.busy or idle(sleepers) else 1)
            if not patient and not more:
                if stalls > _MOST_STALLS or (stalls and not sleepers and not any(cta.ready for cta in resident)):
                    raise self._deadlock(resident)
                for thread in sleepers:
                    thread.insists = True
            if not patient or self.busy:
                most = threads + 1

    def report(self, finished: int, total: int) -> None:
        """Tells now and then how far it is."""
        if self.progress is None or time.monotonic() - self.reported < _INTERVAL:
            return
        self.reported = time.monotonic()
        self.progress(finished, total, self.executed)

    def later(self, operation: AsyncOperation) -> None:
        """An asynchronous operation is to be done."""
        self.pending.append(operation)

    def _do_pending(self) -> None:
        """Does asynchronous operations: all, or in random schedules some of them."""
        begun, self.pending = due(self.pending, self.random, self.progressed)
        self._do(begun)

    def _complete(self, cta: Cta) -> None:
        """Does what a CTA began without a way to learn of it: that is complete at its end (9.7.9.12, 9.7.13.7)."""
        own = [operation for operation in self.pending if operation.thread.cta is cta and not operation.late]
        if own:
            self.pending = [operation for operation in self.pending if operation not in own]
            self._do(own)
        self.dependence.ended(cta.index)

    def _do(self, begun: Sequence[AsyncOperation]) -> None:
        for operation in begun:
            self.progressed = True
            try:
                operation.finish()
            except Fault as error:
                kind, message = error.args
                assert error.blamed is not None
                raise self._told(kind, message, *error.blamed) from None

    def cancel(self) -> Triple | None:
        """Takes a cluster from those that have not begun; the index of its first CTA."""
        return self.dependence.without(self.waiting.cancel(), self.cluster)

    def indices(self) -> Iterator[Triple]:
        """The indices of CTAs as they begin: cluster by cluster, in each by rank."""
        return (index for of_cluster in LaunchedClusters(self.grid, self.cluster) for index in of_cluster)

    def _at_first(self) -> int:
        """How many threads begin at first. Where clusters may be cancelled before they do, random schedules draw that."""
        if self.random is None or not self.cancels:
            return _RESIDENT
        threads = self.grid[0] * self.grid[1] * self.grid[2] * len(self.places)
        return 1 + self.random.randrange(min(_RESIDENT, threads))

    def _begun(self) -> list[Cta] | None:
        """The CTAs of the next cluster; None where there is none any more, nothing where it cannot begin yet."""
        ctas: list[Cta] = []
        ctas += [Cta(self, index, rank, ctas) for rank, index in enumerate(next(self.waiting, ()))]
        return ctas or None

    def _order(self, resident: list[Cta]) -> list[Cta]:
        if self.random is None:
            return resident
        shuffled = resident[:]
        self.random.shuffle(shuffled)
        return shuffled

    def _turns(self, cta: Cta) -> None:
        """A turn for each thread of a CTA that can go on."""
        before, self.progressed = self.progressed, False
        threads, cta.ready, cta.sleeping = cta.ready + cta.sleeping, [], []
        if self.random is not None:
            self.random.shuffle(threads)
        if self.program.together:
            self._turns_together(cta, threads)
            threads = []
        for i, thread in enumerate(threads):
            look = _LOOK * (thread.stuck or thread.insists)
            turn = _TURN if self.long or self.random is None else look or self.random.randint(1, 16)
            try:
                if self._turn(thread, turn):
                    cta.ready.append(thread)
            except BaseException:
                cta.ready += threads[i + 1 :]
                raise
        try:
            if self.progressed:
                for warp in cta.warps.values():
                    warp.wait()
            else:
                self.progressed = any(warp.settle() for warp in cta.warps.values())
        except Fault as error:
            kind, message = error.args
            raise KernelError(kind, message, path=self.path) from None
        self.progressed = self.progressed or before

    def _turns_together(self, cta: Cta, threads: list[RunningThread]) -> None:
        """A turn for each warp. Of its threads those that are furthest behind go on, so that paths that went apart come
        together again; one that never does has a turn of its own, so that it does not wait for what it must bring about."""
        warps: dict[int, list[RunningThread]] = {}
        for thread in threads:
            warps.setdefault(thread.warp, []).append(thread)
        for waiting in warps.values():
            ready = sorted(waiting, key=lambda thread: thread.lane)
            starved, resting = set(ready), []
            progressed = self.progressed
            for _ in range(_TURN):
                if not ready:
                    break
                behind = min((-len(thread.frames), thread.pc) for thread in ready)
                steps = [thread for thread in ready if (-len(thread.frames), thread.pc) == behind]
                ended = {thread for thread in steps if not self._turn(thread, 1)}
                starved.difference_update(steps)
                resting += (found := [thread for thread in steps if thread.rests()])
                if ended or found:
                    ready = [thread for thread in ready if thread not in ended and not thread.rests()]
            if len(ready) + len(resting) == len(waiting):  # none has ended or waits
                self.progressed = progressed or any(not thread.unchanged() for thread in waiting)
            self.busy = self.busy or bool(ready)
            cta.ready += resting
            cta.ready += [thread for thread in ready if thread not in starved or self._turn(thread, _TURN)]

    def _turn(self, thread: RunningThread, turn: int) -> bool:
        """Runs blocks of a thread; whether it can go on."""
        blocks, costs, parameters = self.compiled.blocks, self.compiled.costs, self.read_parameters
        pc, executed, spins = thread.pc, 0, False
        try:
            for _ in range(turn):
                executed += costs[pc]
                pc = blocks[pc](thread, thread.R, parameters)
                if pc < 0:
                    break
            else:
                if turn == _TURN:
                    self.busy, spins = True, thread.spins(pc)
        except Polled:
            thread.pc, thread.stuck, thread.waiting = pc, thread.unchanged(), ""
            self.executed += executed - costs[pc]
            self.progressed = self.progressed or not thread.stuck
            self._check_limit(thread)
            return True
        except Asleep:
            return self._sleeps(thread, pc, executed - costs[pc])
        except Suspended:
            thread.pc, self.progressed = pc, True
            self.executed += executed - costs[pc]  # it runs again
            self._check_limit(thread)
            return False
        except Exception as error:
            try:
                pc = self._recovered(thread, error)
            except Asleep:
                pc = self.compiled.compiler.again(self.compiled, self.compiled.ops[thread.op])
                return self._sleeps(thread, pc, executed - 1)
        thread.pc = pc
        self.executed += executed
        self.progressed = self.progressed or not spins
        if thread.slept:
            thread.slept = NOWHERE
        self._check_limit(thread)
        if thread.done:
            try:
                thread.cta.finished(thread)
            except Fault as error:
                kind, message = error.args
                raise KernelError(kind, message, thread.name, path=self.path) from None
            return False
        return True

    def _sleeps(self, thread: RunningThread, pc: int, executed: int) -> bool:
        """A thread sleeps for a while, and begins with a block then; it cannot go on now."""
        thread.pc, self.executed = pc, self.executed + executed
        self.progressed = self.progressed or pc not in thread.slept
        thread.slept |= {pc}
        thread.cta.sleeping.append(thread)
        self._check_limit(thread)
        return False

    def _check_limit(self, thread: RunningThread) -> None:
        if self.patience is not None and self.executed > self.patience:
            raise Longer
        if self.limit is not None and self.executed > self.limit:
            error = fault("limit", f"more than {self.limit} instructions were executed")
            raise self._located(thread, error, self._op_at(thread))

    # Telling.

    def _recovered(self, thread: RunningThread, error: Exception) -> int:
        """An instruction could not be executed. Where values that are unknown do not matter it is executed all the same;
        gives the block behind it. Raises KernelError otherwise."""
        op = self._op_of(error)
        if op is not None:
            try:
                block = recover(thread, op, error)
            except Fault as inner:
                raise self._located(thread, inner, op) from None
            if block is not None:
                return block
            if not isinstance(error, Fault):
                error = blame(thread, op) or error
        if isinstance(error, Fault):
            raise self._located(thread, error, op) from None
        raise error

    def running(self) -> Op | None:
        """The instruction that is being executed."""
        frame = sys._getframe()
        while frame.f_back is not None:
            frame = frame.f_back
            if frame.f_code.co_filename == "<kernel>":
                return self.compiled.where[frame.f_lineno]
        return None

    def _located(self, thread: RunningThread, error: Fault, op: Op | None = None) -> KernelError:
        """A fault with its instruction, found by the line of the compiled text at which it arose, and the values of its
        registers."""
        op = op or self._op_of(error)
        kind, message = error.args
        if error.blamed is not None:
            return self._told(kind, message, *error.blamed)
        if isinstance(error, UnwrittenValue):
            if error.origin is not None:
                decided = "" if op is None else f"; '{op.name}' in line {op.instruction.span.line} depends on it"
                return self._told(kind, f"{message}{decided}", thread.name, error.origin)
            if error.reader is not None and error.reader is not op:
                message = f"{message}, by '{error.reader.name}' in line {error.reader.instruction.span.line}"
            elif kind == "undefined-register" and op is not None:
                message = f"{message}: {undefined_registers(thread, op)}"
        values = values_of(thread, op) if op is not None and kind not in _WITHOUT_VALUES else []
        return self._told(kind, message, thread.name, op, values)

    def _told(
        self, kind: str, message: str, name: ThreadName, op: Blamed | None, values: Sequence[tuple[str, str]] = ()
    ) -> KernelError:
        if op is None:
            return KernelError(kind, message, name, path=self.path)
        source = self.program.locations[op.location] if op.location >= 0 else None
        return KernelError(kind, message, name, op.instruction, source, self.path, values)

    def _op_of(self, error: Exception) -> Op | None:
        trace = error.__traceback__
        while trace is not None:
            if trace.tb_frame.f_code.co_filename == "<kernel>":
                return self.compiled.where[trace.tb_lineno]
            trace = trace.tb_next
        return None

    def _deadlock(self, resident: list[Cta]) -> KernelError:
        blocked = [t for cta in resident for t in cta.threads if not t.done]
        alike: dict[str, list[RunningThread]] = {}
        for thread in blocked:
            alike.setdefault(self._doing(thread), []).append(thread)
        told = [
            f"{threads[0].name} {text}{f'; so do {len(threads) - 1} more' if len(threads) > 1 else ''}"
            for text, threads in list(alike.items())[:_MOST_TOLD]
        ]
        told += ["and others"] * (len(alike) > _MOST_TOLD)
        message = "deadlock: no thread can go on\n    " + "\n    ".join(told)
        error = self._located(blocked[0], fault("deadlock", message), self._op_at(blocked[0]))
        error.certain = not any(cta.sleeping or cta.ready for cta in resident)
        error.blocked = [(some[0].name, op.instruction) for some in alike.values() if (op := self._op_at(some[0]))]
        return error

    def _op_at(self, thread: RunningThread) -> Op | None:
        """The instruction at which a thread waits, or at which it polls what others write."""
        if thread.pc < 0:
            return None
        code, at = self.compiled.begins[thread.pc]
        end = at + self.compiled.costs[thread.pc]
        return next((op for op in code.ops[at:end] if polls(op)), code.ops[at] if at < len(code.ops) else None)

    def _doing(self, thread: RunningThread) -> str:
        """What a thread waits for."""
        op = self._op_at(thread)
        place = "" if op is None else f" ({line_of(op, self.program.locations)})"
        if thread.waiting:
            return f"{thread.waiting() if callable(thread.waiting) else thread.waiting}{place}"
        if op is None or not polls(op):
            return f"loops{place}"
        return f"spins at '{op.name}'{self._polled_at(thread, op)}{place}"

    def _polled_at(self, thread: RunningThread, op: Op) -> str:
        """Where a thread polls, in words."""
        source = op.sources[0] if op.sources else None
        address = None if source is None else thread.value(source)
        if source is None or not isinstance(address, int):
            return ""
        return f" of {thread.place(address + source.offset if source.kind == 'register' else address)}"


def compile_program(program: ExecutableModule, watched: bool = False, fine: bool = False) -> Compiled:
    """The program as Python; `watched`: for runs that somebody watches (`ptxcore.machine.run.watched`); `fine`: see `load`."""
    return Compiler(program, watched, fine).compile()
