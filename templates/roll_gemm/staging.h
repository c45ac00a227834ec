// Part of the template `roll_gemm`: producers load input to shared memory by bulk copies.
#pragma once

// Staged columns that hold a row of the tile's image{with image:  number `image`}: half-open range [first_of, last_of);
// empty outside the image.
__device__ __forceinline__ int image_column(const Tile& tile, const int image) {
  return image * kImagePitch - tile.column - kFirstColumn;
}
__device__ __forceinline__ int first_of(const Tile& tile, const int image) {
  return max(0, image_column(tile, image));
}
__device__ __forceinline__ int last_of(const Tile& tile, const int image, int batch, const int in_w) {
  return !P::flat || tile.image + image < batch ? min(kStagedColumns, image_column(tile, image) + in_w) : 0;
}

// Whether a tile may have no pixel of an image: images of the sequence, and strips after the last pixel, which output
// padding makes.
constexpr bool kMayBeEmpty = P::flat || P::output_padding_w > P::padding_w;

// Whether some staged column of a tile lies outside its first image.
__device__ __forceinline__ bool has_padding(const Tile& tile, int batch, const int in_w) {
  return first_of(tile, 0) > 0 || last_of(tile, 0, batch, in_w) < kStagedColumns;
}

// Zero padding: clears what no copy writes while the stage belongs to this tile, outside the images and in channels
// that the layer lacks.
__device__ __forceinline__ void zero_pad(Element* to, const Tile& tile, int channels, int thread, int batch,
                                         const int in_w) {
  constexpr int kUnits = (P::channels_last ? P::in_channels : kStagedColumns) / kVector;  // of a pixel or a channel
  for (int i = thread; i < (P::channels_last ? kStagedColumns : P::block_k) * kUnits; i += kProducers) {
    const int channel = P::channels_last ? i % kUnits * kVector : i / kUnits;
    const int column = P::channels_last ? i / kUnits : i % kUnits * kVector;
    bool is_copied = false;
    for (int image = 0; image < kImages; ++image) {
      is_copied = is_copied || (column >= first_of(tile, image) && column < last_of(tile, image, batch, in_w));
    }
    if (!is_copied || (!P::channels_last && P::in_channels % P::block_k != 0 && channel >= channels)) {
      *reinterpret_cast<uint4*>(P::channels_last ? to + column * P::in_channels + channel
                                                 : to + channel * kChannelPitch + column) = make_uint4(0, 0, 0, 0);
    }
  }
}

// Issues a warp's share of a stage: every fourth channel. Each lane issues a copy of its own. One lane announces the
// bytes, which may be after the first of them has arrived. `x` is the tile's first image, at the row and the first
// channel.
__device__ __forceinline__ void copy_channels(Element* to, const Element* __restrict__ x, const Tile& tile,
                                              int channels, int thread, int batch, const int in_h, const int in_w,
                                              unsigned long long* full) {
  const int warp = thread / 32;
  const int lane = thread % 32;
  const int own = (channels - warp + (kProducerWarps - 1)) / kProducerWarps;
  if (lane == 0) {
    int elements = 0;  // of a channel
    for (int image = 0; image < kImages; ++image) {
      elements += max(0, last_of(tile, image, batch, in_w) - first_of(tile, image));
    }
    mbarrier_arrive_expect(full, own * elements * kBytes);
  }
  for (int i = lane; i < own * kImages; i += 32) {
    const int channel = i / kImages * kProducerWarps + warp;
    const int image = i % kImages;
    const int first = first_of(tile, image);
    const int count = last_of(tile, image, batch, in_w) - first;
    if (!kMayBeEmpty || count > 0) {
      const long long plane = static_cast<long long>(in_h) * in_w;
      bulk_load(to + channel * kChannelPitch + first,
                x + image * (P::x_channels * plane) + channel * plane + (first - image_column(tile, image)),
                count * kBytes, full);
    }
  }
}

// The same with channels last, where an image's pixels of a row are one copy: every fourth image is a warp's share. `x`
// is the tile's first image, at the row.
__device__ __forceinline__ void copy_pixels(Element* to, const Element* __restrict__ x, const Tile& tile, int thread,
                                            int batch, const int in_h, const int in_w, unsigned long long* full) {
  const int warp = thread / 32;
  const int lane = thread % 32;
  constexpr int kPixelBytes = P::in_channels * kBytes;
  const int own = (kImages - warp + (kProducerWarps - 1)) / kProducerWarps;
  if (lane == 0) {
    int pixels = 0;
    for (int i = 0; i < own; ++i) {
      const int image = kImages == 1 ? 0 : i * kProducerWarps + warp;
      pixels += max(0, last_of(tile, image, batch, in_w) - first_of(tile, image));
    }
    mbarrier_arrive_expect(full, pixels * kPixelBytes);
  }
  for (int i = lane; i < own; i += 32) {
    const int image = kImages == 1 ? 0 : i * kProducerWarps + warp;
    const int first = first_of(tile, image);
    const int count = last_of(tile, image, batch, in_w) - first;
    if (!kMayBeEmpty || count > 0) {
      const long long pixel = image * static_cast<long long>(in_h) * in_w + (first - image_column(tile, image));
      bulk_load(to + first * P::in_channels, x + pixel * P::in_channels, count * kPixelBytes, full);
    }
  }
}
