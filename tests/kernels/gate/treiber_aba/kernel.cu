// two poppers and one that pushes back: the top carries a tag; buggy: without it, ABA
#include <cuda/atomic>
typedef unsigned long long u64;
using T = cuda::atomic_ref<u64, cuda::thread_scope_device>;
using N = cuda::atomic_ref<unsigned, cuda::thread_scope_device>;
__device__ unsigned pop(u64 *top, unsigned *next) {
  u64 t = T(*top).load(cuda::memory_order_acquire);
  while ((unsigned)t) {
    unsigned n = N(next[(unsigned)t]).load(cuda::memory_order_relaxed);
    u64 w = n | (BUG ? 0 : ((t >> 32) + 1) << 32);
    if (T(*top).compare_exchange_strong(t, w, cuda::memory_order_acq_rel, cuda::memory_order_acquire)) return (unsigned)t;
  }
  return 0;
}
__device__ void push(u64 *top, unsigned *next, unsigned e) {
  u64 t = T(*top).load(cuda::memory_order_relaxed), w;
  do { N(next[e]).store((unsigned)t, cuda::memory_order_relaxed); w = e | (BUG ? 0 : ((t >> 32) + 1) << 32); }
  while (!T(*top).compare_exchange_strong(t, w, cuda::memory_order_release, cuda::memory_order_relaxed));
}
extern "C" __global__ void k(u64 *top, unsigned *next, unsigned *out) {
  if (blockIdx.x == 0) out[0] = pop(top, next);
  else {
    unsigned a = pop(top, next), b = pop(top, next);
    out[1] = a; out[2] = b;
    if (a == 1 && b == 2) { push(top, next, a); out[3] = 1; }
  }
}
