"""Where models look for what they include."""

from __future__ import annotations

from pathlib import Path

import pytest

from axioms.models import load, names
from axioms.models.naming import including, named
from ptxcore.diagnostics import InputError


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for folder in ("own", "one", "two words"):
        (tmp_path / folder).mkdir()
    return tmp_path


def axioms(name: str) -> list[str]:
    return [axiom.name for axiom in load(name).axioms]


def test_the_folder_of_the_model_comes_first_and_then_those_that_are_named_in_their_order(here: Path) -> None:
    (here / "own/m.cat").write_text('include "part.cat"\nacyclic po as last')
    for at, folder in enumerate(("two words", "one", "own")):
        (here / folder / "part.cat").write_text(f"acyclic rf as part{at}")
        told = including("own/m.cat", ("one", "two words") if at > 0 else ("two words",))
        assert axioms(told) == [f"part{at}", "last"]
    assert axioms("own/m.cat") == ["part2", "last"]


def test_a_name_says_where_a_model_includes_from() -> None:
    told = named("my.cat/-sc --dep data -I herd/libdir -I other one")
    assert told.folders == ("herd/libdir", "other one")
    assert (told.base, told.without, told.options) == ("my.cat", ("sc",), frozenset({"dep=data"}))
    assert named(str(told)) == told
    assert including("ptx-9.0 --dep data", ("x",)) == "ptx-9.0 --dep data"
    assert including("a.cat/-sc", ("x", "y")) == "a.cat/-sc -I x -I y"


def test_models_that_ship_are_included_by_their_names(here: Path) -> None:
    for name in names():
        (here / "m.cat").write_text(f'include "{name}.cat"\nacyclic po | rf as more')
        assert axioms("m.cat") == [*axioms(name), "more"]
        assert load("m.cat").names.keys() >= load(name).names.keys()
        assert load("m.cat").options == load(name).options
    (here / "m.cat").write_text('include "ptx-9.0.cat"')
    nodes, read = len(load("ptx-9.0").nodes), len(load("ptx-9.0", ["dep=data"]).nodes)
    assert len(load("m.cat").nodes) == nodes and len(load("m.cat --dep data").nodes) == read != nodes
    assert axioms("m.cat/-atomicity") == axioms("ptx-9.0/-atomicity")
    (here / "ptx-9.0.cat").write_text("acyclic po as mine")
    assert axioms("m.cat") == ["mine"]


def test_files_of_herd_need_not_be_there_and_count_where_they_are(here: Path) -> None:
    (here / "m.cat").write_text('include "cos.cat"\nacyclic po | rf | fr | co as sc')
    assert "sc" in axioms("m.cat")
    (here / "one/cos.cat").write_text("irreflexive co as theirs")
    assert axioms("m.cat -I one") == ["theirs", "sc"]


@pytest.mark.parametrize("comment", ["# x\n", "(* a (* b *) # *)", "// acyclic\n"])
def test_comments_are_those_of_herd_and_ours(here: Path, comment: str) -> None:
    (here / "m.cat").write_text(f"{comment}acyclic {comment} po {comment} as {comment} sc {comment}\n{comment}")
    assert axioms("m.cat") == ["sc"]


@pytest.mark.parametrize(
    ("text", "name", "told"),
    [
        ('include "nix.cat"', "m.cat", "m.cat:1:9: error: cannot include 'nix.cat': there is no such file"),
        ('include "../m.cat"', "own/n.cat -I one", "it does not lie in the model's folder, nor below a folder that -I names"),
        ('include "/etc/passwd"', "m.cat", "-I DIR says where else to look"),
        ('\n include "m.cat"', "m.cat", "it is included by itself"),
        ("empty 0", "m.cat -I nix", "-I nix: there is no such folder"),
        ('include "part.cat"\nacyclic x', "m.cat -I one", "part.cat:2:9: error: unknown set or relation 'rff'"),
        ("acyclic iico_data", "m.cat", "m.cat:1:9: error: 'iico_data' means nothing for PTX: there are no events of registers"),
        ("let f = [MFENCE]\nacyclic f", "m.cat", "it is a fence of another instruction set"),
    ],
)  # fmt: skip
def test_what_cannot_be_included_is_told_with_its_place(here: Path, text: str, name: str, told: str) -> None:
    (here / named(name).base).write_text(text)
    (here / "one/part.cat").write_text("(* what is wrong counts where it is needed *)\nlet x = rff")
    with pytest.raises(InputError) as caught:
        load(name)
    message = caught.value.render()
    assert told in message
    assert "^" in message or "such folder" in message


def test_a_model_is_looked_for_where_it_includes_from(here: Path) -> None:
    """As herd7's -model is: what lies there by its name comes first, then the folders in their order."""
    (here / "one/only.cat").write_text('include "beside.cat"\nacyclic po as first')
    (here / "one/beside.cat").write_text("let a = po")
    assert [axiom.name for axiom in load("only.cat -I own -I one").axioms] == ["first"]
    (here / "own/only.cat").write_text("acyclic po as second")
    assert [axiom.name for axiom in load("only.cat -I own -I one").axioms] == ["second"]
    (here / "only.cat").write_text("acyclic po as third")
    assert [axiom.name for axiom in load("only.cat -I own -I one").axioms] == ["third"]
    (here / "only.cat").unlink()
    with pytest.raises(InputError, match="cannot read the model"):
        load("only.cat")
    with pytest.raises(InputError, match="cannot read the model"):
        load("nix.cat -I one")
