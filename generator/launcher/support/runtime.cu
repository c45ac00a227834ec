/* Kernels on a GPU through the CUDA runtime, for kernels that nvcc compiled into the program. */
#include "support.h"

#include <cuda_runtime_api.h>
#include <pthread.h>

enum { NS_SHARED_WITHOUT_ASKING = 49152 };

static pthread_mutex_t ns_mutex = PTHREAD_MUTEX_INITIALIZER;

static int ns_runtime_failure(cudaError_t code, const char* name, const char* what) {
  return ns_fail(code == cudaErrorMemoryAllocation ? NS_OUT_OF_MEMORY : NS_DRIVER, "%s: CUDA: %s: %s (%s, %d)", name,
                 what, cudaGetErrorString(code), cudaGetErrorName(code), (int)code);
}

int ns_gpu_missing(void) {
  int count = 0;
  const cudaError_t code = cudaGetDeviceCount(&count);
  if (code != cudaSuccess) {
    (void)cudaGetLastError();
    return ns_fail(NS_NO_DEVICE, "no GPU: %s (%s)", cudaGetErrorString(code), cudaGetErrorName(code));
  }
  return count > 0 ? NS_OK : ns_fail(NS_NO_DEVICE, "the CUDA runtime sees no GPU");
}

/* The runtime takes the code of the pass of nvcc that fits the GPU best, and in each pass one kernel is whole: the one
 * for the architecture that the code says it was compiled for. */
static int ns_choose_compiled(const ns_kernel* kernel, ns_place* place) {
  const ns_form* form = kernel->form;
  struct cudaFuncAttributes attributes;
  int device = 0, capability = 0, minor = 0, most_shared = 0, i;
  const char* what = "asking what the GPU is";
  cudaError_t code = cudaGetDevice(&device);
  if (code == cudaSuccess) {
    code = cudaDeviceGetAttribute(&capability, cudaDevAttrComputeCapabilityMajor, device);
  }
  if (code == cudaSuccess) {
    code = cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device);
  }
  if (code == cudaSuccess) {
    code = cudaDeviceGetAttribute(&most_shared, cudaDevAttrMaxSharedMemoryPerBlockOptin, device);
  }
  if (code == cudaSuccess) {
    what = "loading the kernel";
    code = cudaFuncGetAttributes(&attributes, form->binaries[0].parts[0].function);
  }
  if (code == cudaErrorNoKernelImageForDevice || code == cudaErrorInvalidDeviceFunction) {
    (void)cudaGetLastError();
    return ns_fail(NS_UNSUPPORTED,
                   "%s has sources for %s, and nothing that nvcc compiled of them runs on this GPU of compute "
                   "capability %d.%d",
                   kernel->name, kernel->architectures, capability, minor);
  }
  if (code != cudaSuccess) {
    return ns_runtime_failure(code, kernel->name, what);
  }
  for (i = 0; i < form->binary_count; ++i) {
    if (form->binaries[i].capability == attributes.ptxVersion) {
      place->binary = &form->binaries[i];
    }
  }
  if (place->binary == NULL) {
    return ns_fail(NS_UNSUPPORTED, "%s was compiled for compute_%d, and has sources for %s", kernel->name,
                   attributes.ptxVersion, kernel->architectures);
  }
  if (ns_shared_bytes(place->binary) > (unsigned int)most_shared) {
    return ns_fail(NS_UNSUPPORTED,
                   "%s for %s needs %u bytes of shared memory a block, and this GPU of compute capability %d.%d has %d",
                   kernel->name, place->binary->architecture, ns_shared_bytes(place->binary), capability, minor,
                   most_shared);
  }
  for (i = 0; code == cudaSuccess && i < place->binary->part_count; ++i) {
    const ns_part* part = &place->binary->parts[i];
    what = "loading the kernel";
    code = cudaFuncGetAttributes(&attributes, part->function); /* else its first launch would load it */
    if (code == cudaSuccess && part->shared_bytes > NS_SHARED_WITHOUT_ASKING) {
      what = "asking for shared memory";
      code = cudaFuncSetAttribute(part->function, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)part->shared_bytes);
    }
  }
  return code == cudaSuccess ? NS_OK : ns_runtime_failure(code, kernel->name, what);
}

/* The kernel's place on the current device, made if missing; with `again` always. */
static int ns_make_place(const ns_kernel* kernel, const void* device, int again, const ns_place** made) {
  ns_place place = {NULL, 0, NULL, {NULL}, NULL};
  int status = NS_OK;
  place.context = device;
  pthread_mutex_lock(&ns_mutex);
  *made = ns_find_place(kernel, device, 0);
  if (*made == NULL || again) {
    status = ns_choose_compiled(kernel, &place);
  }
  if (*made == NULL && status == NS_OK) {
    *made = ns_add_place(kernel, &place);
    if (*made == NULL) {
      status = ns_fail(NS_OUT_OF_MEMORY, "%s: out of memory", kernel->name);
    }
  }
  pthread_mutex_unlock(&ns_mutex);
  return status;
}

