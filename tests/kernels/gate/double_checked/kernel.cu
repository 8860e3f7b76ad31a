// initialised once behind a flag; buggy: the flag is read relaxed
#include <cuda/atomic>
extern "C" __global__ void k(unsigned *fp, unsigned *lp, unsigned *x, unsigned *out) {
  cuda::atomic_ref<unsigned, cuda::thread_scope_device> f(*fp), l(*lp);
  if (!f.load(BUG ? cuda::memory_order_relaxed : cuda::memory_order_acquire)) {
    while (l.exchange(1, cuda::memory_order_acquire)) {}
    if (!f.load(cuda::memory_order_relaxed)) { *x = 5; f.store(1, cuda::memory_order_release); }
    l.store(0, cuda::memory_order_release);
  }
  out[blockIdx.x] = *x;
}
