// Integer, floating-point and SIMD intrinsics; 128-bit integers; divisions; the mathematical library.
#include <cuda_runtime.h>
#include <math_constants.h>

__global__ void integers(int* i, unsigned* u, long long* l, unsigned long long* k, __int128* w) {
    i[0] = __mulhi(i[1], i[2]) + __mul24(i[3], i[4]) + __clz(i[5]) + __ffs(i[6]) + __popc(i[7]) + __sad(i[8], i[9], u[1]);
    u[0] = __umulhi(u[1], u[2]) + __brev(u[3]) + __byte_perm(u[4], u[5], 0x5140) + __usad(u[6], u[7], u[8]) + __uhadd(u[1], u[2]);
    i[1] = __dp4a(i[1], i[2], i[3]) + __dp2a_lo(i[4], i[5], i[6]) + __dp2a_hi(i[4], i[5], i[6]);
    u[1] = __dp4a(u[1], u[2], u[3]) + __funnelshift_l(u[4], u[5], u[6]) + __funnelshift_rc(u[4], u[5], u[6]);
    l[0] = __mul64hi(l[1], l[2]) + __clzll(l[3]) + __popcll(l[4]) + l[5] / l[6] + l[7] % 10 + llabs(l[8]) + min(l[1], l[2]);
    k[0] = __brevll(k[1]) + k[2] / k[3] + k[4] % 1000 + (k[5] >> (u[0] & 63)) + __umul64hi(k[1], k[2]) + max(k[3], k[4]);
    w[0] = w[1] * w[2] + (w[3] >> 5) - w[4];
    i[2] = i[3] / i[4] + i[5] % i[6] + i[7] / 7 + abs(i[8]) + max(min(i[9], 255), 0);
    ((signed char*)i)[99] = ((signed char*)i)[98] * 3; ((short*)u)[99] = ((short*)u)[98] / ((short*)u)[97];
}
__global__ void simd(unsigned* u) {
    u[0] = __vadd4(u[1], u[2]) + __vsub2(u[3], u[4]) + __vabsdiffu4(u[5], u[6]) + __vmaxs2(u[7], u[8]) + __vminu4(u[1], u[2]);
    u[1] = __vcmpgtu4(u[2], u[3]) + __vseteq2(u[4], u[5]) + __vavgu4(u[6], u[7]) + __vaddss4(u[8], u[9]) + __vsads2(u[1], u[2]);
    u[2] = __viaddmax_s32(u[1], u[2], u[3]) + __vimax3_u32(u[4], u[5], u[6]) + __vibmin_s16x2(u[1], u[2], (bool*)u, (bool*)u + 1);
}
__global__ void video(int* r) {
    asm("vadd.s32.u32.s32.sat.add %0, %1.b0, %2.h1, %3;" : "=r"(r[0]) : "r"(r[1]), "r"(r[2]), "r"(r[3]));
    asm("vmad.s32.s32.u32.shr7 %0, %1.b2, %2.h0, %3;" : "=r"(r[4]) : "r"(r[1]), "r"(r[2]), "r"(r[3]));
    asm("vset.u32.u32.ge %0, %1, %2;" : "=r"(r[5]) : "r"(r[1]), "r"(r[2]));
    asm("vabsdiff4.u32.u32.u32.add %0, %1, %2, %3;" : "=r"(r[6]) : "r"(r[1]), "r"(r[2]), "r"(r[3]));
    asm("vadd2.s32.s32.s32.sat %0.h10, %1, %2.h32, %3;" : "=r"(r[7]) : "r"(r[1]), "r"(r[2]), "r"(r[3]));
    asm("vshl.u32.u32.u32.clamp.min %0, %1, %2.b3, %3;" : "=r"(r[8]) : "r"(r[1]), "r"(r[2]), "r"(r[3]));
}
__global__ void singles(float* f, int* i) {
    f[0] = sinf(f[1]) + __sinf(f[2]) + expf(f[3]) + __expf(f[4]) + logf(f[5]) + powf(f[6], f[7]) + sqrtf(f[8]) + rsqrtf(f[9]);
    f[1] = __fdividef(f[1], f[2]) + f[3] / f[4] + __frcp_rz(f[5]) + __fmaf_ru(f[6], f[7], f[8]) + __fadd_rd(f[1], f[2]) + fmodf(f[3], f[4]);
    f[2] = truncf(f[3]) + roundf(f[4]) + floorf(f[5]) + fminf(f[6], f[7]) + copysignf(f[8], f[9]) + __saturatef(f[1]) + fabsf(f[2]);
    f[3] = erff(f[4]) + tgammaf(f[5]) + tanhf(f[6]) + cbrtf(f[7]) + hypotf(f[8], f[9]) + fmaf(f[1], f[2], f[3]) + ldexpf(f[4], i[0]);
    i[0] = __float2int_rz(f[1]) + __float_as_int(f[2]) + lrintf(f[3]) + isnan(f[4]) + isinf(f[5]) + __float2uint_ru(f[6]);
    f[4] = __int2float_rd(i[1]) + __ull2float_rn(i[2]) + (f[5] == CUDART_INF_F) + i[3] * 0.1f;
}
__global__ void doubles(double* d, float* f, long long* l) {
    d[0] = sin(d[1]) + exp(d[2]) + log(d[3]) + pow(d[4], d[5]) + sqrt(d[6]) + d[7] / d[8] + fma(d[1], d[2], d[3]) + __drcp_rn(d[4]);
    d[1] = floor(d[2]) + fmax(d[3], d[4]) + __dsqrt_ru(d[5]) + __dadd_rz(d[6], d[7]) + (double)f[0] + __ll2double_rn(l[0]) + rint(d[8]);
    f[1] = __double2float_rz(d[2]); l[1] = __double2ll_rd(d[3]) + __double_as_longlong(d[4]) + (long long)d[5] + __double2hiint(d[6]);
}
