// two CTAs of a cluster exchange words in turns; buggy: no barrier between reading and overwriting
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
extern "C" __global__ void __cluster_dims__(2,1,1) k(unsigned *out) {
  __shared__ unsigned s[8];
  cg::cluster_group c = cg::this_cluster();
  unsigned r = c.block_rank();
  unsigned *other = c.map_shared_rank(s, r ^ 1);
  s[threadIdx.x] = threadIdx.x + r;
  c.sync();
  for (int i = 0; i < 3; i++) {
    unsigned v = other[threadIdx.x];
    if (!BUG) c.sync();
    s[threadIdx.x] = v + 1;
    c.sync();
  }
  out[blockIdx.x * blockDim.x + threadIdx.x] = s[threadIdx.x];
}
