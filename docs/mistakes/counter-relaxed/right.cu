#include <cuda/atomic>

using atomic = cuda::atomic_ref<unsigned, cuda::thread_scope_device>;

extern "C" __global__ void hand_over(unsigned *buffer, unsigned *arrived, unsigned *out) {
  if (blockIdx.x == 0) {
    *buffer = 42;
    atomic(*arrived).fetch_add(1, cuda::memory_order_release);
  } else {
    while (atomic(*arrived).load(cuda::memory_order_acquire) == 0) {}
    *out = *buffer;
  }
}
