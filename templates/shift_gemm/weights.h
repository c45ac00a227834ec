// Part of the template `shift_gemm`, which uses what stands above its line there: the order of the packed weights.
#pragma once

// The output channel of the block that stands at column n of a product: a thread's columns are adjacent channels.
__device__ __forceinline__ int out_channel_at(int n) {
  if (P::split && P::channel_run == 2) {
    return n;
  }
  const int i = n / 8 * 2 + n % 2;  // the place among the thread's own
  const int thread = n / 2 % 4;
  return i / P::channel_run * (4 * P::channel_run) + thread * P::channel_run + i % P::channel_run;
}

// The weight of an input and an output channel, zero where there is none.
__device__ __forceinline__ Element weight_at(const Element* __restrict__ weight, int ci, int co, int tap) {
  return (P::in_channels % P::chunk == 0 || ci < P::in_channels) &&
                 (P::out_channels % P::columns == 0 || co < P::out_channels)
             ? weight[weight_offset(static_cast<WeightIndex>(ci), co, tap, P::out_channels, kTaps)]
             : static_cast<Element>(0);
}

// The same where all of the column's begin at `from`.
__device__ inline float weight_in_column(const float* from, int ci, int co, int place) {
  return (P::in_channels % P::chunk == 0 || ci < P::in_channels) &&
                 (P::out_channels % P::columns == 0 || co < P::out_channels)
             ? from[static_cast<long long>(ci) * (P::out_channels * kTaps) + place * weight_tap_step(P::out_channels)]
             : 0;
}

