// Stages that products read beyond what copies bring.
// `first` is where such bytes begin in a stage; each of so many threads takes part.
// Needs: kStageBytes, P
#pragma once

#include "device/template.h"
#include "layout.h"

// Puts zeros after what copies bring to the stages, which products without outputs read.
__device__ __forceinline__ void zero_tails(unsigned char* shared, int first, int bytes, int threads) {
  for (int i = threadIdx.x; i < P::stages * (bytes / 16); i += threads) {
    *reinterpret_cast<uint4*>(shared + i / (bytes / 16) * kStageBytes + first + i % (bytes / 16) * 16) =
        make_uint4(0, 0, 0, 0);
  }
}
