// cg::labeled_partition; buggy: no sync
#include <cuda/atomic>
#include <cuda/barrier>
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
namespace cg = cooperative_groups;
extern "C" __global__ void k(unsigned *out, unsigned *x) {
  auto block = cg::this_thread_block();
  auto tile = cg::tiled_partition<32>(block);
  unsigned t = threadIdx.x;
  auto part = cg::labeled_partition(tile, (int)(t & 1));
  x[t] = t + 1;
  if (!BUG) part.sync();
  out[t] = x[(t + 2) % 4];
}
