// The calls between the host device and a compiled kernel. The runtime and every kernel's library compile this file.
// Plain C types, no includes: it is put before the kernel's source.
#ifndef CONVTGEN_HOST_ABI_H
#define CONVTGEN_HOST_ABI_H

/// Changes whenever a member does; a library of another version is not loaded.
#define CONVTGEN_HOST_ABI_VERSION 6

extern "C" {

/// Filled by the runtime and given to the library as it is loaded. Every function is called from a kernel's thread;
/// `pc` is the address of the kernel that the call returns to.
struct ConvtgenHostTable {
  // Before an access of 2^i bytes, aligned to them; before one of any size and alignment.
  void (*read[5])(void* address, void* pc);
  void (*write[5])(void* address, void* pc);
  void (*read_range)(void* address, unsigned long bytes, void* pc);
  void (*write_range)(void* address, unsigned long bytes, void* pc);

  // The thread's place in the grid.
  unsigned int (*thread_index)();
  unsigned int (*block_index)();
  unsigned int (*block_threads)();
  unsigned int (*grid_blocks)();
  void* (*shared_memory)();

  // Collectives; kinds of a shuffle: 0 index, 1 up, 2 down, 3 xor.
  void (*sync_threads)(void* pc);
  void (*sync_warp)(unsigned int mask, void* pc);
  unsigned long long (*shuffle)(unsigned int mask, unsigned long long bits, unsigned int kind, unsigned int operand,
                                unsigned int width, void* pc);
  unsigned int (*ballot)(unsigned int mask, int predicate, void* pc);

  // The device primitives of twin_async.h; their contracts are in templates/device/.
  void (*async_copy)(void* to, const void* from, unsigned int size, unsigned int bytes, void* pc);
  void (*async_copy_commit)();
  void (*async_copy_wait)(unsigned int pending, void* pc);  // ~0u: for all, in groups or not
  void (*async_copy_arrive)(void* barrier, void* pc);

  void (*mbarrier_init)(void* barrier, unsigned int count, void* pc);
  void (*mbarrier_invalidate)(void* barrier, void* pc);
  void (*mbarrier_arrive)(void* barrier, unsigned int bytes, int arrives, void* pc);
  void (*mbarrier_arrive_remote)(void* barrier, unsigned int rank, void* pc);
  // `name` is the primitive's, for messages.
  int (*mbarrier_test)(void* barrier, unsigned int parity, const char* name, void* pc);
  void (*mbarrier_wait)(void* barrier, unsigned int parity, int of_cluster, const char* name, void* pc);
  void (*named_barrier)(int id, int threads, int waits, void* pc);
  void (*fence)(int kind);  // 0 proxy, 1 mbarrier_init

  // `blocks` of a load: 0 for the block itself alone, else 0x10000 and a bit for each rank that gets it.
  void (*tensor_load)(void* to, const void* map, void* barrier, unsigned int blocks, const int* coordinates,
                      unsigned int rank, void* pc);
  void (*tensor_store)(const void* map, const void* from, const int* coordinates, unsigned int rank, void* pc);
  void (*tensor_prefetch)(const void* map, void* pc);
  void (*bulk_load)(void* to, const void* from, unsigned int bytes, void* barrier, unsigned int blocks, void* pc);
  void (*bulk_store)(void* to, const void* from, unsigned int bytes, void* pc);
  void (*bulk_commit)();
  void (*bulk_wait)(unsigned int pending, int reads_only, void* pc);

  // Values and rows are arrays of the thread.
  void (*matrix_load)(unsigned int* values, const void* row, unsigned int count, int transposed, void* pc);
  void (*matrix_store)(void* row, const unsigned int* values, unsigned int count, int transposed, void* pc);

  // Of a warp: `a` has k / 4 registers, `b` k / 8.
  void (*warp_product)(float* d, const unsigned int* a, const unsigned int* b, unsigned int k, int element,
                       const char* name, void* pc);

  void (*product_fence)(void* pc);
  void (*product_commit)(void* pc);
  void (*product_wait)(unsigned int pending, void* pc);
  // `a` has four registers, or is null and `a_descriptor` counts; bit 0 of `majors`: A is MN-major, bit 1: B is.
  void (*product)(float* d, unsigned int n, int element, const unsigned int* a, unsigned long long a_descriptor,
                  unsigned long long b_descriptor, unsigned int majors, int accumulate, const char* name, void* pc);
  void (*set_registers)(int increase, unsigned int registers, void* pc);

  unsigned int (*cluster_rank)();
  unsigned int (*cluster_size)();
  void (*cluster_arrive)(int releases, void* pc);
  void (*cluster_wait)(void* pc);
  void* (*cluster_pointer)(void* local, unsigned int rank, const char* name, void* pc);

  void (*grid_dependency_wait)();
};

}  // extern "C"

#endif
