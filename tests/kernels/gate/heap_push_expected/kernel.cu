// a node is pushed and taken; buggy: what the exchange found is stored in the node itself, where libcu++ stores it when others
// may have the node already
#include <cuda/atomic>
struct Node {
  unsigned value;
  Node *next;
};
extern "C" __global__ void k(Node **head, unsigned *out) {
  cuda::atomic_ref<Node *, cuda::thread_scope_device> h(*head);
  if (blockIdx.x == 0) {
    Node *n = new Node{7, h.load(cuda::memory_order_relaxed)};
    if (BUG) {
      while (!h.compare_exchange_weak(n->next, n, cuda::memory_order_release, cuda::memory_order_relaxed)) {
      }
    } else {
      Node *old = n->next;
      while (!h.compare_exchange_weak(old, n, cuda::memory_order_release, cuda::memory_order_relaxed)) n->next = old;
    }
  } else {
    Node *n;
    while (!(n = h.load(cuda::memory_order_acquire))) {
    }
    *out = n->value + (n->next != nullptr);
  }
}
