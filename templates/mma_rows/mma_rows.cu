// Forward transposed convolution by definition, for layers of few channels in 16 bits that are bound by the memory of
// their outputs: products by warps (mma.sync), all input channels of a tile in shared memory, channels last.
//
// A block computes a tile of positions m = output / stride for some output channels. A warp makes 16 positions of one
// row of outputs after the other, in all column phases and all channels of the tile, so that what it stores is
// adjacent. Phases without taps have no accumulators; they are stored as bias alone.
#ifndef CONVTGEN_PARAMETERS
#define CONVTGEN_PARAMETERS "parameters.h"
#endif
#include CONVTGEN_PARAMETERS
#include "device/async_copy.h"
#include "device/call_sizes.h"
#include "device/matrix_load.h"
#include "device/memory.h"
#include "device/mma.h"
#include "device/template.h"
#include "layout.h"
#include "output_rows/tile.h"

// The weights' own header needs WeightIndex of the layout.
#include "device/weight_order.h"

constexpr int kUnit = 8;  // channels of 16 bytes: half of the K of a product
constexpr int kUnits = kGroupIn / kUnit;
constexpr int kPairs = kUnits / 2;  // of units of a tap, each a K
constexpr bool kLastUnit = kUnits % 2 == 1;
constexpr int kInputUnits = kInputs / kUnit;
constexpr int kTileProducts = kTileChannels / kInstructionN;
constexpr int kBlocks = kTileProducts / P::products;  // of channels that are accumulated together
static_assert(kGroupIn % kUnit == 0 && kGroupOut % kInstructionN == 0, "groups have whole products");
static_assert(kWholeTiles && kTileProducts % P::products == 0, "tiles have whole products");
static_assert(!kWholeGroups || kGroupOut / kInstructionN % P::products == 0, "products together are of one group");
static_assert(P::channels_last && sizeof(Element) == 2, "16-bit elements, channels last");

// Kernel columns whose taps make the same column phase are so many apart, and read so many positions apart.
constexpr int kColumnStep = P::stride_w / greatest_common_divisor(P::stride_w, P::dilation_w);
constexpr int kColumnDistance = P::dilation_w / greatest_common_divisor(P::stride_w, P::dilation_w);

// The K steps of a kernel row: pairs of units of each tap. Of a last unit, two taps of a phase share a step.
__host__ __device__ constexpr int unit_step(int kw) {
  return kw / (2 * kColumnStep) * kColumnStep + kw % kColumnStep;
}
__host__ __device__ constexpr bool begins_step(int kw) {
  return kw / kColumnStep % 2 == 0;
}
__host__ __device__ constexpr bool has_partner(int kw) {
  return kw + kColumnStep < P::kernel_w;
}
__host__ __device__ constexpr int count_unit_steps() {
  int steps = 0;
  for (int kw = 0; kw < P::kernel_w; ++kw) {
    steps += begins_step(kw) ? 1 : 0;
  }
  return steps;
}
constexpr int kSteps = kPairs * P::kernel_w + (kLastUnit ? count_unit_steps() : 0);

// Whether a column phase has taps.
__host__ __device__ constexpr bool has_taps(int phase) {
  bool has = false;
  for (int kw = 0; kw < P::kernel_w; ++kw) {
    has = has || phase_of_tap(kw, P::stride_w, P::padding_w, P::dilation_w) == phase;
  }
  return has;
}
constexpr bool kHasEmptyPhases = kColumnStep < P::stride_w || P::kernel_w < P::stride_w;

// Whether the A fragments of a tap are not those of the tap before, which reads the same positions.
__host__ __device__ constexpr bool reads_anew(int kw) {
  return kw == 0 || offset_of_tap(kw, P::stride_w, P::padding_w, P::dilation_w) !=
                        offset_of_tap(kw - 1, P::stride_w, P::padding_w, P::dilation_w);
}
// The same for the last unit, which takes pairs of taps. Taps 0, 2 * kColumnStep, ... begin a run of pairs: the tap
// before begins none, so it shares no fragment.
__host__ __device__ constexpr bool pair_reads_anew(int kw) {
  return kw % (2 * kColumnStep) == 0 || reads_anew(kw);
}

