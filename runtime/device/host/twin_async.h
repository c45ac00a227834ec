// The host device's side of the asynchronous primitives, put before kernels that use them: the functions of
// templates/device/, whose comments are the contracts, as calls through the table of abi.h.
#ifndef CONVTGEN_HOST_TWIN_ASYNC_H
#define CONVTGEN_HOST_TWIN_ASYNC_H

// Marks that the kernel needs the asynchronous machine.
extern "C" {
extern __attribute__((visibility("default"))) const int convtgen_host_asynchronous;
const int convtgen_host_asynchronous = 1;
}

// A separate function, so that the return address is in the kernel.
#define CONVTGEN_HOST_PRIMITIVE CONVTGEN_HOST_UNCHECKED inline

// async_copy.h
#define CONVTGEN_HOST_ASYNC_COPY(name, size)                                          \
  CONVTGEN_HOST_PRIMITIVE void name(void* to, const void* from, unsigned int bytes) { \
    return convtgen_host_table.async_copy(to, from, size, bytes, CONVTGEN_HOST_PC);   \
  }
CONVTGEN_HOST_ASYNC_COPY(async_copy_4, 4)
CONVTGEN_HOST_ASYNC_COPY(async_copy_8, 8)
CONVTGEN_HOST_ASYNC_COPY(async_copy_16, 16)
CONVTGEN_HOST_PRIMITIVE void async_copy_commit() {
  return convtgen_host_table.async_copy_commit();
}
CONVTGEN_HOST_PRIMITIVE void async_copy_wait(int pending) {
  return convtgen_host_table.async_copy_wait(static_cast<unsigned int>(pending), CONVTGEN_HOST_PC);
}
CONVTGEN_HOST_PRIMITIVE void async_copy_wait_all() {
  return convtgen_host_table.async_copy_wait(~0u, CONVTGEN_HOST_PC);
}
CONVTGEN_HOST_PRIMITIVE void async_copy_arrive(unsigned long long* barrier) {
  return convtgen_host_table.async_copy_arrive(barrier, CONVTGEN_HOST_PC);
}

