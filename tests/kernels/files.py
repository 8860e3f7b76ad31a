"""Files that the tests of kernel tests write."""

from __future__ import annotations

from pathlib import Path

#: A kernel that increments a word without protection; what it computes matters little here.
PTX = """.version 9.0
.target sm_90
.address_size 64

.visible .entry k(
    .param .u64 k_param_0,
    .param .u32 k_param_1
)
{
    .reg .b32 %r<3>;
    .reg .b64 %rd<3>;
    ld.param.u64 %rd1, [k_param_0];
    ld.param.u32 %r1, [k_param_1];
    cvta.to.global.u64 %rd2, %rd1;
    st.global.u32 [%rd2], %r1;
    ret;
}
"""
TOML = """ptx = "k.ptx"
entry = "k"
grid = [2, 1, 1]
block = [1, 1, 1]

[params]
x = {type = "u32", elements = 2, init = [0, 0]}
n = {type = "u32", value = 4}

[check]
forall = "x[0] == n && x[1] == 0"
"""


def write(folder: Path, toml: str = TOML, **others: str) -> Path:
    """A kernel test and its module, and further files; gives the test's path."""
    (folder / "k.ptx").write_text(PTX, encoding="utf-8")
    for name, text in others.items():
        (folder / name.replace("__", ".")).write_text(text, encoding="utf-8")
    path = folder / "k.toml"
    path.write_text(toml, encoding="utf-8")
    return path
