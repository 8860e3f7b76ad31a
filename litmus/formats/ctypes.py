"""The C types of init blocks, which herd's tests have, and what each is in PTX."""

from __future__ import annotations

#: An `int` has 32 bits, a `long` 64, as CUDA has them on the systems it is used on.
C_TYPES = {
    **{f"{sign}int{bits}_t": f".{kind}{bits}" for sign, kind in (("", "s"), ("u", "u")) for bits in (8, 16, 32, 64)},
    "char": ".s8",
    "short": ".s16",
    "int": ".s32",
    "long": ".s64",
    "unsigned": ".u32",
    "size_t": ".u64",
    "ptrdiff_t": ".s64",
    "intptr_t": ".s64",
    "uintptr_t": ".u64",
}
#: What stands before a type and means nothing here: every access says itself how it is made.
QUALIFIERS = ("_Atomic", "volatile", "const")
