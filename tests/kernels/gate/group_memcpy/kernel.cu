// cooperative groups memcpy_async and wait; buggy: no wait
#include <cuda/atomic>
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
namespace cg = cooperative_groups;
extern "C" __global__ void k(unsigned *g, unsigned *out) {
  __shared__ unsigned s[2];
  auto b = cg::this_thread_block();
  cg::memcpy_async(b, s, g, 8);
  if (BUG) b.sync(); else cg::wait(b);
  out[threadIdx.x] = s[1 - threadIdx.x];
}
