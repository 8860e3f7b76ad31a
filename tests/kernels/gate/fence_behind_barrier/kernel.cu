// reported, but no bug: the thread that starts the copy fences for all, behind the barrier; buggy: of another space
extern "C" __global__ void k(unsigned *g) {
  __shared__ alignas(16) uint2 s[2];
  s[threadIdx.x] = make_uint2(10 + 2 * threadIdx.x, 11 + 2 * threadIdx.x);
  __syncthreads();
  if (threadIdx.x == 0) {
    if (BUG) asm volatile("fence.proxy.async.global;" ::: "memory"); else asm volatile("fence.proxy.async;" ::: "memory");
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], 16;\n cp.async.bulk.commit_group;\n cp.async.bulk.wait_group 0;" :: "l"(g), "r"((unsigned)__cvta_generic_to_shared(s)) : "memory");
  }
}
