"""What is asked of the CUDA driver: by a driver whose calls have the types of cuda.h, and whose GPUs are our own machine."""

from __future__ import annotations

import ctypes
import os
import re
import shutil
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from drivers import emulating, header
from waiting import wait_until

from ptxmm.cli.main import main
from ptxmm.gpu import driver
from ptxmm.gpu.driver import LIBRARY

ROOT = Path(__file__).resolve().parents[3]
SMALL = ("--parameters", "instances=16,per_cta=4", "--launches", "2")


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> str:
    return emulating(tmp_path_factory.mktemp("driver"))


@pytest.fixture
def emulated(library: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Path]:
    """The driver in place; where it writes what it was called for."""
    monkeypatch.setenv(LIBRARY, library)
    monkeypatch.setenv("PTXMM_FAKE_LOG", str(tmp_path / "calls"))
    monkeypatch.setenv("PTXMM_FAKE_GPUS", "2")
    yield tmp_path / "calls"


def calls(log: Path) -> Counter[str]:
    """How often each call was made; none was refused."""
    lines = log.read_text().splitlines()
    assert [line for line in lines if ":" in line] == []
    return Counter(lines)


#: A test for each way to launch, and the calls that it needs.
WAYS = {
    "MP+rel+acq": ("cuLaunchKernel", "cuOccupancyMaxActiveBlocksPerMultiprocessor"),
    "MP+shared+rel.cta+acq.cta": ("cuLaunchKernel",),
    "ISA2+cta+cluster": ("cuLaunchKernelEx", "cuOccupancyMaxActiveClusters"),
    "MP+alias-flag": ("cuMemCreate", "cuMemMap", "cuMemSetAccess"),
    "streams+event": ("cuStreamCreate", "cuEventRecord", "cuStreamWaitEvent"),
    "MP+fence.sys": ("cuCtxEnablePeerAccess", "cuDeviceGetP2PAttribute"),
    "CoWR+st+tex": ("cuTexObjectCreate",),
    "MP+sust+suld-same-cta": ("cuArray3DCreate_v2", "cuSurfObjectCreate", "cuMemcpyDtoA_v2"),
    "CoWR+sust+tex-other-stream": ("cuArray3DCreate_v2", "cuSurfObjectCreate", "cuTexObjectCreate", "cuMemcpyAtoD_v2"),
    "grids+wait": ("cuLaunchKernelEx",),
    "host+sync-stream": ("cuMemHostAlloc", "cuMemHostGetDevicePointer_v2", "cuEventSynchronize"),
}


