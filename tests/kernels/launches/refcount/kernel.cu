#include "../common.h"
K k(u32* obj, u32* count, u32* sum) {
  __shared__ bool last;
  sum[blockIdx.x * 64 + threadIdx.x] = obj[threadIdx.x];
  __syncthreads();
  if (threadIdx.x == 0) {
    last = gatom(*count).fetch_sub(1, BAD == 1 ? RLX : REL) == 1;
    if (last && BAD != 2) cuda::atomic_thread_fence(ACQ, cuda::thread_scope_device);
  }
  __syncthreads();
  if (last) obj[threadIdx.x] = 0;
}
