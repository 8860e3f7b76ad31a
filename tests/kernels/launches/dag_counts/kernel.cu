#include "../common.h"
// a diamond of tasks: 1 and 2 wait for 0, 3 for both; a task counts down those behind it
K k(u32* left, u32* x) {
  u32 t = threadIdx.x, b = blockIdx.x;
  if (t == 0) while (gatom(left[b]).load(BAD == 2 ? RLX : ACQ)) ;
  __syncthreads();
  u32 v = b == 0 ? 1 : b == 1 ? x[t] + 1 : b == 2 ? x[t] + 2 : x[128 + t] + x[256 + t];
  x[b * 128 + t] = v;
#if BAD != 1
  __syncthreads();
#endif
  if (t == 0) { if (b == 0) { gatom(left[1]).fetch_sub(1, REL); gatom(left[2]).fetch_sub(1, REL); } else if (b < 3) gatom(left[3]).fetch_sub(1, REL); }
}
