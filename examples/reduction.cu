// A sum over all threads of each block, by a tree in shared memory. `forgotten`: the barrier between two steps of the tree is
// missing, which small blocks do not show on hardware where a warp goes in step.
template <bool Forgotten> __device__ void sum(const unsigned *x, unsigned *total) {
    __shared__ unsigned part[256];
    unsigned me = threadIdx.x;
    part[me] = x[blockIdx.x * blockDim.x + me];
    __syncthreads();
    for (unsigned step = blockDim.x / 2; step; step /= 2) {
        if (me < step)
            part[me] += part[me + step];
        if (!Forgotten || step > 16)
            __syncthreads();
    }
    if (me == 0)
        atomicAdd(total, part[0]);
}

extern "C" __global__ void correct(const unsigned *x, unsigned *total) { sum<false>(x, total); }

extern "C" __global__ void forgotten(const unsigned *x, unsigned *total) { sum<true>(x, total); }
