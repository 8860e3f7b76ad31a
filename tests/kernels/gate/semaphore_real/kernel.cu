// cuda::binary_semaphore in global memory as a lock; buggy: not taken
#include <cuda/atomic>
#include <cuda/semaphore>
extern "C" __global__ void k(unsigned *raw, unsigned *x) {
  auto *s = reinterpret_cast<cuda::binary_semaphore<cuda::thread_scope_device> *>(raw);
  if (!BUG) s->acquire();
  *x = *x + 1;
  if (!BUG) s->release();
}
