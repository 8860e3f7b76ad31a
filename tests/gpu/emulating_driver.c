/* A CUDA driver whose GPUs are our own machine: calls have the types of cuda.h, and are refused where the manual of the driver says
   so; kernels run when somebody waits for them, in tests/gpu/emulated.py. What a real driver would not tell is told: access to
   another GPU's memory without leave, kernels in a stream that overtake copies, and what was not given back, at the end.

   PTXMM_FAKE_GPUS: how many there are (1); PTXMM_FAKE_ATOMICS=0: links have no atomic operations; PTXMM_FAKE_LOG: where calls
   are written, by name. */
#include <cuda.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int PyGILState_Ensure(void);
void PyGILState_Release(int);
int PyRun_SimpleString(const char *);

enum { MOST = 4096, GPUS = 4, ALIGNED = 512, CAP = 1 << 22 };
typedef struct { int used, gpu, everybody, mapped, handle; char *data; size_t size; } Buffer; /* by the upper half of its address */
typedef struct { int used, gpu, released; char *data; size_t size; } Memory;
struct CUctx_st { int gpu, retained, peers[GPUS]; };
struct CUmod_st { int gpu, loaded; char *text; };
struct CUfunc_st { CUmodule module; int parameters, clusters; char name[32]; };
struct CUstream_st { int gpu; };
struct CUevent_st { int gpu, launch; };
typedef struct { int gpu, stream; CUmodule module; char *name; unsigned grid, block, shared; uint64_t arguments[16]; int count, needs[33], needed, follows; } Kernel;
struct CUarray_st { int used, gpu, buffer, row, rows; CUDA_ARRAY3D_DESCRIPTOR of; struct CUmipmappedArray_st *levels; };
struct CUmipmappedArray_st { int used, gpu, count; struct CUarray_st *level[16]; };
/* By its handle; or, with a name, what a module calls so. */
typedef struct { int used, gpu, surface; struct CUarray_st *array; struct CUmipmappedArray_st *levels; CUdeviceptr place; size_t size;
                 CUarray_format format; unsigned channels; CUDA_TEXTURE_DESC how; CUmodule module; char name[32]; } Image;

static Buffer buffers[MOST];
static Memory memories[MOST];
static struct CUctx_st contexts[GPUS];
static struct CUmod_st modules[MOST];
static struct CUfunc_st functions[MOST];
static struct CUstream_st streams[MOST];
static struct CUevent_st events[MOST];
static Kernel kernels[64];
static struct CUarray_st arrays[MOST];
static struct CUmipmappedArray_st mipmapped[MOST];
static Image images[MOST];
static int follows[MOST][32], followed[MOST];
static int next = 1, memory_count = 1, module_count, function_count, stream_count = 1, event_count, kernel_count, array_count = 1, mipmapped_count, image_count = 1, gpus;
static int copying[GPUS]; /* copies of the default stream that may be under way */
static __thread CUcontext current;
CUresult fake_failed; /* an error of a kernel sticks */

static void note(const char *format, ...) {
    const char *path = getenv("PTXMM_FAKE_LOG");
    FILE *file = path ? fopen(path, "a") : 0;
    if (!file) return;
    va_list given;
    va_start(given, format);
    vfprintf(file, format, given);
    va_end(given);
    fputc('\n', file);
    fclose(file);
}
#define REFUSE(error) return note("%s: %s", __func__, #error), error
#define CALL() do { note("%s", __func__); if (!gpus) REFUSE(CUDA_ERROR_NOT_INITIALIZED); } while (0)
#define IN_CONTEXT() do { CALL(); if (!current) REFUSE(CUDA_ERROR_INVALID_CONTEXT); if (fake_failed) return fake_failed; } while (0)

CUresult cuInit(unsigned flags) {
    const char *count = getenv("PTXMM_FAKE_GPUS");
    gpus = count ? atoi(count) : 1;
    for (int i = 0; i < GPUS; i++) contexts[i].gpu = i;
    return flags ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}
CUresult cuDriverGetVersion(int *version) { return *version = 13000, CUDA_SUCCESS; }
CUresult cuDeviceGetCount(int *count) { CALL(); return *count = gpus, CUDA_SUCCESS; }
CUresult cuDeviceGet(CUdevice *device, int ordinal) {
    CALL();
    if (ordinal < 0 || ordinal >= gpus) REFUSE(CUDA_ERROR_INVALID_DEVICE);
    return *device = ordinal, CUDA_SUCCESS;
}
CUresult cuDeviceGetName(char *name, int size, CUdevice device) {
    CALL();
    return snprintf(name, size, "emulated %d", device), CUDA_SUCCESS;
}
CUresult cuDeviceGetAttribute(int *value, CUdevice_attribute which, CUdevice device) {
    CALL();
    switch (which) {
    case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT: *value = 4; break;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR: *value = 10; break;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR: *value = 0; break;
    case CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED: *value = 1; break;
    case CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT: *value = ALIGNED; break;
    default: REFUSE(CUDA_ERROR_INVALID_VALUE);
    }
    return device < gpus ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}
