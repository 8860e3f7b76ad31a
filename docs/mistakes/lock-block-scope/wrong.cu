#include <cuda/atomic>

using atomic = cuda::atomic_ref<unsigned, cuda::thread_scope_block>;

extern "C" __global__ void count(unsigned *lock, unsigned *x) {
  while (atomic(*lock).exchange(1, cuda::memory_order_acquire) != 0) {}
  *x = *x + 1;
  atomic(*lock).store(0, cuda::memory_order_release);
}
