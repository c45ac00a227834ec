// Forward transposed convolution by definition, for layers that are bound by the memory of their outputs: FMA
// arithmetic, all input channels of a tile in shared memory, outputs stored as whole vectors.
//
// A block computes a tile of positions m = output / stride for some output channels. A warp makes one row of outputs
// after the other, in all column phases at once, so that what it stores is adjacent: channels of a pixel, or columns of
// a row. Phases without taps have no accumulators; they are stored as bias alone.
#ifndef CONVTGEN_PARAMETERS
#define CONVTGEN_PARAMETERS "parameters.h"
#endif
#include CONVTGEN_PARAMETERS
#include "device/async_copy.h"
#include "device/call_sizes.h"
#include "device/memory.h"
#include "device/template.h"
#include "layout.h"
#include "output_rows/tile.h"

// The weights' own header needs WeightIndex of the layout.
#include "device/weight_order.h"

constexpr bool kIdleLanes = P::lanes_c * P::lanes_x < 32;

// Depthwise, a thread's channels may each have their own input: what it loads of a pixel, and stores, is one vector.
constexpr bool kOwnInputs = kGroupOut == 1 && P::channels_per_thread > 1;
static_assert(kOwnInputs || kGroupOut % P::channels_per_thread == 0, "a thread's channels are of one group");
static_assert(P::lanes_c * P::lanes_x <= 32 && P::tile_rows % P::warps_y == 0, "warps have lanes and rows");

// Columns of a thread. Channels last: adjacent, which lanes read as vectors. NCHW: lanes_x apart, so that lanes read
// adjacent ones and what they write for one another lies in different banks.
constexpr int kColumnStep = P::channels_last ? 1 : P::lanes_x;
constexpr int kLaneColumns = P::channels_last ? P::columns_per_thread : 1;

constexpr int kVector = 16 / sizeof(Element);  // elements of a whole vector

// NCHW: a row is staged as whole vectors where a vector of x lies inside a row, or outside the image. The first one
// begins kLead columns before the tile's.
constexpr bool kRowVectors = !P::channels_last && P::width >= 0 && P::width % kVector == 0 &&
                             kTileColumns % kVector == 0 && (P::asynchronous || P::element_kind != 0);
constexpr int kLead = kRowVectors ? (kLeastOffsetW % kVector + kVector) % kVector : 0;
constexpr int kVectorsOfRow = ceil_div(kLead + kStagedColumns, kVector);

// Shared memory: the input by channels, the weights, and what warps exchange before they store. Lanes that read
// different channels read different banks: a plane is an odd number of sums, or of vectors.
constexpr int kPitch = P::channels_last ? ceil_div(kStagedColumns, 4) * 4
                       : kRowVectors    ? ceil_div(kVectorsOfRow * kVector, 4) * 4
                                        : kStagedColumns;
constexpr long long kPlaneSums = static_cast<long long>(kStagedRows) * kPitch;
constexpr long long kPlane = P::channels_last || kRowVectors ? kPlaneSums / 8 * 8 + 4 : kPlaneSums / 2 * 2 + 1;
constexpr long long kWeights = static_cast<long long>(kGroupIn) * kTaps * kTileChannels;
constexpr long long kWeightOffset = (kInputs * kPlane + 3) / 4 * 4;  // whole vectors

// A warp's outputs go through shared memory as runs that are adjacent in memory. NCHW: the columns of a channel, of one
// channel of each lane at a time. Channels last: the channels of a pixel, or of all pixels where the tile has all.
constexpr int kWarpPixels = kWarpColumns * P::stride_w;
constexpr bool kJoined =
    P::channels_last && kTileChannels == P::out_channels && P::y_channels == P::out_channels && P::warps_c == 1;
constexpr int kRuns = P::channels_last ? (kJoined ? 1 : kWarpPixels) : P::lanes_c;
constexpr int kRunLength = P::channels_last ? (kJoined ? kWarpPixels * P::out_channels : kWarpChannels) : kWarpPixels;
constexpr int kRunLanes = kRunLength / kVector > 16  ? 32
                          : kRunLength / kVector > 8 ? 16
                          : kRunLength / kVector > 4 ? 8
                                                     : 4;  // that store a run
