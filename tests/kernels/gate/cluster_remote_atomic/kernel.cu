// both blocks add to a counter in the shared memory of block 0; buggy: not atomic
#include <cuda/atomic>
#include <cooperative_groups.h>
extern "C" __global__ void __cluster_dims__(2) k(unsigned *out) {
  __shared__ unsigned s;
  auto c = cooperative_groups::this_cluster();
  s = 0;
  c.sync();
  unsigned *p = c.map_shared_rank(&s, 0);
  if (BUG) *p = *p + 1; else atomicAdd(p, 1);
  c.sync();
  if (c.block_rank() == 0) out[0] = s;
}
