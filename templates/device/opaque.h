// Indices that are made again where they are read, so that what is made of them isn't kept in registers across a loop.
#pragma once

// The thread's index, which the compiler can't know before `varying`, a variable of the loop. `batch` isn't negative.
__device__ __forceinline__ int opaque_thread(const int batch, const int varying) {
  const unsigned int zero = static_cast<unsigned int>(batch) >> 31;
  constexpr unsigned int kMostThreads = 1024;  // keeps its range known, so that divisions are shifts
  return static_cast<int>((threadIdx.x + (zero & static_cast<unsigned int>(varying))) % kMostThreads);
}
