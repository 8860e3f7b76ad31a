// a stage that both blocks of a cluster fill by multicast copies, each its half, and use twice: consumers tell both producers
// when it is empty; buggy: only their own
__device__ unsigned at(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }
__device__ void init(void *b, unsigned n) { asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(at(b)), "r"(n) : "memory"); }
__device__ void wait(void *b, unsigned parity) {
  asm volatile("{ .reg .pred p; again: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%0], %1; @!p bra again; }" ::"r"(at(b)), "r"(parity) : "memory");
}
__device__ void tell(void *b, unsigned cta) {
  asm volatile("{ .reg .b32 a; mapa.shared::cluster.u32 a, %0, %1; mbarrier.arrive.release.cluster.shared::cluster.b64 _, [a]; }" ::"r"(at(b)), "r"(cta) : "memory");
}
__device__ void load(void *to, const void *from, void *b) {
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1], 16, [%2], 3;" ::"r"(at(to)), "l"(from), "r"(at(b)) : "memory");
}
extern "C" __global__ void __cluster_dims__(2) k(const unsigned *in, unsigned *out) {
  __shared__ alignas(16) unsigned stage[8];
  __shared__ unsigned long long full, empty;
  unsigned rank;
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  if (threadIdx.x == 0) {
    init(&full, 1);
    init(&empty, BUG ? 1 : 2);
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  asm volatile("barrier.cluster.arrive.relaxed; barrier.cluster.wait;" ::: "memory");
  __syncthreads();
  if (threadIdx.x == 0) {
    for (int i = 0; i < 2; i++) {
      wait(&empty, (i & 1) ^ 1);
      asm volatile("fence.proxy.async.shared::cluster;" ::: "memory");
      asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 32;" ::"r"(at(&full)) : "memory");
      load(stage + 4 * rank, in + 8 * i + 4 * rank, &full);
    }
  } else {
    for (int i = 0; i < 2; i++) {
      wait(&full, i & 1);
      out[2 * rank + i] = stage[0] + stage[4];
      tell(&empty, rank);
      if (!BUG) tell(&empty, rank ^ 1);
    }
  }
  asm volatile("barrier.cluster.arrive; barrier.cluster.wait;" ::: "memory");
}
