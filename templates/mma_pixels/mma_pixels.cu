// Forward transposed convolution on tensor cores by products of warps (mma.sync), as an implicit GEMM: its rows are the
// positions of a phase, which follow one another over rows, planes and images, so that small images fill blocks too.
//
// Along each axis output o is position o / stride in phase o % stride. A tap makes one phase, and reads the input at a
// constant distance from the position (at input_stride times the position, for a gradient of the input). So each phase
// is a product of its own, over its taps and all input channels. A stage has the pixels that a tap reads for a block's
// positions, with zeros outside of the image, and the tap's weights. Another kernel has packed these in the order in
// which lanes hold them. In nchw a third one arranges x with channels last, and rounds it for tf32; or a stage has
// planes as they lie (planes.h). In f32x3 values are split into two f16 where they are packed and arranged, and three
// products are added (split.h).
#ifndef CONVTGEN_PARAMETERS
#define CONVTGEN_PARAMETERS "parameters.h"
#endif
#include CONVTGEN_PARAMETERS
#include "device/async_copy.h"
#include "device/call_sizes.h"
#include "device/depth.h"
#include "device/matrix_load.h"
#include "device/memory.h"
#include "device/mma.h"
#include "device/printed.h"
#include "device/template.h"
#include "layout.h"

// ---- Elements ----
#include "device/element.h"

using WeightIndex = long long;

#include "device/exchanged_weights.h"
#include "device/thread_channels.h"
#include "split.h"

// ---- Planes ----
#include "planes.h"

// ---- Packing ----

#include "pack.h"

// ---- Arranging ----

#include "arrange.h"

// ---- Positions ----

#include "reach.h"

// An axis of a phase.
struct PhaseAxis {
  int phase;   // its first output
  int taps;    // how many it has
  int first;   // the first of them
  int offset;  // where that reads
};

// The number-th phase of an axis: those with taps come first, those with most of them before others.
__device__ __forceinline__ PhaseAxis axis_of_phase(int number, const int kernel, const int stride, const int padding,
                                                   const int dilation) {
  const int step = tap_step(stride, dilation);
  const int first = number % step;
  PhaseAxis axis;
  axis.phase = floor_mod(dilation * first - padding + number / step, stride);
  axis.taps = number < step && number < kernel ? (kernel - first + (step - 1)) / step : 0;
  axis.first = first;
  axis.offset = offset_of_tap(first, stride, padding, dilation);
  return axis;
}

// Positions of a phase along an axis; the last one may lie outside of the output.
__device__ inline int positions_of(int out, const int stride) {
  return (out + (stride - 1)) / stride;
}
// The same in a row. Fused phases begin where the first output's stride does.
__device__ inline int row_positions_of(int out) {
  return positions_of(kFusedPhases ? out + P::padding_w % P::stride_w : out, P::stride_w);
}

