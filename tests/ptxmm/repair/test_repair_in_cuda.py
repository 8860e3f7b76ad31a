"""Repairs told in CUDA C++: what may be typed at a line, and that what is proposed compiles and checks."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from campaigns import some

import ptxmm
from ptxmm.cli.main import main
from ptxmm.kernels.modules import ModuleError, compile_changed
from ptxmm.repair.cuda.arguments import by_more
from ptxmm.repair.cuda.candidates import candidates
from ptxmm.repair.cuda.code import CudaCode
from ptxmm.repair.cuda.proof import CudaSource
from ptxmm.repair.judgement import Judgement
from ptxmm.repair.sites import COMPUTED, STATE, Wanted, edited

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"
compiled = pytest.mark.skipif(shutil.which("nvcc") is None, reason="nvcc is not installed")

KERNEL = """#include <cuda/atomic>
// a comment; with { brackets
using Ref = cuda::atomic_ref<int, cuda::thread_scope_block>;
__device__ int done;
__device__ void wait(int *flag) { while (*flag == 0) ; }
__global__ void k(int *x, int *flag, int n) {
    x[n] = 1;
    if (n == 0)
        *flag = 1;
    else if (n == 2) { atomicAdd(&done, 1); }
    Ref(*flag).store(2, cuda::memory_order_relaxed);
    asm volatile("st.relaxed.gpu.u32 [%0], %1;" :: "l"(x), "r"(n) : "memory");
    atomicExch(flag, 0); x[0] += 2;
    for (int i = 0; i < n; i++) {
        x[i]++;
    }
    int old = atomicCAS(flag, 0, 1);
    __threadfence_block();
    cuda::ptx::cp_async_bulk_wait_group(cuda::ptx::n32_t<1>());
}
"""


def texts(wanted: Wanted, line: int, before: int = 0) -> list[list[str]]:
    """The lines that each candidate changes or adds."""
    code = CudaCode(KERNEL)
    found = candidates(code, wanted, [(line, 5)], [(before, 5)] if before else [])
    old = KERNEL.splitlines()
    return [[text.strip() for text in edited(KERNEL, c.edits).splitlines() if text not in old] for c in found]


def order(family: str, order: str, scope: str, old: str = "weak", old_scope: str = "", name: str = "") -> Wanted:
    return Wanted("order", 1, 0, name, f"{family}.{order}.{scope}", family, order, scope, old, old_scope)


PUT = Wanted("put", 1, 0, "", "bar.sync 0")


@pytest.mark.parametrize(
    ("operation", "becomes", "orders"),
    [
        ("a.store(1, {})", "acq_rel", ["relaxed", "release"]),
        ("a.store(1, {})", "release", ["release", "relaxed"]),
        ("n = a.load({}) + f(n)", "", ["relaxed", "acquire"]),
        ("a.fetch_add(n + g(1), {})", "acq_rel", ["acq_rel", "relaxed", "acquire", "release"]),
        ("cuda::atomic_thread_fence({}, cuda::thread_scope_device)", "release", ["release", "acquire", "acq_rel"]),
    ],
)
def test_what_is_sequentially_consistent_is_offered_the_orders_that_its_operation_may_have(
    operation: str, becomes: str, orders: list[str]
) -> None:
    written = "cuda::memory_order_{}".format
    source = f"void k() {{\n    {operation.format(written('seq_cst'))};\n}}\n"
    new = f"fence.{becomes}.gpu" if becomes else ""
    wanted = Wanted("order" if becomes else "gone", 1, 0, "fence.sc.gpu", new, "fence", becomes, "gpu", "sc", "gpu")
    found = candidates(CudaCode(source), wanted, [(2, 5)], [])
    lines = [edited(source, c.edits).splitlines()[1].strip() for c in found if not c.headers]
    assert lines == [f"{operation.format(written(order))};" for order in orders]


@pytest.mark.parametrize(
    ("wanted", "line", "first"),
    [
        (order("st", "release", "gpu"), 7,
         ["cuda::atomic_ref<int, cuda::thread_scope_device>(x[n]).store(1, cuda::memory_order_release);"]),
        (order("st", "release", "gpu"), 9,
         ["cuda::atomic_ref<int, cuda::thread_scope_device>(*flag).store(1, cuda::memory_order_release);"]),
        (order("ld", "acquire", "sys"), 5,
         ["__device__ void wait(int *flag) { while (cuda::atomic_ref<int, cuda::thread_scope_system>(*flag)"
          ".load(cuda::memory_order_acquire) == 0) ; }"]),
        (order("st", "release", "cta", "relaxed", "cta"), 11, ["Ref(*flag).store(2, cuda::memory_order_release);"]),
        (order("st", "release", "gpu", "relaxed", "cta"), 11,
         ["using Ref = cuda::atomic_ref<int, cuda::thread_scope_device>;",
          "Ref(*flag).store(2, cuda::memory_order_release);"]),
        (order("st", "release", "gpu", "relaxed", "gpu", "st.relaxed.gpu.u32"), 12,
         ['asm volatile("st.release.gpu [%0], %1;" :: "l"(x), "r"(n) : "memory");']),
        (order("atom", "acquire", "gpu", "relaxed", "gpu"), 17, ["__threadfence();"]),
        (order("atom", "relaxed", "sys", "relaxed", "gpu"), 10,
         ["else if (n == 2) { atomicAdd_system(&done, 1); }"]),
        (order("fence", "sc", "gpu", "sc", "cta"), 18, ["__threadfence();"]),
        (order("fence", "acquire", "gpu", "sc", "cta"), 18,
         ["cuda::ptx::fence(cuda::ptx::sem_acquire, cuda::ptx::scope_gpu);"]),
        (order("fence", "acq_rel", "sys", "sc", "cta"), 18,
         ["cuda::atomic_thread_fence(cuda::memory_order_acq_rel, cuda::thread_scope_system);"]),
        (Wanted("gone", 1, 0, "membar.cta"), 18, []),
        (Wanted("number", 1, 0, "1", "0"), 19, ["cuda::ptx::cp_async_bulk_wait_group(cuda::ptx::n32_t<0>());"]),
        (PUT, 7, ["__syncthreads();"]),
        (PUT, 9, ["__syncthreads();"]),
    ],
)  # fmt: skip
def test_what_may_be_typed_at_a_line(wanted: Wanted, line: int, first: list[str]) -> None:
    assert texts(wanted, line)[0] == first


def test_further_ways_are_candidates_too() -> None:
    """What an `if` governs gets braces; a loop's block has two ends; an exchange is an operation of cuda::atomic_ref."""
    assert ["{ __syncthreads(); *flag = 1; }"] in texts(PUT, 9)
    assert texts(PUT, 7, 13).count(["__syncthreads();"]) >= 2
    places = {e.start for c in candidates(CudaCode(KERNEL), PUT, [(14, 5)], []) for e in c.edits}
    assert len(places) >= 3  # before it, and at both ends of its block
    (exchange,) = [t for t in texts(order("atom", "release", "gpu", "relaxed", "gpu"), 13) if "exchange" in t[0]]
    assert exchange[0].startswith(
        "cuda::atomic_ref<int, cuda::thread_scope_device>(*flag).exchange(0, cuda::memory_order_rel"
    )
    assert ["x[i]++;"] not in texts(order("st", "release", "gpu"), 15)
    assert texts(order("st", "release", "gpu"), 13)[-1][0].endswith(".store(x[0] + 2, cuda::memory_order_release);")


