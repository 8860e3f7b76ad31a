// a queue of nodes from new: one thread makes it, one appends, one takes and deletes; buggy: the link is stored relaxed
#include <cuda/atomic>
struct Node {
  Node *next;
  int value;
};
template <class T> using ref = cuda::atomic_ref<T, cuda::thread_scope_device>;
extern "C" __global__ void k(Node **head, Node **tail, int *out) {
  ref<Node *> last(*tail);
  if (blockIdx.x == 0) {
    Node *first = new Node{nullptr, 0};
    *head = first;
    last.store(first, cuda::memory_order_release);
  } else {
    while (!last.load(cuda::memory_order_acquire)) {
    }
    if (blockIdx.x == 1) {
      Node *n = new Node{nullptr, 7};
      Node *old = last.exchange(n, cuda::memory_order_acq_rel);
      ref<Node *>(old->next).store(n, BUG ? cuda::memory_order_relaxed : cuda::memory_order_release);
    } else {
      Node *first = *head, *n;
      while (!(n = ref<Node *>(first->next).load(cuda::memory_order_acquire))) {
      }
      *out = n->value;
      *head = n;
      delete first;
    }
  }
}
