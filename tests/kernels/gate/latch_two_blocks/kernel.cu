// a latch of device scope in global memory, arrive_and_wait by two blocks; buggy: a wait without counting
#include <cuda/latch>
extern "C" __global__ void k(cuda::latch<cuda::thread_scope_device> *l, unsigned *x, unsigned *out) {
  unsigned b = blockIdx.x;
  x[b] = b + 1;
  if (BUG && b) l->wait(); else l->arrive_and_wait();
  out[b] = x[b ^ 1];
}
