"""Loads, stores and copies of every form and every choice of its words, run by threads on random bytes.

What should come of them is said here in bytes: an element is loaded from its bytes, the lowest first, and extended to its
register by the sign that its type has; a store writes the low bytes of its registers; a copy moves bytes; a reduction
combines elements as `test_atomics` says.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import driver
import pytest
import reference
from test_atomics import expected as combined

sys.path.insert(0, str(Path(__file__).parents[2]))

from gpu.probes import mnemonic

from ptxcore.isa.form import Form, Use
from ptxcore.isa.types import WIDTHS
from ptxcore.machine.run.launch import load

HEAD = ".version 9.0\n.target sm_100a\n.address_size 64\n"
#: Inputs of a form at least, and the threads of one kernel.
INPUTS, THREADS = 400, 32
#: Bytes of each thread's record.
RECORD = 32
NAMES = {8: "c", 16: "h", 32: "r", 64: "d", 128: "q"}


class Run(NamedTuple):
    """The body of a kernel, what it makes of a thread's record, and of how many records."""

    body: str
    result: Callable[[bytes], bytes]
    before: str = ""
    records: int = THREADS


def kernel(run: Run, data: bytes) -> bytes:
    """The bytes that each thread gives for its record, one behind the other."""
    before = run.before.replace("BYTES", ", ".join(map(str, data)))
    registers = " ".join(f".reg .b{width} %{name}<40>;" for width, name in NAMES.items())
    text = f"""{HEAD}{before}
.visible .entry k(.param .u64 in, .param .u64 out, .param .align 16 .b8 bytes[{len(data)}])
{{
{registers} .reg .pred %p<4>; .reg .b32 %me;
.shared .align 128 .b8 s[{len(data)}]; .shared .align 8 .b64 bar; .local .align 32 .b8 l[{RECORD}];
ld.param.u64 %d0, [in]; ld.param.u64 %d1, [out];
mov.u32 %me, %tid.x; mul.wide.u32 %d2, %me, {RECORD};
add.u64 %d0, %d0, %d2; add.u64 %d1, %d1, %d2; // the thread's records
mov.u64 %d3, s; add.u64 %d3, %d3, %d2; mov.u64 %d4, l;
mov.u64 %d6, bar;
{run.body}
ret;
}}
"""
    device = load(text, "k.ptx")
    given, out = (device.memory.allocate(len(data), name) for name in ("in", "out"))
    device.memory.at(given).data[:] = data
    device.launch("k", (1, 1, 1), (THREADS, 1, 1), [given, out, data], limit=2_000_000)
    return bytes(device.memory.at(out).data)


# Loads and stores.

#: By state space: what puts the address of the thread's record there into %d5, and the space in which it can be written.
PLACES = {
    "global": ("mov.u64 %d5, %d0;", "global"),
    "shared": ("add.u64 %d5, %d3, 0;", "shared"),
    "local": ("mov.u64 %d5, %d4;", "local"),
    "const": ("mov.u64 %d5, c; add.u64 %d5, %d5, %d2;", ""),
    "param": ("mov.b64 %d5, bytes; add.u64 %d5, %d5, %d2;", ""),
}


def there(space: str) -> str:
    """Copies the record to its place in a state space, where it is not there from the beginning."""
    address, writable = PLACES[space]
    if writable in ("", "global"):
        return address
    copies = [f"ld.global.b64 %d30, [%d0+{at}]; st.{writable}.b64 [%d5+{at}], %d30;" for at in range(0, RECORD, 8)]
    return " ".join((address, *copies))


def back(space: str) -> str:
    """Copies the record from its place in a state space to the results."""
    if space == "global":
        return ""
    copies = [f"ld.{space}.b64 %d30, [%d5+{at}]; st.global.b64 [%d1+{at}], %d30;" for at in range(0, RECORD, 8)]
    return " ".join(copies)


def place_of(use: Use, chance: random.Random) -> tuple[str, str]:
    """The state space in which an instruction finds its record, and what turns the address into one that it takes."""
    space = use.words["space"].partition("::")[0]
    if space:
        return space, ""
    chosen = chance.choice(("global", "shared", "local"))
    return chosen, f"cvta.{chosen}.u64 %d5, %d5;"


