// two producers and two consumers at a bounded queue with tickets and turns; buggy: the turn is published relaxed
#include <cuda/atomic>
using A = cuda::atomic_ref<unsigned, cuda::thread_scope_device>;
extern "C" __global__ void k(unsigned *head, unsigned *tail, unsigned *turn, unsigned *cell, unsigned *out) {
  if (blockIdx.x < 2) {
    unsigned t = A(*head).fetch_add(1, cuda::memory_order_relaxed);
    cell[t] = blockIdx.x + 1;
    A(turn[t]).store(1, BUG ? cuda::memory_order_relaxed : cuda::memory_order_release);
  } else {
    unsigned t = A(*tail).fetch_add(1, cuda::memory_order_relaxed);
    while (A(turn[t]).load(cuda::memory_order_acquire) != 1) __nanosleep(20);
    out[blockIdx.x - 2] = cell[t];
  }
}
