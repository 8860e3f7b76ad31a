// libcu++ pipelines and memcpy_async, the older pipeline primitives, annotated pointers, discard and prefetch.
#include <cooperative_groups.h>
#include <cuda/annotated_ptr>
#include <cuda/pipeline>
#include <cuda_pipeline.h>
namespace cg = cooperative_groups;

__global__ void staged(const float* in, float* out, int n) {
    constexpr int STAGES = 2;
    __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, STAGES> state;
    __shared__ alignas(16) float buffer[STAGES][256];
    auto block = cg::this_thread_block();
    auto pipe = cuda::make_pipeline(block, &state);
    for (int load = 0, use = 0; use < n; use++) {
        for (; load < n && load < use + STAGES; load++) {
            pipe.producer_acquire();
            cuda::memcpy_async(block, buffer[load % STAGES], in + 256 * load, cuda::aligned_size_t<16>(1024), pipe);
            pipe.producer_commit();
        }
        pipe.consumer_wait();
        out[256 * use + threadIdx.x] = buffer[use % STAGES][255 - threadIdx.x];
        pipe.consumer_release();
    }
}
__global__ void specialised(const float* in, float* out) {
    __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 1> state;
    __shared__ float buffer[128];
    auto block = cg::this_thread_block();
    auto role = threadIdx.x < 32 ? cuda::pipeline_role::producer : cuda::pipeline_role::consumer;
    auto pipe = cuda::make_pipeline(block, &state, role);
    if (role == cuda::pipeline_role::producer) {
        pipe.producer_acquire();
        cuda::memcpy_async(buffer + threadIdx.x, in + threadIdx.x, sizeof(float), pipe);
        pipe.producer_commit();
    } else {
        pipe.consumer_wait();
        out[threadIdx.x] = buffer[threadIdx.x % 32];
        pipe.consumer_release();
    }
}
__global__ void one_thread(const int4* in, int4* out) {
    __shared__ int4 buffer[64];
    auto pipe = cuda::make_pipeline();
    pipe.producer_acquire();
    cuda::memcpy_async(buffer + threadIdx.x, in + threadIdx.x, cuda::aligned_size_t<16>(16), pipe);
    pipe.producer_commit();
    cuda::pipeline_consumer_wait_prior<0>(pipe);
    out[threadIdx.x] = buffer[threadIdx.x ^ 1];
    pipe.consumer_release();
}
__global__ void primitives(const int* in, int* out) {
    __shared__ int buffer[64];
    __pipeline_memcpy_async(buffer + threadIdx.x, in + threadIdx.x, 4, 0);
    __pipeline_commit();
    __pipeline_wait_prior(0);
    out[threadIdx.x] = buffer[threadIdx.x];
}
__global__ void hints(int* normal, const int* streamed, int* kept) {
    cuda::annotated_ptr<const int, cuda::access_property::streaming> s(streamed);
    cuda::annotated_ptr<int, cuda::access_property::persisting> k(kept);
    cuda::annotated_ptr<int, cuda::access_property> some(normal, cuda::access_property(cuda::access_property::persisting{}, 0.25f));
    k[threadIdx.x] = s[threadIdx.x] + some[threadIdx.x];
    cuda::apply_access_property(normal, 4096, cuda::access_property::persisting{});
    cuda::discard_memory(normal, 4096);
    __stcs(normal, __ldcg(streamed) + __ldg(streamed + 1) + __ldlu(kept) + __ldcv(kept));
    __stwt(normal + 1, __ldca(kept));
}
