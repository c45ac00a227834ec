// Rows that begin anywhere in a 16-byte vector (forward_gemm/bulk_rows.h): those at the ends of x, and where a thread
// reads.
#pragma once

#include "forward_gemm/bulk_rows.h"
#include "forward_gemm/tile.h"
#include "layout.h"

// The same as copy_rows(), for rows at the beginning or the end of x, which ends before `end`. Where a vector lies
// partly outside x, the thread loads what is of x, and writes zeros for the rest.
__device__ __forceinline__ void copy_end_rows(Element* to, const Copy& copy, const Element* __restrict__ x,
                                              const Element* end, int channels, unsigned long long* full,
                                              long long plane) {
  for (int channel = 0; copy.channel + channel < channels; channel += kRowChannels) {
    const Element* from = copy.from + channel * plane;
    Element* staged = to + copy.to + channel * kChannelPitch;
    const int count = copy.bytes / kBytes;
    const int last = from + count > end ? count - kVector : count;
    const int first = from < x && last > 0 ? kVector : 0;
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
  fence_proxy_async();  // orders these writes before the next bulk copies to these places
  mbarrier_arrive(full);
}

// Where a thread reads rows that begin anywhere.
struct Place {
  int in_vector;  // of the tile's first staged column, in the first row that the thread reads
  int column;     // of the image, of the thread's first word
  bool at_edge;   // the tile has columns outside the image
};

// The place of a thread that reads from a tile's{with row:  `row` on, and from its} staged `column` on.
__device__ __forceinline__ Place place_of(const Tile& tile, const Element* __restrict__ x, int image, int channel,
                                          int row, int column, const int in_h, const int in_w) {
  const int first_column = tile.m_x + kFirstColumn;
  const long long plane = static_cast<long long>(tile.image + image) * kInChannels + channel;
  return {place_in_vector(x, (plane * in_h + tile.m_y + row) * in_w + first_column), first_column + column + kLoadStart,
          first_column < 0 || first_column + kStagedColumns > in_w};
}
