#include "../common.h"
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
K __cluster_dims__(4) k(u32* out) {
  __shared__ u32 s[2][128]; auto cl = cg::this_cluster(); u32 t = threadIdx.x, r = cl.block_rank();
  s[0][t] = r * 128 + t; cl.sync();
  for (u32 i = 0; i < 3; i++) {
    u32* to = cl.map_shared_rank(&s[(i + 1) & 1][0], (r + 1) & 3);
    to[t] = s[i & 1][t];
#if BAD == 1
    __syncthreads();
#else
    if (BAD != 2 || i < 2) cl.sync();
#endif
  }
  u32 v = s[1][t];
  cl.sync();
  out[r * 128 + t] = v;
}
