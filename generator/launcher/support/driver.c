/* Kernels on a GPU through the CUDA driver, which is opened when it is needed: nothing of CUDA is linked. Names and
 * values are those of https://docs.nvidia.com/cuda/cuda-driver-api/. */
#include "support.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
  NS_CU_OUT_OF_MEMORY = 2,
  NS_CU_INVALID_IMAGE = 200,
  NS_CU_NO_BINARY_FOR_GPU = 209,
  NS_CU_UNSUPPORTED_PTX_VERSION = 222,
  NS_CU_CAPABILITY_MAJOR = 75,
  NS_CU_CAPABILITY_MINOR = 76,
  NS_CU_MOST_SHARED = 97,    /* CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN */
  NS_CU_ALLOWED_SHARED = 8,  /* CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES */
  NS_CU_LOG_BUFFER = 5,      /* CU_JIT_ERROR_LOG_BUFFER */
  NS_CU_LOG_BYTES = 6,       /* CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES */
  NS_CU_CAPTURE_RELAXED = 2, /* CU_STREAM_CAPTURE_MODE_RELAXED */
  NS_CU_MAY_OVERLAP = 6,     /* CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION */
  NS_SHARED_WITHOUT_ASKING = 49152
};

/* CUlaunchAttribute and CUlaunchConfig. */
typedef struct ns_launch_attribute {
  int id, unused;
  int value[16];
} ns_launch_attribute;

typedef struct ns_launch {
  unsigned int grid[3], block[3], shared_bytes;
  void* stream;
  ns_launch_attribute* attributes;
  unsigned int attribute_count;
} ns_launch;

typedef struct ns_driver {
  int (*init)(unsigned int flags);
  int (*get_error_name)(int status, const char** text);
  int (*get_error_string)(int status, const char** text);
  int (*device_get_count)(int* count);
  int (*device_get)(int* device, int ordinal);
  int (*device_get_attribute)(int* value, int attribute, int device);
  int (*device_primary_ctx_retain)(void** context, int device);
  int (*ctx_push_current)(void* context);
  int (*ctx_pop_current)(void** context);
  int (*ctx_get_current)(void** context);
  int (*ctx_get_device)(int* device);
  int (*ctx_get_id)(void* context, unsigned long long* id); /* since CUDA 12.0, else null */
  int (*module_load_data_ex)(void** module, const void* image, unsigned int count, int* options, void** values);
  int (*module_unload)(void* module);
  int (*module_get_function)(void** function, void* module, const char* name);
  int (*func_set_attribute)(void* function, int attribute, int value);
  int (*stream_is_capturing)(void* stream, int* status);
  int (*thread_exchange_stream_capture_mode)(int* mode);
  int (*driver_get_version)(int* version);
  int (*launch_kernel)(void* function, unsigned int grid_x, unsigned int grid_y, unsigned int grid_z,
                       unsigned int block_x, unsigned int block_y, unsigned int block_z, unsigned int shared_bytes,
                       void* stream, void** parameters, void** extra);
  /* Null before CUDA 12.3, which captures launches that overlap. */
  int (*launch_kernel_ex)(const ns_launch* launch, void* function, void** parameters, void** extra);
  ns_encode tensor_map_encode_tiled; /* since CUDA 12.0, else null */
  int version;                       /* the newest CUDA that it takes: 1000 * major + 10 * minor */
} ns_driver;

static pthread_mutex_t ns_mutex = PTHREAD_MUTEX_INITIALIZER;
static ns_driver ns_opened;
static const ns_driver* ns_the_driver; /* null until it is open */
static int ns_opening_status;          /* why it can't be opened, once that is known */
static char ns_opening_message[1024];
static void* ns_primary; /* the context of GPU 0, where a thread has none */

/* Binds one function; `into` is where its pointer goes. */
static void ns_bind(void* library, const char* name, void* into, size_t bytes, const char** missing) {
  void* symbol = dlsym(library, name);
  if (symbol == NULL && *missing == NULL) {
    *missing = name;
  }
  memcpy(into, &symbol, bytes);
}

