#include "../common.h"
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
K __cluster_dims__(4) k(const u32* x, u32* out) {
  __shared__ u32 w[4], sum;
  auto cl = cg::this_cluster(); u32 t = threadIdx.x;
  u32 v = x[blockIdx.x * 128 + t];
  for (int o = 16; o; o >>= 1) v += __shfl_xor_sync(~0u, v, o);
  if ((t & 31) == 0) w[t >> 5] = v;
  __syncthreads();
  if (t == 0) sum = w[0] + w[1] + w[2] + w[3];
#if BAD == 1
  __syncthreads();
#else
  cl.sync();
#endif
  if (cl.block_rank() == 0 && t == 0) {
    u32 a = 0; for (int r = 0; r < 4; r++) a += *cl.map_shared_rank(&sum, r);
    out[blockIdx.x / 4] = a;
  }
#if BAD != 2
  cl.sync();
#endif
}
