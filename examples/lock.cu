// A spin lock around a counter: as it should be, and with the unlock weakened.
#include <cuda/atomic>

using Lock = cuda::atomic_ref<unsigned, cuda::thread_scope_device>;

__device__ void increment(unsigned *word, unsigned *counter, cuda::memory_order unlock) {
    Lock lock(*word);
    unsigned free = 0;
    while (!lock.compare_exchange_strong(free, 1, cuda::memory_order_acquire))
        free = 0;
    *counter += 1;
    lock.store(0, unlock);
}

extern "C" __global__ void correct(unsigned *lock, unsigned *counter) {
    increment(lock, counter, cuda::memory_order_release);
}

extern "C" __global__ void weak(unsigned *lock, unsigned *counter) {
    increment(lock, counter, cuda::memory_order_relaxed);
}