// Writes of each of a tile's positions, which begin with number `first` of the phase: where it reads for the first tap
// of the first channel, in bytes; where its output lies, in elements, or -1 outside of it; and which taps read the
// image.
__device__ __forceinline__ void find_positions(unsigned char* shared, long long first, int thread,
                                               const PhaseAxis& planes, const PhaseAxis& rows, const PhaseAxis& columns,
                                               int group, const int batch, const int in_d, const int in_h,
                                               const int in_w, const int out_d, const int out_h, const int out_w) {
  const int size_d = positions_of(out_d, P::stride_d);
  const int size_h = positions_of(out_h, P::stride_h);
  const int size_w = row_positions_of(out_w);
#pragma unroll 1
  for (int i = thread; i < P::block_m; i += kThreads) {
    const long long at = first + i;
    const long long row = at / size_w;
    const long long plane = row / size_h;
    const long long image = plane / size_d;
    const int m_w = static_cast<int>(at % size_w);
    const int m_h = static_cast<int>(row % size_h);
    const int m_d = static_cast<int>(plane % size_d);
    const int iz = kHasDepth ? m_d * P::input_stride_d + planes.offset : 0;
    const int iy = m_h * P::input_stride_h + rows.offset;
    const int ix = m_w * P::input_stride_w + columns.offset;
    const int oz = kHasDepth ? m_d * P::stride_d + planes.phase : 0;
    const int oy = m_h * P::stride_h + rows.phase;
    const int ox = m_w * P::stride_w +
                   (kFusedPhases ? (kStrideW > 1 ? columns.phase * P::column_phases : 0) - P::padding_w % P::stride_w
                                 : columns.phase);
    const unsigned int word = taps_of(iz, iy, ix, in_d, in_h, in_w);
    const long long out_image = image * P::y_channels * out_d;
    const bool is_stored = image < batch && (!kHasDepth || oz < out_d) && oy < out_h && ox < out_w;
    reinterpret_cast<long long*>(shared + kReadOffset)[i] =
        kPlanes ? (((image * P::x_channels * in_d + iz) * in_h + iy) * in_w + ix) * kBytes
                : (((image * in_d + iz) * in_h + iy) * in_w + ix) * kInputPixelBytes;
    reinterpret_cast<long long*>(shared + kStoredOffset)[i] =
        !is_stored         ? -1
        : P::channels_last ? (((image * out_d + oz) * out_h + oy) * out_w + ox) * P::y_channels
                           : ((out_image + oz) * out_h + oy) * out_w + (kFusedPhases ? 0 : ox);
    if constexpr (kFusedPhases) {
      reinterpret_cast<int*>(shared + kColumnOffset)[i] = ox;
    }
    reinterpret_cast<unsigned int*>(shared + kPositionWordsOffset)[i] = image < batch ? word : 0;
    if (kTapFields) {
      reinterpret_cast<unsigned int*>(shared + kPositionEndsOffset)[i] = image < batch ? ends_of(iz, iy, ix) : 0;
    }
    if constexpr (kSplit) {
      reinterpret_cast<long long*>(shared + kImageScalesOffset)[i] =
          image < batch ? image * kExponents + group * kGroupExponents : 0;
    }
  }
}

// ---- Taps ----

// A tap of a phase: how many bytes from where the first one reads it does, its word, and its number in the kernel.
struct Tap {
  long long from;
  unsigned int word;
  int number;
};

// Writes the taps of a phase, and after them one that reads nowhere.
__device__ __forceinline__ void find_taps(Tap* taps, int thread, const PhaseAxis& planes, const PhaseAxis& rows,
                                          const PhaseAxis& columns, const int in_h, const int in_w) {
  const int all = (kHasDepth ? planes.taps : 1) * rows.taps * (columns.taps / kRowTaps);
#pragma unroll 1
  for (int i = thread; i <= all; i += kThreads) {
    Tap tap;
    tap.from = 0;
    tap.word = kNoTap;
    tap.number = 0;
    if (i < all) {
      const int tap_w = i % (columns.taps / kRowTaps) * kRowTaps;
      const int tap_h = i / (columns.taps / kRowTaps) % rows.taps;
      const int tap_d = kHasDepth ? i / (columns.taps / kRowTaps) / rows.taps : 0;
      const long long before =
          (static_cast<long long>(tap_d * kOffsetStepD) * in_h + tap_h * kOffsetStepH) * in_w + tap_w * kOffsetStepW;
      const int kd = kHasDepth ? planes.first + tap_d * kTapStepD : 0;
      if constexpr (kPlanes) {
        tap.from = -before * kBytes;
      } else {
        tap.from = -before * kInputPixelBytes;
      }
      tap.word = tap_word(tap_d, tap_h, tap_w);
      tap.number =
          ((kd * P::kernel_h + rows.first + tap_h * kTapStepH) * kKernelW + columns.first + tap_w * kTapStepW) /
          kRowTaps;
    }
    taps[i] = tap;
  }
}

// ---- Staging ----

// What a thread copies of the input in each stage: where its positions read, and their taps.
struct Places {
  long long from[kPlaces];
  unsigned int words[kPlaces];
  unsigned int end[kPlaces];
};

// What is staged next: a tap and k-block.
struct Next {
  int tap;  // of the phase
  int k_block;
  unsigned int word;            // of the tap
  const unsigned char* pixels;  // where it reads for a position at 0
  const unsigned char* weights;
};

