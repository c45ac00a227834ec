// A vocoder's layers, one after the other, while frames arrive by chunks. The samples are those of one call with all
// frames, bit by bit; each layer has one kernel for both, and memory for one chunk.
#include <vocoder.h>  // made by convtgen_add_kernels()

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "../api/arrays.h"

namespace {

void check(int status) {
  if (status != VOCODER_OK) {
    std::fprintf(stderr, "%s: %s\n", vocoder_error_text(status), vocoder_last_error());
    std::exit(1);
  }
}

float* allocate(const Arrays& arrays, std::int64_t count) {
  return static_cast<float*>(arrays_allocate(&arrays, static_cast<std::size_t>(count) * sizeof(float)));
}

float* filled(const Arrays& arrays, std::int64_t count, float scale) {
  float* values = allocate(arrays, count);
  for (std::int64_t i = 0; i < count; ++i) {
    values[i] = scale * std::sin(static_cast<float>(i));
  }
  return values;
}

/// The functions of a layer of the set.
struct Layer {
  decltype(&vocoder_up1_forward) forward;
  decltype(&vocoder_up1_forward_sizes) sizes;
  decltype(&vocoder_up1_forward_workspace) workspace;
  decltype(&vocoder_up1_forward_stream) stream;
};
constexpr Layer kUp1 = {vocoder_up1_forward, vocoder_up1_forward_sizes, vocoder_up1_forward_workspace,
                        vocoder_up1_forward_stream};
constexpr Layer kUp2 = {vocoder_up2_forward, vocoder_up2_forward_sizes, vocoder_up2_forward_workspace,
                        vocoder_up2_forward_stream};

/// Frames of a layer's input or output: their channels, one frame after the other.
struct Frames {
  const float* first = nullptr;
  std::int64_t count = 0;
};

/// A layer with its parameters, and memory for calls of up to so many frames.
class Loaded {
 public:
  Loaded(const Arrays& arrays, const Layer& layer, std::int64_t most) : arrays_(arrays), layer_(layer) {
    check(layer.sizes(most, &sizes_));
    x = allocate(arrays, sizes_.x_elements);
    y_ = allocate(arrays, sizes_.y_elements);
    weight_ = filled(arrays, sizes_.weight_elements, 0.25F);
    bias_ = filled(arrays, sizes_.bias_elements, 0.1F);
    workspace_bytes_ = layer.workspace(most);
    workspace_ = arrays_allocate(&arrays, workspace_bytes_);
  }

  /// One call with the first frames of `x`: its outputs.
  Frames run(std::int64_t frames) {
    vocoder_sizes sizes{};
    check(layer_.sizes(frames, &sizes));
    check(layer_.forward(x, weight_, bias_, y_, workspace_, workspace_bytes_, frames, nullptr));
    arrays_wait(&arrays_);  // a program that works on the GPU alone goes on in the stream
    return {y_, sizes.out[2]};
  }
  std::int64_t in_channels() const { return sizes_.in_channels; }
  std::int64_t out_channels() const { return sizes_.out_channels; }

  float* x;

 private:
  const Arrays& arrays_;
  Layer layer_;
  vocoder_sizes sizes_{};
  float *y_, *weight_, *bias_;
  void* workspace_;
  std::size_t workspace_bytes_;
};

/// A layer while its input arrives, at most so many frames at a time (the struct vocoder_stream says how).
class Stage {
 public:
  Stage(const Arrays& arrays, const Layer& layer, std::int64_t most)
      : stream_(stream_of(layer)), loaded_(arrays, layer, stream_.context + most) {}

  /// The outputs that are final with these frames. They are valid until the next call.
  Frames push(Frames frames) {
    const std::int64_t channels = loaded_.in_channels();
    std::copy_n(frames.first, frames.count * channels, loaded_.x + kept_ * channels);
    const Frames outputs = run(kept_ + frames.count, final_after(taken_ + frames.count));
    const std::int64_t all = kept_ + frames.count;
    kept_ = std::min(all, stream_.context);
    std::copy_n(loaded_.x + (all - kept_) * channels, kept_ * channels, loaded_.x);
    taken_ += frames.count;
    return outputs;
  }
  /// The rest of the outputs: no more frames come.
  Frames finish() { return run(kept_, std::max<std::int64_t>(0, end_after(taken_) + stream_.rest)); }

  /// The most outputs of a call.
  static std::int64_t most_outputs(const Layer& layer, std::int64_t most) {
    const vocoder_stream stream = stream_of(layer);
    return std::max(most * stream.stride, stream.rest);
  }

 private:
  static vocoder_stream stream_of(const Layer& layer) {
    vocoder_stream stream{};
    layer.stream(&stream);
    return stream;
  }
  std::int64_t end_after(std::int64_t frames) const { return frames * stream_.stride - stream_.delay; }
  std::int64_t final_after(std::int64_t frames) const { return std::max<std::int64_t>(0, end_after(frames)); }

  /// A call with the kept frames and new ones: its outputs before `end` that were not given yet.
  Frames run(std::int64_t frames, std::int64_t end) {
    const std::int64_t given = final_after(taken_);
    if (end <= given) {
      return {};
    }
    const std::int64_t first = given - (taken_ - kept_) * stream_.stride;
    return {loaded_.run(frames).first + first * loaded_.out_channels(), end - given};
  }

  vocoder_stream stream_;
  Loaded loaded_;
  std::int64_t taken_ = 0, kept_ = 0;  // frames so far, and those of them at the beginning of x
};

void append(std::vector<float>& samples, Frames frames, std::int64_t channels) {
  samples.insert(samples.end(), frames.first, frames.first + frames.count * channels);
}

}  // namespace

int main() {
  constexpr std::int64_t kArrivals[] = {1, 1, 2, 9, 1, 20, 6};
  constexpr std::int64_t kFrames = 40, kMost = 20;
  check(vocoder_prepare());
  const Arrays arrays = arrays_open(vocoder_uses_host());

  // All frames at once.
  Loaded whole1(arrays, kUp1, kFrames);
  const std::int64_t channels = whole1.in_channels(), hidden = whole1.out_channels();
  std::vector<float> frames(static_cast<std::size_t>(kFrames * channels));
  for (std::size_t i = 0; i < frames.size(); ++i) {
    frames[i] = std::sin(0.7F * static_cast<float>(i));
  }
  std::copy(frames.begin(), frames.end(), whole1.x);
  const Frames between = whole1.run(kFrames);
  Loaded whole2(arrays, kUp2, between.count);
  std::copy_n(between.first, between.count * hidden, whole2.x);
  std::vector<float> expected, samples;
  append(expected, whole2.run(between.count), whole2.out_channels());

  // The same by chunks.
  Stage up1(arrays, kUp1, kMost);
  Stage up2(arrays, kUp2, Stage::most_outputs(kUp1, kMost));
  const float* next = frames.data();
  for (const std::int64_t count : kArrivals) {
    append(samples, up2.push(up1.push({next, count})), whole2.out_channels());
    next += count * channels;
    std::printf("%lld frames: %zu samples so far\n", static_cast<long long>(count), samples.size());
  }
  append(samples, up2.push(up1.finish()), whole2.out_channels());
  append(samples, up2.finish(), whole2.out_channels());

  const bool same = samples.size() == expected.size() &&
                    std::memcmp(samples.data(), expected.data(), samples.size() * sizeof(float)) == 0;
  std::printf("%zu samples on %s: %s\n", samples.size(), vocoder_uses_host() != 0 ? "the host device" : "the GPU",
              same ? "those of one call with all frames" : "they differ from those of one call");
  return same ? 0 : 1;
}
