/* Running prebuilt kernels on the host device: what programs use whose kernels were made at build time with the host
 * device too (`convtgen launcher --host`), so that their tests run where no GPU is. Their launch code calls this;
 * nobody else need. No compiler is needed, and only the arrays are read and written.
 */
#ifndef CONVTGEN_HOST_H
#define CONVTGEN_HOST_H

#include <convtgen/convtgen.h>

#ifdef __cplusplus
extern "C" {
#endif

/** What a call does with an array. */
enum {
  CONVTGEN_HOST_READ = 1,    /**< only reads it */
  CONVTGEN_HOST_WRITTEN = 2, /**< writes it, every byte of what is read later, and does not read it before */
  CONVTGEN_HOST_SCRATCH = 3, /**< the same, and nobody reads it after the call: it is not copied back */
  CONVTGEN_HOST_UPDATED = 4  /**< writes some of it; the rest stays as it is */
};

/** An array of a call. */
typedef struct convtgen_host_array {
  void* address; /**< in the host's memory */
  size_t bytes;
  int32_t kind; /**< CONVTGEN_HOST_... */
} convtgen_host_array;

/** A tensor map: how a kernel sees an array of the call, by dimensions from the innermost on. */
typedef struct convtgen_host_map {
  int32_t array;   /**< its place among the call's arrays */
  int32_t element; /**< u8, u16, u32, f16, bf16, f32, tf32, f64, counted from 0 */
  int32_t rank;
  uint64_t sizes[5];   /**< elements */
  uint64_t pitches[5]; /**< bytes from one index to the next; pitches[0] is not used */
  uint32_t box[5];     /**< elements that a copy spans */
  uint32_t steps[5];   /**< every so manieth element of the box is loaded */
  int32_t swizzle;     /**< none, 32, 64 or 128 bytes, counted from 0 */
  int32_t fill;        /**< of what lies outside: 0, or NaN where it is 1 */
} convtgen_host_map;

/** An argument of a kernel: a map where that is not null, else an array where that is not -1, else an integer. */
typedef struct convtgen_host_argument {
  uint64_t value; /**< the integer */
  int32_t array;  /**< its place among the call's arrays, or -1 */
  const convtgen_host_map* map;
} convtgen_host_argument;

/** A kernel that a call launches. */
typedef struct convtgen_host_kernel {
  const char* symbol;   /**< its name; a library may have several */
  int32_t threads;      /**< of a block */
  int64_t shared_bytes; /**< dynamic shared memory of a block */
  int64_t blocks;       /**< 0: it is loaded, so that later calls find it, and not run; it needs no arguments then */
  const convtgen_host_argument* arguments; /**< in the kernel's order */
  size_t argument_count;
} convtgen_host_kernel;

/** One call. */
typedef struct convtgen_host_call_fields {
  size_t struct_size;  /**< to be set to sizeof(convtgen_host_call_fields) */
  const void* library; /**< what `convtgen compile --format host` made */
  size_t library_bytes;
  const convtgen_host_array* arrays;
  size_t array_count;
  const convtgen_host_kernel* kernels; /**< in the order in which they run */
  size_t kernel_count;
} convtgen_host_call_fields;

/** Runs the kernels of a call to their end, one after the other, with every access checked. Arrays are copied to
 * checked memory and back, each in a buffer of its own; one call runs at a time. All kernels are
 * loaded before the first one runs; a library is loaded once for each of its kernels. Errors: CONVTGEN_INVALID_ARGUMENT
 * names the field; CONVTGEN_UNSUPPORTED for a library of another version of convtgen or another kind of machine, or
 * without such a kernel; CONVTGEN_OUT_OF_MEMORY; CONVTGEN_KERNEL_FAULT. */
CONVTGEN_API convtgen_status convtgen_host_call(const convtgen_host_call_fields* call);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* CONVTGEN_HOST_H */
