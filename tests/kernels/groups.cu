// Cooperative groups: tiles, coalesced groups, reductions, grid-wide barriers, asynchronous copies.
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
namespace cg = cooperative_groups;

__global__ void tiles(int* data) {
    cg::thread_block block = cg::this_thread_block();
    auto warp = cg::tiled_partition<32>(block);
    auto quad = cg::tiled_partition<4>(warp);
    int x = data[block.thread_rank()];
    x += quad.shfl_xor(x, 1);
    x += warp.shfl_down(x, 3);
    if (warp.any(x > 7)) x = warp.shfl(x, 5);
    x += __popc(quad.ballot(x & 1)) + __popc(warp.match_any(x));
    x = cg::reduce(warp, x, cg::plus<int>());
    x += cg::exclusive_scan(warp, x, cg::greater<int>());
    quad.sync();
    block.sync();
    data[block.thread_rank()] = x;
}

__global__ void coalesced(int* counter, int* out) {
    if (threadIdx.x % 3) {
        cg::coalesced_group active = cg::coalesced_threads();
        int base = 0;
        if (active.thread_rank() == 0) base = atomicAdd(counter, active.size());
        out[threadIdx.x] = active.shfl(base, 0) + active.thread_rank();
        auto part = cg::labeled_partition(active, threadIdx.x & 3);
        out[threadIdx.x] += cg::reduce(part, 1, cg::bit_xor<int>());
    }
    auto twos = cg::binary_partition(cg::tiled_partition<32>(cg::this_thread_block()), out[0] > 2);
    out[threadIdx.x] += twos.size();
}

__global__ void whole_grid(volatile int* flags, int* sum) {
    cg::grid_group grid = cg::this_grid();
    flags[grid.thread_rank()] = 1;
    grid.sync();
    int s = 0;
    for (unsigned long long i = 0; i < grid.size(); i++) s += flags[i];
    auto token = grid.barrier_arrive();
    *sum = s;
    grid.barrier_wait(std::move(token));
}

__global__ void copy(const int* in, int* out) {
    __shared__ int stage[256];
    cg::thread_block block = cg::this_thread_block();
    cg::memcpy_async(block, stage, in + blockIdx.x * 256, sizeof(stage));
    cg::wait(block);
    out[threadIdx.x] = stage[255 - threadIdx.x];
}