CUresult cuDeviceGetP2PAttribute(int *value, CUdevice_P2PAttribute which, CUdevice from, CUdevice to) {
    CALL();
    const char *atomics = getenv("PTXMM_FAKE_ATOMICS");
    if (from == to) REFUSE(CUDA_ERROR_INVALID_DEVICE);
    if (which != CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED && which != CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED)
        REFUSE(CUDA_ERROR_INVALID_VALUE);
    return *value = which == CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED || !atomics || atoi(atomics), CUDA_SUCCESS;
}
CUresult cuGetErrorName(CUresult error, const char **name) {
    *name = error == CUDA_ERROR_LAUNCH_FAILED ? "CUDA_ERROR_LAUNCH_FAILED" : error == CUDA_ERROR_INVALID_VALUE ? "CUDA_ERROR_INVALID_VALUE" : 0;
    return *name ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
CUresult cuGetErrorString(CUresult error, const char **text) {
    *text = error == CUDA_ERROR_LAUNCH_FAILED ? "unspecified launch failure" : 0;
    return *text ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device) {
    CALL();
    contexts[device].retained++;
    return *context = &contexts[device], CUDA_SUCCESS;
}
CUresult cuCtxSetCurrent(CUcontext context) {
    CALL();
    if (context && !context->retained) REFUSE(CUDA_ERROR_INVALID_CONTEXT);
    return current = context, CUDA_SUCCESS;
}
CUresult cuCtxEnablePeerAccess(CUcontext other, unsigned flags) {
    IN_CONTEXT();
    if (flags || other == current) REFUSE(CUDA_ERROR_INVALID_VALUE);
    if (current->peers[other->gpu]) return CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED;
    return current->peers[other->gpu] = 1, CUDA_SUCCESS;
}

/* Modules. */
CUresult cuModuleLoadDataEx(CUmodule *module, const void *image, unsigned count, CUjit_option *options, void **values) {
    IN_CONTEXT();
    for (unsigned i = 0; i < count; i++)
        if (options[i] != CU_JIT_ERROR_LOG_BUFFER && options[i] != CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES) REFUSE(CUDA_ERROR_INVALID_VALUE);
    *module = &modules[module_count++];
    return **module = (struct CUmod_st){current->gpu, 1, strdup(image)}, CUDA_SUCCESS;
}
CUresult cuModuleUnload(CUmodule module) {
    IN_CONTEXT();
    if (module->gpu != current->gpu || !module->loaded) REFUSE(CUDA_ERROR_INVALID_HANDLE);
    return module->loaded = 0, CUDA_SUCCESS;
}
CUresult cuModuleGetFunction(CUfunction *function, CUmodule module, const char *name) {
    IN_CONTEXT();
    if (module->gpu != current->gpu || !module->loaded) REFUSE(CUDA_ERROR_INVALID_HANDLE);
    const char *entry = strstr(module->text, ".entry "), *end = entry ? strchr(entry, ')') : 0;
    if (!end || strncmp(entry + 7, name, strlen(name))) REFUSE(CUDA_ERROR_NOT_FOUND);
    *function = &functions[function_count++ % MOST];
    **function = (struct CUfunc_st){module, 0, 1};
    snprintf((*function)->name, sizeof (*function)->name, "%s", name);
    for (const char *at = entry; (at = strstr(at, ".param .u64")) && at < end; at++) (*function)->parameters++;
    const char *cluster = strstr(module->text, ".reqnctapercluster ");
    if (cluster) (*function)->clusters = atoi(cluster + 19);
    return CUDA_SUCCESS;
}
CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int *count, CUfunction function, int block, size_t shared) {
    IN_CONTEXT();
    if (function->clusters > 1) REFUSE(CUDA_ERROR_INVALID_VALUE); /* it knows nothing of clusters */
    return *count = block && shared <= 48 << 10 ? 4 : 0, CUDA_SUCCESS;
}
static int cluster_of(const CUlaunchConfig *config, int *early) {
    int found = 1;
    *early = 0;
    for (unsigned i = 0; i < config->numAttrs; i++) {
        const CUlaunchAttribute *one = &config->attrs[i];
        if (one->id == CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION) {
            *early = one->value.programmaticStreamSerializationAllowed;
            continue;
        }
        if (one->id != CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION || one->value.clusterDim.y != 1 || one->value.clusterDim.z != 1) return 0;
        found = one->value.clusterDim.x;
    }
    return config->gridDimX % found ? 0 : found;
}
CUresult cuOccupancyMaxActiveClusters(int *count, CUfunction function, const CUlaunchConfig *config) {
    IN_CONTEXT();
    int early;
    if (cluster_of(config, &early) != function->clusters || !config->blockDimX) REFUSE(CUDA_ERROR_INVALID_CLUSTER_SIZE);
    return *count = 5, CUDA_SUCCESS;
}