// Of values that are split the taps of a k-block follow one another, else the k-blocks of a tap.
__device__ __forceinline__ void find_next(Next& next, const unsigned char* x, const unsigned char* weights,
                                          const Tap* taps, int tap_count, long long plane_bytes) {
  if constexpr (kTapsInside) {
    const Tap tap = taps[next.k_block < kKBlocks ? next.tap : tap_count];
    next.word = tap.word;
    if constexpr (kPlanes) {
      // Taps of planes follow one another too.
      next.pixels = x + tap.from + next.k_block * (kStageChannels * plane_bytes);
    } else {
      next.pixels = x + tap.from + next.k_block * kPixelBytes;
    }
    next.weights = weights + (static_cast<long long>(tap.number) * kKBlocks + min(next.k_block, kKBlocks - 1)) *
                                 kKBlockWeightBytes;
  } else {
    const Tap tap = taps[next.tap];
    next.word = tap.word;
    next.pixels = x + tap.from;
    next.weights = weights + static_cast<long long>(tap.number) * (kKBlocks * kKBlockWeightBytes);
  }
}

// Goes on to the next k-block, or the next tap. After the last tap comes the one that reads nowhere, again and again.
__device__ __forceinline__ void advance(Next& next, const unsigned char* x, const unsigned char* weights,
                                        const Tap* taps, int tap_count, long long plane_bytes) {
  if constexpr (kTapsInside) {
    if (++next.tap >= tap_count) {
      next.tap = 0;
      next.k_block += next.word == kNoTap ? 0 : 1;
    }
    find_next(next, x, weights, taps, tap_count, plane_bytes);
  } else {
    next.pixels += kPixelBytes;
    next.weights += kKBlockWeightBytes;
    if (++next.k_block == kKBlocks) {
      next.k_block = 0;
      next.tap += next.word == kNoTap ? 0 : 1;
      find_next(next, x, weights, taps, tap_count, plane_bytes);
    }
  }
}

// Issues a part of the thread's copies of a stage. Each k-step but the last one has a part.
constexpr int kCopyParts = kKSteps - 1;
__device__ __forceinline__ void stage_part(unsigned char* to, const Places& places, const Next& next, const int part,
                                           int thread, long long plane_bytes) {
  constexpr int kInputCopies = ceil_div(kCopies, kCopyParts);
  constexpr int kColumnCopies = ceil_div(kWeightCopies, kCopyParts);
  if constexpr (kPlanes) {
    const int channel = thread / kRowUnits;  // of the thread's first copies
    unsigned char* own = to + (channel * (kRowPitch * 4) + thread % kRowUnits * P::copy_bytes);
    CONVTGEN_UNROLL
    for (int copy = 0; copy < kInputCopies; ++copy) {
      const int i = part * kInputCopies + copy;
      if (i < kCopies) {
        const int place = i % kPlaces;
        const int later = i / kPlaces * kChannelsAtOnce;
        const bool any = reads(places.words[place], places.end[place], next.word) &&
                         (kGroupIn % kStageChannels == 0 || next.k_block * kStageChannels + channel + later < kGroupIn);
        // An integer: sums of pointers that a tile does not change take two registers for each copy.
        const long long from = reinterpret_cast<long long>(next.pixels) + places.from[place] + later * plane_bytes;
        copy_unit(own + (later * (kRowPitch * 4) + place * (kThreads * P::copy_bytes)),
                  reinterpret_cast<const unsigned char*>(from), any);
      }
    }
  } else {
    const int vector = thread % kPixelVectors;
    const int position = thread / kPixelVectors;
    unsigned char* own = to + position * kPixelBytes + (vector ^ swap_of(position)) * 16;
    const bool is_channel =
        kGroupChannels % P::block_k == 0 || next.k_block * P::block_k + vector * kVector < kGroupChannels;
    CONVTGEN_UNROLL
    for (int copy = 0; copy < kInputCopies; ++copy) {
      const int i = part * kInputCopies + copy;
      if (i < kCopies) {
        const bool any = reads(places.words[i], places.end[i], next.word) && is_channel;
        async_copy_16(own + i * (kPositionStep * kPixelBytes), next.pixels + places.from[i], any ? 16 : 0);
      }
    }
  }
  unsigned char* columns = to + kInputBytes + thread * 16;
  const unsigned char* from = next.weights + thread * 16;
  CONVTGEN_UNROLL
  for (int copy = 0; copy < kColumnCopies; ++copy) {
    const int i = part * kColumnCopies + copy;
    if (i < kWeightCopies) {
      async_copy_16(columns + i * (kThreads * 16), from + i * (kThreads * 16), next.word == kNoTap ? 0 : 16);
    }
  }
}

// ---- Products ----

