// a grid barrier by one counter that only grows, used twice; buggy: the second wait is for the first goal
__device__ __noinline__ void arrive_and_wait(unsigned *c, unsigned goal) {
  asm volatile("{\n\t.reg .u32 v; .reg .pred p;\n\tred.release.gpu.global.add.u32 [%0], 1;\n$again_%=:\n\tld.acquire.gpu.global.u32 v, [%0];\n\tsetp.lt.u32 p, v, %1;\n\t@p bra $again_%=;\n\t}" :: "l"(c), "r"(goal) : "memory");
}
extern "C" __global__ void k(unsigned *c, unsigned *x, unsigned *y, unsigned *out) {
  unsigned b = blockIdx.x;
  x[b] = 10 * (b + 1);
  arrive_and_wait(c, 2);
  y[b] = x[b ^ 1] + x[b ^ 1] / 10;
  arrive_and_wait(c, BUG ? 2 : 4);
  out[b] = y[b];
  if (y[b ^ 1] == 0) out[b] = 0;
}
