// a step counter at system scope hands a chunk over and back, twice; buggy: the sender takes the credit without acquire
using u64 = unsigned long long;
__device__ u64 ld_volatile(u64 *p) { u64 v; asm volatile("ld.volatile.global.u64 %0, [%1];" : "=l"(v) : "l"(p) : "memory"); return v; }
__device__ u64 ld_acquire_sys(u64 *p) { u64 v; asm volatile("ld.acquire.sys.global.u64 %0, [%1];" : "=l"(v) : "l"(p) : "memory"); return v; }
__device__ void st_release_sys(u64 *p, u64 v) { asm volatile("st.release.sys.global.u64 [%0], %1;" :: "l"(p), "l"(v) : "memory"); }
extern "C" __global__ void k(unsigned *buf, u64 *tail, u64 *head, unsigned *out) {
  for (u64 step = 0; step < 2; ++step) {
    if (blockIdx.x == 0) {
      while ((BUG ? ld_volatile(head) : ld_acquire_sys(head)) < step) { }
      *buf = step + 1;
      st_release_sys(tail, step + 1);
    } else {
      while (ld_acquire_sys(tail) < step + 1) { }
      out[step] = *buf;
      st_release_sys(head, step + 1);
    }
  }
}
