#include "../common.h"
K k(u32* ring, u32* head, u32* tail, u32* out) {
  u32 t = threadIdx.x;
  for (u32 i = 0; i < 8; i++) {
    u32* slot = ring + (i & 1) * 128;
    if (blockIdx.x == 0) {
      if (t == 0) while (i - gatom(*tail).load(BAD == 2 ? RLX : ACQ) >= (BAD == 3 ? 3 : 2)) ;
      __syncthreads();
      slot[t] = i * 128 + t;
      __syncthreads();
      if (t == 0) gatom(*head).store(i + 1, BAD == 1 ? RLX : REL);
    } else {
      if (t == 0) while (gatom(*head).load(ACQ) <= i) ;
      __syncthreads();
      out[i * 128 + t] = slot[t];
      __syncthreads();
      if (t == 0) gatom(*tail).store(i + 1, REL);
    }
  }
}
