// each thread puts a key and a value into a table in shared memory by linear probing, and looks its key up behind a barrier; buggy: it writes the value whatever the compare-and-swap gave
extern "C" __global__ void k(unsigned *out) {
  __shared__ unsigned keys[256], values[256];
  for (unsigned i = threadIdx.x; i < 256; i += blockDim.x) keys[i] = 0;
  __syncthreads();
  unsigned key = threadIdx.x + 1, first = key * key * 2654435761u >> 20 & 255;
  for (unsigned s = first;; s = s + 1 & 255) {
    unsigned old = atomicCAS(&keys[s], 0, key);
    if (BUG || old == 0 || old == key) values[s] = 3 * key;
    if (old == 0 || old == key) break;
  }
  __syncthreads();
  for (unsigned s = first;; s = s + 1 & 255) {
    unsigned found = keys[s];
    if (found == key) out[threadIdx.x] = values[s];
    if (found == key || found == 0) break;
  }
}
