// the last block resets the counter for the next launch; buggy: it does not
extern "C" __global__ void k(unsigned *part, unsigned *count, unsigned *out, unsigned i) {
  unsigned b = blockIdx.x;
  part[b] = b + 1;
  __threadfence();
  if (atomicAdd(count, 1u) == 1) {
    __threadfence();
    out[i] = part[0] + part[1];
    if (!BUG) atomicExch(count, 0u);
  }
}