/* Memory. */
static Buffer *buffer_at(CUdeviceptr at, size_t size) {
    Buffer *found = at >> 32 < MOST ? &buffers[at >> 32] : 0;
    return found && found->used && found->data && (at & 0xffffffff) + size <= found->size ? found : 0;
}
CUresult cuMemAlloc(CUdeviceptr *address, size_t size) {
    IN_CONTEXT();
    if (!size) REFUSE(CUDA_ERROR_INVALID_VALUE);
    buffers[next] = (Buffer){1, current->gpu, 0, 0, 0, malloc(size), size};
    memset(buffers[next].data, 0xa5, size); /* what memory holds before it is written */
    return *address = (CUdeviceptr)next++ << 32, CUDA_SUCCESS;
}
CUresult cuMemFree(CUdeviceptr at) {
    IN_CONTEXT();
    Buffer *own = buffer_at(at, 0);
    if (!own || own->mapped || at & 0xffffffff) REFUSE(CUDA_ERROR_INVALID_VALUE);
    return own->used = 0, CUDA_SUCCESS;
}
CUresult cuMemGetAllocationGranularity(size_t *size, const CUmemAllocationProp *wanted, CUmemAllocationGranularity_flags flags) {
    CALL();
    if (wanted->type != CU_MEM_ALLOCATION_TYPE_PINNED || flags != CU_MEM_ALLOC_GRANULARITY_MINIMUM) REFUSE(CUDA_ERROR_INVALID_VALUE);
    return *size = 1 << 16, CUDA_SUCCESS;
}
CUresult cuMemCreate(CUmemGenericAllocationHandle *handle, size_t size, const CUmemAllocationProp *wanted, unsigned long long flags) {
    CALL();
    static const CUmemAllocationProp nothing;
    if (flags || size % (1 << 16) || wanted->type != CU_MEM_ALLOCATION_TYPE_PINNED || wanted->requestedHandleTypes || wanted->win32HandleMetaData ||
        memcmp(&wanted->allocFlags, &nothing.allocFlags, sizeof nothing.allocFlags)) REFUSE(CUDA_ERROR_INVALID_VALUE);
    if (wanted->location.type != CU_MEM_LOCATION_TYPE_DEVICE || wanted->location.id >= gpus) REFUSE(CUDA_ERROR_INVALID_DEVICE);
    memories[memory_count] = (Memory){1, wanted->location.id, 0, memset(malloc(size), 0xa5, size), size};
    return *handle = memory_count++, CUDA_SUCCESS;
}
CUresult cuMemRelease(CUmemGenericAllocationHandle handle) {
    CALL();
    if (!memories[handle].used) REFUSE(CUDA_ERROR_INVALID_VALUE);
    return memories[handle].used = 0, CUDA_SUCCESS;
}
CUresult cuMemAddressReserve(CUdeviceptr *at, size_t size, size_t alignment, CUdeviceptr hint, unsigned long long flags) {
    CALL();
    if (flags || hint || alignment || size % (1 << 16)) REFUSE(CUDA_ERROR_INVALID_VALUE);
    buffers[next] = (Buffer){1, -1, 0, 1, 0, 0, size};
    return *at = (CUdeviceptr)next++ << 32, CUDA_SUCCESS;
}
CUresult cuMemMap(CUdeviceptr at, size_t size, size_t offset, CUmemGenericAllocationHandle handle, unsigned long long flags) {
    CALL();
    Buffer *own = &buffers[at >> 32];
    if (flags || offset || !own->mapped || own->data || own->size != size || memories[handle].size != size) REFUSE(CUDA_ERROR_INVALID_VALUE);
    return own->data = memories[handle].data, own->handle = handle, CUDA_SUCCESS;
}
CUresult cuMemSetAccess(CUdeviceptr at, size_t size, const CUmemAccessDesc *access, size_t count) {
    CALL();
    Buffer *own = buffer_at(at, size);
    if (!own || !own->mapped) REFUSE(CUDA_ERROR_INVALID_VALUE);
    for (size_t i = 0; i < count; i++) {
        if (access[i].flags != CU_MEM_ACCESS_FLAGS_PROT_READWRITE || access[i].location.type != CU_MEM_LOCATION_TYPE_DEVICE ||
            access[i].location.id >= gpus) REFUSE(CUDA_ERROR_INVALID_VALUE);
        own->everybody |= 1 << access[i].location.id;
    }
    return CUDA_SUCCESS;
}
CUresult cuMemUnmap(CUdeviceptr at, size_t size) {
    CALL();
    Buffer *own = buffer_at(at, size);
    if (!own || !own->mapped || own->size != size) REFUSE(CUDA_ERROR_INVALID_VALUE);
    return own->data = 0, CUDA_SUCCESS;
}
CUresult cuMemAddressFree(CUdeviceptr at, size_t size) {
    CALL();
    Buffer *own = &buffers[at >> 32];
    if (!own->mapped || own->data || own->size != size) REFUSE(CUDA_ERROR_INVALID_VALUE);
    return own->used = own->mapped = 0, CUDA_SUCCESS;
}
static CUresult complete(void);
CUresult cuMemcpyHtoD(CUdeviceptr to, const void *from, size_t size) {
    IN_CONTEXT();
    Buffer *own = buffer_at(to, size);
    if (!own) REFUSE(CUDA_ERROR_INVALID_VALUE);
    memcpy(own->data + (to & 0xffffffff), from, size);
    return copying[current->gpu] = 1, CUDA_SUCCESS;
}
CUresult cuMemcpyDtoD(CUdeviceptr to, CUdeviceptr from, size_t size) {
    IN_CONTEXT();
    Buffer *own = buffer_at(to, size), *source = buffer_at(from, size);
    if (!own || !source) REFUSE(CUDA_ERROR_INVALID_VALUE);
    memcpy(own->data + (to & 0xffffffff), source->data + (from & 0xffffffff), size);
    return copying[current->gpu] = 1, CUDA_SUCCESS;
}
CUresult cuMemsetD8(CUdeviceptr at, unsigned char value, size_t size) {
    IN_CONTEXT();
    Buffer *own = buffer_at(at, size);
    if (!own) REFUSE(CUDA_ERROR_INVALID_VALUE);
    memset(own->data + (at & 0xffffffff), value, size);
    return copying[current->gpu] = 1, CUDA_SUCCESS;
}
CUresult cuMemcpyDtoH(void *to, CUdeviceptr from, size_t size) {
    IN_CONTEXT();
    Buffer *own = buffer_at(from, size);
    if (!own || kernel_count) REFUSE(CUDA_ERROR_INVALID_VALUE); /* somebody reads what may still be written */
    return memcpy(to, own->data + (from & 0xffffffff), size), CUDA_SUCCESS;
}

