// cuda::counting_semaphore of block scope as a lock of four threads; buggy: not taken
#include <cuda/atomic>
#include <cuda/barrier>
#include <cuda/latch>
#include <cuda/semaphore>
#include <cuda/std/atomic>
#include <cuda/std/semaphore>
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
extern "C" __global__ void k(unsigned *raw, unsigned *x) {
  auto *s = reinterpret_cast<cuda::counting_semaphore<cuda::thread_scope_block> *>(raw);
  if (!BUG) s->acquire();
  *x = *x + 1;
  if (!BUG) s->release();
}
