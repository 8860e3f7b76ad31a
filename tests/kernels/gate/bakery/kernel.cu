// Lamport's bakery for two blocks with fences; buggy: acq_rel instead of seq_cst fences
__device__ unsigned ld(unsigned *p) { unsigned v; asm volatile("ld.relaxed.gpu.u32 %0, [%1];" : "=r"(v) : "l"(p) : "memory"); return v; }
__device__ void st(unsigned *p, unsigned v) { asm volatile("st.relaxed.gpu.u32 [%0], %1;" :: "l"(p), "r"(v) : "memory"); }
__device__ void mfence() { if (BUG) asm volatile("fence.acq_rel.gpu;" ::: "memory"); else asm volatile("fence.sc.gpu;" ::: "memory"); }
extern "C" __global__ void k(unsigned *choosing, unsigned *number, unsigned *x) {
  unsigned i = blockIdx.x, j = 1 - i;
  st(&choosing[i], 1);
  mfence();
  unsigned mine = ld(&number[j]) + 1;
  st(&number[i], mine);
  mfence();
  st(&choosing[i], 0);
  mfence();
  while (ld(&choosing[j])) { }
  mfence();
  for (;;) { unsigned o = ld(&number[j]); if (o == 0 || o > mine || (o == mine && j > i)) break; }
  mfence();
  *x += 1;
  mfence();
  st(&number[i], 0);
}