@pytest.mark.long
def test_every_way_to_launch_arrives_at_the_driver(emulated: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """All in one process, one behind the other, as in a suite: what one leaves does not disturb the next."""
    assert main(["gpu", *(f"library:{name}" for name in WAYS), *SMALL]) == 0, capsys.readouterr().err
    said = capsys.readouterr().out
    assert said.count("On emulated 0: 32 instances in 2 launches") == len(WAYS) and "Not counted" not in said
    made = calls(emulated)
    assert all(made[call] for needed in WAYS.values() for call in needed)
    assert (
        made["cuTexObjectCreate"] == made["cuTexObjectDestroy"] and made["cuArray3DCreate_v2"] == made["cuArrayDestroy"]
    )
    assert made["cuSurfObjectCreate"] == made["cuSurfObjectDestroy"] == 2 * 16
    assert made["cuMemMap"] == made["cuMemUnmap"] == made["cuMemAddressFree"] == 2 and made["cuMemRelease"] == 1
    # What the last test has is still there: three buffers, and three for each of its launches.
    assert made["cuMemAlloc_v2"] - made["cuMemFree_v2"] == 3 + 3 * 3
    assert made["cuMemHostAlloc"] == 1 and made["cuMemFreeHost"] == 0
    assert made["cuModuleLoadDataEx"] == len(WAYS) + 1 and made["cuDevicePrimaryCtxRetain"] == 2


@pytest.mark.long
def test_a_kernel_begins_where_the_one_before_lets_it(emulated: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The attribute of the launch arrives, and nothing else makes kernels overlap."""
    assert main(["gpu", "library:grids+no-wait", "library:grids+one-before-the-last", *SMALL, "--launches", "8"]) == 0
    said = capsys.readouterr().out
    assert said.count("Sometimes") == 2, said
    assert calls(emulated)["cuLaunchKernelEx"] == 8 * (1 + 2)


def test_what_the_host_stores_and_loads_is_that_of_each_instance(
    emulated: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Bytes, signs and moves; a kernel that nobody launches begins before everything else."""
    (tmp_path / "host.litmus").write_text(
        "PTX host\n{ .u8 b = 200; x = 0; .u64 y[2]; kernel k1 = [P0]; kernel k2 = [P2] stream 1; }\n"
        "P0@cta 0,gpu 0 {\n ld.weak.u32 %r0, [x];\n st.weak.u64 [y+8], 7;\n}\n"
        "P1@host {\n ld.weak.s8 %r0, [b];\n mov.u32 %r1, %r0;\n st.weak.u32 [x], %r1;\n launch k1;\n sync k1;\n"
        " ld.weak.u64 %rd2, [y+8];\n}\n"
        "P2@cta 1,gpu 0 {\n mov.u32 %r0, 3;\n}\n"
        "forall (0:r0 = -56 /\\ 1:r1 = -56 /\\ 1:rd2 = 7 /\\ 2:r0 = 3)\n"
    )
    for how in ([], ["--simulate"]):
        assert main(["gpu", str(tmp_path / "host.litmus"), *SMALL, *how]) == 0, capsys.readouterr().err
        assert "Observation host Always 32 0" in capsys.readouterr().out
    calls(emulated)


def test_kernels_in_clusters_are_launched_in_their_streams(
    emulated: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "clusters.litmus").write_text(
        "PTX clusters+streams\n{ x = 0; kernel k1 = [P0, P1]; kernel k2 = [P2, P3] stream 1 after k1; }\n"
        " P0@cta 0,cluster 0,gpu 0 | P1@cta 1,cluster 0,gpu 0 | P2@cta 2,cluster 1,gpu 0 | P3@cta 3,cluster 1,gpu 0 ;\n"
        " atom.relaxed.gpu.add.u32 %r0, [x], 1 | atom.relaxed.gpu.add.u32 %r0, [x], 1 "
        "| atom.relaxed.gpu.add.u32 %r0, [x], 1 | atom.relaxed.gpu.add.u32 %r0, [x], 1 ;\n"
        "forall (2:r0 >= 2 /\\ 3:r0 >= 2 /\\ x = 4)\n"
    )
    assert main(["gpu", str(tmp_path / "clusters.litmus"), *SMALL]) == 0, capsys.readouterr().err
    assert "Observation clusters+streams Always 32 0" in capsys.readouterr().out
    made = calls(emulated)
    assert made["cuLaunchKernelEx"] == 4 and made["cuStreamWaitEvent"] == 2


def test_gpus_may_access_memory_that_is_mapped_twice(
    emulated: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "alias.litmus").write_text(
        "PTX alias+gpus\n{ x = 0; y @ generic aliases x; z @ generic aliases x; }\n"
        " P0@cta 0,gpu 0 | P1@cta 1,gpu 1 ;\n st.relaxed.sys.u32 [y], 1 | ld.relaxed.sys.u32 %r0, [z] ;\n"
        "exists (1:r0 = 1)\n"
    )
    assert main(["gpu", str(tmp_path / "alias.litmus"), *SMALL, "--launches", "4"]) == 0
    assert "Observation alias+gpus Sometimes" in capsys.readouterr().out
    assert calls(emulated)["cuMemMap"] == 3


def test_a_test_on_more_gpus_than_there_are_is_told_and_the_others_run(
    emulated: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["gpu", "library:MP+fence.sys", "library:SB", *SMALL, "--device", "1"]) == 2
    said = capsys.readouterr()
    assert (
        "the test is on 2 GPUs, and from number 1 on this machine has 1" in said.err and "Test SB Allowed" in said.out
    )


def test_gpus_that_cannot_do_atomic_operations_in_each_others_memory_are_told(
    emulated: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PTXMM_FAKE_ATOMICS", "0")
    assert main(["gpu", "library:MP+fence.sys", *SMALL]) == 2
    assert "GPU 1 cannot do atomic operations in memory of GPU 0" in capsys.readouterr().err


@pytest.mark.parametrize("number", ["2", "7"])
def test_a_gpu_that_there_is_not_is_told(number: str, emulated: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["gpu", "library:SB", "--device", number]) == 2
    assert f"there are 2 GPUs, and none with the number {number}; the first is 0" in capsys.readouterr().err


def test_structures_are_as_cuda_h_has_them(library: str, tmp_path: Path) -> None:
    """Sizes and places of members, as the compiler has them: of each member the first byte."""
    members = {
        "CUlaunchConfig": (driver.LaunchConfig, "gridDimX blockDimX sharedMemBytes hStream attrs numAttrs"),
        "CUlaunchAttribute": (driver.LaunchAttribute, "id pad value"),
        "CUmemLocation": (driver.MemoryLocation, "type id"),
        "CUmemAllocationProp": (
            driver.AllocationProperties,
            "type requestedHandleTypes location win32HandleMetaData allocFlags.compressionType "
            "allocFlags.gpuDirectRDMACapable allocFlags.usage allocFlags.reserved",
        ),
        "CUmemAccessDesc": (driver.AccessDescription, "location flags"),
        "CUDA_ARRAY3D_DESCRIPTOR": (driver.ArrayDescriptor, "Width Height Depth Format NumChannels Flags"),
        "CUDA_RESOURCE_DESC": (
            driver.ResourceDescriptor,
            "resType res.linear.devPtr res.linear.format res.linear.numChannels res.linear.sizeInBytes "
            "res.reserved.reserved[6] flags",
        ),
        "CUDA_TEXTURE_DESC": (
            driver.TextureDescriptor,
            "addressMode filterMode flags maxAnisotropy mipmapFilterMode mipmapLevelBias minMipmapLevelClamp "
            "maxMipmapLevelClamp borderColor reserved",
        ),
    }
    numbers = {
        "CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT": driver._PROCESSORS,
        "CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR": driver._MAJOR,
        "CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR": driver._MINOR,
        "CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED": driver._VIRTUAL_MEMORY,
        "CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED": driver._PEER_ACCESS,
        "CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED": driver._PEER_ATOMICS,
        "CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED": driver._PEER_ENABLED,
        "CU_JIT_ERROR_LOG_BUFFER": driver._LOG,
        "CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES": driver._LOG_SIZE,
        "CU_STREAM_NON_BLOCKING": driver._NON_BLOCKING,
        "CU_EVENT_DISABLE_TIMING": driver._NO_TIMING,
        "CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION": driver._CLUSTER,
        "CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION": driver._EARLY,
        "CU_MEMHOSTALLOC_PORTABLE": driver._PORTABLE,
        "CU_MEMHOSTALLOC_DEVICEMAP": driver._MAPPED,
        "CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT": driver._TEXTURE_ALIGNMENT,
        "CU_RESOURCE_TYPE_ARRAY": driver._ARRAY,
        "CU_RESOURCE_TYPE_LINEAR": driver._LINEAR,
        "CUDA_ARRAY3D_SURFACE_LDST": driver._SURFACE_OF,
        "CU_TR_ADDRESS_MODE_CLAMP": driver._CLAMP,
        "CU_TR_FILTER_MODE_POINT": driver._POINT,
        "CU_TRSF_READ_AS_INTEGER": driver._WHOLE,
        "CU_AD_FORMAT_UNSIGNED_INT8": driver._FORMATS[8],
        "CU_AD_FORMAT_UNSIGNED_INT16": driver._FORMATS[16],
        "CU_AD_FORMAT_UNSIGNED_INT32": driver._FORMATS[32],
        "CU_MEM_ALLOCATION_TYPE_PINNED": driver._PINNED,
        "CU_MEM_LOCATION_TYPE_DEVICE": driver._ON_DEVICE,
        "CU_MEM_ACCESS_FLAGS_PROT_READWRITE": driver._READ_WRITE,
        "CU_MEM_ALLOC_GRANULARITY_MINIMUM": driver._MINIMUM,
    }
    expected: list[int] = []
    lines = []
    for name, (structure, of) in members.items():
        expected.append(ctypes.sizeof(structure))
        lines.append(f"sizeof({name})")
        for (field, *_), member in zip(structure._fields_, of.split(), strict=True):
            expected.append(getattr(structure, field).offset)
            lines.append(f"offsetof({name}, {member})")
    expected += numbers.values()
    lines += numbers
    text = "#include <cuda.h>\n#include <stddef.h>\nlong numbers[] = {" + ", ".join(lines) + "};\n"
    (tmp_path / "numbers.c").write_text(text)
    compiler = shutil.which("cc") or shutil.which("gcc")
    made = tmp_path / "numbers.so"
    subprocess.run([str(compiler), "-shared", "-fPIC", f"-I{header()}", "-o", made, tmp_path / "numbers.c"], check=True)
    found = (ctypes.c_long * len(lines)).in_dll(ctypes.CDLL(str(made)), "numbers")
    assert dict(zip(lines, found, strict=True)) == dict(zip(lines, expected, strict=True))


def test_every_call_is_one_of_cuda_h_with_as_many_arguments(library: str) -> None:
    """The text of the driver's side beside the prototypes: each name, as the macros of the header spell it."""
    folder = header()
    assert folder is not None
    text = (folder / "cuda.h").read_text(errors="replace")
    spelled = {
        new: old
        for old, new in re.findall(r"^#define (cu\w+) +(?:__CUDA_API_PT[DS][SZ]\()?(cu\w+_v\d)\)?$", text, re.M)
    }
    files = (ROOT / "ptxmm" / "gpu" / "driver.py", ROOT / "tests" / "gpu" / "whole_images.py")
    source = "\n".join(file.read_text() for file in files)
    used = set(re.findall(r'"(cu[A-Z]\w+)"', source)) | set(re.findall(r"library\.(cu[A-Z]\w+)", source))
    assert len(used) > 30
    for name in used:
        old = spelled.get(name, name)
        assert re.search(rf"CUDAAPI {old}\(", text), name
        if name == old:  # and there is no newer signature under the plain name
            assert not re.search(rf"^#define {name} ", text, re.M), name


@pytest.fixture
def hanging(tmp_path: Path) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """The command, with a kernel under way that does not end; and the process that launched it."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("no C compiler here")
    begins = 'if (!strncmp(function, "litmus", 6)) {'
    hangs = 'FILE *file = fopen(getenv("PTXMM_FAKE_LOG"), "w"); fprintf(file, "%d\\n", getpid()); fclose(file); sleep(1000);'
    text = (ROOT / "tests" / "gpu" / "fake_driver.c").read_text()
    assert begins in text
    (tmp_path / "hangs.c").write_text("#include <stdio.h>\n" + text.replace(begins, begins + hangs))
    subprocess.run([compiler, "-shared", "-fPIC", "-o", tmp_path / "hangs.so", tmp_path / "hangs.c"], check=True)
    log = tmp_path / "launched"
    command = [sys.executable, "-m", "ptxmm", "gpu", "library:SB", "--launches", "1", "--format", "json"]
    with subprocess.Popen(
        command, env={**os.environ, LIBRARY: str(tmp_path / "hangs.so"), "PTXMM_FAKE_LOG": str(log)}, cwd=ROOT,
        start_new_session=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    ) as child:  # fmt: skip
        wait_until(lambda: log.is_file() and log.read_text().endswith("\n"))
        yield child, int(log.read_text())


def gone(process: int) -> bool:
    try:
        state = (Path("/proc") / str(process) / "stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return True
    return state == "Z"


def test_ctrl_c_ends_a_kernel_that_does_not_end(hanging: tuple[subprocess.Popen[str], int]) -> None:
    child, worker = hanging
    os.killpg(child.pid, signal.SIGINT)
    out, err = child.communicate()
    assert child.returncode == 130 and "Traceback" not in err and '"tests": []' in out
    wait_until(lambda: gone(worker))


def test_nothing_stays_on_the_gpu_when_the_command_is_killed(hanging: tuple[subprocess.Popen[str], int]) -> None:
    child, worker = hanging
    child.kill()
    child.communicate()
    wait_until(lambda: gone(worker))
