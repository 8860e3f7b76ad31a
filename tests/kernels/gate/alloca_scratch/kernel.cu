// each thread reverses its part in memory from alloca, the last one adds up; buggy: its counting acquires nothing
#include <cuda/atomic>
extern "C" __global__ void k(unsigned *data, unsigned n, unsigned *count, unsigned *out) {
  unsigned *mine = data + blockIdx.x * n;
  unsigned *scratch = static_cast<unsigned *>(__builtin_alloca(n * sizeof(unsigned)));
  for (unsigned i = 0; i < n; i++) scratch[n - 1 - i] = mine[i];
  for (unsigned i = 0; i < n; i++) mine[i] = scratch[i];
  cuda::atomic_ref<unsigned, cuda::thread_scope_device> c(*count);
  if (c.fetch_add(1, BUG ? cuda::memory_order_release : cuda::memory_order_acq_rel) == gridDim.x - 1) {
    unsigned sum = 0;
    for (unsigned b = 0; b < gridDim.x; b++) sum = 10 * sum + data[b * n];
    *out = sum;
  }
}
