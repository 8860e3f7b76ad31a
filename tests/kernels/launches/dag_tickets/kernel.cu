#include "../common.h"
struct Task { u32 wait, need, signal, left, right, out; };
// workers take tasks by tickets, in topological order; a task waits for a counter, and adds to that of those behind it
K k(u32* next, u32* count, const Task* tasks, u32* x, u32 n) {
  __shared__ u32 ticket;
  u32 t = threadIdx.x, rounds = 0;
  for (;;) {
    if (t == 0) ticket = atomicAdd(next, 1);
    __syncthreads();
    u32 i = BAD == 5 ? n - 1 - ticket : ticket;
    if (i >= n) break;
    Task q = tasks[i];
    if (t == 0) while (gatom(count[q.wait]).load(BAD == 2 ? RLX : ACQ) < q.need) ;
#if BAD != 1
    __syncthreads();
#endif
    x[q.out * blockDim.x + t] = x[q.left * blockDim.x + t] + x[q.right * blockDim.x + t] + 1 + (BAD == 6 ? rounds : 0);
#if BAD != 3
    __syncthreads();
#endif
    if (t == 0) gatom(count[q.signal]).fetch_add(BAD == 7 ? 2 : 1, BAD == 4 ? RLX : REL);
    rounds++;
#if BAD == 3
    __syncthreads();
#endif
  }
}
