"""Options and flags of cat files, and models simplified by what is known of a program."""

from __future__ import annotations

import pytest

from axioms.cat.model import Facts, compile_model
from axioms.cat.specialise import specialised
from ptxcore.diagnostics import InputError


def axiom(text: str, *options: str) -> str:
    node = compile_model("m", text, options=options).axioms[0].node
    return " | ".join(a.name for a in node.args) or node.name


def test_a_branch_is_taken_by_the_options() -> None:
    text = 'let a = if "x" then rf else co\nacyclic a as one'
    assert axiom(text) == axiom("acyclic co as one")
    assert axiom(text, "x") == axiom("acyclic rf as one")


def test_branches_reach_as_far_as_they_can_and_nest() -> None:
    text = 'acyclic po | if "x" then rf else if "y" then co else fr | rmw as one'
    assert axiom(text) == axiom("acyclic po | (fr | rmw) as one")
    assert axiom(text, "y") == axiom("acyclic po | co as one")
    assert axiom(text.replace("if", "(if", 1).replace(" as", ") as"), "x") == axiom("acyclic po | rf as one")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('let a = if "x" then rf', "'if' without an 'else'"),
        ('let a = (if "x" then rf) else co', "'if' without an 'else'"),
        ("let a = rf else co", "'else' without an 'if'"),
        ("let a = if x then rf else co", "expected an option in quotes"),
        ('let a = if "x" then rf else W', "one branch is a relation, the other a set"),
    ],
)
def test_mistakes_have_their_place(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        compile_model("m", text)


def test_an_option_that_the_model_does_not_have_is_refused() -> None:
    with pytest.raises(InputError, match="no option 'y'"):
        compile_model("m", 'acyclic if "x" then rf else co as one', options=["y"])


def test_what_is_empty_takes_what_needs_it_along() -> None:
    model = compile_model("m", "acyclic po | ([MA]; mbrf; [MW]) as one\nempty (issue; po) & loc as two")
    fitted = specialised(model, Facts(frozenset({"MA", "issue"})), frozenset())
    assert [repr(a.node) for a in fitted.axioms] == ["base:po()"]


def test_a_recursion_of_which_a_part_is_empty_becomes_a_closure() -> None:
    text = "let rec along = po | over | over; po\n and over = along; [RESTRICT]; co\nacyclic along as one"
    fitted = specialised(compile_model("m", text), Facts(frozenset({"RESTRICT"})), frozenset())
    assert [repr(a.node) for a in fitted.axioms] == ["base:po()"]
    whole = specialised(compile_model("m", text), Facts(), frozenset())
    assert [a.node.op for a in whole.axioms] == ["fixpoint"]


def test_flags_are_kept_by_their_names() -> None:
    model = compile_model("m", "flag ~empty rf as seen\nflag ~empty mbrf as told\nempty co as none")
    assert [f.name for f in specialised(model, Facts(), frozenset({"seen", "told"})).flags] == ["seen", "told"]
    assert specialised(model, Facts(frozenset({"mbrf"})), frozenset({"told"})).flags == []
    assert specialised(model, Facts(), frozenset({"seen"})) is specialised(model, Facts(), frozenset({"seen"}))
