// Gradient of the input by definition, which is a strided convolution of grad_y: FMA arithmetic, rows of grad_y and
// weights in shared memory.
//
// A block computes a tile of input positions, for some input channels of one group. The gradient at (iy, ix) adds up,
// over output channels and taps (kh, kw), grad_y at iy * stride - padding + kh * dilation (and as much along the row)
// times the tap's weight. With three axes the tile is of one plane of the input, and the same is done for each depth
// tap.
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
constexpr int kChannelTiles = ceil_div(kGroupIn, kTileChannels);  // of one group
constexpr bool kWholeTiles = kGroupIn % kTileChannels == 0;       // no channel tile is ragged
constexpr bool kWholeKBlocks = kGroupOut % P::block_k == 0;

// Taps are statements of their own where there are not too many for a source of readable length; else loops.
constexpr bool kUnrolled = kTaps <= 256;
constexpr int kWrittenTaps = kUnrolled ? kTaps : 1;

// The window of grad_y that a tile reads.
constexpr int kStagedRows = (kTileRows - 1) * P::stride_h + P::dilation_h * (P::kernel_h - 1) + 1;
constexpr int kStagedColumns = (kTileColumns - 1) * P::stride_w + P::dilation_w * (P::kernel_w - 1) + 1;
constexpr int kPitch = ceil_div(kStagedColumns, 4) * 4;

// Asynchronous copies of a k-block run during the products of the one before, which lies in the other buffer.
constexpr int kBuffers = P::asynchronous && kGroupOut > P::block_k ? 2 : 1;

// Shared memory: of one staged output channel with its weights, and of a block, whose buffers are struct Stage.
constexpr long long kChannelBytes =
    P::staged ? static_cast<long long>(sizeof(Sum)) *
                    (static_cast<long long>(kStagedRows) * kPitch + static_cast<long long>(kTaps) * kTileChannels)
              : 0;
constexpr long long kSharedBytes = kBuffers * (P::block_k * kChannelBytes);

// Places that a thread stages at a time: more would spill where it has many accumulators.
constexpr int kPlacesOfThread = P::channels_per_thread * P::rows_per_thread * P::columns_per_thread <= 32 ? 8 : 3;

static_assert(P::in_channels % P::groups == 0 && P::out_channels % P::groups == 0, "groups divide the channels");
static_assert(kThreads % 32 == 0 && kThreads <= 1024, "a block is whole warps");

// ---- Elements ----
#include "device/scalar.h"

// ---- Staging ----
#include "device/stage_element.h"

struct Stage {
  Sum rows[P::block_k][kStagedRows][kPitch];
  Sum weights[P::block_k][kTaps][kTileChannels];
};

// One place of stage_rows().
__device__ __forceinline__ void stage_pixel(Stage& stage, int i, const Element* __restrict__ grad_y, int first_channel,
                                            int first_row, const int first_column, const int out_d, const int out_h,
                                            const int out_w) {
  // Adjacent threads read adjacent memory.
  const int channel = P::channels_last ? i % P::block_k : i / (kStagedRows * kStagedColumns);
  const int row = P::channels_last ? i / (P::block_k * kStagedColumns) : i / kStagedColumns % kStagedRows;
  const int column = P::channels_last ? i / P::block_k % kStagedColumns : i % kStagedColumns;
  const int co = first_channel + channel;
  const int oy = first_row + row;
  const int ox = first_column + column;
  const bool is_inside = (kWholeKBlocks || co < kGroupOut) && (P::padding_h == 0 || oy >= 0) && oy < out_h &&
                         (P::padding_w == 0 || ox >= 0) && ox < out_w;  // else zero
  const Element* from = P::channels_last ? grad_y + ((static_cast<Offset>(oy) * out_w + ox) * P::y_channels + co)
                                         : grad_y + ((static_cast<Offset>(co) * out_d * out_h + oy) * out_w + ox);
  stage_element(&stage.rows[channel][row][column], from, is_inside, grad_y);
}

