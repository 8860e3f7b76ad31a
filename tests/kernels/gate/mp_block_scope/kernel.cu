// the flag has block scope, reader and writer are in different blocks
#include <cuda/atomic>
extern "C" __global__ void k(unsigned *x, unsigned *f, unsigned *out) {
  cuda::atomic_ref<unsigned, BUG ? cuda::thread_scope_block : cuda::thread_scope_device> flag(*f);
  if (blockIdx.x == 0) { *x = 42; flag.store(1, cuda::memory_order_release); }
  else { while (!flag.load(cuda::memory_order_acquire)) {} out[0] = *x; }
}
