#include "../common.h"
// a frontier: each vertex is appended by the first of those who come to it
K k(u32* seen, u32* queue, u32* count, u32* level) {
  u32 v = (blockIdx.x * 64 + threadIdx.x) * 37 % 96, bit = 1u << (v & 31);
#if BAD == 1
  if (!(seen[v >> 5] & bit)) { atomicOr(&seen[v >> 5], bit);
#elif BAD == 2
  if (!(atomicOr(&seen[v >> 5], bit) & 1)) {
#else
  if (!(atomicOr(&seen[v >> 5], bit) & bit)) {
#endif
    level[v] = 1;
    queue[atomicAdd(count, 1)] = v;
  }
}
