// cuda::latch in shared memory; buggy: the value is read before the wait
#include <cuda/atomic>
#include <cuda/latch>
extern "C" __global__ void k(unsigned *out) {
  __shared__ alignas(8) char raw[sizeof(cuda::latch<cuda::thread_scope_block>)];
  __shared__ unsigned s[2];
  auto *l = reinterpret_cast<cuda::latch<cuda::thread_scope_block> *>(raw);
  unsigned t = threadIdx.x;
  if (t == 0) new (l) cuda::latch<cuda::thread_scope_block>(2);
  __syncthreads();
  s[t] = t + 1;
  unsigned v = 0;
  l->count_down();
  if (BUG) v = s[1 - t];
  l->wait();
  if (!BUG) v = s[1 - t];
  out[t] = v;
}
