// cooperative groups tile reduction and block sync; buggy: no block sync between warps
#include <cuda/atomic>
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
namespace cg = cooperative_groups;
extern "C" __global__ void k(unsigned *out) {
  __shared__ unsigned s[2];
  auto b = cg::this_thread_block();
  auto w = cg::tiled_partition<32>(b);
  unsigned v = cg::reduce(w, (unsigned)threadIdx.x + 1, cg::plus<unsigned>());
  if (w.thread_rank() == 0) s[threadIdx.x / 32] = v;
  if (!BUG) b.sync();
  if (threadIdx.x == 0) out[0] = s[0] + s[1];
}