constexpr int kRunRounds = ceil_div(kRunLength / kVector, kRunLanes);
// A run begins as many elements after a vector's start in shared memory as in global memory.
constexpr int kRunSums = ceil_div(kRunLength + kVector - 1, kVector) * kVector;

// Whether runs may begin inside a vector of 16 bytes.
constexpr long long kOutWidth =
    (P::width - 1ll) * P::stride_w +
    (P::dilation_w * (P::kernel_w - 1) + P::output_padding_w + 1 - 2 * P::padding_w);  // where the width is known
constexpr bool kWholePixels = P::out_channels % kVector == 0 && P::y_channels % kVector == 0;
constexpr bool kWholeRows = P::width >= 0 && kOutWidth * (P::channels_last ? P::out_channels : 1) % kVector == 0;
constexpr bool kSkewed = kRunLength % kVector != 0 ||
                         (P::channels_last ? !kWholePixels && !(kJoined && kWholeRows) : !kWholeRows) ||
                         (P::channels_last && !kJoined && !kWholeGroups && P::groups > 1 && kGroupOut % kVector != 0);

// NCHW: two buffers by turns, so that one channel is written while the one before is read.
constexpr int kBuffers = !P::channels_last && P::channels_per_thread > 1 ? 2 : 1;
constexpr int kExchanged = P::vector > 0 ? 0 : (kRuns* kRunSums + 3) / 4 * 4;  // sums of a warp's buffer

constexpr long long kExchangeOffset = kWeightOffset + (kWeights + 3) / 4 * 4;
constexpr long long kSharedBytes =
    static_cast<long long>(sizeof(Sum)) * (kExchangeOffset + static_cast<long long>(kWarps) * kBuffers * kExchanged);
constexpr int kStoreAlignment = P::vector > 0 ? P::vector * sizeof(Element) : kSkewed ? 0 : 16;  // in bytes
// Whether a thread reads 16 bytes of a pixel's channels at once, 16-bit elements.
constexpr bool kPixelVectors = P::element_kind != 0 && P::channels_last && kInputs % kVector == 0 &&
                               P::in_channels % kVector == 0 && P::x_channels % kVector == 0;
static_assert(!kOwnInputs || (kPixelVectors && kGroupIn == 1 && P::channels_per_thread == kVector),
              "own inputs are a vector of a pixel");
// A vector's channels lie so many planes apart: adjacent vectors are adjacent planes, in different banks.
constexpr int kVectorStep = (kOwnInputs ? kInputs / kVector : 1) * static_cast<int>(kPlane);
constexpr int kLoadAlignment = kPixelVectors || kRowVectors ? 16 : 0;
constexpr int kAlignment = kStoreAlignment > kLoadAlignment ? kStoreAlignment : kLoadAlignment;

// ---- Elements ----
#include "device/scalar.h"

// ---- Staging ----
// Two elements of 16 bits in a word.
__device__ __forceinline__ unsigned int pair(Sum low, Sum high) {
  return static_cast<unsigned int>(narrow(low)) | static_cast<unsigned int>(narrow(high)) << 16;
}

#include "device/input_words.h"
#include "device/stage_element.h"

// Puts a vector of a row's elements to shared memory as what products are added in, or zeros, as stage_element() does.
__device__ __forceinline__ void stage_vector(Sum* to, const Element* from, bool is_inside, const Element* legal) {
  if (P::asynchronous) {
    async_copy_16(to, is_inside ? from : legal, is_inside ? 16 : 0);
  } else {
    uint4 elements = make_uint4(0, 0, 0, 0);
    if (is_inside) {
      elements = load_constant_16(from);
      if (kActivatesInput) {
        elements = activate_words(elements);
      }
    }
    const unsigned int words[4] = {elements.x, elements.y, elements.z, elements.w};
#pragma unroll
    for (int k = 0; k < 4; k += 2) {
      *reinterpret_cast<float4*>(to + 2 * k) =
          make_float4(widen(static_cast<Element>(words[k])), widen(static_cast<Element>(words[k] >> 16)),
                      widen(static_cast<Element>(words[k + 1])), widen(static_cast<Element>(words[k + 1] >> 16)));
    }
  }
}

