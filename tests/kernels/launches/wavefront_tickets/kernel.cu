#include "../common.h"
// workers take the tiles of a square by tickets, row by row; a tile waits for those above it and on its left
K k(u32* next, u32* flag, u32* x, u32 n) {
  __shared__ u32 ticket;
  u32 t = threadIdx.x;
  for (;;) {
    if (t == 0) ticket = atomicAdd(next, 1);
    __syncthreads();
    u32 q = BAD == 5 ? n * n - 1 - ticket : ticket, i = q / n, j = q % n;
    if (q >= n * n) return;
    if (t == 0 && i) while (gatom(flag[q - n]).load(BAD == 1 ? RLX : ACQ) == 0) ;
    if (t == 32 && j && BAD != 2) while (gatom(flag[q - 1]).load(ACQ) == 0) ;
    __syncthreads();
    u32 up = i ? x[(q - n) * blockDim.x + t] : 0, left = j ? x[(q - 1) * blockDim.x + t] : 0;
    x[q * blockDim.x + t] = max(up, left) + 1;
#if BAD != 3
    __syncthreads();
#endif
    if (t == 0) gatom(flag[q]).store(1, BAD == 4 ? RLX : REL);
#if BAD == 3
    __syncthreads();
#endif
  }
}
