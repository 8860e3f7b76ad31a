// each thread unites two of eight elements: it leads the link of the larger root to the smaller one by atomicMin, and goes on with what it finds; buggy: by reading and writing
extern "C" __global__ void k(unsigned *link) {
  unsigned t = blockIdx.x * blockDim.x + threadIdx.x, base = t & ~7u;
  unsigned u = t, v = base + (3 * t + 1 & 7);
  while (u != v) {
    if (u < v) {
      unsigned other = u;
      u = v;
      v = other;
    }
    unsigned old;
    if (BUG) {
      old = link[u];
      if (v < old) link[u] = v;
    } else {
      old = atomicMin(&link[u], v);
    }
    if (old == u) break;
    u = old;
  }
}
