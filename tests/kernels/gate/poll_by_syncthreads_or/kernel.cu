// a block polls a flag by __syncthreads_or; buggy: the thread that polls does so relaxed and nobody fences
#include <cuda/atomic>
extern "C" __global__ void k(unsigned *x, unsigned *f, unsigned *out) {
  unsigned t = threadIdx.x;
  cuda::atomic_ref<unsigned, cuda::thread_scope_device> flag(*f);
  if (blockIdx.x == 0) { if (t == 0) { *x = 7; flag.store(1, cuda::memory_order_release); } }
  else {
    int go;
    do { unsigned v = 0; if (t == 0) v = flag.load(BUG ? cuda::memory_order_relaxed : cuda::memory_order_acquire); go = __syncthreads_or(v); } while (!go);
    out[t] = *x;
  }
}
