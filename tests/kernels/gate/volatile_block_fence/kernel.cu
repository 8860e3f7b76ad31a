// flag and data of shared memory are volatile, with fences of block scope; buggy: without the fence of the writer
extern "C" __global__ void k(unsigned *out) {
  __shared__ volatile unsigned data, flag;
  if (threadIdx.x == 0) flag = 0;
  __syncthreads();
  if (threadIdx.x == 0) { data = 9; if (!BUG) __threadfence_block(); flag = 1; }
  else if (threadIdx.x == 32) { while (flag == 0) {} __threadfence_block(); out[0] = data; }
}
