// Device-wide CUB algorithms: sort, scan, reduce, select, histogram, run lengths.
#include <cub/cub.cuh>

struct Larger {
    template <class T> __host__ __device__ T operator()(const T& a, const T& b) const { return a < b ? b : a; }
};
struct Even {
    __host__ __device__ bool operator()(int x) const { return (x & 1) == 0; }
};

void sort_pairs(void* temp, size_t& bytes, unsigned* k0, unsigned* k1, float* v0, float* v1, int n) {
    cub::DeviceRadixSort::SortPairs(temp, bytes, k0, k1, v0, v1, n);
}
void sort_doubles_down(void* temp, size_t& bytes, double* k0, double* k1, int n) {
    cub::DeviceRadixSort::SortKeysDescending(temp, bytes, k0, k1, n);
}
void scans(void* temp, size_t& bytes, int* in, int* out, long long* wide, int n) {
    cub::DeviceScan::ExclusiveSum(temp, bytes, in, out, n);
    cub::DeviceScan::InclusiveScan(temp, bytes, wide, wide, Larger(), n);
}
void reductions(void* temp, size_t& bytes, float* in, float* out, int n) {
    cub::DeviceReduce::Sum(temp, bytes, in, out, n);
    cub::DeviceReduce::Reduce(temp, bytes, in, out, n, Larger(), -1.0f);
}
void select(void* temp, size_t& bytes, int* in, int* out, int* count, int n) {
    cub::DeviceSelect::If(temp, bytes, in, out, count, n, Even());
    cub::DeviceRunLengthEncode::Encode(temp, bytes, in, out, out + n, count, n);
}
