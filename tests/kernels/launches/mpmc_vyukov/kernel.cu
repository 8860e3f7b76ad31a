#include "../common.h"
K k(u32* seq, u32* val, u32* enq, u32* deq, u32* sum) {
  if (threadIdx.x) return;
  if (blockIdx.x < 2) {
    u32 p = gatom(*enq).fetch_add(1, RLX);
    while (gatom(seq[p & 1]).load(ACQ) != p) ;
    val[p & 1] = blockIdx.x + 1;
    gatom(seq[p & 1]).store(p + 1, BAD == 1 ? RLX : REL);
  } else {
    u32 p = gatom(*deq).fetch_add(1, RLX);
    while (gatom(seq[p & 1]).load(BAD == 2 ? RLX : ACQ) != p + 1) ;
    u32 v = val[p & 1];
    gatom(seq[p & 1]).store(p + 2, REL);
    atomicAdd(sum, v);
  }
}
