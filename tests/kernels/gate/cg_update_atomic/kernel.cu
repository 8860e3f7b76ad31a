// cg::reduce_update_async adds the sum of a tile to an atomic; buggy: of block scope, from two blocks
#include <cuda/atomic>
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
namespace cg = cooperative_groups;
extern "C" __global__ void k(unsigned *x, unsigned *in) {
  auto b = cg::this_thread_block(); auto t = cg::tiled_partition<2>(b);
  constexpr cuda::thread_scope scope = BUG ? cuda::thread_scope_block : cuda::thread_scope_device;
  cuda::atomic<unsigned, scope> &a = *reinterpret_cast<cuda::atomic<unsigned, scope> *>(x);
  cg::reduce_update_async(t, a, in[blockIdx.x * 2 + b.thread_rank()], cg::plus<unsigned>());
}
