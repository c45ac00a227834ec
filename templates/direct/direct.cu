// Forward transposed convolution by definition: FMA arithmetic, input rows and weights in shared memory.
//
// A block computes a tile of positions m = output / stride, for some output channels of one group, in all phases of a
// phase group. Each tap belongs to exactly one phase and reads the input at a constant offset from m. So no tap needs a
// test.
//
// With three axes the tile is of one plane of the output, and the same is done for each depth tap that meets it.
//
// Where many phases have no taps, a phase group has phases with taps alone. Its blocks then store a part of the others
// in a loop.
#ifndef CONVTGEN_PARAMETERS
#define CONVTGEN_PARAMETERS "parameters.h"
#endif
#include CONVTGEN_PARAMETERS
#include "device/async_copy.h"
#include "device/call_sizes.h"
#include "device/depth.h"
#include "device/memory.h"
#include "device/template.h"

using P = Parameters;
using Element = P::Element;
using Sum = P::Sum;
using Offset = P::Offset;
using WeightIndex = P::Offset;

#include "device/weight_order.h"

constexpr int kThreads = P::threads_x * P::threads_y * P::threads_z;
constexpr int kTaps = P::kernel_h * P::kernel_w;
constexpr int kGroupIn = P::in_channels / P::groups;
constexpr int kGroupOut = P::out_channels / P::groups;
constexpr int kTileColumns = P::threads_x * P::columns_per_thread;
constexpr int kTileRows = P::threads_y * P::rows_per_thread;
constexpr int kTileChannels = P::threads_z * P::channels_per_thread;
constexpr int kChannelTiles = ceil_div(kGroupOut, kTileChannels);  // of one group
constexpr int kPhases = P::group_phases_h * P::group_phases_w;

// The taps of one phase are so far apart. So the first kernel rows or columns are each of another phase: these are the
// phases with taps.
__host__ __device__ constexpr int tap_step(int stride, int dilation) {
  return stride / greatest_common_divisor(stride, dilation);
}
__host__ __device__ constexpr int phases_with_taps(int kernel, int stride, int dilation) {
  return kernel < tap_step(stride, dilation) ? kernel : tap_step(stride, dilation);
}
constexpr int kTapPhasesH = phases_with_taps(P::kernel_h, P::stride_h, P::dilation_h);
constexpr int kTapPhasesW = phases_with_taps(P::kernel_w, P::stride_w, P::dilation_w);
constexpr int kAllPhases = P::stride_h * P::stride_w;
constexpr int kEmptyPhases = kAllPhases - kTapPhasesH * kTapPhasesW;

// Taps and phases are statements of their own, with offsets that are numbers, where there are not too many for a source
// of readable length. Else loops go over the taps of each phase, which are kTapStep apart; so much further on, a tap
// reads the input kOffsetStep before.
constexpr int kMostUnrolled = 256;
constexpr int kMostUnrolledEmpty = 64;
constexpr bool kUnrolled = kTaps <= kMostUnrolled && kAllPhases <= kMostUnrolled && kEmptyPhases <= kMostUnrolledEmpty;
constexpr int kWrittenTaps = kUnrolled ? kTaps : 1;

// A phase group has neighbouring phases. Where phases without taps have a loop of their own, it has those of
// neighbouring kernel rows and columns.
constexpr bool kSplitsEmpty = !kUnrolled && kEmptyPhases > 0;
constexpr int kGroupedPhasesH = kSplitsEmpty ? kTapPhasesH : P::stride_h;
constexpr int kGroupedPhasesW = kSplitsEmpty ? kTapPhasesW : P::stride_w;
constexpr int kPhaseGroupsH = ceil_div(kGroupedPhasesH, P::group_phases_h);
constexpr int kPhaseGroupsW = ceil_div(kGroupedPhasesW, P::group_phases_w);
constexpr int kPhaseGroups = kPhaseGroupsH * kPhaseGroupsW;
constexpr int kTapStepH = tap_step(P::stride_h, P::dilation_h);
constexpr int kTapStepW = tap_step(P::stride_w, P::dilation_w);
constexpr int kOffsetStepH = P::dilation_h / greatest_common_divisor(P::stride_h, P::dilation_h);
constexpr int kOffsetStepW = P::dilation_w / greatest_common_divisor(P::stride_w, P::dilation_w);
constexpr int kPhaseTapsH = ceil_div(P::kernel_h, kTapStepH);
constexpr int kPhaseTapsW = ceil_div(P::kernel_w, kTapStepW);
constexpr int kStagedTaps = kUnrolled ? kTaps : kPhases * kPhaseTapsH * kPhaseTapsW;

