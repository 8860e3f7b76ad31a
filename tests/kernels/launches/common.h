#include <cstdint>
#include <cuda/atomic>
typedef unsigned u32; typedef unsigned long long u64;
#define DEV __device__ __forceinline__
using gatom = cuda::atomic_ref<u32, cuda::thread_scope_device>;
using satom = cuda::atomic_ref<u32, cuda::thread_scope_system>;
using batom = cuda::atomic_ref<u32, cuda::thread_scope_block>;
using gatom64 = cuda::atomic_ref<u64, cuda::thread_scope_device>;
#define RLX cuda::memory_order_relaxed
#define ACQ cuda::memory_order_acquire
#define REL cuda::memory_order_release
#define ACR cuda::memory_order_acq_rel
#define SEQ cuda::memory_order_seq_cst
DEV u32 saddr(const void* p) { return (u32)__cvta_generic_to_shared(p); }
DEV void mb_init(u64* b, u32 n) { asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" :: "r"(saddr(b)), "r"(n) : "memory"); }
DEV void mb_arrive(u64* b) { asm volatile("{ .reg .b64 t; mbarrier.arrive.shared::cta.b64 t, [%0]; }" :: "r"(saddr(b)) : "memory"); }
DEV void mb_expect(u64* b, u32 n) { asm volatile("{ .reg .b64 t; mbarrier.arrive.expect_tx.shared::cta.b64 t, [%0], %1; }" :: "r"(saddr(b)), "r"(n) : "memory"); }
DEV void mb_wait(u64* b, u32 ph) { asm volatile("{ .reg .pred p;\nW_%=:\n mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1;\n @!p bra W_%=; }" :: "r"(saddr(b)), "r"(ph) : "memory"); }
DEV void bulk_load(void* d, const void* s, u32 n, u64* b) { asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" :: "r"(saddr(d)), "l"(s), "r"(n), "r"(saddr(b)) : "memory"); }
DEV void bulk_store(void* d, const void* s, u32 n) { asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" :: "l"(d), "r"(saddr(s)), "r"(n) : "memory"); }
DEV void proxy_fence() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }
DEV void bulk_commit() { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }
DEV void bulk_wait0() { asm volatile("cp.async.bulk.wait_group 0;" ::: "memory"); }
DEV void cp16(void* d, const void* s) { asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" :: "r"(saddr(d)), "l"(s) : "memory"); }
DEV void cp4(void* d, const void* s) { asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" :: "r"(saddr(d)), "l"(s) : "memory"); }
DEV void cp_commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int N> DEV void cp_wait() { asm volatile("cp.async.wait_group %0;" :: "n"(N) : "memory"); }
DEV void nb_sync(int id, int n) { asm volatile("bar.sync %0, %1;" :: "r"(id), "r"(n) : "memory"); }
DEV void nb_arrive(int id, int n) { asm volatile("bar.arrive %0, %1;" :: "r"(id), "r"(n) : "memory"); }
#ifndef BAD
#define BAD 0
#endif
#define K extern "C" __global__ void
