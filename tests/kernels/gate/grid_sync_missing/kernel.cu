// two phases over the grid with cooperative groups; buggy: only the block synchronises between them
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
extern "C" __global__ void k(unsigned *x, unsigned *y) {
  auto g = cg::this_grid();
  unsigned i = g.thread_rank();
  x[i] = i + 1;
  if (BUG) cg::sync(cg::this_thread_block()); else g.sync();
  y[i] = x[3 - i];
}
