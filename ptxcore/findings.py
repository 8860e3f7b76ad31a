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
    "relaxed-spin": "a loop that waits with relaxed accesses, and nothing that orders what comes behind it; an `atom` that "
    "says nothing of its order is relaxed",
    "relaxed-release": "a relaxed write to what a loop waits for, behind weak stores that nothing orders before it; a `red` "
    "or `atom` that says nothing of its order is relaxed",
    "weak-spin": "a loop that waits with a weak load of what only another thread can change: a data race",
    "volatile-synchronization": "a volatile load that a loop waits on, or a volatile store that such a loop waits for, "
    "without a fence: volatile is relaxed at system scope, and orders nothing else (section 8.2.2)",
    "weak-atomic": "a weak access to a location that the same function also accesses atomically or with strong semantics, "
    "with no fence, barrier, acquire or release that keeps the two apart",
    "cta-scope-global": "an access with `.cta` scope to a `.global` location that is the same for all CTAs",
    "narrow-fence": "a fence of `.cta` scope between accesses to global memory and a signal of wider scope",
    "membar": "a `membar` or `fence.sc`, where `fence.acq_rel` certainly is enough",
    "divergent-barrier": "a barrier for all threads of a CTA behind a branch that depends on the thread, of which the other "
    "way has none",
    "missing-proxy-fence": "generic writes of shared memory, then a bulk copy, `wgmma` or `tcgen05` that reads it through the "
    "async proxy, with no proxy fence on any path between",
    "unfenced-mbarrier-init": "an initialised mbarrier object that an asynchronous operation completes, with no fence on any "
    "path between",
    "unawaited-write": "a read of shared memory that `st.async`, `red.async` or a bulk copy writes, here or in another CTA, "
    "with no wait for an mbarrier object on any path between",
}