// Copies the input of a tile with its halo to shared memory: zeros where the image or the channels end. `x` is the
// first channel that is staged{with channels: , of `channels` in the image from there}; row and column are the first
// staged.
__device__ __forceinline__ void stage_input(Sum* __restrict__ planes, const Element* __restrict__ x, int channels,
                                            int first_row, const int first_column, const int in_h, const int in_w) {
  constexpr int kStaged = kStagedRows * kStagedColumns;
  if (kRowVectors) {
#pragma unroll 8
    for (unsigned int i = threadIdx.x; i < kInputs * kStagedRows * kVectorsOfRow; i += kThreads) {
      const int channel = i / (kStagedRows * kVectorsOfRow);
      const int row = i / kVectorsOfRow % kStagedRows;
      const int column = i % kVectorsOfRow * kVector;
      const int iy = first_row + row;
      const int ix = first_column - kLead + column;
      const bool is_inside = (kWholeInputs || channel < channels) && (kLeastOffsetH >= 0 || iy >= 0) && iy < in_h &&
                             (kLeastOffsetW >= 0 || ix >= 0) && ix < in_w;
      stage_vector(planes + (channel * static_cast<int>(kPlane) + row * kPitch + column),
                   x + ((static_cast<Offset>(channel) * in_h + iy) * in_w + ix), is_inside, x);
    }
  } else if (kPixelVectors) {
    constexpr int kVectors = ceil_div(kInputs, kVector);
#pragma unroll 4
    for (unsigned int i = threadIdx.x; i < kStaged * kVectors; i += kThreads) {
      const int channel = i % kVectors * kVector;
      const int row = i / kVectors / kStagedColumns;
      const int column = i / kVectors % kStagedColumns;
      const int iy = first_row + row;
      const int ix = first_column + column;
      uint4 elements = make_uint4(0, 0, 0, 0);
      if ((kWholeInputs || channel < channels) && (kLeastOffsetH >= 0 || iy >= 0) && iy < in_h &&
          (kLeastOffsetW >= 0 || ix >= 0) && ix < in_w) {
        elements = load_constant_16(x + ((static_cast<Offset>(iy) * in_w + ix) * P::x_channels + channel));
        if (kActivatesInput) {
          elements = activate_words(elements);
        }
      }
      const unsigned int words[4] = {elements.x, elements.y, elements.z, elements.w};
      const int plane = kOwnInputs ? channel / kVector : channel;
      Sum* to = planes + (plane * static_cast<int>(kPlane) + row * kPitch + column);
#pragma unroll
      for (int k = 0; k < 4; ++k) {
        to[2 * k * kVectorStep] = widen(static_cast<Element>(words[k]));
        to[(2 * k + 1) * kVectorStep] = widen(static_cast<Element>(words[k] >> 16));
      }
    }
  } else {
#pragma unroll 8
    for (unsigned int i = threadIdx.x; i < kStaged * kInputs; i += kThreads) {
      // Adjacent threads read adjacent memory.
      const int channel = P::channels_last ? i % kInputs : i / kStaged;
      const int row = P::channels_last ? i / kInputs / kStagedColumns : i / kStagedColumns % kStagedRows;
      const int column = P::channels_last ? i / kInputs % kStagedColumns : i % kStagedColumns;
      const int iy = first_row + row;
      const int ix = first_column + column;
      const bool is_inside = (kWholeInputs || channel < channels) && (kLeastOffsetH >= 0 || iy >= 0) && iy < in_h &&
                             (kLeastOffsetW >= 0 || ix >= 0) && ix < in_w;
      const Element* from = P::channels_last ? x + ((static_cast<Offset>(iy) * in_w + ix) * P::x_channels + channel)
                                             : x + ((static_cast<Offset>(channel) * in_h + iy) * in_w + ix);
      if (kActivatesInput && !P::asynchronous) {
        planes[channel * static_cast<int>(kPlane) + row * kPitch + column] =
            is_inside ? widen(activate_input(*from)) : static_cast<Sum>(0);
      } else {
        stage_element(planes + (channel * static_cast<int>(kPlane) + row * kPitch + column), from, is_inside, x);
      }
    }
  }
}

