// Indices that are made again where they are read, so that what is made of them isn't kept in registers across a loop.
#pragma once

// 0, which the compiler can't know before `varying`, a variable of the loop. `batch` isn't negative.
__device__ __forceinline__ int opaque_zero(const int batch, const int varying) {
  return static_cast<int>(static_cast<unsigned int>(batch) >> 31) & varying;
}

// The thread's index plus that.
__device__ __forceinline__ int opaque_thread(const int batch, const int varying) {
  constexpr unsigned int kMostThreads = 1024;  // keeps its range known, so that divisions are shifts
  return static_cast<int>((threadIdx.x + static_cast<unsigned int>(opaque_zero(batch, varying))) % kMostThreads);
}
