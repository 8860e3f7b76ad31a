"""Imports go down only: every room and file of the engine stands in a declared order, and imports what stands before it."""

from __future__ import annotations

import ast
import functools
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path

import networkx
import parsed
import pytest

ROOT = Path(__file__).resolve().parents[1]
#: What stands in each folder, from what everybody may import to what imports everything.
ORDERS = {
    "": "ptxcore litmus axioms ptxmm",
    "axioms": """
        errors dynamic cat models sat events analysis program passes sync witness encode explain oracle liveness dependence
        engine
    """,
    "axioms.cat": """
        names nodes syntax tokens expressions reader values library operators expand compiled marks evaluate orders
        algebra compile specialise primitives residual statements asking model shapes
    """,
    "axioms.dynamic": "core code waits asynchronous one_run lookback sections tickets searches several wrong ctas",
    "axioms.dynamic.core": "findings clocks shadow open_values sums accesses sequential_fences",
    "axioms.dynamic.code": "linear needed idle live joins early_launches recording depends",
    "axioms.dynamic.waits": "strong_reads written waiting unrolled early_looks gathered",
    "axioms.dynamic.asynchronous": """
        agents launch_state tensor_order pairs proxies agent_order fenced products peeks phases clusters alike_copies
        agent_accesses maps copies tensor_accesses tensors
    """,
    "axioms.dynamic.one_run": "convergence polls determinate early_accesses rows log together",
    "axioms.dynamic.lookback": "sightings lookbacks apart found_values deciding confluent",
    "axioms.dynamic.sections": """
        told updates_in_sections emulated_terms emulated carried attempts ticket_locks section_records shared_sections
        section_values section_meetings sections served led_sections
    """,
    "axioms.dynamic.tickets": """
        errand_threads branching claims ticket_accesses bags slots publications errands imagined tickets swaps swapping walks
        walking holders turns handovers handed_sums handing beginnings between_rounds round_kinds round_workers persistent
        climbing carried_rounds
    """,
    "axioms.dynamic.searches": """
        search_cells search_handed search_nodes search_moves search_handovers search_threads search_symbols search_tickets
        search_blocks searches search_ends search_claims search_appends searching
    """,
    "axioms.dynamic.several": """
        choices plan settled cycles symmetry noted excluded noting noting_agents exchangeable open_operations separate exploring
    """,
    "axioms.dynamic.wrong": "fence_orders exact overtaken replay suspected slow torn unsynchronized",
    "axioms.dynamic.ctas": "alike numbered",
    "ptxcore": """
        records clock parts places diagnostics sources fixes collection syntax values findings isa check machine advice
    """,
    "ptxcore.machine": "ir loops lower run vector explore",
    "ptxcore.values": """
        terms bits ieee packed spread elementary floats fast kept_arrays products matrix_descriptors tensor_map
        tensor_boxes tensor_cells
    """,
    "ptxcore.syntax": """
        tree lexer directives sections precedence expressions operands initialisers declarations functions
        structures spans reader printer
    """,
    "ptxcore.check": """
        mismatch symbols values context kinds rules places operands labels initialisers declarations
        functions constants calls instructions header debugging module
    """,
    "ptxcore.advice": "names graph values accesses edits waits scopes orders proxies fences barriers advising",
    "litmus.formats": """
        short source placement ctypes program declarations condition parts nvlitmus implied header gpu_ptx
        checks host dialects reader questions printer files
    """,
    "litmus.cycles": """
        places annotations foreign edges cycle copies accesses code remote synchronisation normal names
        search build generator suite strategies lists recognise
    """,
    "ptxmm": """
        available endings harmless writing diffs events undefined herd_names graphs result words addresses answers multimem
        images pipeline races judging listing litmus_check kernels tensors api kernel findings defects checker linting running
        workers alone baseline comparing report exercises topics weakened minimal repair source_fixes learning campaigns gpu web
        cli pytest_plugin
        __main__
    """,
    "ptxmm.words": """
        vectors readings checks whole unordered climbs provenance refusals threads brief claims linearisation notes why
        waits
    """,
    "ptxmm.report": """
        files text json sarif reasons junit drawings pages pictures html herd github linted comparing comparing_html
    """,
    "ptxmm.campaigns": "identity holders values database deciding report words pool run page cache",
    "ptxmm.comparing": "answers logs columns differences table finding universe shrinking reasons comparison",
    "ptxmm.gpu": """
        parameters images host refusals typed placement conditions shared_addresses contract body text writer module layout
        order simulator driver worker bound device running judging words mutants
        confidence tuning rows histograms page
    """,
    "ptxmm.web": """
        examples limits sealed workroom asked reading told deciding diagnosing completing pictured making tasks kept files
        answering server starting
    """,
}
#: The Python interface: it imports what stands above everything when somebody asks for a name, and everything asks it for its
#: version.
FACADE = "ptxmm"
#: How many rooms there may be in `axioms`, and how many pairs of them of which one imports the other.
MOST_ROOMS, MOST_PAIRS = 14, 70


