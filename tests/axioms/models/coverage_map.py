"""Which tests pin each clause of ptx-9.0, each reading of the manual, and each form of the table of instructions.

A *clause* is a definition, an axiom or a flag of ptx-9.0.cat. A test pins it if it answers otherwise without the clause: with an
empty definition, or without the axiom or the flag. `PINNED` in coverage_pins.py has what was found; test_coverage.py finds it
again.

    PYTHONPATH=. python tests/axioms/models/coverage_map.py [CLAUSE]...    looks for tests that pin clauses, all by default, and prints them
"""

# ruff: noqa: E501
from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

sys.path.append(str(Path(__file__).resolve().parents[2] / "support"))  # where no pytest does it

import asynchronous_cases
import manual_map
import model_pins
import more_model_pins
import mutations
import pins
import reading_pins
from coverage_pins import PINNED, UNPINNED

from axioms.models.options import OF_MODELS

if TYPE_CHECKING:
    from axioms.cat.model import Model
    from ptxcore.isa.form import Form

ROOT = Path(__file__).resolve().parents[3]
SEMANTICS = ROOT / "tests" / "ptxcore" / "semantics"
if str(SEMANTICS) not in sys.path:
    sys.path.append(str(SEMANTICS))  # `reference` stands there

MODEL = "ptx-9.0"
LIBRARY = ROOT / "litmus" / "library" / "model"
#: So many tests of a clause are shown.
MOST = 2

#: Where clauses of options, which are idle without them, are asked about: the option, and tests that it changes.
OPTIONS = {option: name for option, name, *_ in model_pins.OPTION_PINS if option in OF_MODELS}


class Clause(NamedTuple):
    """A statement of the file: its name, the offsets of the whole and of what is left out, and what stands there then."""

    name: str
    start: int
    end: int
    body: int
    empty: str


_BEGIN = re.compile(
    r"^ *(?:(?:let rec|let|and) (?P<name>[\w-]+)(?:\(\w+\))? =|(?:flag |empty |irreflexive |acyclic ))", re.MULTILINE
)


@cache
def clauses() -> dict[str, Clause]:
    """All of the file, in its order; axioms of one name are told apart by numbers."""
    from axioms.cat.nodes import SET
    from axioms.models import load

    text, names = mutations.text_of(MODEL), load(MODEL).names
    found: dict[str, Clause] = {}
    begins = [m for m in _BEGIN.finditer(text) if text.rfind("(*", 0, m.start()) <= text.rfind("*)", 0, m.start())]
    ends = [*(m.start() for m in begins[1:]), len(text)]
    for begin, end in zip(begins, ends, strict=True):
        piece = re.split(r"\n\s*\n|\(\*", text[begin.start() : end])[0].rstrip()
        name = begin["name"]
        if name is None:
            (title,) = re.findall(r" as ([\w-]+)$", piece)
            count = sum(c.partition(" ")[0] == title for c in found)
            # Without a flag of some names a model would be refused: so it is one that nothing raises.
            empty = f"flag ~empty 0 as {title}" if piece.startswith("flag") else ""
            name, body = title if not count else f"{title} {count + 1}", begin.start()
        else:
            body, empty = begin.end(), " {}" if name in names and names[name].kind == SET else " 0"
        found[name] = Clause(name, begin.start(), begin.start() + len(piece), body, empty)
    return found


def without(clause: Clause) -> str:
    """The text of the model with an empty definition, without the axiom, or with a flag that nothing raises."""
    text = mutations.text_of(MODEL)
    return text[: clause.body] + clause.empty + text[clause.end :]


#: Kernels whose `buggy` variants are about what litmus tests do not have: ends of CTAs, the heap, memory that nobody wrote.
KERNELS = (
    "cluster_exit",
    "heap_handover",
    "heap_last_owner",
    "heap_publish",
    "double_buffer",
    "partials_by_all_threads",
)


class Pin(NamedTuple):
    """A test by its name: the file that has it, its text ("" where the file is a kernel test), and the options that it is asked
    with."""

    name: str
    home: Path
    text: str
    options: tuple[str, ...] = ()