@pytest.mark.parametrize(
    ("statement", "lines"),
    [
        ("(void)bars[i % 2].arrive();", ["(void)bars[i % 2].arrive_and_wait();"]),
        ("auto token = bars[i].arrive();", ["auto token = bars[i].arrive();", "bars[i].wait(std::move(token));"]),
    ],
)
def test_who_arrives_waits_with_what_the_arrival_gives(statement: str, lines: list[str]) -> None:
    source = f"void k() {{\n    {statement}\n    x = 1;\n}}\n"
    wanted = Wanted("put", 9, 8, "", "{ wait; }", family=STATE)
    first = candidates(CudaCode(source), wanted, [(3, 5)], [(2, 5)])[0]
    assert [line.strip() for line in edited(source, first.edits).splitlines()[1:-2]] == lines


def test_nothing_is_typed_where_nothing_is_known() -> None:
    assert texts(Wanted("gone", 1, 0, "bar.sync"), 7) == []  # a store is no barrier
    assert texts(order("ld", "acquire", "gpu", "relaxed", "gpu"), 7) == []
    assert texts(PUT, 3) == []  # not in a function
    assert texts(PUT, 99) == []


def test_statements_are_told_apart() -> None:
    code = CudaCode(KERNEL)
    first = [code.text[s.start : s.end] for s in code.at(13, 5)]
    assert first == ["atomicExch(flag, 0);", "x[0] += 2;"]
    (head,) = code.at(14, 5)
    assert head.closer == "{" and code.text[code.behind(head) or 0 :].startswith("\n    int old")
    assert code.type_of("flag", len(KERNEL)) == "int" and code.type_of("nothing", 0) == ""
    assert code.text[: code.where_includes_go()] == "#include <cuda/atomic>\n"


