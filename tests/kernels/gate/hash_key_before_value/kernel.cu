// open addressing: the key is claimed by CAS, the value follows; buggy: a reader that finds the key reads the value at once
__device__ unsigned hash(unsigned k) { return (k * 2654435761u) >> 30; }
extern "C" __global__ void k(unsigned *keys, unsigned *vals, unsigned *ready, unsigned *out) {
  unsigned key = 9, slot = hash(key);
  if (blockIdx.x == 0) {
    while (true) {
      unsigned old = atomicCAS(&keys[slot], 0u, key);
      if (old == 0u || old == key) { vals[slot] = 7; if (!BUG) asm volatile("st.release.gpu.global.u32 [%0], %1;" :: "l"(&ready[slot]), "r"(1u) : "memory"); return; }
      slot = (slot + 1) & 3;
    }
  } else {
    for (int probe = 0; probe < 4; ++probe) {
      unsigned found = *(volatile unsigned *)&keys[slot];
      if (found == key) {
        unsigned r = 1;
        if (!BUG) asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(r) : "l"(&ready[slot]) : "memory");
        if (r) out[0] = vals[slot];
        return;
      }
      if (found == 0) return;
      slot = (slot + 1) & 3;
    }
  }
}
