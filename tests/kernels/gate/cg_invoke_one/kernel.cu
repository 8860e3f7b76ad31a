// cg::invoke_one; buggy: no sync
#include <cuda/atomic>
#include <cuda/barrier>
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
namespace cg = cooperative_groups;
extern "C" __global__ void k(unsigned *x, unsigned *out) {
  auto tile = cg::tiled_partition<4>(cg::this_thread_block());
  cg::invoke_one(tile, [&] { *x = 5; });
  if (!BUG) tile.sync();
  out[threadIdx.x] = *x;
}
