"""Words of other tools, and of everyday language, for those of a kernel test."""

from __future__ import annotations

from collections.abc import Iterable

from ptxcore.diagnostics import nearest

#: What people write, by what it is called here. A word may mean several things, in different places.
_CALLED = {
    # verdicts
    "ok": "holds hold pass passes passed true yes correct safe good success allowed valid verified satisfied",
    "no": "violated violates violation fail fails failed failure false broken bug buggy wrong bad unsafe forbidden",
    "undefined": "ub undefined_behavior undefined_behaviour",
    # checks
    "forall": "always assert assertion ensure ensures invariant globally post postcondition expect_all",
    "exists": "sometimes possible possibly reachable allow allows some eventually",
    "never": "forbid forbids forbidden not_exists unreachable impossible ~exists none",
    "race_free": "no_race no_races norace race races data_race data_race_free drf",
    "no_deadlock": "deadlock deadlock_free",
    "terminates": "live liveness hang hangs no_hang no_hangs halts ends finishes termination no_livelock",
    "no_trap": "no_assert no_assertion no_assertions no_crash no_abort asserts",
    # a test
    "grid": "blocks ctas num_blocks griddim grid_size gridsize",
    "block": "threads num_threads blockdim block_size blocksize threads_per_block",
    "cluster": "clusterdim cluster_size clusters",
    "dynamic_shared": "smem shared_memory shared_bytes shmem",
    "device": "gpu gpus devices device_id ordinal",
    "entry": "function func symbol kernel_name",
    "ptx": "file path source module",
    "cu": "cuda",
    "nvcc": "flags options nvcc_flags compile_options",
    "params": "arguments parameters buffers inputs memory",
    "bounds": "unroll loops bound max_turns",
    "variant": "test tests case cases variants",
    "expect": "expected verdict result outcome",
    "progress": "scheduler scheduling fairness progress_model forward_progress",
    "resident": "residency max_resident resident_ctas concurrent",
    "description": "title comment",
    "args": "arguments parameters",
    # an argument
    "type": "kind dtype",
    "elements": "size length count len n number",
    "init": "initial values data contents",
    # types
    "u8": "uint8 uint8_t uchar byte bool",
    "u16": "uint16 uint16_t ushort",
    "u32": "uint32 uint32_t uint unsigned dword word",
    "u64": "uint64 uint64_t ulong size_t pointer ptr",
    "s8": "int8 int8_t i8 char",
    "s16": "int16 int16_t i16 short",
    "s32": "int32 int32_t i32 int integer",
    "s64": "int64 int64_t i64 long",
    "f16": "half float16 fp16",
    "f32": "float float32 fp32",
    "f64": "double float64 fp64",
    "bf16": "bfloat16",
}
_MEANT: dict[str, list[str]] = {}
for _word, _others in _CALLED.items():
    for _other in _others.split():
        _MEANT.setdefault(_other, []).append(_word)
#: What is said on the command line.
_OPTIONS = ("model", "timeout", "engine", "backend", "jobs", "why", "unroll")


def suggested(word: str, known: Iterable[str]) -> str | None:
    """`did you mean 'X'?` for the word that is meant by one that is none, as far as that shows."""
    names = list(known)
    plain = word.strip().lower()
    for meant in (plain, *_MEANT.get(plain, ())):
        if meant in names:
            return f"did you mean '{meant}'?"
    if plain in _OPTIONS:
        return f"that is an option of the command: ptxmm check --{plain}"
    return nearest(plain, names)
