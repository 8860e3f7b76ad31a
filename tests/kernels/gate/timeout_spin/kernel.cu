// a wait with a deadline by globaltimer that falls back; buggy: the flag is read relaxed
#include <cuda/atomic>
__device__ unsigned long long now() { unsigned long long t; asm volatile("mov.u64 %0, %globaltimer;" : "=l"(t)); return t; }
extern "C" __global__ void k(unsigned *x, unsigned *f, unsigned *out) {
  cuda::atomic_ref<unsigned, cuda::thread_scope_device> flag(*f);
  if (blockIdx.x == 0) { *x = 42; flag.store(1, cuda::memory_order_release); }
  else {
    unsigned long long start = now();
    bool got;
    while (!(got = flag.load(BUG ? cuda::memory_order_relaxed : cuda::memory_order_acquire)) && now() - start < 1000) {}
    out[0] = got ? *x : 1000;
  }
}
