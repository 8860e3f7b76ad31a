// a lock by __nv_atomic builtins of cluster scope; buggy: taken relaxed
extern "C" __global__ void __cluster_dims__(2) k(unsigned *lock, unsigned *c) {
  unsigned e;
  do { e = 0; } while (!__nv_atomic_compare_exchange_n(lock, &e, 1u, false, BUG ? __NV_ATOMIC_RELAXED : __NV_ATOMIC_ACQUIRE, __NV_ATOMIC_RELAXED, __NV_THREAD_SCOPE_CLUSTER));
  *c += 1;
  __nv_atomic_exchange_n(lock, 0u, __NV_ATOMIC_RELEASE, __NV_THREAD_SCOPE_CLUSTER);
}
