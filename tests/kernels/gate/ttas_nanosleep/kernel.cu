// test-and-test-and-set with growing sleep; buggy: the unlocking store is volatile without fence
extern "C" __global__ void k(unsigned *lock, unsigned *n) {
  unsigned ns = 8;
  for (;;) {
    while (*(volatile unsigned *)lock) { __nanosleep(ns); if (ns < 256) ns *= 2; }
    if (atomicExch(lock, 1) == 0) break;
  }
  __threadfence();
  n[0] = n[0] + 1;
  if (!BUG) __threadfence();
  *(volatile unsigned *)lock = 0;
}
