// lock-free push onto a list, a consumer takes the whole list; buggy: pushed relaxed
#include <cuda/atomic>
extern "C" __global__ void k(unsigned *hp, unsigned *nxt, unsigned *val, unsigned *out) {
  cuda::atomic_ref<unsigned, cuda::thread_scope_device> head(*hp);
  if (blockIdx.x == 0) {
    val[1] = 7;
    unsigned h = head.load(cuda::memory_order_relaxed);
    do { nxt[1] = h; } while (!head.compare_exchange_weak(h, 1, BUG ? cuda::memory_order_relaxed : cuda::memory_order_release, cuda::memory_order_relaxed));
  } else {
    unsigned n = head.exchange(0, cuda::memory_order_acquire);
    out[0] = n ? val[n] : 0;
  }
}
