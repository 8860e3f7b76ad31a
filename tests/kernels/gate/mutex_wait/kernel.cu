// a mutex over exchange, wait and notify; buggy: opened without release
#include <cuda/atomic>
#include <cuda/barrier>
#include <cuda/latch>
#include <cuda/semaphore>
#include <cuda/std/atomic>
#include <cuda/std/semaphore>
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
extern "C" __global__ void k(unsigned *f, unsigned *x) {
  cuda::atomic_ref<unsigned, cuda::thread_scope_device> flag(*f);
  while (flag.exchange(1, cuda::memory_order_acquire)) flag.wait(1, cuda::memory_order_relaxed);
  *x = *x + 1;
  flag.store(0, BUG ? cuda::memory_order_relaxed : cuda::memory_order_release);
  flag.notify_one();
}
