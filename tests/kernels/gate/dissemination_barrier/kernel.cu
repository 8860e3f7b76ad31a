// a dissemination barrier of four blocks; buggy: the second round's flags are read relaxed
#include <cuda/atomic>
extern "C" __global__ void k(unsigned *flags, unsigned *x, unsigned *out) {
  const unsigned b = blockIdx.x, n = gridDim.x;
  x[b] = b + 1;
  unsigned round = 0;
#pragma unroll
  for (unsigned d = 1; d < 4; d <<= 1, ++round) {
    cuda::atomic_ref<unsigned, cuda::thread_scope_device> to(flags[round * 4 + (b + d) % n]), mine(flags[round * 4 + b]);
    to.store(1, cuda::memory_order_release);
    while (!mine.load(BUG && round == 1 ? cuda::memory_order_relaxed : cuda::memory_order_acquire)) { }
  }
  unsigned s = 0;
  for (unsigned i = 0; i < 4; ++i) s += x[i];
  out[b] = s;
}