// barrier.h
CONVTGEN_HOST_PRIMITIVE void mbarrier_init(unsigned long long* barrier, unsigned int count) {
  return convtgen_host_table.mbarrier_init(barrier, count, CONVTGEN_HOST_PC);
}
CONVTGEN_HOST_PRIMITIVE void mbarrier_invalidate(unsigned long long* barrier) {
  return convtgen_host_table.mbarrier_invalidate(barrier, CONVTGEN_HOST_PC);
}
CONVTGEN_HOST_PRIMITIVE void fence_mbarrier_init() {
  return convtgen_host_table.fence(1);
}
CONVTGEN_HOST_PRIMITIVE void mbarrier_arrive(unsigned long long* barrier) {
  return convtgen_host_table.mbarrier_arrive(barrier, 0, 1, CONVTGEN_HOST_PC);
}
CONVTGEN_HOST_PRIMITIVE void mbarrier_arrive_expect(unsigned long long* barrier, unsigned int bytes) {
  return convtgen_host_table.mbarrier_arrive(barrier, bytes, 1, CONVTGEN_HOST_PC);
}
CONVTGEN_HOST_PRIMITIVE void mbarrier_expect(unsigned long long* barrier, unsigned int bytes) {
  return convtgen_host_table.mbarrier_arrive(barrier, bytes, 0, CONVTGEN_HOST_PC);
}
CONVTGEN_HOST_PRIMITIVE void mbarrier_arrive_remote(unsigned long long* barrier, unsigned int rank) {
  return convtgen_host_table.mbarrier_arrive_remote(barrier, rank, CONVTGEN_HOST_PC);
}
CONVTGEN_HOST_PRIMITIVE void mbarrier_release_remote(unsigned long long* barrier, unsigned int rank) {
  return convtgen_host_table.mbarrier_arrive_remote(barrier, rank, CONVTGEN_HOST_PC);
}
CONVTGEN_HOST_PRIMITIVE bool mbarrier_test(unsigned long long* barrier, unsigned int parity) {
  return convtgen_host_table.mbarrier_test(barrier, parity, "mbarrier_test", CONVTGEN_HOST_PC) != 0;
}
CONVTGEN_HOST_PRIMITIVE bool mbarrier_try_wait(unsigned long long* barrier, unsigned int parity) {
  return convtgen_host_table.mbarrier_test(barrier, parity, "mbarrier_try_wait", CONVTGEN_HOST_PC) != 0;
}
#define CONVTGEN_HOST_MBARRIER_WAIT(name, of_cluster)                                               \
  CONVTGEN_HOST_PRIMITIVE void name(unsigned long long* barrier, unsigned int parity) {             \
    return convtgen_host_table.mbarrier_wait(barrier, parity, of_cluster, #name, CONVTGEN_HOST_PC); \
  }
CONVTGEN_HOST_MBARRIER_WAIT(mbarrier_wait, 0)
CONVTGEN_HOST_MBARRIER_WAIT(mbarrier_poll, 0)
CONVTGEN_HOST_MBARRIER_WAIT(mbarrier_wait_cluster, 1)
CONVTGEN_HOST_PRIMITIVE void named_barrier_sync(int id, int threads) {
  return convtgen_host_table.named_barrier(id, threads, 1, CONVTGEN_HOST_PC);
}
CONVTGEN_HOST_PRIMITIVE void named_barrier_arrive(int id, int threads) {
  return convtgen_host_table.named_barrier(id, threads, 0, CONVTGEN_HOST_PC);
}

// tensor_copy.h. The first word of a map is where the launch keeps it.
struct __align__(64) TensorMap {
  unsigned long long words[16];
};
#define CONVTGEN_HOST_INTS_1 int c0
#define CONVTGEN_HOST_INTS_2 int c0, int c1
#define CONVTGEN_HOST_INTS_3 int c0, int c1, int c2
#define CONVTGEN_HOST_INTS_4 int c0, int c1, int c2, int c3
#define CONVTGEN_HOST_INTS_5 int c0, int c1, int c2, int c3, int c4
#define CONVTGEN_HOST_COORDINATES_1 c0
#define CONVTGEN_HOST_COORDINATES_2 c0, c1
#define CONVTGEN_HOST_COORDINATES_3 c0, c1, c2
#define CONVTGEN_HOST_COORDINATES_4 c0, c1, c2, c3
#define CONVTGEN_HOST_COORDINATES_5 c0, c1, c2, c3, c4
#define CONVTGEN_HOST_TENSOR_COPIES(rank)                                                                              \
  CONVTGEN_HOST_PRIMITIVE void tensor_load_##rank##d(void* to, const TensorMap& map, unsigned long long* barrier,      \
                                                     CONVTGEN_HOST_INTS_##rank) {                                      \
    const int coordinates[] = {CONVTGEN_HOST_COORDINATES_##rank};                                                      \
    return convtgen_host_table.tensor_load(to, &map, barrier, 0, coordinates, rank, CONVTGEN_HOST_PC);                 \
  }                                                                                                                    \
  CONVTGEN_HOST_PRIMITIVE void tensor_load_multicast_##rank##d(                                                        \
      void* to, const TensorMap& map, unsigned long long* barrier, unsigned short blocks, CONVTGEN_HOST_INTS_##rank) { \
    const int coordinates[] = {CONVTGEN_HOST_COORDINATES_##rank};                                                      \
    return convtgen_host_table.tensor_load(to, &map, barrier, 0x10000u | blocks, coordinates, rank, CONVTGEN_HOST_PC); \
  }                                                                                                                    \
  CONVTGEN_HOST_PRIMITIVE void tensor_store_##rank##d(const TensorMap& map, const void* from,                          \
                                                      CONVTGEN_HOST_INTS_##rank) {                                     \
    const int coordinates[] = {CONVTGEN_HOST_COORDINATES_##rank};                                                      \
    return convtgen_host_table.tensor_store(&map, from, coordinates, rank, CONVTGEN_HOST_PC);                          \
  }
CONVTGEN_HOST_TENSOR_COPIES(1)
CONVTGEN_HOST_TENSOR_COPIES(2)
CONVTGEN_HOST_TENSOR_COPIES(3)
CONVTGEN_HOST_TENSOR_COPIES(4)
CONVTGEN_HOST_TENSOR_COPIES(5)
CONVTGEN_HOST_PRIMITIVE void tensor_prefetch(const TensorMap& map) {
  return convtgen_host_table.tensor_prefetch(&map, CONVTGEN_HOST_PC);
}
CONVTGEN_HOST_PRIMITIVE void bulk_load(void* to, const void* from, unsigned int bytes, unsigned long long* barrier) {
  return convtgen_host_table.bulk_load(to, from, bytes, barrier, 0, CONVTGEN_HOST_PC);
}
CONVTGEN_HOST_PRIMITIVE void bulk_load_multicast(void* to, const void* from, unsigned int bytes,
                                                 unsigned long long* barrier, unsigned short blocks) {
  return convtgen_host_table.bulk_load(to, from, bytes, barrier, 0x10000u | blocks, CONVTGEN_HOST_PC);
}
CONVTGEN_HOST_PRIMITIVE void bulk_store(void* to, const void* from, unsigned int bytes) {
  return convtgen_host_table.bulk_store(to, from, bytes, CONVTGEN_HOST_PC);
}
CONVTGEN_HOST_PRIMITIVE void bulk_commit() {
  return convtgen_host_table.bulk_commit();
}
CONVTGEN_HOST_PRIMITIVE void bulk_wait_read(int pending) {
  return convtgen_host_table.bulk_wait(static_cast<unsigned int>(pending), 1, CONVTGEN_HOST_PC);
}
CONVTGEN_HOST_PRIMITIVE void bulk_wait(int pending) {
  return convtgen_host_table.bulk_wait(static_cast<unsigned int>(pending), 0, CONVTGEN_HOST_PC);
}
CONVTGEN_HOST_PRIMITIVE void fence_proxy_async() {
  return convtgen_host_table.fence(0);
}

// matrix_load.h
#define CONVTGEN_HOST_MATRIX_MOVES(count, suffix, transposed)                                                 \
  CONVTGEN_HOST_PRIMITIVE void matrix_load_x##count##suffix(unsigned int(&values)[count], const void* row) {  \
    return convtgen_host_table.matrix_load(values, row, count, transposed, CONVTGEN_HOST_PC);                 \
  }                                                                                                           \
  CONVTGEN_HOST_PRIMITIVE void matrix_store_x##count##suffix(void* row, const unsigned int(&values)[count]) { \
    return convtgen_host_table.matrix_store(row, values, count, transposed, CONVTGEN_HOST_PC);                \
  }
