// a tile of 64 threads synchronizes through shared memory that is reserved for the system; buggy: without
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
extern "C" __global__ void k(unsigned *out, unsigned n) {
  __shared__ unsigned x;
  auto tile = cg::tiled_partition<64>(cg::this_thread_block());
  unsigned t = threadIdx.x;
  if (t == 40) x = n + t + 1;
  if (!BUG) tile.sync();
  if (t == 1) out[0] = x;
}
