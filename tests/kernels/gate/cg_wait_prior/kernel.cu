// two groups of asynchronous copies of cooperative groups, the older one is awaited; buggy: the newer one is read
#include <cooperative_groups/memcpy_async.h>
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
extern "C" __global__ void k(unsigned *g, unsigned *out) {
  __shared__ alignas(16) unsigned s[2][4];
  auto block = cg::this_thread_block();
  cg::memcpy_async(block, s[0], g, 16);
  cg::memcpy_async(block, s[1], g + 4, 16);
  cg::wait_prior<1>(block);
  out[threadIdx.x] = s[BUG][threadIdx.x];
  cg::wait(block);
  out[4 + threadIdx.x] = s[1][threadIdx.x];
}
