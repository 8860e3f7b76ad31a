// A lock of tickets. WEAK_ORDER: the next one is called without release order. WEAK_SCOPE: the call is of block scope.
#include <cuda/atomic>

#ifdef WEAK_SCOPE
constexpr auto scope = cuda::thread_scope_block;
#else
constexpr auto scope = cuda::thread_scope_device;
#endif
#ifdef WEAK_ORDER
constexpr auto release = cuda::memory_order_relaxed;
#else
constexpr auto release = cuda::memory_order_release;
#endif

extern "C" __global__ void k(unsigned *next, unsigned *serving, unsigned *x) {
  unsigned ticket = cuda::atomic_ref<unsigned, cuda::thread_scope_device>(*next).fetch_add(1, cuda::memory_order_relaxed);
  cuda::atomic_ref<unsigned, scope> called(*serving);
  while (called.load(cuda::memory_order_acquire) != ticket) {
  }
  *x = *x + 1;
  called.store(ticket + 1, release);
}
