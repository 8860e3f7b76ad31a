// owner takes one element, thief steals twice, there are two; buggy: no seq_cst fence
#include <cuda/atomic>
extern "C" __global__ void k(unsigned *tp, unsigned *bt, unsigned *out) {
  cuda::atomic_ref<int, cuda::thread_scope_device> top(*(int *)tp), bottom(*(int *)bt);
  if (blockIdx.x == 0) {
    int b = bottom.load(cuda::memory_order_relaxed) - 1;
    bottom.store(b, cuda::memory_order_relaxed);
    cuda::atomic_thread_fence(BUG ? cuda::memory_order_acq_rel : cuda::memory_order_seq_cst, cuda::thread_scope_device);
    int t = top.load(cuda::memory_order_relaxed);
    unsigned got = 0;
    if (t <= b) { got = 1; if (t == b) { if (!top.compare_exchange_strong(t, t + 1, cuda::memory_order_acq_rel, cuda::memory_order_relaxed)) got = 0; } }
    out[0] = got;
  } else {
    unsigned got = 0;
    for (int i = 0; i < 2; ++i) {
      int t = top.load(cuda::memory_order_acquire);
      cuda::atomic_thread_fence(BUG ? cuda::memory_order_acq_rel : cuda::memory_order_seq_cst, cuda::thread_scope_device);
      int b = bottom.load(cuda::memory_order_acquire);
      if (t < b) got += top.compare_exchange_strong(t, t + 1, cuda::memory_order_acq_rel, cuda::memory_order_relaxed);
    }
    out[1] = got;
  }
}
