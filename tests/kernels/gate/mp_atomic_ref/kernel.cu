// message passing with cuda::atomic_ref; buggy: the flag is stored and loaded relaxed
#include <cuda/atomic>
extern "C" __global__ void k(unsigned *x, unsigned *f, unsigned *out) {
  cuda::atomic_ref<unsigned, cuda::thread_scope_device> flag(*f);
  if (blockIdx.x == 0) { *x = 42; flag.store(1, BUG ? cuda::memory_order_relaxed : cuda::memory_order_release); }
  else { if (flag.load(BUG ? cuda::memory_order_relaxed : cuda::memory_order_acquire)) out[0] = *x; else out[0] = 7; }
}