// What a warp multiplies in a k-step. Of split values the high parts of all tiles come first.
struct Fragments {
  unsigned int a[kParts * kWarpTiles][4];
  uint4 b[kParts * kWarpChannels / 16];
};

__device__ __forceinline__ void multiply_add(float (&acc)[4], const unsigned int (&a)[4], const unsigned int (&b)[2]) {
  if (P::type == kWgmmaF16) {
    mma_k16_f16(acc, a, b);
  } else if (P::type == kWgmmaBf16) {
    mma_k16_bf16(acc, a, b);
  } else {
    mma_k8_tf32(acc, a, b);
  }
}

// Loads the fragments of a k-step. `input` is the lane's first position in the stage{with swapped: , and `swapped` its
// vector there in the first k-step, in bytes}; `weights` are the lane's of its warp's first columns.
__device__ __forceinline__ void load_fragments(Fragments& fragments, const unsigned char* input, int swapped,
                                               const unsigned char* weights, const int k_step) {
  if constexpr (kPlanes) {
    load_planes(fragments.a, input, k_step);
  } else {
#pragma unroll
    for (int tile = 0; tile < kWarpTiles; ++tile) {
      matrix_load_x4(fragments.a[tile], input + (swapped ^ k_step * (kParts * 32)) + tile * (16 * kPixelBytes));
    }
  }
  if constexpr (kSplit) {
#pragma unroll
    for (int tile = 0; tile < kWarpTiles; ++tile) {
      matrix_load_x4(fragments.a[kWarpTiles + tile],
                     input + (swapped ^ (k_step * 64 + 32)) + tile * (16 * kPixelBytes));
    }
  }
#pragma unroll
  for (int two = 0; two < kParts * kWarpChannels / 16; ++two) {
    fragments.b[two] = *reinterpret_cast<const uint4*>(weights + k_step * kStepBytes + two * 512);
  }
}

__device__ __forceinline__ void multiply_step(Accumulators& acc, Accumulators& high, Accumulators& low,
                                              Fragments& fragments) {
  if constexpr (kSplit) {
#pragma unroll
    for (int product = 0; product < 3; ++product) {
#pragma unroll
      for (int eight = 0; eight < kWarpChannels / 8; ++eight) {
        const uint4 words = fragments.b[eight];
        const unsigned int b[2] = {product == 1 ? words.z : words.x, product == 1 ? words.w : words.y};
#pragma unroll
        for (int tile = 0; tile < kWarpTiles; ++tile) {
          if (product == 0) {
            mma_k16_f16(high[tile][eight], fragments.a[tile], b);
          } else {
            mma_k16_f16(low[tile][eight], fragments.a[product == 1 ? tile : kWarpTiles + tile], b);
          }
        }
      }
    }
  } else if constexpr (kPlanes) {
    // Rounded tile by tile: words that are loaded together are those of a product in another order, so that rounding
    // takes other registers.
#pragma unroll
    for (int tile = 0; tile < kWarpTiles; ++tile) {
      const unsigned int a[4] = {operand(fragments.a[tile][0]), operand(fragments.a[tile][1]),
                                 operand(fragments.a[tile][2]), operand(fragments.a[tile][3])};
#pragma unroll
      for (int two = 0; two < kWarpChannels / 16; ++two) {
        const uint4 words = fragments.b[two];
        const unsigned int b[2] = {words.x, words.y};
        const unsigned int next[2] = {words.z, words.w};
        multiply_add(acc[tile][two * 2], a, b);
        multiply_add(acc[tile][two * 2 + 1], a, next);
      }
    }
  } else {
    if (P::type == kWgmmaTf32 && P::channels_last) {
#pragma unroll
      for (int tile = 0; tile < kWarpTiles; ++tile) {
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          fragments.a[tile][i] = operand(fragments.a[tile][i]);
        }
      }
    }
#pragma unroll
    for (int two = 0; two < kWarpChannels / 16; ++two) {
      const uint4 words = fragments.b[two];
      const unsigned int b[2] = {words.x, words.y};
      const unsigned int next[2] = {words.z, words.w};
#pragma unroll
      for (int tile = 0; tile < kWarpTiles; ++tile) {
        multiply_add(acc[tile][two * 2], fragments.a[tile], b);
        multiply_add(acc[tile][two * 2 + 1], fragments.a[tile], next);
      }
    }
  }
}

