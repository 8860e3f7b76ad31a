// fence.release and fence.acquire at gpu scope; buggy: both acquire
#include <cuda/ptx>
#include <cuda/atomic>
namespace ptx = cuda::ptx;
extern "C" __global__ void k(unsigned *x, unsigned *f, unsigned *out) {
  cuda::atomic_ref<unsigned, cuda::thread_scope_device> flag(*f);
  if (blockIdx.x == 0) { if (threadIdx.x == 0) { *x = 1;
#if BUG
    ptx::fence(ptx::sem_acquire, ptx::scope_gpu);
#else
    ptx::fence(ptx::sem_release, ptx::scope_gpu);
#endif
    flag.store(1, cuda::memory_order_relaxed); } }
  else { while (!flag.load(cuda::memory_order_relaxed)) { } ptx::fence(ptx::sem_acquire, ptx::scope_gpu); out[threadIdx.x] = *x; }
}
