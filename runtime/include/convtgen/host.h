/* Running prebuilt kernels on the host device: what programs use whose kernels were made at build time with the host
 * device too (`convtgen launcher --host`), so that their tests run where no GPU is. Their launch code calls this;
 * nobody else need. No compiler is needed, and nothing is read or written but the arrays.
 */
#ifndef CONVTGEN_HOST_H
#define CONVTGEN_HOST_H

#include <convtgen/convtgen.h>

#ifdef __cplusplus
extern "C" {
#endif

/** What an argument of a kernel is. */
enum {
  CONVTGEN_HOST_INTEGER = 0,
  CONVTGEN_HOST_READ = 1,   /**< an array that the kernel reads */
  CONVTGEN_HOST_WRITTEN = 2 /**< an array that the kernel writes, every byte of it, and does not read before */
};

/** An argument of a kernel. */
typedef struct convtgen_host_argument {
  uint64_t value; /**< the integer, or the array's address in the host's memory */
  size_t bytes;   /**< of the array */
  int32_t kind;   /**< CONVTGEN_HOST_... */
} convtgen_host_argument;

/** One launch. */
typedef struct convtgen_host_launch_fields {
  size_t struct_size;  /**< to be set to sizeof(convtgen_host_launch_fields) */
  const void* library; /**< what `convtgen compile --format host` made */
  size_t library_bytes;
  const char* symbol;   /**< the kernel's name; a library may have several */
  int32_t threads;      /**< of a block */
  int64_t shared_bytes; /**< dynamic shared memory of a block */
  int64_t blocks;
  const convtgen_host_argument* arguments; /**< in the kernel's order */
  size_t argument_count;
} convtgen_host_launch_fields;

/** Runs a kernel to its end, with every access checked. Arrays are copied to checked memory and back; one launch runs
 * at a time. A library is loaded once for each of its kernels that runs. Of a call with packed weights (see
 * convtgen_launch) the packing kernel is one launch, whose workspace is CONVTGEN_HOST_WRITTEN, and the other kernel the
 * next, which reads it. Errors: CONVTGEN_INVALID_ARGUMENT names the field; CONVTGEN_UNSUPPORTED for a library of
 * another version of convtgen or another kind of machine, or without such a kernel; CONVTGEN_OUT_OF_MEMORY;
 * CONVTGEN_KERNEL_FAULT. */
CONVTGEN_API convtgen_status convtgen_host_launch(const convtgen_host_launch_fields* launch);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* CONVTGEN_HOST_H */