// One place of stage_weights().
__device__ __forceinline__ void stage_weight(Stage& stage, int i, const Element* __restrict__ weight, int first_channel,
                                             const int first_in, const int kd) {
  const int tap = P::weight_channels_last ? i / P::block_k % kTaps : i % kTaps;
  const int k_channel = P::weight_channels_last ? i % P::block_k : i / kTaps % P::block_k;
  const int channel = i / (kTaps * P::block_k);
  const int co = first_channel + k_channel;
  const int ci = first_in + channel;
  const bool is_there = (kWholeKBlocks || co < kGroupOut) && (kWholeTiles || ci < kGroupIn);  // else zero
  stage_element(&stage.weights[k_channel][tap][channel],
                weight + depth_weight_offset(static_cast<WeightIndex>(ci), co, kd, tap, kGroupOut, P::kernel_d, kTaps),
                is_there, weight);
}

#include "scalar/staging.h"

// Copies a k-block of output channels with its weights to a buffer. The arguments are those of the functions above.
__device__ __forceinline__ void stage_k_block(Stage& stage, const Element* __restrict__ grad_y,
                                              const Element* __restrict__ weight, int first_channel, const int first_in,
                                              const int kd, int first_row, const int first_column, const int out_d,
                                              const int out_h, const int out_w) {
  stage_rows(stage, grad_y, first_channel, first_row, first_column, out_d, out_h, out_w);
  stage_weights(stage, weight, first_channel, first_in, kd);
}

// ---- Products ----

// One thread's accumulators.
using Accumulators = Sum[P::channels_per_thread][P::rows_per_thread][P::columns_per_thread];

// One tap: every stride-th element of a staged rectangle times one weight for each channel.
__device__ __forceinline__ void multiply_add(Accumulators& acc, const Sum* grad_y, const Sum* weights) {
#pragma unroll
  for (int channel = 0; channel < P::channels_per_thread; ++channel) {
#pragma unroll
    for (int row = 0; row < P::rows_per_thread; ++row) {
#pragma unroll
      for (int column = 0; column < P::columns_per_thread; ++column) {
        acc[channel][row][column] = fma(grad_y[row * (P::stride_h * kPitch) + column * P::stride_w], weights[channel],
                                        acc[channel][row][column]);
      }
    }
  }
}

// One tap of one output channel whose rows are not staged: every read is checked against the image.
// `grad_y` is the channel's first element, (oy, ox) what the tap reads for the thread's first position.
__device__ __forceinline__ void multiply_add_unstaged(Accumulators& acc, const Element* __restrict__ grad_y, int oy,
                                                      int ox, const int out_h, const int out_w,
                                                      const Element* __restrict__ weights, const int channels) {
#pragma unroll
  for (int row = 0; row < P::rows_per_thread; ++row) {
#pragma unroll
    for (int column = 0; column < P::columns_per_thread; ++column) {
      const int y_out = oy + row * P::stride_h;
      const int x_out = ox + column * P::stride_w;
      if (y_out >= 0 && y_out < out_h && x_out >= 0 && x_out < out_w) {
        const Sum value =
            widen(grad_y[(static_cast<Offset>(y_out) * out_w + x_out) * (P::channels_last ? P::y_channels : 1)]);
#pragma unroll
        for (int channel = 0; channel < P::channels_per_thread; ++channel) {
          if (kWholeTiles || channel < channels) {
            acc[channel][row][column] = fma(value,
                                            widen(weights[depth_weight_offset(static_cast<WeightIndex>(channel), 0, 0,
                                                                              0, kGroupOut, P::kernel_d, kTaps)]),
                                            acc[channel][row][column]);
          }
        }
      }
    }
  }
}

// ---- Epilogue ----

