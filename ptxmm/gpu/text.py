"""Lines of a module while it is written, and what kernels do beside the test: drawn numbers, turns of a loop, stress."""

from __future__ import annotations

from ptxcore.diagnostics import Span
from ptxmm.gpu.body import BodyLine
from ptxmm.gpu.contract import CONTROL


class KernelText:
    """A kernel being written. %h_h holds the number that was drawn last; %h_control the address of the control block."""

    def __init__(self) -> None:
        self._lines: list[BodyLine] = []

    def _emit(self, text: str, span: Span | None = None) -> None:
        if text:
            self._lines.append(BodyLine(text, span))

    # The control block.

    def _word(self, place: int, register: str) -> None:
        self._emit(f"ld.global.u32 {register}, [%h_control+{4 * place}];")

    def _control(self, name: str, register: str) -> None:
        self._word(CONTROL.index(name), register)

    # Numbers and turns.

    def _next(self) -> None:
        self._emit("mad.lo.u32 %h_h, %h_h, 1664525, 1013904223;")

    def _jitter(self, name: str) -> None:
        """Some turns of a loop whose result nobody needs, which a compiler does not know."""
        self._control("jitter", "%h_t")
        self._next()
        self._emit("add.u32 %h_t, %h_t, 1;\nshr.u32 %h_n, %h_h, 8;\nrem.u32 %h_n, %h_n, %h_t;")
        self._turns(name)

    def _turns(self, name: str) -> None:
        """As many turns of a loop as %h_n says."""
        self._emit(f"JITTER_{name}:\nsetp.eq.u32 %h_p, %h_n, 0;\n@%h_p bra RUN_{name};")
        self._next()
        self._emit(
            f"sub.u32 %h_n, %h_n, 1;\nbra JITTER_{name};\nRUN_{name}:\n"
            "setp.eq.u32 %h_p, %h_h, 305419896;\n@%h_p st.global.u32 [%h_scratch], %h_h;"
        )

    # Stress.

    def _stress(self, turns: str, label: str, *, drawn: bool = False) -> None:
        """Pairs of accesses to the scratch memory, so many, or `drawn`: at most so many."""
        self._control(turns, "%h_n")
        if drawn:
            self._emit("add.u32 %h_n, %h_n, 1;\nshr.u32 %h_t, %h_h, 8;\nrem.u32 %h_n, %h_t, %h_n;")
        self._emit(f"setp.eq.u32 %h_p, %h_n, 0;\n@%h_p bra {label}_DONE;")
        self._control("stress_pattern", "%h_t")
        self._emit(
            "and.b32 %h_u, %h_t, 2;\nsetp.ne.u32 %h_q1, %h_u, 0;\nand.b32 %h_u, %h_t, 1;\nsetp.ne.u32 %h_q2, %h_u, 0;"
        )
        self._control("stress_lines", "%h_lines")
        self._control("stress_stride", "%h_u")
        self._emit(f"{label}:")
        for q in ("%h_q1", "%h_q2"):
            self._next()
            self._emit(
                "shr.u32 %h_t, %h_h, 16;\nrem.u32 %h_t, %h_t, %h_lines;\nmad.wide.u32 %h_a, %h_t, %h_u, %h_scratch;\n"
                f"@{q} ld.volatile.global.u32 %h_t, [%h_a];\n@!{q} st.volatile.global.u32 [%h_a], %h_h;"
            )
        self._emit(f"sub.u32 %h_n, %h_n, 1;\nsetp.ne.u32 %h_p, %h_n, 0;\n@%h_p bra {label};\n{label}_DONE:")

    def _stress_part(self) -> None:
        self._emit("STRESS:")
        self._control("seed", "%h_t")
        self._emit("mad.lo.u32 %h_h, %h_cta, 1024, %h_tid;\nmad.lo.u32 %h_h, %h_h, 2654435761, %h_t;")
        self._stress("stress_turns", "MORE")
        self._emit("exit;")


#: The registers of every kernel.
DECLARED = """\
.reg .b64 %h_memory, %h_results, %h_control, %h_clusters, %h_instances, %h_scratch, %h_a, %h_c, %h_v, %h_row;
.reg .b32 %h_zero, %h_cta, %h_tid, %h_groups, %h_own, %h_slots, %h_blocks, %h_per_warp, %h_rank, %h_group, %h_k;
.reg .b32 %h_warp, %h_lane, %h_slot, %h_inst, %h_index, %h_t, %h_u, %h_n, %h_h, %h_s, %h_lines;
.reg .b16 %h_half;
.reg .pred %h_p, %h_q1, %h_q2;"""
