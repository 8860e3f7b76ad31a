"""Random tests that fail, in every way in which a test can: what a gate must never let through.

Each says what is wrong with it (`kinds` of findings, one of which must be reported) and how it is checked. What it is made of
(names, values, places, threads that have nothing to do with it, tests beside it that are good) is drawn.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from spoilt import SPOILT

KERNEL = """.version 9.0
.target sm_90
.address_size 64

.visible .entry k(.param .u64 a, .param .u32 b)
{
    .reg .b32 %r<3>;
    .reg .b64 %rd<3>;
    ld.param.u64 %rd1, [a];
    ld.param.u32 %r1, [b];
    st.global.u32 [%rd1], %r1;
    ret;
}
"""
Spoil = Callable[[Path], None]


@dataclass(kw_only=True)
class Failure:
    """`path` is the file that fails, `test` how reports call the test (the variant of a file). `verdicts` and `kinds` are
    those that it may have. `options` are for the command line, `timeout` and `model` for every door. `refused`: nothing is run
    at all, and standard error says this. `crashes`: its worker is killed."""

    way: str
    path: str
    test: str = ""
    texts: dict[str, str] = field(default_factory=dict)
    spoil: Spoil | None = None
    verdicts: tuple[str, ...] = ("no",)
    kinds: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    timeout: str = ""
    model: str = ""
    refused: str = ""
    crashes: bool = False

    def __post_init__(self) -> None:
        self.test = self.test or self.path

    def write(self, folder: Path) -> None:
        for name, text in self.texts.items():
            (folder / name).write_text(text, encoding="utf-8")
        if self.spoil is not None:
            self.spoil(folder / self.path)

    @property
    def arguments(self) -> list[str]:
        """The options of `ptxmm check`."""
        given = [
            *(("--timeout", self.timeout) if self.timeout else ()),
            *(("--model", self.model) if self.model else ()),
        ]
        return [*given, *self.options]


class Draw:
    """The parts of a litmus test, drawn."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.data, self.flag, self.other = random.sample(["x", "y", "z", "data", "flag", "a1", "b_2"], 3)
        self.value = random.choice([1, 2, 7, 255])
        self.scope = random.choice(["gpu", "sys"])
        self.ctas = random.sample(range(4), 3)
        self.name = random.choice(["t", "MP+weak", "SB.cta", "test-1", "a:b"])

    def test(self, threads: list[str], tail: str, *, head: str = "", same_cta: bool = False) -> str:
        """A test of these threads, and maybe of one more that does nothing of interest."""
        ctas = [self.ctas[0]] * len(threads) if same_cta else self.ctas
        blocks = [
            f"P{i}@cta {cta},gpu 0 {{ {code} }}" for i, (code, cta) in enumerate(zip(threads, ctas, strict=False))
        ]
        if self.random.random() < 0.4:
            blocks.append(f"P{len(blocks)}@cta 9,gpu 0 {{ ld.relaxed.gpu.u32 %r9, [{self.other}]; }}")
        begin = " ".join(f"{name} = 0;" for name in (self.data, self.flag, self.other))
        return "\n".join([f"PTX {self.name}", *([head] if head else []), f"{{ {begin} }}", *blocks, tail, ""])

    def passing(self, store: str, load: str) -> list[str]:
        """A message from one thread to another."""
        return [
            f"st.weak.u32 [{self.data}], {self.value}; st.{store}.{self.scope}.u32 [{self.flag}], 1;",
            f"ld.{load}.{self.scope}.u32 %r0, [{self.flag}]; ld.weak.u32 %r1, [{self.data}];",
        ]

    @property
    def missed(self) -> str:
        return "(1:r0 = 1 /\\ 1:r1 = 0)"


def _litmus(way: str, text: str, *kinds: str, verdicts: tuple[str, ...] = ("no",), **more: object) -> Failure:
    return Failure(way=way, path="bad.litmus", texts={"bad.litmus": text}, kinds=kinds, verdicts=verdicts, **more)  # type: ignore[arg-type]


def _condition(d: Draw) -> Failure:
    weak = d.random.choice([("relaxed", "acquire"), ("release", "relaxed"), ("relaxed", "relaxed")])
    tail, threads = d.random.choice(
        [
            (f"~exists {d.missed}", d.passing(*weak)),
            ("forall (1:r0 = 0 \\/ 1:r1 = " + str(d.value) + ")", d.passing(*weak)),
            (f"exists {d.missed}", d.passing("release", "acquire")),
        ]
    )
    return _litmus("condition", d.test(threads, tail), "condition")


