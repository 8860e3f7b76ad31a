// A lock that is looked at before it is taken. WEAK_ORDER: taken without acquire order. WEAK_SCOPE: it is of block scope.
#include <cuda/atomic>

#ifdef WEAK_SCOPE
constexpr auto scope = cuda::thread_scope_block;
#else
constexpr auto scope = cuda::thread_scope_device;
#endif
#ifdef WEAK_ORDER
constexpr auto acquire = cuda::memory_order_relaxed;
#else
constexpr auto acquire = cuda::memory_order_acquire;
#endif

extern "C" __global__ void k(unsigned *lock, unsigned *x) {
  cuda::atomic_ref<unsigned, scope> taken(*lock);
  do {
    while (taken.load(cuda::memory_order_relaxed)) {
    }
  } while (taken.exchange(1, acquire));
  *x = *x + 1;
  taken.store(0, cuda::memory_order_release);
}
