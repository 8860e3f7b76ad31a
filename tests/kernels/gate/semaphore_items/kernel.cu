// cuda::counting_semaphore: a producer releases two items; buggy: before they are there
#include <cuda/atomic>
#include <cuda/barrier>
#include <cuda/latch>
#include <cuda/semaphore>
#include <cuda/std/atomic>
#include <cuda/std/semaphore>
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
extern "C" __global__ void k(unsigned *raw, unsigned *d, unsigned *out) {
  auto *s = reinterpret_cast<cuda::counting_semaphore<cuda::thread_scope_device> *>(raw);
  if (blockIdx.x == 0) {
    if (BUG) s->release(2);
    d[0] = 5;
    d[1] = 6;
    if (!BUG) s->release(2);
  } else {
    s->acquire();
    out[blockIdx.x - 1] = d[blockIdx.x - 1];
  }
}
