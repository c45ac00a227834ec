// Part of the template `shift_gemm`, which uses what stands above its line there: how rows come by bulk copies, with
// channels first. Copies are whole pieces of 16 bytes. A row of 32-bit elements may begin anywhere in one: then the
// copy takes all pieces that it touches, and the staged row begins with up to three elements of what lies before it,
// its skew. Its elements beside the image are read as zero.
#pragma once

constexpr bool kByRows = P::bulk && !P::channels_last;
constexpr int kPiece = 16 / kBytes;  // elements

// Where in a piece an element lies that is so many behind the one at `x`, or before it.
__device__ __forceinline__ int place_in_piece(const Element* __restrict__ x, long long offset) {
  return static_cast<int>((reinterpret_cast<unsigned long long>(x) / kBytes + offset) % kPiece);
}

// A producer has one row of an image in some channels, kRowChannels apart. Every fourth channel has the same skew, so
// all that differs between a producer's copies of a tile, in all of its chunks, is where they come from. A warp's lanes
// ask one after the other, so all warps do. Where a warp's copies are alike, one lane asks for all of them, which is
// quicker: where channels have one row in a tile, and of one image, where a warp has one row in kRowWarps.
constexpr int kImageRows = P::tile_n * kStagedRows;  // of a channel
constexpr bool kByWarps = kByRows && (kImageRows == 1 || (!kSkewed && P::tile_n == 1 && kImageRows <= 16));
constexpr int kRowWarps = kProducers / 32;
constexpr int kWarpRows = kByWarps ? ceil_div(kImageRows, kRowWarps) : 1;
constexpr int kRowArrivals = kByWarps ? kRowWarps : kProducers;
constexpr int kMostRowChannels = kSkewed                                 ? kRowArrivals / kImageRows / 4 * 4
                                 : kByWarps && kImageRows > kRowArrivals ? 1
                                                                         : kRowArrivals / kImageRows;
constexpr int kRowChannels = !kByRows || kMostRowChannels >= P::chunk ? P::chunk : kMostRowChannels;
static_assert(!kByRows || kMostRowChannels > 0, "there is a producer for each row");
constexpr int kRounds = ceil_div(P::chunk, kRowChannels);
constexpr bool kWholeRounds = P::in_channels % P::chunk == 0 && P::chunk % kRowChannels == 0;
constexpr bool kHasSpare = kRowChannels * kImageRows < kRowArrivals;  // producers

// What a producer copies in its first channel: `from` in the next chunk, `to` so far into a stage, `bytes` (0: none of
// the row is in the image), of `rows` where a warp has several.
//
// `to` counts elements. `at_end` of x a piece of the row may, in some channel, not be x's alone.
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
// `x` is the whole input, of `batch` images, of which the tile's first is `first_image`.
__device__ __forceinline__ Copy find_copy(const Element* __restrict__ x, int first_image, int first_channel,
                                          int first_row, int first_column, int producer, int batch, const int in_h,
                                          const int in_w) {
  const int channel = producer / kImageRows;
  const int row = producer % kStagedRows;
  const int image = producer / kStagedRows % P::tile_n;
  const int above = kWarpRows == 1 ? 0 : max(0, kRowWarps - 1 - first_row - row) / kRowWarps;  // rows of a warp
  const int iy = first_row + row + kRowWarps * above;
  // The staged columns of the image, and the pieces of them, behind the first one, which is at `start` in channel 0.
  const int begin = max(first_column, 0) - first_column;
  const int end = min(first_column + kStagedColumns, in_w) - first_column;
  const long long plane = static_cast<long long>(in_h) * in_w;
  const long long start = static_cast<long long>(first_image + image) * kInChannels * plane +
                          static_cast<long long>(iy) * in_w + first_column;
  const int skew =
      kSkewed ? place_in_piece(x, start + (P::groups == 1 ? channel : first_channel + channel) * plane) : 0;
  const int head = kSkewed ? (skew + begin) / kPiece * kPiece : begin;
  const int tail = kSkewed ? (skew + end + (kPiece - 1)) / kPiece * kPiece : end;
  const bool is_copied = (!kHasSpare || channel < kRowChannels) && (P::tile_n == 1 || first_image + image < batch) &&
                         iy >= 0 && iy < in_h && begin < end;
  const bool at_end = kSkewed && is_copied &&
                      (start + begin < kPiece - 1 || start + (kInChannels - 1) * plane + end + (kPiece - 1) >
                                                         static_cast<long long>(batch) * kInChannels * plane);
  const int rows = kWarpRows == 1 ? 1
                   : is_copied    ? (min(first_row + kStagedRows, in_h) - iy + (kRowWarps - 1)) / kRowWarps
                                  : 0;
  return {channel,
          x + (start - skew + head + (first_channel + channel) * plane),
          channel * kChannelPitch + (image * kStagedRows + row + kRowWarps * above) * kRowPitch + head,
          is_copied ? (tail - head) * kBytes : 0,
          at_end,
          rows};
}