@cache
def tests() -> dict[str, Pin]:
    """All tests of the model: those that the documentation shows first."""
    found = {p.stem: Pin(p.stem, p, p.read_text(encoding="utf-8")) for p in sorted(LIBRARY.glob("*.litmus"))}
    for module, some in (
        (pins, [p for p in pins.PINS if p.ptx_9_0 != "n/a"]),
        (model_pins, model_pins.PINS),
        (more_model_pins, more_model_pins.MORE_PINS),
        (asynchronous_cases, asynchronous_cases.CASES),
    ):
        home = Path(str(module.__file__))
        found |= {p.name: Pin(p.name, home, p.litmus()) for p in some}
    home = Path(str(reading_pins.__file__))
    found |= {p.name: Pin(p.name, home, p.litmus(), p.options) for p in reading_pins.READING_PINS}
    others = sorted(p for p in LIBRARY.parent.rglob("*.litmus") if p.parent != LIBRARY)
    found |= {p.stem: Pin(p.stem, p, p.read_text(encoding="utf-8")) for p in others if p.stem not in found}
    for name in KERNELS:
        home = ROOT / "tests" / "kernels" / "gate" / name / "test.toml"
        found |= {f"{name}:{v}": Pin(f"{name}:{v}", home, "") for v in ("buggy", "fixed")}
    for option, name in OPTIONS.items():
        pin = found[name]
        found[f"{name} --{option}"] = pin._replace(name=f"{name} --{option}", options=(option,))
    return found


@cache
def answer(name: str, cut: str = "") -> tuple[object, ...] | None:
    """What a test answers, by the model without a clause; None where that is no answer."""
    import ptxmm
    from axioms.models.options import of_models

    pin = tests()[name]
    model = changed(cut, of_models(pin.options)) if cut else MODEL
    test = ptxmm.parse(pin.text) if pin.text else ptxmm.load(f"{pin.home}:{name.partition(':')[2]}")
    result = ptxmm.check(test, model, races=True, options=pin.options)
    if result.verdict in ("error", "undecided"):
        return None
    return result.verdict, result.positive > 0, tuple(sorted({race.kind for race in result.races}))


@cache
def changed(cut: str, options: frozenset[str]) -> Model:
    """The model without a clause, and without options that only the clause asked for."""
    from axioms.cat.model import compile_model

    text = without(clauses()[cut])
    return compile_model(MODEL, text, options=options & compile_model(MODEL, text).options)


def hangs(test: str, clause: str) -> bool:
    """Whether a test answers otherwise without a clause. What cannot be decided then says nothing."""
    return answer(test, clause) not in (None, answer(test))


def pinning(clause: str, used: Counter[str], most: int = MOST) -> Iterator[str]:
    """Tests that pin a clause, as they are found: those first that pin few others."""
    for name in sorted(tests(), key=used.__getitem__):
        if hangs(name, clause):
            used[name] += 1
            yield name
            most -= 1
            if not most:
                return


def mistakes(clause: Clause) -> int:
    """How many mistakes are planted in a clause, to see that the comparison with the second definition finds them."""
    text = mutations.text_of(MODEL)
    planted = [right for right, _ in (*mutations.MUTATIONS[MODEL], *mutations.WHOLE)]
    return sum(clause.start <= text.find(right.strip("\n")) < clause.end for right in planted)


def sections(clause: str) -> str:
    """The sections of the manual that a clause carries."""
    name = f"cat {clause.partition(' ')[0]}"
    rows = (*manual_map.CHAPTER_8, *manual_map.CHAPTER_9)
    return ", ".join(dict.fromkeys(row.section for row in rows if name in row.carriers))


# Readings of the manual.


class Reading(NamedTuple):
    """A place where the manual is silent or contradicts itself: how it is read, the clauses of docs/model.md that say so, and tests.
    A reading without tests says why."""

    number: int
    words: str
    clauses: str
    tests: tuple[str, ...] = ()
    note: str = ""


