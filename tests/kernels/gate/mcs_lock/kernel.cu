// MCS lock of two threads; buggy: the successor is released relaxed
#include <cuda/atomic>
extern "C" __global__ void k(unsigned *tail, unsigned *nxt, unsigned *locked, unsigned *x) {
  using A = cuda::atomic_ref<unsigned, cuda::thread_scope_device>;
  unsigned me = blockIdx.x + 1;
  A(locked[me]).store(1, cuda::memory_order_relaxed);
  unsigned prev = A(*tail).exchange(me, cuda::memory_order_acq_rel);
  if (prev) { A(nxt[prev]).store(me, cuda::memory_order_release); while (A(locked[me]).load(cuda::memory_order_acquire)) {} }
  *x = *x + 1;
  unsigned e = me;
  if (!A(*tail).compare_exchange_strong(e, 0, cuda::memory_order_release, cuda::memory_order_relaxed)) {
    unsigned n;
    while (!(n = A(nxt[me]).load(cuda::memory_order_acquire))) {}
    A(locked[n]).store(0, BUG ? cuda::memory_order_relaxed : cuda::memory_order_release);
  }
}
