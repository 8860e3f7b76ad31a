"""Kernels on several devices: what a scope reaches, what each device has of its own, and what still runs one after another."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

import ptxmm
from ptxcore.diagnostics import InputError

HEAD = ".version 9.0\n.target sm_90\n.address_size 64\n"
WORD = {"type": "u32", "elements": 1}
SCOPES = ("cta", "gpu", "sys")


def module(body: str, *names: str, variables: str = "") -> str:
    """A kernel whose parameters are addresses by these names."""
    listed = ", ".join(f".param .u64 p_{name}" for name in names)
    loads = "".join(f"ld.param.u64 %{name}, [p_{name}];\n" for name in names)
    addresses = ", ".join(f"%{name}" for name in names)
    return (
        f"{HEAD}{variables}\n.visible .entry k({listed})\n{{\n.reg .pred %p; .reg .b32 %r<4>; .reg .b64 {addresses};\n"
        f"{loads}{body}\nret;\n}}\n"
    )


def launches(*texts: str, devices: tuple[int, ...], **others: object) -> list[dict[str, object]]:
    """A launch of one thread of each module, on its device."""
    made = zip(texts, devices, strict=True)
    return [
        {"name": f"k{i}", "ptx": text, "grid": 1, "block": 1, "device": device, **others}
        for i, (text, device) in enumerate(made)
    ]


def kernel(tmp_path: Path, launched: list[dict[str, object]], **others: object) -> ptxmm.Kernel:
    for one in launched:
        if "\n" in str(one["ptx"]):
            path = tmp_path / f"m{abs(hash(one['ptx']))}.ptx"
            path.write_text(str(one["ptx"]), encoding="utf-8")
            one["ptx"] = str(path)
    return ptxmm.Kernel(kernel=launched, **others)  # type: ignore[arg-type]


PUT = "st.global.u32 [%x], 1;\nst.release.{}.global.u32 [%f], 1;"
GET = (
    "ld.acquire.{}.global.u32 %r0, [%f];\nld.global.u32 %r1, [%x];\nst.global.u32 [%a], %r0;\nst.global.u32 [%b], %r1;"
)


@pytest.mark.part(4)
@pytest.mark.parametrize(("one", "other", "devices"), [*itertools.product(SCOPES, SCOPES, ((0, 0), (2, 2), (0, 1)))])
def test_a_scope_reaches_as_far_as_in_a_litmus_test_with_the_same_places(
    tmp_path: Path, one: str, other: str, devices: tuple[int, int]
) -> None:
    launched = launches(
        module(PUT.format(one), "x", "f"), module(GET.format(other), "x", "f", "a", "b"), devices=devices
    )
    for number, (launch, args) in enumerate(zip(launched, (["x", "f"], ["x", "f", "a", "b"]), strict=True)):
        launch |= {"args": args, "stream": number}
    made = kernel(
        tmp_path, launched, params=dict.fromkeys("xfab", WORD), never="a[0] == 1 && b[0] == 0", race_free=False
    )
    litmus = ptxmm.parse(f"""PTX t
{{ x = 0; f = 0; }}
P0@cta 0,gpu {devices[0]} {{ st.weak.u32 [x], 1; st.release.{one}.u32 [f], 1; }}
P1@cta 1,gpu {devices[1]} {{ ld.acquire.{other}.u32 %r0, [f]; ld.weak.u32 %r1, [x]; }}
~exists (1:%r0 = 1 /\\ 1:%r1 = 0)
""")
    found = [result.checks[0].holds for result in (made.check(), made.check(engine="enumerate"))]
    reaches = all(s == "sys" or (s == "gpu" and devices[0] == devices[1]) for s in (one, other))
    assert found == [reaches, reaches] and (ptxmm.check(litmus).verdict == "ok") == reaches
    assert made.check().checks[1].holds  # x is read whether or not the flag says so


ADD = module(
    "atom.global.add.u32 %r1, [count], 1;\nst.global.u32 [%out], %r1;",
    "out",
    variables=".visible .global .u32 count = 5;",
)


@pytest.mark.parametrize(("devices", "second"), [((0, 0), 6), ((0, 1), 5), ((3, 3), 6)])
def test_each_device_has_variables_of_its_own(tmp_path: Path, devices: tuple[int, int], second: int) -> None:
    launched = launches(ADD, ADD, devices=devices)
    launched[0]["args"], launched[1]["args"] = ["x"], ["y"]
    made = kernel(tmp_path, launched, params={"x": WORD, "y": WORD}, forall=f"x[0] == 5 && y[0] == {second}")
    assert [made.check(engine=engine).verdict for engine in ("solve", "enumerate")] == ["ok", "ok"]


@pytest.mark.parametrize(
    ("devices", "after", "safe"), [((0, 0), [], True), ((0, 1), [], False), ((0, 1), ["k0"], True)]
)
def test_kernels_of_devices_run_side_by_side_unless_an_event_orders_them(
    tmp_path: Path, devices: tuple[int, int], after: list[str], safe: bool
) -> None:
    write, read = (
        module("st.global.u32 [%x], 1;", "x"),
        module("ld.global.u32 %r1, [%x];\nst.global.u32 [%y], %r1;", "x", "y"),
    )
    launched = launches(write, read, devices=devices)
    launched[0]["args"], launched[1] = ["x"], {**launched[1], "args": ["x", "y"], "after": after}
    made = kernel(tmp_path, launched, params={"x": WORD, "y": WORD}, forall="y[0] == 1", race_free=True)
    for result in (made.check(), made.check(engine="enumerate")):
        assert [check.holds for check in result.checks] == [safe, safe]


WAIT = "L: ld.acquire.sys.global.u32 %r1, [%f];\nsetp.eq.u32 %p, %r1, 0;\n@%p bra L;"


@pytest.mark.parametrize(("devices", "verdict"), [((0, 0), "no"), ((0, 1), "ok")])
def test_so_many_ctas_are_resident_on_each_device(tmp_path: Path, devices: tuple[int, int], verdict: str) -> None:
    launched = launches(
        module(WAIT, "f"), module("st.release.sys.global.u32 [%f], 1;", "f"), devices=devices, args=["f"]
    )
    launched[0]["stream"], launched[1]["stream"] = "waits", "comes"
    made = kernel(tmp_path, launched, params={"f": WORD}, terminates=True)
    assert made.check(resident=1).verdict == verdict
    assert made.check(resident=2).verdict == "ok"


def test_residents_of_a_litmus_test_are_those_of_its_gpus() -> None:
    for gpu, verdict in ((0, "no"), (1, "ok")):
        test = ptxmm.parse(f"""PTX t
{{ f = 0; }}
P0@cta 0,gpu 0 {{ L: ld.acquire.sys.u32 %r0, [f]; setp.eq.u32 %p, %r0, 0; @%p bra L; }}
P1@cta 1,gpu {gpu} {{ st.release.sys.u32 [f], 1; }}
exists (f = 1) terminates
""")
        for backend in ("sat", "z3"):
            assert ptxmm.check(test, resident=1, backend=backend).verdict == verdict


@pytest.mark.parametrize(
    ("lines", "said", "hint"),
    [
        ("device = -1", "12:10: error: a device is a number from 0 to 1023, not a whole number (-1)", None),
        ('device = "1"', "12:10: error: a device is a number from 0 to 1023", None),
        ("device = true", "12:10: error: a device is a number", None),
        ("gpu = 1", "12:1: error: a kernel has no 'gpu'", "did you mean 'device'?"),
        ('device = 1\nstream = "s"', "13:10: error: stream 's' is one of device 0, and this", "another stream"),
    ],
)  # fmt: skip
def test_mistakes_are_told_by_place(tmp_path: Path, lines: str, said: str, hint: str | None) -> None:
    (tmp_path / "m.ptx").write_text(ADD, encoding="utf-8")
    path = tmp_path / "t.toml"
    path.write_text(
        f"""ptx = "m.ptx"
grid = 1
block = 1
[params]
x = {{type = "u32", elements = 1}}
[check]
forall = "x[0] == 5"
[[kernel]]
name = "first"
stream = "s"
[[kernel]]
{lines}
""",
        encoding="utf-8",
    )
    with pytest.raises(InputError) as raised:
        ptxmm.load(str(path))
    assert f"{path}:{said}" in str(raised.value)
    assert hint is None or hint in str(raised.value)
