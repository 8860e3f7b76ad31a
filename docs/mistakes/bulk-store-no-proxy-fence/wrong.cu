extern "C" __global__ void store(unsigned *out) {
  __shared__ alignas(16) unsigned tile[4];
  unsigned t = threadIdx.x;
  tile[2 * t] = 10 + 2 * t;
  tile[2 * t + 1] = 11 + 2 * t;
  __syncthreads();
  if (t == 0) {
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], 16;"
                 :: "l"(out), "r"((unsigned)__cvta_generic_to_shared(tile)) : "memory");
    asm volatile("cp.async.bulk.commit_group;" ::: "memory");
    asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
  }
}
