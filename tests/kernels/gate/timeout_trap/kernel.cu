// who waits too long traps, and no execution of the kernel ends then; buggy: the flag is published by a volatile store alone
extern "C" __global__ void k(unsigned *x, int *flag, unsigned *out, unsigned n) {
  if (blockIdx.x == 0) {
    x[0] = n;
    if (!BUG) asm volatile("st.release.sys.global.s32 [%0], 1;" ::"l"(flag) : "memory");
    else *(volatile int *)flag = 1;
  } else {
    auto start = clock64();
    for (;;) {
      int seen;
      asm volatile("ld.acquire.sys.global.s32 %0, [%1];" : "=r"(seen) : "l"(flag) : "memory");
      if (seen) break;
      if (clock64() - start > 2000000000) __trap();
    }
    out[0] = x[0];
  }
}
