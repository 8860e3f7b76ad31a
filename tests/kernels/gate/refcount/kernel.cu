// the last owner frees: decrement with release, fence before the use; buggy: relaxed decrement
#include <cuda/atomic>
extern "C" __global__ void k(int *count, unsigned *data, unsigned *freed) {
  cuda::atomic_ref<int, cuda::thread_scope_device> c(*count);
  data[blockIdx.x] = 10;
  if (c.fetch_sub(1, BUG ? cuda::memory_order_relaxed : cuda::memory_order_release) == 1) {
    cuda::atomic_thread_fence(cuda::memory_order_acquire, cuda::thread_scope_device);
    *freed = data[0] + data[1] + data[2];
    data[0] = 0xdead;
  }
}
