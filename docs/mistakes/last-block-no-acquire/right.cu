extern "C" __global__ void reduce(unsigned *part, unsigned *count, unsigned *sum) {
  part[blockIdx.x] = blockIdx.x + 1;
  __threadfence();
  if (atomicAdd(count, 1) == gridDim.x - 1) {
    __threadfence();
    *sum = part[0] + part[1];
  }
}
