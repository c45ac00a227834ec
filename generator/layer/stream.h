// How a layer of one axis runs while its input arrives, by chunks: pure arithmetic of the axis.
//
// A frame is a position of x. Tap k of frame i makes output stride * i + dilation * k - padding, so frame i reaches the
// outputs of one range, and those of frame i + 1 are `stride` further on. Hence:
// - After n frames the outputs before n * stride - padding are final. If padding at the end is larger than what a frame
//   makes beyond its stride, the difference is not, since it is cut off if the sequence ends there.
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
  std::int64_t delay = 0;    // of the n * stride outputs after n frames, those that are not final
  std::int64_t rest = 0;     // further outputs, once no more frames come
  bool operator==(const Stream&) const = default;
};
[[nodiscard]] Stream stream_of(const Axis& axis);

}  // namespace convtgen
