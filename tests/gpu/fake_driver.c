/* A driver that executes nothing: it shows whether arguments arrive. A kernel adds 1000 times its grid and once its block
   to each of its 32-bit inputs; the kernel of a litmus test with two threads and two registers says that the threads of each
   instance were in CTAs of their own, and that of the first instance read 1 and then 0. What stands in a module, or is a kernel's name, makes calls fail. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef uint64_t Address;
static int failed;

int cuInit(unsigned flags) { return flags; }
int cuDeviceGetCount(int *count) { return *count = 1, 0; }
int cuDeviceGet(int *device, int ordinal) { return *device = 7 + ordinal, 0; }
int cuDeviceGetName(char *name, int size, int device) { return strncpy(name, "fake", size), device != 7; }
int cuDeviceGetAttribute(int *value, int which, int device) { return *value = which == 75 ? 9 : which == 16 ? 8 : 0, device != 7; }
int cuDriverGetVersion(int *version) { return *version = 12080, 0; }
int cuDevicePrimaryCtxRetain(void **context, int device) { return *context = malloc(1), device != 7; }
int cuCtxSetCurrent(void *context) { return context == 0; }
int cuGetErrorName(int status, const char **name) {
    *name = status == 218 ? "CUDA_ERROR_INVALID_PTX" : status == 719 ? "CUDA_ERROR_LAUNCH_FAILED" : "CUDA_ERROR_UNKNOWN";
    return 0;
}
int cuModuleLoadDataEx(void **module, const void *image, unsigned count, int *options, void **values) {
    if (strstr(image, "// DIE")) abort();
    if (strstr(image, "// REFUSE")) {
        if (count == 2 && options[0] == 5 && options[1] == 6 && (size_t)values[1] > 9) strcpy(values[0], "no such thing");
        return 218;
    }
    return *module = strdup(image), 0;
}
int cuModuleUnload(void *module) { return free(module), 0; }
int cuModuleGetFunction(void **function, void *module, const char *name) {
    return *function = strstr(module, name), *function == 0;
}
int cuOccupancyMaxActiveBlocksPerMultiprocessor(int *count, void *function, int block, size_t shared) {
    return *count = 4, !function || block % 32 || shared;
}
int cuMemcpyDtoD_v2(Address to, Address from, size_t size) { return memcpy((void *)to, (void *)from, size), 0; }
int cuMemAlloc_v2(Address *address, size_t size) { return *address = (Address)malloc(size), 0; }
int cuMemFree_v2(Address address) { return free((void *)address), 0; }
int cuMemcpyHtoD_v2(Address to, const void *from, size_t size) { return memcpy((void *)to, from, size), 0; }
int cuMemcpyDtoH_v2(void *to, Address from, size_t size) { return memcpy(to, (void *)from, size), 0; }
int cuMemsetD8_v2(Address to, unsigned char value, size_t size) { return memset((void *)to, value, size), 0; }
int cuLaunchKernel(const char *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                   unsigned shared, void *stream, void **parameters, void **extra) {
    if (!strncmp(function, "litmus", 6)) {
        uint64_t *row = *(uint64_t **)parameters[1];
        uint32_t *control = *(uint32_t **)parameters[2], instances = control[3] * control[4];
        if (gx < 2 * control[3] || bx % 32 || extra) return 1;
        for (uint64_t i = 0; i < instances; i++, row += 6) {
            uint64_t own[] = {1, 2 * i << 10, 1, (2 * i + 1) << 10, i == 0, 0};
            memcpy(row, own, sizeof own);
        }
        return failed = 0;
    }
    if (!strncmp(function, "k whole", 7)) { /* the second buffer gets three bytes of the first, and the threads of a CTA */
        char *to = *(char **)parameters[1];
        memcpy(to, *(char **)parameters[0], 3);
        return to[3] = bx, failed = gx != 2;
    }
    if (!strncmp(function, "maps", 4)) { /* a map, 4 bytes behind the beginning of a buffer, and a number: they go there */
        char *to = *(char **)parameters[1];
        memcpy(to, parameters[0], 64);
        return memcpy(to + 64, parameters[2], 4), *(uint64_t *)(to + 16) = to - *(char **)(to + 16), failed = 0;
    }
    uint32_t *in = *(uint32_t **)parameters[0], *out = *(uint32_t **)parameters[1], count = *(uint32_t *)parameters[2];
    if (gy != 1 || gz != 1 || by != 1 || bz != 1 || shared || stream || extra) return 1;
    if (!strncmp(function, "hang", 4)) sleep(1000);
    failed = !strncmp(function, "trap", 4);
    for (uint32_t i = 0; i < count; i++) out[i] = in[i] + 1000 * gx + bx;
    return 0;
}
int cuTensorMapEncodeTiled(uint8_t *map, int type, unsigned rank, void *address, const uint64_t *dims, const uint64_t *strides,
                           const uint32_t *box, const uint32_t *steps, int interleave, int swizzle, int promotion, int fill) {
    if ((uintptr_t)map % 64) return 1;
    uint64_t own[] = {type, rank, (uint64_t)address, dims[rank - 1], strides[rank - 2], box[rank - 1], steps[rank - 1],
                      interleave | swizzle << 4 | promotion << 8 | fill << 12};
    return memcpy(map, own, sizeof own), 0;
}
int cuCtxSynchronize(void) { return failed ? 719 : 0; }
