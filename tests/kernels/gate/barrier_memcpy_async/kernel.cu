// a block's barrier takes a bulk copy by cuda::memcpy_async, all threads wait; buggy: they use the tile before
#include <cuda/barrier>
#include <cooperative_groups.h>
#pragma nv_diag_suppress static_var_with_dynamic_init
extern "C" __global__ void k(unsigned *src, unsigned *out) {
  __shared__ alignas(16) unsigned s[4];
  __shared__ cuda::barrier<cuda::thread_scope_block> bar;
  auto block = cooperative_groups::this_thread_block();
  if (block.thread_rank() == 0) { init(&bar, block.size()); asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }
  block.sync();
  cuda::memcpy_async(block, s, src, cuda::aligned_size_t<16>(16), bar);
  auto token = bar.arrive();
  if (!BUG) bar.wait(cuda::std::move(token));
  out[threadIdx.x] = s[threadIdx.x];
  if (BUG) bar.wait(cuda::std::move(token));
}
