// grid barrier by generations used twice; buggy: the last arriver opens it relaxed
#include <cuda/atomic>
__device__ void sync(unsigned *np, unsigned *gp) {
  cuda::atomic_ref<unsigned, cuda::thread_scope_device> n(*np), gen(*gp);
  unsigned g = gen.load(cuda::memory_order_acquire);
  if (n.fetch_add(1, cuda::memory_order_acq_rel) == gridDim.x - 1) { n.store(0, cuda::memory_order_relaxed); gen.store(g + 1, BUG ? cuda::memory_order_relaxed : cuda::memory_order_release); }
  else while (gen.load(cuda::memory_order_acquire) == g) {}
}
extern "C" __global__ void k(unsigned *x, unsigned *n, unsigned *gen, unsigned *out) {
  unsigned b = blockIdx.x;
  x[b] = 7; sync(n, gen); x[b] = b + 1; sync(n, gen);
  out[b] = x[1 - b];
}
