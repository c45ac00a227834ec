// Device primitives: what a warp's builtins don't give. Shuffles and votes are CUDA's own (__shfl_sync, __ballot_sync,
// __reduce_max_sync).
#pragma once

// This thread's lane, 0 to 31.
__device__ __forceinline__ unsigned int lane_id() {
  unsigned int lane;
  asm("mov.u32 %0, %%laneid;" : "=r"(lane));
  return lane;
}

// Lane 0's value in all lanes, so that the compiler knows it to be the same: for a warp's role. Collective.
__device__ __forceinline__ int warp_uniform(int value) {
  return __shfl_sync(0xffffffffu, value, 0);
}

// True in exactly one lane of the warp, always the same one. Collective. sm_90 and later.
__device__ __forceinline__ bool elect_one() {
  unsigned int elected;
  asm volatile("{ .reg .pred p; elect.sync _|p, 0xffffffff; selp.b32 %0, 1, 0, p; }" : "=r"(elected)::"memory");
  return elected != 0;
}