static int ns_driver_failure(const ns_driver* driver, int code, const char* name, const char* what) {
  const char* word = NULL;
  const char* text = NULL;
  if (driver->get_error_name(code, &word) != 0 || word == NULL) {
    word = "unknown error";
  }
  if (driver->get_error_string(code, &text) != 0 || text == NULL) {
    text = "no words for it";
  }
  return ns_fail(code == NS_CU_OUT_OF_MEMORY ? NS_OUT_OF_MEMORY : NS_DRIVER, "%s: CUDA: %s: %s (%s, %d)", name, what,
                 text, word, code);
}

static int ns_open_library(void** library) {
  static const char* const files[] = {"libcuda.so.1", "/usr/local/nvidia/lib64/libcuda.so.1",
                                      "/usr/lib/wsl/lib/libcuda.so.1"};
  const char* named = getenv("CONVTGEN_CUDA_DRIVER");
  size_t i;
  if (named != NULL && *named != '\0') {
    *library = dlopen(named, RTLD_NOW | RTLD_LOCAL);
    return *library != NULL ? NS_OK
                            : ns_fail(NS_NO_DEVICE, "$CONVTGEN_CUDA_DRIVER names no usable library: %s", dlerror());
  }
  for (i = 0; i < sizeof files / sizeof files[0]; ++i) {
    *library = dlopen(files[i], RTLD_NOW | RTLD_LOCAL);
    if (*library != NULL) {
      return NS_OK;
    }
  }
  return ns_fail(NS_NO_DEVICE, "no NVIDIA driver: libcuda.so.1 was not found");
}

static int ns_open_driver(ns_driver* driver) {
  void* library = NULL;
  const char* missing = NULL;
  const char* optional = "";
  int count = 0, code;
  const int status = ns_open_library(&library);
  if (status != NS_OK) {
    return status;
  }
#define NS_BIND(name, member) ns_bind(library, name, &driver->member, sizeof driver->member, &missing)
  NS_BIND("cuInit", init);
  NS_BIND("cuGetErrorName", get_error_name);
  NS_BIND("cuGetErrorString", get_error_string);
  NS_BIND("cuDeviceGetCount", device_get_count);
  NS_BIND("cuDeviceGet", device_get);
  NS_BIND("cuDeviceGetAttribute", device_get_attribute);
  NS_BIND("cuDevicePrimaryCtxRetain", device_primary_ctx_retain);
  NS_BIND("cuCtxPushCurrent_v2", ctx_push_current);
  NS_BIND("cuCtxPopCurrent_v2", ctx_pop_current);
  NS_BIND("cuCtxGetCurrent", ctx_get_current);
  NS_BIND("cuCtxGetDevice", ctx_get_device);
  NS_BIND("cuModuleLoadDataEx", module_load_data_ex);
  NS_BIND("cuModuleUnload", module_unload);
  NS_BIND("cuModuleGetFunction", module_get_function);
  NS_BIND("cuFuncSetAttribute", func_set_attribute);
  NS_BIND("cuStreamIsCapturing", stream_is_capturing);
  NS_BIND("cuThreadExchangeStreamCaptureMode", thread_exchange_stream_capture_mode);
  NS_BIND("cuDriverGetVersion", driver_get_version);
  NS_BIND("cuLaunchKernel", launch_kernel);
#undef NS_BIND
  ns_bind(library, "cuCtxGetId", &driver->ctx_get_id, sizeof driver->ctx_get_id, &optional);
  ns_bind(library, "cuLaunchKernelEx", &driver->launch_kernel_ex, sizeof driver->launch_kernel_ex, &optional);
  ns_bind(library, "cuTensorMapEncodeTiled", &driver->tensor_map_encode_tiled, sizeof driver->tensor_map_encode_tiled,
          &optional);
  if (missing != NULL) {
    return ns_fail(NS_NO_DEVICE, "the CUDA driver is too old: it has no %s", missing);
  }
  code = driver->init(0);
  if (code == 0) {
    code = driver->driver_get_version(&driver->version);
  }
  if (driver->version < 12030) {
    driver->launch_kernel_ex = NULL;
  }
  if (code == 0) {
    code = driver->device_get_count(&count);
  }
  if (code != 0) {
    ns_driver_failure(driver, code, "libcuda.so.1", "starting the driver");
    return NS_NO_DEVICE;
  }
  return count > 0 ? NS_OK : ns_fail(NS_NO_DEVICE, "the CUDA driver sees no GPU");
}

