// decoupled look-back with flag and value in one word of 64 bits; buggy: in two words without order
#include <cuda/atomic>
extern "C" __global__ void k(unsigned long long *st, unsigned *val, unsigned *out) {
  unsigned b = blockIdx.x, own = b + 1, excl = 0;
  cuda::atomic_ref<unsigned long long, cuda::thread_scope_device> me(st[b]);
  if (b > 0) {
    if (BUG) val[b] = own;
    me.store((1ull << 32) | own, cuda::memory_order_relaxed);
    for (int j = b - 1; j >= 0; --j) {
      cuda::atomic_ref<unsigned long long, cuda::thread_scope_device> o(st[j]);
      unsigned long long w;
      do w = o.load(cuda::memory_order_relaxed); while ((w >> 32) == 0);
      excl += BUG ? val[j] : (unsigned)w;
      if ((w >> 32) == 2) break;
    }
  }
  if (BUG) val[b] = excl + own;
  me.store((2ull << 32) | (excl + own), cuda::memory_order_relaxed);
  out[b] = excl + own;
}
