// labels spread to the right until no thread changed anything (__syncthreads_or); buggy: no barrier between reading and writing
extern "C" __global__ void k(unsigned *label) {
  __shared__ unsigned s[16];
  unsigned t = threadIdx.x;
  s[t] = t % 3;
  __syncthreads();
  int changed;
  do {
    unsigned mine = s[t], left = t ? s[t - 1] : mine;
    unsigned least = left < mine && t % 3 ? left : mine;
    if (!BUG) __syncthreads();
    if (least != mine) s[t] = least;
    changed = __syncthreads_or(least != mine);
  } while (changed);
  label[t] = s[t];
}
