// each rank adds a tag to its counter of a peer and takes it off the peer's counter of itself; buggy: without fences
extern "C" __global__ void k(int *sig, unsigned *x, unsigned *out) {
  int r = blockIdx.x, t = threadIdx.x, v;
  if (t == 0) x[r] = r + 1;
  if (!BUG) __threadfence_system();
  __syncthreads();
  if (t < 2) {
    if (!BUG) __threadfence_system();
    atomicAdd_system(sig + 2 * r + t, 7);
    atomicSub_system(sig + 2 * t + r, 7);
    do asm volatile("ld.volatile.global.s32 %0, [%1];" : "=r"(v) : "l"(sig + 2 * r + t) : "memory"); while (v > 0);
    __threadfence_system();
  }
  __syncthreads();
  if (t == 1) out[r] = x[1 - r];
}
