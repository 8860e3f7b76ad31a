// the leader of the threads that came along tells the others a ticket; buggy: without sync
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
extern "C" __global__ void k(unsigned *c, unsigned *out) {
  __shared__ unsigned base;
  if (threadIdx.x & 1) {
    cg::coalesced_group g = cg::coalesced_threads();
    if (g.thread_rank() == 0) base = atomicAdd(c, g.size());
    if (!BUG) g.sync();
    out[threadIdx.x] = base + g.thread_rank() + 1;
  }
}
