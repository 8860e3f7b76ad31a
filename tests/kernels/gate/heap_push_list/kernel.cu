// two threads push nodes of their own, a third takes the list, adds it up and frees it; buggy: the push is relaxed
#include <cuda/atomic>
struct Node {
  unsigned value;
  Node *next;
};
extern "C" __global__ void k(Node **head, unsigned *count, unsigned *sum) {
  cuda::atomic_ref<Node *, cuda::thread_scope_device> h(*head);
  cuda::atomic_ref<unsigned, cuda::thread_scope_device> c(*count);
  if (blockIdx.x < 2) {
    Node *n = new Node{blockIdx.x + 1, nullptr};
    Node *old = h.load(cuda::memory_order_relaxed);
    do {
      n->next = old;
    } while (!h.compare_exchange_weak(old, n, BUG ? cuda::memory_order_relaxed : cuda::memory_order_release,
                                      cuda::memory_order_relaxed));
    c.fetch_add(1, cuda::memory_order_relaxed);
  } else {
    while (c.load(cuda::memory_order_relaxed) != 2) {
    }
    Node *n = h.exchange(nullptr, cuda::memory_order_acquire);
    while (n) {
      *sum += n->value;
      Node *next = n->next;
      delete n;
      n = next;
    }
  }
}
