// Part of the template `shift_gemm`, which uses what stands above its line there: the order of the packed weights.
#pragma once

// The output channel of the block that stands at column n of a product: a thread's columns are adjacent channels.
__device__ __forceinline__ int out_channel_at(int n) {
  const int i = n / 8 * 2 + n % 2;  // the place among the thread's own
  const int thread = n / 2 % 4;
  return i / P::channel_run * (4 * P::channel_run) + thread * P::channel_run + i % P::channel_run;
}

// The weight of an input and an output channel, zero where there is none.
__device__ __forceinline__ Element weight_at(const Element* __restrict__ weight, int ci, int co, int tap) {
  Element value = 0;
  if ((P::in_channels % P::chunk == 0 || ci < P::in_channels) &&
      (P::out_channels % P::columns == 0 || co < P::out_channels)) {
    value = weight[(static_cast<long long>(ci) * P::out_channels + co) * kTaps + tap];
  }
  return value;
}

// Where a tap of a block stands among all taps of the kernel.
__device__ __forceinline__ int place_of_tap(int tap, int column_tile) {
  const int first_row = kPhaseGroups == 1 ? 0 : (column_tile / kChannelTiles + P::padding_h) % P::stride_h;
  return (first_row + tap / P::kernel_w * kPhaseGroups) * P::kernel_w + tap % P::kernel_w;
}

// The row of 16 bytes that a column has in one half of a tap's operand.
__device__ __forceinline__ int operand_row(int tap, int step, int half, int n) {
  return (tap / kMerged * kSteps + step) * (kParts * 2 * kProductColumns) + half * kProductColumns +
         tap % kMerged * P::columns + n;
}

constexpr int kDepths = kChunks * kSteps;
constexpr long long kGroupWeights = static_cast<long long>(P::in_channels) * P::out_channels * kTaps;
constexpr int kPackedRows = P::split ? 1 : kDepths % 4 == 0 ? 4 : 2;

// Makes {kPackedRows} rows of 16 bytes of the packed weights, of depths that follow one another: their reads are under
// way together. Adjacent threads read adjacent taps, of all phase rows.
__device__ __forceinline__ void pack(const Element* __restrict__ weight, unsigned char* __restrict__ packed,
                                     int index) {
  const int place = index % kTaps;
  const int n = index / kTaps % P::columns;
  const int half = index / (kTaps * P::columns) % 2;
  const int first = index / (kTaps * P::columns * 2) % (kDepths / kPackedRows) * kPackedRows;
  const int channel_tile = index / (kTaps * P::columns * 2 * (kDepths / kPackedRows));
  if (channel_tile < P::groups * kChannelTiles) {
    const int kh = place / P::kernel_w;
    const int tap = kPhaseGroups == 1 ? place : kh / kPhaseGroups * P::kernel_w + place % P::kernel_w;
    const int phase_row = kPhaseGroups == 1 ? 0 : (kh + P::stride_h - P::padding_h % P::stride_h) % P::stride_h;
    const int group = P::groups == 1 ? 0 : channel_tile / kChannelTiles;
    const int column_tile = (group * (kPhaseGroups - 1) + phase_row) * kChannelTiles + channel_tile;
    const int co = (channel_tile - group * kChannelTiles) * P::columns + out_channel_at(n);
    unsigned char* tile_weights = packed + static_cast<long long>(column_tile) * kPackedBytes;
    if constexpr (P::groups > 1) {
      weight += group * kGroupWeights;
    }
#pragma unroll
    for (int depth = first; depth < first + kPackedRows; ++depth) {
      const int ci = depth * kDepth + (P::channels_last ? half * (kPack / 4) : half * kPack);
      unsigned int words[4];
      CONVTGEN_UNROLL
      for (int word = 0; word < 4; ++word) {
        if (P::type == kWgmmaTf32) {
          words[word] = float_to_tf32(weight_at(weight, ci + (P::channels_last ? 2 : 1) * word, co, place));
        } else {
          const int pair = (P::channels_last ? 4 : 2) * word;
          words[word] = static_cast<unsigned int>(weight_at(weight, ci + pair, co, place)) |
                        static_cast<unsigned int>(weight_at(weight, ci + pair + 1, co, place)) << 16;
        }
      }
      unsigned char* chunk_weights = tile_weights + depth / kSteps * kChunkWeightBytes;
      *reinterpret_cast<uint4*>(chunk_weights + operand_row(tap, depth % kSteps, half, n) * 16) =
          make_uint4(words[0], words[1], words[2], words[3]);
    }
  }
}

// The same for all of a column's weights, which have one scale. By a block of 256 threads.
__device__ __forceinline__ void pack_split(const float* __restrict__ weight, unsigned char* __restrict__ packed,
                                           int index, int thread) {
  const int n = index % P::columns;
  const int column_tile = index / P::columns;
  const int co = column_tile % kChannelTiles * P::columns + out_channel_at(n);
  if constexpr (P::groups > 1) {
    weight += static_cast<long long>(column_tile / (kChannelTiles * kPhaseGroups)) * kGroupWeights;
  }
  unsigned char* to = packed + static_cast<long long>(column_tile) * kPackedBytes;
  float* found = reinterpret_cast<float*>(to + kFoundOffset) + n * 8;  // by each warp
  float most = 0;
#pragma unroll 4
  for (int i = thread; i < P::in_channels * kBlockTaps; i += 256) {
    const int place = place_of_tap(i % kBlockTaps, column_tile);
    most = larger_finite(most, weight_at(weight, i / kBlockTaps, co, place));
  }
  most = largest_of_warp(most);
  if (thread % 32 == 0) {
    found[thread / 32] = most;
  }
  __syncthreads();
  for (int warp = 0; warp < 8; ++warp) {
    most = fmaxf(most, found[warp]);
  }
  const int exponent = scale_exponent(most);
  if (thread == 0) {
    reinterpret_cast<int*>(to + kAllWeightBytes)[n] = exponent;
  }
  const float scale = power_of_two(exponent);
  for (int i = thread; i < kChunks * 2 * kSteps * kBlockTaps; i += 256) {
    const int tap = i % kBlockTaps;
    const int half = i / kBlockTaps % 2;
    const int step = i / (kBlockTaps * 2) % kSteps;
    const int chunk = i / (kBlockTaps * 2 * kSteps);
    const int place = place_of_tap(tap, column_tile);
    const int ci = chunk * P::chunk + step * kDepth + (P::channels_last ? half * (kPack / 4) : half * kPack);
    SplitPair pairs[4];
#pragma unroll
    for (int word = 0; word < 4; ++word) {
      const int pair = ci + (P::channels_last ? 4 : 2) * word;
      pairs[word] =
          split_pair_nonzero(weight_at(weight, pair, co, place), weight_at(weight, pair + 1, co, place), scale);
    }
    uint4* row = reinterpret_cast<uint4*>(to + chunk * kChunkWeightBytes) + operand_row(tap, step, half, n);
    row[0] = make_uint4(pairs[0].high, pairs[1].high, pairs[2].high, pairs[3].high);
    row[2 * kProductColumns] = make_uint4(pairs[0].low, pairs[1].low, pairs[2].low, pairs[3].low);
  }
}