def _expectation(d: Draw) -> Failure:
    expected = d.random.choice(["no", "undefined", "no|undefined", "hangs"])
    text = d.test(d.passing("release", "acquire"), f"~exists {d.missed}", head=f"Expect={expected}")
    return _litmus("expectation", text, "expectation", verdicts=("ok",))


def _race(d: Draw) -> Failure:
    return _litmus("race", d.test(d.passing("relaxed", "acquire"), f"exists {d.missed}\nrace_free"), "data-race")


def _race_by_option(d: Draw) -> Failure:
    option = d.random.choice([("--races",), ("--check", "race_free")])
    text = d.test(d.passing("relaxed", "acquire"), f"exists {d.missed}")
    return _litmus("race by option", text, "data-race", options=option)


_SPIN = "L: ld.relaxed.gpu.u32 %r0, [{0}]; setp.eq.u32 %p, %r0, 0; @%p bra L;"


def _hang(d: Draw) -> Failure:
    tail = d.random.choice([f"forall ({d.data} = 0)", f"~exists ({d.data} = 1)", f"exists ({d.data} = 0)"])
    return _litmus("hang", d.test([_SPIN.format(d.data), f"st.weak.u32 [{d.flag}], 1;"], tail), "condition")


def _deadlock(d: Draw) -> Failure:
    first, second = d.random.sample(range(16), 2)
    crossed = [f"bar.sync {a}; bar.sync {b};" for a, b in ((first, second), (second, first))]
    check = d.random.choice(["terminates", "no_deadlock", "terminates\nno_deadlock"])
    text = d.test(crossed, f"exists true\n{check}", same_cta=True)
    return _litmus("deadlock", text, "terminates", "no_deadlock")


def _nonterminating(d: Draw) -> Failure:
    ends = f"ld.relaxed.gpu.u32 %r5, [{d.flag}]; setp.eq.u32 %q, %r5, 1; @%q bra E; {_SPIN.format(d.data)} E: mov.u32 %r1, 0;"
    threads = [ends, f"st.relaxed.gpu.u32 [{d.flag}], 1;"]
    check = d.random.choice([("exists true\nterminates", ()), ("exists true", ("--check", "terminates"))])
    return _litmus("nonterminating", d.test(threads, check[0]), "terminates", options=check[1])


def _livelock(d: Draw) -> Failure:
    turn = "L: atom.relaxed.gpu.exch.b32 %r0, [{0}], {1}; setp.ne.u32 %p, %r0, 9; @%p bra L;"
    text = d.test([turn.format(d.data, 1), turn.format(d.data, 2)], "exists true\nterminates")
    return _litmus("livelock", text, "terminates", "condition", "undecided", verdicts=("no", "undecided"))


def _undefined(d: Draw) -> Failure:
    threads = [f"st.weak.u8 [{d.data}], {d.value};", f"ld.weak.u32 %r1, [{d.data}];"]
    tail = d.random.choice(["exists (1:r1 = 0)", f"forall (1:r1 = 0 \\/ 1:r1 = {d.value})"])
    return _litmus("undefined", d.test(threads, tail), "undefined", "mixed-size-race", verdicts=("undefined",))


def _bounded(d: Draw) -> Failure:
    loop = f"L: atom.relaxed.gpu.exch.b32 %r0, [{d.flag}], 1; ld.relaxed.gpu.u32 %r1, [{d.data}]; "
    loop += "setp.eq.u32 %p, %r1, 0; @%p bra L;"
    text = d.test([loop, f"st.relaxed.gpu.u32 [{d.data}], 1;"], f"forall ({d.data} = 1)")
    return _litmus("bounded", text, "bounded", verdicts=("bounded",))


def _cut(d: Draw) -> Failure:
    loop = f"ld.relaxed.gpu.u32 %r1, [{d.flag}]; mov.u32 %r0, 0; L: add.u32 %r0, %r0, %r1; "
    loop += f"st.relaxed.gpu.u32 [{d.data}], %r0; setp.lt.u32 %p, %r0, {d.random.randint(20, 60)}; @%p bra L;"
    option = ("--unroll", str(d.random.randint(1, 6)))
    text = d.test([loop, f"st.relaxed.gpu.u32 [{d.other}], 1;"], f"~exists ({d.data} = 99)")
    return _litmus(
        "cut", text, "undecided", "bounded", "condition", verdicts=("undecided", "bounded", "no"), options=option
    )


def _late(d: Draw) -> Failure:
    text = d.test(d.passing("release", "acquire"), f"~exists {d.missed}")
    return _litmus("late", text, "undecided", verdicts=("undecided",), timeout="1e-9")


