// NCCL's LL protocol: data and flag side by side; fixed: as one word of 64 bits, buggy: as one volatile vector of four
extern "C" __global__ void k(unsigned *line, unsigned *out) {
  const unsigned flag = 1;
  if (blockIdx.x == 0) {
#if BUG
    asm volatile("st.volatile.global.v4.u32 [%0], {%1,%2,%3,%4};" :: "l"(line), "r"(11), "r"(flag), "r"(22), "r"(flag) : "memory");
#else
    asm volatile("st.volatile.global.u64 [%0], %1;" :: "l"(line), "l"(11ull | (unsigned long long)flag << 32) : "memory");
    asm volatile("st.volatile.global.u64 [%0], %1;" :: "l"(line + 2), "l"(22ull | (unsigned long long)flag << 32) : "memory");
#endif
  } else {
    unsigned d1, f1, d2, f2;
    do {
#if BUG
      asm volatile("ld.volatile.global.v4.u32 {%0,%1,%2,%3}, [%4];" : "=r"(d1), "=r"(f1), "=r"(d2), "=r"(f2) : "l"(line) : "memory");
#else
      unsigned long long a, b;
      asm volatile("ld.volatile.global.u64 %0, [%1];" : "=l"(a) : "l"(line) : "memory");
      asm volatile("ld.volatile.global.u64 %0, [%1];" : "=l"(b) : "l"(line + 2) : "memory");
      d1 = (unsigned)a, f1 = a >> 32, d2 = (unsigned)b, f2 = b >> 32;
#endif
    } while (f1 != flag || f2 != flag);
    out[0] = d1; out[1] = d2;
  }
}
