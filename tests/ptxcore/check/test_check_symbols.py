"""Scopes: names, parameterised names and labels, against a model that keeps every name for itself."""

from __future__ import annotations

from itertools import product

from hypothesis import given
from hypothesis import strategies as st

from ptxcore.check.module import check_text
from ptxcore.check.symbols import Scopes, Symbol
from ptxcore.diagnostics import Span

NOWHERE = Span(1, 1, 1)
STEMS = st.sampled_from(("r", "r1", "r10", "q", "r_"))
PLAIN = st.sampled_from(("r", "r0", "r1", "r10", "r11", "r105", "q", "q3", "r_2"))
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("open"), st.just(""), st.just(0)),
        st.tuples(st.just("close"), st.just(""), st.just(0)),
        st.tuples(st.just("name"), PLAIN, st.just(0)),
        st.tuples(st.just("family"), STEMS, st.integers(0, 12)),
    ),
    max_size=12,
)
ASKED = ("r", "r0", "r1", "r2", "r10", "r11", "r100", "r101", "r105", "q", "q3", "r_2", "x", "")


@given(STEPS)
def test_names_are_found_as_if_each_were_declared_alone(steps: list[tuple[str, str, int]]) -> None:
    scopes = Scopes()
    model: list[dict[str, set[int]]] = [{}]
    for at, (step, name, count) in enumerate(steps):
        symbol = Symbol("register", at, NOWHERE)
        if step == "open":
            scopes.open()
            model.append({})
        elif step == "close":
            if len(model) > 1:
                scopes.close()
                model.pop()
        elif step == "name":
            scopes.declare(name, symbol)
            model[-1].setdefault(name, set()).add(at)
        else:
            scopes.declare(name, symbol, count)
            for i, zeros in product(range(count), ("", "0", "00")):  # ptxas takes r01 for r1
                model[-1].setdefault(f"{name}{zeros}{i}", set()).add(at)
        for asked in ASKED:
            meant = next((scope[asked] for scope in reversed(model) if asked in scope), None)
            found = scopes.find(asked)
            assert (found is None) == (meant is None)
            # Where one scope declares a name more than once, which has been reported, any of them will do.
            assert found is None or meant is None or found.kind in meant
            here = scopes.find_here(asked)
            assert (here is not None) == (asked in model[-1])


@given(STEPS)
def test_clashes_with_parameterised_names_are_noticed(steps: list[tuple[str, str, int]]) -> None:
    scopes = Scopes()
    names: set[str] = set()
    stems: set[str] = set()
    for step, name, count in steps:
        symbol = Symbol("register", "u32", NOWHERE)
        if step == "name":
            scopes.declare(name, symbol)
            names.add(name)
        elif step == "family":
            taken = name in stems or any(f"{name}{i}" in names for i in range(count))
            assert scopes.overlaps(name, count) == taken
            scopes.declare(name, symbol, count)
            stems.add(name)


BLOCKS = st.recursive(
    st.sampled_from(("bra A;", "bra B;", "A:", "B:")).map(lambda s: [s]),
    lambda inner: st.lists(inner, max_size=4).map(lambda parts: ["{", *(s for p in parts for s in p), "}"]),
    max_leaves=10,
)


@given(st.lists(BLOCKS, max_size=5))
def test_branches_reach_the_labels_of_their_own_and_outer_blocks(blocks: list[list[str]]) -> None:
    lines = [s for block in blocks for s in block]
    # The model: blocks by number, each with its parent and its labels.
    parents, labels, branches = {0: -1}, {0: set[str]()}, []
    inside, twice = [0], False
    for number, line in enumerate(lines, 5):
        if line == "{":
            fresh = len(parents)
            parents[fresh], labels[fresh] = inside[-1], set()
            inside.append(fresh)
        elif line == "}":
            inside.pop()
        elif line.startswith("bra"):
            branches.append((number, inside[-1], line[4]))
        else:
            twice = twice or line[0] in labels[inside[-1]]
            labels[inside[-1]].add(line[0])
    missing = []
    for number, block, label in branches:
        while block >= 0 and label not in labels[block]:
            block = parents[block]
        if block < 0:
            missing.append(number)
    text = "\n".join((".version 9.0", ".target sm_90", ".address_size 64", ".entry k() {", *lines, "}", ""))
    found = check_text(text)
    assert [d.span.line for d in found if "no label" in d.message] == missing
    assert twice == any("twice" in d.message for d in found)