CONVTGEN_HOST_MATRIX_MOVES(2, , 0)
CONVTGEN_HOST_MATRIX_MOVES(2, _transposed, 1)
CONVTGEN_HOST_MATRIX_MOVES(4, , 0)
CONVTGEN_HOST_MATRIX_MOVES(4, _transposed, 1)
#define CONVTGEN_HOST_MATRIX_MOVE(suffix, transposed)                                         \
  CONVTGEN_HOST_PRIMITIVE void matrix_load_x1##suffix(unsigned int& value, const void* row) { \
    return convtgen_host_table.matrix_load(&value, row, 1, transposed, CONVTGEN_HOST_PC);     \
  }                                                                                           \
  CONVTGEN_HOST_PRIMITIVE void matrix_store_x1##suffix(void* row, unsigned int value) {       \
    return convtgen_host_table.matrix_store(row, &value, 1, transposed, CONVTGEN_HOST_PC);    \
  }
CONVTGEN_HOST_MATRIX_MOVE(, 0)
CONVTGEN_HOST_MATRIX_MOVE(_transposed, 1)

// mma.h
#define CONVTGEN_HOST_MMA(type, element)                                                                            \
  CONVTGEN_HOST_PRIMITIVE void mma_k16_##type(float(&d)[4], const unsigned int(&a)[4], const unsigned int(&b)[2]) { \
    return convtgen_host_table.warp_product(d, a, b, 16, element, "mma_k16_" #type, CONVTGEN_HOST_PC);              \
  }                                                                                                                 \
  CONVTGEN_HOST_PRIMITIVE void mma_k8_##type(float(&d)[4], const unsigned int(&a)[2], unsigned int b) {             \
    return convtgen_host_table.warp_product(d, a, &b, 8, element, "mma_k8_" #type, CONVTGEN_HOST_PC);               \
  }
