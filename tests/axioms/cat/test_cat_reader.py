"""The cat language: what texts mean, and what is said about those that mean nothing."""

from __future__ import annotations

import random

import pytest

from axioms.cat import reader
from axioms.cat.model import compile_model
from axioms.cat.reader import Expression
from ptxcore.diagnostics import InputError


def shown(e: Expression) -> str:
    """An expression with every grouping visible."""
    if e.op == "name":
        return e.name
    inside = " ".join(shown(o) for o in e.operands)
    return f"({e.op}{':' + e.name if e.name else ''} {inside})".replace(" )", ")")


def expression(text: str) -> str:
    _, (item,) = reader.read(f"empty {text}")
    assert isinstance(item, reader.Stated)
    return shown(item.body)


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("a | b ; c", "(union a (sequence b c))"),
        ("a ; b | c", "(union (sequence a b) c)"),
        ("a ; b \\ c", "(sequence a (difference b c))"),
        ("a \\ b & c", "(difference a (intersection b c))"),
        ("a & b * c", "(intersection a (product b c))"),
        ("a \\ b \\ c", "(difference (difference a b) c)"),
        ("~a | b", "(union (complement a) b)"),
        ("~a+", "(complement (plus a))"),
        ("~a * b", "(product (complement a) b)"),
        ("a+?^-1", "(inverse (opt (plus a)))"),
        ("a^+ | a^*", "(union (plus a) (star a))"),
        ("a*", "(star a)"),
        ("a* ; b", "(sequence (star a) b)"),
        ("a* | b*", "(union (star a) (star b))"),
        ("a * b", "(product a b)"),
        ("a*b", "(product a b)"),
        ("(a | b) ; c", "(sequence (union a b) c)"),
        ("[a] ; b", "(sequence (identity a) b)"),
        ("[a & b]", "(identity (intersection a b))"),
        ("f(a)", "(call:f a)"),
        ("f(a | b, c)", "(call:f (union a b) c)"),
        ("f()", "(call:f)"),
        ("f(a) ; g(b)+", "(sequence (call:f a) (plus (call:g b)))"),
        ("po-loc ; a-b.c'", "(sequence po-loc a-b.c')"),
        ("{}", "{}"),
        ("_ * 0", "(product _ 0)"),
        ('a * if "x" then b else c | d', "(product a (if:x b (union c d)))"),
        ("~~a", "(complement (complement a))"),
        ("[~a | b]", "(identity (union (complement a) b))"),
    ],
)
def test_precedence(text: str, tree: str) -> None:
    assert expression(text) == tree


@pytest.mark.parametrize(
    "text", ["a (* b (* c *) d *) | b", "a // | c\n | b", "a (* \n *) | (* *) b", "\r\n a\r\n | b // x"]
)
def test_comments_and_line_ends_mean_nothing(text: str) -> None:
    assert expression(text) == "(union a b)"


def test_items() -> None:
    title, items = reader.read(
        '"A title"\ninclude "other.cat"\nlet a = po and f(x, y) = x ; y\nlet g x = x+\nlet rec r = a | r ; r\n'
        "acyclic a as one\nirreflexive a\n~empty a as two\nflag ~empty a as three\nshow a, a as b\nunshow a\n"
    )
    assert title == "A title"
    kinds = [
        "Include",
        "Let",
        "Let",
        "Let",
        "Stated",
        "Stated",
        "Stated",
        "Stated",
        "Show",
        "Show",
    ]
    assert [type(i).__name__ for i in items] == kinds
    _, lets, curried, recursive, *axioms = items
    assert isinstance(lets, reader.Let) and [(b.name, b.parameters) for b in lets.bindings] == [
        ("a", None),
        ("f", ("x", "y")),
    ]
    assert isinstance(curried, reader.Let) and curried.bindings[0].parameters == ("x",)
    assert isinstance(recursive, reader.Let) and recursive.recursive and not lets.recursive
    said = [(a.kind, a.negated, a.flag, a.name) for a in axioms if isinstance(a, reader.Stated)]
    assert said == [
        ("acyclic", False, False, "one"),
        ("irreflexive", False, False, ""),
        ("empty", True, False, "two"),
        ("empty", True, True, "three"),
    ]