// Shared memory: the input by units of channels, the weights in the order of B fragments, outputs of phases without
// taps, and what warps exchange before they store. Units of a pixel are written to different banks.
constexpr int kPixels = kStagedRows * kStagedColumns;
constexpr int kUnitSkew = kInputUnits >= 8 ? 1 : kInputUnits >= 4 ? 2 : kInputUnits >= 2 ? 4 : 0;
constexpr int kUnitPixels = (kPixels + 7) / 8 * 8 + kUnitSkew;  // from unit to unit
constexpr long long kInputBytes = 16ll * kInputUnits * kUnitPixels;
constexpr int kStepWords = kTileProducts * 64;  // two of each lane
constexpr long long kWeightBytes = 4ll * P::kernel_h * kSteps * kStepWords;
constexpr int kEmptyBytes = 2 * kTileChannels;
// A position's channels are an odd number of vectors, so that positions lie in different banks.
constexpr int kVectors = kTileChannels / 8;
constexpr int kPixelPitch = (kVectors / 2 * 2 + 1) * 8;                // elements
constexpr int kExchanged = P::stride_w * kInstructionM * kPixelPitch;  // elements of a warp
constexpr long long kWeightOffset = kInputBytes;
constexpr long long kEmptyOffset = kWeightOffset + kWeightBytes;
constexpr long long kExchangeOffset = kEmptyOffset + kEmptyBytes;
constexpr long long kSharedBytes = kExchangeOffset + 2ll * P::warps * kExchanged;
constexpr int kAlignment = 16;

// ---- Elements ----
#include "device/scalar.h"

// Two elements in a word.
__device__ __forceinline__ unsigned int pair(Sum low, Sum high) {
  return P::element_kind == kF16 ? floats_to_half2(low, high) : floats_to_bfloat162(low, high);
}

// ---- Staging ----
#include "device/input_words.h"

// Copies the input of a tile with its halo to shared memory: zeros where the image ends.
// `x` is the first channel that is staged; row and column are the first staged.
__device__ __forceinline__ void stage_input(unsigned char* __restrict__ staged, const Element* __restrict__ x,
                                            int first_row, const int first_column, const int in_h, const int in_w) {
#pragma unroll 4
  for (int i = threadIdx.x; i < kPixels * kInputUnits; i += kThreads) {
    const int unit = i % kInputUnits;
    const int pixel = i / kInputUnits;
    const int iy = first_row + pixel / kStagedColumns;
    const int ix = first_column + pixel % kStagedColumns;
    const bool is_inside = (kLeastOffsetH >= 0 || iy >= 0) && iy < in_h && (kLeastOffsetW >= 0 || ix >= 0) && ix < in_w;
    const Element* from = x + ((static_cast<Offset>(iy) * in_w + ix) * P::x_channels + unit * kUnit);
    async_copy_16(staged + 16 * (unit * kUnitPixels + pixel), is_inside ? from : x, is_inside ? 16 : 0);
  }
}

// Activates what the thread's own copies have brought of a tile: what is inside of the image. Zeros stay.
__device__ __forceinline__ void activate_tile(unsigned char* __restrict__ staged, int first_row, const int first_column,
                                              const int in_h, const int in_w) {
#pragma unroll 4
  for (int i = threadIdx.x; i < kPixels * kInputUnits; i += kThreads) {
    const int pixel = i / kInputUnits;
    const int iy = first_row + pixel / kStagedColumns;
    const int ix = first_column + pixel % kStagedColumns;
    if ((kLeastOffsetH >= 0 || iy >= 0) && iy < in_h && (kLeastOffsetW >= 0 || ix >= 0) && ix < in_w) {
      uint4* vector = reinterpret_cast<uint4*>(staged + 16 * (i % kInputUnits * kUnitPixels + pixel));
      *vector = activate_words(*vector);
    }
  }
}

// Where a weight lies among those of the tile, in elements: by kernel rows, steps, products, then as a lane holds them.
__device__ __forceinline__ int weight_place(int ci, int channel, int tap) {
  const int kh = tap / P::kernel_w;
  const int kw = tap % P::kernel_w;
  const int unit = ci / kUnit;
  const bool is_paired = kPairs > 0 && (!kLastUnit || unit < 2 * kPairs);
  const int step = is_paired ? unit / 2 * P::kernel_w + kw : kPairs * P::kernel_w + unit_step(kw);
  const int half = is_paired ? unit % 2 : kw / kColumnStep % 2;
  const int lane = channel % kInstructionN * 4 + ci % kUnit / 2;
  return ((kh * kSteps + step) * kStepWords + channel / kInstructionN * 64 + lane * 2 + half) * 2 + ci % 2;
}

