// What a caller does by the numbers of a layer with `streaming`, as docs/streaming.md has it.
#pragma once

#include <algorithm>
#include <cstdint>

#include "generator/layer/stream.h"

namespace convtgen::testing {

/// Outputs from the first on that no later frame changes, after so many frames; and all of them, if no more come.
[[nodiscard]] inline std::int64_t final_outputs(const Stream& stream, std::int64_t frames) {
  return std::max<std::int64_t>(0, frames * stream.stride - stream.delay);
}
[[nodiscard]] inline std::int64_t all_outputs(const Stream& stream, std::int64_t frames) {
  return frames == 0 ? 0 : std::max<std::int64_t>(0, frames * stream.stride - stream.delay + stream.rest);
}

/// A call for a chunk: kept frames and the new ones. Of its outputs `count` from `first` on are new and final, and
/// follow those of earlier calls. Where `count` is 0 there is no call.
struct ChunkCall {
  std::int64_t kept = 0, frames = 0;  // frames: all of the call
  std::int64_t first = 0, count = 0;
};

/// For so many new frames after `before`, up to so many outputs of the sequence.
[[nodiscard]] inline ChunkCall call_up_to(const Stream& stream, std::int64_t before, std::int64_t frames,
                                          std::int64_t outputs) {
  const std::int64_t kept = std::min(before, stream.context);
  const std::int64_t given = final_outputs(stream, before);
  return {.kept = kept,
          .frames = kept + frames,
          .first = given - (before - kept) * stream.stride,
          .count = std::max<std::int64_t>(0, outputs - given)};
}
[[nodiscard]] inline ChunkCall chunk_call(const Stream& stream, std::int64_t before, std::int64_t frames) {
  return call_up_to(stream, before, frames, final_outputs(stream, before + frames));
}
/// For the rest of the outputs, after the last frame.
[[nodiscard]] inline ChunkCall rest_call(const Stream& stream, std::int64_t before) {
  return call_up_to(stream, before, 0, all_outputs(stream, before));
}

}  // namespace convtgen::testing
