#include "../common.h"
struct Task { u32 wait, need, signal, left, right, out; };
// tasks that blocks have by turns; who waits sleeps for longer and longer
K k(u32* count, const Task* tasks, u32* x, u32 n) {
  u32 t = threadIdx.x;
  for (u32 i = blockIdx.x; i < n; i += gridDim.x) {
    Task q = tasks[i];
    if (t == 0) {
      u32 ns = 8;
      while (gatom(count[q.wait]).load(BAD == 1 ? RLX : ACQ) < q.need) {
        __nanosleep(ns);
        if (ns < 256) ns *= 2;
        if (BAD == 2 && ns >= 64) break;
      }
    }
    __syncthreads();
    x[q.out * blockDim.x + t] = x[q.left * blockDim.x + t] + x[q.right * blockDim.x + t] + 1;
#if BAD != 3
    __syncthreads();
#endif
    if (t == 0) gatom(count[q.signal]).fetch_add(1, BAD == 4 ? RLX : REL);
#if BAD == 3
    __syncthreads();
#endif
  }
}
