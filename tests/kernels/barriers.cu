// libcu++ barrier, semaphore, latch, and the warp- and block-level primitives below them.
#include <cuda/barrier>
#include <cuda/latch>
#include <cuda/semaphore>

__global__ void phases(int* data) {
    __shared__ cuda::barrier<cuda::thread_scope_block> bar;
    if (threadIdx.x == 0) init(&bar, blockDim.x);
    __syncthreads();
    auto token = bar.arrive();
    data[threadIdx.x] += 1;
    bar.wait(std::move(token));
    bar.arrive_and_wait();
    if (threadIdx.x == 5) bar.arrive_and_drop(); else bar.arrive_and_wait();
    (void)bar.try_wait_for(bar.arrive(), cuda::std::chrono::nanoseconds(100));
}
__global__ void device_barrier(cuda::barrier<cuda::thread_scope_device>* bar, int* data) {
    data[blockIdx.x] = 1;
    bar->arrive_and_wait();
    data[blockIdx.x + 1] += 2;
}
__device__ cuda::counting_semaphore<cuda::thread_scope_device, 4> slots{4};
__device__ cuda::binary_semaphore<cuda::thread_scope_system> one{1};
__global__ void limited(int* data) {
    slots.acquire();
    data[0]++;
    slots.release(2);
    if (one.try_acquire()) one.release();
}
__device__ cuda::latch<cuda::thread_scope_device> start{32};
__global__ void gate(int* data) {
    start.arrive_and_wait();
    start.count_down(1);
    if (start.try_wait()) data[0] = 1;
}
__global__ void block_barriers(int* data) {
    data[0] = __syncthreads_count(data[1]) + __syncthreads_and(data[2]) + __syncthreads_or(data[3]);
    __syncwarp(0xff);
    data[1] = __any_sync(~0u, data[4]) + __all_sync(~0u, data[5]) + __ballot_sync(~0u, data[6]) + __activemask();
    data[2] = __shfl_sync(~0u, data[7], 3) + __shfl_up_sync(~0u, data[8], 1, 16) + __shfl_xor_sync(~0u, data[9], 4);
    unsigned same;
    int all;
    same = __match_any_sync(~0u, data[10]) + __match_all_sync(~0u, data[11], &all);
    data[3] = same + all;
#if __CUDA_ARCH__ >= 800
    data[4] = __reduce_add_sync(~0u, data[12]) + __reduce_min_sync(~0u, data[13]) + __reduce_xor_sync(~0u, (unsigned)data[14]);
#endif
    asm volatile("barrier.sync 1, 64;\n\tbarrier.arrive 2, 128;\n\tbar.sync 3;" ::: "memory");
}
