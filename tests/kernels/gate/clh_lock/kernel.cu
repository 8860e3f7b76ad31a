// CLH lock of three blocks; buggy: the tail is exchanged relaxed and the predecessor is watched relaxed
#include <cuda/atomic>
namespace c = cuda;
extern "C" __global__ void k(unsigned *tail, unsigned *locked, unsigned *x) {
  using R = c::atomic_ref<unsigned, c::thread_scope_device>;
  unsigned me = blockIdx.x;
  R(locked[me]).store(1, c::memory_order_relaxed);
  unsigned pred = R(*tail).exchange(me, c::memory_order_acq_rel);
  while (R(locked[pred]).load(BUG ? c::memory_order_relaxed : c::memory_order_acquire)) { }
  ++*x;
  R(locked[me]).store(0, c::memory_order_release);
}
