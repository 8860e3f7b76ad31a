// data of a vector says itself whether it is there; buggy: only its last word is looked at
extern "C" __global__ void k(unsigned *buf, unsigned *out) {
  if (blockIdx.x == 0) {
    asm volatile("st.volatile.global.v4.u32 [%0], {%1, %2, %3, %4};" :: "l"(buf), "r"(10), "r"(11), "r"(12), "r"(13) : "memory");
  } else {
    unsigned a, b, c, d;
    bool again;
    do {
      asm volatile("ld.volatile.global.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(a), "=r"(b), "=r"(c), "=r"(d) : "l"(buf) : "memory");
      again = BUG ? d == ~0u : a == ~0u || b == ~0u || c == ~0u || d == ~0u;
    } while (again);
    out[0] = a; out[1] = b; out[2] = c; out[3] = d;
  }
}