constexpr bool kWholeTiles = kGroupOut % kTileChannels == 0;  // no channel tile is ragged
constexpr bool kWholeKBlocks = kGroupIn % P::block_k == 0;

// The halo: offsets fall as taps grow.
constexpr int kLeastOffsetH = offset_of_tap(P::kernel_h - 1, P::stride_h, P::padding_h, P::dilation_h);
constexpr int kLeastOffsetW = offset_of_tap(P::kernel_w - 1, P::stride_w, P::padding_w, P::dilation_w);
constexpr int kStagedRows = kTileRows + offset_of_tap(0, P::stride_h, P::padding_h, P::dilation_h) - kLeastOffsetH;
constexpr int kStagedColumns =
    kTileColumns + offset_of_tap(0, P::stride_w, P::padding_w, P::dilation_w) - kLeastOffsetW;
constexpr int kPitch = ceil_div(kStagedColumns, 4) * 4;

// The weights of a staged input channel have room for whole vectors, so that those of the next one begin a vector too.
constexpr int kTapsOfVector = 4 / greatest_common_divisor(4, kTileChannels);
constexpr int kTapPlaces = ceil_div(kStagedTaps, kTapsOfVector) * kTapsOfVector;

// Asynchronous copies of a k-block run during the products of the one before, which lies in the other buffer.
constexpr int kBuffers = P::asynchronous && kGroupIn > P::block_k ? 2 : 1;

// Shared memory: of one staged input channel with its weights, and of a block, whose buffers are struct Stage. Where
// nothing is staged the halo may be too large for any integer.
constexpr long long kChannelBytes =
    P::staged ? static_cast<long long>(sizeof(Sum)) *
                    (static_cast<long long>(kStagedRows) * kPitch + static_cast<long long>(kTapPlaces) * kTileChannels)
              : 0;
constexpr long long kSharedBytes = kBuffers * (P::block_k * kChannelBytes);

// Elements of a row that a thread stores as one vector. A row's outputs of a thread are those of all column phases.
constexpr int kVector = 16 / sizeof(Element);  // elements of a whole vector
constexpr int kRun = P::columns_per_thread * P::stride_w;
constexpr long long kOutWidth =
    (P::width - 1ll) * P::stride_w +
    (P::dilation_w * (P::kernel_w - 1) + P::output_padding_w + 1 - 2 * P::padding_w);  // where the width is known
constexpr bool kAdjacent = !P::channels_last || P::y_channels == 1;                    // columns are
constexpr bool kHasRuns = kAdjacent && kUnrolled && P::group_phases_w == P::stride_w && P::width >= 0;
constexpr int kStored = !kHasRuns || sizeof(Element) == 8                             ? 1
                        : kRun % kVector == 0 && kOutWidth % kVector == 0             ? kVector
                        : kRun % (kVector / 2) == 0 && kOutWidth % (kVector / 2) == 0 ? kVector / 2
                                                                                      : 1;

constexpr int kPlacesOfThread = 3;  // that it stages at a time, since more would spill

static_assert(P::in_channels % P::groups == 0 && P::out_channels % P::groups == 0, "groups divide the channels");
static_assert(kThreads % 32 == 0 && kThreads <= 1024, "a block is whole warps");

// ---- Elements ----
#include "device/scalar.h"

// ---- Staging ----
#include "device/input_activation.h"
#include "device/stage_element.h"
static_assert(!kActivatesInput || !P::asynchronous || !P::channels_last, "pixels are activated on their way");

struct Stage {
  Sum rows[P::block_k][kStagedRows][kPitch];
  Sum weights[P::block_k][kTapPlaces][kTileChannels];
};

// Into how many parts the channels of a k-block are cut, so that all threads have places to copy.
__host__ __device__ constexpr int channel_parts(int places, int parts) {
  return parts >= P::block_k ? P::block_k : places * parts >= 4 * kThreads ? parts : channel_parts(places, 2 * parts);
}

// One place of stage_rows().
__device__ __forceinline__ void stage_pixel(Stage& stage, int i, const Element* __restrict__ x, int first_channel,
                                            int first_row, const int first_column, const int in_d, const int in_h,
                                            const int in_w) {
  // Adjacent threads read adjacent memory.
  const int channel = P::channels_last ? i % P::block_k : i / (kStagedRows * kStagedColumns);
  const int row = P::channels_last ? i / (P::block_k * kStagedColumns) : i / kStagedColumns % kStagedRows;
  const int column = P::channels_last ? i / P::block_k % kStagedColumns : i % kStagedColumns;
  const int ci = first_channel + channel;
  const int iy = first_row + row;
  const int ix = first_column + column;
  const bool is_inside = (kWholeKBlocks || ci < kGroupIn) && (kLeastOffsetH >= 0 || iy >= 0) && iy < in_h &&
                         (kLeastOffsetW >= 0 || ix >= 0) && ix < in_w;  // else zero
  const Element* from = P::channels_last ? x + ((static_cast<Offset>(iy) * in_w + ix) * P::x_channels + ci)
                                         : x + ((static_cast<Offset>(ci) * in_d * in_h + iy) * in_w + ix);
  if (kActivatesInput && !P::activates_reads) {
    stage.rows[channel][row][column] = is_inside ? widen(activate_input(*from)) : static_cast<Sum>(0);
  } else {
    stage_element(&stage.rows[channel][row][column], from, is_inside, x);
  }
}

