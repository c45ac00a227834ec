#include "generator/layer/stream.h"

#include <algorithm>

namespace convtgen {

Stream stream_of(const Axis& axis) {
  const std::int64_t stride = axis.stride;
  const std::int64_t reach = axis.dilation * (axis.kernel - 1) + 1;  // outputs from a frame's first to its last
  // Beyond n * stride - padding.before there are so many outputs if the sequence ends; below 0 some before it are cut.
  const std::int64_t beyond = reach - stride - axis.padding.after + axis.output_padding;
  Stream stream{.context = 0,
                .stride = stride,
                .delay = axis.padding.before + std::max<std::int64_t>(0, -beyond),
                .rest = std::max<std::int64_t>(0, beyond)};
  // The next output, n * stride - delay, reads the frames whose reach ends at it or later, and a call must begin no
  // later than at it.
  const std::int64_t read = (stream.delay - axis.padding.before + reach - 1) / stride;
  const std::int64_t begun = (stream.delay + stride - 1) / stride;
  const std::int64_t called = stream.rest > 0 ? 1 : 0;  // a call for the rest has a frame
  stream.context = std::max({read, begun, called});
  return stream;
}

}  // namespace convtgen
