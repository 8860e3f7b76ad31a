extern "C" __global__ void copy(unsigned *in, unsigned *out) {
  __shared__ unsigned s;
  if (threadIdx.x == 0) {
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;"
                 :: "r"((unsigned)__cvta_generic_to_shared(&s)), "l"(in) : "memory");
  }
  __syncthreads();
  out[threadIdx.x] = s;
}
