// cluster barrier in two halves, distributed shared memory is read after the wait; buggy: read before the wait
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
extern "C" __global__ void __cluster_dims__(2,1,1) k(unsigned *out) {
  __shared__ unsigned s;
  cg::cluster_group c = cg::this_cluster();
  unsigned r = c.block_rank();
  s = r + 5;
  auto t = c.barrier_arrive();
  unsigned *p = c.map_shared_rank(&s, r ^ 1);
  unsigned v;
  if (BUG) v = *(volatile unsigned *)p;
  c.barrier_wait(static_cast<cg::cluster_group::arrival_token&&>(t));
  if (!BUG) v = *p;
  out[r] = v;
  c.sync();
}