READINGS = (
    Reading(
        1,
        "overlap is of byte ranges under one virtual mapping; of aliases, of physical bytes",
        "C2",
        ("overlap+partial-in-thread", "M6", "M6b"),
    ),
    Reading(
        2,
        "coherence is the least transitive order; racing writes are unrelated",
        "C18",
        ("coherence+weak-disagree", "P09"),
    ),
    Reading(3, "`fence.sc` is a release and an acquire fence", "C6", ("P12", "P12b")),
    Reading(4, "`fence.acquire` and `fence.release` are fences as the others are", "C5", ("P13", "P13b")),
    Reading(
        5,
        "the order of `fence.sc` agrees with base causality, since causality relates accesses only",
        "C20",
        ("fence.sc+R",),
    ),
    Reading(6, "barriers of a CTA are no fences", "C28", ("P27", "P27c", "P27d")),
    Reading(
        7, "`barrier.cluster.arrive.relaxed` releases nothing", "C31", ("cluster+relaxed", "cluster+relaxed+fence")
    ),
    Reading(
        8,
        "`st.async.release` releases what its thread did; a proxy fence works in the CTA of the access through the proxy",
        "C14, C39",
        ("st.async+release", "P35", "P35b"),
    ),
    Reading(9, "a wait for a phase acquires nothing of earlier phases", "C32", ("A9", "mbarrier+earlier-phase")),
    Reading(10, "an `atom` whose result is thrown away is a reduction", "C10", ("P41", "sink+acquire-fence")),
    Reading(
        11,
        "shuffles and votes order no memory, but values flow through them",
        "C24, C30",
        ("shuffle+no-order", "dependency+shuffle"),
    ),
    Reading(12, "one-way proxy fences order the proxies that they name and nothing else", "C41", ("Q09",)),
    Reading(
        13,
        "a write through the async proxy over what was read before needs the fence of proxies",
        "C47",
        ("P44", "P44b"),
    ),
    Reading(
        14, "dependencies are syntactic, and a branch covers everything behind it", "C24", ("P03", "dependency+control")
    ),
    Reading(
        15,
        "the completion of an asynchronous operation counts as made in the CTA of the mbarrier object; a remote arrival does not",
        "C49",
        ("A15-",),
    ),
    Reading(16, "shared memory has one virtual address, however it is named", "C3", ("address+mapa-of-self",)),
    Reading(17, "an access of 128 bits is one access", "C48", ("b128+one-access",)),
    Reading(
        18,
        "a mixed-size race in some consistent execution leaves the program without a meaning",
        "C25",
        ("P25c", "P42"),
    ),
    Reading(19, "weak accesses that race may tear", "C22", ("P24", "P24b", "P24c")),
    Reading(
        20,
        "in the end a byte holds what some write left there that no other follows in coherence",
        "C23",
        ("final+disagree",),
    ),
    Reading(
        21,
        "a volatile access of a vector is several accesses, in no order",
        "C1, C26",
        ("volatile-vector-elements-seen-apart",),
    ),
    Reading(
        22,
        "`st.async` and `red.async` are in no program order, as the operations that the manual lists",
        "C34, C38",
        ("Q21", "st.async+release"),
    ),
    Reading(23, "misprints", "", note="what was meant is read; nothing of the model hangs on it"),
    Reading(
        24,
        "the end of a kernel follows the asynchronous operations that it issued; those on shared memory must have been waited for",
        "C50",
        ("A24-",),
    ),
    Reading(
        25,
        "a kernel follows the one kernel before, and what that did not wait for itself is not ordered",
        "C51",
        ("A25-",),
    ),
    Reading(26, "in races an atomic operation is one operation", "C52", ("A26-",)),
    Reading(27, "what a shuffle takes from a lane that is not there is any value", "", ("A27-",)),
)


def of_reading(reading: Reading) -> list[Pin]:
    """Its tests; a name that ends in `-` stands for all that begin so."""
    known = tests()
    found = [
        [p for n, p in known.items() if n == name or (name.endswith("-") and n.startswith(name))]
        for name in reading.tests
    ]
    return [pin for some in found for pin in some]


# Instructions.

#: What control flow does, and what nobody observes: tests that execute it.
OTHERWISE = {
    **dict.fromkeys(("bra", "brx", "call", "ret"), "tests/ptxcore/machine/run/test_running.py"),
    "exit": "tests/ptxcore/machine/run/test_synchronization.py",
    **dict.fromkeys(
        ("applypriority", "cp", "nanosleep", "pmevent", "prefetch", "prefetchu", "setmaxnreg"),
        "tests/ptxcore/machine/explore/test_exploring_every_form.py",
    ),
}

#: Likewise, of sections that have references of their own elsewhere.
BY_SECTION = {
    "9.7.9.25.5.2": "tests/tensors/test_tensor_boxes.py",
    "9.7.9.25.5.3": "tests/tensors/test_tensor_reductions.py",
    "9.7.9.25.5.4": "tests/tensors/test_tensor_layouts.py",
    "9.7.9.26": "tests/tensors/test_tensormap_replace.py",
    "9.7.13.16": "tests/tensors/test_tensormap_replace.py",
    **dict.fromkeys(
        (f"9.7.16.{part}" for part in ("7.1", "8.3", "8.4", "8.5", "9.2", "9.3", "10.9.1", "10.9.3", "11.1", "12.1")),
        "tests/tensors/test_tensor_memory.py",
    ),
}


