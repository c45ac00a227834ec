// Part of the template `shift_gemm`, which uses what stands above its line there: what f32x3 has of its own.
#pragma once

// The largest finite magnitude of what a producer has copied of a stage: stage_input()'s own order.
__device__ __forceinline__ float largest_staged(const float* staged, int thread) {
  constexpr int kUnits = P::channels_last ? P::chunk / kCopy : kPlane / kCopy;  // of a pixel, of a channel
  constexpr int kPitch = P::channels_last ? kPixelPitch : kChannelPitch;
  float most = 0;
  for (int i = thread; i < (P::channels_last ? kPlane : P::chunk) * kUnits; i += kProducers) {
    const float* from = staged + i / kUnits * kPitch + i % kUnits * kCopy;
    if (kCopy == 4) {
      const float4 v = *reinterpret_cast<const float4*>(from);
      most = larger_finite(larger_finite(larger_finite(larger_finite(most, v.x), v.y), v.z), v.w);
    } else if (kCopy == 2) {
      const float2 v = *reinterpret_cast<const float2*>(from);
      most = larger_finite(larger_finite(most, v.x), v.y);
    } else {
      most = larger_finite(most, *from);
    }
  }
  return most;
}

// Behind a producer's copies to a stage: says what was largest, and that the stage is there.
__device__ __forceinline__ void finish_stage(unsigned char* stage, unsigned long long* full, int thread) {
  const float most = largest_of_warp(largest_staged(reinterpret_cast<const float*>(stage), thread));
  if (thread % 32 == 0) {
    reinterpret_cast<float*>(stage + kLargestOffset)[thread / 32] = most;
  }
  mbarrier_arrive(full);
}

// Takes a thread's run of one staged row to registers, for one step, in two parts. A thread has two adjacent channels
// of each half, with channels last all four in one piece.
__device__ __forceinline__ void load_split(Words (&words)[kParts], const float* row, float scale) {
#pragma unroll
  for (int i = 0; i < kRun; i += kVector) {
    float values[4][kVector];
    if (P::channels_last) {
      const float4 v = *reinterpret_cast<const float4*>(row + i * kPixelPitch);
      values[0][0] = v.x;
      values[1][0] = v.y;
      values[2][0] = v.z;
      values[3][0] = v.w;
    } else {
#pragma unroll
      for (int channel = 0; channel < 4; ++channel) {
        const float* from = row + (channel / 2 * 8 + channel % 2) * kChannelPitch + i;
        if (kVector == 4) {
          const float4 v = *reinterpret_cast<const float4*>(from);
          values[channel][0] = v.x;
          values[channel][1] = v.y;
          values[channel][2] = v.z;
          values[channel][3] = v.w;
        } else {
          const float2 v = *reinterpret_cast<const float2*>(from);
          values[channel][0] = v.x;
          values[channel][1] = v.y;
        }
      }
    }
#pragma unroll
    for (int v = 0; v < kVector; ++v) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const SplitPair pair = split_pair(values[2 * half][v], values[2 * half + 1][v], scale);
        words[0][half][i + v] = pair.high;
        words[kParts - 1][half][i + v] = pair.low;
      }
    }
  }
}

// A tap's products of the high parts of x with the high and the low parts of the weights, the first of the sums of
// their phase or not.
__device__ __forceinline__ void multiply_high(Sums (&sums)[kSums][kTiles], int part, const Run& run, int shift,
                                              unsigned long long weights, int accumulate) {
#pragma unroll
  for (int tile = 0; tile < kTiles; ++tile) {
    wgmma_rs(kProductType, kWgmmaMajorK, sums[part][tile], run[2 * tile + shift], weights, accumulate);
    wgmma_rs(kProductType, kWgmmaMajorK, sums[kPhaseSums + part][tile], run[2 * tile + shift],
             wgmma_descriptor_move(weights, kOperandSize), accumulate);
  }
}

// Those of the low parts of x with the high parts of the weights.
__device__ __forceinline__ void multiply_low(Sums (&sums)[kSums][kTiles], int part, const Run& run, int shift,
                                             unsigned long long weights) {
#pragma unroll
  for (int tile = 0; tile < kTiles; ++tile) {
    wgmma_rs(kProductType, kWgmmaMajorK, sums[kPhaseSums + part][tile], run[2 * tile + shift], weights, 1);
  }
}

// Adds a chunk's sums to the totals of the chunks before, in units of the result, and puts what that makes into their
// place. `totals` are the thread's; `exponent` is of the input's scale, `exponents` are of the weights', of its first
// column and those behind.
__device__ __forceinline__ void add_up(Sums (&sums)[kSums][kTiles], float4* totals, int exponent, const int* exponents,
                                       bool begins) {
#pragma unroll
  for (int columns = 0; columns < P::columns / 8; ++columns) {
    // What undoes the scales is no float where both are small or large, so it comes in two factors.
    float factors[2][2];
    const int2 weight = *reinterpret_cast<const int2*>(exponents + columns * 8);
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const int undone = -exponent - (i == 0 ? weight.x : weight.y);
      factors[i][0] = power_of_two(undone / 2);
      factors[i][1] = power_of_two(undone - undone / 2);
    }
#pragma unroll
    for (int part = 0; part < kPhaseSums; ++part) {
#pragma unroll
      for (int merged = 0; merged < kMerged; ++merged) {
#pragma unroll
        for (int tile = 0; tile < kTiles; ++tile) {
          const int first = merged * (P::columns / 2) + columns * 4;
          const int place = ((part * kMerged + merged) * kTiles + tile) * (P::columns / 8) + columns;
          float4* total = totals + place * kConsumers;
          float values[4] = {};
          if (kChunks > 1 && !begins) {
            const float4 before = *total;
            values[0] = before.x;
            values[1] = before.y;
            values[2] = before.z;
            values[3] = before.w;
          }
#pragma unroll
          for (int i = 0; i < 4; ++i) {
            const float sum = join_sums(sums[part][tile][first + i], sums[kPhaseSums + part][tile][first + i]);
            values[i] = fmaf(sum * factors[i % 2][0], factors[i % 2][1], values[i]);
            sums[part][tile][first + i] = values[i];
          }
          if (kChunks > 1) {
            *total = make_float4(values[0], values[1], values[2], values[3]);
          }
        }
      }
    }
  }
}
