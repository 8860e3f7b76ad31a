// two owners of what new gave, the last one deletes it; buggy: who counts down acquires and releases nothing
#include <cuda/atomic>
struct Shared {
  int owners, value;
};
extern "C" __global__ void k(Shared **slot, int *out) {
  cuda::atomic_ref<Shared *, cuda::thread_scope_device> s(*slot);
  Shared *p;
  if (blockIdx.x == 0) {
    p = new Shared{2, 5};
    s.store(p, cuda::memory_order_release);
  } else {
    while (!(p = s.load(cuda::memory_order_acquire))) {
    }
  }
  out[blockIdx.x] = p->value;
  cuda::atomic_ref<int, cuda::thread_scope_device> owners(p->owners);
  if (owners.fetch_sub(1, BUG ? cuda::memory_order_relaxed : cuda::memory_order_acq_rel) == 1) delete p;
}