// Copies a k-block of input channels, with the halo, to shared memory asynchronously. A thread finds a place of the
// image once for several channels.
//
// The arguments are those of stage_rows().
__device__ __forceinline__ void copy_rows(Stage& stage, const Element* __restrict__ x, int first_channel, int first_row,
                                          const int first_column, const int in_d, const int in_h, const int in_w) {
  const Offset in_pixels = static_cast<Offset>(in_h) * in_w * in_d;
  constexpr int kPlaces = kStagedRows * kStagedColumns;
  constexpr int kParts = channel_parts(kPlaces, 1);
#pragma unroll 1
  for (int i = threadIdx.x; i < kPlaces * kParts; i += kThreads) {
    const int row = i / kStagedColumns % kStagedRows;
    const int column = i % kStagedColumns;
    const int iy = first_row + row;
    const int ix = first_column + column;
    const bool is_inside = (kLeastOffsetH >= 0 || iy >= 0) && iy < in_h && (kLeastOffsetW >= 0 || ix >= 0) && ix < in_w;
    const Element* from = x + first_channel * in_pixels;
    from += is_inside ? static_cast<Offset>(iy) * in_w + ix : 0;
#pragma unroll 8
    for (int channel = kParts == 1 ? 0 : i / kPlaces; channel < P::block_k; channel += kParts) {
      const bool is_there = kWholeKBlocks || first_channel + channel < kGroupIn;
      copy_element(&stage.rows[channel][row][column], from + (is_there ? channel * in_pixels : 0),
                   is_inside && is_there);
    }
  }
}

// Activates what the thread's own copies have brought of a k-block: what is inside of the image. Zeros stay.
__device__ __forceinline__ void activate_rows(Stage& stage, int first_channel, int first_row, const int first_column,
                                              const int in_h, const int in_w) {
  constexpr int kPlaces = kStagedRows * kStagedColumns;
  constexpr int kParts = channel_parts(kPlaces, 1);
#pragma unroll 1
  for (int i = threadIdx.x; i < kPlaces * kParts; i += kThreads) {
    const int row = i / kStagedColumns % kStagedRows;
    const int column = i % kStagedColumns;
    const int iy = first_row + row;
    const int ix = first_column + column;
    if ((kLeastOffsetH >= 0 || iy >= 0) && iy < in_h && (kLeastOffsetW >= 0 || ix >= 0) && ix < in_w) {
#pragma unroll 8
      for (int channel = kParts == 1 ? 0 : i / kPlaces; channel < P::block_k; channel += kParts) {
        if (kWholeKBlocks || first_channel + channel < kGroupIn) {
          Sum& value = stage.rows[channel][row][column];
          value = activate(value, P::fuse_count, P::fuse_input_count);
        }
      }
    }
  }
}

// One place of stage_weights().
__device__ __forceinline__ void stage_weight(Stage& stage, int i, const Element* __restrict__ weight, int first_channel,
                                             const int first_out, const int kd) {
  const int tap = P::weight_channels_last ? i / kTileChannels % kTaps : i % kTaps;
  const int channel = P::weight_channels_last ? i % kTileChannels : i / kTaps % kTileChannels;
  const int k_block_channel = i / (kTaps * kTileChannels);
  const int ci = first_channel + k_block_channel;
  const int co = first_out + channel;
  const bool is_there = (kWholeKBlocks || ci < kGroupIn) && (kWholeTiles || co < kGroupOut);  // else zero
  stage_element(&stage.weights[k_block_channel][tap][channel],
                weight + depth_weight_offset(static_cast<WeightIndex>(ci), co, kd, tap, kGroupOut, P::kernel_d, kTaps),
                is_there, weight);
}

#include "scalar/staging.h"

// The number below m whose product with `a` has the remainder 1, by Euclid's algorithm; 0 where m is 1. The two have no
// common divisor.
__host__ __device__ constexpr int inverse_modulo(int a, int m) {
  return m == 1 ? 0 : a % m == 1 ? 1 : (1 + m * (a % m - inverse_modulo(m, a % m))) / (a % m);
}

