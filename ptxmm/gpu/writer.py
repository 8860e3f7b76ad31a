"""The text of the kernel that a litmus test becomes.

Which CTA, thread and memory an instance has, tables say that the host draws for each launch; the module knows only the test.
Each thread finds out who it is, waits for the other threads of its instance, does what the test has it do, and stores what it
came to. The wait is bounded, and all threads of an instance agree on how it ended: they all start, or none does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from axioms.program import Program
from litmus.test import TYPE_WIDTHS, AddressOf, Location, LocationTerm, RegisterTerm, Test
from ptxcore.diagnostics import fail
from ptxcore.isa.targets import target as target_named
from ptxmm.gpu.body import Body, BodyLine
from ptxmm.gpu.conditions import terms_of
from ptxmm.gpu.contract import (
    CONTROL,
    DONE,
    ENTRY,
    HANDLES,
    KERNEL_COUNTER,
    NOT_ENDED,
    NOT_STARTED,
    PARAMETERS,
    PLACE_BITS,
    GpuModule,
    ListedValue,
    check_pointer,
)
from ptxmm.gpu.host import host_thread, steps_of
from ptxmm.gpu.images import root_of, uses
from ptxmm.gpu.placement import GpuPlacement, mappings
from ptxmm.gpu.text import DECLARED, KernelText

_ABORTED = 0x80000000
#: The least architecture whose threads can wait for each other by `ld.acquire`.
_LEAST = 70


def values_of(test: Test, program: Program) -> tuple[ListedValue, ...]:
    """What states of a test list. Raises InputError for what a run cannot show."""
    terms = {str(term): term for term in terms_of(test)}
    return tuple(ListedValue(o.label, o.width, o.signed, terms[o.label]) for o in program.observed)


def _as_declared(test: Test, location: Location) -> Location:
    root = root_of(test, location)
    return replace(location, type=root.type, elements=root.elements, space=root.space)


class Writer(KernelText):
    def __init__(self, test: Test, placement: GpuPlacement, program: Program, target: str, version: str) -> None:
        super().__init__()
        self.test, self.placement, self.program = test, placement, program
        self.threads = [test.threads[number] for number in placement.threads]
        self.uses = uses(test)
        self.images = {image.name: place for place, image in enumerate(self.uses.images)}
        self.target, self.version = target, version
        self.values = values_of(test, program)
        #: An alias has the type of what it is an alias of.
        self.locations = {l.name: _as_declared(test, l) for l in test.locations}
        self.mappings = mappings(test)
        self.parameters = [*PARAMETERS, *(f"mapping_{n}" for n in range(1, 1 + max(self.mappings.values(), default=0)))]
        if self.images:
            self.parameters.append(HANDLES)
        self.stored = tuple(v for v in self.values if self._is_stored(v))
        self.shared = [l for l in test.locations if l.space == "shared"]
        #: Whether threads wait for each other at the end: somebody looks at shared memory then, or others still access it.
        self.ends_together = bool(self.shared) and (
            placement.needs_clusters or any(isinstance(v.term, LocationTerm) for v in self.stored)
        )

    def _is_stored(self, value: ListedValue) -> bool:
        """Whether a kernel stores it: registers, and what is gone when it ends."""
        if isinstance(value.term, RegisterTerm):
            return any(thread.name == value.term.thread for thread in self.threads)
        return self.locations[value.term.location].space == "shared"

    def module(self) -> GpuModule:
        self._check_target()
        bodies = [self._body(t) for t in range(len(self.threads))]
        texts = [body.lines() for body in bodies]
        cluster = f"\n.reqnctapercluster {self.placement.ctas}" if self.placement.needs_clusters else ""
        self._emit(f"// the litmus test {self.test.name}")
        self._emit(f".version {self.version}\n.target {self.target}\n.address_size 64")
        if self.shared:
            self._emit(".extern .shared .align 128 .b8 h_shared[];")
        parameters = ", ".join(f".param .u64 {name}" for name in self.parameters)
        self._emit(f".visible .entry {ENTRY}({parameters}){cluster}\n{{")
        self._emit(DECLARED)
        self._emit("".join(f".reg .b64 %h_{name};\n" for name in self.parameters[len(PARAMETERS) :]).strip())
        for body in bodies:
            self._emit(
                "\n".join(body.declarations()), body.thread.span
            )  # not every version has registers of every width
            self._emit("\n".join(self._address_declarations(body)))
        self._who()
        for t, (body, lines) in enumerate(zip(bodies, texts, strict=True)):
            self._thread(t, body, lines)
        self._stress_part()
        self._emit("}")
        spans = {}
        text = []
        for line in self._lines:
            for part in line.text.split("\n"):
                text.append(part)
                if line.span is not None:
                    spans[len(text)] = line.span
        return GpuModule(
            self.test,
            "\n".join(text) + "\n",
            self.placement,
            self.values,
            self.stored,
            spans,
            self.target,
            self.version,
            self.mappings,
            self.uses.images,
            steps_of(self.test),
            self._host_widths(),
        )

    def _host_widths(self) -> dict[str, int]:
        """The bits of the registers of the host's thread."""
        thread = host_thread(self.test)
        if thread is None:
            return {}
        code = self.program.threads[self.test.threads.index(thread)].code
        return {register.name: register.width for register in code.registers}

    def _check_target(self) -> None:
        """Raises InputError for a target on which threads cannot wait for each other; and where threads of several CTAs share a
        cluster, and it has none."""
        found = target_named(self.target)
        if found is None:
            raise fail(self.threads[0].span, f"'{self.target}' is no target", "as in sm_90")
        if found.number < _LEAST:
            raise fail(
                self.threads[0].span,
                f"the harness needs sm_{_LEAST}, which has acquire and release, not {self.target}",
            )
        if self.placement.needs_clusters and found.number < 90:
            first = next(s for s, t in zip(self.placement.seats, self.threads, strict=True) if s.rank)
            thread = self.threads[self.placement.seats.index(first)]
            raise fail(
                thread.span,
                f"{thread.name} shares a cluster with another CTA, and clusters need sm_90, not {self.target}",
            )

    def _body(self, t: int) -> Body:
        thread = self.threads[t]
        observed = [
            v.term.register.lstrip("%")
            for v in self.stored
            if isinstance(v.term, RegisterTerm) and v.term.thread == thread.name
        ]
        code = self.program.threads[self.placement.threads[t]].code
        return Body(thread, code, self.locations, observed, self.placement.warp_counts[t], self.images)

    # Who a thread is.

    def _who(self) -> None:
        p = self.placement
        for name in self.parameters:
            self._emit(f"ld.param.u64 %h_{name}, [{name}];\ncvta.to.global.u64 %h_{name}, %h_{name};")
        self._emit("mov.u32 %h_zero, 0;\nmov.u32 %h_cta, %ctaid.x;\nmov.u32 %h_tid, %tid.x;")
        for name in ("groups", "slots", "blocks", "per_warp", "own"):
            self._control(name, f"%h_{name}")
        if p.needs_clusters:  # as the machine says, so that a launch without them is found
            self._emit("mov.u32 %h_t, %clusterid.x;\nmov.u32 %h_rank, %cluster_ctarank;")
        else:
            self._emit("mov.u32 %h_t, %h_cta;\nmov.u32 %h_rank, 0;")
        self._emit(
            "mad.wide.u32 %h_a, %h_t, 4, %h_clusters;\n"
            "ld.global.u32 %h_t, [%h_a];\n"
            "mul.lo.u32 %h_u, %h_groups, %h_own;\n"
            "setp.ge.u32 %h_p, %h_t, %h_u;\n"
            "@%h_p bra STRESS;\n"
            "div.u32 %h_group, %h_t, %h_own;\n"
            "rem.u32 %h_k, %h_t, %h_own;"
        )
        self._control("first", "%h_t")
        self._emit(
            "add.u32 %h_k, %h_k, %h_t;\n"
            "shr.u32 %h_warp, %h_tid, 5;\n"
            "and.b32 %h_lane, %h_tid, 31;\n"
            "rem.u32 %h_slot, %h_warp, %h_blocks;\n"
            "div.u32 %h_warp, %h_warp, %h_blocks;\n"
            f"div.u32 %h_t, %h_lane, {p.lanes};\n"
            f"rem.u32 %h_lane, %h_lane, {p.lanes};\n"
            "setp.ge.u32 %h_p, %h_t, %h_per_warp;\n"
            "@%h_p exit;\n"
            "mad.lo.u32 %h_slot, %h_slot, %h_per_warp, %h_t;\n"
            f"setp.ge.u32 %h_p, %h_warp, {p.warps};\n"
            "@%h_p exit;\n"
            # One number for each seat.
            f"mad.lo.u32 %h_t, %h_k, {p.ctas}, %h_rank;\n"
            f"mad.lo.u32 %h_t, %h_t, {p.warps}, %h_warp;\n"
            f"mad.lo.u32 %h_t, %h_t, {p.lanes}, %h_lane;"
        )
        for thread, seat in zip(self.threads, p.seats, strict=True):
            number = ((seat.cluster * p.ctas + seat.rank) * p.warps + seat.warp) * p.lanes + seat.lane
            self._emit(f"setp.eq.u32 %h_p, %h_t, {number};\n@%h_p bra BEGIN_{thread.name};")
        self._emit("exit;")

    # A thread.

    def _thread(self, t: int, body: Body, lines: list[BodyLine]) -> None:
        name, seat = body.thread.name, self.placement.seats[t]
        row = 8 * (2 * len(self.threads) + len(self.stored))
        self._emit(f"BEGIN_{name}:")
        self._word(len(CONTROL) + 2 * len(self.test.locations) + seat.warp_number, "%h_t")
        self._emit(
            "add.u32 %h_slot, %h_slot, %h_t;\n"
            "rem.u32 %h_slot, %h_slot, %h_slots;\n"
            "mad.lo.u32 %h_inst, %h_group, %h_slots, %h_slot;\n"
            "mad.wide.u32 %h_a, %h_inst, 4, %h_instances;\n"
            "ld.global.u32 %h_index, [%h_a];\n"
            f"mad.wide.u32 %h_row, %h_inst, {row}, %h_results;\n"
            f"shl.b32 %h_t, %h_cta, {PLACE_BITS};\n"
            "or.b32 %h_t, %h_t, %h_tid;"
        )
        self._control("part", "%h_u")
        self._emit(f"mov.b64 %h_v, {{%h_t, %h_u}};\nst.global.u64 [%h_row+{16 * t + 8}], %h_v;")
        self._hash(t)
        self._stress("pre_stress", f"PRE_{name}", drawn=True)
        self._addresses(body)
        if t in self.placement.leaders:
            self._initialise(body)
        self._preload(body)
        self._wait_for_start(t, name)
        self._jitter(name)
        followers = self.placement.followers(seat.part)
        for number, line in enumerate(lines):
            self._lines.append(line)
            if followers and "griddepcontrol.launch_dependents" in line.text:
                self._let_begin(f"{name}_{number}", followers)
        self._emit(f"{body.end}:")
        for number, value in enumerate(self.stored):
            if isinstance(value.term, RegisterTerm) and value.term.thread == name:
                self._store(number, value.term.register, body)
        if self.ends_together:
            self._wait_for_end(t, name)
            if t in self.placement.leaders:
                self._store_shared(t, body)
        self._emit(f"mov.u64 %h_v, {DONE};\nst.global.u64 [%h_row+{16 * t}], %h_v;\nexit;")

    def _hash(self, t: int) -> None:
        """A number for each thread of each launch."""
        self._control("seed", "%h_t")
        self._emit(
            f"mad.lo.u32 %h_h, %h_inst, {len(self.threads)}, {t};\n"
            "mad.lo.u32 %h_h, %h_h, 2654435761, %h_t;\n"
            "shr.u32 %h_t, %h_h, 15;\n"
            "xor.b32 %h_h, %h_h, %h_t;\n"
            "mul.lo.u32 %h_h, %h_h, 2246822519;\n"
            "shr.u32 %h_t, %h_h, 13;\n"
            "xor.b32 %h_h, %h_h, %h_t;"
        )

    def _address_declarations(self, body: Body) -> list[str]:
        found = []
        for l in self.locations.values():
            found += [f".reg .b64 %{body.thread.name}_at_{l.name};"]
            if l.space == "shared":
                found += [
                    f".reg .b32 %{body.thread.name}_in_{l.name};",
                    f".reg .b64 %{body.thread.name}_wide_{l.name};",
                ]
        return found

    def _addresses(self, body: Body) -> None:
        """The address of each location, in the memory of the instance."""
        if self.shared:
            self._control("shared_stride", "%h_t")
            self._emit("mov.u32 %h_s, h_shared;\nmad.lo.u32 %h_s, %h_slot, %h_t, %h_s;")
        if self.images:
            self._emit(f"mad.wide.u32 %h_v, %h_index, {8 * len(self.images)}, %h_{HANDLES};")
        for number, l in enumerate(self.locations.values()):
            at = f"%{body.thread.name}_at_{l.name}"
            if l.proxy != "generic":
                if l.name in self.images:
                    self._emit(f"ld.global.u64 {at}, [%h_v+{8 * self.images[l.name]}];")
                continue
            self._word(len(CONTROL) + 2 * number, "%h_t")
            if l.space == "shared":
                window, wide = f"%{body.thread.name}_in_{l.name}", f"%{body.thread.name}_wide_{l.name}"
                self._emit(
                    f"add.u32 {window}, %h_s, %h_t;\ncvt.u64.u32 {wide}, {window};\ncvta.shared.u64 {at}, {wide};"
                )
            else:
                mapping = self.mappings[l.name]
                base = f"%h_mapping_{mapping}" if mapping else "%h_memory"
                self._emit(f"cvt.u64.u32 {at}, %h_t;\nadd.u64 {at}, {at}, {base};")
                self._word(len(CONTROL) + 2 * number + 1, "%h_t")
                self._emit(f"mad.wide.u32 {at}, %h_index, %h_t, {at};")

    def _initialise(self, body: Body) -> None:
        """What stands in the shared memory of the CTA at first."""
        for l in self.shared:
            width = TYPE_WIDTHS[l.type]
            base, size = f"%{body.thread.name}_in_{l.name}", min(width, 64) // 8
            for i, value in enumerate(l.initial):
                offset = i * width // 8
                if isinstance(value, AddressOf):
                    check_pointer(l)
                    self._emit(f"st.shared.b64 [{base}+{offset}], %{body.thread.name}_at_{value.location};")
                    continue
                for part in range(width // 8 // size):
                    bits = value >> (64 * part) & ((1 << 8 * size) - 1)
                    register = {1: "%h_half", 2: "%h_half", 4: "%h_t", 8: "%h_v"}[size]
                    at = f"{base}+{offset + 8 * part}"
                    self._emit(
                        f"mov.b{max(8 * size, 16)} {register}, {bits};\nst.shared.b{8 * size} [{at}], {register};"
                    )

    def _preload(self, body: Body) -> None:
        """Brings some of the locations into caches."""
        self._control("preload", "%h_u")
        for l in self.locations.values():
            if l.space != "shared" and l.proxy == "generic":
                self._next()
                self._emit(
                    "shr.u32 %h_t, %h_h, 24;\nsetp.lt.u32 %h_p, %h_t, %h_u;\n"
                    f"@%h_p prefetch.global.L1 [%{body.thread.name}_at_{l.name}];"
                )

    def _counter(self, name: str) -> None:
        self._control(name, "%h_t")
        self._emit("cvt.u64.u32 %h_c, %h_t;\nadd.u64 %h_c, %h_c, %h_memory;")
        self._control("counter_stride", "%h_t")
        self._emit("mad.wide.u32 %h_c, %h_index, %h_t, %h_c;")
        self._control("polls", "%h_n")

    def _meeting(self, t: int) -> tuple[str, int, str]:
        """Where the threads that run together with a thread meet, how many they are, and the scope that has all of them."""
        part = self.placement.parts[self.placement.seats[t].part]
        return (
            f"[%h_c+{KERNEL_COUNTER * part.kernel}]", part.threads, "sys" if self.placement.gpus > 1 else "gpu",
        )  # fmt: skip

    def _wait_for_start(self, t: int, name: str) -> None:
        """All threads of a kernel's instance start, or none: who gives up says so in the counter, unless all have come
        meanwhile."""
        self._counter("start")
        counter, threads, scope = self._meeting(t)
        self._emit(
            f"atom.acq_rel.{scope}.global.add.u32 %h_t, {counter}, 1;\n"
            f"START_{name}:\n"
            f"ld.acquire.{scope}.global.u32 %h_t, {counter};\n"
            f"setp.ge.u32 %h_p, %h_t, {_ABORTED};\n"
            f"@%h_p bra LATE_{name};\n"
            f"setp.ge.u32 %h_p, %h_t, {threads};\n"
            f"@%h_p bra GO_{name};\n"
            "sub.u32 %h_n, %h_n, 1;\n"
            "setp.ne.u32 %h_p, %h_n, 0;\n"
            f"@%h_p bra START_{name};\n"
            f"or.b32 %h_u, %h_t, {_ABORTED};\n"
            f"atom.acq_rel.{scope}.global.cas.b32 %h_u, {counter}, %h_t, %h_u;\n"
            "mov.u32 %h_n, 1;\n"
            f"bra START_{name};\n"
            f"LATE_{name}:\n"
            f"mov.u64 %h_v, {NOT_STARTED};\n"
            f"st.global.u64 [%h_row+{16 * t}], %h_v;\n"
            "exit;\n"
            f"GO_{name}:"
        )

    def _let_begin(self, name: str, followers: Sequence[int]) -> None:
        """Behind what lets other kernels begin: their threads of this instance have some time to come, at most `polls` looks,
        and then this one is late by a number of turns that is drawn: of each magnitude up to `polls` as often."""
        self._counter("start")
        for place, follower in enumerate(followers):
            part = self.placement.parts[follower]
            self._emit(
                f"LET_{name}_{place}:\n"
                f"ld.relaxed.gpu.global.u32 %h_t, [%h_c+{KERNEL_COUNTER * part.kernel}];\n"
                f"setp.ge.u32 %h_p, %h_t, {part.threads};\n"
                f"@%h_p bra HAVE_{name}_{place};\n"
                "setp.eq.u32 %h_p, %h_n, 0;\n"
                f"@%h_p bra HAVE_{name}_{place};\n"
                "sub.u32 %h_n, %h_n, 1;\n"
                f"bra LET_{name}_{place};\n"
                f"HAVE_{name}_{place}:"
            )
        self._control("polls", "%h_t")
        self._next()
        self._emit("add.u32 %h_t, %h_t, 1;\nshr.u32 %h_n, %h_h, 8;\nrem.u32 %h_n, %h_n, %h_t;")
        self._next()
        self._emit("shr.u32 %h_t, %h_h, 28;\nshr.u32 %h_n, %h_n, %h_t;")
        self._turns(f"LET_{name}")

    def _wait_for_end(self, t: int, name: str) -> None:
        self._counter("end")
        counter, threads, scope = self._meeting(t)
        self._emit(
            f"atom.acq_rel.{scope}.global.add.u32 %h_t, {counter}, 1;\n"
            "shl.b32 %h_n, %h_n, 4;\n"
            f"WAIT_{name}:\n"
            f"ld.acquire.{scope}.global.u32 %h_t, {counter};\n"
            f"setp.ge.u32 %h_p, %h_t, {threads};\n"
            f"@%h_p bra ENDED_{name};\n"
            "sub.u32 %h_n, %h_n, 1;\n"
            "setp.ne.u32 %h_p, %h_n, 0;\n"
            f"@%h_p bra WAIT_{name};\n"
            f"mov.u64 %h_v, {NOT_ENDED};\n"
            f"st.global.u64 [%h_row+{16 * t}], %h_v;\n"
            "exit;\n"
            f"ENDED_{name}:"
        )

    def _store(self, number: int, register: str, body: Body) -> None:
        bare = register.lstrip("%")
        width, name = body.widths.get(bare), body.register(bare)
        at = f"[%h_row+{self._column(number)}]"
        if width is None:  # never written
            self._emit(f"mov.u64 %h_v, 0;\nst.global.u64 {at}, %h_v;")
        elif width == 1:
            self._emit(f"selp.u64 %h_v, 1, 0, {name};\nst.global.u64 {at}, %h_v;")
        elif width == 64:
            self._emit(f"st.global.b64 {at}, {name};")
        else:
            self._emit(f"cvt.u64.u{width} %h_v, {name};\nst.global.u64 {at}, %h_v;")

    def _column(self, number: int) -> int:
        return 8 * (2 * len(self.threads) + number)

    def _store_shared(self, t: int, body: Body) -> None:
        """What stands in the shared memory of the CTA at last, where states list it."""
        place = self.threads[t].place.cta
        for number, value in enumerate(self.stored):
            term = value.term
            if isinstance(term, LocationTerm) and self._owner(term.location) == place:
                if value.width > 64:
                    raise fail(
                        term.span, f"'{value.label}' has {value.width} bits, which a kernel cannot store at once"
                    )
                at = f"%{body.thread.name}_in_{term.location}+{(term.element or 0) * value.width // 8}"
                register = "%h_half" if value.width < 32 else "%h_t" if value.width == 32 else "%h_v"
                self._emit(f"ld.shared.b{value.width} {register}, [{at}];")
                if value.width < 64:
                    self._emit(f"cvt.u64.u{max(value.width, 16)} %h_v, {register};")
                self._emit(f"st.global.u64 [%h_row+{self._column(number)}], %h_v;")

    def _owner(self, location: str) -> int:
        """The CTA whose shared variable a condition means: the one that uses it, which is one alone, else it were refused."""
        from ptxmm.addresses import Addresses

        return (Addresses(self.test, own_aliases=False).of_cta[location])[0]
