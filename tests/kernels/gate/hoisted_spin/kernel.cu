// a wait for a flag; buggy: it is not volatile, nvcc reads it once
extern "C" __global__ void k(unsigned *f, unsigned *out) {
  if (blockIdx.x == 0) { *(volatile unsigned *)f = 1; return; }
  if (BUG) { while (*f == 0) { asm volatile(""); } } else while (*(volatile unsigned *)f == 0) { }
  *out = 1;
}
