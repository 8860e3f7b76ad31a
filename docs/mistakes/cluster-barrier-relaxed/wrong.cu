extern "C" __global__ void __cluster_dims__(2, 1, 1) publish(unsigned *out) {
  __shared__ unsigned word;
  if (blockIdx.x == 0) word = 42;
  asm volatile("barrier.cluster.arrive.relaxed;" ::: "memory");
  asm volatile("barrier.cluster.wait.acquire;" ::: "memory");
  if (blockIdx.x == 1) {
    unsigned there, value;
    asm volatile("mapa.shared::cluster.u32 %0, %1, 0;" : "=r"(there) : "r"((unsigned)__cvta_generic_to_shared(&word)));
    asm volatile("ld.shared::cluster.u32 %0, [%1];" : "=r"(value) : "r"(there) : "memory");
    *out = value;
  }
  asm volatile("barrier.cluster.arrive.release;" ::: "memory");
  asm volatile("barrier.cluster.wait.acquire;" ::: "memory");
}