/* The driver, opened once for the process; null where that failed, with the status. */
static const ns_driver* ns_get_driver(int* status) {
  const ns_driver* driver = __atomic_load_n(&ns_the_driver, __ATOMIC_ACQUIRE);
  *status = NS_OK;
  if (driver != NULL) {
    return driver;
  }
  pthread_mutex_lock(&ns_mutex);
  if (ns_the_driver == NULL && ns_opening_status == NS_OK) {
    ns_opening_status = ns_open_driver(&ns_opened);
    if (ns_opening_status == NS_OK) {
      __atomic_store_n(&ns_the_driver, &ns_opened, __ATOMIC_RELEASE);
    } else {
      snprintf(ns_opening_message, sizeof ns_opening_message, "%s", ns_last_error());
    }
  }
  driver = ns_the_driver;
  if (driver == NULL) {
    *status = ns_fail(ns_opening_status, "%s", ns_opening_message);
  }
  pthread_mutex_unlock(&ns_mutex);
  return driver;
}

int ns_gpu_missing(void) {
  int status;
  return ns_get_driver(&status) != NULL ? NS_OK : status;
}

static unsigned long long ns_context_id(const ns_driver* driver, void* context) {
  unsigned long long id = 0;
  if (driver->ctx_get_id != NULL && driver->ctx_get_id(context, &id) != 0) {
    return ~0ULL; /* of no context that lives */
  }
  return id;
}

/* Makes the primary context of GPU 0 current where the calling thread has none; *pushed is 1 then. */
static int ns_enter_context(const ns_driver* driver, const char* name, void** context, int* pushed) {
  int device = 0, code = driver->ctx_get_current(context);
  *pushed = 0;
  if (code == 0 && *context == NULL) {
    pthread_mutex_lock(&ns_mutex);
    if (ns_primary == NULL) {
      code = driver->device_get(&device, 0);
      if (code == 0) {
        code = driver->device_primary_ctx_retain(&ns_primary, device);
      }
    }
    *context = ns_primary;
    pthread_mutex_unlock(&ns_mutex);
    if (code == 0) {
      code = driver->ctx_push_current(*context);
      *pushed = code == 0;
    }
  }
  return code == 0 ? NS_OK : ns_driver_failure(driver, code, name, "finding a context");
}

static void ns_leave_context(const ns_driver* driver, int pushed) {
  void* popped = NULL;
  if (pushed) {
    driver->ctx_pop_current(&popped);
  }
}

/* The version of PTX, "8.4" of CUDA 12.4, for the error of a driver that is too old for it; "" of other images. */
static void ns_ptx_version(const ns_binary* binary, char* text, size_t bytes) {
  const char* line = binary->is_ptx ? strstr((const char*)binary->image, ".version ") : NULL;
  text[0] = '\0';
  if (line != NULL) {
    snprintf(text, bytes, " (PTX of version %.*s)", (int)strcspn(line + 9, "\n\r "), line + 9);
  }
}

/* Loads one binary into the current context. *refused: this driver can't take it on this GPU, so another may do. */
static int ns_load_binary(const ns_driver* driver, const ns_kernel* kernel, const ns_binary* binary, void** module,
                          int* refused) {
  char log[700] = "", doing[900], version[40];
  int options[] = {NS_CU_LOG_BUFFER, NS_CU_LOG_BYTES};
  void* values[] = {log, (void*)(uintptr_t)(sizeof log - 1)};
  const int code = driver->module_load_data_ex(module, binary->image, 2, options, values);
  *refused = code == NS_CU_INVALID_IMAGE || code == NS_CU_NO_BINARY_FOR_GPU || code == NS_CU_UNSUPPORTED_PTX_VERSION;
  if (code == 0) {
    return NS_OK;
  }
  ns_ptx_version(binary, version, sizeof version);
  snprintf(doing, sizeof doing, "loading the kernel for %s%s, with a driver for CUDA %d.%d%s%s", binary->architecture,
           version, driver->version / 1000, driver->version % 1000 / 10, log[0] != '\0' ? ": " : "", log);
  return ns_driver_failure(driver, code, kernel->name, doing);
}

