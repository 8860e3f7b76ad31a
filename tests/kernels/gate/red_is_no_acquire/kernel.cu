// joining a counter and then reading what others wrote: fixed uses what atomicAdd gives, buggy throws it away
extern "C" __global__ void k(unsigned *x, unsigned *f, unsigned *out) {
  if (blockIdx.x == 0) {
    *x = 42; __threadfence(); asm volatile("st.relaxed.gpu.u32 [%0], 1;" :: "l"(f) : "memory");
  } else {
#if BUG
    asm volatile("red.relaxed.gpu.global.add.u32 [%0], 1;" :: "l"(f) : "memory");
    asm volatile("fence.acq_rel.gpu;" ::: "memory");
    *out = *x;
#else
    if (atomicAdd(f, 1u) == 1) { asm volatile("fence.acq_rel.gpu;" ::: "memory"); *out = *x; } else *out = 7;
#endif
  }
}