// An axis's taps of one phase: the first, or the kernel's end, and the offset from m at which it reads the input.
struct PhaseTaps {
  int first;
  int offset;
};
__device__ __forceinline__ PhaseTaps taps_of_phase(int phase, const int kernel, const int stride, const int padding,
                                                   const int dilation) {
  const int divisor = greatest_common_divisor(stride, dilation);
  const int step = stride / divisor;
  PhaseTaps taps;
  taps.first = phase < stride && (phase + padding) % divisor == 0
                   ? (phase + padding) / divisor % step * inverse_modulo(dilation / divisor, step) % step
                   : kernel;
  taps.offset = (phase + padding - dilation * taps.first) / stride;
  return taps;
}
// The same of the phase of kernel row or column `first`.
__device__ __forceinline__ PhaseTaps taps_from(int first, const int phases, const int kernel, const int stride,
                                               const int padding, const int dilation) {
  PhaseTaps taps;
  taps.first = first < phases ? first : kernel;
  taps.offset = offset_of_tap(first, stride, padding, dilation);
  return taps;
}
__device__ __forceinline__ PhaseTaps rows_of_phase(int phase) {
  return kSplitsEmpty ? taps_from(phase, kTapPhasesH, P::kernel_h, P::stride_h, P::padding_h, P::dilation_h)
                      : taps_of_phase(phase, P::kernel_h, P::stride_h, P::padding_h, P::dilation_h);
}
__device__ __forceinline__ PhaseTaps columns_of_phase(int phase) {
  return kSplitsEmpty ? taps_from(phase, kTapPhasesW, P::kernel_w, P::stride_w, P::padding_w, P::dilation_w)
                      : taps_of_phase(phase, P::kernel_w, P::stride_w, P::padding_w, P::dilation_w);
}

// The phase of the output that a grouped phase is.
__device__ inline int output_phase_h(int phase) {
  return kSplitsEmpty ? phase_of_tap(phase, P::stride_h, P::padding_h, P::dilation_h) : phase;
}
__device__ inline int output_phase_w(int phase) {
  return kSplitsEmpty ? phase_of_tap(phase, P::stride_w, P::padding_w, P::dilation_w) : phase;
}

// The same as stage_weights() for the taps of a phase group alone, tap by tap of all its phases. {with phase_h:
// `phase_h` is the group's first row phase.}{with phase_w:  `phase_w` is its first column phase.} Phases may have fewer
// taps than there are places.
__device__ __forceinline__ void stage_phase_weights(Stage& stage, const Element* __restrict__ weight, int first_channel,
                                                    const int first_out, const int kd, int phase_h, int phase_w) {
#pragma unroll 1
  for (int i = threadIdx.x; i < P::block_k * kTileChannels * kStagedTaps; i += kThreads) {
    const int place = P::weight_channels_last ? i / kTileChannels % kStagedTaps : i % kStagedTaps;
    const int channel = P::weight_channels_last ? i % kTileChannels : i / kStagedTaps % kTileChannels;
    const int k_block_channel = i / (kStagedTaps * kTileChannels);
    const int ci = first_channel + k_block_channel;
    const int co = first_out + channel;
    const int kh = rows_of_phase(phase_h + place % kPhases / P::group_phases_w).first +
                   place / (kPhases * kPhaseTapsW) * kTapStepH;
    const int kw =
        columns_of_phase(phase_w + place % P::group_phases_w).first + place / kPhases % kPhaseTapsW * kTapStepW;
    if (kh < P::kernel_h && kw < P::kernel_w) {
      stage_element(&stage.weights[k_block_channel][place][channel],
                    weight + depth_weight_offset(static_cast<WeightIndex>(ci), co, kd, kh * P::kernel_w + kw, kGroupOut,
                                                 P::kernel_d, kTaps),
                    (kWholeKBlocks || ci < kGroupIn) && (kWholeTiles || co < kGroupOut), weight);
    }
  }
}

// Copies a k-block of input channels with its weights to a buffer. The arguments are those of the functions above.
__device__ __forceinline__ void stage_k_block(Stage& stage, const Element* __restrict__ x,
                                              const Element* __restrict__ weight, int first_channel,
                                              const int first_out, const int kd, int first_row, const int first_column,
                                              int phase_h, int phase_w, const int in_d, const int in_h,
                                              const int in_w) {
  if (P::asynchronous && !P::channels_last) {
    copy_rows(stage, x, first_channel, first_row, first_column, in_d, in_h, in_w);
  } else {
    stage_rows(stage, x, first_channel, first_row, first_column, in_d, in_h, in_w);
  }
  if (kUnrolled) {
    stage_weights(stage, weight, first_channel, first_out, kd);
  } else {
    stage_phase_weights(stage, weight, first_channel, first_out, kd, phase_h, phase_w);
  }
}

