// every thread writes a partial, thread 0 of the block takes the ticket; buggy: no barrier before the ticket
__device__ unsigned int finished = 0;
template <int N> __device__ __forceinline__ unsigned total(volatile unsigned *p) { unsigned s = 0;
#pragma unroll
  for (int i = 0; i < N; ++i) s += p[i];
  return s; }
extern "C" __global__ void k(unsigned *part, unsigned *ticket, unsigned *out) {
  __shared__ bool last;
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  part[i] = i + 1;
  __threadfence();
#if !BUG
  __syncthreads();
#endif
  if (threadIdx.x == 0) last = atomicAdd(ticket, 1) == gridDim.x - 1;
  __syncthreads();
  if (last && threadIdx.x == 0) { __threadfence(); out[0] = total<4>(part); }
}