/* Memory of the host, which is at one address for all. */
CUresult cuMemHostAlloc(void **address, size_t size, unsigned flags) {
    IN_CONTEXT();
    if (!size || flags != (CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP)) REFUSE(CUDA_ERROR_INVALID_VALUE);
    buffers[next] = (Buffer){1, current->gpu, -1, 0, 0, malloc(size), size};
    return *address = memset(buffers[next++].data, 0xa5, size), CUDA_SUCCESS;
}
CUresult cuMemHostGetDevicePointer(CUdeviceptr *at, void *address, unsigned flags) {
    IN_CONTEXT();
    for (int i = 1; i < next; i++)
        if (buffers[i].used && buffers[i].data == address && !flags) return *at = (CUdeviceptr)i << 32, CUDA_SUCCESS;
    REFUSE(CUDA_ERROR_INVALID_VALUE);
}
CUresult cuMemFreeHost(void *address) {
    IN_CONTEXT();
    for (int i = 1; i < next; i++)
        if (buffers[i].used && buffers[i].everybody < 0 && buffers[i].data == address) return buffers[i].used = 0, CUDA_SUCCESS;
    REFUSE(CUDA_ERROR_INVALID_VALUE);
}

/* Textures and surfaces: an array is a buffer that no address leads to. */
#define HANDLE(i) (1ull << 62 | (i))
static int bits_of(CUarray_format format) {
    switch (format) {
    case CU_AD_FORMAT_UNSIGNED_INT8: case CU_AD_FORMAT_SIGNED_INT8: return 8;
    case CU_AD_FORMAT_UNSIGNED_INT16: case CU_AD_FORMAT_SIGNED_INT16: case CU_AD_FORMAT_HALF: return 16;
    case CU_AD_FORMAT_UNSIGNED_INT32: case CU_AD_FORMAT_SIGNED_INT32: case CU_AD_FORMAT_FLOAT: return 32;
    default: return 0;
    }
}
static char kind_of(CUarray_format format) { return format < CU_AD_FORMAT_SIGNED_INT8 ? 'u' : format < CU_AD_FORMAT_HALF ? 's' : 'f'; }
enum { SLICES = CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_CUBEMAP };
static int is_array(const CUDA_ARRAY3D_DESCRIPTOR *of) {
    int cube = of->Flags & CUDA_ARRAY3D_CUBEMAP, layered = of->Flags & CUDA_ARRAY3D_LAYERED;
    if (of->Flags & ~(SLICES | CUDA_ARRAY3D_SURFACE_LDST | CUDA_ARRAY3D_TEXTURE_GATHER)) return 0;
    if (!bits_of(of->Format) || !of->Width || (of->NumChannels != 1 && of->NumChannels != 2 && of->NumChannels != 4)) return 0;
    if (cube && (of->Width != of->Height || of->Depth % 6 || !of->Depth || (of->Depth != 6 && !layered))) return 0;
    if (layered ? !of->Depth : !cube && of->Depth && !of->Height) return 0;
    return !(of->Flags & CUDA_ARRAY3D_TEXTURE_GATHER) || (of->Height && (!of->Depth || of->Flags & SLICES));
}
static struct CUarray_st *new_array(CUDA_ARRAY3D_DESCRIPTOR of, int level, struct CUmipmappedArray_st *levels) {
    for (size_t *n = &of.Width, i = 0; i < 3; i++) {
        size_t *side = i == 0 ? n : i == 1 ? &of.Height : &of.Depth;
        if (*side && !(i == 2 && of.Flags & SLICES)) *side = *side >> level ? *side >> level : 1;
    }
    int row = of.Width * of.NumChannels * bits_of(of.Format) / 8, rows = (of.Height ? of.Height : 1) * (of.Depth ? of.Depth : 1);
    size_t size = (size_t)row * rows;
    buffers[next] = (Buffer){1, current->gpu, 0, 0, 0, memset(malloc(size), 0xa5, size), size};
    arrays[array_count] = (struct CUarray_st){1, current->gpu, next++, row, rows, of, levels};
    return &arrays[array_count++];
}
CUresult cuArray3DCreate(CUarray *array, const CUDA_ARRAY3D_DESCRIPTOR *of) {
    IN_CONTEXT();
    if (!is_array(of)) REFUSE(CUDA_ERROR_INVALID_VALUE);
    return *array = new_array(*of, 0, 0), CUDA_SUCCESS;
}
CUresult cuMipmappedArrayCreate(CUmipmappedArray *array, const CUDA_ARRAY3D_DESCRIPTOR *of, unsigned count) {
    IN_CONTEXT();
    size_t longest = of->Width > of->Height ? of->Width : of->Height, most = 0;
    for (; longest; longest >>= 1) most++;
    if (!is_array(of) || !count || count > most || count > 16) REFUSE(CUDA_ERROR_INVALID_VALUE);
    *array = &mipmapped[mipmapped_count++];
    **array = (struct CUmipmappedArray_st){1, current->gpu, count};
    for (unsigned i = 0; i < count; i++) (*array)->level[i] = new_array(*of, i, *array);
    return CUDA_SUCCESS;
}
CUresult cuMipmappedArrayGetLevel(CUarray *level, CUmipmappedArray array, unsigned number) {
    IN_CONTEXT();
    if (!array->used || number >= (unsigned)array->count) REFUSE(CUDA_ERROR_INVALID_VALUE);
    return *level = array->level[number], CUDA_SUCCESS;
}
CUresult cuMipmappedArrayDestroy(CUmipmappedArray array) {
    IN_CONTEXT();
    if (!array->used || array->gpu != current->gpu) REFUSE(CUDA_ERROR_INVALID_HANDLE);
    for (int i = 1; i < image_count; i++) if (images[i].used && !*images[i].name && images[i].levels == array) REFUSE(CUDA_ERROR_ARRAY_IS_MAPPED);
    for (int i = 0; i < array->count; i++) array->level[i]->used = buffers[array->level[i]->buffer].used = 0;
    return array->used = 0, CUDA_SUCCESS;
}
CUresult cuMemcpy3D(const CUDA_MEMCPY3D *c) {
    IN_CONTEXT();
    int into = c->dstMemoryType == CU_MEMORYTYPE_ARRAY;
    CUarray array = into ? c->dstArray : c->srcArray;
    if ((into ? c->srcMemoryType : c->dstMemoryType) != CU_MEMORYTYPE_HOST || (into ? c->dstMemoryType : c->srcMemoryType) != CU_MEMORYTYPE_ARRAY) REFUSE(CUDA_ERROR_INVALID_VALUE);
    if (!array->used || c->reserved0 || c->reserved1 || c->srcLOD || c->dstLOD || kernel_count) REFUSE(CUDA_ERROR_INVALID_VALUE);
    if ((int)c->WidthInBytes != array->row || (int)(c->Height * c->Depth) != array->rows) REFUSE(CUDA_ERROR_INVALID_VALUE); /* whole ones here */
    if (c->Height != (array->of.Height ? array->of.Height : 1)) REFUSE(CUDA_ERROR_INVALID_VALUE);
    size_t pitch = into ? c->srcPitch : c->dstPitch, height = into ? c->srcHeight : c->dstHeight, size = buffers[array->buffer].size;
    if (pitch != c->WidthInBytes || height != c->Height) REFUSE(CUDA_ERROR_INVALID_VALUE);
    memcpy(into ? buffers[array->buffer].data : c->dstHost, into ? c->srcHost : buffers[array->buffer].data, size);
    return copying[current->gpu] |= into, CUDA_SUCCESS;
}
CUresult cuArrayDestroy(CUarray array) {
    IN_CONTEXT();
    if (!array->used || array->gpu != current->gpu || array->levels) REFUSE(CUDA_ERROR_INVALID_HANDLE);
    for (int i = 1; i < image_count; i++) if (images[i].used && !*images[i].name && images[i].array == array) REFUSE(CUDA_ERROR_ARRAY_IS_MAPPED);
    return array->used = buffers[array->buffer].used = 0, CUDA_SUCCESS;
}
CUresult cuMemcpyDtoA(CUarray to, size_t offset, CUdeviceptr from, size_t size) {
    IN_CONTEXT();
    Buffer *source = buffer_at(from, size);
    if (!to->used || !source || to->rows != 1 || offset + size > buffers[to->buffer].size) REFUSE(CUDA_ERROR_INVALID_VALUE);
    memcpy(buffers[to->buffer].data + offset, source->data + (from & 0xffffffff), size);
    return copying[current->gpu] = 1, CUDA_SUCCESS;
}
CUresult cuMemcpyAtoD(CUdeviceptr to, CUarray from, size_t offset, size_t size) {
    IN_CONTEXT();
    Buffer *own = buffer_at(to, size);
    if (!from->used || !own || from->rows != 1 || offset + size > buffers[from->buffer].size || kernel_count) REFUSE(CUDA_ERROR_INVALID_VALUE);
    memcpy(own->data + (to & 0xffffffff), buffers[from->buffer].data + offset, size);
    return copying[current->gpu] = 1, CUDA_SUCCESS;
}
static CUresult image(unsigned long long *made, const CUDA_RESOURCE_DESC *of, int surface) {
    Image found = {1, current->gpu, surface};
    if (of->flags) REFUSE(CUDA_ERROR_INVALID_VALUE);
    if (of->resType == CU_RESOURCE_TYPE_ARRAY) {
        found.array = of->res.array.hArray;
        if (!found.array->used || found.array->gpu != current->gpu) REFUSE(CUDA_ERROR_INVALID_HANDLE);
        if (surface && !(found.array->of.Flags & CUDA_ARRAY3D_SURFACE_LDST)) REFUSE(CUDA_ERROR_INVALID_VALUE);
    } else if (of->resType == CU_RESOURCE_TYPE_MIPMAPPED_ARRAY && !surface) {
        found.levels = of->res.mipmap.hMipmappedArray, found.array = found.levels->level[0];
        if (!found.levels->used || found.levels->gpu != current->gpu) REFUSE(CUDA_ERROR_INVALID_HANDLE);
    } else {
        if (surface || of->resType != CU_RESOURCE_TYPE_LINEAR) REFUSE(CUDA_ERROR_INVALID_VALUE); /* surfaces are of arrays */
        found.place = of->res.linear.devPtr, found.size = of->res.linear.sizeInBytes;
        found.format = of->res.linear.format, found.channels = of->res.linear.numChannels;
        if (found.place % ALIGNED || !buffer_at(found.place, found.size) || !bits_of(found.format)) REFUSE(CUDA_ERROR_INVALID_VALUE);
    }
    if (found.array) found.format = found.array->of.Format, found.channels = found.array->of.NumChannels;
    images[image_count] = found;
    return *made = HANDLE(image_count++), CUDA_SUCCESS;
}
CUresult cuTexObjectCreate(CUtexObject *made, const CUDA_RESOURCE_DESC *of, const CUDA_TEXTURE_DESC *how, const CUDA_RESOURCE_VIEW_DESC *view) {
    IN_CONTEXT();
    static const int nothing[12];
    int whole = how->flags & CU_TRSF_NORMALIZED_COORDINATES;
    if (view || how->flags & ~(CU_TRSF_READ_AS_INTEGER | CU_TRSF_NORMALIZED_COORDINATES) || memcmp(how->reserved, nothing, sizeof nothing)) REFUSE(CUDA_ERROR_INVALID_VALUE);
    if (of->resType == CU_RESOURCE_TYPE_MIPMAPPED_ARRAY && !whole) REFUSE(CUDA_ERROR_INVALID_VALUE);
    for (int i = 0; i < 3; i++) if (how->addressMode[i] > CU_TR_ADDRESS_MODE_BORDER) REFUSE(CUDA_ERROR_INVALID_VALUE);
    CUresult found = image(made, of, 0);
    if (!found) images[image_count - 1].how = *how;
    return found;
}
static CUresult named(Image **made, CUmodule module, const char *name, int surface) {
    char wanted[64];
    snprintf(wanted, sizeof wanted, ".%sref %s;", surface ? "surf" : "tex", name);
    if (!module->loaded || module->gpu != current->gpu) return CUDA_ERROR_INVALID_HANDLE;
    if (!strstr(module->text, wanted)) return CUDA_ERROR_NOT_FOUND;
    *made = &images[image_count++];
    **made = (Image){0, current->gpu, surface, .module = module};
    snprintf((*made)->name, sizeof (*made)->name, "%s", name);
    return CUDA_SUCCESS;
}
CUresult cuModuleGetTexRef(CUtexref *made, CUmodule module, const char *name) { IN_CONTEXT(); return named((Image **)made, module, name, 0); }
CUresult cuModuleGetSurfRef(CUsurfref *made, CUmodule module, const char *name) { IN_CONTEXT(); return named((Image **)made, module, name, 1); }
static CUresult refer(Image *own, CUarray array, CUmipmappedArray levels) {
    if (!array->used || array->gpu != current->gpu) return CUDA_ERROR_INVALID_HANDLE;
    if (own->surface && !(array->of.Flags & CUDA_ARRAY3D_SURFACE_LDST)) return CUDA_ERROR_INVALID_VALUE;
    own->array = array, own->levels = levels, own->format = array->of.Format, own->channels = array->of.NumChannels;
    return own->used = 1, CUDA_SUCCESS;
}
CUresult cuTexRefSetArray(CUtexref own, CUarray array, unsigned flags) {
    IN_CONTEXT();
    if (flags != CU_TRSA_OVERRIDE_FORMAT) REFUSE(CUDA_ERROR_INVALID_VALUE);
    return refer((Image *)own, array, 0);
}
CUresult cuTexRefSetMipmappedArray(CUtexref own, CUmipmappedArray array, unsigned flags) {
    IN_CONTEXT();
    if (flags != CU_TRSA_OVERRIDE_FORMAT || !array->used) REFUSE(CUDA_ERROR_INVALID_VALUE);
    return refer((Image *)own, array->level[0], array);
}
CUresult cuSurfRefSetArray(CUsurfref own, CUarray array, unsigned flags) {
    IN_CONTEXT();
    if (flags) REFUSE(CUDA_ERROR_INVALID_VALUE);
    return refer((Image *)own, array, 0);
}
CUresult cuTexRefSetAddressMode(CUtexref own, int dimension, CUaddress_mode mode) {
    IN_CONTEXT();
    if (dimension < 0 || dimension > 2 || mode > CU_TR_ADDRESS_MODE_BORDER) REFUSE(CUDA_ERROR_INVALID_VALUE);
    return ((Image *)own)->how.addressMode[dimension] = mode, CUDA_SUCCESS;
}
CUresult cuTexRefSetFilterMode(CUtexref own, CUfilter_mode mode) { IN_CONTEXT(); return ((Image *)own)->how.filterMode = mode, CUDA_SUCCESS; }
CUresult cuTexRefSetMipmapFilterMode(CUtexref own, CUfilter_mode mode) { IN_CONTEXT(); return ((Image *)own)->how.mipmapFilterMode = mode, CUDA_SUCCESS; }
CUresult cuTexRefSetMipmapLevelClamp(CUtexref own, float least, float most) {
    IN_CONTEXT();
    return ((Image *)own)->how.minMipmapLevelClamp = least, ((Image *)own)->how.maxMipmapLevelClamp = most, CUDA_SUCCESS;
}
CUresult cuTexRefSetBorderColor(CUtexref own, float *colour) { IN_CONTEXT(); return memcpy(((Image *)own)->how.borderColor, colour, 16), CUDA_SUCCESS; }
CUresult cuTexRefSetFlags(CUtexref own, unsigned flags) {
    IN_CONTEXT();
    Image *image = (Image *)own;
    if (flags & ~(CU_TRSF_READ_AS_INTEGER | CU_TRSF_NORMALIZED_COORDINATES)) REFUSE(CUDA_ERROR_INVALID_VALUE);
    if (image->levels && !(flags & CU_TRSF_NORMALIZED_COORDINATES)) REFUSE(CUDA_ERROR_INVALID_VALUE);
    return image->how.flags = flags, CUDA_SUCCESS;
}
CUresult cuSurfObjectCreate(CUsurfObject *made, const CUDA_RESOURCE_DESC *of) {
    IN_CONTEXT();
    return image(made, of, 1);
}
static CUresult destroy(unsigned long long handle, int surface) {
    Image *own = &images[handle % (1u << 31)];
    if (!own->used || own->surface != surface || own->gpu != current->gpu) REFUSE(CUDA_ERROR_INVALID_HANDLE);
    return own->used = 0, CUDA_SUCCESS;
}
CUresult cuTexObjectDestroy(CUtexObject handle) { IN_CONTEXT(); return destroy(handle, 0); }
CUresult cuSurfObjectDestroy(CUsurfObject handle) { IN_CONTEXT(); return destroy(handle, 1); }