// Where a tap of a block stands among all taps of the kernel. Phase rows count on from stride to stride.
__device__ inline int place_of_tap(int tap, int phase_row) {
  return kPhaseGroups == 1
             ? tap
             : tap + (tap / P::kernel_w * (kPhaseGroups - 1) + (phase_row + P::padding_h) % P::stride_h) * P::kernel_w;
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
// way together. Adjacent threads read adjacent weights, of all phase rows.
__device__ __forceinline__ void pack(const Element* __restrict__ weight, unsigned char* __restrict__ packed,
                                     int index) {
  const int place = P::weight_channels_last ? index / P::columns % kTaps : index % kTaps;
  const int n = P::weight_channels_last ? index % P::columns : index / kTaps % P::columns;
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
          words[word] = operand(bits_of(weight_at(weight, ci + (P::channels_last ? 2 : 1) * word, co, place)));
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

// f32x3: how many adjacent columns a block of 256 threads packs together. The more, the longer are the pieces that it
// reads and writes; but a thread is to have no more than four depths, and the chip 128 blocks.
constexpr int kColumnTaps = kDepths * kBlockTaps;
constexpr int pack_columns() {
  int columns = 2;
  while (columns < 8 && (columns * kColumnTaps < 64 || (kDepths <= 4 * (128 / (columns * kBlockTaps)) &&
                                                        kColumnTiles * P::columns / columns >= 256))) {
    columns *= 2;
  }
  return columns;
}
constexpr int kPackColumns = pack_columns();

// How many depths of a column the threads have at a time, in all taps; whether registers hold all that a thread reads,
// and how many depths that are, or else the turns.
constexpr int kPackLanes = 256 / kPackColumns;
constexpr int kDepthLanes = kPackLanes / kBlockTaps;
constexpr bool kHeld = kDepths <= 8 * kDepthLanes;
constexpr int kHeldDepths = kHeld ? ceil_div(kDepths, kDepthLanes) : 1;
constexpr int kPackTurns = kHeld ? 1 : ceil_div(kColumnTaps, kPackLanes);
constexpr bool kAllLanes = kHeld && kPackLanes % kBlockTaps == 0 && kDepths % kDepthLanes == 0;

// The depth that a lane reads as its i-th value.
__device__ inline int depth_of(int lane, int i) {
  return lane / kBlockTaps + (kHeldDepths == 1 ? 0 : i / 16 * kDepthLanes);
}

// Puts the weights where products look for them: by block, chunk, tap and step, the two columns of a B operand.
//
// A block is of output channels and phase rows, a chunk of input channels.
// What a consumer reads of x in one piece goes to one thread, so with channels last a product's depth is another order
// of them. f32x3: threads read all depths at once; those that are left over do what others do. Blocks that read the
// same sectors follow one another.
extern "C" __global__ void __launch_bounds__(256)
    pack_weights(const Element* __restrict__ weight, unsigned char* __restrict__ packed) {
  grid_dependents_launch();
  if constexpr (!P::split) {
    pack(weight, packed, blockIdx.x * 256 + threadIdx.x);
  } else {
    // Some columns at a time, each with a scale of its own. A thread has a tap of a column, and some depths.
    const int lane = threadIdx.x / kPackColumns;
    for (int index = blockIdx.x; index < kColumnTiles * (P::columns / kPackColumns); index += gridDim.x) {
      const int n = index / kPhaseGroups * kPackColumns % P::columns + threadIdx.x % kPackColumns;
      const int channel_tile = index / (kPhaseGroups * (P::columns / kPackColumns));
      const int group = P::groups == 1 ? 0 : channel_tile / kChannelTiles;
      const int column_tile = (group * (kPhaseGroups - 1) + index % kPhaseGroups) * kChannelTiles + channel_tile;
      unsigned char* to = packed + static_cast<long long>(column_tile) * kPackedBytes;
      const int co = (channel_tile - group * kChannelTiles) * P::columns + out_channel_at(n);
      const Element* from = weight + (group * kGroupWeights + static_cast<long long>(co) * weight_channel_step(kTaps));
      float values[kHeldDepths * 16];
      float most = 0;
      for (int turn = 0; turn < kPackTurns; ++turn) {
#pragma unroll
        for (int i = 0; i < kHeldDepths * 16; ++i) {
          values[i] = weight_in_column(
              from,
              (kAllLanes ? depth_of(lane + turn * kPackLanes, i) : depth_of(lane + turn * kPackLanes, i) % kDepths) *
                      kDepth +
                  (kHeldDepths == 1 ? i : i % 16),
              co, place_of_tap((lane + turn * kPackLanes) % kBlockTaps, index));
          most = larger_finite(most, values[i]);
        }
      }
      for (int mask = 16; mask >= kPackColumns; mask /= 2) {
        most = fmaxf(most, __shfl_xor_sync(0xffffffffu, most, mask));
      }
      float* found = reinterpret_cast<float*>(to + kFoundOffset) + n * 8;  // by each warp
      if (threadIdx.x % 32 / kPackColumns == 0) {
        found[threadIdx.x / 32] = most;
      }
      __syncthreads();
      for (int warp = 0; warp < 8; ++warp) {
        most = fmaxf(most, found[warp]);
      }
      const int exponent = scale_exponent(most);
      if (lane == 0) {
        reinterpret_cast<int*>(to + kAllWeightBytes)[n] = exponent;
      }
      for (int turn = 0; turn < kPackTurns; ++turn) {
#pragma unroll
        for (int held = 0; held < kHeldDepths; ++held) {
          if (kAllLanes || lane + turn * kPackLanes + held * (kBlockTaps * kDepthLanes) < kColumnTaps) {
            const int tap = (lane + turn * kPackLanes) % kBlockTaps;
            const int depth = (lane + turn * kPackLanes) / kBlockTaps + held * kDepthLanes;
            uint4* row = reinterpret_cast<uint4*>(to + depth / kSteps * kChunkWeightBytes) +
                         ((tap / kMerged * kSteps + depth % kSteps) * (kParts * 2 * kProductColumns) +
                          tap % kMerged * P::columns + n);
#pragma unroll
            for (int half = 0; half < 2; ++half) {
              SplitPair pairs[4];
#pragma unroll
              for (int word = 0; word < 4; ++word) {
                const int i = held * 16 + (P::channels_last ? word * 4 + half * 2 : half * 8 + word * 2);
                if (!kHeld) {
                  values[i] = weight_in_column(from, depth * kDepth + i, co, place_of_tap(tap, index));
                  values[i + 1] = weight_in_column(from, depth * kDepth + i + 1, co, place_of_tap(tap, index));
                }
                pairs[word] = split_pair(values[i], values[i + 1], power_of_two(exponent), true);
              }
              row[half * kProductColumns] = make_uint4(pairs[0].high, pairs[1].high, pairs[2].high, pairs[3].high);
              row[(half + 2) * kProductColumns] = make_uint4(pairs[0].low, pairs[1].low, pairs[2].low, pairs[3].low);
            }
          }
        }
      }
    }
  }
}
