// cuda::counting_semaphore::try_acquire; buggy: given back, so that both may take it
#include <cuda/atomic>
#include <cuda/barrier>
#include <cuda/latch>
#include <cuda/semaphore>
#include <cuda/std/atomic>
#include <cuda/std/semaphore>
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
extern "C" __global__ void k(unsigned *raw, unsigned *x) {
  auto *s = reinterpret_cast<cuda::counting_semaphore<cuda::thread_scope_device> *>(raw);
  if (s->try_acquire()) {
    *x = *x + 1;
    if (BUG) s->release();
  }
}
