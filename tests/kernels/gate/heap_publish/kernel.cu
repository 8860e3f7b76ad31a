// a node from malloc is published by its pointer; buggy: a relaxed store publishes nothing of what stands in it
#include <cuda/atomic>
struct Node {
  unsigned value;
  Node *next;
};
extern "C" __global__ void k(Node **head, unsigned *out) {
  cuda::atomic_ref<Node *, cuda::thread_scope_device> h(*head);
  if (blockIdx.x == 0) {
    Node *n = static_cast<Node *>(malloc(sizeof(Node)));
    n->value = 42;
    n->next = nullptr;
    h.store(n, BUG ? cuda::memory_order_relaxed : cuda::memory_order_release);
  } else {
    Node *n;
    while (!(n = h.load(cuda::memory_order_acquire))) {
    }
    out[0] = n->value;
    out[1] = n->next == nullptr;
  }
}
