// a block leaves while the other still writes its shared memory; fixed: it stays
#include <cuda/atomic>
#include <cooperative_groups.h>
extern "C" __global__ void __cluster_dims__(2) k(unsigned *out) {
  __shared__ unsigned s;
  auto c = cooperative_groups::this_cluster();
  s = 0;
  c.sync();
  if (c.block_rank() == 1) { *c.map_shared_rank(&s, 0) = 1; out[0] = 1; }
  if (!BUG) c.sync();
}
