// two warps hand a buffer of two stages over at named barriers, full and empty; buggy: nobody says that a stage is empty again
__device__ void wait(int b) { asm volatile("bar.sync %0, 64;" :: "r"(b) : "memory"); }
__device__ void tell(int b) { asm volatile("bar.arrive %0, 64;" :: "r"(b) : "memory"); }
extern "C" __global__ void k(unsigned *out) {
  __shared__ unsigned s[2][32];
  unsigned lane = threadIdx.x % 32, sum = 0;
  if (threadIdx.x < 32) {
    for (int i = 0; i < 4; i++) {
      if (i >= 2) wait(3 + i % 2);
      s[i % 2][lane] = i + 1;
      tell(1 + i % 2);
    }
  } else {
    for (int i = 0; i < 4; i++) {
      wait(1 + i % 2);
      sum += s[i % 2][31 - lane];
      if (i < 2 && !BUG) tell(3 + i % 2);
    }
    out[lane] = sum;
  }
}
