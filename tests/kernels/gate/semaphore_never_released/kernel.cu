// cuda::counting_semaphore::try_acquire again and again; buggy: nobody gives it back
#include <cuda/semaphore>
extern "C" __global__ void k(unsigned *raw, unsigned *x) {
  auto *s = reinterpret_cast<cuda::counting_semaphore<cuda::thread_scope_device> *>(raw);
  while (!s->try_acquire()) {}
  *x = *x + 1;
  if (!BUG) s->release();
}
