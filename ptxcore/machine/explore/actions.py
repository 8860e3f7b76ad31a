"""What semantic functions ask of a thread (`ptxcore.isa.thread.Thread`), as effects: the explorer's answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NoReturn

from ptxcore.diagnostics import fail
from ptxcore.isa import effect_kinds as kinds
from ptxcore.isa.form import Use
from ptxcore.machine.explore.images import SymbolicImages
from ptxcore.machine.ir.collective import EVERYBODY, brought, mask_position, result_widths, taken_apart
from ptxcore.machine.ir.dependencies import NO_DEPENDENCIES, Dependencies, gather, union
from ptxcore.machine.ir.effects import Effect, Requirement, is_whole, named_spaces
from ptxcore.machine.ir.windows import CONST, LOCAL, OWN_ALIAS, PARAM, SHARED, SHARED_BITS, WINDOW_BITS
from ptxcore.values.packed import join, resize, split
from ptxcore.values.spread import spread
from ptxcore.values.terms import Term, Value, add, concat, conj, disj, eq, extract, ite, negate, ult, zext

if TYPE_CHECKING:
    from ptxcore.machine.explore.state import State
    from ptxcore.machine.ir.steps import InstructionStep

#: What a load, an atomic or a reducing barrier returns, given its effect so far and the bits of the result.
AnswerOf = Callable[[Effect, int], Value]

#: Types of two elements in one register, each of which an atomic operation treats by itself.
_PACKED = ("f16x2", "bf16x2")
_WINDOWS = {"local": LOCAL, "const": CONST, "param": PARAM, "shared": SHARED}
_RANK_BITS = 4  # of a rank within its cluster
#: Stands among the special registers of threads for whom addresses of their own CTA that `mapa` gives are aliases.
MAPA_ALIAS = "mapa alias"


class Actions(SymbolicImages):
    """The effects of a thread so far, and the step in progress. `special` are the special registers that are known, without
    their `%`."""

    # The step in progress.
    _state: State
    _step: InstructionStep
    _sources: list[Any]
    _guard: Value = 1
    _control: Dependencies = NO_DEPENDENCIES
    #: What its result depends on; of a vector, what each of its elements does.
    _returned: Dependencies = NO_DEPENDENCIES
    _elements: list[Dependencies] | None = None
    #: The wait that it is, the asynchronous operation that was begun last, and that in whose name effects happen now.
    _wait: Effect | None = None
    _issue: Effect | None = None
    _agent = -1
    _own_from = 0  # its first effect
    #: Where a thread accesses what its warp told it.
    _told: Dependencies = NO_DEPENDENCIES
    _stopped: Value = 0

    def __init__(self, answer: AnswerOf, special: Mapping[str, int]) -> None:
        self.answer, self.special = answer, special
        self.effects: list[Effect] = []
        self.requirements: list[Requirement] = []

    def begin(self, step: InstructionStep, sources: list[Any], guard: Value, control: Dependencies) -> None:
        """The step whose meaning is called next."""
        self._step, self._sources, self._guard, self._control = step, sources, guard, control
        self._returned, self._own_from = NO_DEPENDENCIES, len(self.effects)

    # Effects.

    def effect(self, kind: kinds.EffectKind, how: Use, **fields: Any) -> Effect:
        """Any effect of the instruction that is executing, by its kind and fields."""
        step, sources = self._step, self._state.sources
        effect = Effect(
            index=len(self.effects),
            kind=kind,
            guard=self._guard,
            instruction=step.instruction,
            agent=self._agent,
            address_dependencies=gather(sources, step.address_reads),
            data_dependencies=gather(sources, step.data_reads),
            control_dependencies=self._control,
            **fields,
        )
        self.effects.append(effect)
        return effect

    def _access(self, kind: kinds.EffectKind, how: Use, address: Value) -> Effect:
        step, sources = self._step, self._state.sources
        reads = step.address_reads if not step.memory_reads else self._address_reads(address)
        effect = Effect(
            index=len(self.effects),
            kind=kind,
            guard=self._guard,
            instruction=step.instruction,
            semantics=how.sem,
            scope=how.scope,
            proxy=how.proxy,
            space=step.space,
            width=step.width,
            address=address,
            address_dependencies=gather(sources, reads) if reads else NO_DEPENDENCIES,
            data_dependencies=gather(sources, step.data_reads) if step.data_reads else NO_DEPENDENCIES,
            control_dependencies=self._control,
        )
        if self._agent >= 0:
            effect.agent = self._agent
            if how.sem == "weak":  # where a scope may be written all the same
                effect.scope = None
        if how is not step.how:  # a part of what the instruction does
            effect.space, effect.width = how.space, how.width
        if self._told and self._agent < 0:
            effect.space, effect.width, effect.address_dependencies = how.space, how.width, self._told
            element = how.words["element"]
            effect.data_dependencies = NO_DEPENDENCIES
            if element:
                self._of_element(effect, int(element))
        self.effects.append(effect)
        return effect

    def _address_reads(self, address: Value) -> tuple[int, ...]:
        """The registers that an address comes from, where an instruction has several: those of the operand that it is."""
        step = self._step
        own = [reads for position, reads in step.memory_reads if self._sources[position] == address]
        return tuple(r for reads in own for r in reads) if own else step.address_reads

    def _answered(self, effect: Effect, width: int) -> Value:
        """What an effect returns."""
        value = self.answer(effect, width)
        if type(value) is int:
            effect.answer = value
        else:
            assert type(value) is Term
            effect.result = value
        return value

    def _result(self, effect: Effect, width: int) -> Value:
        """What an effect returns, where it decides the result of the instruction."""
        value = self._answered(effect, width)
        own: Dependencies = {effect.index: 1}
        self._returned = union(self._returned, own) if self._returned else own
        return value

    # Memory.

    def load(self, how: Use, address: Value) -> Any:
        """A read of memory; gives what it returns, with the bits that are accessed. Of a vector, one effect an element."""
        if vector := how.words.get("vec"):
            return self._load_vector(how, address, int(vector[1:]))
        effect = self._access(kinds.LOAD, how, address)
        effect.fixed = how.form.mnemonic == "ldu"
        return self._result(effect, effect.width)

    def _load_vector(self, how: Use, address: Value, count: int) -> tuple[Value, ...]:
        self._aligned(address, count * how.width // 8)
        targets, first, values = self._step.targets, len(self.effects), list[Value]()
        if is_whole(self.special, how, [targets[i * len(targets) // count] for i in range(count)]):
            whole = self._access(kinds.LOAD, how, address)
            whole.width, self._elements = count * how.width, [{whole.index: 1}] * count
            return split(self._answered(whole, whole.width), how.width, count)
        self._elements = []
        for i in range(count):
            depends: Dependencies = NO_DEPENDENCIES
            value: Value = 0
            if targets[i * len(targets) // count] is not None:  # what is dropped is not read (section 9.7.9.8)
                effect = self._access(kinds.LOAD, how, add(address, i * how.width // 8, 64))
                effect.group, effect.fixed = first, how.form.mnemonic == "ldu"
                value = self._answered(effect, effect.width)
                depends = {effect.index: 1}
            values.append(value)
            self._elements.append(depends)
        return tuple(values)

    def store(self, how: Use, address: Value, value: Any) -> None:
        """A write of the low bits of `value`; of a vector, one effect an element."""
        if isinstance(value, tuple):
            self._store_vector(how, address, value)
            return
        effect = self._access(kinds.STORE, how, address)
        effect.value = resize(value, how.width, effect.width, False)
        if how is not self._step.how and self._agent < 0:  # it may store what it has loaded itself
            effect.data_dependencies = union(effect.data_dependencies, self._returned)

    def _store_vector(self, how: Use, address: Value, values: tuple[Value | None, ...]) -> None:
        self._aligned(address, len(values) * how.width // 8)
        first = len(self.effects)
        if is_whole(self.special, how, values):
            effect = self._access(kinds.STORE, how, address)
            effect.width, effect.value = len(values) * how.width, join([v for v in values if v is not None], how.width)
            return
        for i, value in enumerate(values):
            if value is not None:  # `_`: nothing is written there (section 9.7.9.11)
                effect = self._access(kinds.STORE, how, add(address, i * how.width // 8, 64))
                effect.group, effect.value = first, resize(value, how.width, effect.width, False)
                self._of_element(effect, i)

    def _aligned(self, address: Value, size: int) -> None:
        """A vector must lie at a multiple of its whole size."""
        low, _, step = spread(address)
        if low % size or step % size:
            aligned = eq(extract(address, size.bit_length() - 2, 0), 0)
            self.require(aligned, "misaligned", "an access at an address that is no multiple of its size")

    def _of_element(self, effect: Effect, i: int) -> None:
        """The data of one element of a vector comes from its own registers."""
        reads = self._step.element_reads
        if reads:
            effect.data_dependencies = gather(self._state.sources, reads[i])

    def modify(self, kind: str, how: Use, address: Value, write: Callable[[Any], tuple[Any, Value]]) -> Any:
        """An atomic read-modify-write: `write(old)` gives the new value and the condition under which it is written. Of a
        vector or packed type, one effect an element. See `ptxcore.isa.thread.Thread` for `kind`."""
        if kind not in kinds.UPDATES:
            return self._mbarrier(kind, how, address, write)
        kind, vector = kinds.EFFECT_KINDS[kind], how.words.get("vec")
        if vector or how.type in _PACKED:
            return self._modify_elements(kind, how, address, write, int(vector[1:]) if vector else 0)
        effect = self._access(kind, how, address)
        effect.operation, effect.type = how.op, how.type
        effect.returns = effect.kind is kinds.ATOM and self._step.targets != (None,)
        result = self._result(effect, effect.width)
        old = resize(result, effect.width, how.width, False)
        value, effect.writes = write(old)
        effect.value = resize(value, how.width, effect.width, False)
        return old

    def _modify_elements(
        self, kind: kinds.EffectKind, how: Use, address: Value, write: Callable[[Any], tuple[Any, Value]], count: int
    ) -> Any:
        """`count` elements of a vector (0: none), each of one or two atomic operations."""
        parts = 2 if how.type in _PACKED else 1
        width = how.width // parts
        self._aligned(address, (count or 1) * how.width // 8)
        first = len(self.effects)
        returns = kind is kinds.ATOM and any(target is not None for target in self._step.targets)
        made: list[list[Effect]] = []
        old: list[Value] = []
        self._elements = []
        for i in range(count or 1):
            effects, results = [], []
            for j in range(parts):
                effect = self._access(kind, how, add(address, (i * parts + j) * width // 8, 64))
                effect.group, effect.width, effect.returns = first, width, returns
                effect.operation, effect.type = how.op, how.type
                if count:
                    self._of_element(effect, i)
                effects.append(effect)
                results.append(self._answered(effect, width))
            made.append(effects)
            old.append(join(results, width))
            self._elements.append({effect.index: 1 for effect in effects})
        new, writes = write(tuple(old) if count else old[0])
        for effects, value in zip(made, new if count else (new,), strict=True):
            for effect, part in zip(effects, split(value, width, parts), strict=True):
                effect.value, effect.writes = part, writes
        if count and len(self._step.targets) == count:
            return tuple(old)
        self._returned = {effect.index: 1 for effects in made for effect in effects}
        self._elements = None
        return tuple(old) if count else old[0]

    def _mbarrier(self, kind: str, how: Use, address: Value, write: Callable[[Value], tuple[Value, Value]]) -> Value:
        """An operation on a barrier object."""
        effect = self._access(kinds.MBARRIER, how, address)
        effect.operation = kind
        if self._step.targets:
            effect.returns = any(target is not None for target in self._step.targets)
        old = self._result(effect, how.width)
        if kind == "wait":
            self._wait = effect
            return old
        if kind == "increment":  # what the form says of semantics is about the arrival that follows
            effect.semantics = "relaxed"
        effect.value, _ = write(old)
        return old

    def pause(self, how: Use, ready: Value) -> Value:
        """Whoever waits may be told that it is not yet so, although it is."""
        before, self._guard = self._guard, conj(self._guard, ready)
        result: Value = 0
        if self._guard != 0:
            effect = self.effect(kinds.INPUT, how, operation="try_wait", width=1)
            result = conj(ready, self._answered(effect, 1))
        self._guard = before
        return result

    def ask(self, name: str) -> Value:
        """A special register that changes while the thread runs."""
        step = self._step
        effect = self.effect(kinds.INPUT, step.how, operation=name, width=step.width)
        return self._answered(effect, step.width)

    def clear(self, how: Use, address: Value, size: Value) -> None:
        """Zeros to `size` bytes."""
        effect = self._access(kinds.CLEAR, how, address)
        effect.size, effect.width = size, 8

    def require(self, condition: Value, kind: str, message: str) -> None:
        """Behaviour is undefined where the condition does not hold."""
        if condition != 1 and self._guard != 0:
            own = bool(self.effects) and self.effects[-1].index >= self._own_from
            last = self.effects[-1].index if own else -1
            self.requirements.append(
                Requirement(self._guard, condition, kind, message, self._step.instruction, last, len(self.effects))
            )

    # Threads together.

    def barrier(
        self,
        action: str,
        how: Use,
        *,
        identity: Value | None,
        count: Value | None,
        operator: str = "",
        operand: Value = 0,
        instance: int | None = None,
        level: str = "cta",
    ) -> Value | None:
        """What is done at a barrier of the CTA or the cluster; gives the result of a reduction."""
        effect = self.effect(
            kinds.BARRIER, how, barrier=action, identity=identity, count=count, instance=instance, operator=operator,
            operand=operand, level=level, aligned=bool(how.words.get("aligned")),
        )  # fmt: skip
        if level == "cluster":
            effect.semantics, effect.scope = how.sem, "cluster"
        if action != "red":
            return None
        effect.width = how.width
        return self._result(effect, how.width)

    def together(self, how: Use) -> Any:
        """An instruction that the threads of a warp execute together; gives its results."""
        widths = result_widths(how)
        position = mask_position(how)
        mask: Value = 0 if position is None else self._sources[position]
        whole = how.form.whole
        if whole is not None:
            mask = EVERYBODY
        if not widths:
            self.effect(kinds.BARRIER, how, barrier="sync", level="warp", identity=None, mask=mask)
            return None
        lane = self.special.get("laneid")
        if position is not None and lane is not None:
            self.require(
                extract(mask, lane, lane), "bad-mask", f"the member mask does not name lane {lane}, which executes this"
            )
        effect = self.effect(kinds.COLLECTIVE, how, operands=brought(how, self._sources), mask=mask, width=sum(widths))
        effect.how = how
        if whole is not None and whole.least is not None:  # what it brings are addresses
            effect.data_dependencies, effect.address_dependencies = effect.address_dependencies, NO_DEPENDENCIES
        results = taken_apart(how, self._result(effect, effect.width))
        if whole is None or whole.after is None:
            return results if len(results) > 1 else results[0]
        self._told, self._returned = self._returned, NO_DEPENDENCIES
        made = whole.after(how, self, results, *self._sources)
        if whole.least is None:
            self._returned = self._told
        self._told = NO_DEPENDENCIES
        return made[0] if len(made) == 1 else made

    # Asynchronous operations.

    def _begun(self, how: Use) -> Effect:
        """The beginning of the asynchronous operation that the instruction is."""
        if self._issue is None or self._issue.index < self._own_from:
            self._issue = self.effect(kinds.ISSUE, how)
        return self._issue

    def _in_the_background(self, issue: Effect, action: Callable[[], None]) -> None:
        """What happens in the name of the operation. Where a barrier object learns of it, that is how it is known to be
        complete."""
        before, self._agent = len(self.effects), issue.index
        action()
        self._agent = -1
        if issue.mechanism != "copies" and any(e.kind is kinds.MBARRIER for e in self.effects[before:]):
            issue.mechanism = "mbarrier"

    def defer(self, how: Use, action: Callable[[], None]) -> None:
        """An asynchronous operation: `action` happens in its name."""
        self._in_the_background(self._begun(how), action)

    def after_copies(self, how: Use, action: Callable[[], None]) -> None:
        """`action` happens when the thread's copies by `cp.async` so far are complete."""
        issue = self._begun(how)
        issue.mechanism = "copies"
        self._in_the_background(issue, action)

    def copy(
        self,
        how: Use,
        to: Value,
        source: Value,
        size: Value,
        *,
        fill: Value = 0,
        selected: Value = 0xFFFF,
        combine: Callable[[Value, Value], Value] | None = None,
        when: Value = 1,
        after: Callable[[], None] | None = None,
    ) -> None:
        """An asynchronous copy, where `when` holds."""
        issue = self._begun(how)
        issue.mechanism = "mbarrier" if after is not None else _group(how)
        before, self._guard = self._guard, conj(self._guard, when)
        if self._guard != 0:
            step = self._step
            reads = (*self._address_reads(to), *self._address_reads(source))
            self._agent = issue.index
            effect = self.effect(
                kinds.COPY, how, address=to, source=source, size=size, fill=fill, selected=selected, combine=combine,
                width=8 if combine is None else how.width, space=step.space, spaces=named_spaces(step.instruction),
                proxy="async" if how.words.get("bulk") else "generic",
            )  # fmt: skip
            effect.address_dependencies = gather(self._state.sources, reads)
            if combine is not None:  # section 9.7.9.25.4.2: each reduction is relaxed, in the scope of the device
                effect.semantics, effect.scope = "relaxed", "gpu"
            self._agent = -1
            if after is not None:
                self._in_the_background(issue, after)
        self._guard = before

    def commit(self, how: Use) -> None:
        """Closes the group of the thread's copies so far."""
        self.effect(kinds.COMMIT, how, mechanism=_group(how))

    def wait(self, how: Use, pending: Value) -> None:
        """Waits until at most `pending` of the thread's groups are under way."""
        self.effect(kinds.WAIT_GROUP, how, mechanism=_group(how), pending=pending, reads=bool(how.words.get("read")))

    # Places.

    def ranks(self, how: Use) -> range:
        """The ranks of the CTAs of the thread's cluster."""
        return range(self._placed("cluster_nctarank"))

    def in_space(self, address: Value, space: str) -> Value:
        """The truth value of "the generic address lies in that space"."""
        base, _, part = space.partition("::")
        window = extract(address, 63, WINDOW_BITS)
        if base == "global":
            above = ult(SHARED >> WINDOW_BITS, window, 64 - WINDOW_BITS)
            return conj(above, negate(eq(window, OWN_ALIAS >> WINDOW_BITS)))
        inside = eq(window, _WINDOWS[base] >> WINDOW_BITS)
        if base == "shared" and MAPA_ALIAS in self.special:
            inside = disj(inside, eq(window, OWN_ALIAS >> WINDOW_BITS))
        if part != "cta" or inside == 0:
            return inside
        return conj(inside, eq(_rank(address), self._placed("cluster_ctarank")))

    def map_address(self, how: Use, address: Value, rank: Value) -> Value:
        """The address of the same variable in the shared memory of the CTA `rank` of the cluster."""
        number = extract(rank, _RANK_BITS - 1, 0)
        low = concat(number, extract(address, SHARED_BITS - 1, 0), _RANK_BITS, SHARED_BITS)
        window: Value = SHARED >> WINDOW_BITS
        if MAPA_ALIAS in self.special and self._step.instruction.opcode == "mapa":
            own = eq(number, self._placed("cluster_ctarank"))
            window = ite(own, OWN_ALIAS >> WINDOW_BITS, window, 64 - WINDOW_BITS)
        return concat(window, low, 64 - WINDOW_BITS, WINDOW_BITS)

    def rank_of(self, how: Use, address: Value) -> Value:
        """The rank of the CTA in whose shared memory an address lies."""
        return zext(_rank(address), 32)

    def _placed(self, register: str) -> int:
        if register not in self.special:
            self._refuse(f"needs '%{register}', which nothing says here")
        return self.special[register]

    # What is not explored.

    def _refuse(self, why: str) -> NoReturn:
        instruction = self._step.instruction
        raise fail(instruction.span, f"'{'.'.join((instruction.opcode, *instruction.modifiers))}' {why}")

    def cancel_cluster(self, how: Use) -> NoReturn:
        """Launches that are still to come are not explored."""
        self._refuse("cannot be explored: what is launched is fixed")

    def allocate(self, how: Use, size: Value, alignment: Value) -> Value:
        """Threads of litmus tests have no memory of their own."""
        self._refuse("cannot be explored")

    def stack_pointer(self, restored: Value | None = None) -> Value:
        """See `allocate`."""
        self._refuse("cannot be explored")

    def stop(self, how: Use, reason: str) -> None:
        """The thread ends here."""
        self.effect(kinds.STOP, how, operation=reason)
        self._stopped = self._guard


def _group(how: Use) -> str:
    return "bulk_group" if how.words.get("bulk") else "group"


def _rank(address: Value) -> Value:
    return extract(address, SHARED_BITS + _RANK_BITS - 1, SHARED_BITS)
