// a tile comes by cuda::memcpy_async into the block's barrier, 4 bytes by each thread; buggy: one thread too few is counted on, so
// that the phase may be over before the last thread arrived and its part of the tile is there
#include <cooperative_groups.h>
#include <cuda/barrier>
#pragma nv_diag_suppress static_var_with_dynamic_init
extern "C" __global__ void k(unsigned *src, unsigned *out) {
  __shared__ alignas(16) unsigned s[8];
  __shared__ cuda::barrier<cuda::thread_scope_block> bar;
  auto block = cooperative_groups::this_thread_block();
  unsigned t = block.thread_rank();
  if (t == 0) {
    init(&bar, block.size() - BUG);
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  }
  block.sync();
  cuda::memcpy_async(block, s, src, sizeof s, bar);
  bar.arrive_and_wait();
  out[t] = s[t ^ 1];
}