/* Streams, events, kernels. */
CUresult cuStreamCreate(CUstream *stream, unsigned flags) {
    IN_CONTEXT();
    if (flags != CU_STREAM_NON_BLOCKING) REFUSE(CUDA_ERROR_INVALID_VALUE);
    *stream = &streams[stream_count++];
    return (*stream)->gpu = current->gpu, CUDA_SUCCESS;
}
CUresult cuEventCreate(CUevent *event, unsigned flags) {
    IN_CONTEXT();
    if (flags != CU_EVENT_DISABLE_TIMING) REFUSE(CUDA_ERROR_INVALID_VALUE);
    *event = &events[event_count++];
    return **event = (struct CUevent_st){current->gpu, -1}, CUDA_SUCCESS;
}
CUresult cuEventRecord(CUevent event, CUstream stream) {
    IN_CONTEXT();
    if (event->gpu != stream->gpu || stream->gpu != current->gpu) REFUSE(CUDA_ERROR_INVALID_HANDLE);
    event->launch = -1;
    for (int i = 0; i < kernel_count; i++)
        if (kernels[i].stream == stream - streams) event->launch = i;
    return CUDA_SUCCESS;
}
CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned flags) {
    IN_CONTEXT();
    int which = stream - streams;
    if (flags || stream->gpu != current->gpu) REFUSE(CUDA_ERROR_INVALID_HANDLE);
    if (event->launch >= 0) follows[which][followed[which]++] = event->launch;
    return CUDA_SUCCESS;
}
CUresult cuEventSynchronize(CUevent event) {
    IN_CONTEXT();
    return event->launch < 0 ? CUDA_SUCCESS : complete();
}
static CUresult enqueue(CUfunction function, const CUlaunchConfig *config, int cluster, int early, void **arguments, void **extra) {
    int stream = config->hStream ? config->hStream - streams : 0;
    if (extra || config->gridDimY != 1 || config->gridDimZ != 1 || config->blockDimY != 1 || config->blockDimZ != 1) REFUSE(CUDA_ERROR_INVALID_VALUE);
    if (!function->module->loaded || function->module->gpu != current->gpu) REFUSE(CUDA_ERROR_INVALID_HANDLE);
    if (config->hStream && config->hStream->gpu != current->gpu) REFUSE(CUDA_ERROR_INVALID_HANDLE);
    if (cluster != function->clusters) REFUSE(CUDA_ERROR_INVALID_CLUSTER_SIZE);
    if (stream)
        for (int i = 0; i < gpus; i++) if (copying[i]) REFUSE(CUDA_ERROR_NOT_READY); /* it would overtake a copy */
    Kernel *new = &kernels[kernel_count++];
    *new = (Kernel){current->gpu, stream, function->module, function->name, config->gridDimX, config->blockDimX, config->sharedMemBytes};
    new->follows = -1;
    for (new->count = 0; new->count < function->parameters; new->count++) new->arguments[new->count] = *(uint64_t *)arguments[new->count];
    for (int i = kernel_count - 2; i >= 0; i--)
        if (kernels[i].gpu == new->gpu && kernels[i].stream == stream) {
            if (early && !followed[stream]) new->follows = i; /* behind an event it waits as others do */
            else new->needs[new->needed++] = i;
            break;
        }
    for (int i = 0; i < followed[stream]; i++) new->needs[new->needed++] = follows[stream][i];
    return CUDA_SUCCESS;
}
CUresult cuLaunchKernel(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared,
                        CUstream stream, void **arguments, void **extra) {
    IN_CONTEXT();
    CUlaunchConfig config = {gx, gy, gz, bx, by, bz, shared, stream, 0, 0};
    return enqueue(f, &config, 1, 0, arguments, extra);
}
CUresult cuLaunchKernelEx(const CUlaunchConfig *config, CUfunction f, void **arguments, void **extra) {
    IN_CONTEXT();
    int early, cluster = cluster_of(config, &early);
    if (!cluster) REFUSE(CUDA_ERROR_INVALID_CLUSTER_SIZE);
    return enqueue(f, config, cluster, early, arguments, extra);
}
/* All kernels run when somebody waits for one: those of other GPUs may be what it waits for. */
static CUresult complete(void) {
    static char text[CAP];
    char *at = text;
    if (!kernel_count) return CUDA_SUCCESS;
    at += sprintf(at, "import gpu.emulated\ngpu.emulated.run([");
    for (int i = 0; i < kernel_count; i++) {
        Kernel *k = &kernels[i];
        at += sprintf(at, "(%d, %llu, '%s', %u, %u, %u, [", k->gpu, (unsigned long long)(uintptr_t)k->module->text, k->name, k->grid, k->block, k->shared);
        for (int j = 0; j < k->count; j++) at += sprintf(at, "%llu,", (unsigned long long)k->arguments[j]);
        at += sprintf(at, "], [");
        for (int j = 0; j < k->needed; j++) at += sprintf(at, "%d,", k->needs[j]);
        at += sprintf(at, "], %d),", k->follows);
    }
    at += sprintf(at, "], [");
    for (int i = 1; i < next; i++) {
        Buffer *b = &buffers[i];
        int who = b->everybody;
        for (int g = 0; !b->mapped && g < gpus; g++) if (g == b->gpu || contexts[g].peers[b->gpu]) who |= 1 << g;
        if (b->used && b->data) at += sprintf(at, "(%d, %llu, %zu, %d),", i, (unsigned long long)(uintptr_t)b->data, b->size, who);
    }
    at += sprintf(at, "], [");
    for (int i = 1; i < image_count; i++) {
        Image *m = &images[i];
        if (!m->used || (*m->name && (!m->module->loaded || !m->array->used))) continue;
        CUDA_ARRAY3D_DESCRIPTOR of = {m->array ? 0 : 8 * m->size / (bits_of(m->format) * m->channels)};
        if (m->array) of = m->array->of;
        at += sprintf(at, "(%llu, '%s', %d, '%c', %d, %u, (%zu, %zu, %zu), %u, [", HANDLE(i), m->name, m->surface, kind_of(m->format),
                      bits_of(m->format), m->channels, of.Width, of.Height, of.Depth, of.Flags);
        for (int j = 0; j < (m->levels ? m->levels->count : 1); j++) {
            struct CUarray_st *level = m->levels ? m->levels->level[j] : m->array;
            at += sprintf(at, "%llu,", (unsigned long long)(level ? (CUdeviceptr)level->buffer << 32 : m->place));
        }
        at += sprintf(at, "], %d, (%d, %d, %d), %d, %d, %u, %g, %g, (%.9g, %.9g, %.9g, %.9g)),", m->levels != 0, m->how.addressMode[0],
                      m->how.addressMode[1], m->how.addressMode[2], m->how.filterMode, m->how.mipmapFilterMode, m->how.flags,
                      m->how.minMipmapLevelClamp, m->how.maxMipmapLevelClamp, m->how.borderColor[0], m->how.borderColor[1],
                      m->how.borderColor[2], m->how.borderColor[3]);
    }
    sprintf(at, "], %llu)", (unsigned long long)(uintptr_t)&fake_failed);
    if (strlen(text) + 1 >= sizeof text) return CUDA_ERROR_OUT_OF_MEMORY;
    kernel_count = 0;
    memset(followed, 0, sizeof followed);
    int state = PyGILState_Ensure(), failed = PyRun_SimpleString(text);
    PyGILState_Release(state);
    return failed ? CUDA_ERROR_UNKNOWN : fake_failed;
}
CUresult cuCtxSynchronize(void) {
    IN_CONTEXT();
    copying[current->gpu] = 0;
    return complete();
}
/* What was allocated and not given back. */
int fake_left(void) {
    int left = 0;
    for (int i = 1; i < next; i++) left += buffers[i].used;
    for (int i = 1; i < memory_count; i++) left += memories[i].used;
    for (int i = 1; i < image_count; i++) left += images[i].used && !*images[i].name; /* names are the module's */
    return left;
}