// Copies the weights of a tile to shared memory. `weight` are those of the tile's first group, first_out the tile's
// first channel in it.
__device__ __forceinline__ void stage_weights(Element* __restrict__ weights, const Element* __restrict__ weight,
                                              const int first_out) {
#pragma unroll 8
  for (int i = threadIdx.x; i < kGroupIn * kTileChannels * kTaps; i += kThreads) {
    const int tap = P::weight_channels_last ? i / kTileChannels % kTaps : i % kTaps;
    const int channel = P::weight_channels_last ? i % kTileChannels : i / kTaps % kTileChannels;
    const int ci = i / (kTaps * kTileChannels);
    const int group = kWholeGroups ? channel / kGroupOut : 0;
    const int co = kWholeGroups ? channel % kGroupOut : first_out + channel;
    weights[weight_place(ci, channel, tap)] =
        weight[weight_offset(static_cast<WeightIndex>(group * kGroupIn + ci), co, tap, kGroupOut, kTaps)];
  }
}

// ---- Products ----

// One thread's accumulators: of each column phase and each product.
using Accumulators = float[P::stride_w][P::products][4];

// 16 channels, or 8 of two taps.
__device__ __forceinline__ void multiply_add(float (&acc)[P::products][4], const unsigned int (&a)[4],
                                             const unsigned int* weights) {
#pragma unroll
  for (int product = 0; product < P::products; ++product) {
    const uint2 words = *reinterpret_cast<const uint2*>(weights + product * 64);
    const unsigned int b[2] = {words.x, words.y};
    if (P::element_kind == kF16) {
      mma_k16_f16(acc[product], a, b);
    } else {
      mma_k16_bf16(acc[product], a, b);
    }
  }
}

// 8 channels of one tap.
__device__ __forceinline__ void multiply_add_unit(float (&acc)[P::products][4], const unsigned int (&a)[2],
                                                  const unsigned int* weights) {
#pragma unroll
  for (int product = 0; product < P::products; ++product) {
    if (P::element_kind == kF16) {
      mma_k8_f16(acc[product], a, weights[product * 64]);
    } else {
      mma_k8_bf16(acc[product], a, weights[product * 64]);
    }
  }
}

// One kernel row. `x` is the staged pixel of this lane at the least offset of columns, {kLeastOffsetW}, and its first
// unit of the group; `weights` are the lane's own of the row.
__device__ __forceinline__ void multiply_row(Accumulators& acc, const unsigned char* x, const unsigned int* weights,
                                             const int lane) {
  if (kPairs > 0) {
    const unsigned char* x_pair = x + lane / 16 * (16 * kUnitPixels);
    const unsigned int* of_pair = weights;
#pragma unroll 1
    for (int k_step = 0; k_step < kPairs; ++k_step) {
      unsigned int a[4];
      CONVTGEN_UNROLL
      for (int kw = 0; kw < P::kernel_w; ++kw) {
        const int phase_w = phase_of_tap(kw, P::stride_w, P::padding_w, P::dilation_w);
        const int offset_w = offset_of_tap(kw, P::stride_w, P::padding_w, P::dilation_w);
        if (reads_anew(kw)) {
          matrix_load_x4(a, x_pair + 16 * (offset_w - kLeastOffsetW));
        }
        multiply_add(acc[phase_w], a, of_pair + kw * kStepWords);  // taps (0 to {kLastRow}, {kw})
      }
      x_pair += 32 * kUnitPixels;
      of_pair += P::kernel_w * kStepWords;
    }
  }
  if (kLastUnit) {
    const unsigned char* x_unit = x + 2 * kPairs * (16 * kUnitPixels);
    const unsigned char* x_taps = x_unit - lane / 16 * (16 * kColumnDistance);
    const unsigned int* of_unit = weights + kPairs * P::kernel_w * kStepWords;
    unsigned int a[4];
    CONVTGEN_UNROLL
    for (int kw = 0; kw < P::kernel_w; ++kw) {
      const int phase_w = phase_of_tap(kw, P::stride_w, P::padding_w, P::dilation_w);
      const int offset_w = offset_of_tap(kw, P::stride_w, P::padding_w, P::dilation_w);
      const int other = kw + kColumnStep;
      if (begins_step(kw)) {
        if (has_partner(kw)) {
          if (pair_reads_anew(kw)) {
            matrix_load_x4(a, x_taps + 16 * (offset_w - kLeastOffsetW));
          }
          if (kPairs == 0) {
            // taps (0 to {kLastRow}, {kw}) (0 to {kLastRow}, {other})
            multiply_add(acc[phase_w], a, of_unit + unit_step(kw) * kStepWords);
          } else {
            // the last 8 channels of kernel columns {kw} and {other}
            multiply_add(acc[phase_w], a, of_unit + unit_step(kw) * kStepWords);
          }
        } else {
          unsigned int alone[2];
          matrix_load_x2(alone, x_unit + 16 * (offset_w - kLeastOffsetW));
          if (kPairs == 0) {
            // taps (0 to {kLastRow}, {kw})
            multiply_add_unit(acc[phase_w], alone, of_unit + unit_step(kw) * kStepWords);
          } else {
            // the last 8 channels of kernel column {kw}
            multiply_add_unit(acc[phase_w], alone, of_unit + unit_step(kw) * kStepWords);
          }
        }
      }
    }
  }
}

