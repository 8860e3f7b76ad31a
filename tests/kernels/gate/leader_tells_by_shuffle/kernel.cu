// a leader lane waits for the other block and broadcasts what it found by a shuffle, which orders nothing; fixed: everybody fences and synchronises
extern "C" __global__ void k(unsigned *x, unsigned *f, unsigned *out) {
  unsigned t = threadIdx.x, v = 0;
  if (blockIdx.x == 0) { x[t] = t + 1; __threadfence(); __syncthreads(); if (t == 0) atomicExch(f, 1); return; }
  if (t == 0) { do v = atomicOr(f, 0); while (!v); __threadfence(); }
  v = __shfl_sync(0xf, v, 0);
  if (!BUG) __syncwarp(0xf);
  if (v) out[t] = x[t];
}
