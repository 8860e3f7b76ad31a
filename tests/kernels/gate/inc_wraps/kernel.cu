// atomicInc brings the counter back to 0 for the next launch; buggy: it wraps one too late
extern "C" __global__ void k(unsigned *part, unsigned *count, unsigned *out) {
  const unsigned b = blockIdx.x;
  part[b] += b + 1;
  __threadfence();
  if (atomicInc(count, gridDim.x - (BUG ? 0 : 1)) == gridDim.x - 1) {
    __threadfence();
    *out = part[0] + part[1];
  }
}
