#include "generator/layer/stream.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <utility>
#include <vector>

#include "generator/layer/shape.h"
#include "tests/layer/chunk_call.h"

namespace convtgen {
namespace {

using testing::all_outputs;
using testing::chunk_call;
using testing::ChunkCall;
using testing::final_outputs;
using testing::rest_call;

/// The pairs of frame and tap of an output of a call with the frames [from, end) of a sequence, by the definition.
using Terms = std::vector<std::pair<std::int64_t, std::int64_t>>;
Terms terms_of(const Axis& axis, std::int64_t from, std::int64_t end, std::int64_t output) {
  Terms terms;
  for (std::int64_t k = 0; k < axis.kernel; ++k) {
    for (std::int64_t i = 0; i < end - from; ++i) {
      if (i * axis.stride - axis.padding.before + k * axis.dilation == output) {
        terms.emplace_back(from + i, k);
      }
    }
  }
  return terms;
}

/// Whether the outputs of a call at this place of a sequence of `all` frames are those of a call with all of them.
bool is_right(const Axis& axis, const Stream& stream, const ChunkCall& call, std::int64_t from, std::int64_t all) {
  const std::int64_t end = from + call.frames;
  if (call.first < 0 || call.frames == 0 || call.first + call.count > output_extent(axis, call.frames)) {
    return false;
  }
  for (std::int64_t o = call.first; o < call.first + call.count; ++o) {
    if (terms_of(axis, from, end, o) != terms_of(axis, 0, all, o + from * stream.stride)) {
      return false;
    }
  }
  return true;
}

Axis drawn(std::mt19937_64& random) {
  const auto pick = [&](std::int64_t least, std::int64_t most) {
    return least + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(most - least + 1));
  };
  Axis axis;
  axis.kernel = pick(1, 9);
  axis.stride = pick(1, 6);
  axis.dilation = pick(0, 1) == 0 ? 1 : pick(2, 4);
  const std::int64_t reach = axis.dilation * (axis.kernel - 1) + 1;
  axis.padding = {pick(0, reach + 2), pick(0, reach + 2)};
  axis.output_padding = pick(0, 1) == 0 ? 0 : pick(0, std::max(axis.stride, axis.dilation) - 1);
  return axis;
}

/// The sum of what calls for chunks give, each of them checked, and of the rest.
void expect_stream(const Axis& axis, const std::vector<std::int64_t>& chunks) {
  const Stream stream = stream_of(axis);
  std::int64_t all = 0;
  for (const std::int64_t chunk : chunks) {
    all += chunk;
  }
  std::int64_t before = 0, given = 0;
  for (const std::int64_t chunk : chunks) {
    const ChunkCall call = chunk_call(stream, before, chunk);
    EXPECT_EQ(call.kept, std::min(before, stream.context));
    EXPECT_TRUE(call.count == 0 || is_right(axis, stream, call, before - call.kept, all));
    EXPECT_TRUE(call.count == 0 || call.first + (before - call.kept) * stream.stride == given);
    before += chunk;
    given += call.count;
    ASSERT_EQ(given, final_outputs(stream, before));
  }
  const ChunkCall rest = rest_call(stream, before);
  EXPECT_TRUE(rest.count == 0 || is_right(axis, stream, rest, before - rest.kept, all));
  EXPECT_EQ(given + rest.count, std::max<std::int64_t>(0, output_extent(axis, all)));
}

TEST(Stream, AgreesWithTheDefinition) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 3000; ++i) {
    const Axis axis = drawn(random);
    std::vector<std::int64_t> chunks(1 + random() % 6);
    for (std::int64_t& chunk : chunks) {
      chunk = random() % 3 == 0 ? 1 : 1 + static_cast<std::int64_t>(random() % 12);
    }
    SCOPED_TRACE(::testing::Message() << "kernel " << axis.kernel << " stride " << axis.stride << " padding "
                                      << padding_text(axis.padding) << " output_padding " << axis.output_padding
                                      << " dilation " << axis.dilation);
    expect_stream(axis, chunks);
    if (HasFailure()) {
      return;
    }
  }
}

TEST(Stream, GivesAllThatIsFinal) {
  std::mt19937_64 random(2);
  for (int i = 0; i < 1000; ++i) {
    const Axis axis = drawn(random);
    const Stream stream = stream_of(axis);
    for (std::int64_t frames = stream.delay / stream.stride + 1; frames < 20; ++frames) {
      const std::int64_t next = final_outputs(stream, frames);
      // It is not there if the sequence ends, or the next frame reaches it.
      EXPECT_TRUE(output_extent(axis, frames) <= next ||
                  terms_of(axis, 0, frames + 1, next) != terms_of(axis, 0, frames, next));
    }
  }
}

TEST(Stream, KeepsNoFrameMoreThanCallsNeed) {
  std::mt19937_64 random(3);
  for (int i = 0; i < 1000; ++i) {
    const Axis axis = drawn(random);
    Stream less = stream_of(axis);
    if (less.context == 0) {
      continue;
    }
    --less.context;
    const std::int64_t before = 40, all = 60;  // in the middle, and at the end
    const ChunkCall middle = chunk_call(less, before, 1), rest = rest_call(less, all);
    EXPECT_FALSE(is_right(axis, less, middle, before - middle.kept, all) &&
                 (rest.count == 0 || is_right(axis, less, rest, all - rest.kept, all)))
        << axis.kernel << " " << axis.stride << " " << padding_text(axis.padding) << " " << axis.dilation;
  }
}

TEST(Stream, OfKnownLayers) {
  // A vocoder's: two taps for each output; half a frame's outputs are cut off at both ends.
  EXPECT_EQ(stream_of({16, 8, 4, 0, 1}), (Stream{.context = 1, .stride = 8, .delay = 4, .rest = 4}));
  // Each frame makes outputs of its own.
  EXPECT_EQ(stream_of({4, 4, 0, 0, 1}), (Stream{.context = 0, .stride = 4, .delay = 0, .rest = 0}));
  // The last frame's are cut off if it is the last.
  EXPECT_EQ(stream_of({4, 4, {0, 4}, 0, 1}), (Stream{.context = 1, .stride = 4, .delay = 4, .rest = 0}));
  // Of docs/streaming.md.
  EXPECT_EQ(stream_of({7, 1, 3, 0, 1}), (Stream{.context = 6, .stride = 1, .delay = 3, .rest = 3}));
  EXPECT_EQ(stream_of({11, 5, 3, 1, 1}), (Stream{.context = 2, .stride = 5, .delay = 3, .rest = 4}));
  EXPECT_EQ(stream_of({3, 1, {0, 8}, 0, 4}), (Stream{.context = 8, .stride = 1, .delay = 0, .rest = 0}));
  // The end has one output that no frame reaches.
  EXPECT_EQ(stream_of({1, 1, 0, 1, 2}), (Stream{.context = 1, .stride = 1, .delay = 0, .rest = 1}));
  EXPECT_EQ(all_outputs(stream_of({1, 1, 0, 1, 2}), 0), 0);
}

}  // namespace
}  // namespace convtgen