def _syntax(d: Draw) -> Failure:
    text = d.test(d.passing("release", "acquire"), f"~exists {d.missed}")
    place = d.random.choice([m for m, c in enumerate(text) if c == ";" and "{" in text[:m]][3:])
    wrong = d.random.choice([" bogus.op %r0", " ld.weak.u32 %r0, [", " st.wek.u32 [x], 1", " @", " }", " ]"])
    return _litmus("syntax", f"{text[: place + 1]}{wrong};{text[place + 1 :]}", "error", verdicts=("error",))


def _head(d: Draw) -> Failure:
    text = d.test(d.passing("release", "acquire"), f"~exists {d.missed}")
    wrong = d.random.choice(
        [text.replace("PTX", "PTZ", 1), text.replace("~exists", "~exist"), text.replace("{ ", "{ x = ; ", 1),
         text.replace("\n", "\nExpect=perhaps\n", 1), text.partition("P0")[0], text + "race_fre\n"]
    )  # fmt: skip
    return _litmus("head", wrong, "error", verdicts=("error",))


def _spoilt(d: Draw) -> Failure:
    ending, how, make = d.random.choice(SPOILT)
    texts = {"k.ptx": KERNEL}
    return Failure(
        way=f"spoilt {ending} {how}",
        path=f"bad.{ending}",
        texts=texts,
        spoil=make,
        verdicts=("error",),
        kinds=("error",),
    )


def _model(d: Draw) -> Failure:
    text = d.test(d.passing("release", "acquire"), f"~exists {d.missed}")
    model = d.random.choice(["ptx-5.0", "nowhere.cat", "broken.cat", "k.ptx"])
    texts = {"bad.litmus": text, "broken.cat": '"m"\nacyclic po | nothing as x\n', "k.ptx": KERNEL}
    return Failure(
        way="model", path="bad.litmus", texts=texts, model=model, verdicts=("error",), kinds=("error",), refused=model
    )


def _crash(d: Draw) -> Failure:
    text = d.test(d.passing("release", "acquire"), f"~exists {d.missed}")
    return _litmus("crash", text, "error", verdicts=("error",), crashes=True)


_TOML = """ptx = "k.ptx"
entry = "k"
grid = {grid}
block = 1
params.x = {{type = "u32", elements = 2}}
params.n = {{type = "u32", value = {value}}}
"""


def _kernel(d: Draw) -> Failure:
    good = f'check.forall = "x[0] == {d.value}"\n'
    checks: dict[str, tuple[tuple[str, ...], str, tuple[str, ...]]] = {
        f'check.forall = "x[0] == {d.value + 1}"\n': (("forall",), "no", ()),
        f'check.exists = "x[0] == {d.value + 1}"\n': (("exists",), "no", ()),
        f'check.never = "x[0] == {d.value}"\n': (("never",), "no", ()),
        "check.race_free = true\n": (("data-race",), "no", ()),
        "check.race_free = false\n": (("race_free",), "no", ("one",)),
        good + f'expect = "{d.random.choice(["no", "undefined"])}"\n': (("expectation",), "ok", ()),
        good + "bouns = 4\n": (("error",), "error", ()),
        good.replace("x[0]", "y[0]"): (("error",), "error", ()),
        good + "expect = [\n": (("error",), "error", ()),
        "": (("error",), "error", ()),
    }
    check = d.random.choice(list(checks))
    kinds, verdict, more = checks[check]
    head = _TOML.format(grid=1 if more else 2, value=d.value)
    broken = verdict == "error" and check != ""
    if broken or not check or d.random.random() < 0.5:
        return Failure(
            way="kernel", path="bad.toml", texts={"bad.toml": head + check, "k.ptx": KERNEL}, verdicts=(verdict,),
            kinds=kinds,
        )  # fmt: skip
    variants = f'[[variant]]\nname = "good"\n{good}[[variant]]\nname = "bad"\n{check}'
    texts = {"bad.toml": head + variants, "k.ptx": KERNEL}
    return Failure(way="kernel", path="bad.toml", test="bad.toml:bad", texts=texts, verdicts=(verdict,), kinds=kinds)


#: Every way; `spoilt` and `kernel` are many.
WAYS: tuple[Callable[[Draw], Failure], ...] = (
    _condition, _expectation, _race, _race_by_option, _hang, _deadlock, _nonterminating, _livelock, _undefined, _bounded, _cut,
    _late, _syntax, _head, _spoilt, _model, _crash, _kernel, _spoilt, _kernel,
)  # fmt: skip


def failures(seed: int, count: int) -> list[Failure]:
    """So many tests that fail, of every way in turn."""
    return [WAYS[i % len(WAYS)](Draw(Random(f"{seed} {i}"))) for i in range(count)]


def good_test(random: Random) -> str:
    """A test that passes, to stand beside."""
    d = Draw(random)
    return d.test(d.passing("release", "acquire"), f"~exists {d.missed}")
