// a grid barrier by the sign bit of one counter, used twice; buggy: no fence behind the wait
__device__ static void grid_sync(unsigned *arrived) {
  unsigned nb = 1;
  if (blockIdx.x == 0) nb = 0x80000000u - (gridDim.x - 1);
  __threadfence();
  unsigned old = atomicAdd(arrived, nb);
  while ((((old ^ *(volatile unsigned *)arrived) & 0x80000000u) == 0)) { }
  if (!BUG) __threadfence();
}
extern "C" __global__ void k(unsigned *x, unsigned *arrived, unsigned *out) {
  unsigned b = blockIdx.x;
  x[b] = b + 1;
  grid_sync(arrived);
  out[b] = x[(b + 1) % 3] + x[(b + 2) % 3];
  grid_sync(arrived);
  x[b] = 7;
}
