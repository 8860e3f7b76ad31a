// Textures and surfaces of every geometry through their objects.
#include <cuda_runtime.h>

__global__ void fetch(cudaTextureObject_t t, float4* out, float x, float y, float z) {
    out[0] = tex1D<float4>(t, x);
    out[1] = tex2D<float4>(t, x, y);
    out[2] = tex3D<float4>(t, x, y, z);
    out[3] = tex1DLayered<float4>(t, x, 2);
    out[4] = tex2DLayered<float4>(t, x, y, 2);
    out[5] = texCubemap<float4>(t, x, y, z);
    out[6] = texCubemapLayered<float4>(t, x, y, z, 3);
    out[7] = tex2DLod<float4>(t, x, y, 1.5f);
    out[8] = tex2DGrad<float4>(t, x, y, make_float2(x, y), make_float2(y, x));
    out[9] = tex3DGrad<float4>(t, x, y, z, make_float4(x, y, z, 0), make_float4(y, x, z, 0));
    out[10] = tex2Dgather<float4>(t, x, y, 2);
    out[11] = tex1Dfetch<float4>(t, (int)x);
    out[12].x = tex1D<int>(t, x) + tex2D<unsigned short>(t, x, y) + tex1Dfetch<unsigned>(t, 3);
    bool resident;
    out[13] = tex2D<float4>(t, x, y, &resident);
    out[14].x = resident;
}
__global__ void write(cudaSurfaceObject_t s, int4* out, int x, int y, int z) {
    out[0] = surf1Dread<int4>(s, x);
    out[1] = surf2Dread<int4>(s, x, y, cudaBoundaryModeClamp);
    out[2] = surf3Dread<int4>(s, x, y, z, cudaBoundaryModeZero);
    out[3].x = surf2DLayeredread<int>(s, x, y, z) + surf1DLayeredread<short>(s, x, z) + surfCubemapread<unsigned char>(s, x, y, z);
    surf1Dwrite(out[0], s, x);
    surf2Dwrite(make_float2(1, 2), s, x, y, cudaBoundaryModeClamp);
    surf3Dwrite((unsigned char)3, s, x, y, z, cudaBoundaryModeZero);
    surf2DLayeredwrite(4ll, s, x, y, z);
    surfCubemapLayeredwrite((short)5, s, x, y, z);
}
