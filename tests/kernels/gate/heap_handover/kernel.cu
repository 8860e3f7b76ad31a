// who takes a node frees it; buggy: who made it looks at it once more, when it may be gone
#include <cuda/atomic>
struct Node {
  unsigned value, more;
};
extern "C" __global__ void k(Node **head, unsigned *out) {
  cuda::atomic_ref<Node *, cuda::thread_scope_device> h(*head);
  if (blockIdx.x == 0) {
    Node *n = new Node{3, 4};
    if (!BUG) out[1] = n->more;
    h.store(n, cuda::memory_order_release);
    if (BUG) out[1] = *static_cast<volatile unsigned *>(&n->more);
  } else {
    Node *n;
    while (!(n = h.exchange(nullptr, cuda::memory_order_acquire))) {
    }
    out[0] = n->value;
    delete n;
  }
}
