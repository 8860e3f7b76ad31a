"""What a CUDA program launches, as a kernel test: structures with their fields, and buffers as the program fills them.

    python examples/record/record.py FOLDER PROGRAM.cu [OPTIONS OF NVCC]

It compiles the program, runs it with a CUDA runtime that launches nothing (`runtime.cpp`), and writes `FOLDER/PROGRAM.toml`,
its PTX, and the contents of buffers. It needs nvcc and g++, and no GPU. A word of an argument that leads into memory which
the program allocated is taken for a pointer. Buffers begin with what they hold when the program ends, since no kernel has run:
what it sets between two launches is there from the beginning. `SMS` in the environment is how many multiprocessors the
program sees (8), `ARCH` which architecture (90).
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
_WIDTHS = {"8": 1, "16": 2, "32": 4, "64": 8}
#: What the runtime puts into tensor maps. (Bit 21 is 0 in each word, as CUTLASS clears it in one of those of small tensors.)
_MARK = (0x0B8DC0DE).to_bytes(4, "little") * 31
_TYPES = ["u8", "u16", "u32", "s32", "u64", "s64", "f16", "f32", "f64", "bf16"]
_SWIZZLES = ["none", "32B", "64B", "128B", "128B_atom_32B", "128B_atom_32B_flip_8B", "128B_atom_64B"]
_INTERLEAVES, _FILLS = ["none", "16B", "32B"], ["zero", "nan"]


def parameters(ptx: str) -> dict[str, list[int]]:
    """The bytes of each parameter of each kernel."""
    found = {}
    for name, inside in re.findall(r"\.entry\s+(\w+)\s*\(([^)]*)\)", ptx):
        given = re.findall(r"\.[bsuf](8|16|32|64)\s+\w+(?:\[(\d+)\])?", inside)
        found[name] = [_WIDTHS[width] * int(many or 1) for width, many in given]
    return found


class Recorded:
    """What the runtime wrote down."""

    def __init__(self, text: str) -> None:
        self.buffers: list[tuple[int, int]] = []
        self.launches: list[tuple[list[str], list[bytes]]] = []
        self.maps: list[list[str]] = []
        for line in text.splitlines():
            what, *words = line.split()
            if what == "buffer":
                self.buffers.append((int(words[0], 16), int(words[1])))
            elif what == "launch":
                self.launches.append((words, []))
            elif what == "argument":
                self.launches[-1][1].append(bytes.fromhex("".join(words)))
            else:
                self.maps.append(words)

    def pointer(self, address: int) -> str:
        """Where an address leads; empty where it leads nowhere."""
        for number, (begin, size) in enumerate(self.buffers):
            if begin <= address <= begin + size:
                return f"&b{number}" + (f"+{address - begin}" if address > begin else "")
        return ""

    def map(self, number: int) -> str:
        """A tensor map, as a kernel test has it."""
        kind, interleave, swizzle, fill, at, _, *rest = self.maps[number]
        dims, strides, box, steps = (list(map(int, rest[i::4])) for i in range(4))
        return (
            f'{{buffer = "{self.pointer(int(at, 16))}", type = "{_TYPES[int(kind)]}", dims = {dims}, strides = {strides[1:]}, '
            f'box = {box}, element_strides = {steps}, interleave = "{_INTERLEAVES[int(interleave)]}", '
            f'swizzle = "{_SWIZZLES[int(swizzle)]}", fill = "{_FILLS[int(fill)]}"}}'
        )

    def argument(self, given: bytes) -> str:
        """An argument by its bytes."""
        whole = int.from_bytes(given, "little")
        if len(given) == 8 and self.pointer(whole):
            return f'{{value = "{self.pointer(whole)}"}}'
        if len(given) in _WIDTHS.values():
            return f'{{type = "u{8 * len(given)}", value = {whole}}}'
        return f"{{bytes = {len(given)}, fields = [{', '.join(self._fields(given))}]}}"

    def _fields(self, given: bytes) -> list[str]:
        fields, at = [], 0
        while at < len(given):
            if at % 64 == 0 and given[at : at + len(_MARK)] == _MARK:
                map_ = self.map(int.from_bytes(given[at + 124 : at + 128], "little"))
                fields.append(f"{{at = {at}, tensor_map = {map_}}}")
                at += 128
                continue
            pointer = self.pointer(int.from_bytes(given[at : at + 8], "little")) if at % 8 == 0 else ""
            size = 8 if pointer else 4 if at % 4 == 0 and at + 4 <= len(given) else 1
            value = int.from_bytes(given[at : at + size], "little")
            if pointer:
                fields.append(f'{{at = {at}, value = "{pointer}"}}')
            elif value:
                fields.append(f'{{at = {at}, type = "u{8 * size}", value = {value}}}')
            at += size
        return fields

    def toml(self, ptx: str, folder: Path) -> str:
        """The kernel test; contents of buffers go into files of the folder."""
        import numpy

        lines = [f'ptx = "{ptx}"', "[check]", "race_free = true", "terminates = true", "[params]"]
        kernels, memory = [], ["[memory]"]
        for number, (words, arguments) in enumerate(self.launches):
            name, sizes = words[0], list(map(int, words[1:]))
            names = [f"k{number}_{place}" for place in range(len(arguments))]
            lines += [f"{name} = {self.argument(a)}" for name, a in zip(names, arguments, strict=True)]
            kernels += [
                "[[kernel]]",
                f'entry = "{name}"',
                f"grid = {sizes[:3]}",
                f"block = {sizes[3:6]}",
                f"args = {names}",
            ]
            kernels += [f"cluster = {sizes[6:9]}"] * (sizes[6:9] != [1, 1, 1]) + [f"dynamic_shared = {sizes[9]}"]
        for number, (_, size) in enumerate(self.buffers):
            bits = 8 if size % 4 else 32
            held = numpy.fromfile(folder / f"b{number}.bin", dtype=f"u{bits // 8}")
            if held.any():
                numpy.save(folder / f"b{number}.npy", held)
            init = f', init = "b{number}.npy"' if held.any() else ""
            memory.append(f'b{number} = {{type = "u{bits}", elements = {len(held)}, align = 256{init}}}')
            (folder / f"b{number}.bin").unlink()
        return "\n".join([*lines, *memory, *kernels]) + "\n"


def main(folder: Path, program: Path, options: list[str]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    nvcc = os.environ.get("NVCC", "nvcc")
    shared = ["-std=c++17", "-lineinfo", "--expt-relaxed-constexpr", "-w", *options]
    shared += [] if any(option.startswith("-arch") for option in options) else ["-arch=sm_90"]
    ptx = folder / f"{program.stem}.ptx"
    subprocess.run([nvcc, *shared, "-ptx", str(program), "-o", str(ptx)], check=True)
    told = parameters(ptx.read_text())
    (folder / "sizes.txt").write_text("".join(f"{name} {' '.join(map(str, s))}\n" for name, s in told.items()))
    sources, made = [str(program), str(HERE / "runtime.cpp")], (folder / "program").resolve()
    subprocess.run([nvcc, *shared, "-cudart", "none", *sources, "-o", str(made)], check=True)
    subprocess.run([str(made)], cwd=folder, check=True)
    recorded = Recorded((folder / "recorded.txt").read_text())
    (folder / f"{program.stem}.toml").write_text(recorded.toml(ptx.name, folder))
    for name in ("program", "sizes.txt", "recorded.txt"):
        (folder / name).unlink()
    print(folder / f"{program.stem}.toml")


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    main(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3:])