@pytest.mark.parametrize("title", ["PTX v9", '"PTX v9"', 'PTX "v9"', "(* C *) PTX v9 // too", '// C\n\n"PTX v9"'])
def test_a_title_may_stand_first(title: str) -> None:
    assert reader.read(f"{title}\nempty 0")[0] == "PTX v9"


@pytest.mark.parametrize("end", [" acyclic po as sc", "\nacyclic po as sc", " empty 0", ""])
def test_what_is_no_title_is_never_taken_for_one(end: str) -> None:
    for words in NO_TITLES:
        with pytest.raises(InputError) as caught:
            compile_model("m.cat", f"// a model\n{words}{end}\nempty 0\n")
        (found,) = caught.value.diagnostics
        assert found.span.line >= 2 and found.span.column >= 1, words


@pytest.mark.parametrize("text", ['"one" "two"', '"t"\nsc', "t\nsc", "sc acyclic po", '"t" sc', "let x = po sc"])
def test_a_title_is_one_and_stands_alone(text: str) -> None:
    with pytest.raises(InputError) as caught:
        compile_model("m.cat", f"{text}\nacyclic po as sc")
    assert caught.value.diagnostics[0].span.line


@pytest.mark.parametrize("text", ["", "// nothing", '"t"', "let a = po", "show po", 'include "stdlib.cat"'])
def test_a_model_without_an_axiom_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="the model has no axiom and no flag, so it would allow every outcome"):
        compile_model("m.cat", text)
    compile_model("m.cat", f"{text}\nempty 0")


def test_functions_keep_the_names_that_they_were_defined_with() -> None:
    model = compile_model("m.cat", "let a = rf\nlet f(x) = x; a\nlet a = co\nempty f(po) as one\nempty po; rf as two")
    one, two = model.axioms
    assert one.node is two.node
    again = "let f(x) = x; rf\nlet g(x) = f(x); co\nlet f(x) = f(f(x))\n"
    again += "empty g(po)\nempty po; rf; co\nempty f(po)\nempty po; rf; rf"
    first, second, third, fourth = (a.node for a in compile_model("m.cat", again).axioms)
    assert first is second and third is fourth


def test_two_functions_of_one_let_are_two() -> None:
    model = compile_model(
        "m.cat", "let f(x) = x; rf and g(x) = x; co\nempty f(po)\nempty g(po)\nempty po; rf\nempty po; co"
    )
    f, g, of_f, of_g = (a.node for a in model.axioms)
    assert f is of_f and g is of_g and f is not g


def _doubling(depth: int) -> str:
    lines = ["let f0(x) = x; x", *[f"let f{i}(x) = f{i - 1}(f{i - 1}(x))" for i in range(1, depth)]]
    return "\n".join([*lines, f"acyclic f{depth - 1}(po) as x"])


GROWING = {
    "functions": _doubling(40),
    "definitions": "let a = po; rf\n" + "let a = a; a\n" * 60 + "acyclic a",
    "unions": "let a = po; rf\n"
    + "".join(f"let b{i} = a; co; a\nlet a = a | b{i}; a\n" for i in range(4000))
    + "acyclic a",
    "chains": "let a = po\n" + "let a = a; rf\n" * 3_000 + "acyclic a",
    "recursions": "let a = po\n" + "let rec b = a; rf; a | b; co; b | b; b\nlet a = b\n" * 2_000 + "acyclic a",
}


@pytest.mark.part(4)
@pytest.mark.parametrize("name", GROWING)
def test_what_definitions_cost_is_bounded(name: str) -> None:
    """No text of a few lines keeps the reader busy: it is compiled, or refused with the place up to which it expands."""
    with pytest.raises(InputError, match="the definitions expand to more than"):
        compile_model("m.cat", GROWING[name])


def test_calls_with_the_same_arguments_are_expanded_once() -> None:
    wide = ["let f0(x) = x; rf", *[f"let f{i}(x) = f{i - 1}(x) | f{i - 1}(x)" for i in range(1, 200)]]
    model = compile_model("m.cat", "\n".join([*wide, "acyclic f199(po)", "acyclic po; rf"]))
    assert model.axioms[0].node is model.axioms[1].node


