// Producers scan each stage for its maxima, choose its scales, and split what was staged.
//
// High and low parts of two channels of a position replace their values. With channels first, a word of high parts
// stands in the first channel's row and one of low parts in the second's. With channels last, the two words of a pair
// take its place. All of an image's part of a stage has one scale.
#pragma once

#include "device/barrier.h"
#include "device/input_activation.h"
#include "device/ring.h"
#include "device/split.h"
#include "device/tensor_copy.h"
#include "device/warp.h"
#include "layout.h"
#include "scales.h"

// The threads that work on an image, each on vectors of some lines. A line is the positions of two channels, or the
// channels of a pixel.
constexpr int kSplitters = kByImages ? 32 : kProducers;
constexpr int kSplitImages = kByImages ? P::tile_n / (kProducers / 32) : P::tile_n;  // of a thread
constexpr int kLines = P::channels_last ? kImagePlane : P::block_k / 2;
constexpr int kLinePitch = P::channels_last ? kPixelPitch : kPairsHalves ? kChannelPitch : 2 * kChannelPitch;
constexpr int kImagePitch = P::channels_last ? kImagePlane * kPixelPitch : kImagePlane;
constexpr int kVectorWidth = P::channels_last || kImagePlane % 4 == 0 ? 4 : 2;  // elements that are loaded together
constexpr int kLineVectors = (P::channels_last ? P::block_k : kImagePlane) / kVectorWidth;
constexpr int kLineThreads = P::channels_last          ? (kLineVectors < kSplitters ? kLineVectors : kSplitters)
                             : kSplitters / kLines > 8 ? kSplitters / kLines
                                                       : 8;
constexpr int kLinesAtOnce = kSplitters / kLineThreads;
constexpr int kTurns = ceil_div(kLineVectors, kLineThreads);  // of a thread in a line
constexpr int kVectors = ceil_div(kLines, kLinesAtOnce) * kTurns;
static_assert(kSplitters % kLineThreads == 0, "a line's threads are all there");

constexpr int kVectorValues = P::channels_last ? 4 : 2 * kVectorWidth;
// The values that a thread scans and splits together.
using Vector = float[kVectorValues];

// Where the thread's i-th vector begins, relative to its first one.
__host__ __device__ constexpr int place_of_vector(int i) {
  return kTurns == kVectors ? i * (kLineThreads * kVectorWidth)
                            : i / kTurns * kLinesAtOnce * kLinePitch + i % kTurns * kLineThreads * kVectorWidth;
}
// Whether there is one. The remainders tell the compiler that each thread has all of them except perhaps the last.
__device__ __forceinline__ bool has_vector(int i, int thread) {
  return i < kVectors &&
         (kLines % kLinesAtOnce == 0 || i / kTurns * kLinesAtOnce + thread / kLineThreads % kLinesAtOnce < kLines) &&
         (kLineVectors % kLineThreads == 0 ||
          (kTurns == kVectors ? i : i % kTurns) * kLineThreads + thread % kLineThreads < kLineVectors);
}

// Vectors that are loaded together, into registers. Whether each thread has all of them.
constexpr int kMostBatch = kTwoProducers ? 2 : 4;
constexpr int kBatch = ceil_div(kVectors, ceil_div(kVectors, kMostBatch));
constexpr int kScanBatch = kProducersSplit ? kBatch : kVectors > 4 ? 2 : kVectors;
constexpr bool kAllThere = kVectors % kBatch == 0 && kVectors % kScanBatch == 0 && kLines % kLinesAtOnce == 0 &&
                           kLineVectors % kLineThreads == 0;