CONVTGEN_HOST_MMA(f16, 0)
CONVTGEN_HOST_MMA(bf16, 1)
CONVTGEN_HOST_PRIMITIVE void mma_k8_tf32(float (&d)[4], const unsigned int (&a)[4], const unsigned int (&b)[2]) {
  return convtgen_host_table.warp_product(d, a, b, 8, 2, "mma_k8_tf32", CONVTGEN_HOST_PC);
}

// warpgroup.h
CONVTGEN_HOST_PRIMITIVE void wgmma_fence() {
  return convtgen_host_table.product_fence(CONVTGEN_HOST_PC);
}
CONVTGEN_HOST_PRIMITIVE void wgmma_commit() {
  return convtgen_host_table.product_commit(CONVTGEN_HOST_PC);
}
CONVTGEN_HOST_PRIMITIVE void wgmma_wait(int pending) {
  return convtgen_host_table.product_wait(static_cast<unsigned int>(pending), CONVTGEN_HOST_PC);
}
// Not an access: on the chip it only makes the compiler leave the register as it is.
__forceinline__ void wgmma_pin(float&) {}
__forceinline__ void wgmma_pin_operand(unsigned int&) {}
__forceinline__ void wgmma_keep_operand(const unsigned int (&)[4], unsigned int) {}
__forceinline__ unsigned long long wgmma_descriptor(const void* start, int leading, int stride, int swizzle) {
  const unsigned long long mode = swizzle == 128 ? 1 : swizzle == 64 ? 2 : swizzle == 32 ? 3 : 0;
  // An address that is not a multiple of 16 sets a bit without a meaning, and is found by that.
  const unsigned long long misaligned = (shared_address(start) % 16 != 0 ? 1ull << 14 : 0) |
                                        (leading % 16 != 0 ? 1ull << 30 : 0) | (stride % 16 != 0 ? 1ull << 46 : 0);
  return misaligned | static_cast<unsigned long long>((shared_address(start) & 0x3ffffu) >> 4) |
         static_cast<unsigned long long>(leading >> 4) << 16 | static_cast<unsigned long long>(stride >> 4) << 32 |
         mode << 62;
}
__forceinline__ unsigned long long wgmma_descriptor_move(unsigned long long descriptor, int bytes) {
  return descriptor + static_cast<unsigned long long>(static_cast<long long>(bytes / 16));
}

// generator/specializer/primitives.h
#define CONVTGEN_HOST_WGMMA_FUNCTION(n, name, a_type, a_registers, a_descriptor, element, majors)              \
  CONVTGEN_HOST_PRIMITIVE void name(float(&d)[n / 2], a_type, unsigned long long b, int accumulate) {          \
    return convtgen_host_table.product(d, n, element, a_registers, a_descriptor, b, majors, accumulate, #name, \
                                       CONVTGEN_HOST_PC);                                                      \
  }
#define CONVTGEN_HOST_WGMMA_SS(n, kind, element, suffix, majors) \
  CONVTGEN_HOST_WGMMA_FUNCTION(n, wgmma_m64n##n##kind##_ss##suffix, unsigned long long a, nullptr, a, element, majors)
#define CONVTGEN_HOST_WGMMA_RS(n, kind, element, suffix, majors) \
  CONVTGEN_HOST_WGMMA_FUNCTION(n, wgmma_m64n##n##kind##_rs##suffix, const unsigned int(&a)[4], a, 0, element, majors)
#define CONVTGEN_HOST_WGMMA_16(n, kind, element)      \
  CONVTGEN_HOST_WGMMA_SS(n, kind, element, , 0)       \
  CONVTGEN_HOST_WGMMA_SS(n, kind, element, _mn_a, 1)  \
  CONVTGEN_HOST_WGMMA_SS(n, kind, element, _mn_b, 2)  \
  CONVTGEN_HOST_WGMMA_SS(n, kind, element, _mn_ab, 3) \
  CONVTGEN_HOST_WGMMA_RS(n, kind, element, , 0)       \
  CONVTGEN_HOST_WGMMA_RS(n, kind, element, _mn_b, 2)
#define CONVTGEN_HOST_WGMMA(n)               \
  CONVTGEN_HOST_WGMMA_16(n, k16_f16, 0)      \
  CONVTGEN_HOST_WGMMA_16(n, k16_bf16, 1)     \
  CONVTGEN_HOST_WGMMA_SS(n, k8_tf32, 2, , 0) \
  CONVTGEN_HOST_WGMMA_RS(n, k8_tf32, 2, , 0)
#define CONVTGEN_HOST_SET_REGISTERS(count)                                \
  CONVTGEN_HOST_PRIMITIVE void setmaxnreg_increase_##count() {            \
    return convtgen_host_table.set_registers(1, count, CONVTGEN_HOST_PC); \
  }                                                                       \
  CONVTGEN_HOST_PRIMITIVE void setmaxnreg_decrease_##count() {            \
    return convtgen_host_table.set_registers(0, count, CONVTGEN_HOST_PC); \
  }
