// cuda::atomic wait and notify; buggy: relaxed wait
#include <cuda/atomic>
extern "C" __global__ void k(unsigned *x, unsigned *f, unsigned *out) {
  cuda::atomic_ref<unsigned, cuda::thread_scope_device> flag(*f);
  if (blockIdx.x == 0) { *x = 42; flag.store(1, cuda::memory_order_release); flag.notify_all(); }
  else { flag.wait(0, BUG ? cuda::memory_order_relaxed : cuda::memory_order_acquire); out[0] = *x; }
}
