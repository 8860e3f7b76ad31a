"""Launches in CUDA C++: what can be read of their sizes without a compiler, and what becomes of it."""

from __future__ import annotations

import shlex
import shutil
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ptxmm.cli.main import main
from ptxmm.kernels.launch_sites import LaunchSite, launch_sites

SOURCE = """#define N (1 << 10)
#define BLOCK 256u  // threads
const int threads = BLOCK, blocks = (N + threads - 1) / threads;
dim3 wide(4, 2); dim3 square = dim3(16, 16, 1);
void launch(int given, int *x) {
    int twice = 1; twice = 2; int round = 8; { int round = 16; }
    LAUNCH;
}
// k<<<9, 9>>>(x); and "k<<<8, 8>>>"
"""


@pytest.mark.parametrize(
    ("launch", "grid", "block", "shared"),
    [
        ("k<<<2, 64>>>(x)", [2], [64], 0),
        ("k<<<blocks, threads>>>(x)", [4], [256], 0),
        ("k<float, 3><<<wide, square, 16 * sizeof(float)>>>(x)", [4, 2], [16, 16], 64),
        ("ns::k<<<dim3(2, 1, 1), (int)threads / 0x10, 0, stream>>>(x)", [2], [16], 0),
        ("k<<<given, 010 + 32>>>(x)", None, [42], 0),
        ("k<<<round, dim3(given, 2)>>>(x)", None, None, 0),
        ("k<<<2, 64, bytes(x)>>>(x)", [2], [64], None),
        ("k<<<2, 64, 64 * sizeof(int)>>>(x)", [2], [64], 256),
        ("k<<<2, 1 << 99>>>(x)", [2], None, 0),
        ("k<<<N / (N - 1024), 0>>>(x)", None, None, 0),
    ],
)
def test_sizes_are_those_of_literals_macros_and_variables_of_one_value(
    launch: str, grid: list[int] | None, block: list[int] | None, shared: int | None
) -> None:
    (found,) = launch_sites(SOURCE.replace("LAUNCH", launch), "k")
    assert found == LaunchSite(7, grid, block, shared, (None,))


@pytest.mark.parametrize(
    ("arguments", "numbers"),
    [
        ("", ()),
        ("x, 4, N", (None, 4, 1024)),
        ("(int *)x, f(1, 2), 2 * (threads + 1)", (None, None, 514)),
        ("x", (None,)),
    ],
)
def test_arguments_are_numbers_where_they_can_be_read(arguments: str, numbers: tuple[int | None, ...]) -> None:
    (found,) = launch_sites(SOURCE.replace("LAUNCH", f"k<<<2, 64>>> ({arguments})"), "k")
    assert found.arguments == numbers


@pytest.mark.parametrize("launch", ["k(x)", "k<<<2>>>(x)", "kk<<<2, 2>>>(x)", "k<<<2, 2", "sk<<<2, 2>>>(x)"])
def test_what_is_no_launch_of_the_kernel_is_none(launch: str) -> None:
    assert launch_sites(SOURCE.replace("LAUNCH", launch), "k") == []


@given(
    st.lists(
        st.sampled_from(["k", "<<<", ">>>", "(", ")", "{", ",", "dim3", "8", "N", "#define N", "\n", "/", "<", "="])
    )
)
def test_nothing_that_is_written_stops_the_reader(parts: list[str]) -> None:
    for site in launch_sites(" ".join(parts), "k"):
        assert site.block is None or all(n > 0 for n in site.block)


def test_names_that_stand_for_each_other_are_no_number() -> None:
    assert launch_sites("#define A B\n#define B A\nk<<<A, B>>>();", "k") == [LaunchSite(3, None, None, 0)]


REVERSES = """constexpr int BLOCK = 96;
__global__ void reverse(int *out, const int *in, int n) {
    __shared__ int all[BLOCK];
    int i = blockIdx.x * BLOCK + threadIdx.x;
    if (i < n) all[threadIdx.x] = in[i];
    __syncthreads();
    if (i < n) out[i] = all[BLOCK - 1 - threadIdx.x];
}
void host(int *a, int *b, int n) { reverse<<<GRID, BLOCK>>>(a, b, n); }
"""


@pytest.mark.skipif(shutil.which("nvcc") is None, reason="nvcc is not installed")
@pytest.mark.parametrize(
    ("grid", "proposed"), [("3", "3"), ("1 << 20", "2"), ("dim3(1 << 10, 8)", "2,2"), ("n / BLOCK", "2")]
)
def test_a_launch_to_begin_with_has_the_ctas_of_the_source(
    grid: str, proposed: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("r.cu").write_text(REVERSES.replace("GRID", grid), encoding="utf-8")
    assert main(["check", "r.cu"]) == 2
    said = capsys.readouterr().err
    words = shlex.split(said.splitlines()[-1])
    assert (words[words.index("--block") + 1], words[words.index("--grid") + 1]) == ("96", proposed)
    assert "as in --block 96, as the source launches it in line 9" in said
    assert ("as in --grid 3, as the source launches it in line 9" in said) is (proposed == "3")
    if proposed == "3":
        assert main(words[1:]) == 0
