// Half, bfloat16 and 8-bit floating-point intrinsics.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
#if __CUDA_ARCH__ >= 800
#include <cuda_fp4.h>
#include <cuda_fp6.h>
#endif

__global__ void halves(__half2* h, __half* s, float* f, int* i) {
    __half2 x = h[0], y = h[1], z = h[2];
    h[3] = __hfma2(x, y, z); h[4] = __hfma2_sat(x, y, z); h[5] = __hfma2_relu(x, y, z);
    h[6] = __hadd2(x, __hneg2(y)); h[7] = __hmul2_sat(x, __habs2(y)); h[8] = __hmax2(x, y); h[9] = __hmin2_nan(x, y);
    h[10] = h2exp2(x); h[11] = h2rsqrt(y); h[12] = h2tanh(z); h[13] = h2rint(x); h[14] = __h2div(x, y);
    h[15] = __hgt2(x, y); h[16] = __heq2(x, z);
    s[20] = hsqrt(s[0]); s[21] = hsin(s[1]); s[22] = hlog(s[2]); s[23] = __float2half_rz(f[0]);
    f[1] = __half2float(s[3]); i[0] = __half2int_rn(s[4]) + __half2ushort_ru(s[5]) + __hgtu(s[0], s[1]) + __hisnan(s[1]);
    s[24] = __ull2half_rd(f[2]); s[25] = __hcmadd(x, y, z).x; f[3] = __low2float(x) + __high2float(y);
    atomicAdd(h, x); atomicAdd(s, s[1]);
    h[17] = __shfl_xor_sync(~0u, x, 1); h[18] = __ldg(h + 5);
}
__global__ void eights(__nv_fp8x4_e4m3* p, __nv_fp8x2_e5m2* q, float4* f, __half2* h) {
    p[0] = __nv_fp8x4_e4m3(f[0]);
    f[1] = float4(p[1]);
    q[0] = __nv_fp8x2_e5m2(h[0]);
    h[1] = __half2(q[1]);
    ((__nv_fp8_e8m0*)q)[9] = __nv_fp8_e8m0(f[2].x);
}
#if __CUDA_ARCH__ >= 800
__global__ void brains(__nv_bfloat162* b, __nv_bfloat16* s, float* f, int* i) {
    __nv_bfloat162 x = b[0], y = b[1], z = b[2];
    b[3] = __hfma2(x, y, z); b[4] = __hadd2(x, y); b[5] = __hmax2(x, y); b[6] = __hmul2(x, __hneg2(z)); b[7] = __hfma2_relu(x, y, z);
    s[10] = hexp(s[0]); s[11] = hrcp(s[1]); s[12] = __float2bfloat16_rn(f[0]); f[1] = __bfloat162float(s[2]);
    i[0] = __bfloat162int_rz(s[3]) + __hlt(s[4], s[5]); s[13] = __int2bfloat16_rn(i[1]); b[8] = __floats2bfloat162_rn(f[2], f[3]);
    b[9] = __halves2bfloat162(s[6], s[7]); atomicAdd(b, x); s[14] = htanh(s[8]); s[15] = __hmin(s[1], s[2]);
}
__global__ void fewer(__nv_fp4x2_e2m1* p, __nv_fp6x2_e3m2* q, __nv_fp6x2_e2m3* r, float2* f, __half2* h) {
    p[0] = __nv_fp4x2_e2m1(f[0]);
    q[0] = __nv_fp6x2_e3m2(f[1]);
    r[0] = __nv_fp6x2_e2m3(h[0]);
    f[2] = float2(p[1]);
    h[1] = __half2(q[1]);
}
#endif