// ---- Products ----

// One thread's accumulators for one phase.
using Accumulators = Sum[P::channels_per_thread][P::rows_per_thread][P::columns_per_thread];

// What a tap reads for a thread's first position, which lies at `place`: so many rows and columns after it.
__device__ __forceinline__ const Sum* staged_input(const Sum (&rows)[kStagedRows][kPitch], int place, int row,
                                                   int column) {
  return &rows[0][0] + place + row * kPitch + column;
}

// One tap: a rectangle of staged input times one weight for each channel.
__device__ __forceinline__ void multiply_add(Accumulators& acc, const Sum* x, const Sum* weights) {
#pragma unroll
  for (int channel = 0; channel < P::channels_per_thread; ++channel) {
#pragma unroll
    for (int row = 0; row < P::rows_per_thread; ++row) {
#pragma unroll
      for (int column = 0; column < P::columns_per_thread; ++column) {
        const Sum value = x[row * kPitch + column];
        acc[channel][row][column] =
            fma(P::activates_reads ? activate(value, P::fuse_count, P::fuse_input_count) : value, weights[channel],
                acc[channel][row][column]);
      }
    }
  }
}

// One tap of one input channel whose rows are not staged: every read is checked against the image.
// `x` is the channel's first element, (iy, ix) the input of the thread's first position.
__device__ __forceinline__ void multiply_add_unstaged(Accumulators& acc, const Element* __restrict__ x, int iy, int ix,
                                                      const int in_h, const int in_w,
                                                      const Element* __restrict__ weights, const int channels) {
#pragma unroll
  for (int row = 0; row < P::rows_per_thread; ++row) {
#pragma unroll
    for (int column = 0; column < P::columns_per_thread; ++column) {
      const int y_in = iy + row;
      const int x_in = ix + column;
      if (y_in >= 0 && y_in < in_h && x_in >= 0 && x_in < in_w) {
        const Sum value =
            widen(input_of(x[(static_cast<Offset>(y_in) * in_w + x_in) * (P::channels_last ? P::x_channels : 1)]));
#pragma unroll
        for (int channel = 0; channel < P::channels_per_thread; ++channel) {
          if (kWholeTiles || channel < channels) {
            acc[channel][row][column] = fma(
                value,
                widen(weights[channel * (weight_channel_step(kTaps) * (P::weight_channels_last ? 1 : P::kernel_d))]),
                acc[channel][row][column]);
          }
        }
      }
    }
  }
}

// ---- Epilogue ----
#include "device/epilogue.h"
#include "device/store_vector.h"

// Stores the outputs of one thread and phase. `y` is the image, co the first channel, (oy, ox) the output of the first
// position.
__device__ __forceinline__ void store(const Accumulators& acc, Element* __restrict__ y,
                                      const Element* __restrict__ bias, int co, const int channels, int oy, int ox,
                                      const int out_d, const int out_h, const int out_w) {
#pragma unroll
  for (int channel = 0; channel < P::channels_per_thread; ++channel) {
    if (kWholeTiles || channel < channels) {
      const Sum bias_value = P::has_bias ? widen(bias[co + channel]) : static_cast<Sum>(0);
#pragma unroll
      for (int row = 0; row < P::rows_per_thread; ++row) {
#pragma unroll
        for (int column = 0; column < P::columns_per_thread; ++column) {
          const int out_row = oy + row * P::stride_h;
          const int out_column = ox + column * P::stride_w;
          if (((P::height >= 0 && out_h % (P::stride_h * kTileRows) == 0) || out_row < out_h) &&
              ((P::width >= 0 && out_w % (P::stride_w * kTileColumns) == 0) || out_column < out_w)) {
            const Sum value = epilogue(acc[channel][row][column], bias_value);
            if (P::channels_last) {
              y[(static_cast<Offset>(out_row) * out_w + out_column) * P::y_channels + co + channel] = narrow(value);
            } else {
              y[(static_cast<Offset>(co + channel) * out_d * out_h + out_row) * out_w + out_column] = narrow(value);
            }
          }
        }
      }
    }
  }
}

