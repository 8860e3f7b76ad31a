#include "../common.h"
struct Task { u32 wait, need, signal, left, right, out; };
// as dag_tickets, with the next ticket fetched while a task is done, into one of two slots by turns
K k(u32* next, u32* count, const Task* tasks, u32* x, u32 n) {
  __shared__ u32 slot[2];
  u32 t = threadIdx.x, turn = 0;
  if (t == 0) slot[0] = atomicAdd(next, 1);
  __syncthreads();
  u32 i = slot[0];
  while (i < n) {
    turn ^= 1;
    if (t == 0) slot[turn] = atomicAdd(next, 1);
    Task q = tasks[i];
    if (t == 0) while (gatom(count[q.wait]).load(BAD == 1 || (BAD == 2 && turn) ? RLX : ACQ) < q.need) ;
    __syncthreads();
    x[q.out * blockDim.x + t] = x[q.left * blockDim.x + t] + x[q.right * blockDim.x + t] + 1;
#if BAD != 3
    __syncthreads();
#endif
    if (t == 0) gatom(count[q.signal]).fetch_add(1, BAD == 4 || (BAD == 5 && !turn) ? RLX : REL);
#if BAD == 3
    __syncthreads();
#endif
    i = slot[turn];
  }
}
