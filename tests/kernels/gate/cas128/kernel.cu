// two words are counted together by a compare-and-swap of 128 bits; buggy: the second by load and store
extern "C" __global__ void k(unsigned long long *x) {
  if (BUG) {
    atomicAdd(x, 1ull);
    x[1] += 1;
    return;
  }
  unsigned long long low = 0, high = 0, seen[2];
  for (;;) {
    asm volatile("{ .reg .b128 old, want, seen; mov.b128 old, {%2, %3}; mov.b128 want, {%4, %5};"
                 " atom.acq_rel.gpu.global.cas.b128 seen, [%6], old, want; mov.b128 {%0, %1}, seen; }"
                 : "=l"(seen[0]), "=l"(seen[1]) : "l"(low), "l"(high), "l"(low + 1), "l"(high + 1), "l"(x) : "memory");
    if (seen[0] == low && seen[1] == high) break;
    low = seen[0], high = seen[1];
  }
}