// ---- Epilogue ----
#include "device/epilogue.h"
#include "parts.h"
#include "store_phases.h"
#include "store_positions.h"

// Stores a thread's outputs. `row` is its first position of the block's, `channel` its first channel of the block's,
// `y` the block's first channel{with left: , `left` how many channels there are from there on}. {with plane: In nchw a
// plane is so many elements.}
__device__ __forceinline__ void store_outputs(const Accumulators& acc, Element* __restrict__ y,
                                              const unsigned char* shared, const float* bias, int row, int channel,
                                              int left, long long plane, const int out_w) {
  const long long* stored = reinterpret_cast<const long long*>(shared + kStoredOffset);
  if constexpr (kFusedPhases) {
    store_phases(acc, y, stored, reinterpret_cast<const int*>(shared + kColumnOffset), bias, row, channel, left, plane,
                 out_w);
  } else if constexpr (kPlanes) {
    store_positions(acc, y, stored, bias, row, channel, left, plane);
  } else {
#pragma unroll
    for (int tile = 0; tile < kWarpTiles; ++tile) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const long long to = stored[row + tile * 16 + half * 8];
        if (to >= 0) {
          // Other channels lie at constant distances from the first, which take no registers.
          Element* first_y = y + to + (P::channels_last ? channel : channel * plane);
#pragma unroll
          for (int i = 0; i < kWarpChannels / 4; i += P::store) {
            const int before = channels_before(i);
            if (kGroupOut % P::block_n == 0 || before < left - channel) {
              float values[P::store];
#pragma unroll
              for (int v = 0; v < P::store; ++v) {
                values[v] = epilogue(acc[tile][(i + v) / 2][half * 2 + (i + v) % 2],
                                     P::has_bias ? bias[channel + before + v] : 0);
              }
              store_together(first_y + (P::channels_last ? before : before * plane), values);
            }
          }
        }
      }
    }
  }
}

// ---- Kernel ----

