"""The kinds of finding in a PTX module, by the code that each carries for tools. A code keeps its meaning."""

from __future__ import annotations

#: Errors.
ERRORS = {
    "encoding": "a character that is not ASCII, anywhere in the text",
    "syntax": "text that is no statement: something is missing, too much, or misspelt beyond recognition",
    "header": "`.version`, `.target` or `.address_size` missing, in the wrong place, or with a value that is not known",
    "version": "something that the module's `.version` does not have yet, or has no more",
    "target": "something that the module's `.target` does not have",
    "directive": "a directive that is not known, in the wrong place, or beside one that excludes it",
    "declaration": "a variable or register whose space, type, shape, linkage or attribute is not possible",
    "function": "a function, kernel or prototype whose linkage, parameters or results are not possible",
    "initialiser": "an initial value that the variable cannot have",
    "alignment": "an alignment that is not possible, or an address that cannot have the one it needs",
    "redeclared": "a name that is declared again where or as it cannot be",
    "undeclared": "a name that is not declared before its use",
    "label": "a branch to a label that it cannot see",
    "unknown-instruction": "an opcode that no instruction has",
    "unknown-modifier": "a modifier that the instruction has in none of its forms",
    "modifiers": "modifiers that no form of the instruction has together, or a modifier or type that is missing",
    "operands": "operands that are too many, too few, or of the wrong kind, type or size",
    "value": "a constant that cannot stand where it does",
    "call": "arguments or results that do not fit what is called",
    "debugging": "debugging data: `.file`, `.loc`, `.section`",
}

#: Warnings: about the version, and for authors of concurrent code.
WARNINGS = {
    "later-version": "a `.version` later than 9.0, by whose rules the module is read, or a target that came with one",
    "volatile-synchronization": "a volatile load that a loop waits on, or a volatile store right behind a fence: volatile "
    "is relaxed at system scope, and orders nothing else (section 8.2.2)",
    "cta-scope-global": "an access with `.cta` scope to a `.global` location, which other CTAs reach too",
    "weak-atomic": "a weak access to a location that the same function also accesses atomically or with strong semantics",
    "membar": "a `membar`, which is `fence.sc` of its scope, where `fence.acq_rel` exists",
    "relaxed-spin": "a loop that waits with relaxed accesses, and no fence before the next access behind it; an "
    "`atom` that says nothing of its order is relaxed",
}
