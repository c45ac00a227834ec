// Part of the template `shift_gemm`, which uses what stands above its line there: how pixels come by bulk copies, with
// channels last.
#pragma once

// Adjacent pixels of a row that one copy brings: a run where its channels follow one another in memory too.
constexpr int kPiecePixels = P::chunk == kInChannels ? P::run : 1;
constexpr int kPieceCount = kPlane / kPiecePixels;
constexpr int kPixelPieceBytes = kPiecePixels * P::chunk * kBytes;

// Asks for a chunk of the pixels' channels. Zeros where the image, the batch or the channels end are written by
// threads. The chunk's barrier counts the bytes and a warp as one.
__device__ __forceinline__ void stage_pieces(Element* to, const Element* __restrict__ x, int first_channel,
                                             int first_row, int first_column, int thread, int images,
                                             unsigned long long* full, const int in_h, const int in_w) {
  constexpr int kStore = 16 / kBytes;  // elements
  const int channels =
      P::in_channels % P::chunk == 0 ? P::chunk : min(P::in_channels - first_channel, static_cast<int>(P::chunk));
  // A warp asks for one copy after the other: so all warps do.
  for (int first = 0; first < kPieceCount; first += kProducers) {
    const int piece = first + thread % 32 * (kProducers / 32) + thread / 32;
    const int pixel = piece * kPiecePixels;
    const int image = pixel / kImagePlane;
    const int iy = first_row + pixel / kStagedColumns % kStagedRows;
    const int ix = first_column + pixel % kStagedColumns;
    const bool exists = kPieceCount % kProducers == 0 || piece < kPieceCount;
    const bool inside = exists && (P::tile_n == 1 || image < images) && iy >= 0 && iy < in_h;
    const int begin = inside ? max(ix, 0) : 0;
    const int end = inside ? min(ix + kPiecePixels, in_w) : 0;
    const bool is_whole = end - begin == kPiecePixels && channels == P::chunk;
    Element* staged = to + pixel / P::run * kRunPitch + pixel % P::run * P::chunk;
    const int whole = __popc(__ballot_sync(0xffffffffu, is_whole));
    if (thread % 32 == 0) {
      mbarrier_expect(full, whole * kPixelPieceBytes);
    }
    if (begin < end) {
      const int bytes = is_whole ? kPixelPieceBytes : (end - begin) * channels * kBytes;
      if (!is_whole) {
        mbarrier_expect(full, bytes);
      }
      bulk_load(staged + (begin - ix) * P::chunk,
                x + ((static_cast<long long>(image) * in_h + iy) * in_w + begin) * kInChannels + first_channel, bytes,
                full);
    }
    if (exists && !is_whole) {
      for (int i = 0; i < kPiecePixels * P::chunk; i += kStore) {
        const int column = ix + i / P::chunk;
        if (column < begin || column >= end || i % P::chunk >= channels) {
          *reinterpret_cast<uint4*>(staged + i) = make_uint4(0, 0, 0, 0);
        }
      }
      fence_proxy_async();  // the next bulk copy to this place comes behind it
    }
  }
  __syncwarp();
  if (thread % 32 == 0) {
    mbarrier_arrive(full);
  }
}
