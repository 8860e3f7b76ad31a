"""The kernel that a litmus test becomes: run on our own machine, it shows nothing that the model forbids."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from random import Random

import ptxas
import pytest
from agreement import compared, pass_over
from campaigns import LONG, some
from harnessed import LIBRARY, ROOT, generated, loaded, made, named, nothing_forbidden, shown
from sc_within import SC

import ptxmm
from ptxcore.diagnostics import InputError
from ptxmm.gpu import layout
from ptxmm.gpu.contract import GpuModule
from ptxmm.gpu.judging import judge
from ptxmm.gpu.layout import GpuLaunch, planned
from ptxmm.gpu.module import checked, module
from ptxmm.gpu.parameters import SIMULATED, BadParameter, Parameters, read
from ptxmm.gpu.running import Until, addresses_of, observe
from ptxmm.gpu.simulator import Simulator

TARGETS = ("sm_75", "sm_80", "sm_90", "sm_100a", "sm_120")


# What is shown is allowed.


@pytest.mark.compares(0.7)
@pytest.mark.parametrize("paths", some(24, [LIBRARY[i::24] for i in range(24)]), ids=lambda ps: f"{ps[0].stem}, ...")
def test_nothing_forbidden_is_shown_by_the_library(paths: list[Path]) -> None:
    for path in paths:
        of = made(loaded(path))
        if of is None:
            pass_over("cannot be placed")
            continue
        seen = compared(shown(of, 2))
        nothing_forbidden(of, seen)
        assert seen.not_started == 0


def test_no_test_of_the_library_is_refused_but_for_what_a_launch_does_not_have() -> None:
    reasons = set()
    for path in LIBRARY[::4]:
        test = loaded(path)
        try:
            module(test)
        except InputError as error:
            reasons |= {(path.stem, d.message) for d in error.diagnostics}
    known = "|".join(CLASSES)
    assert {why for _, why in reasons if not re.search(known, why)} == set()
    assert len({name for name, _ in reasons}) < len(LIBRARY[::4]) // 20


#: By words of the reasons, in the order in which a test counts, how the documentation calls them.
CLASSES = {"have no address": "a location that is accessed by its address and through a surface"}


@LONG
def test_the_documentation_counts_the_tests_that_are_refused() -> None:
    counts = dict.fromkeys(CLASSES.values(), 0)
    for path in LIBRARY:
        try:
            module(loaded(path))
        except InputError as error:
            said = " ".join(d.message for d in error.diagnostics)
            counts[next(name for words, name in CLASSES.items() if words in said)] += 1
    page = (ROOT / "docs" / "gpu.md").read_text()
    for name, count in counts.items():
        assert f"\n| {count} | {name}" in page, (name, count)


@pytest.mark.compares(0.9)
@pytest.mark.parametrize("part", some(80, range(80)))
def test_nothing_forbidden_is_shown_by_generated_tests(part: int) -> None:
    for test in generated(part, 80):
        of = made(test)
        if of is None:
            pass_over("cannot be placed")
            continue
        nothing_forbidden(of, compared(shown(of, 1)))


#: Tests of loads, stores, atomics, fences and barriers, whose threads stand in every relation to each other.
INTERLEAVED = (
    "SB", "MP", "LB", "S", "R+fence.sc.gpu-weak-y", "2+2W+fence.sc.gpu", "IRIW+fence.sc.gpu", "WRC+rlx.cta+rel+acq-other-cta",
    "ISA2+cta+cluster", "CoRR", "MP+rel.cta+acq.cta-same-cta",
    "MP+shared+rel.cta+acq.cta", "MP+rel.cluster+acq.cluster-same-cluster", "MP+rel+atom.cta+acq", "Atomicity+add+add",
    "Dekker-trylock+fence.sc.gpu", "SB+fence.sc.cluster-same-cluster",
)  # fmt: skip


@pytest.mark.parametrize("name", some(6, INTERLEAVED))
def test_every_interleaving_is_shown(name: str, tmp_path: Path) -> None:
    path = tmp_path / "sc.cat"
    path.write_text(SC)
    found = [p for p in LIBRARY if p.stem == name]
    if not found:
        pytest.fail(f"the library has no {name}")
    of = made(loaded(found[0]))
    assert of is not None
    wanted = {tuple(state.values()) for state in ptxmm.check(of.test, str(path), witnesses=False).states}
    assert len(wanted) > 1
    seen, _, _ = observe(of, Simulator(of), SIMULATED, Until(120, enough=lambda s: wanted <= set(s.states)))
    assert set(seen.states) == wanted


@pytest.mark.parametrize("seed", some(3, range(6)))
def test_no_parameter_changes_what_a_test_is(seed: int) -> None:
    random = Random(seed)
    for name in ("MP+shared+rel.cta+acq.cta", "IRIW+fence.sc.gpu", "st.async+object", "lock+cas.cta-other-cta"):
        of = made(named(name))
        assert of is not None
        drawn = replace(SIMULATED, instances=24).drawn(random)
        small = replace(
            drawn, jitter=min(drawn.jitter, 8), stress_turns=4, stress_ctas=min(drawn.stress_ctas, 2), pre_stress=2
        )
        nothing_forbidden(of, shown(of, 1, small, seed))


# The module.


#: Modules of one part of so many of the library, and of generated tests: what they are, in short.
MADE = """import sys, hashlib
sys.path[:0] = sys.argv[1:3]
from harnessed import LIBRARY, generated, loaded, made
part, parts = map(int, sys.argv[3:])
for test in [*map(loaded, LIBRARY[part::parts]), *generated(part, 2 * parts)]:
    of = made(test)
    print(test.name, of and hashlib.sha256(of.text.encode()).hexdigest())
