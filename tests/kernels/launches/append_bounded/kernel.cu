#include "../common.h"
// who finds room appends; the others are counted
K k(u32* buf, u32* count, u32* left, u32 room) {
  u32 i = blockIdx.x * 64 + threadIdx.x;
  u32 at = atomicAdd(count, 1);
#if BAD == 1
  if (at <= room) buf[at] = i;
#elif BAD == 2
  if (at < room) buf[at & 63] = i;
#else
  if (at < room) buf[at] = i;
#endif
  else atomicAdd(left, 1);
}
