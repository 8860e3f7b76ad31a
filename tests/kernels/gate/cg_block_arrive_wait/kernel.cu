// barrier_arrive and barrier_wait of a thread_block; buggy: waits too late
#include <cuda/atomic>
#include <cuda/barrier>
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
namespace cg = cooperative_groups;
extern "C" __global__ void k(unsigned *out) {
  __shared__ unsigned s[4];
  auto block = cg::this_thread_block();
  s[threadIdx.x] = threadIdx.x;
  auto token = block.barrier_arrive();
  if (!BUG) block.barrier_wait(std::move(token));
  out[threadIdx.x] = s[3 - threadIdx.x];
  if (BUG) block.barrier_wait(std::move(token));
}
