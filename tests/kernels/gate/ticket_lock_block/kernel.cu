#include <cuda/atomic>
struct Statistics {
  unsigned number, sum, greatest;
};

extern "C" __global__ void k(unsigned *next, unsigned *serving, Statistics *of) {
  unsigned mine = atomicAdd(next, 1);
  cuda::atomic_ref<unsigned, cuda::thread_scope_device> served(*serving);
#if BUG
  while (served.load(cuda::memory_order_relaxed) != mine) {
#else
  while (served.load(cuda::memory_order_acquire) != mine) {
#endif
  }
  unsigned value = threadIdx.x ^ 21;
  of->number += 1;
  of->sum += value;
  if (value > of->greatest) of->greatest = value;
  served.store(mine + 1, cuda::memory_order_release);
}
