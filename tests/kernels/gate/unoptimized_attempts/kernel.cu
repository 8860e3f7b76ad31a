// three looks at a flag, counted on the stack, not optimized; buggy: the reader goes on without having seen it
// (nvcc -Xcicc -O0)
__device__ bool look(volatile unsigned *flag, int *attempts) {
  *attempts += 1;
  bool seen = *flag != 0;
  __threadfence();
  return seen;
}
extern "C" __global__ void k(unsigned *flag, unsigned *data, unsigned *out) {
  if (blockIdx.x == 0) {
    *data = 42;
    __threadfence();
    *(volatile unsigned *)flag = 1;
    return;
  }
  int attempts = 0;
  bool seen = false;
  while (!seen && attempts < 3) seen = look(flag, &attempts);
  *out = seen || BUG ? *data : attempts;
}