// ---- Epilogue ----
#include "device/epilogue.h"

// Puts accumulators to what a warp exchanges: by column phases, positions and channels. `exchange` is the lane's own
// place for its first channels{with bias: ; `bias` are those of these}.
__device__ __forceinline__ void write_exchanged(const Accumulators& acc, Element* __restrict__ exchange,
                                                const Element* __restrict__ bias) {
#pragma unroll
  for (int product = 0; product < P::products; ++product) {
    const Sum low = P::has_bias ? widen(bias[product * kInstructionN]) : 0;
    const Sum high = P::has_bias ? widen(bias[product * kInstructionN + 1]) : 0;
    CONVTGEN_UNROLL
    for (int phase = 0; phase < P::stride_w; ++phase) {
      if (has_taps(phase)) {
        Element* to = exchange + (phase * kInstructionM * kPixelPitch + product * kInstructionN);
        *reinterpret_cast<unsigned int*>(to) =
            pair(epilogue(acc[phase][product][0], low), epilogue(acc[phase][product][1], high));
        *reinterpret_cast<unsigned int*>(to + 8 * kPixelPitch) =
            pair(epilogue(acc[phase][product][2], low), epilogue(acc[phase][product][3], high));
      }
    }
  }
}

// Writes the outputs of phases without taps, which stay, to what a warp exchanges.
__device__ __forceinline__ void write_empty(Element* __restrict__ exchange, const Element* __restrict__ empty,
                                            const int lane) {
  CONVTGEN_UNROLL
  for (int phase = 0; phase < P::stride_w; ++phase) {
    if (!has_taps(phase)) {
#pragma unroll 1
      for (int i = lane; i < kInstructionM * kVectors; i += 32) {
        *reinterpret_cast<uint4*>(exchange +
                                  ((phase * kInstructionM + i / kVectors) * kPixelPitch + i % kVectors * 8)) =
            *reinterpret_cast<const uint4*>(empty + i % kVectors * 8);
      }
    }
  }
}

// Stores a warp's row of outputs, of so many columns of the image: whole vectors. `y` is the first.
__device__ __forceinline__ void store_row(const Element* __restrict__ exchange, Element* __restrict__ y, int columns,
                                          const int lane) {
#pragma unroll 4
  for (int i = lane; i < P::stride_w * kInstructionM * kVectors; i += 32) {
    const int column = i / kVectors;
    const int vector = i % kVectors;
    if (column < columns) {
      const Element* from =
          exchange + ((column % P::stride_w * kInstructionM + column / P::stride_w) * kPixelPitch + vector * 8);
      store_global_16(y + (column * P::y_channels + vector * 8), *reinterpret_cast<const uint4*>(from));
    }
  }
}

// The same of a row phase without taps.
__device__ __forceinline__ void store_empty_row(const Element* __restrict__ empty, Element* __restrict__ y, int columns,
                                                const int lane) {
#pragma unroll 4
  for (int i = lane; i < P::stride_w * kInstructionM * kVectors; i += 32) {
    const int column = i / kVectors;
    const int vector = i % kVectors;
    if (column < columns) {
      store_global_16(y + (column * P::y_channels + vector * 8), *reinterpret_cast<const uint4*>(empty + vector * 8));
    }
  }
}

