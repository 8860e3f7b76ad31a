// Each block sums its part; the block that arrives last adds the partial sums up, in the style of the programming guide's example
// of memory fences. The fence between the partial sum and the count is missing.
__device__ unsigned int count = 0;
__shared__ bool isLastBlockDone;

__global__ void sum(const unsigned *array, volatile unsigned *result) {
    unsigned partial = array[blockIdx.x];
    if (threadIdx.x == 0) {
        result[blockIdx.x] = partial;
        unsigned value = atomicInc(&count, gridDim.x);
        isLastBlockDone = (value == (gridDim.x - 1));
    }
    __syncthreads();
    if (isLastBlockDone) {
        unsigned total = 0;
        for (unsigned b = 0; b < gridDim.x; b++)
            total += result[b];
        if (threadIdx.x == 0) {
            result[gridDim.x] = total;
            count = 0;
        }
    }
}
