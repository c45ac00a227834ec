/* Memory that both the program and a device can read: malloc on the host device, managed memory of the driver on a GPU.
 * The driver is opened by its name, so that the examples build where no CUDA is. */
#ifndef CONVTGEN_EXAMPLES_ARRAYS_H
#define CONVTGEN_EXAMPLES_ARRAYS_H

#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct Arrays {
  int on_gpu;
  int (*allocate_managed)(uint64_t* address, size_t bytes, unsigned flags);
  int (*synchronise)(void);
} Arrays;

static void* arrays_function(void* driver, const char* name) {
  void* function = dlsym(driver, name);
  if (function == NULL) {
    fprintf(stderr, "the driver has no %s\n", name);
    exit(1);
  }
  return function;
}

/* For the first GPU, in its primary context, or for the host device. */
static Arrays arrays_open(int is_host) {
  Arrays arrays = {!is_host, NULL, NULL};
  if (is_host) {
    return arrays;
  }
  void* driver = dlopen("libcuda.so.1", RTLD_NOW);
  if (driver == NULL) {
    fprintf(stderr, "%s\n", dlerror());
    exit(1);
  }
  int (*retain)(void**, int) = (int (*)(void**, int))arrays_function(driver, "cuDevicePrimaryCtxRetain");
  int (*set_current)(void*) = (int (*)(void*))arrays_function(driver, "cuCtxSetCurrent");
  arrays.allocate_managed = (int (*)(uint64_t*, size_t, unsigned))arrays_function(driver, "cuMemAllocManaged");
  arrays.synchronise = (int (*)(void))arrays_function(driver, "cuCtxSynchronize");
  void* context = NULL;
  if (retain(&context, 0) != 0 || set_current(context) != 0) {
    fprintf(stderr, "the first GPU can't be used\n");
    exit(1);
  }
  return arrays;
}

/* At a multiple of 128 bytes, as a workspace must be; NULL for 0 bytes. Never freed: the examples end soon. */
static void* arrays_allocate(const Arrays* arrays, size_t bytes) {
  uint64_t address = 0;
  if (bytes == 0) {
    return NULL;
  }
  if (!arrays->on_gpu) {
    address = ((uint64_t)(uintptr_t)malloc(bytes + 127) + 127) / 128 * 128;
  } else if (arrays->allocate_managed(&address, bytes, 1) != 0) {
    address = 0;
  }
  if (address == 0) {
    fprintf(stderr, "no memory for %zu bytes\n", bytes);
    exit(1);
  }
  return (void*)(uintptr_t)address;
}

/* Waits for the launches before the program reads what they wrote. */
static void arrays_wait(const Arrays* arrays) {
  if (arrays->on_gpu && arrays->synchronise() != 0) {
    fprintf(stderr, "the kernel failed\n");
    exit(1);
  }
}

#endif
