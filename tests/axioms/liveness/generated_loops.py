"""Small loops that wait for each other, at random: loads, stores, exchanges, compare-and-swaps, in the short dialect."""

from __future__ import annotations

import random


def loops(seed: int, *, locations: int = 1, rich: bool = False, ctas: bool = False) -> str:
    """A test of two or three threads of a few instructions; `rich` ones have more than loads, stores and exchanges."""
    some = random.Random(seed)
    threads = some.choice([2, 2, 3])
    columns = [_thread(some, t, 3 if threads == 2 else 2, locations, rich) for t in range(threads)]
    height = max(map(len, columns))
    rows = [[*column, *[""] * (height - len(column))] for column in columns]
    body = "\n".join(" | ".join(row) + " ;" for row in zip(*rows, strict=True))
    head = " | ".join(f"P{t}@cta {some.randrange(threads) if ctas else 0},gpu 0" for t in range(threads))
    names = " ".join(f"m{i} = 0;" for i in range(locations))
    registers = " ".join(f"P{t}:r{t} = 0;" for t in range(threads))
    return f"PTX loops{seed}\n{{ {names} {registers} }}\n{head} ;\n{body}\nexists 0 == 0\n"


def _thread(some: random.Random, t: int, most: int, locations: int, rich: bool) -> list[str]:
    lines: list[str] = []
    for i in range(some.randrange(1, most + 1)):
        place, number = f"m{some.randrange(locations)}", some.randrange(3 if rich else 2)
        atom = some.choice(["exch", "exch", "cas", "and", "or"]) if rich else "exch"
        more = f", {some.randrange(3)}" if atom == "cas" else ""
        looks = [f"ld.relaxed.gpu r{t}, {place}", f"atom.relaxed.gpu.{atom} r{t}, {place}, {number}{more}"]
        kind = some.choices(["store", "look", "loop"], [3, 1, 7])[0]
        if kind == "store":
            lines.append(f"st.relaxed.gpu {place}, {number}")
        elif kind == "look":
            lines.append(some.choice(looks))
        else:
            branch = f"{some.choice(['beq', 'bne'])} r{t}, {some.randrange(2)}, LC{t}{i + 1}"
            lines += [f"LC{t}{i}:", some.choice(looks), branch, f"goto LC{t}{i}", f"LC{t}{i + 1}:"]
    return _without_repeated_labels(lines)


def _without_repeated_labels(lines: list[str]) -> list[str]:
    """A label between two loops stands once."""
    return [line for i, line in enumerate(lines) if not (line.endswith(":") and line in lines[:i])]