// Loads the i-th of a thread's vectors; zeros beyond its vectors.
//
// An activation keeps these and the zeros outside of the image.
__device__ __forceinline__ void load_vector(Vector& vector, const float* own, int i, int thread) {
  if (!kAllThere) {
#pragma unroll
    for (int v = 0; v < kVectorValues; ++v) {
      vector[v] = 0;
    }
  }
  if (kAllThere || has_vector(i, thread)) {
#pragma unroll
    for (int v = 0; v < kVectorValues; ++v) {
      vector[v] =
          input_of(own[place_of_vector(i) + (P::channels_last ? v
                                             : kPairsHalves   ? v / kVectorWidth * kPartnerPitch + v % kVectorWidth
                                                              : v / kVectorWidth * kChannelPitch + v % kVectorWidth)]);
    }
  }
}

// Splits a vector, and stores its parts where it was.
__device__ __forceinline__ void store_vector_split(float* own, int i, const Vector& vector, float scale) {
  unsigned int* words = reinterpret_cast<unsigned int*>(own + place_of_vector(i));
  if (P::channels_last) {
    const SplitPair first = split_pair(vector[0], vector[1], scale, false);
    const SplitPair second = split_pair(vector[2], vector[3], scale, false);
    *reinterpret_cast<uint4*>(words) = make_uint4(first.high, first.low, second.high, second.low);
  } else {
    SplitPair pairs[kVectorWidth];
#pragma unroll
    for (int i = 0; i < kVectorWidth; ++i) {
      pairs[i] = split_pair(vector[i], vector[kVectorWidth + i], scale, false);
    }
    if (kVectorWidth == 4) {
      *reinterpret_cast<uint4*>(words) = make_uint4(pairs[0].high, pairs[1].high, pairs[2].high, pairs[3].high);
      *reinterpret_cast<uint4*>(kPairsHalves ? words + kPartnerPitch : words + kChannelPitch) =
          make_uint4(pairs[0].low, pairs[1].low, pairs[2].low, pairs[3].low);
    } else {
      *reinterpret_cast<uint2*>(words) = make_uint2(pairs[0].high, pairs[1].high);
      *reinterpret_cast<uint2*>(kPairsHalves ? words + kPartnerPitch : words + kChannelPitch) =
          make_uint2(pairs[0].low, pairs[1].low);
    }
  }
}

// The vector and the place there of the i-th value that a batch of the maximum scan reads. Where nothing else reads the
// values, the scan takes one value of each load before the next of any. Otherwise the assembler waits for one load
// after the other.
__host__ __device__ constexpr int scanned_vector(int i) {
  return kProducersSplit ? i / kVectorValues : i % kScanBatch;
}
__host__ __device__ constexpr int scanned_value(int i) {
  return kProducersSplit    ? i % kVectorValues
         : P::channels_last ? i / kScanBatch
                            : i / kScanBatch % 2 * kVectorWidth + i / kScanBatch / 2;
}

// The maximum magnitude of a thread's vectors of an image. NaN don't count.
__device__ __forceinline__ float scan_maximum(const float* own, int thread) {
  float most[2] = {0, 0};
#pragma unroll
  for (int batch = 0; batch < kVectors; batch += kScanBatch) {
    Vector vectors[kScanBatch];
#pragma unroll
    for (int i = 0; i < kScanBatch; ++i) {
      load_vector(vectors[i], own, batch + i, thread);
    }
#pragma unroll
    for (int i = 0; i < kScanBatch * kVectorValues; ++i) {
      most[i % 2] = fmaxf(most[i % 2], fabsf(vectors[scanned_vector(i)][scanned_value(i)]));
    }
  }
  return fmaxf(most[0], most[1]);
}

// The same of finite values only. It is seldom needed, so it goes vector by vector.
__device__ __forceinline__ float scan_finite_maximum(const float* own, int thread) {
  float most = 0;
#pragma unroll 1
  for (int i = 0; i < kVectors; ++i) {
    Vector vector;
    load_vector(vector, own, i, thread);
#pragma unroll
    for (int v = 0; v < kVectorValues; ++v) {
      most = larger_finite(most, vector[v]);
    }
  }
  return most;
}