/* Loads the best of the binaries that fit the current context's GPU and that the driver takes. */
static int ns_load_best(const ns_driver* driver, const ns_kernel* kernel, int capability, int most_shared,
                        const ns_binary** binary, void** module) {
  char first[1024] = ""; /* what was wrong with the best one */
  uint64_t tried = 0;
  int first_status = NS_OK, refused = 1, status;
  for (;;) {
    status = ns_choose(kernel, capability, most_shared, tried, binary);
    if (status != NS_OK) {
      return first_status != NS_OK ? ns_fail(first_status, "%s", first) : status;
    }
    status = ns_load_binary(driver, kernel, *binary, module, &refused);
    if (status == NS_OK) {
      return NS_OK;
    }
    if (first_status == NS_OK) {
      first_status = status;
      snprintf(first, sizeof first, "%s", ns_last_error());
    }
    if (!refused || *binary - kernel->form->binaries >= 64) {
      return ns_fail(first_status, "%s", first);
    }
    tried |= (uint64_t)1 << (*binary - kernel->form->binaries);
  }
}

/* Loads the binary that fits the current context's GPU. The place is not in any list yet. */
static int ns_load(const ns_driver* driver, const ns_kernel* kernel, ns_place* place) {
  void* module = NULL;
  const char* what = "asking what the GPU is";
  int device = 0, major = 0, minor = 0, most_shared = 0, i, status;
  int code = driver->ctx_get_device(&device);
  if (code == 0) {
    code = driver->device_get_attribute(&major, NS_CU_CAPABILITY_MAJOR, device);
  }
  if (code == 0) {
    code = driver->device_get_attribute(&minor, NS_CU_CAPABILITY_MINOR, device);
  }
  if (code == 0) {
    code = driver->device_get_attribute(&most_shared, NS_CU_MOST_SHARED, device);
  }
  if (code != 0) {
    return ns_driver_failure(driver, code, kernel->name, what);
  }
  status = ns_load_best(driver, kernel, 10 * major + minor, most_shared, &place->binary, &module);
  if (status != NS_OK) {
    return status;
  }
  for (i = 0; code == 0 && i < place->binary->part_count; ++i) {
    const ns_part* part = &place->binary->parts[i];
    what = "finding the kernel in its module";
    code = driver->module_get_function(&place->functions[i], module, part->symbol);
    if (code == 0 && part->shared_bytes > NS_SHARED_WITHOUT_ASKING) {
      what = "asking for shared memory";
      code = driver->func_set_attribute(place->functions[i], NS_CU_ALLOWED_SHARED, (int)part->shared_bytes);
    }
  }
  if (code != 0) {
    status = ns_driver_failure(driver, code, kernel->name, what);
    driver->module_unload(module);
  }
  return status;
}

/* The kernel's place in the current context, made if missing. */
static int ns_make_place(const ns_driver* driver, const ns_kernel* kernel, void* context, const ns_place** made) {
  ns_place place = {NULL, 0, NULL, {NULL}, NULL};
  int status = NS_OK;
  int mode = NS_CU_CAPTURE_RELAXED;
  place.context = context;
  place.id = ns_context_id(driver, context);
  pthread_mutex_lock(&ns_mutex);
  *made = ns_find_place(kernel, context, place.id);
  if (*made == NULL) {
    /* Loading is no part of a capture that goes on in this or another thread, and must not spoil it. */
    driver->thread_exchange_stream_capture_mode(&mode);
    status = ns_load(driver, kernel, &place);
    driver->thread_exchange_stream_capture_mode(&mode);
    if (status == NS_OK) {
      *made = ns_add_place(kernel, &place);
      if (*made == NULL) {
        status = ns_fail(NS_OUT_OF_MEMORY, "%s: out of memory", kernel->name);
      }
    }
  }
  pthread_mutex_unlock(&ns_mutex);
  return status;
}

