// blocks of a cluster read each other's shared memory; buggy: no cluster barrier before
#include <cuda/atomic>
#include <cooperative_groups.h>
extern "C" __global__ void __cluster_dims__(2) k(unsigned *out) {
  __shared__ unsigned s;
  auto c = cooperative_groups::this_cluster();
  unsigned r = c.block_rank();
  s = r + 1;
  if (!BUG) c.sync();
  unsigned v = *c.map_shared_rank(&s, 1 - r);
  c.sync();
  out[r] = v;
}
