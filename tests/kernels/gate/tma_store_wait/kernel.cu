// bulk store, then the tile is overwritten; buggy: no wait for the reading
#include <cuda/atomic>
__device__ unsigned smem(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }
extern "C" __global__ void k(unsigned *g) {
  __shared__ alignas(16) unsigned s[4];
  for (unsigned i = 0; i < 4; ++i) s[i] = i + 1;
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], 16;" :: "l"(g), "r"(smem(s)) : "memory");
  asm volatile("cp.async.bulk.commit_group;" ::: "memory");
  if (!BUG) asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
  for (unsigned i = 0; i < 4; ++i) s[i] = 9;
  asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
}
