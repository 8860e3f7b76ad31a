// two kernels work on one buffer; buggy: the second reads through a counter that nobody orders
extern "C" __global__ void produce(unsigned *x, unsigned *n, unsigned *out) { x[blockIdx.x] = blockIdx.x + 1; if (!BUG) __threadfence(); atomicAdd(n, 1); }
extern "C" __global__ void consume(unsigned *x, unsigned *n, unsigned *out) { while (*(volatile unsigned *)n != 2) { } __threadfence(); *out = x[0] + x[1]; }
