// CUTLASS's barrier between blocks: one thread adds to a flag for its block, one waits for its own; buggy: its block does not
// wait for it
extern "C" __global__ void k(int *flag, unsigned *x, unsigned *out, unsigned n) {
  unsigned t = threadIdx.x;
  if (blockIdx.x == 0) {
    x[t] = n + t;
    __syncthreads();
    if (t == 0) {
      asm volatile("fence.acq_rel.gpu;\n");
      asm volatile("red.relaxed.gpu.global.add.s32 [%0], %1;\n" ::"l"(flag), "r"(1) : "memory");
    }
  } else {
    if (t == 0) {
      int seen;
      do asm volatile("ld.global.acquire.gpu.b32 %0, [%1];\n" : "=r"(seen) : "l"(flag) : "memory");
      while (seen != 1);
    }
    if (!BUG) __syncthreads();
    if (t == 5) out[0] = x[31];
  }
}
