// A lock taken by compare-and-swap. WEAK_ORDER: it is released without release order. WEAK_SCOPE: it is of block scope.
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

extern "C" __global__ void k(unsigned *lock, unsigned *x) {
  cuda::atomic_ref<unsigned, scope> taken(*lock);
  unsigned expected = 0;
  while (!taken.compare_exchange_strong(expected, 1, cuda::memory_order_acquire, cuda::memory_order_relaxed)) expected = 0;
  *x = *x + 1;
  taken.store(0, release);
}