// Splits a thread's vectors of an image.
__device__ __forceinline__ void split_vectors(float* own, int thread, float scale) {
#pragma unroll
  for (int batch = 0; batch < kVectors; batch += kBatch) {
    Vector vectors[kBatch];
#pragma unroll
    for (int i = 0; i < kBatch; ++i) {
      load_vector(vectors[i], own, batch + i, thread);
    }
#pragma unroll
    for (int i = 0; i < kBatch; ++i) {
      if (kAllThere || has_vector(batch + i, thread)) {
        store_vector_split(own, batch + i, vectors[i], scale);
      }
    }
  }
}

// Producers process a stage as soon as its copies have landed, and while no stage is empty for further copies. Small
// copies take long to issue: then stages are processed when this many are in flight.
constexpr int kInFlight = P::stages < 5 ? P::stages - 2 : 2;
// Warps see bulk copies land at different times: then stages are processed in one place of the code only.
constexpr bool kDrains = P::bulk;

// Whether the phase of this parity is complete, for all of a warp.
__device__ __forceinline__ bool is_complete(unsigned long long* barrier, unsigned int parity) {
  return warp_uniform(mbarrier_test(barrier, parity) ? 1 : 0) == 1;
}

// How many stages are issued and not processed; the oldest, and its k-block{with kept: ; exponents that the one before
// `kept`}.
//
// Lane i keeps the exponent of the warp's i-th image.
struct Issued {
  int stages;
  int oldest;
  unsigned int parity;
  int k_block;
  int kept;
};

// The i-th image of a thread whose first is this one.
__device__ inline int number_of(int first, int i) {
  return first + i * (kByImages ? kProducers / 32 : 1);
}

// Processes the oldest stage, whose copies have landed or are waited for, and releases it to the consumers.
//
// Where there is an infinity, finite values are scanned again.
__device__ __forceinline__ void process_stage(unsigned char* stages, unsigned long long* full,
                                              unsigned long long* landed, Issued& issued, int thread) {
  unsigned char* stage = stages + issued.oldest * kStageBytes;
  mbarrier_wait(&landed[issued.oldest], issued.parity);
  const int first = kByImages ? thread / 32 : 0;
  const int own = kByImages ? thread % 32 : thread;
  float* vectors = reinterpret_cast<float*>(stage) + first * kImagePitch + own / kLineThreads * kLinePitch +
                   own % kLineThreads * kVectorWidth;
  float* maxima = reinterpret_cast<float*>(stage + kMaximaOffset);
  for (int i = 0; i < kSplitImages; ++i) {
    const float* image = vectors + i * (kByImages ? kProducers / 32 : 1) * kImagePitch;
    float most = largest_of_warp(scan_maximum(image, own));
    if (!is_finite(most)) {
      most = largest_of_warp(scan_finite_maximum(image, own));
    }
    if (thread % 32 == 0) {
      maxima[i * (kProducers / 32) + thread / 32] = most;
    }
  }
  if (kProducersSplit) {
    if (kByImages) {
      __syncwarp();
    } else {
      named_barrier_sync(1, kProducers);
    }
    int* exponents = reinterpret_cast<int*>(stage + kExponentsOffset);
    for (int i = 0; i < kSplitImages; ++i) {
      const int exponent = next_exponent(stage_maximum(stage + kMaximaOffset, number_of(first, i)),
                                         kSplitImages == 1 ? issued.kept : __shfl_sync(0xffffffffu, issued.kept, i),
                                         issued.k_block == 0);
      issued.kept = kSplitImages == 1 || thread % 32 == i ? exponent : issued.kept;
      if (own == 0) {
        exponents[number_of(first, i)] = exponent;
      }
      split_vectors(vectors + i * (kByImages ? kProducers / 32 : 1) * kImagePitch, own, power_of_two(exponent));
    }
    if (P::bulk) {
      fence_proxy_async();  // orders these writes before the next bulk copies to these places
    }
  }
  warp_arrive(&full[issued.oldest], true);
  next_stage(issued.oldest, issued.parity);
  issued.k_block = issued.k_block == kKBlocks - 1 ? 0 : issued.k_block + 1;
  --issued.stages;
}