int ns_gpu_prepare(const ns_kernel* kernel, const ns_binary** binary) {
  const ns_place* place;
  void* context = NULL;
  int status, pushed = 0;
  const ns_driver* driver = ns_get_driver(&status);
  if (driver == NULL) {
    return status;
  }
  status = ns_enter_context(driver, kernel->name, &context, &pushed);
  if (status == NS_OK) {
    status = ns_make_place(driver, kernel, context, &place);
  }
  if (status == NS_OK) {
    *binary = place->binary;
  }
  ns_leave_context(driver, pushed);
  return status;
}

static int ns_launch_part(const ns_driver* driver, void* function, const ns_part* part, int64_t blocks, int overlaps,
                          void** parameters, void* stream) {
  if (overlaps && driver->launch_kernel_ex != NULL) {
    ns_launch launch = {{0, 1, 1}, {0, 1, 1}, 0, NULL, NULL, 1};
    ns_launch_attribute overlap = {NS_CU_MAY_OVERLAP, 0, {1}};
    launch.grid[0] = (unsigned int)blocks;
    launch.block[0] = part->threads;
    launch.shared_bytes = part->shared_bytes;
    launch.stream = stream;
    launch.attributes = &overlap;
    return driver->launch_kernel_ex(&launch, function, parameters, NULL);
  }
  return driver->launch_kernel(function, (unsigned int)blocks, 1, 1, part->threads, 1, 1, part->shared_bytes, stream,
                               parameters, NULL);
}

static int ns_enqueue(const ns_driver* driver, const ns_kernel* kernel, const ns_place* place, const ns_call* call,
                      void* stream) {
  const ns_binary* binary = place->binary;
  ns_slots slots;
  int64_t blocks[NS_MOST_KERNELS];
  int i, launched = 0;
  int status = ns_blocks(kernel, binary, call, blocks);
  for (i = 0; status == NS_OK && i < binary->part_count; ++i) {
    const ns_part* part = &binary->parts[i];
    if (blocks[i] == 0) {
      continue;
    }
    status = ns_fill_slots(kernel, binary, call, part, driver->tensor_map_encode_tiled, &slots);
    if (status == NS_OK) {
      const int code = ns_launch_part(driver, place->functions[i], part, blocks[i], part->waits && launched,
                                      slots.parameters, stream);
      status = code == 0 ? NS_OK : ns_driver_failure(driver, code, kernel->name, ns_launching(part));
      launched = 1;
    }
  }
  return status;
}

int ns_gpu_launch(const ns_kernel* kernel, const ns_call* call, void* stream) {
  const ns_place* place;
  void* context = NULL;
  int status, pushed = 0, capturing = 0;
  const ns_driver* driver = ns_get_driver(&status);
  if (driver == NULL) {
    return status;
  }
  status = ns_enter_context(driver, kernel->name, &context, &pushed);
  if (status != NS_OK) {
    return status;
  }
  place = ns_find_place(kernel, context, ns_context_id(driver, context));
  if (place == NULL) {
    /* An error also means a capture: the default stream must not be asked while another one is captured. */
    if (driver->stream_is_capturing(stream, &capturing) != 0 || capturing != 0) {
      status = ns_fail(NS_NOT_PREPARED,
                       "%s: the stream is being captured, and the kernel is not loaded in this context: call "
                       "ns_prepare() before the capture begins",
                       kernel->name);
    } else {
      status = ns_make_place(driver, kernel, context, &place);
    }
  }
  if (status == NS_OK) {
    status = ns_enqueue(driver, kernel, place, call, stream);
  }
  ns_leave_context(driver, pushed);
  return status;
}