// Stores what a thread made. `grad_x` is the image, ci the first channel, (iy, ix) the first position.
__device__ __forceinline__ void store(const Accumulators& acc, Element* __restrict__ grad_x, int ci, const int channels,
                                      int iy, int ix, const int in_d, const int in_h, const int in_w) {
#pragma unroll
  for (int channel = 0; channel < P::channels_per_thread; ++channel) {
    if (kWholeTiles || channel < channels) {
#pragma unroll
      for (int row = 0; row < P::rows_per_thread; ++row) {
#pragma unroll
        for (int column = 0; column < P::columns_per_thread; ++column) {
          const int in_row = iy + row;
          const int in_column = ix + column;
          if (((P::height >= 0 && in_h % kTileRows == 0) || in_row < in_h) &&
              ((P::width >= 0 && in_w % kTileColumns == 0) || in_column < in_w)) {
            const Element value = narrow(acc[channel][row][column]);
            if (P::channels_last) {
              grad_x[(static_cast<Offset>(in_row) * in_w + in_column) * P::x_channels + ci + channel] = value;
            } else {
              grad_x[(static_cast<Offset>(ci + channel) * in_d * in_h + in_row) * in_w + in_column] = value;
            }
          }
        }
      }
    }
  }
}

// ---- Kernel ----

