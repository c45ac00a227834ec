// Rows come to shared memory by bulk copies, with channels first. A copy is whole 16-byte vectors.
//
// Where rows are not whole vectors (kSkewed), a row of 32-bit elements begins anywhere in a vector. Then the copy takes
// all vectors that the row touches, and the staged row begins with up to three elements of what lies before it: its
// skew. Its elements outside the image are read as zero.
// Needs: ceil_div(), Element, kBytes, kChannelPitch, kConsumers, kInChannels, kProducers, kRowPitch, kRows, kSkewed,
//   kStagedColumns, kStagedRows, kVector, P
#pragma once

#include "device/barrier.h"
#include "device/tensor_copy.h"
#include "layout.h"

constexpr bool kByRows = P::bulk && !P::channels_last;

// Where in a 16-byte vector the element lies that is `offset` elements after `x`.
__device__ __forceinline__ int place_in_vector(const Element* __restrict__ x, long long offset) {
  return static_cast<int>((reinterpret_cast<unsigned long long>(x) / kBytes + offset) % kVector);
}

// A producer copies one row of an image in some channels, kRowChannels apart. Every fourth channel has the same skew,
// so only the source address differs between a producer's copies of a tile, in all of its k-blocks. Staged rows are
// input_stride_h apart in the image.
//
// Lanes of a warp issue one after the other, so all warps take part. Where the copies of a warp are alike, one lane
// issues all of them, which is quicker (kByWarps): channels have one row in a tile; or there is one image, where a warp
// has one row in kRowWarps.
constexpr int kImageRows = P::tile_n * kStagedRows;  // of a channel
constexpr bool kByWarps = kByRows && (kImageRows == 1 || (!kSkewed && P::tile_n == 1 && kImageRows <= 16));
constexpr int kRowWarps = kProducers / 32;
constexpr int kRowWarpsStep = kRowWarps * P::input_stride_h;  // from a warp's row to its next one, in the image
constexpr int kWarpRows = kByWarps ? ceil_div(kImageRows, kRowWarps) : 1;
constexpr int kRowArrivals = kByWarps ? kRowWarps : kProducers;
constexpr int kMostRowChannels = kSkewed                                 ? kRowArrivals / kImageRows / 4 * 4
                                 : kByWarps && kImageRows > kRowArrivals ? 1
                                                                         : kRowArrivals / kImageRows;
constexpr int kRowChannels = !kByRows || kMostRowChannels >= P::block_k ? P::block_k : kMostRowChannels;
static_assert(!kByRows || kMostRowChannels > 0, "there is a producer for each row");
constexpr int kRounds = ceil_div(P::block_k, kRowChannels);
constexpr bool kWholeRounds = P::in_channels % P::block_k == 0 && P::block_k % kRowChannels == 0;
constexpr bool kHasSpare = kRowChannels * kImageRows < kRowArrivals;  // producers without a row

// The number of a producer, or of its warp, that copies rows.
__device__ inline int row_producer(int warp, int thread) {
  return kByWarps ? warp - kConsumers / 32 : thread % 32 * (kProducers / 32) + thread / 32;
}

// What a producer copies in its first channel: `from` in the next k-block, `to` this offset in a stage, `bytes` (0: no
// part of the row is in the image){with rows: , of `rows` where a warp has several}.
//
// `to` counts elements. With `at_end` a vector of the row, in some channel, may lie partly outside x.
struct Copy {
  int channel;
  const Element* from;
  int to;
  int bytes;
  bool at_end;
  int rows;
};

// Finds the copies of a tile of the producer, or the warp, of this number.
//
// `x` is the whole input, of `batch` images; the tile's first is `first_image`.
__device__ __forceinline__ Copy find_copy(const Element* __restrict__ x, int first_image, int first_channel,
                                          int first_row, int first_column, int producer, int batch, const int in_h,
                                          const int in_w) {
  const int channel = producer / kImageRows;
  const int row = producer % kStagedRows;
  const int image = producer / kStagedRows % P::tile_n;
  const int above = kWarpRows == 1 ? 0
                                   : max(0, kRowWarpsStep - 1 - first_row - row * P::input_stride_h) /
                                         kRowWarpsStep;  // rows of a warp
  const int iy = first_row + row * P::input_stride_h + kRowWarpsStep * above;
  // The staged columns of the image, and their vectors, relative to the first one, which is at `start` in channel 0.
  const int begin = max(first_column, 0) - first_column;
  const int end = min(first_column + kStagedColumns, in_w) - first_column;
  const long long plane = static_cast<long long>(in_h) * in_w;
  const long long start = static_cast<long long>(first_image + image) * kInChannels * plane +
                          static_cast<long long>(iy) * in_w + first_column;
  const int skew =
      kSkewed ? place_in_vector(x, start + (P::groups == 1 ? channel : first_channel + channel) * plane) : 0;
  const int head = kSkewed ? (skew + begin) / kVector * kVector : begin;
  const int tail = kSkewed ? (skew + end + (kVector - 1)) / kVector * kVector : end;
  const bool is_copied = (!kHasSpare || channel < kRowChannels) && (P::tile_n == 1 || first_image + image < batch) &&
                         iy >= 0 && iy < in_h && begin < end;
  const bool at_end = kSkewed && is_copied &&
                      (start + begin < kVector - 1 || start + (kInChannels - 1) * plane + end + (kVector - 1) >
                                                          static_cast<long long>(batch) * kInChannels * plane);
  const int rows =
      kWarpRows == 1 ? 1
      : is_copied ? (min(first_row + kStagedRows * P::input_stride_h, in_h) - iy + (kRowWarpsStep - 1)) / kRowWarpsStep
                  : 0;
  return {channel,
          x + (start - skew + head + (first_channel + channel) * plane),
          channel * kChannelPitch + (image * kStagedRows + row + kRowWarps * above) * kRowPitch + head,
          is_copied ? (tail - head) * kBytes : 0,
          at_end,
          rows};
}