// Activates all that copies have brought. Zeros stay: the planner copies x of other chains through registers.
__device__ __forceinline__ void activate_staged(Sum* planes) {
  if (kRowVectors) {
    constexpr int kVectorsOfPlane = kStagedRows * kVectorsOfRow;
    constexpr bool kRowsAdjoin = kPitch == kVectorsOfRow * kVector;
#pragma unroll 4
    for (unsigned int i = threadIdx.x; i < kInputs * kVectorsOfPlane; i += kThreads) {
      const int vector = i % kVectorsOfPlane;
      const int place =
          kRowsAdjoin ? vector * kVector : vector / kVectorsOfRow * kPitch + vector % kVectorsOfRow * kVector;
      Sum* at = planes + (i / kVectorsOfPlane * static_cast<int>(kPlane) + place);
      if constexpr (sizeof(Sum) == 4) {
        *reinterpret_cast<uint4*>(at) = activate_words(*reinterpret_cast<const uint4*>(at));
      } else {
#pragma unroll
        for (int k = 0; k < kVector; ++k) {
          at[k] = activate(at[k], P::fuse_count, P::fuse_input_count);
        }
      }
    }
  } else {
    constexpr int kStaged = kStagedRows * kStagedColumns;
#pragma unroll 4
    for (unsigned int i = threadIdx.x; i < kStaged * kInputs; i += kThreads) {
      const int element = i % kStaged;
      const int place =
          kPitch == kStagedColumns ? element : element / kStagedColumns * kPitch + element % kStagedColumns;
      Sum& value = planes[i / kStaged * static_cast<int>(kPlane) + place];
      value = activate(value, P::fuse_count, P::fuse_input_count);
    }
  }
}

constexpr int kTogether = P::channels_per_thread % 4 == 0 ? 4 : 1;  // channels of a thread that it reads as a vector

// Offset of the weight of a lane's channel among those of its warp for a tap: lanes read adjacent vectors.
__device__ __forceinline__ int weight_place(int lane, int channel) {
  return channel / kTogether * (P::lanes_c * kTogether) + lane * kTogether + channel % kTogether;
}

// Copies the weights of a tile to shared memory, output channels innermost; zeros where the channels end. `weight` are
// those of the tile's first group, first_out the tile's first channel in it{with channels: , of `channels` from there}.
__device__ __forceinline__ void stage_weights(Sum* __restrict__ weights, const Element* __restrict__ weight,
                                              const int first_out, int channels) {
#pragma unroll 8
  for (unsigned int i = threadIdx.x; i < kGroupIn * kTileChannels * kTaps; i += kThreads) {
    const int tap = P::weight_channels_last ? i / kTileChannels % kTaps : i % kTaps;
    const int channel = P::weight_channels_last ? i % kTileChannels : i / kTaps % kTileChannels;
    const int ci = i / (kTaps * kTileChannels);
    const int group = kWholeGroups ? channel / kGroupOut : 0;
    const int co = kWholeGroups ? channel % kGroupOut : first_out + channel;
    const int of_warp = channel % kWarpChannels;
    const int place = channel / kWarpChannels * kWarpChannels +
                      weight_place(of_warp / P::channels_per_thread, of_warp % P::channels_per_thread);
    const Element* from =
        weight + weight_offset(static_cast<WeightIndex>(group * kGroupIn + ci), co, tap, kGroupOut, kTaps);
    stage_element(weights + ((ci * kTaps + tap) * kTileChannels + place), from, kWholeTiles || channel < channels,
                  weight);
  }
}

// ---- Products ----

