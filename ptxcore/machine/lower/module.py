"""Modules made ready to run: names become registers and addresses, each instruction gets its meaning.

One pass over the flat statements, with the scopes that the checker uses. What comes out is an `ExecutableModule`: where each
variable lies, what it holds at the start, and for each function a list of `Op`s and the labels among them.
"""

from __future__ import annotations

from ptxcore.check.context import Context
from ptxcore.check.declarations import declare
from ptxcore.check.functions import enter
from ptxcore.check.header import check_header
from ptxcore.check.kinds import Kinds
from ptxcore.check.mismatch import OperandMismatch
from ptxcore.check.operands import judge
from ptxcore.check.symbols import Callable as FunctionSymbol
from ptxcore.check.symbols import DeclaredVariable, LabelSymbol, Symbol
from ptxcore.diagnostics import fail
from ptxcore.isa.form import Use
from ptxcore.isa.matching import Misfit
from ptxcore.isa.special_registers import SPECIAL_REGISTERS
from ptxcore.isa.table import candidates
from ptxcore.isa.types import WIDTHS
from ptxcore.machine.ir.operands import arrange, choices
from ptxcore.machine.ir.windows import PARAM
from ptxcore.machine.lower.inlining import Callers, InlinedAt, Wrappers, told
from ptxcore.machine.lower.layout import ModuleLayout
from ptxcore.machine.lower.operands import NamedRegister, NotExecuted, Operands
from ptxcore.machine.lower.ops import CallTarget, Code, ExecutableModule, FormalParameter, Op, Passed, Source
from ptxcore.machine.lower.spelled import COMPONENTS_AT, expanded, flushing
from ptxcore.syntax.tree import (
    Arguments,
    Close,
    Declaration,
    Directive,
    Float,
    Function,
    Immediate,
    Instruction,
    Label,
    Module,
    Name,
    OpenBrace,
    Operand,
    Prototype,
)
from ptxcore.values.terms import mask

#: The first target that has subnormal numbers in single precision.
_SUBNORMALS = 20
#: The last version in which conversions from and to 64 bits keep subnormal numbers on targets before that.
_NARROW_FLUSHES = (1, 4)


def lower(module: Module, number: int = 0) -> ExecutableModule:
    """Makes a module ready that the checker found sound; of several that are launched together, that of a number. Raises
    InputError for what cannot be executed."""
    return _Lowering(module, number).program()


