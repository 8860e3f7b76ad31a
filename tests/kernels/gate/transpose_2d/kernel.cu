// a tile of a two-dimensional block is transposed in shared memory; buggy: without barrier
extern "C" __global__ void k(const unsigned *g, unsigned *out) {
  __shared__ unsigned tile[4][5];
  unsigned x = blockIdx.x * 4 + threadIdx.x, y = blockIdx.y * 4 + threadIdx.y;
  tile[threadIdx.y][threadIdx.x] = g[y * 8 + x];
  if (!BUG) __syncthreads();
  out[(blockIdx.x * 4 + threadIdx.y) * 4 + blockIdx.y * 4 + threadIdx.x] = tile[threadIdx.x][threadIdx.y];
}
