// How a layer of one axis runs while its input arrives, by chunks: pure arithmetic of the axis.
//
// A frame is a position of x. Tap k of frame i makes output stride * i + dilation * k - padding, so frame i reaches the
// outputs of one range, and those of frame i + 1 are `stride` further on. Hence:
// - After n frames the outputs before n * stride - padding are final. If padding at the end is larger than what the
// last
//   frame makes beyond its stride, that many of them are not, since they are cut off if the sequence ends there.
// - A later output reads the last `context` frames at most, and new ones. A call with these frames alone makes it by
//   the same taps and inputs as a call with the whole sequence; outputs before it are made without some of theirs.
// So every chunk is a call of the layer itself, whose first outputs, and the last ones, are left out.
#pragma once

#include <cstdint>

#include "generator/layer/axis.h"

namespace convtgen {

/// All that a caller needs to know of a layer.
struct Stream {
  std::int64_t context = 0;  // frames that are kept
  std::int64_t stride = 1;   // outputs of a frame
  std::int64_t delay = 0;    // outputs that lack after n frames, of n * stride
  std::int64_t rest = 0;     // further outputs, once no more frames come
  bool operator==(const Stream&) const = default;
};
[[nodiscard]] Stream stream_of(const Axis& axis);

/// Outputs from the first on that no later frame changes, after so many frames; and all of them, if no more come.
[[nodiscard]] std::int64_t final_outputs(const Stream& stream, std::int64_t frames);
[[nodiscard]] std::int64_t all_outputs(const Stream& stream, std::int64_t frames);

/// A call for a chunk: kept frames and the new ones. Of its outputs `count` from `first` on are new and final, and
/// follow those of earlier calls. Where `count` is 0 there is no call.
struct ChunkCall {
  std::int64_t kept = 0, frames = 0;  // frames: all of the call
  std::int64_t first = 0, count = 0;
  bool operator==(const ChunkCall&) const = default;
};
/// For so many new frames after `before`, and, after the last one, for the rest of the outputs.
[[nodiscard]] ChunkCall chunk_call(const Stream& stream, std::int64_t before, std::int64_t frames);
[[nodiscard]] ChunkCall rest_call(const Stream& stream, std::int64_t before);

}  // namespace convtgen