"""


@pytest.mark.parametrize("part", some(32, range(32)))
def test_modules_are_equal_in_bytes_whoever_makes_them(part: int) -> None:
    """By two processes, in which sets have other orders."""
    folders = [str(Path(__file__).parent), str(ROOT / "tests" / "support")]
    command = [sys.executable, "-c", MADE, *folders, str(part), "32"]
    first, second = (
        subprocess.run(
            command,
            env={**os.environ, "PYTHONHASHSEED": seed},
            cwd=ROOT,
            check=True,
            capture_output=True,
            text=True,
        ).stdout.splitlines()
        for seed in ("1", "2")
    )
    assert first == second
    assert len([line for line in first if not line.endswith("None")]) > 0.9 * len(first) > 20


@pytest.mark.skipif(ptxas.executable() is None, reason=f"no ptxas {ptxas.RELEASE} here")
@pytest.mark.compares(0.2)
@pytest.mark.parametrize("part", some(80, range(80)))
def test_ptxas_accepts_the_modules(part: int, tmp_path: Path) -> None:
    for path in LIBRARY[part::80]:
        test = loaded(path)
        for name in TARGETS:
            of = made(test, name)
            if of is None:
                pass_over("not of this target")
                continue
            assert ptxas_says(compared(of), tmp_path) == ""


def ptxas_says(of: GpuModule, folder: Path) -> str:
    (folder / "test.ptx").write_text(of.text)
    command = [ptxas.executable(), f"-arch={ptxas.architecture(of.target)}", "-o", os.devnull, str(folder / "test.ptx")]
    ran = subprocess.run(command, capture_output=True, text=True)  # type: ignore[arg-type]
    return "" if ran.returncode == 0 else ran.stdout + ran.stderr


def test_what_a_target_does_not_have_is_told_at_the_line_of_the_test() -> None:
    for name, target, said in (
        ("st.async+object", "sm_75", "clusters need sm_90, not sm_75"),
        ("cp.async+group", "sm_75", "sm_80"),
        ("MP", "sm_1", "no target"),
        ("MP", "sm_61", "needs sm_70"),
    ):
        test = named(name)
        with pytest.raises(InputError) as error:
            checked(module(test, target))
        (found, *_) = error.value.diagnostics
        assert said in f"{found.message} {found.hint}" and found.span.line > 2
        assert test.text.split("\n")[found.span.line - 1].strip() in str(error.value)


REFUSED = {
    "array": (
        "{ x = 0; s @ surface aliases x; }",
        "ld.weak.u32 %r0, [x] ;\n sust.b.1d.b32.trap [s, {0}], 1",
        "surfaces of CUDA arrays only, which have no address",
        5,
    ),
    "constant-proxy": ("{ x = 0; c @ constant aliases x; }", "ld.weak.u32 %r0, [c]", "constant proxy", 4),
    "handle": ("{ x = 0; t @ texture aliases x; }", "ld.weak.u32 %r0, [t]", "of which 'ld' has no use", 4),
    "moved-handle": ("{ x = 0; t @ texture aliases x; }", "mov.u64 %rd0, t", "of which 'mov' has no use", 4),
    "texels": (
        "{ x = 0; t @ texture aliases x; }",
        "tex.1d.v4.f32.s32 {%f0, _, _, _}, [t, {0}]",
        "of which 'tex' makes no .f32",
        4,
    ),
    "coordinates": (
        "{ x = 0; t @ texture aliases x; }",
        "tex.1d.v4.u32.f32 {%r0, _, _, _}, [t, {0f00000000}]",
        "whole coordinates alone",
        4,
    ),
    "wide-texel": ("{ .b128 x; s @ surface aliases x; }", "sust.b.1d.b32.trap [s, {0}], 1", "128 bits", 2),
    "alias": (
        "{ .shared .u32 x; y @ generic aliases x; }",
        "ld.weak.u32 %r0, [y]",
        "another address of shared memory",
        2,
    ),
    "constant": ("{ .const .u32 x = 1; }", "ld.const.u32 %r0, [x]", "in .const", 2),
    "trap": ("{ x = 0; }", "@p trap ;\n mov.u32 %r0, 1", "ends the whole launch", 4),
    "narrow": ("{ x = 0; }", "mov.u32 %r0, x", "has 32 bits, and an address", 4),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_placed_is_told_with_the_reason(name: str) -> None:
    init, instruction, said, line = REFUSED[name]
    test = ptxmm.parse(f"PTX {name}\n{init.replace('}', '0:p = 1; }')}\n P0@cta 0 ;\n {instruction} ;\nexists true\n")
    with pytest.raises(InputError) as error:
        module(test)
    assert any(said in d.message and d.span.line == line for d in error.value.diagnostics), str(error.value)


@pytest.mark.parametrize(
    ("kernels", "place", "said"),
    [
        ("kernel k = [P0];", "cta 1,gpu 0", "P1 is in no kernel"),
        ("kernel k = [P0]; kernel l = [P1];", "cta 0,gpu 0", "which is in another kernel"),
        ("kernel k = [P0]; kernel l = [P1];", "cta 1,gpu 1", "in streams of one"),
    ],
)
def test_threads_that_no_launch_has_are_told(kernels: str, place: str, said: str) -> None:
    accesses = "st.weak.u32 [x], 1 | st.weak.u32 [x], 2"
    text = f"PTX t\n{{ x = 0; {kernels} }}\n P0@cta 0,gpu 0 | P1@{place} ;\n {accesses} ;\nexists true\n"
    with pytest.raises(InputError) as error:
        module(ptxmm.parse(text))
    assert said in error.value.diagnostics[0].message


@pytest.mark.parametrize(
    ("init", "code", "said"),
    [
        ("", "st.release.sys.u32 [x], 1", "Python has no atomic ones"),
        ("", "atom.relaxed.sys.add.u32 %r0, [x], 1", "has no 'atom'"),
        ("", "@%p1 st.weak.u32 [x], 1", "it has no guards"),
        ("", "L: st.weak.u32 [x], 1", "it has no labels"),
        ("", "launch k; launch k", "launched once more"),
        ("", "launch l; launch k", "'k' is launched behind 'l'"),
        ("1:rd1 = x;", "st.weak.u32 [%rd1], 1", "accesses locations of global memory by their names"),
        ("y @ generic aliases x;", "st.weak.u32 [y], 1", "none of the host's"),
    ],
)
def test_what_the_host_does_not_do_is_told(init: str, code: str, said: str) -> None:
    text = (
        f"PTX t\n{{ x = 0; kernel k = [P0]; kernel l = [P2]; {init} }}\nP0@cta 0 {{\nld.weak.u32 %r0, [x];\n}}\n"
        f"P1@host {{\n{code};\n}}\nP2@cta 1 {{\nld.weak.u32 %r0, [x];\n}}\nexists true\n"
    )
    with pytest.raises(InputError) as error:
        module(ptxmm.parse(text))
    assert any(said in d.message and d.span.line > 2 - bool(init) for d in error.value.diagnostics), str(error.value)


def test_the_host_is_one_thread() -> None:
    store = "st.weak.u32 [x], 1"
    text = f"PTX t\n{{ x = 0; }}\n P0@cta 0 | P1@host | P2@host ;\n {store} | {store} | {store} ;\n"
    with pytest.raises(InputError, match="P2 is another thread of the host"):
        module(ptxmm.parse(text + "exists true\n"))
    with pytest.raises(InputError, match="without threads of a GPU"):
        module(ptxmm.parse("PTX t\n{ x = 0; }\n P0@host ;\n st.weak.u32 [x], 1 ;\nexists true\n"))


def test_a_kernel_that_sometimes_lets_the_next_one_begin_is_refused() -> None:
    text = (
        "PTX t\n{ x = 0; kernel k = [P0]; kernel l = [P1]; }\nP0@cta 0 {\nld.weak.u32 %r0, [x];\nsetp.eq.u32 %p1, %r0, 0;\n"
        "@%p1 griddepcontrol.launch_dependents;\n}\nP1@cta 1 {\nst.weak.u32 [x], 1;\n}\nexists (0:r0 = 1)\n"
    )
    with pytest.raises(InputError, match="hangs on what is read") as error:
        module(ptxmm.parse(text))
    assert error.value.diagnostics[0].span.line == 6
    assert made(ptxmm.parse(text.replace("@%p1 ", ""))) is not None


def test_what_a_test_declares_and_does_not_use_keeps_nobody_from_placing_it() -> None:
    of = made(named("CoWR+st+tex"))
    assert of is not None and [image.name for image in of.images] == ["t"] and not of.images[0].in_array
    unused = "{ x = 0; .const .u32 c = 3; s @ surface aliases x; t @ texture aliases x; u @ constant aliases x; }"
    of = made(ptxmm.parse(f"PTX t\n{unused}\n P0@cta 0 ;\n st.weak.u32 [x], 1 ;\nforall (x = 1 /\\ c = 3)\n"))
    assert of is not None and of.images == () and set(shown(of, 1).states) == {(3, 1)}


@pytest.mark.parametrize(("kind", "texel"), [("u8", "b8"), ("u16", "b16"), ("u32", "b32"), ("u64", "b64")])
def test_texels_are_elements_of_their_locations(kind: str, texel: str) -> None:
    """Of arrays of every width: coordinates of textures count elements, those of surfaces bytes."""
    size, register = int(kind[1:]) // 8, {"b64": "%rd1"}.get(texel, "%r1" if texel == "b32" else "%rs1")
    test = ptxmm.parse(
        f"PTX t\n{{ .{kind} x[3] = {{5, 6, 7}}; s @ surface aliases x; t @ texture aliases x; }}\nP0@cta 0 {{\n"
        f"suld.b.1d.{texel}.trap {register}, [s, {{{size}}}];\nsust.b.1d.{texel}.trap [s, {{{2 * size}}}], {register};\n"
        "tex.1d.v4.u32.s32 {%r2, _, _, _}, [t, {0}];\n}\nforall (x[0] = 5 /\\ x[1] = 6 /\\ x[2] = 6 /\\ 0:r2 = 5)\n"
    )
    of = made(test)
    assert of is not None
    judged = judge(of, shown(of, 2), "ptx-9.0")
    assert judged.held and not judged.forbidden


def test_a_pointer_into_shared_memory_is_the_address_that_its_use_wants() -> None:
    def text(store: str, register: str = "%rd1") -> str:
        width = 32 if register == "%r1" else 64
        return (
            "PTX t\n{ .shared .u32 s = 7; }\nP0@cta 0 {\n"
            f"mov.u{width} {register}, s;\n{store.replace('A', register)};\nld.shared.u32 %r9, [s];\n}}\nexists (0:r9 = 1)\n"
        )

    for store, register in (
        ("st.shared.u32 [A], 1", "%rd1"),
        ("st.u32 [A], 1", "%rd1"),
        ("st.shared.u32 [A], 1", "%r1"),
    ):
        of = made(ptxmm.parse(text(store, register)))
        assert of is not None and set(shown(of, 1).states) == {(1,)}
    with pytest.raises(InputError, match="addresses differ"):
        module(ptxmm.parse(text("st.shared.u32 [A], 1;\nst.u32 [A], 1")))


def test_addresses_are_told_as_the_model_has_them() -> None:
    test = ptxmm.parse(
        "PTX pointers\n{ x = 0; .u64 p = &x; .u64 q; }\nP0@cta 0 {\nld.weak.u64 %rd1, [p];\nst.weak.u32 [%rd1], 5;\n"
        "add.u64 %rd2, %rd1, 0;\nst.weak.u64 [q], %rd2;\n}\nexists (0:rd2 = x /\\ x = 5 /\\ q != 0)\n"
    )
    of = made(test)
    assert of is not None and addresses_of(test)
    seen = shown(of, 1)
    assert len(seen.states) == 1
    judged = judge(of, seen, "ptx-9.0")
    assert judged.held and not judged.forbidden and judged.unseen == 0


#: What brings an address of shared memory to a register or a location that a state lists, and what looks like it.
CARRIED = {
    "by memory": (
        ".shared .u64 p = &s;",
        "ld.shared.u64 %rd2, [p];",
        "bar.sync 0, 64;",
        "0:rd2 = 0",
        True,
    ),
    "by another thread": (
        ".u64 q;",
        "mov.u64 %rd1, s;\nst.weak.u64 [q], %rd1;\nld.shared.u32 %r3, [%rd1];\nbar.sync 0, 64;",
        "bar.sync 0, 64;\nld.weak.u64 %rd2, [q];",
        "1:rd2 = 0",
        True,
    ),
    "to a location": (
        ".u64 q;",
        "mov.u64 %rd1, s;\nst.weak.u64 [q], %rd1;\nld.shared.u32 %r3, [%rd1];",
        "mov.u32 %r0, 1;",
        "q = 0",
        True,
    ),
    "the object of a barrier": (
        ".shared .u64 m;",
        "mbarrier.init.shared.b64 [m], 1;\nmbarrier.test_wait.parity.shared.b64 %p1, [m], 0;\nselp.u32 %r2, 1, 0, %p1;",
        "mov.u32 %r0, 1;",
        "0:r2 = 0",
        False,
    ),
    "what is loaded": ("", "ld.shared.u32 %r2, [s];", "mov.u32 %r0, 1;", "0:r2 = 7", False),
}


@pytest.mark.parametrize("how", CARRIED)
def test_where_addresses_of_shared_memory_may_go_is_followed(how: str) -> None:
    declared, first, second, condition, refused = CARRIED[how]
    test = ptxmm.parse(
        f"PTX t\n{{ .shared .u32 s = 7; {declared} }}\nP0@cta 0 {{\n{first}\n}}\nP1@cta 0 {{\n{second}\n}}\n"
        f"exists ({condition})\n"
    )
    if refused:
        with pytest.raises(InputError, match="may hold an address of shared"):
            module(test)
    else:
        of = made(test)
        assert of is not None
        nothing_forbidden(of, shown(of, 1))


def test_addresses_of_shared_memory_are_no_numbers_of_the_model() -> None:
    head = "PTX t\n{ .shared .u32 s = 7; }\nP0@cta 0 {\nmov.u64 %rd1, s;\nadd.u64 %rd2, %rd1, 4;\n"
    for condition, said in (("0:rd2 != 0", "may hold an address of shared"), ("s = &s", "is compared")):
        with pytest.raises(InputError, match=said):
            module(ptxmm.parse(head + f"ld.shared.u32 %r1, [%rd1];\n}}\nexists ({condition})\n"))
    assert made(ptxmm.parse(head + "ld.shared.u32 %r1, [%rd1];\n}\nexists (0:r1 = 7)\n")) is not None


# Layout.


def spans_of(launch: GpuLaunch) -> Iterator[tuple[int, int]]:
    """Where each location of each instance begins and ends in memory, and its counters."""
    for l in launch.module.test.locations:
        offset, stride = launch.offsets[l.name]
        size = (l.elements or 1) * {".u8": 1, ".u16": 2, ".u32": 4, ".u64": 8}[l.type]
        for n in range(launch.shape.instances):
            assert (offset + n * stride) % max(size if l.elements is None else 16, l.align or 1) == 0
            yield offset + n * stride, offset + n * stride + size
    for start in (launch.start, launch.end):
        yield from ((start + 128 * n, start + 128 * n + 4) for n in range(launch.shape.instances))


def test_no_two_instances_share_memory() -> None:
    test = ptxmm.parse(
        "PTX sizes\n{ .u8 a = 1; .u16 b; .u64 c = 3; .align 64 .u32 d[5] = {1, 2, 3, 4, 5}; }\n P0@cta 0 ;\n"
        " ld.weak.u64 %rd0, [c] ;\nexists true\n"
    )
    of = module(test)
    random = Random(7)
    for together in (0, 1):
        for stride in (4, 8, 12, 64, 100, 256):
            p = replace(Parameters(), instances=random.randrange(1, 40), stride=stride, together=together, per_cta=8)
            launch = planned(of, p)
            spans = sorted(spans_of(launch))
            assert launch.shape.instances >= p.instances
            assert all(a[1] <= b[0] for a, b in pairwise(spans)) and spans[-1][1] <= launch.memory_bytes
            for n in range(launch.shape.instances):
                at = launch.offsets["c"][0] + n * launch.offsets["c"][1]
                assert launch.initial[at] == 3


def test_tables_are_permutations_and_differ_from_launch_to_launch() -> None:
    launch = planned(module(named("IRIW+fence.sc.gpu")), replace(Parameters(), instances=64, per_cta=8, stress_ctas=5))
    tables = [launch.tables(seed) for seed in (1, 2, 1)]
    assert tables[0] == tables[2] and all(a != b for a, b in zip(tables[0], tables[1], strict=True))
    for table, count in ((tables[0].clusters[0], launch.grids[0]), (tables[0].instances, 64)):
        numbers = [int.from_bytes(table[i : i + 4], "little") for i in range(0, len(table), 4)]
        assert sorted(numbers) == list(range(count))


def test_parameters_are_read_and_bounded() -> None:
    assert read("stride=64, jitter=8").stride == 64
    assert read(read("jitter=8").json()) == read("jitter=8")
    for text, said in (
        ("strid=4", "'stride'"),
        ("stride=5", "multiple of 4"),
        ("jitter", "NAME=NUMBER"),
        ("polls=0", "polls is 1"),
        ("{", "no JSON"),
    ):
        with pytest.raises(BadParameter, match=re.escape(said)):
            read(text)


@pytest.mark.parametrize(
    ("target", "version"), [("sm_70", "6.4"), ("sm_75", "6.5"), ("sm_80", "7.0"), ("sm_90", "7.8")]
)
def test_what_an_old_driver_does_not_have_is_told_at_a_line_of_the_test(target: str, version: str) -> None:
    """The harness itself needs no more than the oldest driver has that can load it."""
    count = 0
    for path in [named("b128+one-access").path, *map(str, LIBRARY[::12])]:
        try:
            checked(module(loaded(Path(path)), target, version))
        except InputError as error:
            assert all(d.span.line > 1 for d in error.diagnostics), path
        else:
            count += 1
    assert count > len(LIBRARY) // 24


@pytest.mark.parametrize("name", ["MP+rel+acq", "MP+rel.cta+acq.cta-same-cta", "ISA2+cta+cluster", "streams+event"])
def test_places_are_judged_by_columns_as_one_by_one(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Places as they were, and with one thread somewhere else: both ways to look at them agree."""
    of, taken = module(named(name)), []
    own = layout._misplaced

    def noted(launch: GpuLaunch, places: Sequence[Sequence[int]], status: Sequence[Sequence[int]]) -> str:
        taken.append((launch, places, status))
        return own(launch, places, status)

    monkeypatch.setattr(layout, "_misplaced", noted)
    assert shown(of, 1).misplaced == ""
    ((launch, places, status),) = taken
    quickly = layout._in_place
    random = Random(1)
    quick, slow = [], []
    for turn in range(60):
        moved = [list(column) for column in places]
        if turn:
            column, n = random.choice(moved), random.randrange(launch.shape.instances)
            column[n] ^= 1 << random.choice((0, 4, 5, 9, 10, 11, 12, 32))
        for way, said in ((quickly, quick), (lambda *_: False, slow)):
            monkeypatch.setattr(layout, "_in_place", way)
            said.append(own(launch, moved, status) == "")
    assert quick == slow and slow[0] and slow.count(False) > 20
