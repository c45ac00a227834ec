// Part of the template `shift_gemm`, which uses what stands above its line there: bulk copies of rows that are no whole
// pieces of 16 bytes, of 32-bit elements. A copy takes the whole pieces that a row touches, so a staged row begins with
// up to three elements of what lies before it, its skew; what its last piece has behind it is read as zero.
#pragma once

constexpr int kPiece = 16 / kBytes;  // elements

// Where in a piece an element lies that is so many behind the one at `x`, or before it.
__device__ __forceinline__ int place_in_piece(const Element* __restrict__ x, long long offset) {
  return static_cast<int>((reinterpret_cast<unsigned long long>(x) / kBytes + offset) % kPiece);
}

// The same as stage_rows(). `x` is the whole input, of `batch` images, of which the tile's first is `first_image`.
// Elements at the beginning and the end of x whose piece is not its alone are brought one by one.
__device__ __forceinline__ void stage_skewed_rows(Element* to, const Element* __restrict__ x, int first_image,
                                                  int first_channel, int first_row, int first_column, int thread,
                                                  int batch, unsigned long long* full, const int in_h, const int in_w) {
  const int begin = max(first_column, 0) - first_column;
  const int end = min(first_column + kStagedColumns, in_w) - first_column;
  const long long count = static_cast<long long>(batch) * P::in_channels * in_h * in_w;
  // A warp asks for one copy after the other: so all warps do.
  for (int i = thread % 32 * (kProducers / 32) + thread / 32; i < P::chunk * P::tile_n * kStagedRows; i += kProducers) {
    const int row = i % kStagedRows;
    const int image = i / kStagedRows % P::tile_n;
    const int channel = i / (kStagedRows * P::tile_n);
    const int ci = first_channel + channel;
    const int iy = first_row + row;
    const bool inside = (P::in_channels % P::chunk == 0 || ci < P::in_channels) &&
                        (P::tile_n == 1 || first_image + image < batch) && iy >= 0 && iy < in_h;
    // What the staged row begins with, in x and in its piece; the staged elements that are of the image, and the pieces
    // of them that a copy brings.
    const long long start =
        ((static_cast<long long>(first_image + image) * P::in_channels + ci) * in_h + iy) * in_w + first_column;
    const int skew = place_in_piece(x, start);
    Element* staged = to + channel * kChannelPitch + (image * kStagedRows + row) * kRowPitch;
    const int first = inside ? skew + begin : 0;
    const int last = inside ? skew + end : 0;
    const int head = first / kPiece * kPiece;
    const int tail = (last + (kPiece - 1)) / kPiece * kPiece;
    const int from = head + (start - skew + head < 0 ? kPiece : 0);
    const int until = tail - (start - skew + tail > count ? kPiece : 0);
    if (from < until) {
      mbarrier_expect(full, (until - from) * kBytes);
      bulk_load(staged + from, x + (start - skew + from), (until - from) * kBytes, full);
    }
    const bool is_whole = last - first == kStagedColumns && from == head && until == tail;
    if (!is_whole) {
      for (int column = 0; column < kRowPitch; column += kPiece) {
        if (column < from || column >= until) {
          *reinterpret_cast<uint4*>(staged + column) = make_uint4(0, 0, 0, 0);
        }
      }
      for (int column = first; column < last; ++column) {
        if (column < from || column >= until) {
          staged[column] = x[start - skew + column];
        }
      }
      fence_proxy_async();  // the next bulk copy to this place comes behind it
    }
  }
  mbarrier_arrive(full);
}