class _Lowering(Operands):
    def __init__(self, module: Module, number: int) -> None:
        self.module = module
        self.context = Context(False)
        self.kinds = Kinds(self.context)
        self.layout = ModuleLayout(number)
        self.functions: dict[str, Code] = {}
        self.locations: list[InlinedAt] = []
        self.callers, self.wrappers = Callers(), Wrappers()
        self.chains: list[list[InlinedAt]] = []  # of the function that is read: those whose locations are to come
        self.files: dict[int, str] = {}
        self.location = -1
        self.code: Code | None = None
        self.special: set[str] = set()
        self.aliases: list[tuple[str, str]] = []  # the new name, the function
        #: By symbol and name: the first slot of a register, the place of a variable.
        self.slots: dict[tuple[int, str], int] = {}
        self.frames: dict[int, int] = {}
        self.shared: dict[int, int] = {}
        self.parameters: dict[int, int] = {}  # of kernels
        self.keep: list[Symbol] = []  # symbols whose ids are keys stay alive
        self.scoped_labels: list[dict[str, str]] = []
        self.opened: list[int] = []  # for each open block the number of its first op
        self.depth = 0

    def program(self) -> ExecutableModule:
        statements = self.module.statements
        header = check_header(self.context, statements)
        waiting_label: str | None = None
        for statement in statements[header:]:
            if isinstance(statement, Instruction | Label):
                self.callers.passes(statement)
                self.wrappers.passes(statement)
            if isinstance(statement, Instruction):
                self.instruction(statement)
            elif isinstance(statement, Label):
                waiting_label = self.label(statement)
            elif isinstance(statement, Declaration):
                self.declaration(statement)
            elif isinstance(statement, Function):
                self.function(statement)
            elif isinstance(statement, OpenBrace):
                self.open()
            elif isinstance(statement, Close):
                self.close()
            elif isinstance(statement, Prototype):
                self.context.scopes.declare(waiting_label or "", LabelSymbol("prototype", "prototype", statement.span))
            elif isinstance(statement, Directive):
                self.directive(statement, waiting_label)
        for alias, aliasee in self.aliases:
            self.functions[alias] = self.functions[aliasee]
        self.layout.settle()
        target = self.context.target.number if self.context.target else 0
        locations = [
            (self.files.get(file, f"file {file}"), line) for file, line, *_ in self.locations
        ]  # .file may come last
        return ExecutableModule(self.layout, self.functions, locations, target, self.special)

    # Scopes.

    def open(self) -> None:
        if self.depth:
            self.context.scopes.open()
        self.depth += 1
        self.scoped_labels.append({})
        self.opened.append(0 if self.code is None else len(self.code.ops))

    def close(self) -> None:
        self.depth -= 1
        self.context.scopes.close()
        self.kinds.forget()
        self.settle_labels(self.scoped_labels.pop())
        if self.depth == 0:
            self.code = None
            self.locations += [told(chain, self.wrappers.depth) for chain in self.chains]
            self.chains = []

    def settle_labels(self, own: dict[str, str]) -> None:
        """Branches of the block that closes go to its own labels; the others wait for the blocks around it."""
        code = self.code
        assert code is not None
        first = self.opened.pop()
        for op in code.ops[first:]:
            if op.labels:
                op.labels = tuple(own.get(name, name) if name[:1] != "\0" else name for name in op.labels)

    # Declarations.

    def declaration(self, d: Declaration) -> None:
        symbols = declare(self.context, d, in_body=self.code is not None, role="local" if self.code else "")
        if self.depth > 1 or d.space != "reg":
            self.kinds.forget()  # the name may have meant something else
        for declarator, symbol in zip(d.names, symbols, strict=True):
            self.keep.append(symbol)
            self.place(symbol, declarator.name, declarator.count)

    def place(self, symbol: DeclaredVariable, name: str, count: int | None) -> None:
        """Gives a variable its place; registers get theirs when they are met."""
        if symbol.sort == "register":
            return
        size = max(symbol.bytes, 0)
        if self.code is not None and symbol.space in ("local", "param"):
            self.frames[id(symbol)] = self.frame(size, symbol.alignment)
        elif symbol.space == "shared":
            dynamic = symbol.linkage == "extern" and not size
            kernel = self.code.name if self.code is not None and self.code.entry else ""
            self.shared[id(symbol)] = self.layout.shared(name, size, symbol.alignment, dynamic, kernel)
        else:
            self.layout.place(name, symbol, id(symbol))

    def frame(self, size: int, align: int) -> int:
        """A stretch of the function's frame; gives its offset."""
        code = self.code
        assert code is not None
        offset = -(-code.frame // align) * align
        code.frame = offset + size
        return offset

    # Functions.

    def function(self, head: Function) -> None:
        before = self.functions.get(head.name)
        enter(self.context, head)
        code = Code(head.name, head.kind == "entry", defined=head.defined)
        self.location = -1
        self.wrappers = Wrappers()
        self.code = code
        self.opened = []
        self.depth = 0
        self.scoped_labels = []
        for directive in head.directives if head.defined else ():
            code.directives[directive.name] = tuple(a.value for a in directive.arguments if isinstance(a, Immediate))
        code.results = [self.parameter(d, code) for d in head.results]
        code.parameters = [self.parameter(d, code) for d in head.parameters or ()]
        if head.defined or before is None:
            self.functions[head.name] = code
        if not head.defined:
            self.context.scopes.close()
            self.kinds.forget()
            self.code = None

    def parameter(self, d: Declaration, code: Code) -> FormalParameter:
        declarator = d.names[0]
        symbol = self.context.scopes.find(declarator.name)
        assert isinstance(symbol, DeclaredVariable) or symbol is None
        elements = 1
        for dimension in declarator.dimensions:
            elements *= dimension or 0
        size = max(1, WIDTHS.get(d.type, 64) // 8) * elements
        align = d.align or max(1, WIDTHS.get(d.type, 64) // 8)
        if symbol is not None:
            self.keep.append(symbol)
        if d.space == "reg":
            slot = self.slot(symbol, declarator.name) if symbol is not None else len(code.registers)
            return FormalParameter(declarator.name, d.type, size, slot, 0)
        if code.entry:
            offset = -(-code.parameter_bytes // align) * align
            code.parameter_bytes = offset + size
            if symbol is not None:
                self.parameters[id(symbol)] = offset
        else:
            offset = self.frame(size, align)
            if symbol is not None:
                self.frames[id(symbol)] = offset
        return FormalParameter(declarator.name, d.type, size, None, offset, align, elements)

    # Directives and labels.

    def directive(self, d: Directive, label: str | None) -> None:
        if d.name == "file":
            number, name = d.arguments[0], d.arguments[1]
            self.files[getattr(number, "value", 0)] = getattr(name, "text", "")
        elif d.name == "loc":
            self.location = len(self.locations) + len(self.chains)
            chain = self.callers.chain(d)
            self.chains.append(chain)
            self.wrappers.at(chain)
        elif d.name in ("branchtargets", "calltargets") and label is not None:
            names = tuple(n for a in d.arguments for n in expanded(a))
            sort = "targets" if d.name == "branchtargets" else "callees"
            self.context.scopes.declare(label, LabelSymbol(sort, sort, d.span, names=names))
        elif d.name == "alias":
            alias, aliasee = (a.name for a in d.arguments if isinstance(a, Name))
            self.aliases.append((alias, aliasee))

    def label(self, statement: Label) -> str:
        code = self.code
        if code is None:
            return statement.name
        unique = f"\0{len(code.labels)}:{statement.name}"
        code.labels[unique] = len(code.ops)
        if self.scoped_labels:
            self.scoped_labels[-1][statement.name] = unique
        return statement.name

    # Instructions.

    def instruction(self, s: Instruction) -> None:
        code = self.code
        if code is None:
            return
        guard = None
        if s.guard is not None:
            symbol = self.context.scopes.find(s.guard.name)
            assert symbol is not None
            guard = self.slot(symbol, s.guard.name), s.guard.negated
        try:
            if s.opcode == "call":
                op = self.call(s, guard)
            else:
                use = self.use(s)
                op = self.operation(s, *choices(use, arrange(s, use)), guard)
        except NotExecuted:
            op = Op(s, self.use(s), [], [], guard, refused=True)
        op.location = self.location
        code.ops.append(op)

    def use(self, s: Instruction) -> Use:
        kinds = self.kinds.of(s) if s.opcode != "bra" else ("label",)
        flushed = candidates(s.opcode, flushing(s.modifiers)) if self.flushes(s) else None
        for uses in (flushed, candidates(s.opcode, s.modifiers)):
            if uses is None or isinstance(uses, Misfit):
                continue
            result = judge(uses, kinds)
            if not isinstance(result, OperandMismatch):
                return result
        assert isinstance(result, OperandMismatch)
        raise fail(s.span, result.message, result.hint)

    def flushes(self, s: Instruction) -> bool:
        """Whether `.ftz` goes without saying: before sm_20 for all of `.f32` (section 9.7.3); up to PTX ISA 1.4 not where a
        conversion is from or to 64 bits (section 12)."""
        context, modifiers = self.context, s.modifiers
        if (
            context.target is None
            or context.target.number >= _SUBNORMALS
            or "f32" not in modifiers
            or "ftz" in modifiers
        ):
            return False
        wide = any(WIDTHS.get(modifier) == 64 for modifier in modifiers)
        return not (s.opcode == "cvt" and wide and context.version <= _NARROW_FLUSHES)

    # Operands.

    def slot(self, symbol: Symbol, name: str) -> int:
        """The slot of a register, or of a component of one."""
        code = self.code
        assert code is not None
        key = id(symbol), name
        found = self.slots.get(key)
        if found is None:
            self.keep.append(symbol)
            vector = getattr(symbol, "vector", "")
            found = self.slots[key] = len(code.registers)
            names = [name] if not vector else [f"{name}.{c}" for c in "xyzw"[: int(vector[1:])]]
            code.registers += names
            code.widths += [WIDTHS.get(getattr(symbol, "type", ""), 1)] * len(names)
        return found

    def register(self, name: str) -> NamedRegister | None:
        """The register of a name, or the component of one; None where the name is no register's."""
        scopes = self.context.scopes
        symbol = scopes.find(name)
        if isinstance(symbol, DeclaredVariable) and symbol.sort == "register":
            return NamedRegister(self.slot(symbol, name), WIDTHS[symbol.type], int(symbol.vector[1:] or 0))
        base, dot, part = name.partition(".")
        if dot:
            symbol = scopes.find(base)
            if isinstance(symbol, DeclaredVariable) and symbol.sort == "register":
                return NamedRegister(self.slot(symbol, base) + COMPONENTS_AT.get(part, 0), WIDTHS[symbol.type])
        return None

    def named_register(self, operand: Name) -> NamedRegister | None:
        return self.register(operand.name)

    def named_object(self, operand: Name, width: int) -> Source:
        base, _, _ = operand.name.partition(".")
        symbol = self.context.scopes.find(operand.name) or self.context.scopes.find(base)
        if symbol is None and base in SPECIAL_REGISTERS:
            return self.special_register(operand.name, width)
        if isinstance(symbol, FunctionSymbol):
            return Source("constant", self.layout.function(operand.name), width)
        assert isinstance(symbol, DeclaredVariable), operand
        key = id(symbol)
        if key in self.parameters:
            return Source("constant", PARAM + self.parameters[key], width)
        if key in self.frames:
            return Source("frame", self.frames[key], width)
        if key in self.shared:
            return Source("shared", self.shared[key], width)
        return Source("constant", self.layout.address(key), width)

    def special_source(self, name: str, width: int) -> Source:
        self.special.add(name)
        return Source(
            "special", width=width, has=WIDTHS[SPECIAL_REGISTERS[f"%{name.partition('.')[0]}"].type], name=name
        )

    def element_bytes(self, name: str) -> int:
        found: int = getattr(self.context.scopes.find(name), "element_bytes", 1)
        return found

    def labels(self, operand: Operand) -> tuple[str, ...]:
        assert isinstance(operand, Name)
        symbol = self.context.scopes.find(operand.name)
        if isinstance(symbol, LabelSymbol) and symbol.sort == "targets":
            return symbol.names
        return (operand.name,)

    # Calls.

    def call(self, s: Instruction, guard: tuple[int, bool] | None) -> Op:
        lists = [o for o in s.operands if isinstance(o, Arguments)]
        names = [o for o in s.operands if isinstance(o, Name)]
        callee = names[0]
        at = s.operands.index(callee)
        results = lists[0] if lists and s.operands.index(lists[0]) < at else None
        arguments = next((a for a in lists if a is not results), None)
        symbol = self.context.scopes.find(callee.name)
        pointer = None if isinstance(symbol, FunctionSymbol) else self.named(callee, 64)
        uses = candidates(s.opcode, s.modifiers)
        assert uses and not isinstance(uses, Misfit)
        call = CallTarget(
            callee.name if pointer is None else "",
            pointer,
            tuple(self.passed(s, o) for o in (arguments.elements if arguments else ())),
            tuple(self.passed(s, o) for o in (results.elements if results else ())),
        )
        return Op(s, uses[0], [], [], guard, call=call)

    def passed(self, s: Instruction, operand: Operand) -> Passed:
        if isinstance(operand, Name):
            symbol = self.context.scopes.find(operand.name)
            if isinstance(symbol, DeclaredVariable) and id(symbol) in self.frames:
                return Passed(None, self.frames[id(symbol)], symbol.bytes)
            found = self.register(operand.name)
            if found is not None:
                return Passed(Source("register", found.slot, found.bits, found.bits))
            return Passed(self.named(operand, 64))
        if isinstance(operand, Immediate):
            return Passed(Source("constant", operand.value & mask(64)))
        if isinstance(operand, Float):
            return Passed(Source("constant", operand.bits, operand.width))
        raise NotExecuted