// Stores the outputs of one thread and row phase, all of whose column phases it has, adjacent ones as vectors. No
// vector has outputs of two rows. `y` is the image, co the first channel, (oy, ox) the first output of the first
// position. Images are aligned to vectors where the whole tensor is.
__device__ __forceinline__ void store_runs(const Accumulators (&acc)[P::group_phases_w], Element* __restrict__ y,
                                           const Element* __restrict__ bias, int co, const int channels, int oy, int ox,
                                           const int out_d, const int out_h, const int out_w) {
#pragma unroll
  for (int channel = 0; channel < P::channels_per_thread; ++channel) {
    if (kWholeTiles || channel < channels) {
      const Sum bias_value = P::has_bias ? widen(bias[co + channel]) : static_cast<Sum>(0);
#pragma unroll
      for (int row = 0; row < P::rows_per_thread; ++row) {
        const int out_row = oy + row * P::stride_h;
        if ((P::height >= 0 && out_h % (P::stride_h * kTileRows) == 0) || out_row < out_h) {
          Sum values[kRun];
#pragma unroll
          for (int i = 0; i < kRun; ++i) {
            values[i] = epilogue(acc[i % P::stride_w][channel][row][i / P::stride_w], bias_value);
          }
          Element* to = y + ((static_cast<Offset>(co + channel) * out_d * out_h + out_row) * out_w + ox);
#pragma unroll
          for (int i = 0; i < kRun; i += kStored) {
            if (out_w % (P::stride_w * kTileColumns) == 0 || ox + i < out_w) {
              if (kStored == kVector) {
                store_16(to + i, values + i);
              } else {
                store_8(to + i, values + i);
              }
            }
          }
        }
      }
    }
  }
}

// ---- Kernel ----