// One thread's accumulators for one column phase.
using Accumulators = Sum[P::channels_per_thread][P::columns_per_thread];

// One tap: positions of a staged row times one weight for each channel.
__device__ __forceinline__ void multiply_add(Accumulators& acc, const Sum* x, const Sum* weights) {
#pragma unroll
  for (int channel = 0; channel < P::channels_per_thread; ++channel) {
    const Sum weight = weights[weight_place(0, channel)];
#pragma unroll
    for (int column = 0; column < P::columns_per_thread; ++column) {
      const int place = (kOwnInputs ? channel * kVectorStep : 0) + column * kColumnStep;
      acc[channel][column] = fma(x[place], weight, acc[channel][column]);
    }
  }
}

// ---- Epilogue ----
#include "device/epilogue.h"
#include "device/store_vector.h"

// How many elements after the start of a 16-byte vector this one lies.
__device__ __forceinline__ int skew_of(const Element* element) {
  return static_cast<int>(reinterpret_cast<unsigned long long>(element) / sizeof(Element) % kVector);
}

// A warp's place in the output: the first channel and the end of the channels that it may write, the row, and the
// first column of its first position.
struct Place {
  int channel, channel_end, row, column;
};

// The first element of a run in the image `y`.
__device__ __forceinline__ Element* run_start(Element* __restrict__ y, const Place& place, int run, const int out_h,
                                              const int out_w) {
  if (P::channels_last) {
    return y + ((static_cast<Offset>(place.row) * out_w + place.column + run) * P::y_channels + place.channel);
  }
  return y + ((static_cast<Offset>(place.channel + run * P::channels_per_thread) * out_h + place.row) * out_w +
              place.column);
}

// The elements of a run that lie inside the output.
__device__ __forceinline__ int run_length(const Place& place, int run, const int out_w) {
  if (kJoined) {
    return min(max(out_w - place.column, 0), kWarpPixels) * P::out_channels;
  }
  if (P::channels_last) {
    return place.column + run < out_w ? min(place.channel_end - place.channel, kRunLength) : 0;
  }
  return place.channel + run * P::channels_per_thread < place.channel_end
             ? min(max(out_w - place.column, 0), kRunLength)
             : 0;
}

// What of a run is inside the output: elements before its first whole vector, whole vectors, elements after them.
struct Run {
  Element* start;
  int head, vectors, ends;
};

__device__ __forceinline__ Run run_of(Element* __restrict__ y, const Place& place, int run, const int out_h,
                                      const int out_w) {
  const int length = run_length(place, run, out_w);
  Element* start = run_start(y, place, run, out_h, out_w);
  const int head = kSkewed ? min((kVector - skew_of(start)) % kVector, length) : 0;
  const int vectors = (length - head) / kVector;
  return {start, head, vectors, length - vectors * kVector};
}

// Stores the runs of a warp: whole vectors, and the ends of a run element by element.
__device__ __forceinline__ void store_runs(const Sum* __restrict__ exchanged, Element* __restrict__ y,
                                           const Place& place, const int out_h, const int out_w) {
  const int lane = threadIdx.x % 32;
#pragma unroll 2
  for (int run = lane / kRunLanes; run < kRuns; run += 32 / kRunLanes) {
    const Run of_run = run_of(y, place, run, out_h, out_w);
    const int skew = kSkewed ? skew_of(of_run.start) : 0;
    const Sum* from = exchanged + (run * kRunSums + (kSkewed && skew > 0 ? kVector : 0));  // the first whole vector
#pragma unroll
    for (int round = 0; round < kRunRounds; ++round) {
      const int i = lane % kRunLanes + round * kRunLanes;
      if (i < of_run.vectors) {
        store_16(of_run.start + (of_run.head + i * kVector), from + i * kVector);
      }
    }
    if (kSkewed) {
#pragma unroll 1
      for (int i = lane % kRunLanes; i < of_run.ends; i += kRunLanes) {
        const int element = i < of_run.head ? i : i + of_run.vectors * kVector;
        of_run.start[element] = narrow(exchanged[run * kRunSums + skew + element]);
      }
    }
  }
}