// The same as copy_rows(), for rows at the beginning or the end of x, which ends before `end`: of the pieces that are
// not x's alone the thread brings what is of x, and zeros for the rest.
__device__ __forceinline__ void copy_end_rows(Element* to, const Copy& copy, const Element* __restrict__ x,
                                              const Element* end, int channels, unsigned long long* full,
                                              long long plane) {
  for (int channel = 0; copy.channel + channel < channels; channel += kRowChannels) {
    const Element* from = copy.from + channel * plane;
    Element* staged = to + copy.to + channel * kChannelPitch;
    const int count = copy.bytes / kBytes;
    const int last = from + count > end ? count - kPiece : count;
    const int first = from < x && last > 0 ? kPiece : 0;
    if (first != last) {
      mbarrier_expect(full, (last - first) * kBytes);
      bulk_load(staged + first, from + first, (last - first) * kBytes, full);
    }
#pragma unroll 1
    for (int i = 0; i < first + count - last; ++i) {
      const int place = i < first ? i : i - first + last;
      staged[place] = from + place >= x && from + place < end ? from[place] : static_cast<Element>(0);
    }
  }
  fence_proxy_async();  // the next bulk copies to these places come behind it
  mbarrier_arrive(full);
}

// Asks for a producer's copies of a chunk, of which the layer has so many `channels`.
//
// The chunk's barrier counts the bytes, and each producer.
__device__ __forceinline__ void copy_rows(Element* to, const Copy& copy, int channels, unsigned long long* full,
                                          long long plane, const int in_w) {
  const int own = kWholeRounds ? kRounds : max(0, channels - copy.channel + (kRowChannels - 1)) / kRowChannels;
  mbarrier_arrive_expect(full, own * (kWarpRows == 1 ? 1 : copy.rows) * copy.bytes);
  if (kWarpRows > 1 || copy.bytes != 0) {
#pragma unroll 1
    for (int row = 0; row < (kWarpRows == 1 ? 1 : copy.rows); ++row) {
#pragma unroll 16
      for (int round = 0; round < kRounds; ++round) {
        if (kWholeRounds || copy.channel + round * kRowChannels < channels) {
          bulk_load(to + copy.to + (row * kRowWarps * kRowPitch + round * kRowChannels * kChannelPitch),
                    copy.from + (row * (static_cast<long long>(kRowWarps) * in_w) + round * kRowChannels * plane),
                    copy.bytes, full);
        }
      }
    }
  }
}

// Writes zeros where a stage has no row or column of the image, or no channel of the layer: no copy writes there.
//
// A tile does so in the first use of each stage, which may have something of another tile there.
__device__ __forceinline__ void clear_gaps(Element* to, int channels, int first_row, int first_column, int thread,
                                           int images, const int in_h, const int in_w) {
  constexpr int kRows = P::chunk * kImageRows;
  constexpr int kTogether = kRows <= 16 ? 8 : kRows <= 32 ? 4 : kRows <= 64 ? 2 : 1;  // threads of a row
  for (int i = thread / kTogether; i < kRows; i += kProducers / kTogether) {
    const int iy = first_row + i % kStagedRows;
    const int image = i / kStagedRows % P::tile_n;
    const bool is_copied = (P::in_channels % P::chunk == 0 || i / kImageRows < channels) &&
                           (P::tile_n == 1 || image < images) && iy >= 0 && iy < in_h;
    Element* staged = to + i / kImageRows * kChannelPitch + i % kImageRows * kRowPitch;
    for (int column = kSkewed && is_copied ? kRowPitch : thread % kTogether * kPiece; column < kRowPitch;
         column += kTogether * kPiece) {
      const int ix = first_column + column;
      if (kSkewed || !is_copied || ix < 0 || ix >= in_w) {
        *reinterpret_cast<uint4*>(staged + column) = make_uint4(0, 0, 0, 0);
      }
    }
  }
  fence_proxy_async();  // the next bulk copies to these places come behind it
  if (kByWarps) {
    __syncwarp();  // one lane arrives for all
  }
}