extern "C" __global__ void __launch_bounds__(kThreads, P::blocks_per_sm)
    direct_grad_input(const Element* __restrict__ grad_y, const Element* __restrict__ weight,
                      Element* __restrict__ grad_x, int depth, int height, int width) {
  const int in_d = input_depth(depth);
  const int in_h = input_rows(height);
  const int in_w = input_columns(width);
  const int out_d = output_depth(in_d);
  const int out_h = output_rows(in_h);
  const int out_w = output_columns(in_w);
  const int tiles_y = (in_h + (kTileRows - 1)) / kTileRows;
  const int tiles_x = (in_w + (kTileColumns - 1)) / kTileColumns;

  // The block's place: channels vary fastest, so that blocks which read the same part of grad_y run together.
  const unsigned int block = blockIdx.x;  // unsigned: its parts are shifts and masks
  const int channel_tile = block % (P::groups * kChannelTiles);
  const unsigned int tile = block / (P::groups * kChannelTiles);
  const int tile_x = tile % tiles_x;
  const int tile_y = tile / tiles_x % tiles_y;
  const int image = tile / tiles_x / tiles_y / in_d;
  const int iz = tile / tiles_x / tiles_y % in_d;
  const int group = P::groups == 1 ? 0 : channel_tile / kChannelTiles;

  // The thread's place in the block: first column and row of its positions, first of its channels.
  const int thread = threadIdx.x;
  const int column = thread % P::threads_x * P::columns_per_thread;
  const int row = thread / P::threads_x % P::threads_y * P::rows_per_thread;
  const int channel = thread / (P::threads_x * P::threads_y) * P::channels_per_thread;
  const int first_in = (P::groups == 1 ? channel_tile : channel_tile % kChannelTiles) * kTileChannels;
  const int iy = tile_y * kTileRows + row;
  const int ix = tile_x * kTileColumns + column;
  const int channels = kWholeTiles ? P::channels_per_thread : kGroupIn - (first_in + channel);

  // Bases are 64-bit; every offset from them fits its type.
  const long long in_pixels = static_cast<long long>(in_h) * in_w * in_d;
  const long long out_pixels = static_cast<long long>(out_h) * out_w * out_d;
  const long long image_channel = static_cast<long long>(image) * P::y_channels;
  const Element* y_group = grad_y + (P::channels_last ? image_channel * out_pixels + group * kGroupOut
                                                      : (image_channel + group * kGroupOut) * out_pixels);
  const Element* weight_group =
      weight + static_cast<long long>(group) * (static_cast<long long>(kGroupIn) * kGroupOut * kTaps * P::kernel_d);
  Element* x_image = grad_x + static_cast<long long>(image) * P::x_channels * in_pixels +
                     static_cast<long long>(iz) * in_h * in_w * (P::channels_last ? P::x_channels : 1);

  Accumulators acc = {};
  Stage* stages = static_cast<Stage*>(shared_memory());
  const int first_row = tile_y * kTileRows * P::stride_h - P::padding_h;
  const int first_column = tile_x * kTileColumns * P::stride_w - P::padding_w;
  for (int kd = 0; kd < P::kernel_d; ++kd) {
    const int oz = iz * P::stride_d + (P::dilation_d * kd - P::padding_d);
    if (oz >= 0 && oz < out_d) {
      const Element* y_plane =
          y_group + static_cast<long long>(oz) * out_h * out_w * (P::channels_last ? P::y_channels : 1);
      if (P::staged && P::asynchronous) {
        if (P::kernel_d > 1) {
          __syncthreads();  // all threads have read the depth tap before
        }
        stage_k_block(stages[0], y_plane, weight_group, 0, first_in, kd, first_row, first_column, out_d, out_h, out_w);
      }
      for (int first_out = 0; first_out < kGroupOut; first_out += P::block_k) {
        Stage& stage = stages[first_out / P::block_k % kBuffers];
        if (P::staged && P::asynchronous) {
          async_copy_wait_all();
          __syncthreads();  // the k-block is staged, and all threads have read the one before
          if (kBuffers > 1 && first_out + P::block_k < kGroupOut) {
            stage_k_block(stages[(first_out / P::block_k + 1) % kBuffers], y_plane, weight_group,
                          first_out + P::block_k, first_in, kd, first_row, first_column, out_d, out_h, out_w);
          }
        } else if (P::staged) {
          __syncthreads();  // all threads have read the k-block before
          stage_k_block(stage, y_plane, weight_group, first_out, first_in, kd, first_row, first_column, out_d, out_h,
                        out_w);
          __syncthreads();  // the k-block is staged
        }
#pragma unroll 1
        for (int c = 0; c < P::block_k; ++c) {
          if (kUnrolled) {
            CONVTGEN_UNROLL
            for (int kh = 0; kh < P::kernel_h; ++kh) {
              CONVTGEN_UNROLL
              for (int kw = 0; kw < P::kernel_w; ++kw) {
                const int tap = kh * P::kernel_w + kw;
                if (P::staged) {
                  multiply_add(
                      acc,
                      &stage.rows[c][row * P::stride_h + P::dilation_h * kh][column * P::stride_w + P::dilation_w * kw],
                      &stage.weights[c][tap][channel]);  // tap ({kh}, {kw})
                } else {
                  multiply_add_unstaged(
                      acc, y_plane + (first_out + c) * (P::channels_last ? 1 : out_pixels),
                      iy * P::stride_h + (P::dilation_h * kh - P::padding_h),
                      ix * P::stride_w + (P::dilation_w * kw - P::padding_w), out_h, out_w,
                      weight_group + depth_weight_offset(static_cast<WeightIndex>(first_in + channel), first_out + c,
                                                         kd, tap, kGroupOut, P::kernel_d, kTaps),
                      channels);  // tap ({kh}, {kw})
                }
              }
            }
          } else {
#pragma unroll 1
            for (int kh = 0; kh < P::kernel_h; ++kh) {
#pragma unroll 4
              for (int kw = 0; kw < P::kernel_w; ++kw) {
                const int tap = kh * P::kernel_w + kw;
                if (P::staged) {
                  multiply_add(
                      acc,
                      &stage.rows[c][row * P::stride_h + P::dilation_h * kh][column * P::stride_w + P::dilation_w * kw],
                      &stage.weights[c][tap][channel]);
                } else {
                  multiply_add_unstaged(
                      acc, y_plane + (first_out + c) * (P::channels_last ? 1 : out_pixels),
                      iy * P::stride_h + (P::dilation_h * kh - P::padding_h),
                      ix * P::stride_w + (P::dilation_w * kw - P::padding_w), out_h, out_w,
                      weight_group + depth_weight_offset(static_cast<WeightIndex>(first_in + channel), first_out + c,
                                                         kd, tap, kGroupOut, P::kernel_d, kTaps),
                      channels);
                }
              }
            }
          }
        }
      }
    }
  }
  store(acc, x_image, group * kGroupIn + first_in + channel, channels, iy, ix, in_d, in_h, in_w);
}