def executed(form: Form) -> bool:
    """As docs/instructions.md says."""
    return form.run is not None or form.kind in ("jump", "call", "nothing")


#: Where statements of forms that are not executed, made from their declarations, are checked as ptxas checks them.
CHECKED = "tests/ptxcore/check/test_differential.py"


def of_form(form: Form) -> str:
    """The file with the tests of a form: that of its second meaning, or one that executes it; of a form that is not executed, and
    says why, one that checks it; "" where there is none."""
    import reference

    if not executed(form):
        return CHECKED if form.untold and form.only != "manual" else ""
    if form.section in BY_SECTION:
        return BY_SECTION[form.section]
    key = reference.key(form)
    if key in reference.references():
        return f"tests/ptxcore/semantics/references/{reference.home(key)}.py"
    found = re.search(r"(?:tests/ptxcore/([\w/]+)/)?\b(test_\w+\.py)", reference.explained().get(key, ""))
    return f"tests/ptxcore/{found[1] or 'semantics'}/{found[2]}" if found else OTHERWISE.get(form.mnemonic, "")


def instructions() -> dict[tuple[str, str], list[Form]]:
    """All forms of the table, by section and mnemonic."""
    from ptxcore.isa.table import SECTIONS, forms_of

    found: dict[tuple[str, str], list[Form]] = {}
    for section in SECTIONS:
        for form in forms_of(section):
            found.setdefault((form.section, form.mnemonic), []).append(form)
    return found


# Tables.


def _linked(pin: Pin) -> str:
    return f"[{pin.name}](../{pin.home.relative_to(ROOT)})"


def table_of_clauses() -> str:
    lines = ["| Clause | Manual | Answers otherwise without it | Mistakes |", "|---|---|---|---|"]
    for name, clause in clauses().items():
        shown = ", ".join(_linked(tests()[test]) for test in PINNED.get(name, ())) or UNPINNED.get(name, "")
        line = mutations.text_of(MODEL).count("\n", 0, clause.start) + 1
        link = f"[`{name}`](../axioms/models/{MODEL}.cat#L{line})"
        lines.append(f"| {link} | {sections(name)} | {shown} | {mistakes(clause) or ''} |")
    return "\n".join(lines) + "\n"


def table_of_readings() -> str:
    lines = ["| Reading | It is read so | Clause | Tests |", "|---|---|---|---|"]
    for r in READINGS:
        pins_, first = of_reading(r), r.tests[0] if r.tests else ""
        shown = ", ".join(map(_linked, pins_))
        if first.endswith("-"):
            home = pins_[0].home.relative_to(ROOT)
            shown = f"the {len(pins_)} of [{home.name}](../{home}) that begin with `{first}`"
        lines.append(f"| A{r.number} | {r.words} | {r.clauses} | {shown or r.note} |")
    return "\n".join(lines) + "\n"


def table_of_instructions() -> str:
    """A row for the instructions of a section that the same tests pin; of several forms, how many there are. Those that are not
    executed have rows of their own."""
    rows: dict[tuple[tuple[int, ...], bool, tuple[str, ...]], Counter[str]] = {}
    for (section, mnemonic), forms in instructions().items():
        area = tuple(int(n) for n in section.split(".")[:3])
        for refused in (False, True):
            some = [form for form in forms if executed(form) is not refused]
            homes = tuple(dict.fromkeys(map(of_form, some)))
            if some:
                rows.setdefault((area, refused, homes), Counter())[mnemonic] += len(some)
    lines = ["| Manual | Instructions (forms) | Tests |", "|---|---|---|"]
    for (area, refused, homes), counts in sorted(rows.items()):
        names = ", ".join(f"`{name}`" + (f" ({n})" if n > 1 else "") for name, n in counts.items())
        names += ": not executed" if refused else ""
        files = "; ".join(f"[{home.removeprefix('tests/ptxcore/')}](../{home})" for home in homes)
        lines.append(f"| {'.'.join(map(str, area))} | {names} | {files} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    often = Counter[str]()
    for one in sys.argv[1:] or clauses():
        print(f"    {one!r}: {tuple(pinning(one, often))!r},", flush=True)
