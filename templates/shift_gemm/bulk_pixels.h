// Pixels come to shared memory by bulk copies, with channels last.
#pragma once

#include "device/barrier.h"
#include "device/tensor_copy.h"
#include "layout.h"

// Adjacent pixels of a row that one copy brings: a group where its channels are adjacent in memory too.
constexpr int kCopyPixels =
    P::groups == 1 && P::block_k == P::in_channels && P::x_channels == P::in_channels ? kThreadColumns : 1;
constexpr int kPixelCopies = kPlane / kCopyPixels;
constexpr int kPixelCopyBytes = kCopyPixels * P::block_k * kBytes;  // of one bulk copy

// Issues the copies of the pixels' channels of a k-block. Threads write zeros where the image, the batch or the
// channels end. `full` counts the bytes, and each warp.
__device__ __forceinline__ void stage_bulk_pixels(Element* to, const Element* __restrict__ x, int first_channel,
                                                  int first_row, int first_column, int thread, int images,
                                                  unsigned long long* full, const int in_h, const int in_w) {
  const int channels =
      P::in_channels % P::block_k == 0 ? P::block_k : min(P::in_channels - first_channel, static_cast<int>(P::block_k));
  // Lanes of a warp issue one after the other, so all warps take part.
  for (int first = 0; first < kPixelCopies; first += kProducers) {
    const int copy = first + thread % 32 * (kProducers / 32) + thread / 32;
    const int pixel = copy * kCopyPixels;
    const int image = pixel / kImagePlane;
    const int iy = first_row + pixel / kStagedColumns % kStagedRows * P::input_stride_h;
    const int ix = first_column + pixel % kStagedColumns;
    const bool exists = kPixelCopies % kProducers == 0 || copy < kPixelCopies;
    const bool inside = exists && (P::tile_n == 1 || image < images) && iy >= 0 && iy < in_h;
    const int begin = inside ? max(ix, 0) : 0;
    const int end = inside ? min(ix + kCopyPixels, in_w) : 0;
    const bool is_whole = end - begin == kCopyPixels && channels == P::block_k;
    Element* staged = to + staged_group(pixel) + staged_in_group(pixel);
    const int whole = __popc(__ballot_sync(0xffffffffu, is_whole));
    if (thread % 32 == 0) {
      mbarrier_expect(full, whole * kPixelCopyBytes);
    }
    if (begin < end) {
      const int bytes = is_whole ? kPixelCopyBytes : (end - begin) * channels * kBytes;
      if (!is_whole) {
        mbarrier_expect(full, bytes);
      }
      bulk_load(staged + (begin - ix) * P::block_k,
                x + ((static_cast<long long>(image) * in_h + iy) * in_w + begin) * kInChannels + first_channel, bytes,
                full);
    }
    if (exists && !is_whole) {
      for (int i = 0; i < kCopyPixels * P::block_k; i += kVector) {
        const int column = ix + i / P::block_k;
        if (column < begin || column >= end || i % P::block_k >= channels) {
          *reinterpret_cast<uint4*>(staged + i) = make_uint4(0, 0, 0, 0);
        }
      }
      fence_proxy_async();  // orders these writes before the next bulk copy to this place
    }
  }
  __syncwarp();
  if (thread % 32 == 0) {
    mbarrier_arrive(full);
  }
}
