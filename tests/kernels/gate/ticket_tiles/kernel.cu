// blocks draw their tiles and wait for the tile before; buggy: for that of the block before, though tiles may be drawn in another order
#include <cuda/atomic>
using Ref = cuda::atomic_ref<unsigned, cuda::thread_scope_device>;

extern "C" __global__ void k(unsigned *next, unsigned *flag, unsigned *out) {
  __shared__ unsigned drawn;
  if (threadIdx.x == 0) drawn = atomicAdd(next, 1);
  __syncthreads();
  const unsigned tile = drawn, after = BUG ? blockIdx.x : tile;
  if (threadIdx.x == 0 && after > 0)
    while (!Ref(flag[after]).load(cuda::memory_order_acquire)) { }
  __syncthreads();
  out[tile * 64 + threadIdx.x] = BUG || tile == 0 ? tile + 1 : out[(tile - 1) * 64 + threadIdx.x] + 1;
  __syncthreads();
  if (threadIdx.x == 0) Ref(flag[tile + 1]).store(1, cuda::memory_order_release);
}