#: A text, where its mistake stands, what is said, and perhaps what is advised.
MISTAKES = [
    ("empty por", "1:7", "unknown set or relation 'por'", "did you mean 'po'?"),
    ("let hb = po\nacyclic bh | hbb", "2:9", "unknown set or relation 'bh'", None),
    ("let hbx = po\nacyclic rf | hbz", "2:14", "unknown set or relation 'hbz'", "did you mean 'hbx'?"),
    ("empty domian(po)", "1:7", "unknown function 'domian'", "did you mean 'domain'?"),
    ("let f(a, b) = a | b\nempty f(po)", "2:7", "'f' takes 2 argument(s), 1 given", None),
    ("empty [domain(po, rf)]", "1:8", "'domain' takes 1 argument, 2 given", None),
    ("let f(a) = a\nempty f", "2:7", "'f' is a function; write f(a)", None),
    ("let a = po\nempty a(po)", "2:7", "'a' is not a function", None),
    ("empty W ; po", "1:7", "';' takes a relation, this is a set", "[S] makes a relation of a set S"),
    ("empty po | W", "1:10", "'|' between a relation and a set", "[S] makes a relation of a set S"),
    ("empty [po]", "1:8", "'[ ]' takes a set, this is a relation", None),
    ("empty W+", "1:7", "'+' takes a relation, this is a set", "[S] makes a relation of a set S"),
    ("empty po * rf", "1:7", "'*' takes a set, this is a relation", None),
    ("acyclic W", "1:9", "'acyclic' takes a relation, this is a set", None),
    ("empty [range(W)]", "1:14", "'range' takes a relation, this is a set", "[S] makes a relation of a set S"),
    ("empty (po | (rf)", "1:7", "'(' is never closed", None),
    ("empty [W", "1:7", "'[' is never closed", None),
    ("empty domain(po", "1:7", "'(' is never closed", None),
    ("empty (po]", "1:10", "expected ')', found ']'", None),
    ("empty [W)", "1:9", "expected ']', found ')'", None),
    ("empty po)", "1:9", "expected a definition or an axiom, found ')'", None),
    ("empty po |", "1:11", "expected a relation or a set, found 'end of file'", None),
    ("empty po rf", "1:7", "'po' is not a function", "an operator may be missing between the two"),
    ("empty\n  | po", "2:3", "expected a relation or a set, found '|'", None),
    ("empty po (* (* *)", "1:10", "comment without an end, '*)' is missing", None),
    ('"title\nempty po', "1:1", "text without an end, '\"' is missing", None),
    ("let a po", "1:9", "expected '=', found 'end of file'", None),
    ("let = po", "1:5", "expected a name to define, found '='", None),
    ("let empty = po", "1:5", "expected a name to define, found 'empty'", None),
    ("flag po", "1:6", "expected 'acyclic', 'irreflexive' or 'empty', found 'po'", None),
    ("empty po as", "1:12", "expected the axiom's name, found 'end of file'", None),
    ("include po", "1:9", "expected a file name in quotes, found 'po'", None),
    (
        'include "none.cat"',
        "1:9",
        "cannot include 'none.cat': there is no such file",
        "it may lie beside the model, or in a folder that -I names",
    ),
    ("empty 0 acylic po", "1:9", "expected an operator, found 'acylic'", "did you mean 'acyclic'?"),
    ("empty po\nprocedure p", "2:12", "expected a parameter, found 'end of file'", None),
    ("empty po\nassert po", "2:1", "'assert' is not supported in cat files here", None),
    ("empty po ++ rf", "1:10", "'++' of a relation and a relation; use '|' between sets", None),
    ("empty po $ rf", "1:10", "unexpected character '$'", None),
    ('empty "po', "1:7", "text without an end, '\"' is missing", None),
    ("let rec a = rf \\ a\nempty a", "1:9", "'a' depends on what it does not contain", None),
    ("let rec a = rf | ~b and b = a\nempty a", "1:9", "'a' depends on what it does not contain", None),
    ("let f(x) = f(x)\nempty f(po)", "1:12", "function 'f' calls itself", None),
    ("let f(x) = x; rff\nempty po", "1:15", "unknown set or relation 'rff'", "did you mean 'rf'?"),
    ("let f(x) = g(x)\nlet g(x) = x\nempty f(po)", "1:12", "unknown function 'g'", None),
    ("let f(x, y) = x\nlet h(y) = f(y, y, y)\nempty h(po)", "2:12", "'f' takes 2 argument(s), 3 given", None),
    ("let f(x, x) = x\nempty f(po, rf)", "1:10", "'x' is a parameter twice", None),
    ("let a = po and a = rf\nempty a", "1:16", "'a' is defined twice", None),
    ("let rec a = po | a; a and a = rf\nempty a", "1:27", "'a' is defined twice", None),
    ("let 0 = rf\nempty 0", "1:5", "expected a name to define, found '0'", "a name begins with a letter"),
    ("let when = rf\nempty when", "1:5", "expected a name to define, found 'when'", None),
    ("let assume = rf\nempty assume", "1:5", "'assume' is a word of the language, no name", None),
]