def test_without_a_compiler_nothing_is_proven(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NVCC", str(tmp_path / "nothing"))
    shutil.copy(EXAMPLES / "lock.cu", tmp_path)
    ptx = (EXAMPLES / "lock.ptx").read_text(encoding="utf-8")
    line = next(i for i, text in enumerate(ptx.splitlines(), 1) if "st.relaxed.gpu.b32" in text)
    wanted = order("st", "release", "gpu", "relaxed", "gpu", "st.relaxed.gpu.b32")._replace(line=line)
    found = CudaSource(str(tmp_path / "lock.cu"), ptx, ()).rewritten([wanted], lambda _: Judgement(True))
    assert found.text == "" and "there is no such program" in found.why


@pytest.fixture
def lock(tmp_path: Path) -> Path:
    shutil.copy(EXAMPLES / "lock.cu", tmp_path)
    text = (EXAMPLES / "lock.toml").read_text(encoding="utf-8")
    (tmp_path / "lock.toml").write_text(text.replace('ptx = "lock.ptx"', 'cu = "lock.cu"'), encoding="utf-8")
    return tmp_path / "lock.toml"


@pytest.mark.long
@compiled
def test_the_lock_is_mended_in_its_source(lock: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The order is an argument of the function that has the store: it is changed where that is called."""
    assert main(["repair", f"{lock}:weak", "--apply", "--format", "json"]) == 0
    (one,) = json.loads(capsys.readouterr().out)["tests"][0]["repairs"]
    assert (
        one["source"]["proven"]
        and "+    increment(lock, counter, cuda::memory_order_release);" in one["source"]["diff"]
    )
    assert ptxmm.check(ptxmm.load(f"{lock}:weak")).verdict == "ok"
    assert (lock.parent / "lock.cu").read_text(encoding="utf-8").count("memory_order_relaxed") == 0


@pytest.mark.long
@compiled
def test_ptx_with_its_source_is_mended_in_both(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("lock.cu", "lock.ptx", "lock.toml"):
        shutil.copy(EXAMPLES / name, tmp_path)
    source = tmp_path / "lock.cu"
    source.write_bytes(source.read_bytes().replace(b"\n", b"\r\n"))
    assert main(["repair", f"{tmp_path / 'lock.toml'}:weak", "--source", str(source), "--apply"]) == 0
    out = capsys.readouterr().out
    assert "in CUDA C++, compiled again and proven by check:" in out and "st.release.gpu.b32" in out
    data = source.read_bytes()
    assert data.count(b"\r\n") == data.count(b"\n") > 9 and b"memory_order_relaxed" not in data
    assert "st.relaxed.gpu" not in (tmp_path / "lock.ptx").read_text(encoding="utf-8")


@pytest.mark.long
@compiled
def test_a_kernel_without_a_file_is_mended(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Who reads waits for a plain flag; two lines are wrong."""
    source = tmp_path / "flag.cu"
    source.write_text(
        "__device__ void tell(int *flag) {\n    if (blockIdx.x == 0)\n        *flag = 1;\n}\n"
        "__global__ void k(int *x, int *flag, int *out) {\n    if (blockIdx.x == 0)\n        *x = 42;\n    tell(flag);\n"
        "    if (blockIdx.x == 1 && atomicAdd(flag, 0) == 1)\n        *out = *x;\n}\n",
        encoding="utf-8",
    )
    words = ["--grid", "2", "--block", "1", "--arg", "x=u32[1]", "--arg", "flag=u32[1]", "--arg", "out=u32[1]", "--forall",
             "out[0] == 0 || out[0] == 42"]  # fmt: skip
    assert main(["repair", str(source), *words, "--check", "race_free", "--apply"]) == 0
    out = capsys.readouterr().out
    assert "in CUDA C++, compiled again and proven by check" in out and "\n--- a/" in out
    capsys.readouterr()
    assert main(["check", str(source), *words, "--races"]) == 0


UNROLLED = """__global__ void rows(const float *in, float *out) {
    __shared__ float all[8];
    all[threadIdx.x] = in[threadIdx.x];
    float sum = 0;
#pragma unroll
    for (int i = 0; i < 8; i++) {
        sum += all[i] * 3;
    }
    out[threadIdx.x] = sum;
}
"""


@compiled
def test_what_is_put_in_before_an_unrolled_loop_is_not_put_in_within_it(tmp_path: Path) -> None:
    path = tmp_path / "rows.cu"
    path.write_text(UNROLLED, encoding="utf-8")
    options = ("-std=c++17", "-arch=sm_90", "-lineinfo")
    module = compile_changed(UNROLLED, str(path), options)
    lines = module.splitlines()
    wrote, read = (
        next(n for n, line in enumerate(lines, 1) if line.strip().startswith(name))
        for name in ("st.shared", "ld.shared")
    )
    source = CudaSource(str(path), module, options)
    made = source.rewritten([Wanted("put", read, wrote, "", "bar.sync 0")], lambda module: Judgement(True))
    assert made.text == UNROLLED.replace("in[threadIdx.x];\n", "in[threadIdx.x];\n    __syncthreads();\n")


@pytest.mark.long
@compiled
@pytest.mark.parametrize("called", [False, True])
def test_what_stands_in_a_header_is_mended_there(
    called: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The kernel, or what it calls; whatever name the header is included by."""
    monkeypatch.chdir(tmp_path)
    Path("parts").mkdir()
    text = (EXAMPLES / "repair" / "spin.cu").read_text(encoding="utf-8")
    own = ""
    if called:
        own = "__global__ void each(int *counter) { increment(counter); }\n"
        text = text.replace("__global__ void", "static __device__ void")
    Path("parts/spin.cuh").write_text(text, encoding="utf-8")
    Path("spin.cu").write_text(f'#include "parts/spin.cuh"\n{own}', encoding="utf-8")
    words = BROKEN["spin.cu"][0]
    assert main(["repair", "spin.cu", *words, "--apply"]) == 0
    assert "--- a/parts/spin.cuh" in capsys.readouterr().out
    new = Path("parts/spin.cuh").read_text(encoding="utf-8").splitlines()
    assert [line.strip() for line in new if line not in text.splitlines()] == ["__threadfence();"] * 2
    assert main(["check", "spin.cu", *words]) == 0
    capsys.readouterr()


#: The launches of the examples that are to be repaired, and what their repair types.
BROKEN = {
    "copy.cu": (
        ["--grid", "1", "--block", "2", "--arg", "in={type='u32',elements=2,init=[3,4]}", "--arg", "out=u32[2]",
         "--forall", "out[0] == 4 && out[1] == 3"],
        ["__pipeline_wait_prior(0);"],
    ),
    "last_block.cu": (
        ["--grid", "2", "--block", "1", "--arg", "array={type='u32',elements=2,init=[3,4]}", "--arg", "result=u32[3]",
         "--forall", "result[2] == 7"],
        ["__threadfence();", "__threadfence();"],
    ),
    "spin.cu": (
        ["--grid", "2", "--block", "1", "--arg", "counter=u32[1]", "--forall", "counter[0] == 2", "--check", "race_free"],
        ["__threadfence();", "__threadfence();"],
    ),
}  # fmt: skip


@pytest.mark.long
@compiled
@pytest.mark.parametrize("name", some(3, list(BROKEN)))
def test_three_commands_lead_from_a_source_to_a_proven_fix(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words, typed = BROKEN[name]
    source = tmp_path / name
    shutil.copy(EXAMPLES / "repair" / name, source)
    assert main(["check", str(source), *words]) == 1
    assert main(["repair", str(source), *words, "--apply"]) == 0
    new = source.read_text(encoding="utf-8").splitlines()
    for line in (EXAMPLES / "repair" / name).read_text(encoding="utf-8").splitlines():
        if line in new:
            new.remove(line)
    assert [line.strip() for line in new] == typed
    assert main(["check", str(source), *words]) == 0
    capsys.readouterr()


@compiled
def test_a_source_that_does_not_compile_is_no_candidate(tmp_path: Path) -> None:
    with pytest.raises(ModuleError, match="does not compile"):
        compile_changed("__global__ void k( {", str(tmp_path / "k.cu"), ())
    assert not list(tmp_path.iterdir())


@pytest.mark.long
@compiled
def test_a_refused_source_is_told_beside_the_ptx(lock: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The line says nothing of orders: no edit is known, and --apply writes none."""
    source = lock.parent / "lock.cu"
    text = source.read_text(encoding="utf-8").replace("cuda::memory_order_relaxed)", "WEAK)")
    (lock.parent / "weak.h").write_text("#define WEAK (cuda::memory_order)0\n", encoding="utf-8")
    source.write_text(text.replace("#include", '#include "weak.h"\n#include', 1), encoding="utf-8")
    before = source.read_bytes()
    assert main(["repair", f"{lock}:weak", "--apply"]) == 2
    told = capsys.readouterr()
    assert "in CUDA C++: " in told.out and "st.release.gpu.b32" in told.out and "--apply writes nothing" in told.err
    assert source.read_bytes() == before


@pytest.mark.parametrize(
    ("made", "same"),
    [
        (["mov.u32 %r7, 256;", "st.b32 [%rd1], %r7;"], True),  # one register for both numbers
        (["mov.u32 %r7, 512;", "mov.u32 %r8, 128;", "st.b32 [%rd1], %r7;"], False),
        (["mov.u32 %r7, 256;", "st.b32 [%rd1+4], %r7;"], False),
    ],
)
def test_a_number_that_others_have_too_is_known_by_its_lines(tmp_path: Path, made: list[str], *, same: bool) -> None:
    old = ["mov.u32 %r1, 512;", "mov.u32 %r2, 256;", "st.b32 [%rd1], %r1;"]
    (tmp_path / "k.cu").write_text("", encoding="utf-8")
    source = CudaSource(str(tmp_path / "k.cu"), "\n".join(old), ())
    assert source._faithful([Wanted("number", 1, 0, "512", "256")], "\n".join(made)) == same


def test_a_count_that_is_computed_or_named_is_typed_where_a_call_is_handed_it() -> None:
    source = "__global__ void k(unsigned n) {\n    init(place(&full), 1); init(&bar, n - 1); init(&bar, PARTIES);\n}\n"
    computed, named = Wanted(COMPUTED, 1, old="0", new="1"), Wanted("number", 1, old="8", new="6")
    told = {
        (wanted.kind, column): next(
            edited(source, c.edits).splitlines()[1][column - 1 :].split(";")[0]
            for c in candidates(CudaCode(source), wanted, [(2, column)], [])
        )
        for wanted, column in ((computed, 5), (computed, 28), (named, 47))
    }
    assert told == {
        (COMPUTED, 5): "init(place(&full), 1 + 1)",
        (COMPUTED, 28): "init(&bar, n)",
        ("number", 47): "init(&bar, PARTIES - 2)",
    }
    assert by_more("n + 1", -1) == "n" and by_more("a ? b : c", 1) == "(a ? b : c) + 1" and by_more("n", -1) == "n - 1"


def test_a_comment_stays_at_the_statement_that_it_is_about() -> None:
    source = "void k() {\n    x = 1;  // the first\n    y = 1; /* the\n    second */\n}\n"
    found = {edited(source, c.edits) for line in (2, 3) for c in candidates(CudaCode(source), PUT, [], [(line, 5)])}
    assert source.replace("the first\n", "the first\n    __syncthreads();\n") in found
    assert source.replace("y = 1;", "y = 1;\n    __syncthreads();") in found


def test_an_arrival_and_its_wait_count_once_on_one_line_or_on_two(tmp_path: Path) -> None:
    """How the source is written decides how they stand in the PTX: a call is no worse than `asm`."""
    module = ".visible .entry k()\n{\n\tst.global.u32 [x], 1;\n\tret;\n}\n"
    path = tmp_path / "k.cu"
    path.write_text("__global__ void k() { x = 1; }\n", encoding="utf-8")
    source = CudaSource(str(path), module, ())
    wanted = Wanted("put", 3, 0, "", "barrier.cluster.arrive;\n\tbarrier.cluster.wait")

    def often(put_in: str) -> int:
        return source._often([wanted], module.replace("\tst.", f"{put_in}\tst."))

    call, in_asm = (
        "\tbarrier.cluster.arrive;\n\tbarrier.cluster.wait;\n",
        "\tbarrier.cluster.arrive; barrier.cluster.wait;\n",
    )
    assert (often(call), often(in_asm), often(call * 4)) == (1, 1, 4)