// NCHW: rows of outputs without taps are stored before the staged input is there.
constexpr bool kFillsRows = !P::channels_last && kTapRows < P::stride_h;

// Stores a row without taps of each channel of a warp: bias alone, which waits for nothing.
__device__ __forceinline__ void fill_runs(Element* __restrict__ y, const Element* __restrict__ bias, const Place& place,
                                          const int out_h, const int out_w) {
  const int lane = threadIdx.x % 32;
#pragma unroll
  for (int channel = 0; channel < P::channels_per_thread; ++channel) {
    Place of_channel = place;
    of_channel.channel += channel;
#pragma unroll 2
    for (int run = lane / kRunLanes; run < kRuns; run += 32 / kRunLanes) {
      const int co = of_channel.channel + run * P::channels_per_thread;
      const Sum value = epilogue(0, P::has_bias && (kWholeTiles || co < place.channel_end) ? widen(bias[co]) : 0);
      Sum values[kVector];
#pragma unroll
      for (int i = 0; i < kVector; ++i) {
        values[i] = value;
      }
      const Run of_run = run_of(y, of_channel, run, out_h, out_w);
#pragma unroll
      for (int round = 0; round < kRunRounds; ++round) {
        const int i = lane % kRunLanes + round * kRunLanes;
        if (i < of_run.vectors) {
          store_16(of_run.start + (of_run.head + i * kVector), values);
        }
      }
      if (kSkewed) {
#pragma unroll 1
        for (int i = lane % kRunLanes; i < of_run.ends; i += kRunLanes) {
          of_run.start[i < of_run.head ? i : i + of_run.vectors * kVector] = narrow(value);
        }
      }
    }
  }
}

// Stores a thread's accumulators, channels last: its adjacent channels of each pixel as vectors.
__device__ __forceinline__ void store_pixels(const Accumulators (&acc)[P::stride_w], Element* __restrict__ y,
                                             const Element* __restrict__ bias, const Place& place, const int lane_c,
                                             const int lane_x, const int out_w) {
  const int co = place.channel + lane_c * P::channels_per_thread;
  if (kWholeTiles || co < place.channel_end) {
    const int first = place.column + lane_x * (kLaneColumns * P::stride_w);
    Element* pixels = y + ((static_cast<Offset>(place.row) * out_w + first) * P::y_channels + co);
#pragma unroll
    for (int column = 0; column < P::columns_per_thread; ++column) {
#pragma unroll
      for (int phase = 0; phase < P::stride_w; ++phase) {
        const int offset = column * (kColumnStep * P::stride_w) + phase;
        if (first + offset < out_w) {
          Element* to = pixels + offset * P::y_channels;
          Sum values[P::channels_per_thread];
#pragma unroll
          for (int channel = 0; channel < P::channels_per_thread; ++channel) {
            values[channel] = epilogue(acc[phase][channel][column], P::has_bias ? widen(bias[co + channel]) : 0);
          }
#pragma unroll
          for (int channel = 0; channel < P::channels_per_thread; channel += P::vector) {
            if (P::vector == kVector) {
              store_16(to + channel, values + channel);
            } else {
              store_8(to + channel, values + channel);
            }
          }
        }
      }
    }
  }
}

