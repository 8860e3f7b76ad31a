// a dependent kernel waits for the one before; buggy: behind its first read
extern "C" __global__ void produce(unsigned *x, unsigned *out) { x[blockIdx.x] = blockIdx.x + 1; cudaTriggerProgrammaticLaunchCompletion(); }
extern "C" __global__ void consume(unsigned *x, unsigned *out) {
  unsigned v = 0;
  if (BUG) v = *(volatile unsigned *)&x[blockIdx.x ^ 1];
  cudaGridDependencySynchronize();
  if (!BUG) v = x[blockIdx.x ^ 1];
  out[blockIdx.x] = v;
}
