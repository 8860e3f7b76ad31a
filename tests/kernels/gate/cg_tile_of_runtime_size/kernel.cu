// tiled_partition of a size known at run time; buggy: the wrong partner
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
extern "C" __global__ void k(unsigned n, unsigned *out) {
  __shared__ unsigned s[4];
  auto b = cg::this_thread_block(); auto t = cg::tiled_partition(b, n);
  unsigned i = b.thread_rank();
  s[i] = i + 1;
  t.sync();
  out[i] = s[BUG ? i ^ 3 : i ^ 1] + (BUG ? (i & 1 ? 1 : -1) : 0);
}
