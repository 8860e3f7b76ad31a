#include <cuda/atomic>

using atomic = cuda::atomic_ref<unsigned, cuda::thread_scope_device>;

extern "C" __global__ void scan(unsigned *value, unsigned *status) {
  unsigned b = blockIdx.x, sum = b + 1;
  if (b > 0) {
    while (atomic(status[b - 1]).load(cuda::memory_order_acquire) == 0) {}
    sum += value[b - 1];
  }
  value[b] = sum;
  atomic(status[b]).store(1, cuda::memory_order_release);
}
