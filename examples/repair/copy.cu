// A block copies into shared memory with asynchronous copies, one stage ahead; what is read is not waited for.
#include <cuda_pipeline.h>

__global__ void stage(const unsigned *in, unsigned *out) {
    __shared__ unsigned tile[2];
    __pipeline_memcpy_async(&tile[threadIdx.x], &in[threadIdx.x], sizeof(unsigned));
    __pipeline_commit();
    __pipeline_wait_prior(1);
    __syncthreads();
    out[threadIdx.x] = tile[1 - threadIdx.x];
}