def registers(use: Use, e: Any, chance: random.Random) -> tuple[list[str], list[int], int]:
    """Registers for the elements that are read or written, which may be wider than the elements; their widths."""
    width = WIDTHS[e.type]
    count = e.length or 1
    wider = [w for w in (16, 32, 64) if w > width] if "loose" in e.parameter.flags and count == 1 else []
    wide = chance.choice([max(width, 8), *wider])
    return [f"%{NAMES[wide]}{i + 1 if wide != 64 else i + 10}" for i in range(count)], [width] * count, wide


def listed(names: list[str], e: Any) -> str:
    return f"{{{', '.join(names)}}}" if e.length else names[0]


def hinted(use: Use) -> tuple[str, str]:
    """What makes a cache policy, and how it stands in the instruction."""
    return ("createpolicy.fractional.L2::evict_last.b64 %d31;", ", %d31") if use.words["hint"] else ("", "")


def loading(use: Use, chance: random.Random) -> Run:
    e = next(e for e in use.expected if e is not None and e.parameter.role == "destination")
    space, generic = place_of(use, chance)
    names, widths, wide = registers(use, e, chance)
    policy, hint = hinted(use)
    stores = " ".join(f"st.global.b{wide} [%d1+{i * wide // 8}], {name};" for i, name in enumerate(names))
    body = f"{there(space)} {generic} {policy} {mnemonic(use)} {listed(names, e)}, [%d5]{hint}; {stores}"
    signed = e.type[:1] == "s"

    def result(record: bytes) -> bytes:
        found = b""
        for i, width in enumerate(widths):
            size = width // 8
            element = int.from_bytes(record[i * size : i * size + size], "little", signed=signed)
            found += (element & (1 << wide) - 1).to_bytes(wide // 8, "little")
        return found

    return Run(body, result, ".const .align 16 .b8 c[] = {BYTES};" if space == "const" else "")


def storing(use: Use, chance: random.Random) -> Run:
    e = next(e for e in use.expected if e is not None and e.parameter.role == "source")
    space, generic = place_of(use, chance)
    names, widths, wide = registers(use, e, chance)
    policy, hint = hinted(use)
    loads = " ".join(f"ld.global.b{wide} {name}, [%d0+{i * wide // 8}];" for i, name in enumerate(names))
    address = {"global": "mov.u64 %d5, %d1;", "shared": there("shared"), "local": there("local")}[space]
    body = f"{address} mov.u64 %d7, %d5; {generic} {policy} {loads} {mnemonic(use)} [%d5], {listed(names, e)}{hint}; "
    body += f"mov.u64 %d5, %d7; {back(space)}"

    def result(record: bytes) -> bytes:
        return b"".join(record[i * wide // 8 :][: width // 8] for i, width in enumerate(widths))

    return Run(body, result)


# Copies. One thread does them, for the records of all.

ONE = "setp.ne.u32 %p1, %me, 0; @%p1 exit;"
BARRIER = f"""
{ONE} mbarrier.init.shared.b64 [bar], 1; mov.u32 %r1, SIZE;
mbarrier.arrive.expect_tx.shared.b64 %d9, [bar], %r1;"""
UNTIL = "W: mbarrier.try_wait.shared.b64 %p2, [bar], %d9; @!%p2 bra W;"
GROUP = "cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;"
EVERYTHING = THREADS * RECORD


def moved(source: str, target: str, count: int) -> str:
    """Copies bytes by words, in a loop; %d3 and %d24 are addresses of shared memory."""
    label = f"L{source}{target}".replace("%", "")
    of, to = ("shared" if register in ("%d3", "%d24") else "global" for register in (source, target))
    return f"""
mov.u64 %d20, 0;
{label}: add.u64 %d21, {source}, %d20; add.u64 %d22, {target}, %d20;
ld.{of}.b64 %d23, [%d21]; st.{to}.b64 [%d22], %d23;
add.u64 %d20, %d20, 8; setp.lt.u64 %p3, %d20, {count}; @%p3 bra {label};
"""


def copying(use: Use, chance: random.Random) -> Run:
    """`cp.async` of 4 to 16 bytes."""
    size = 16 if ".cg" in use.form.syntax else chance.choice((4, 8, 16))
    policy, hint = hinted(use)
    more, kept = "", size
    if any(e is not None and e.parameter.name == "ignored" for e in use.expected):
        ignored = chance.getrandbits(1)
        more, kept = f"setp.eq.u32 %p1, {ignored}, 1;", 0 if ignored else size
        texts = ", %p1"
    else:
        kept = chance.randint(0, size)
        texts = f", {kept}"
    wait = chance.choice(("cp.async.wait_all;", "cp.async.commit_group; cp.async.wait_group 0;"))
    body = (
        f"{policy} {more} {mnemonic(use)} [%d3], [%d0], {size}{texts}{hint}; {wait} {there('shared').split(';')[0]}; "
    )
    stores = " ".join(f"ld.shared.b32 %r2, [%d3+{at}]; st.global.b32 [%d1+{at}], %r2;" for at in range(0, size, 4))
    return Run(body + stores, lambda record: record[:kept] + bytes(size - kept))


def in_bulk(use: Use, chance: random.Random) -> Run:
    """`cp.async.bulk` and `cp.reduce.async.bulk` of all records; within shared memory, of the first half to the second."""
    syntax = use.form.syntax
    policy, hint = hinted(use)
    within = "shared::cluster.shared::cta" in syntax
    size = EVERYTHING // 2 if within else EVERYTHING
    copy = f"{policy} mov.u32 %r1, {size}; {mnemonic(use)}"
    begin = BARRIER.replace("SIZE", str(size))
    mask = chance.getrandbits(16) if use.words["cp_mask"] else 0xFFFF
    if within:
        halves = f"{moved('%d0', '%d3', size)} add.u64 %d24, %d3, {size}; {moved('%d0', '%d24', size)}"
        body = f"{begin} {halves} {copy} [%d24], [%d3], %r1, [%d6]; {UNTIL} {moved('%d24', '%d1', size)}"
    elif "bulk_group" in syntax:  # from shared memory to the results
        masked = ", %h1" if use.words["cp_mask"] else ""
        filled = f"{ONE} mov.b16 %h1, {mask}; {moved('%d0', '%d3', size)}"
        body = f"{filled} {copy} [%d1], [%d3], %r1{hint}{masked}; {GROUP}"
    else:
        ranks = ", %h1" if use.words["multicast"] else ""
        body = (
            f"{begin} mov.b16 %h1, 1; {copy} [%d3], [%d0], %r1, [%d6]{ranks}{hint}; {UNTIL} {moved('%d3', '%d1', size)}"
        )

    def result(record: bytes) -> bytes:
        if "cp.reduce" in syntax:
            return reduced(use, record if within else bytes(RECORD), record)
        return bytes(byte if mask >> i % 16 & 1 else 0 for i, byte in enumerate(record))

    return Run(body, result, records=size // RECORD)


def reduced(use: Use, old: bytes, new: bytes) -> bytes:
    size = WIDTHS[use.type] // 8
    found = b""
    for at in range(0, RECORD, size):
        a, b = (int.from_bytes(data[at : at + size], "little") for data in (old, new))
        found += combined(use, False, a, b).to_bytes(size, "little")
    return found


def stored_later(use: Use, chance: random.Random) -> Run:
    """`st.async`: to shared memory, where a barrier object learns of it, or to global memory."""
    e = next(e for e in use.expected if e is not None and e.parameter.role == "source")
    width, count = WIDTHS[e.type], e.length or 1
    wide = max(width, 8)
    names = [f"%{NAMES[wide]}{i + 10}" for i in range(count)]
    size = count * width // 8
    loads = " ".join(f"ld.global.b{wide} {name}, [%d0+{i * wide // 8}];" for i, name in enumerate(names))
    barrier = ", [%d8]" if sum(e is not None and e.parameter.name == "mbar" for e in use.expected) else ""
    prepare = (
        f".shared .align 8 .b64 bars[{THREADS}]; mov.u32 %r2, bars; mad.lo.u32 %r3, %me, 8, %r2; cvt.u64.u32 %d8, %r3;"
    )
    space = use.words["space"].partition("::")[0]
    complete = bool(barrier) and space != "global"  # named or not: the manual has it as the default of weak stores
    if not space:
        prepare += "cvta.shared.u64 %d8, %d8;"
    to = "%d1" if space == "global" else "%d3"
    generic = "cvta.shared.u64 %d3, %d3;" if not space else ""
    clear = " ".join(f"st.shared.b64 [%d3+{at}], 0;" for at in range(0, RECORD, 8))
    begin = f"mbarrier.init.shared.b64 [%r3], 1; mbarrier.arrive.expect_tx.shared.b64 %d9, [%r3], {size if complete else 0};"
    until = "W: mbarrier.try_wait.shared.b64 %p2, [%r3], %d9; @!%p2 bra W;" if complete else "bar.sync 0; bar.sync 0;"
    shown = " ".join(f"ld.b64 %d30, [%d3+{at}]; st.global.b64 [%d1+{at}], %d30;" for at in range(0, RECORD, 8))
    body = f"""{prepare} {clear} {begin} {loads} {generic} {mnemonic(use)} [{to}], {listed(names, e)}{barrier}; {until}
{shown if to == "%d3" else ""}"""
    return Run(body, lambda record: b"".join(record[i * wide // 8 :][: width // 8] for i in range(count)))


def cleared(use: Use, chance: random.Random) -> Run:
    """`st.bulk`"""
    size = chance.randrange(0, RECORD, 8)
    space = use.words["space"]
    width = next(e.type for e in use.expected if e is not None and e.parameter.name == "size")
    generic = "" if space else "cvta.shared.u64 %d5, %d5;"
    number = f"mov.u64 %d8, {size};" if width == "u64" else f".reg .u32 %size; mov.u32 %size, {size};"
    operand = "%d8" if width == "u64" else "%size"
    body = f"{there('shared')} mov.u64 %d7, %d5; {generic} {number} {mnemonic(use)} [%d5], {operand}, 0; "
    return Run(f"{body} mov.u64 %d5, %d7; {back('shared')}", lambda record: bytes(size) + record[size:])


def policies(use: Use, chance: random.Random) -> Run:
    """`createpolicy`: a load takes what it makes."""
    if "range" in use.form.syntax:
        operands = f"{'[%d0]' if use.words['space'] else '[%d5]'}, 16, 32"
    else:
        operands = "0.5" if "fractional" in use.form.syntax else "%d0"
    body = f"cvta.global.u64 %d5, %d0; {mnemonic(use)} %d31, {operands}; ld.global.L2::cache_hint.b64 %d8, [%d0], %d31;"
    return Run(f"{body} st.global.b64 [%d1], %d8;", lambda record: record[:8])


def discarding(use: Use, chance: random.Random) -> Run:
    """`discard` of what is written anew behind it."""
    address = "mov.u64 %d8, %d1;" if use.words["space"] else "cvta.global.u64 %d8, %d1;"
    words = " ".join(f"ld.global.b64 %d30, [%d0+{at}]; st.global.b64 [%d1+{at}], %d30;" for at in range(0, RECORD, 8))
    body = f"setp.eq.u32 %p1, %me, 0; {address} @%p1 {mnemonic(use)} [%d8], 128; bar.sync 0; {words}"
    return Run(body, lambda record: record)


#: What runs the forms, by how their syntax begins; the longest beginning counts.
RUNS: dict[str, Callable[[Use, random.Random], Run]] = {
    "ld": loading,
    "ldu": loading,
    "st": storing,
    "st.async": stored_later,
    "st.bulk": cleared,
    "cp.async.c": copying,
    "cp.async.bulk": in_bulk,
    "cp.reduce": in_bulk,
    "createpolicy": policies,
    "discard": discarding,
}
#: Forms that others are waited for with, and those that only ask about addresses.
ELSEWHERE = ("commit_group", "wait_group", "wait_all", "isspacep", "mapa", "getctarank")


def memory_forms() -> Iterator[Form]:
    for section in ("data_movement", "async_copy"):
        for form in reference.forms(section):
            if form.kind == "effect" and not any(word in form.syntax for word in ELSEWHERE):
                yield form


def runner(form: Form) -> Callable[[Use, random.Random], Run]:
    beginnings = [b for b in RUNS if form.syntax.startswith(b)]
    return RUNS[max(beginnings, key=len)]


def is_for_calls(use: Use) -> bool:
    """Whether it reads or writes the parameters of functions, which `test_running.py` does."""
    return use.words["space"].startswith("param::") or (use.words["space"] == "param" and use.form.mnemonic == "st")


@pytest.mark.part(16)
@pytest.mark.parametrize("form", [*memory_forms()], ids=lambda form: form.syntax)
def test_memory_is_read_and_written_as_bytes_are(form: Form) -> None:
    chance = random.Random(form.syntax)
    uses = driver.uses(form, chance, most=48)
    uses = [use for use in uses if not is_for_calls(use)]
    assert uses
    count = 0
    while count < INPUTS:
        for use in uses:
            run = runner(form)(use, chance)
            data = chance.randbytes(EVERYTHING)
            got = kernel(run, data)
            for at in range(0, run.records * RECORD, RECORD):
                wanted = run.result(data[at : at + RECORD])
                assert got[at : at + len(wanted)] == wanted, f"{run.body}\non {data[at : at + RECORD].hex()}"
                count += 1
