"""Reads of vectors that find some elements of a write and miss others, in words."""

from __future__ import annotations

#: What is wrong with a read of a vector that finds some elements of a write and misses others, in few words; why it may
#: (section 8.2.4), and who reads that otherwise.
BRIEFLY_TORN = "a vector, accessed element by element"
BY_ELEMENTS = (
    "the elements of a vector are accessed each by itself, in any order (section 8.2.4); --whole-vectors takes one of at most "
    "16 bytes for one access"
)
