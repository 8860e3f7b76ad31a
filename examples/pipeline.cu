// Bulk copies into two stages of shared memory: one thread issues them and another waits for each stage and reads it.
// `unfenced`: the barrier objects are not made known to the hardware that copies.
#include <cuda/ptx>
#include <cuda/std/cstdint>

namespace ptx = cuda::ptx;
constexpr int stages = 2, words = 4, turns = 2;

template <bool Fenced> __device__ void run(const unsigned *in, unsigned *out) {
    __shared__ alignas(16) unsigned stage[stages][words];
    __shared__ cuda::std::uint64_t full[stages];
    if (threadIdx.x == 0) {
        for (int s = 0; s < stages; s++)
            ptx::mbarrier_init(&full[s], 1);
        if (Fenced)
            ptx::fence_mbarrier_init(ptx::sem_release, ptx::scope_cluster);
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int t = 0; t < turns; t++) {
            ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &full[t], sizeof stage[t]);
            ptx::cp_async_bulk(ptx::space_cluster, ptx::space_global, stage[t], in + t * words, sizeof stage[t], &full[t]);
        }
    } else {
        for (int t = 0; t < turns; t++) {
            while (!ptx::mbarrier_try_wait_parity(&full[t], 0))
                ;
            out[t] = stage[t][0] + stage[t][words - 1];
        }
    }
}

extern "C" __global__ void correct(const unsigned *in, unsigned *out) { run<true>(in, out); }
extern "C" __global__ void unfenced(const unsigned *in, unsigned *out) { run<false>(in, out); }
