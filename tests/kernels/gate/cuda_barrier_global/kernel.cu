// a cuda::barrier of device scope in global memory, made by block 0 and published by a flag; buggy: the flag is relaxed
#include <cuda/atomic>
#include <cuda/barrier>
#include <new>
using bar_t = cuda::barrier<cuda::thread_scope_device>;
extern "C" __global__ void k(bar_t *b, unsigned *flag, unsigned *x, unsigned *out) {
  cuda::atomic_ref<unsigned, cuda::thread_scope_device> f(*flag);
  if (blockIdx.x == 0) { new (b) bar_t(2); f.store(1, BUG ? cuda::memory_order_relaxed : cuda::memory_order_release); }
  else while (!f.load(cuda::memory_order_acquire)) {}
  x[blockIdx.x] = blockIdx.x + 1;
  b->arrive_and_wait();
  out[blockIdx.x] = x[1 - blockIdx.x];
}
