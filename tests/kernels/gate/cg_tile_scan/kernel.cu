// scan in a tile of four with cg::inclusive_scan, then through shared memory; buggy: without sync
#include <cooperative_groups/scan.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
extern "C" __global__ void k(unsigned *out) {
  __shared__ unsigned s[8];
  auto block = cg::this_thread_block();
  auto tile = cg::tiled_partition<4>(block);
  unsigned v = cg::inclusive_scan(tile, threadIdx.x + 1);
  s[threadIdx.x] = v;
  if (!BUG) block.sync();
  out[threadIdx.x] = v + (threadIdx.x >= 4 ? s[3] : 0) + cg::reduce(tile, 1u, cg::plus<unsigned>());
}
