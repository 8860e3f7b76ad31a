"""What a CUDA program launches, written down as a kernel test (examples/record)."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import ptxmm

RECORD = Path(__file__).resolve().parents[2] / "examples" / "record" / "record.py"
COMPILER = os.environ.get("NVCC") or shutil.which("nvcc")

PROGRAM = """
#include <cuda_runtime.h>
struct Params { int n; float *in; double scale; float *out[2]; };
__global__ void twice(Params p) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < p.n) p.out[1][i] = p.in[i] * p.scale;
}
__global__ void back(float *a, const float *b) { a[threadIdx.x] = b[threadIdx.x]; }
int main() {
  float *in, *out, given[128];
  for (int i = 0; i < 128; i++) given[i] = i;
  cudaMalloc(&in, sizeof given);
  cudaMalloc(&out, 2 * sizeof given);
  cudaMemcpy(in, given, sizeof given, cudaMemcpyHostToDevice);
  cudaStream_t stream;
  cudaEvent_t event;
  cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
  cudaEventCreate(&event);
  twice<<<2, 64, 0, stream>>>(Params{128, in, 2.0, {out, out + 128}});
  cudaEventRecord(event, stream);
  cudaStreamWaitEvent(stream, event, 0);
  back<<<1, 128, 0, stream>>>(in, out + 128);
  float *host;
  cudaMallocHost(&host, sizeof given);
  cudaMemcpyAsync(host, in, sizeof given, cudaMemcpyDeviceToHost, stream);
  cudaStreamDestroy(stream);
}
"""


@pytest.mark.long
@pytest.mark.skipif(COMPILER is None or shutil.which("g++") is None, reason="nvcc is not installed")
def test_launches_of_a_program_are_a_kernel_test(tmp_path: Path) -> None:
    """A structure has its fields, pointers lead where they do, and buffers hold what the program put there."""
    source = tmp_path / "host.cu"
    source.write_text(PROGRAM)
    subprocess.run([sys.executable, str(RECORD), str(tmp_path / "made"), str(source)], check=True, timeout=600)
    test = tmp_path / "made" / "host.toml"
    text = test.read_text()
    assert '{at = 24, value = "&b1"}, {at = 32, value = "&b1+512"}' in text
    test.write_text(text.replace("[check]", '[check]\nforall = ["b1[255] == 1132331008", "b0[127] == 1132331008"]'))
    assert ptxmm.check(ptxmm.load(str(test))).verdict == "ok"  # 254, as an f32


def test_a_tensor_map_of_which_a_library_has_cleared_a_bit_is_one() -> None:
    """CUTLASS clears bit 21 of the second word of maps of small tensors, for drivers of its own time."""
    spec = importlib.util.spec_from_file_location("record", RECORD)
    assert spec is not None and spec.loader is not None
    record = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(record)
    recorded = record.Recorded("map 6 0 3 0 1000 2 64 0 8 1 32 128 4 1\nbuffer 1000 4096")
    given = bytearray(record._MARK + (0).to_bytes(4, "little"))
    words = int.from_bytes(given[8:16], "little") & ~(1 << 21)
    given[8:16] = words.to_bytes(8, "little")
    [field] = recorded._fields(bytes(given))
    assert field.startswith('{at = 0, tensor_map = {buffer = "&b0", type = "f16", dims = [64, 32], strides = [128]')