// ---- Kernel ----

extern "C" __global__ void __launch_bounds__(kThreads, P::blocks_per_sm)
    mma_rows(const Element* __restrict__ x, const Element* __restrict__ weight, const Element* __restrict__ bias,
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

  // Bases are 64-bit; every offset from them fits its type.
  const Element* x_group =
      x + (static_cast<long long>(image) * P::x_channels * (static_cast<long long>(in_h) * in_w) + group * kGroupIn);
  const Element* weight_group =
      weight + static_cast<long long>(group) * (static_cast<long long>(kGroupIn) * kGroupOut * kTaps);
  Element* y_image =
      y + (static_cast<long long>(image) * P::y_channels * (static_cast<long long>(out_h) * out_w) + first_out);

  unsigned char* shared = static_cast<unsigned char*>(shared_memory());
  Element* empty = reinterpret_cast<Element*>(shared + kEmptyOffset);
  stage_input(shared, x_group, tile_y * P::tile_rows + kLeastOffsetH, tile_x * kTileColumns + kLeastOffsetW, in_h,
              in_w);
  stage_weights(reinterpret_cast<Element*>(shared + kWeightOffset), weight_group, first_in_group);
#pragma unroll 1
  for (int channel = threadIdx.x; channel < kTileChannels; channel += kThreads) {
    empty[channel] = narrow(epilogue(0, P::has_bias ? widen(bias[first_out + channel]) : 0));
  }
  async_copy_wait_all();
  if (kActivatesInput) {
    activate_tile(shared, tile_y * P::tile_rows + kLeastOffsetH, tile_x * kTileColumns + kLeastOffsetW, in_h, in_w);
  }
  __syncthreads();  // the tile is staged

  const int warp = threadIdx.x / 32;
  const int lane = threadIdx.x % 32;
  Element* exchange = reinterpret_cast<Element*>(shared + kExchangeOffset) + warp * kExchanged;
  Element* exchange_lane = exchange + (lane / 4 * kPixelPitch + lane % 4 * 2);
  const unsigned int* weight_lane = reinterpret_cast<const unsigned int*>(shared + kWeightOffset) + lane * 2;
  if (kHasEmptyPhases) {
    write_empty(exchange, empty, lane);
  }

#pragma unroll 1
  for (int item = warp; item < P::tile_rows * P::column_tiles; item += P::warps) {
    const int row = item / P::column_tiles;
    const int column = item % P::column_tiles * kInstructionM;
    const int first_column = (tile_x * kTileColumns + column) * P::stride_w;
    const int columns = out_w - first_column;
    const unsigned char* x_lane = shared + 16 * (row * kStagedColumns + column + lane % 16);
#pragma unroll 1
    for (int i = 0; i < P::stride_h; ++i) {
      // The phases of kernel rows 0, 1, ..., which later ones repeat; then those without taps.
      const int y_row = (tile_y * P::tile_rows + row) * P::stride_h + row_phase(i);
      if (columns > 0 && y_row < out_h) {
        Element* to = y_image + (static_cast<Offset>(y_row) * out_w + first_column) * P::y_channels;
        if (i < kTapRows) {
#pragma unroll 1
          for (int part = 0; part < kBlocks; ++part) {
            const int product = part * P::products;
            const int unit = kWholeGroups ? product * kInstructionN / kGroupOut * kUnits : 0;
            Accumulators acc = {};
#pragma unroll 1
            for (int kh = i; kh < P::kernel_h; kh += kTapStep) {
              const int offset_h = offset_of_tap(kh, P::stride_h, P::padding_h, P::dilation_h);
              multiply_row(acc, x_lane + 16 * ((offset_h - kLeastOffsetH) * kStagedColumns + unit * kUnitPixels),
                           weight_lane + (kh * kSteps * kStepWords + product * 64), lane);
            }
            write_exchanged(acc, exchange_lane + product * kInstructionN,
                            bias + (first_out + product * kInstructionN + lane % 4 * 2));
          }
          __syncwarp();  // all lanes have written
          store_row(exchange, to, columns, lane);
          __syncwarp();  // all lanes have read what is written next
        } else {
          store_empty_row(empty, to, columns, lane);
        }
      }
    }
  }
}