def modules(folder: str) -> Iterator[tuple[str, Path]]:
    for path in sorted((ROOT / folder).rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        yield ".".join(parts[:-1] if parts[-1] == "__init__" else parts), path


@functools.cache
def imported(path: Path) -> Sequence[str]:
    """The modules that a file imports, wherever it does, also for types alone."""
    found = list[str]()
    for node in parsed.nodes(path):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            found += [f"{node.module}.{alias.name}" for alias in node.names]
    return found


def rooms(folder: str) -> Iterator[tuple[str, str, str]]:
    """Each import between two rooms of a folder: who imports, whom, and the file."""
    depth = folder.count(".") + 1 if folder else 0
    for top in [folder.split(".")[0]] if folder else ORDERS[""].split():
        for name, path in modules(folder.replace(".", "/") or top):
            parts = name.split(".")
            for other in imported(path):
                steps = other.split(".")
                if ".".join(steps[:depth]) == folder and len(parts) > depth and len(steps) > depth:
                    yield parts[depth], steps[depth], name


@pytest.mark.parametrize("folder", ORDERS, ids=lambda f: f or "packages")
def test_imports_go_down_only(folder: str) -> None:
    order = {room: place for place, room in enumerate(ORDERS[folder].split())}
    found = [(a, b, file) for a, b, file in rooms(folder) if b in order or folder]
    assert {a for a, _, _ in found} <= set(order), "a room or file that the order does not name"
    assert [f"{file} imports {b}" for a, b, file in found if order.get(b, 0) > order[a]] == []


@pytest.mark.parametrize("folder", [f for f in ORDERS if f])
def test_every_file_stands_in_the_order_of_its_folder(folder: str) -> None:
    depth = folder.count(".") + 1
    there = {parts[depth] for name, _ in modules(folder.replace(".", "/")) if len(parts := name.split(".")) > depth}
    assert there == set(ORDERS[folder].split())


@pytest.mark.parametrize("folder", [f for f in ORDERS if f])
def test_every_room_says_what_it_is_for(folder: str) -> None:
    for room in ORDERS[folder].split():
        path = ROOT / folder.replace(".", "/") / room
        file = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
        assert ast.get_docstring(parsed.tree(file)), file


def test_the_engine_has_few_rooms() -> None:
    folders = [p for p in (ROOT / "axioms").iterdir() if (p / "__init__.py").exists()]
    pairs = {(a, b) for a, b, _ in rooms("axioms") if a != b}
    assert len(folders) <= MOST_ROOMS and len(pairs) <= MOST_PAIRS


def test_no_order_names_a_room_twice() -> None:
    for order in ORDERS.values():
        assert all(a != b for a, b in pairwise(sorted(order.split())))


def files_imported(name: str, nodes: Iterable[ast.AST], files: Container[str], *, package: bool) -> Iterator[str]:
    """The files that a file imports, in functions and for types alone too, among these; of a package its `__init__`."""
    here = name.split(".") if package else name.split(".")[:-1]
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        if not isinstance(node, ast.ImportFrom):
            continue
        above = ".".join(here[: len(here) - node.level + 1]) if node.level else ""
        base = ".".join(part for part in (above, node.module) if part)
        for alias in node.names:
            yield f"{base}.{alias.name}" if f"{base}.{alias.name}" in files else base


def circles(sources: Mapping[str, tuple[Iterable[ast.AST], bool]]) -> list[list[str]]:
    """Files that import each other, of files by name: their nodes, and whether they are packages."""
    graph = networkx.DiGraph()
    for name, (nodes, package) in sources.items():
        for other in files_imported(name, nodes, sources, package=package):
            if other in sources and name != FACADE != other:
                graph.add_edge(name, other)
    tied = [sorted(found) for found in networkx.strongly_connected_components(graph) if len(found) > 1]
    return sorted(tied + [[name] for name in networkx.nodes_with_selfloops(graph)])


def test_no_file_imports_itself_by_way_of_others() -> None:
    files = [found for package in ORDERS[""].split() for found in modules(package)]
    sources = {name: (parsed.nodes(path), path.name == "__init__.py") for name, path in files}
    assert circles(sources) == []


def test_a_circle_is_noticed() -> None:
    inner = "if TYPE_CHECKING:\n    from p.c import x\ndef f():\n    from .b import x"
    texts = {"p.a": inner, "p.b": "", "p.c": "", "p.d": "from p import a"}

    def found(**more: str) -> list[list[str]]:
        every = texts | {f"p.{name}": text for name, text in more.items()}
        return circles({name: (list(ast.walk(ast.parse(text))), False) for name, text in every.items()})

    assert found() == []
    assert found(b="from p import a") == [["p.a", "p.b"]]
    assert found(c="from p import a") == [["p.a", "p.c"]]


def test_each_name_of_a_class_has_one_meaning() -> None:
    """In the product, where a class is called what it is."""
    found: dict[str, set[str]] = {}
    for package in ORDERS[""].split():
        for name, path in modules(package):
            for node in parsed.nodes(path):
                if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                    found.setdefault(node.name, set()).add(name)
    several = {name: places for name, places in found.items() if len(places) > 1}
    assert several == {}
