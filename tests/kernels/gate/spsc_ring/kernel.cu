// one producer, one consumer, a ring of two; buggy: the producer does not wait for room with acquire
#include <cuda/atomic>
extern "C" __global__ void k(unsigned *b, unsigned *h, unsigned *t, unsigned *out) {
  cuda::atomic_ref<unsigned, cuda::thread_scope_device> head(*h), tail(*t);
  if (blockIdx.x == 0) {
    for (unsigned i = 0; i < 2; ++i) {
      while (i - head.load(BUG ? cuda::memory_order_relaxed : cuda::memory_order_acquire) >= 1) {}
      b[0] = i + 1;
      tail.store(i + 1, cuda::memory_order_release);
    }
  } else {
    for (unsigned i = 0; i < 2; ++i) {
      while (tail.load(cuda::memory_order_acquire) == i) {}
      out[i] = b[0];
      head.store(i + 1, BUG ? cuda::memory_order_relaxed : cuda::memory_order_release);
    }
  }
}