// Issues a producer's copy of a row in the channel of a round.
__device__ __forceinline__ void copy_row(Element* to, const Copy& copy, const int row, const int round,
                                         unsigned long long* full, long long plane, const int in_w) {
  bulk_load(to + copy.to + (row * kRowWarps * kRowPitch + round * kRowChannels * kChannelPitch),
            copy.from + (row * (static_cast<long long>(kRowWarpsStep) * in_w) + round * kRowChannels * plane),
            copy.bytes, full);
}

// Issues a producer's copies of a k-block. {with channels: The layer has so many `channels` of it.}
//
// `full` counts the bytes, and each producer.
__device__ __forceinline__ void copy_rows(Element* to, const Copy& copy, int channels, unsigned long long* full,
                                          long long plane, const int in_w) {
  const int own = kWholeRounds ? kRounds : max(0, channels - copy.channel + (kRowChannels - 1)) / kRowChannels;
  mbarrier_arrive_expect(full, own * (kWarpRows == 1 ? 1 : copy.rows) * copy.bytes);
  if (kWarpRows > 1 || copy.bytes != 0) {
#pragma unroll 1
    for (int row = 0; row < (kWarpRows == 1 ? 1 : copy.rows); ++row) {
      if (kWholeRounds || own == kRounds) {
#pragma unroll 16
        for (int round = 0; round < kRounds; ++round) {
          copy_row(to, copy, row, round, full, plane, in_w);
        }
      } else {
        // Of a part of a k-block. With a condition for each of many copies, their addresses would be spilled.
#pragma unroll 1
        for (int round = 0; round < own; ++round) {
          copy_row(to, copy, row, round, full, plane, in_w);
        }
      }
    }
  }
}

// Whether a tile has rows or columns outside the image, which no copy writes.
__device__ inline bool needs_zero_pad(int first_row, int first_column, int images, const int in_h, const int in_w) {
  return kByRows && (first_row < 0 || first_row + ((kStagedRows - 1) * P::input_stride_h + 1) > in_h ||
                     (P::tile_n > 1 && images < P::tile_n) ||
                     (!kSkewed && (first_column < 0 || first_column + kStagedColumns > in_w)));
}

// Writes zeros to the rows and columns of a stage outside the image, and to channels beyond the layer's.
//
// No copy writes there. A tile does so in the first use of each stage, which may hold another tile's values there.
__device__ __forceinline__ void zero_pad(Element* to, int channels, int first_row, int first_column, int thread,
                                         int images, const int in_h, const int in_w) {
  constexpr int kRows = P::block_k * kImageRows;
  constexpr int kRowThreads = kRows <= 16 ? 8 : kRows <= 32 ? 4 : kRows <= 64 ? 2 : 1;
  for (int i = thread / kRowThreads; i < kRows; i += kProducers / kRowThreads) {
    const int iy = first_row + i % kStagedRows * P::input_stride_h;
    const int image = i / kStagedRows % P::tile_n;
    const bool is_copied = (P::in_channels % P::block_k == 0 || i / kImageRows < channels) &&
                           (P::tile_n == 1 || image < images) && iy >= 0 && iy < in_h;
    Element* staged = to + i / kImageRows * kChannelPitch + i % kImageRows * kRowPitch;
    for (int column = kSkewed && is_copied ? kRowPitch : thread % kRowThreads * kVector; column < kRowPitch;
         column += kRowThreads * kVector) {
      const int ix = first_column + column;
      if (kSkewed || !is_copied || ix < 0 || ix >= in_w) {
        *reinterpret_cast<uint4*>(staged + column) = make_uint4(0, 0, 0, 0);
      }
    }
  }
  fence_proxy_async();  // orders these writes before the next bulk copies to these places
  if (kByWarps) {
    __syncwarp();  // one lane arrives for all
  }
}
