// four blocks of 64 threads add up over a ring, by chunks, and hand the sums on; buggy: each waits for one step less
#include <cuda/atomic>
using Ref = cuda::atomic_ref<unsigned, cuda::thread_scope_device>;

extern "C" __global__ void k(unsigned *x, unsigned *flag, unsigned *out) {
  const unsigned t = threadIdx.x, rank = blockIdx.x, before = (rank + 3) % 4;
  for (unsigned c = 0; c < 4; ++c) x[(rank * 4 + c) * 64 + t] = rank + 1;
  __syncthreads();
  if (t == 0) Ref(flag[rank]).store(1, cuda::memory_order_release);
  for (unsigned step = 1; step <= 6; ++step) {
    if (t == 0)
      while (Ref(flag[before]).load(cuda::memory_order_acquire) + BUG < step) { }
    __syncthreads();
    const unsigned c = (rank + 8 - step) % 4, value = x[(before * 4 + c) * 64 + t];
    unsigned &mine = x[(rank * 4 + c) * 64 + t];
    mine = step <= 3 ? mine + value : value;
    __syncthreads();
    if (t == 0) Ref(flag[rank]).store(step + 1, cuda::memory_order_release);
  }
  bool all = true;
  for (unsigned c = 0; c < 4; ++c) all &= x[(rank * 4 + c) * 64 + t] == 10;
  all = __syncthreads_and(all);
  if (t == 0) out[rank] = all;
}