// Stores a warp's accumulators as runs through `exchange`, which is the warp's own.
__device__ __forceinline__ void store_exchanged(const Accumulators (&acc)[P::stride_w], Sum* __restrict__ exchange,
                                                Element* __restrict__ y, const Element* __restrict__ bias,
                                                const Place& place, const int lane_c, const int lane_x,
                                                const bool is_idle, const int out_h, const int out_w) {
#pragma unroll
  for (int channel = 0; channel < P::channels_per_thread; ++channel) {
    const int of_warp = lane_c * P::channels_per_thread + channel;
    const int co = place.channel + of_warp;
    const Sum bias_value = P::has_bias && (kWholeTiles || co < place.channel_end) ? widen(bias[co]) : 0;
    Place of_channel = place;
    of_channel.channel += P::channels_last ? 0 : channel;
    Sum* buffer = exchange + (channel % kBuffers) * kExchanged;
    const int skew = kSkewed ? skew_of(run_start(y, of_channel, P::channels_last ? 0 : lane_c, out_h, out_w)) : 0;
    if (!kIdleLanes || !is_idle) {
      const int pixel = lane_x * kLaneColumns * P::stride_w;
      Sum* to = buffer + (kJoined            ? skew + pixel * P::out_channels + of_warp
                          : P::channels_last ? of_warp
                                             : skew + lane_c * kRunSums + pixel);
#pragma unroll
      for (int column = 0; column < P::columns_per_thread; ++column) {
#pragma unroll
        for (int phase = 0; phase < P::stride_w; ++phase) {
          const int offset = column * (kColumnStep * P::stride_w) + phase;
          const int run = pixel + offset;
          const int at = kJoined ? offset * P::out_channels
                         : P::channels_last
                             ? run * kRunSums + (kSkewed ? (skew + run * (P::y_channels % kVector)) % kVector : 0)
                             : offset;
          to[at] = epilogue(acc[phase][channel][column], bias_value);
        }
      }
    }
    if (!P::channels_last || channel == P::channels_per_thread - 1) {
      __syncwarp();  // all lanes have written
      store_runs(buffer, y, of_channel, out_h, out_w);
    }
  }
  if (P::channels_last || P::channels_per_thread % 2 == 1) {
    __syncwarp();  // all lanes have read what is written next
  }
}

// ---- Kernel ----