#: Before an axiom, and alone: none of these may become a title, so that the axiom forbids what it did not say or nothing.
NO_TITLES = [
    *["assert", "assume", "debug", "when", "enum", "default", "instructions", "call", "with"],
    *["asert", "acylic", "irreflexiv", "emtpy", "flg", "incldue", "lett", "0", "_", "x y z", "my model is", "SC 'x'"],
]  # fmt: skip  # fmt: skip


@pytest.mark.parametrize(("text", "place", "message", "hint"), MISTAKES, ids=[m[0] for m in MISTAKES])
def test_mistakes_are_told_where_they_stand(text: str, place: str, message: str, hint: str | None) -> None:
    with pytest.raises(InputError) as caught:
        compile_model("m.cat", text)
    (found,) = caught.value.diagnostics
    assert caught.value.render().startswith(f"m.cat:{place}: error: {message}")
    if hint is not None:
        assert found.hint == hint


#: Texts of any size: they must be read, or refused, without recursion and in time that grows with their length.
DEEP = {
    "parentheses": "empty " + "(" * 20_000 + "rf" + ")" * 20_000,
    "unclosed parentheses": "empty " + "(" * 20_000 + "rf",
    "brackets": "empty " + "[" * 20_000 + "W",
    "complements": "empty " + "~" * 20_000 + "rf",
    "closures": "empty rf" + "+" * 20_000,
    "calls": "let f(x) = x\nempty " + "f(" * 10_000 + "rf" + ")" * 10_000,
    "comments": "(*" * 20_000 + "*)" * 20_000 + "empty rf",
    "unclosed comments": "(*" * 20_000,
    "unions": "empty rf" + "|co" * 20_000,
    "sequences": "empty rf" + ";rf" * 4_000,
    "turns": "empty " + "(" * 10_000 + "rf" + ";co|po)" * 10_000,
    "differences": "empty rf" + "\\co" * 10_000,
    "definitions": "let a = rf\n" + "let a = a;co|po\n" * 4_000 + "empty a",
    "names": "let a = " + "x" * 100_000,
}


@pytest.mark.part(4)
@pytest.mark.parametrize("name", DEEP)
def test_size_is_no_obstacle(name: str) -> None:
    try:
        compile_model("deep.cat", DEEP[name])
    except InputError as error:
        assert error.diagnostics[0].span.line >= 1


def test_random_texts_are_read_or_refused() -> None:
    chance = random.Random(5)
    words = [
        *'()[]|&;*+?~,=_0"\n\0é\\',
        "let",
        "rec",
        "and",
        "as",
        "acyclic",
        "empty",
        "flag",
        "include",
        "^-1",
        "(*",
        "*)",
    ]
    words += ["//", "po", "rf", "W", "f", "{}"]
    for _ in range(3000):
        text = " ".join(chance.choice(words) for _ in range(chance.randrange(1, 20))) + "\nempty 0"
        try:
            compile_model("random.cat", text)
        except InputError as error:
            if "no axiom" in str(error):
                continue
            lines = text.split("\n")
            for line, column, end in (d.span for d in error.diagnostics):
                assert 1 <= line <= len(lines) and 1 <= column <= len(lines[line - 1]) + 1 and end > column
