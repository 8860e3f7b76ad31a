// the counter is reset by a plain store, ordered behind acq_rel additions, or (FENCED) behind relaxed ones between fences, by who observed the other one; buggy: no fences
extern "C" __global__ void k(unsigned *part, unsigned *count, unsigned *out) {
  unsigned b = blockIdx.x, old;
  part[b] = b + 1;
  if (FENCED) { __threadfence(); old = atomicAdd(count, 1u); __threadfence(); }
  else if (BUG) old = atomicAdd(count, 1u);
  else asm volatile("atom.acq_rel.gpu.global.add.u32 %0, [%1], 1;" : "=r"(old) : "l"(count) : "memory");
  if (old == 1) {
    out[0] = part[0] + part[1];
    count[0] = 0;
  }
}