#define CONVTGEN_HOST_EIGHTS(one)                                                                                     \
  one(24) one(32) one(40) one(48) one(56) one(64) one(72) one(80) one(88) one(96) one(104) one(112) one(120) one(128) \
      one(136) one(144) one(152) one(160) one(168) one(176) one(184) one(192) one(200) one(208) one(216) one(224)     \
          one(232) one(240) one(248) one(256)
CONVTGEN_HOST_WGMMA(8)
CONVTGEN_HOST_WGMMA(16)
CONVTGEN_HOST_EIGHTS(CONVTGEN_HOST_WGMMA)
CONVTGEN_HOST_EIGHTS(CONVTGEN_HOST_SET_REGISTERS)

// cluster.h
CONVTGEN_HOST_PRIMITIVE unsigned int cluster_rank() {
  return convtgen_host_table.cluster_rank();
}
CONVTGEN_HOST_PRIMITIVE unsigned int cluster_size() {
  return convtgen_host_table.cluster_size();
}
CONVTGEN_HOST_PRIMITIVE void cluster_arrive() {
  return convtgen_host_table.cluster_arrive(1, CONVTGEN_HOST_PC);
}
CONVTGEN_HOST_PRIMITIVE void cluster_arrive_relaxed() {
  return convtgen_host_table.cluster_arrive(0, CONVTGEN_HOST_PC);
}
CONVTGEN_HOST_PRIMITIVE void cluster_wait() {
  return convtgen_host_table.cluster_wait(CONVTGEN_HOST_PC);
}
CONVTGEN_HOST_PRIMITIVE void* cluster_pointer(void* local, unsigned int rank) {
  return convtgen_host_table.cluster_pointer(local, rank, "cluster_pointer", CONVTGEN_HOST_PC);
}
#define CONVTGEN_HOST_CLUSTER_ACCESS(size, type, word)                                                 \
  CONVTGEN_HOST_PRIMITIVE void* convtgen_cluster_load_##size(const void* local, unsigned int rank) {   \
    return convtgen_host_table.cluster_pointer(const_cast<void*>(local), rank, "cluster_load_" #size,  \
                                               CONVTGEN_HOST_PC);                                      \
  }                                                                                                    \
  CONVTGEN_HOST_PRIMITIVE void* convtgen_cluster_store_##size(void* local, unsigned int rank) {        \
    return convtgen_host_table.cluster_pointer(local, rank, "cluster_store_" #size, CONVTGEN_HOST_PC); \
  }                                                                                                    \
  __forceinline__ type cluster_load_##size(const void* local, unsigned int rank) {                     \
    return *static_cast<const word*>(convtgen_cluster_load_##size(local, rank));                       \
  }                                                                                                    \
  __forceinline__ void cluster_store_##size(void* local, unsigned int rank, type value) {              \
    *static_cast<word*>(convtgen_cluster_store_##size(local, rank)) = value;                           \
  }
CONVTGEN_HOST_CLUSTER_ACCESS(4, unsigned int, ConvtgenWord)
CONVTGEN_HOST_CLUSTER_ACCESS(16, uint4, uint4)

// grid.h
CONVTGEN_HOST_PRIMITIVE void grid_dependents_launch() {}
CONVTGEN_HOST_PRIMITIVE void grid_dependency_wait() {
  return convtgen_host_table.grid_dependency_wait();
}

#endif
