// locals in local memory between the critical accesses; buggy: relaxed store
#include <cuda/atomic>
extern "C" __global__ void k(unsigned *x, unsigned *f, unsigned *out) {
  cuda::atomic_ref<unsigned, cuda::thread_scope_device> flag(*f);
  volatile unsigned local[4];
  if (blockIdx.x == 0) { for (unsigned i = 0; i < 4; ++i) { local[i] = i + 1; x[i] = local[i]; } flag.store(1, BUG ? cuda::memory_order_relaxed : cuda::memory_order_release); }
  else { unsigned s = 0; if (flag.load(cuda::memory_order_acquire)) { for (unsigned i = 0; i < 4; ++i) local[i] = x[i]; for (unsigned i = 0; i < 4; ++i) s += local[i]; } else s = 7; out[0] = s; }
}