extern "C" __global__ void __launch_bounds__(kThreads, P::blocks_per_sm)
    mma_pixels(const Element* __restrict__ x, const unsigned char* __restrict__ arranged,
               const unsigned char* __restrict__ packed, const int* __restrict__ exponents,
               const Element* __restrict__ bias, Element* __restrict__ y, float* __restrict__ partials, int batch,
               int depth, int height, int width) {
  constexpr int kLastRow = P::kernel_h - 1;
  constexpr int kLastColumn = P::kernel_w - 1;
  const int in_d = input_depth(depth);
  const int in_h = input_rows(height);
  const int in_w = input_columns(width);
  const int out_d = (output_depth(in_d) + (P::input_stride_d - 1)) / P::input_stride_d;
  const int out_h = (output_rows(in_h) + (P::input_stride_h - 1)) / P::input_stride_h;
  const int out_w = (output_columns(in_w) + (P::input_stride_w - 1)) / P::input_stride_w;
  const long long positions = static_cast<long long>(batch) * positions_of(out_d, P::stride_d) *
                              positions_of(out_h, P::stride_h) * row_positions_of(out_w);
  const int tiles = static_cast<int>((positions + (P::block_m - 1)) / P::block_m);  // of a phase

  // Tiles before those that have parts. What a block makes is numbered: whole tiles, then parts.
  const int whole = kParted ? max(kPhases * tiles - P::parted_tiles, 0) : 0;

  // The block's group and output channels. Blocks that read the same input have adjacent indices.
  const int n_tile = blockIdx.x % kNTiles;
  const int next_tile = gridDim.x / kNTiles;
  const int group = P::groups == 1 ? 0 : n_tile / kChannelTiles;
  const int first_out = n_tile % kChannelTiles * P::block_n;  // of the group's
  const unsigned char* own_weights = packed +
                                     static_cast<long long>(n_tile) * kStageTaps * (kKBlocks * kKBlockWeightBytes) +
                                     static_cast<long long>(n_tile) * kColumnBytes;

  unsigned char* shared = static_cast<unsigned char*>(shared_memory());
  Tap* taps = reinterpret_cast<Tap*>(shared + kTapsOffset);
  float* biases = reinterpret_cast<float*>(shared + kBiasOffset);
  const int thread = threadIdx.x;
  const long long plane_bytes = static_cast<long long>(in_d) * in_h * in_w * kBytes;  // of planes
  // The thread's channels of the group's first pixel.
  const unsigned char* own_x =
      kPlanes ? reinterpret_cast<const unsigned char*>(x) + group * kGroupIn * plane_bytes
              : (P::channels_last && !kSplit ? reinterpret_cast<const unsigned char*>(x) : arranged) +
                    (group * (kGroupChannels * kBytes) + thread % kPixelVectors * 16);
  if (P::has_bias) {
    for (int i = thread; i < P::block_n; i += kThreads) {
      biases[i] = kGroupColumns % P::block_n == 0 || first_out + i < kGroupColumns
                      ? widen(bias[group * kGroupOut + (first_out + i) / P::column_phases])
                      : 0;
    }
  }
  float2* scales = reinterpret_cast<float2*>(shared + kColumnScalesOffset);
  if constexpr (kSplit) {
    for (int i = thread; i < P::block_n; i += kThreads) {
      scales[i] = factors_of(-reinterpret_cast<const int*>(own_weights + kWeightBytes)[i]);
    }
  }

  // The lane's position of its warp's first tile, in its half of the first k-step, and its weights.
  const int lane = thread % 32;
  const int warp_m = thread / 32 % P::warps_m;
  const int warp_n = thread / 32 / P::warps_m;
  const int position = warp_m * kWarpRows + lane % 16;
  const int lane_offset = kPlanes ? lane_place(warp_m * kWarpRows, lane) : 0;
  const int swapped = kPlanes ? 0 : (lane / 16 ^ swap_of(position)) * 16;
  const int lane_weights = kInputBytes + warp_n * (kParts * kWarpChannels * 32) + lane * 16;

#pragma unroll 1
  for (int index = blockIdx.x / kNTiles;
       index < (kParted ? whole + (kPhases * tiles - whole) * P::parts : kPhases * tiles); index += next_tile) {
    const int part = kParted && index >= whole ? (index - whole) % P::parts : -1;  // -1: it is a whole tile
    const int of_phases = kParted ? tile_of(index, whole) : 0;
    const int phase = kPhases == 1      ? 0
                      : kParted         ? phase_of(of_phases, tiles)
                      : kPhasesTogether ? index % kPhases
                                        : index / tiles;
    const PhaseAxis planes =
        axis_of_phase(phase / (P::stride_h * kStrideW), P::kernel_d, P::stride_d, P::padding_d, P::dilation_d);
    const PhaseAxis rows =
        axis_of_phase(phase / kStrideW % P::stride_h, P::kernel_h, P::stride_h, P::padding_h, P::dilation_h);
    const PhaseAxis columns = axis_of_phase(phase % kStrideW, kKernelW, kStrideW, kPaddingW, P::dilation_w);
    __syncthreads();  // all have read what the tile before has in shared memory
    find_positions(shared,
                   static_cast<long long>(kParted ? (kPhasesTogether ? of_phases / kPhases : of_phases - phase * tiles)
                                          : kPhasesTogether ? index / kPhases
                                                            : index - phase * tiles) *
                       P::block_m,
                   thread, planes, rows, columns, group, batch, in_d, in_h, in_w, out_d, out_h, out_w);
    find_taps(taps, thread, planes, rows, columns, in_h, in_w);
    __syncthreads();
    Places places;
#pragma unroll
    for (int i = 0; i < kPlaces; ++i) {
      const int copied = kPlanes ? unit_word(thread, i) / P::plane_words : thread / kPixelVectors + i * kPositionStep;
      places.from[i] = reinterpret_cast<const long long*>(shared + kReadOffset)[copied];
      places.words[i] = reinterpret_cast<const unsigned int*>(shared + kPositionWordsOffset)[copied];
      if (kTapFields) {
        places.end[i] = reinterpret_cast<const unsigned int*>(shared + kPositionEndsOffset)[copied];
      }
      if constexpr (kPlanes) {
        const int before = kRowTaps - 1 - unit_word(thread, i) % P::plane_words * (4 / kBytes);
        places.from[i] += thread / kRowUnits * plane_bytes - before * kBytes;
        places.words[i] = of_later_column(places.words[i], before);
        if (kTapFields) {
          places.end[i] = of_later_column(places.end[i], before);
        }
      }
    }
    const int tap_count = (kHasDepth ? planes.taps : 1) * rows.taps * (columns.taps / kRowTaps);
    Next next;
    next.tap = 0;
    next.k_block = 0;
    if constexpr (kParted) {
      const int first = first_step(part, tap_count);
      next.tap = kTapsInside ? 0 : first / kKBlocks;
      next.k_block = kTapsInside ? first / larger(tap_count, 1) : first % kKBlocks;
    }
    find_next(next, own_x, own_weights, taps, tap_count, plane_bytes);
    if constexpr (kParted && !kTapsInside) {
      next.pixels += next.k_block * kPixelBytes;
      next.weights += static_cast<long long>(next.k_block) * kKBlockWeightBytes;
    }
#pragma unroll 1
    for (int stage = 0; stage < P::stages - 1; ++stage) {
      CONVTGEN_UNROLL
      for (int part = 0; part < kCopyParts; ++part) {
        stage_part(shared + stage * kStageBytes, places, next, part, thread, plane_bytes);
      }
      advance(next, own_x, own_weights, taps, tap_count, plane_bytes);
      async_copy_commit();
    }

    const int steps = kParted ? steps_of(part, tap_count)
                              : (kHasDepth ? planes.taps : 1) * rows.taps * (columns.taps / kRowTaps) * kKBlocks;
    Accumulators acc = {};
    Accumulators high = {};
    Accumulators low = {};
    Held held = {};
    if constexpr (kParted && kSplit) {
      held.k_block = first_step(part, tap_count) / larger(tap_count, 1);
    }
    const long long* offsets =
        reinterpret_cast<const long long*>(shared + kImageScalesOffset) + (warp_m * kWarpRows + lane / 4);
    Fragments fragments[2];
    async_copy_wait(P::stages - 2);
    __syncthreads();
    load_fragments(fragments[0], shared + (kPlanes ? lane_offset : position * kPixelBytes), swapped,
                   shared + lane_weights, 0);
    int stage = 0;
    // Each stage has a tap of the phase, of taps (0 to {kLastRow}, 0 to {kLastColumn}).
#pragma unroll 1
    for (int step = 0; step < steps; ++step) {
      const unsigned char* from = shared + stage * kStageBytes;
      unsigned char* staged = shared + (stage == 0 ? P::stages - 1 : stage - 1) * kStageBytes;
      if constexpr (kSplit) {
        begin_stage(acc, high, low, held, exponents, offsets, tap_count);
      }
      // Fragments are loaded one k-step ahead. The stage before has been loaded by all: its place is that of the
      // newest.
      CONVTGEN_UNROLL
      for (int k_step = 0; k_step < kKSteps - 1; ++k_step) {
        load_fragments(fragments[(k_step + 1) % 2], from + (kPlanes ? lane_offset : position * kPixelBytes), swapped,
                       from + lane_weights, k_step + 1);
        stage_part(staged, places, next, k_step, thread, plane_bytes);
        multiply_step(acc, high, low, fragments[k_step % 2]);
      }
      advance(next, own_x, own_weights, taps, tap_count, plane_bytes);
      async_copy_commit();
      stage = stage + 1 == P::stages ? 0 : stage + 1;
      async_copy_wait(P::stages - 2);
      __syncthreads();  // the next stage has come, and all have loaded what this one has
      const unsigned char* after = shared + stage * kStageBytes;
      load_fragments(fragments[0], after + (kPlanes ? lane_offset : position * kPixelBytes), swapped,
                     after + lane_weights, 0);
      multiply_step(acc, high, low, fragments[(kKSteps - 1) % 2]);
    }
    async_copy_wait(0);  // copies after the last stage
    if constexpr (kSplit) {
      add_all(acc, high, low, held);
    }
    if constexpr (kParted) {
      if (part >= 0) {
        put_part(acc, partials, ((of_phases - whole) * kNTiles + n_tile) * P::parts + part, thread);
        continue;
      }
    }
    if constexpr (kSplit) {
      unscale(acc, scales + (warp_n * kWarpChannels + lane % 4 * 2), exponents, offsets);
    }
    const long long plane = static_cast<long long>(out_d) * out_h * out_w;
    store_outputs(acc, y + (group * kGroupOut + first_out / P::column_phases) * (P::channels_last ? 1 : plane), shared,
                  biases, warp_m * kWarpRows + lane / 4 * kSpan, warp_n * kWarpChannels + lane % 4 * kAdjacentChannels,
                  kGroupColumns - first_out, plane, out_w);
  }
}

// ---- Adding ----
#include "add_parts.h"