extern "C" __global__ void __launch_bounds__(kThreads, P::blocks_per_sm)
    direct(const Element* __restrict__ x, const Element* __restrict__ weight, const Element* __restrict__ bias,
           Element* __restrict__ y, int depth, int height, int width) {
  const int in_d = input_depth(depth);
  const int in_h = input_rows(height);
  const int in_w = input_columns(width);
  const int out_d = output_depth(in_d);
  const int out_h = output_rows(in_h);
  const int out_w = output_columns(in_w);
  const int tiles_y = (out_h + (P::stride_h * kTileRows - 1)) / (P::stride_h * kTileRows);
  const int tiles_x = (out_w + (P::stride_w * kTileColumns - 1)) / (P::stride_w * kTileColumns);

  // The block's place: channels vary fastest, so that blocks which read the same input run together.
  const unsigned int block = blockIdx.x;  // unsigned: its parts are shifts and masks
  const int channel_tile = block % (P::groups * kChannelTiles);
  const int phase_group = block / (P::groups * kChannelTiles) % kPhaseGroups;
  const unsigned int tile = block / (P::groups * kChannelTiles * kPhaseGroups);
  const int tile_x = tile % tiles_x;
  const int tile_y = tile / tiles_x % tiles_y;
  const int image = tile / tiles_x / tiles_y / out_d;
  const int oz = tile / tiles_x / tiles_y % out_d;
  const int group = P::groups == 1 ? 0 : channel_tile / kChannelTiles;

  // The thread's place in the block: first column and row of its positions, first of its channels.
  const int thread = threadIdx.x;
  const int column = thread % P::threads_x * P::columns_per_thread;
  const int row = thread / P::threads_x % P::threads_y * P::rows_per_thread;
  const int channel = P::threads_z == 1 ? 0 : thread / (P::threads_x * P::threads_y) * P::channels_per_thread;
  const int first_out = (P::groups == 1 ? channel_tile : channel_tile % kChannelTiles) * kTileChannels;
  const int first_phase_h = phase_group / kPhaseGroupsW * P::group_phases_h;
  const int first_phase_w = phase_group % kPhaseGroupsW * P::group_phases_w;
  const int place = row * kPitch + column;  // in what is staged
  const int channels = kWholeTiles ? P::channels_per_thread : kGroupOut - (first_out + channel);

  // Bases are 64-bit; every offset from them fits its type.
  const long long in_pixels = static_cast<long long>(in_h) * in_w * in_d;
  const long long out_pixels = static_cast<long long>(out_h) * out_w * out_d;
  const long long image_channel = static_cast<long long>(image) * P::x_channels;
  const Element* x_group = x + (P::channels_last ? image_channel * in_pixels + group * kGroupIn
                                                 : (image_channel + group * kGroupIn) * in_pixels);
  const Element* weight_group =
      weight + static_cast<long long>(group) * (static_cast<long long>(kGroupIn) * kGroupOut * kTaps * P::kernel_d);
  Element* y_image = y + static_cast<long long>(image) * P::y_channels * out_pixels +
                     static_cast<long long>(oz) * out_h * out_w * (P::channels_last ? P::y_channels : 1);

  Accumulators acc[P::group_phases_h][P::group_phases_w] = {};
  Stage* stages = static_cast<Stage*>(shared_memory());
  const int first_row = tile_y * kTileRows + kLeastOffsetH;
  const int first_column = tile_x * kTileColumns + kLeastOffsetW;
  for (int kd = 0; kd < P::kernel_d; ++kd) {
    const int reach = oz + (P::padding_d - P::dilation_d * kd);
    const int iz = reach / P::stride_d;  // the plane that the depth tap reads, if there is one
    if (reach >= 0 && reach % P::stride_d == 0 && iz < in_d) {
      const Element* x_plane =
          x_group + static_cast<long long>(iz) * in_h * in_w * (P::channels_last ? P::x_channels : 1);
      if (P::staged && P::asynchronous) {
        if (P::kernel_d > 1) {
          __syncthreads();  // all threads have read the depth tap before
        }
        stage_k_block(stages[0], x_plane, weight_group, 0, first_out, kd, first_row, first_column, first_phase_h,
                      first_phase_w, in_d, in_h, in_w);
      }
      for (int first_in = 0; first_in < kGroupIn; first_in += P::block_k) {
        Stage& stage = stages[first_in / P::block_k % kBuffers];
        if (P::staged && P::asynchronous) {
          async_copy_wait_all();
          if (kActivatesInput && !P::activates_reads) {
            activate_rows(stage, first_in, first_row, first_column, in_h, in_w);
          }
          __syncthreads();  // the k-block is staged, and all threads have read the one before
          if (kBuffers > 1 && first_in + P::block_k < kGroupIn) {
            stage_k_block(stages[(first_in / P::block_k + 1) % kBuffers], x_plane, weight_group, first_in + P::block_k,
                          first_out, kd, first_row, first_column, first_phase_h, first_phase_w, in_d, in_h, in_w);
          }
        } else if (P::staged) {
          __syncthreads();  // all threads have read the k-block before
          stage_k_block(stage, x_plane, weight_group, first_in, first_out, kd, first_row, first_column, first_phase_h,
                        first_phase_w, in_d, in_h, in_w);
          __syncthreads();  // the k-block is staged
        }
        if (kUnrolled) {
#pragma unroll 1
          for (int c = 0; c < P::block_k; ++c) {
            CONVTGEN_UNROLL
            for (int g = 0; g < kPhaseGroups; ++g) {
              if (kPhaseGroups == 1 || phase_group == g) {
                CONVTGEN_UNROLL
                for (int kh = 0; kh < P::kernel_h; ++kh) {
                  const int phase_h = phase_of_tap(kh, P::stride_h, P::padding_h, P::dilation_h);
                  const int offset_h = offset_of_tap(kh, P::stride_h, P::padding_h, P::dilation_h);
                  if (phase_h / P::group_phases_h == g / kPhaseGroupsW) {
                    // Kernel row {kh}: output rows of phase {phase_h}, input offset {offset_h}.
                    CONVTGEN_UNROLL
                    for (int kw = 0; kw < P::kernel_w; ++kw) {
                      const int phase_w = phase_of_tap(kw, P::stride_w, P::padding_w, P::dilation_w);
                      const int offset_w = offset_of_tap(kw, P::stride_w, P::padding_w, P::dilation_w);
                      const int tap = kh * P::kernel_w + kw;
                      if (phase_w / P::group_phases_w == g % kPhaseGroupsW) {
                        if (P::staged) {
                          multiply_add(
                              acc[phase_h % P::group_phases_h][phase_w % P::group_phases_w],
                              staged_input(stage.rows[c], place, offset_h - kLeastOffsetH, offset_w - kLeastOffsetW),
                              &stage.weights[c][tap][channel]);  // tap ({kh}, {kw})
                        } else {
                          multiply_add_unstaged(
                              acc[phase_h % P::group_phases_h][phase_w % P::group_phases_w],
                              x_plane + (first_in + c) * (P::channels_last ? 1 : in_pixels),
                              tile_y * kTileRows + row + offset_h, tile_x * kTileColumns + column + offset_w, in_h,
                              in_w,
                              weight_group + depth_weight_offset(static_cast<WeightIndex>(first_in + c),
                                                                 first_out + channel, kd, tap, kGroupOut, P::kernel_d,
                                                                 kTaps),
                              channels);  // tap ({kh}, {kw})
                        }
                      }
                    }
                  }
                }
              }
            }
          }
        } else {
          CONVTGEN_UNROLL
          for (int phase = 0; phase < kPhases; ++phase) {
            const PhaseTaps rows = rows_of_phase(first_phase_h + phase / P::group_phases_w);
            const PhaseTaps columns = columns_of_phase(first_phase_w + phase % P::group_phases_w);
#pragma unroll 1
            for (int c = 0; c < P::block_k; ++c) {
#pragma unroll 1
              for (int t_h = 0; t_h < kPhaseTapsH; ++t_h) {
                const int kh = rows.first + t_h * kTapStepH;
                const int offset_h = rows.offset - t_h * kOffsetStepH;
#pragma unroll 4
                for (int t_w = 0; t_w < kPhaseTapsW; ++t_w) {
                  const int kw = columns.first + t_w * kTapStepW;
                  const int offset_w = columns.offset - t_w * kOffsetStepW;
                  if (kh < P::kernel_h && kw < P::kernel_w) {
                    if (P::staged) {
                      multiply_add(acc[phase / P::group_phases_w][phase % P::group_phases_w],
                                   &stage.rows[c][0][0] + place + (offset_h - kLeastOffsetH) * kPitch +
                                       (offset_w - kLeastOffsetW),
                                   &stage.weights[c][(t_h * kPhaseTapsW + t_w) * kPhases + phase][channel]);
                    } else {
                      multiply_add_unstaged(
                          acc[phase / P::group_phases_w][phase % P::group_phases_w],
                          x_plane + (first_in + c) * (P::channels_last ? 1 : in_pixels),
                          tile_y * kTileRows + row + offset_h, tile_x * kTileColumns + column + offset_w, in_h, in_w,
                          weight_group + depth_weight_offset(static_cast<WeightIndex>(first_in + c),
                                                             first_out + channel, kd, kh * P::kernel_w + kw, kGroupOut,
                                                             P::kernel_d, kTaps),
                          channels);
                    }
                  }
                }
              }
            }
          }
        }
      }
    }
  }

  // After the loop, so that no register keeps them through it.
  const int co = group * kGroupOut + first_out + channel;
  const int m_y = tile_y * kTileRows + row;
  const int m_x = tile_x * kTileColumns + column;
  if (kUnrolled) {
    CONVTGEN_UNROLL
    for (int g = 0; g < kPhaseGroups; ++g) {
      if (kPhaseGroups == 1 || phase_group == g) {
        CONVTGEN_UNROLL
        for (int of_group_h = 0; of_group_h < P::group_phases_h; ++of_group_h) {
          const int phase_h = g / kPhaseGroupsW * P::group_phases_h + of_group_h;
          if (phase_h < P::stride_h) {
            if (kStored > 1 && reinterpret_cast<unsigned long long>(y) % (kStored * sizeof(Element)) == 0) {
              store_runs(acc[of_group_h], y_image, bias, co, channels, m_y * P::stride_h + phase_h, m_x * P::stride_w,
                         out_d, out_h, out_w);
            } else {
              CONVTGEN_UNROLL
              for (int of_group_w = 0; of_group_w < P::group_phases_w; ++of_group_w) {
                const int phase_w = g % kPhaseGroupsW * P::group_phases_w + of_group_w;
                if (phase_w < P::stride_w) {
                  store(acc[of_group_h][of_group_w], y_image, bias, co, channels, m_y * P::stride_h + phase_h,
                        m_x * P::stride_w + phase_w, out_d, out_h, out_w);
                }
              }
            }
          }
        }
      }
    }
  } else {
    CONVTGEN_UNROLL
    for (int phase = 0; phase < kPhases; ++phase) {
      const int phase_h = first_phase_h + phase / P::group_phases_w;
      const int phase_w = first_phase_w + phase % P::group_phases_w;
      if ((kGroupedPhasesH % P::group_phases_h == 0 || phase_h < kGroupedPhasesH) &&
          (kGroupedPhasesW % P::group_phases_w == 0 || phase_w < kGroupedPhasesW)) {
        store(acc[phase / P::group_phases_w][phase % P::group_phases_w], y_image, bias, co, channels,
              m_y * P::stride_h + output_phase_h(phase_h), m_x * P::stride_w + output_phase_w(phase_w), out_d, out_h,
              out_w);
      }
    }
  }
  if (kSplitsEmpty) {
    // Phases without taps: the bias alone.
#pragma unroll 1
    for (int phase = phase_group; phase < kAllPhases; phase += kPhaseGroups) {
      const int phase_h = phase / P::stride_w;
      const int phase_w = phase % P::stride_w;
      const PhaseTaps rows = taps_of_phase(phase_h, P::kernel_h, P::stride_h, P::padding_h, P::dilation_h);
      const PhaseTaps columns = taps_of_phase(phase_w, P::kernel_w, P::stride_w, P::padding_w, P::dilation_w);
      if (rows.first >= P::kernel_h || columns.first >= P::kernel_w) {
        const Accumulators none = {};
        store(none, y_image, bias, co, channels, m_y * P::stride_h + phase_h, m_x * P::stride_w + phase_w, out_d, out_h,
              out_w);
      }
    }
  }
}
