// Michael and Scott's queue by indices: two enqueuers, a swinging tail; buggy: the link is stored plainly and relaxed
#include <cuda/atomic>
using aref = cuda::atomic_ref<unsigned, cuda::thread_scope_device>;
constexpr auto rlx = cuda::std::memory_order_relaxed, acq = cuda::std::memory_order_acquire, rel = cuda::std::memory_order_release;
extern "C" __global__ void k(unsigned *value, unsigned *next, unsigned *head, unsigned *tail, unsigned *out) {
  if (blockIdx.x == 0) {
    unsigned node = 1;
    value[node] = 11;
    aref(next[node]).store(0, rlx);
    for (;;) {
      unsigned t = aref(*tail).load(acq), n = aref(next[t]).load(acq);
      if (n == 0) {
        if (aref(next[t]).compare_exchange_weak(n, node, BUG ? rlx : rel, rlx)) { aref(*tail).compare_exchange_strong(t, node, BUG ? rlx : rel, rlx); break; }
      } else aref(*tail).compare_exchange_strong(t, n, rel, rlx);
    }
  } else {
    for (int i = 0; i < 2; ++i) {
      unsigned h = aref(*head).load(acq), t = aref(*tail).load(acq), n = aref(next[h]).load(acq);
      if (h == t) { if (n == 0) return; aref(*tail).compare_exchange_strong(t, n, rel, rlx); }
      else { unsigned v = value[n]; if (aref(*head).compare_exchange_strong(h, n, cuda::std::memory_order_acq_rel, rlx)) { *out = v; return; } }
    }
  }
}
