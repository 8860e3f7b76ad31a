// a reader follows a published pointer; buggy: published relaxed
#include <cuda/atomic>
struct node { unsigned a, b; };
extern "C" __global__ void k(node *nodes, unsigned long long *cur, unsigned *out) {
  cuda::atomic_ref<unsigned long long, cuda::thread_scope_device> p(*cur);
  if (blockIdx.x == 0) {
    for (unsigned i = 0; i < 2; ++i) { nodes[i].a = i + 1; nodes[i].b = i + 1; p.store((unsigned long long)&nodes[i], BUG ? cuda::memory_order_relaxed : cuda::memory_order_release); }
  } else {
    node *n = (node *)p.load(cuda::memory_order_acquire);
    if (n) { out[0] = n->a; out[1] = n->b; }
  }
}
