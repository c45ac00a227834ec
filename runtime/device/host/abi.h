// What the host device and a compiled kernel call in each other: the runtime compiles it, and every kernel does.
// Plain C types, no includes: it stands in front of the kernel's source.
#ifndef CONVTGEN_HOST_ABI_H
#define CONVTGEN_HOST_ABI_H

/// Changes whenever a member does; a library of another version is not loaded.
#define CONVTGEN_HOST_ABI_VERSION 1

extern "C" {

/// Filled by the runtime and given to the library as it is loaded. Every function is called from a kernel's thread;
/// `pc` is the address of the kernel that the call returns to.
struct ConvtgenHostTable {
  // Before an access of 2^i bytes, aligned to them; before one of any size and alignment.
  void (*read[5])(void* address, void* pc);
  void (*write[5])(void* address, void* pc);
  void (*read_range)(void* address, unsigned long bytes, void* pc);
  void (*write_range)(void* address, unsigned long bytes, void* pc);

  // Where the thread stands.
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
};

}  // extern "C"

#endif
