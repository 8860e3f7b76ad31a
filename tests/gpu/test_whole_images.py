"""Textures and surfaces of whole kernels: the host's side makes on a GPU what our machine has, by a driver whose GPU it is."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import pytest
from agreement import compared
from campaigns import lengths

TESTS = Path(__file__).parents[1]
for folder in (TESTS, TESTS / "ptxcore" / "semantics", TESTS / "ptxcore" / "machine" / "run", TESTS / "tensors"):
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))

import ptxas  # noqa: E402
import reference  # noqa: E402
from drivers import emulating, header  # noqa: E402
from gpu import cuda_numbers, left_out, whole, whole_images, whole_others  # noqa: E402
from gpu.modules import Machine, Unfit  # noqa: E402
from gpu.whole import Whole  # noqa: E402
from gpu.whole_cuda import CudaError, WholeGpu, job_of, serve  # noqa: E402

from ptxcore.isa.image import Format, Image, Sampler  # noqa: E402
from ptxmm.gpu.driver import LIBRARY, Driver  # noqa: E402


def made() -> Iterator[tuple[Whole, str]]:
    """Those that a GPU gets, with their modules; made one by one, since each takes a while."""
    for probe in whole_others.of_images():
        try:
            yield probe, probe.module_for(Machine("sm_90", "9.0"))
        except Unfit:
            continue


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> str:
    return emulating(tmp_path_factory.mktemp("driver"))


@pytest.fixture
def gpu(library: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[WholeGpu]:
    monkeypatch.setenv(LIBRARY, library)
    monkeypatch.setenv("PTXMM_FAKE_LOG", str(tmp_path / "calls"))
    found = WholeGpu(patience=120)
    yield found
    found.close()


#: So many of them in every run: textures, by handles and by names; surfaces come behind them.
_SOME = 10


@pytest.mark.compares(1.0)
@pytest.mark.parametrize("count", lengths(_SOME, None))
def test_the_driver_gets_every_image_and_gives_back_what_surfaces_hold(
    count: int | None, gpu: WholeGpu, tmp_path: Path
) -> None:
    changed = 0
    for probe, text in islice(made(), count):
        theirs = gpu.run(job_of(probe, text))
        ours = compared(whole.run_here(probe, text))
        assert not whole.first_difference(ours, theirs, probe.opaque), probe.name
        changed += ours[2:] != list(probe.data[2:])
    assert changed >= 3 or count  # surfaces that are written
    lines = (tmp_path / "calls").read_text().splitlines()
    assert [line for line in lines if ":" in line] == []
    counts = Counter(lines)
    surfaces = () if count else ("cuSurfObjectCreate", "cuModuleGetSurfRef")
    for call in ("cuTexObjectCreate", "cuModuleGetTexRef", "cuMipmappedArrayCreate", *surfaces):
        assert counts[call] >= 4, call
    for one, other in (
        ("cuArray3DCreate_v2", "cuArrayDestroy"), ("cuMipmappedArrayCreate", "cuMipmappedArrayDestroy"),
        ("cuTexObjectCreate", "cuTexObjectDestroy"), ("cuSurfObjectCreate", "cuSurfObjectDestroy"),
    ):  # fmt: skip
        assert counts[one] == counts[other], one


@pytest.mark.long
def test_every_form_has_a_kernel_that_a_gpu_gets_or_a_reason() -> None:
    there = {form for probe, _ in made() for form in probe.forms}
    of_images = [
        f for f in reference.all_forms() if left_out.is_whole(f) and f.section.startswith(("9.7.10.", "9.7.11."))
    ]
    assert len(of_images) >= 45
    assert {form.shown() for form in of_images if form not in there} == set()


@pytest.mark.skipif(ptxas.executable() is None, reason=f"no ptxas {ptxas.RELEASE} here")
@pytest.mark.parametrize("count", lengths(_SOME, None))
def test_ptxas_takes_what_a_gpu_gets(count: int | None) -> None:
    found = [ptxas.check_module(text, "sm_90") for _, text in islice(made(), count)]
    assert len(found) >= (count or 40) and [said for said in found if said] == []


BASE = Image("texref", "t", "2d", Format("u", 8), 4, 4)


@pytest.mark.parametrize(
    ("image", "said"),
    [
        (BASE._replace(geometry="2dms", samples=4), "several samples"),
        (BASE._replace(linear=True), "linear memory"),
        (BASE._replace(mipmapped=True), "levels of detail"),
        (BASE._replace(sampler=Sampler(address=("wrap",) * 3)), "wraps normalized"),
        (BASE._replace(sampler=Sampler(filter="linear")), "rounded"),
    ],
)
def test_what_cuda_does_not_make_is_told(image: Image, said: str) -> None:
    with pytest.raises(Unfit, match=said):
        whole_images.must_be_makeable(image)
    whole_images.must_be_makeable(BASE)


#: Mistakes of the host's side, which what comes back shows.
MISTAKES = ("rows", "levels", "format", "normalized", "layers", "border")


@pytest.mark.part(3)
@pytest.mark.parametrize("what", MISTAKES)
def test_a_mistake_of_the_hosts_side_is_found(what: str, library: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """One is planted; some kernel leaves something else, or the driver refuses it."""
    lookup, array = whole_images.lookup_of, whole_images.array_of

    def wrong_lookup(image: Image) -> object:
        how = lookup(image)
        if what == "normalized":
            how.flags ^= cuda_numbers.NORMALIZED
        if what == "border":
            how.address = (ctypes.c_int * 3)(1, 1, 1)
        if what == "levels":
            how.most = 0.0
        return how

    def wrong_array(image: Image) -> object:
        of = array(image)
        if what == "rows" and of.height:
            of.height, of.width = of.width, of.height
        if what == "format":
            of.format = {1: 8, 8: 1, 2: 9, 9: 2, 3: 10, 10: 3}.get(of.format, of.format)
        if what == "layers":
            of.flags &= ~cuda_numbers.LAYERED_ARRAY
        return of

    monkeypatch.setattr(whole_images, "lookup_of", wrong_lookup)
    monkeypatch.setattr(whole_images, "array_of", wrong_array)
    monkeypatch.setenv(LIBRARY, library)
    driver = Driver()  # in this process, where the mistake is
    driver.activate()

    def is_found(probe: Whole, text: str) -> bool:
        try:
            theirs = serve(driver, job_of(probe, text))
        except CudaError:
            return True
        return bool(whole.first_difference(whole.run_here(probe, text), theirs, probe.opaque))

    assert any(is_found(probe, text) for probe, text in made())


def test_a_copy_is_as_cuda_h_has_it(library: str, tmp_path: Path) -> None:
    of_an_end = ("XInBytes", "Y", "Z", "LOD", "MemoryType", "Host", "Device", "Array", "reserved", "Pitch", "Height")
    members = [
        f"reserved{n}" if member == "reserved" else f"{end}{member}"
        for n, end in enumerate(("src", "dst"))
        for member in of_an_end
    ] + ["WidthInBytes", "Height", "Depth"]
    numbers = {
        **{f"CU_AD_FORMAT_{long}{'' if kind == 'f' else f'_INT{bits}'}": number
           for (kind, bits), number in cuda_numbers.FORMATS.items()
           for long in [{"u": "UNSIGNED", "s": "SIGNED", "f": "HALF" if bits == 16 else "FLOAT"}[kind]]},
        "CU_TR_ADDRESS_MODE_WRAP": cuda_numbers.MODES["wrap"],
        "CU_TR_ADDRESS_MODE_CLAMP": cuda_numbers.MODES["clamp_to_edge"],
        "CU_TR_ADDRESS_MODE_MIRROR": cuda_numbers.MODES["mirror"],
        "CU_TR_ADDRESS_MODE_BORDER": cuda_numbers.MODES["clamp_to_border"],
        "CUDA_ARRAY3D_LAYERED": cuda_numbers.LAYERED_ARRAY,
        "CUDA_ARRAY3D_SURFACE_LDST": cuda_numbers.SURFACE,
        "CUDA_ARRAY3D_CUBEMAP": cuda_numbers.CUBEMAP,
        "CUDA_ARRAY3D_TEXTURE_GATHER": cuda_numbers.GATHER,
        "CU_TRSF_READ_AS_INTEGER": cuda_numbers.INTEGERS,
        "CU_TRSF_NORMALIZED_COORDINATES": cuda_numbers.NORMALIZED,
        "CU_RESOURCE_TYPE_ARRAY": cuda_numbers.OF_ARRAY,
        "CU_RESOURCE_TYPE_MIPMAPPED_ARRAY": cuda_numbers.OF_LEVELS,
        "CU_MEMORYTYPE_HOST": cuda_numbers.ON_HOST,
        "CU_MEMORYTYPE_ARRAY": cuda_numbers.IN_ARRAY,
        "CU_TRSA_OVERRIDE_FORMAT": cuda_numbers.OVERRIDE,
    }  # fmt: skip
    lines = ["sizeof(CUDA_MEMCPY3D)", *(f"offsetof(CUDA_MEMCPY3D, {member})" for member in members), *numbers]
    wanted = [ctypes.sizeof(whole_images.Copy)]
    wanted += [getattr(whole_images.Copy, name).offset for name, _ in whole_images.Copy._fields_]
    wanted += numbers.values()
    text = "#include <cuda.h>\n#include <stddef.h>\nlong numbers[] = {" + ", ".join(lines) + "};\n"
    (tmp_path / "numbers.c").write_text(text)
    compiler = shutil.which("cc") or shutil.which("gcc")
    built = tmp_path / "numbers.so"
    subprocess.run(
        [str(compiler), "-shared", "-fPIC", f"-I{header()}", "-o", built, tmp_path / "numbers.c"], check=True
    )
    found = (ctypes.c_long * len(lines)).in_dll(ctypes.CDLL(str(built)), "numbers")
    assert dict(zip(lines, found, strict=True)) == dict(zip(lines, wanted, strict=True))
