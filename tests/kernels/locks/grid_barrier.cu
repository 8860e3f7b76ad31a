// A barrier of all blocks: each leader tells block 0, which lets them go. x[i] is read by another block behind the barrier.
// WEAK_ORDER: leaders tell without release order. WEAK_SCOPE: they tell in their block only.
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

extern "C" __global__ void k(unsigned *x, unsigned *arrived, unsigned *go, unsigned *out) {
  unsigned all = gridDim.x * blockDim.x, me = blockIdx.x * blockDim.x + threadIdx.x;
  cuda::atomic_ref<unsigned, cuda::thread_scope_device> open(*go);
  x[me] = me + 1;
  __syncthreads();
  if (threadIdx.x == 0) {
    cuda::atomic_ref<unsigned, scope>(*arrived).fetch_add(1, release);
    if (blockIdx.x == 0) {
      while (cuda::atomic_ref<unsigned, cuda::thread_scope_device>(*arrived).load(cuda::memory_order_acquire) != gridDim.x) {
      }
      open.store(1, cuda::memory_order_release);
    } else {
      while (!open.load(cuda::memory_order_acquire)) {
      }
    }
  }
  __syncthreads();
  out[me] = x[(me + blockDim.x) % all];
}