/* The current device as the context of a place. */
static int ns_current_device(const ns_kernel* kernel, const void** device) {
  int ordinal = 0;
  const cudaError_t code = cudaGetDevice(&ordinal);
  *device = (const void*)(intptr_t)ordinal;
  if (code == cudaSuccess) {
    return NS_OK;
  }
  (void)cudaGetLastError();
  return ns_gpu_missing() != NS_OK ? NS_NO_DEVICE : ns_runtime_failure(code, kernel->name, "asking for the device");
}

int ns_gpu_prepare(const ns_kernel* kernel, const ns_binary** binary) {
  const ns_place* place = NULL;
  const void* device = NULL;
  int status = ns_current_device(kernel, &device);
  if (status == NS_OK) {
    status = ns_make_place(kernel, device, 1, &place); /* after cudaDeviceReset() what was asked for is forgotten */
  }
  if (status == NS_OK) {
    *binary = place->binary;
  }
  return status;
}

/* Both the runtime and the driver must know how to capture launches that overlap: since CUDA 12.3. */
static cudaError_t ns_launch_part(const ns_part* part, unsigned int blocks, void** parameters, int overlaps,
                                  cudaStream_t stream) {
#if CUDART_VERSION >= 12030
  int version = 0;
  if (overlaps && cudaDriverGetVersion(&version) == cudaSuccess && version >= 12030) {
    cudaLaunchAttribute overlap = {};
    cudaLaunchConfig_t launch = {};
    overlap.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    overlap.val.programmaticStreamSerializationAllowed = 1;
    launch.gridDim = dim3(blocks, 1, 1);
    launch.blockDim = dim3(part->threads, 1, 1);
    launch.dynamicSmemBytes = part->shared_bytes;
    launch.stream = stream;
    launch.attrs = &overlap;
    launch.numAttrs = 1;
    return cudaLaunchKernelExC(&launch, part->function, parameters);
  }
#else
  (void)overlaps;
#endif
  return cudaLaunchKernel(part->function, dim3(blocks, 1, 1), dim3(part->threads, 1, 1), parameters, part->shared_bytes,
                          stream);
}

/* The driver's cuTensorMapEncodeTiled, through the runtime: nothing of the driver is linked. Null where it has none. */
static ns_encode ns_find_encode(void) {
  void* function = NULL;
#if CUDART_VERSION >= 12050
  cudaDriverEntryPointQueryResult found;
  if (cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &function, 12000, cudaEnableDefault, &found) !=
          cudaSuccess ||
      found != cudaDriverEntryPointSuccess) {
    (void)cudaGetLastError();
    function = NULL;
  }
#elif CUDART_VERSION >= 12000
  if (cudaGetDriverEntryPoint("cuTensorMapEncodeTiled", &function, cudaEnableDefault) != cudaSuccess) {
    (void)cudaGetLastError();
    function = NULL;
  }
#endif
  return (ns_encode)function;
}

static int ns_enqueue(const ns_kernel* kernel, const ns_binary* binary, const ns_call* call, void* stream) {
  ns_slots slots;
  int64_t blocks[NS_MOST_KERNELS];
  int i, launched = 0;
  const ns_encode encode = binary->maps != NULL ? ns_find_encode() : NULL;
  int status = ns_blocks(kernel, binary, call, blocks);
  for (i = 0; status == NS_OK && i < binary->part_count; ++i) {
    const ns_part* part = &binary->parts[i];
    if (blocks[i] == 0) {
      continue;
    }
    status = ns_fill_slots(kernel, binary, call, part, encode, &slots);
    if (status == NS_OK) {
      const cudaError_t code = ns_launch_part(part, (unsigned int)blocks[i], slots.parameters, part->waits && launched,
                                              (cudaStream_t)stream);
      status = code == cudaSuccess ? NS_OK : ns_runtime_failure(code, kernel->name, ns_launching(part));
      launched = 1;
    }
  }
  return status;
}

int ns_gpu_launch(const ns_kernel* kernel, const ns_call* call, void* stream) {
  const ns_place* place;
  const void* device = NULL;
  int status = ns_current_device(kernel, &device);
  if (status != NS_OK) {
    return status;
  }
  place = ns_find_place(kernel, device, 0);
  if (place == NULL) {
    cudaStreamCaptureStatus capturing = cudaStreamCaptureStatusNone;
    /* An error also means a capture: the default stream must not be asked while another one is captured. */
    if (cudaStreamIsCapturing((cudaStream_t)stream, &capturing) != cudaSuccess ||
        capturing != cudaStreamCaptureStatusNone) {
      return ns_fail(NS_NOT_PREPARED,
                     "%s: the stream is being captured, and the kernel is not loaded on this device: call "
                     "ns_prepare() before the capture begins",
                     kernel->name);
    }
    status = ns_make_place(kernel, device, 0, &place);
  }
  return status == NS_OK ? ns_enqueue(kernel, place->binary, call, stream) : status;
}
