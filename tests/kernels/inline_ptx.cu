// PTX that people write by hand: scopes, blocks with own registers, predicates, labels, special registers, policies.
#include <cuda_runtime.h>

__global__ void predicates(int* x) {
    asm volatile(
        "{\n\t.reg .pred p, q;\n\t.reg .b32 t<3>;\n\t"
        "setp.gt.s32 p|q, %1, 0;\n\t"
        "@p add.s32 t0, %1, 1;\n\t@!p mov.b32 t0, 5;\n\t"
        "selp.b32 %0, t0, %2, q;\n\t}"
        : "=r"(x[0]) : "r"(x[1]), "r"(x[2]));
}
__global__ void spin(unsigned* lock) {
    asm volatile(
        "{\n\t.reg .pred p;\n\t.reg .b32 old;\n"
        "again:\n\tatom.global.acquire.gpu.cas.b32 old, [%0], 0, 1;\n\t"
        "setp.ne.u32 p, old, 0;\n\t@p bra again;\n\t}" ::"l"(__cvta_generic_to_global(lock)) : "memory");
    asm volatile("st.release.gpu.u32 [%0], %1;" ::"l"(lock), "r"(0) : "memory");
}
__global__ void who(unsigned* out, unsigned long long* wide) {
    unsigned x;
#define READ(name) asm volatile("mov.u32 %0, %" #name ";" : "=r"(x)); *out++ = x;
    READ(laneid) READ(warpid) READ(nwarpid) READ(smid) READ(nsmid) READ(lanemask_eq) READ(lanemask_lt) READ(lanemask_ge)
    READ(clock) READ(clock_hi) READ(tid.x) READ(ntid.y) READ(ctaid.z) READ(nctaid.x) READ(envreg3) READ(pm0) READ(total_smem_size)
    READ(dynamic_smem_size) READ(globaltimer_lo)
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(wide[0]));
    asm volatile("mov.u64 %0, %gridid;" : "=l"(wide[1]));
    asm volatile("mov.u64 %0, %clock64;" : "=l"(wide[2]));
}
__global__ void bits(unsigned* r, unsigned long long* d) {
    asm("lop3.b32 %0, %1, %2, %3, 0xE8;" : "=r"(r[0]) : "r"(r[1]), "r"(r[2]), "r"(r[3]));
    asm("prmt.b32.f4e %0, %1, %2, %3;" : "=r"(r[0]) : "r"(r[1]), "r"(r[2]), "r"(r[3]));
    asm("bfe.s32 %0, %1, %2, 8;" : "=r"(r[4]) : "r"(r[1]), "r"(r[2]));
    asm("bfi.b64 %0, %1, %2, 3, 5;" : "=l"(d[4]) : "l"(d[1]), "l"(d[2]));
    asm("shf.r.wrap.b32 %0, %1, %2, %3;" : "=r"(r[5]) : "r"(r[1]), "r"(r[2]), "r"(r[3]));
    asm("fns.b32 %0, %1, %2, 3;" : "=r"(r[6]) : "r"(r[1]), "r"(r[2]));
    asm("bfind.shiftamt.u64 %0, %1;" : "=r"(r[7]) : "l"(d[2]));
    asm("szext.clamp.s32 %0, %1, %2;" : "=r"(r[8]) : "r"(r[1]), "r"(r[2]));
    asm("mad.wide.u32 %0, %1, %2, %3;" : "=l"(d[5]) : "r"(r[1]), "r"(r[2]), "l"(d[1]));
    asm("add.cc.u32 %0, %2, %3;\n\taddc.u32 %1, 0, 0;" : "=r"(r[9]), "=r"(r[10]) : "r"(r[1]), "r"(r[2]));
    asm("mov.b64 {%0, %1}, %2;" : "=r"(r[11]), "=r"(r[12]) : "l"(d[1]));
    asm("mov.b64 %0, {%1, %2};" : "=l"(d[6]) : "r"(r[1]), "r"(r[2]));
}
__global__ void memory(const float4* in, float4* out, int* x) {
    float4 v;
    asm volatile("ld.global.nc.L1::no_allocate.v4.f32 {%0,%1,%2,%3}, [%4];" : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w) : "l"(in + threadIdx.x));
    asm volatile("st.global.cs.v4.f32 [%0+16], {%1,%2,%3,%4};" ::"l"(out), "f"(v.x), "f"(v.y), "f"(v.z), "f"(v.w) : "memory");
    asm volatile("prefetch.global.L2 [%0];\n\tprefetchu.L1 [%0];" ::"l"(in));
    asm volatile("red.relaxed.gpu.global.add.s32 [%0], %1;" ::"l"(__cvta_generic_to_global(x)), "r"(3) : "memory");
    asm volatile("ld.volatile.global.v2.u32 {%0, %1}, [%2];" : "=r"(x[0]), "=r"(x[1]) : "l"(x));
    asm volatile("membar.cta;\n\tfence.acq_rel.gpu;\n\tfence.sc.sys;" ::: "memory");
#if __CUDA_ARCH__ >= 800
    unsigned long long policy;
    asm volatile("createpolicy.fractional.L2::evict_last.L2::evict_unchanged.b64 %0, 0.75;" : "=l"(policy));
    asm volatile("ld.global.L2::cache_hint.L2::128B.s32 %0, [%1], %2;" : "=r"(x[2]) : "l"(x), "l"(policy));
    __shared__ int stage[32];
    unsigned at = __cvta_generic_to_shared(stage);
    asm volatile("cp.async.cg.shared.global.L2::cache_hint [%0], [%1], 16, %2;" ::"r"(at), "l"(in), "l"(policy));
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;\n\tcp.async.commit_group;\n\tcp.async.wait_all;" ::"r"(at), "l"(in), "r"(x[3]));
    asm volatile("applypriority.global.L2::evict_normal [%0], 128;\n\tdiscard.global.L2 [%0], 128;" ::"l"(in));
#endif
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;\n\tgriddepcontrol.launch_dependents;");
    asm volatile("{\n\t.reg .pred p;\n\telect.sync _|p, 0xffffffff;\n\tselp.s32 %0, 1, 0, p;\n\t}" : "=r"(x[4]));
#endif
}
#if __CUDA_ARCH_FEAT_SM90_ALL
__global__ void warpgroup(unsigned long long a, unsigned long long b, float* c) {
    float d[4] = {};
    asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
    asm volatile("{\n\t.reg .pred p;\n\tsetp.ne.b32 p, %6, 0;\n\t"
                 "wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%0, %1, %2, %3}, %4, %5, p, 1, 1, 0, 0;\n\t}"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "l"(a), "l"(b), "r"(1));
    asm volatile("wgmma.commit_group.sync.aligned;\n\twgmma.wait_group.sync.aligned 0;" ::: "memory");
    for (int i = 0; i < 4; i++) c[i] = d[i];
}
#endif
