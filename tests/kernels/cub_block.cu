// CUB's block and warp collectives inside kernels of one's own.
#include <cub/block/block_exchange.cuh>
#include <cub/block/block_load.cuh>
#include <cub/block/block_radix_sort.cuh>
#include <cub/block/block_reduce.cuh>
#include <cub/block/block_scan.cuh>
#include <cub/block/block_store.cuh>
#include <cub/warp/warp_reduce.cuh>
#include <cub/warp/warp_scan.cuh>

template <int THREADS, int ITEMS>
__global__ void block_sort(const unsigned* in, unsigned* out) {
    using Load = cub::BlockLoad<unsigned, THREADS, ITEMS, cub::BLOCK_LOAD_TRANSPOSE>;
    using Sort = cub::BlockRadixSort<unsigned, THREADS, ITEMS>;
    using Store = cub::BlockStore<unsigned, THREADS, ITEMS, cub::BLOCK_STORE_WARP_TRANSPOSE>;
    __shared__ union {
        typename Load::TempStorage load;
        typename Sort::TempStorage sort;
        typename Store::TempStorage store;
    } temp;
    unsigned items[ITEMS];
    Load(temp.load).Load(in + blockIdx.x * THREADS * ITEMS, items);
    __syncthreads();
    Sort(temp.sort).Sort(items);
    __syncthreads();
    Store(temp.store).Store(out + blockIdx.x * THREADS * ITEMS, items);
}
template __global__ void block_sort<128, 4>(const unsigned*, unsigned*);

__global__ void block_sum_and_scan(const float* in, float* sums, int* prefix) {
    using Reduce = cub::BlockReduce<float, 256, cub::BLOCK_REDUCE_RAKING>;
    using Scan = cub::BlockScan<int, 256, cub::BLOCK_SCAN_WARP_SCANS>;
    __shared__ typename Reduce::TempStorage reduce;
    __shared__ typename Scan::TempStorage scan;
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = Reduce(reduce).Sum(in[i]);
    int before, total;
    Scan(scan).ExclusiveSum(in[i] > 0.0f, before, total);
    prefix[i] = before + total;
    if (threadIdx.x == 0) sums[blockIdx.x] = sum;
}

__global__ void warp_collectives(const double* in, double* out, int* maxima) {
    __shared__ typename cub::WarpReduce<double>::TempStorage reduce[4];
    __shared__ typename cub::WarpScan<int>::TempStorage scan[4];
    int warp = threadIdx.x / 32;
    out[threadIdx.x] = cub::WarpReduce<double>(reduce[warp]).Sum(in[threadIdx.x]);
    int largest;
    cub::WarpScan<int>(scan[warp]).InclusiveScan(int(in[threadIdx.x]), largest, [] __device__(int a, int b) { return a > b ? a : b; });
    maxima[threadIdx.x] = largest;
}
