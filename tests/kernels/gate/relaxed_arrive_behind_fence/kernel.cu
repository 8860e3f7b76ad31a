// a relaxed arrival behind a release fence; buggy: without the fence
#include <cuda/ptx>
namespace ptx = cuda::ptx;
__device__ inline void wait0(uint64_t *b) { while (!ptx::mbarrier_try_wait_parity(b, 0)) { } }
extern "C" __global__ void k(unsigned *in, unsigned *out) {
  __shared__ uint64_t bar; __shared__ unsigned s;
  unsigned t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
  if (t == 0) ptx::mbarrier_init(&bar, 1);
  __syncthreads();
  if (t == 0) { s = *in; if (!BUG) ptx::fence(ptx::sem_release, ptx::scope_cta); ptx::mbarrier_arrive(ptx::sem_relaxed, ptx::scope_cta, ptx::space_shared, &bar); }
  wait0(&bar);
  out[i] = s;
}
