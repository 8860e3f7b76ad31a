// persistent blocks take items from an atomic queue; buggy: no second barrier before the item is overwritten
extern "C" __global__ void k(unsigned *head, unsigned *out) {
  __shared__ unsigned item;
  for (;;) {
    if (threadIdx.x == 0) item = atomicAdd(head, 1);
    __syncthreads();
    unsigned i = item;
    if (!BUG) __syncthreads();
    if (i >= 2) return;
    atomicAdd(&out[i], threadIdx.x + 1);
  }
}
