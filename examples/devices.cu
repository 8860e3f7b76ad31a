// A value handed from one device to another by a flag. `to_device`: release and acquire of scope device, as between blocks of
// one device: they do not synchronize with another device.
#include <cuda/atomic>

template <cuda::thread_scope Scope> __device__ void put(unsigned *x, unsigned *flag) {
    *x = 42;
    cuda::atomic_ref<unsigned, Scope>(*flag).store(1, cuda::memory_order_release);
}

template <cuda::thread_scope Scope> __device__ void get(unsigned *x, unsigned *flag, unsigned *out) {
    while (cuda::atomic_ref<unsigned, Scope>(*flag).load(cuda::memory_order_acquire) == 0)
        ;
    *out = *x;
}

extern "C" __global__ void put_to_system(unsigned *x, unsigned *flag) { put<cuda::thread_scope_system>(x, flag); }
extern "C" __global__ void put_to_device(unsigned *x, unsigned *flag) { put<cuda::thread_scope_device>(x, flag); }

extern "C" __global__ void get_from_system(unsigned *x, unsigned *flag, unsigned *out) {
    get<cuda::thread_scope_system>(x, flag, out);
}
extern "C" __global__ void get_from_device(unsigned *x, unsigned *flag, unsigned *out) {
    get<cuda::thread_scope_device>(x, flag, out);
}
