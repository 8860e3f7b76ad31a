// bounded queue whose slots have sequence numbers, one slot is used twice; buggy: the slot is published relaxed
#include <cuda/atomic>
using ref = cuda::atomic_ref<unsigned, cuda::thread_scope_device>;
struct queue { unsigned seq[2], data[2]; };
extern "C" __global__ void k(queue *q, unsigned *out) {
  if (blockIdx.x == 0) {
    for (unsigned i = 0; i < 3; ++i) {
      ref s(q->seq[i & 1]);
      while (s.load(cuda::memory_order_acquire) != (i >> 1) * 2) {}
      q->data[i & 1] = i + 1;
      s.store((i >> 1) * 2 + 1, BUG ? cuda::memory_order_relaxed : cuda::memory_order_release);
    }
  } else {
    for (unsigned i = 0; i < 3; ++i) {
      ref s(q->seq[i & 1]);
      while (s.load(cuda::memory_order_acquire) != (i >> 1) * 2 + 1) {}
      out[i] = q->data[i & 1];
      s.store((i >> 1) * 2 + 2, cuda::memory_order_release);
    }
  }
}