extern "C" __global__ void __launch_bounds__(kThreads, P::blocks_per_sm)
    direct_rows(const Element* __restrict__ x, const Element* __restrict__ weight, const Element* __restrict__ bias,
                Element* __restrict__ y, int height, int width) {
  const int in_h = input_rows(height);
  const int in_w = input_columns(width);
  const int out_h = output_rows(in_h);
  const int out_w = output_columns(in_w);
  const int tiles_y = tiles_down(out_h);
  const int tiles_x = tiles_across(out_w);

  // The block's place: channels vary fastest, so that blocks which read the same input run together.
  const int block = blockIdx.x;
  const int channel_tile = block % kChannelTiles;
  const int tile = block / kChannelTiles;
  const int tile_x = tile % tiles_x;
  const int tile_y = tile / tiles_x % tiles_y;
  const int image = tile / tiles_x / tiles_y;
  const int group = kWholeGroups ? channel_tile * kTileGroups : channel_tile / kTilesOfGroup;
  const int first_in_group = kWholeGroups ? 0 : channel_tile % kTilesOfGroup * kTileChannels;
  const int first_out = group * kGroupOut + first_in_group;
  const int channel_end = kWholeGroups ? P::out_channels : (group + 1) * kGroupOut;

  // Bases are 64-bit; every offset from them fits its type.
  const long long in_pixels = static_cast<long long>(in_h) * in_w;
  const long long out_pixels = static_cast<long long>(out_h) * out_w;
  const long long image_channel = static_cast<long long>(image) * P::x_channels;
  const Element* x_group = x + (P::channels_last ? image_channel * in_pixels + group * kGroupIn
                                                 : (image_channel + group * kGroupIn) * in_pixels);
  const Element* weight_group =
      weight + static_cast<long long>(group) * (static_cast<long long>(kGroupIn) * kGroupOut * kTaps);
  Element* y_image = y + static_cast<long long>(image) * P::y_channels * out_pixels;

  Sum* shared = static_cast<Sum*>(shared_memory());
  Sum* weights = shared + kWeightOffset;
  stage_input(shared, x_group, P::in_channels - group * kGroupIn, tile_y * P::tile_rows + kLeastOffsetH,
              tile_x * kTileColumns + kLeastOffsetW, in_h, in_w);
  stage_weights(weights, weight_group, first_in_group, channel_end - first_out);
  // The thread's place: its warp in the block, and its lane along channels and columns.
  const int warp = threadIdx.x / 32;
  const int lane = threadIdx.x % 32;
  const int warp_x = warp % P::warps_x;
  const int warp_c = warp / P::warps_x % P::warps_c;
  const int warp_y = warp / (P::warps_x * P::warps_c);
  const bool is_idle = kIdleLanes && lane >= P::lanes_c * P::lanes_x;
  const int lane_c = is_idle ? 0 : P::channels_last ? lane % P::lanes_c : lane / P::lanes_x;
  const int lane_x = is_idle ? 0 : P::channels_last ? lane / P::lanes_c : lane % P::lanes_x;
  const int column = warp_x * kWarpColumns + lane_x * kLaneColumns;
  const int of_warp = warp_c * kWarpChannels + lane_c * P::channels_per_thread;
  const int plane = kOwnInputs ? of_warp / kVector : kWholeGroups ? of_warp / kGroupOut * kGroupIn : 0;
  const Sum* x_thread = shared + (plane * static_cast<int>(kPlane) + kLead + column);
  const Sum* weight_thread = weights + (warp_c * kWarpChannels + weight_place(lane_c, 0));
  Sum* exchange = shared + (kExchangeOffset + warp * (kBuffers * kExchanged));
  Place place;
  place.channel = first_out + warp_c * kWarpChannels;
  place.channel_end = channel_end;
  place.column = (tile_x * kTileColumns + warp_x * kWarpColumns) * P::stride_w;

  if (kFillsRows) {
#pragma unroll 1
    for (int row = warp_y; row < P::tile_rows; row += P::warps_y) {
#pragma unroll 1
      for (int i = kTapRows; i < P::stride_h; ++i) {
        place.row = (tile_y * P::tile_rows + row) * P::stride_h + row_phase(i);
        if (place.row < out_h) {
          fill_runs(y_image, bias, place, out_h, out_w);
        }
      }
    }
  }
  if (P::asynchronous) {
    async_copy_wait_all();
    if (kActivatesInput) {
      __syncthreads();  // all threads' copies are there
      activate_staged(shared);
    }
  }
  __syncthreads();  // the tile is staged

#pragma unroll 1
  for (int row = warp_y; row < P::tile_rows; row += P::warps_y) {
#pragma unroll 1
    for (int i = 0; i < (kFillsRows ? kTapRows : P::stride_h); ++i) {
      // The phases of kernel rows 0, 1, ..., which later ones repeat; then those without taps.
      place.row = (tile_y * P::tile_rows + row) * P::stride_h + row_phase(i);
      if (place.row < out_h) {
        Accumulators acc[P::stride_w] = {};
#pragma unroll 1
        for (int kh = i < kTapRows ? i : P::kernel_h; kh < P::kernel_h; kh += kTapStep) {
          const int staged_row = row + offset_of_tap(kh, P::stride_h, P::padding_h, P::dilation_h) - kLeastOffsetH;
          const Sum* x_row = x_thread + staged_row * kPitch;
          const Sum* weight_row = weight_thread + kh * P::kernel_w * kTileChannels;
#pragma unroll 2
          for (int ci = 0; ci < kGroupIn; ++ci) {
            CONVTGEN_UNROLL
            for (int kw = 0; kw < P::kernel_w; ++kw) {
              const int phase_w = phase_of_tap(kw, P::stride_w, P::padding_w, P::dilation_w);
              const int offset_w = offset_of_tap(kw, P::stride_w, P::padding_w, P::dilation_w);
              multiply_add(acc[phase_w], x_row + (offset_w - kLeastOffsetW),
                           weight_row + kw * kTileChannels);  // taps (0 to {kLastRow}, {kw})
            }
            x_row += kPlane;
            weight_row += kTaps * kTileChannels;
          }
        }
        if (P::vector > 0) {
          if (!kIdleLanes || !is_idle) {
            store_pixels(acc, y_image, bias, place, lane_c, lane_x, out_w);
          }
        } else {
          store_exchanged(acc, exchange, y_image, bias, place, lane_c, lane_x, is_idle, out_h, out_w);
        }
      }
    }
  }
}
