// two blocks exchange through a grid barrier of cooperative groups; buggy: a barrier of the block
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
extern "C" __global__ void k(unsigned *x, unsigned *out) {
  cg::grid_group grid = cg::this_grid();
  x[blockIdx.x] = blockIdx.x + 1;
  if (BUG) cg::sync(cg::this_thread_block()); else grid.sync();
  out[blockIdx.x] = x[1 - blockIdx.x];
}
