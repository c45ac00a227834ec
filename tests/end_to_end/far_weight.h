// A layer whose weights have more than 2^31 elements: what the last of them give, against the definition.
#pragma once

#include <gtest/gtest.h>

#include "generator/planner/candidates.h"
#include "tests/end_to_end/far_layer.h"
#include "tests/template_facts/facts.h"

namespace convtgen::testing {

/// A template that makes the last weights of so many, or reads them.
class FarWeight {
 public:
  explicit FarWeight(std::string_view template_name)
      : problem_(problem_of(fmt::format("conv_transpose2d {} -> {}; kernel 1x2; stride 1x2; input 1x1x8{}", kIns, kOuts,
                                        facts_of(template_name).far_weights),
                            gradient_of(template_name))),
        shape_(shape_of(problem_.layer, known_sizes(problem_.layer).value()).value()),
        plan_(plan_of(problem_, template_name)) {
    EXPECT_GT(shape_.weight_elements, kFar);
    set_if_there(plan_, "scan_slices", 1);
    plan_.launch = launch_plan_of(problem_, plan_);
    source_ = specialize(problem_, plan_).value();
    for (const Role role : {Role::kX, Role::kGradY}) {
      inputs_.set(role, small_integers(make_array(problem_.layer.dtype, array_shape(problem_.layer, shape_, role)),
                                       static_cast<std::uint64_t>(role) * 1000003));
    }
  }

  [[nodiscard]] const KernelSource& source() const { return source_; }
  [[nodiscard]] const Plan& plan() const { return plan_; }

  /// Empty where the last elements are what the definition gives; else what is wrong.
  std::string judge(const KernelSource& source) {
    Result<LoadedLayer> loaded = load_source(*device_, problem_, plan_, source);
    if (!loaded) {
      return fmt::format("{}: {}", kDoesNotCompile, loaded.error().message);
    }
    RoleBuffers buffers;
    Arrays arrays;
    for (const Tensor& tensor : source.recipe.tensors) {
      const std::size_t bytes = static_cast<std::size_t>(element_count(shape_, tensor.role)) * size();
      buffers.set(tensor.role, device_->allocate(bytes).value());
      Buffer& buffer = *buffers.of(tensor.role);
      arrays.set(tensor.role, memory_of(buffer));
      if (tensor.role == Role::kWeight) {
        write_weights(buffer);
      } else if (tensor.written) {
        std::memset(memory_of(buffer) + (bytes - kCompared * size()), static_cast<int>(kPoison), kCompared * size());
      } else {
        EXPECT_TRUE(device_->upload(buffer, inputs_.of(tensor.role)->bytes));
      }
    }
    const std::int64_t bytes = std::max<std::int64_t>(loaded->form.workspace_bytes(shape_).value(), 1);
    const std::unique_ptr<Buffer> workspace = device_->allocate(static_cast<std::size_t>(bytes)).value();
    arrays.workspace = memory_of(*workspace);
    const Result<Call> call = loaded->form.call(arrays, known_sizes(problem_.layer).value());
    if (!call) {
      return call.error().message;
    }
    std::vector<Launch> launches = launches_of(loaded->form, arrays, *call).value();
    for (std::size_t i = 0; i < launches.size(); ++i) {
      const RecipeKernel& kernel = source.recipe.kernels[i];
      if (kernel.symbol.ends_with("_scan")) {
        write_maxima(*device_, *workspace, source.recipe, shape_);
        continue;
      }
      std::int64_t count = kernel.cluster;  // of the last blocks
      if (kernel.symbol == source.symbol) {
        launches[i].blocks = blocks_of(plan_, kernel, shape_);
      } else if (kernel.symbol.ends_with("_split")) {  // tiles of grad_y, and the last ones of x
        count = (kOuts + kWritten) / 64;
      } else {  // the packing of the last tile of channels
        count = ceil_div(launches[i].blocks, kIns / integer(plan_, "block_n"));
      }
      if (const Result<void> run = device_->run_from(*loaded->kernels[i], launches[i], launches[i].blocks - count);
          !run) {
        return run.error().message;
      }
    }
    const Role role = problem_.direction == Direction::kGradInput ? Role::kGradX : Role::kGradWeight;
    return compare(*buffers.of(role), role);
  }

 private:
  static constexpr std::int64_t kIns = std::int64_t{1} << 20;
  static constexpr std::int64_t kOuts = 2048;
  static constexpr std::int64_t kCompared = 2;   // of the last elements: of one tap, or of one channel
  static constexpr std::int64_t kWritten = 256;  // input channels: as many as a tile has, at least

  [[nodiscard]] std::size_t size() const { return static_cast<std::size_t>(bytes_of(problem_.layer.dtype)); }

  static double weight_at(std::int64_t offset) { return small_integer(static_cast<std::uint64_t>(offset)); }

  void write_weights(Buffer& buffer) {
    const std::int64_t first = shape_.weight_elements - kWritten * kOuts * 2;
    HostArray array = make_array(problem_.layer.dtype, {shape_.weight_elements - first});
    for (std::int64_t i = 0; i < array.size(); ++i) {
      array.set(i, weight_at(first + i));
    }
    const std::size_t offset = static_cast<std::size_t>(first) * size();
    std::memcpy(memory_of(buffer) + offset, array.bytes.data(), array.bytes.size());
    EXPECT_TRUE(device_->mark_written(buffer, offset, array.bytes.size()));
  }

  /// What the element is. Of grad_x in NCHW.
  [[nodiscard]] double defined(Role role, std::int64_t offset) const {
    if (role == Role::kGradWeight) {
      return define_at(problem_.layer, shape_, inputs_, std::span(&offset, 1), role).sum.front();
    }
    const ElementPosition position = position_of(problem_.layer, shape_, role, offset);
    double sum = 0;
    for (std::int64_t out = 0; out < kOuts; ++out) {
      for (std::int64_t tap = 0; tap < 2; ++tap) {
        const std::int64_t y = offset_of(problem_.layer, shape_, Role::kGradY,
                                         {.n = 0, .c = out, .at = {0, 0, position.at[kWidth] * 2 + tap}});
        sum += inputs_.grad_y.at(y) * weight_at((position.c * kOuts + out) * 2 + tap);
      }
    }
    return sum;
  }

  [[nodiscard]] std::string compare(const Buffer& buffer, Role role) const {
    HostArray array = make_array(problem_.layer.dtype, {kCompared});
    const std::int64_t first = element_count(shape_, role) - kCompared;
    std::memcpy(array.bytes.data(), memory_of(buffer) + static_cast<std::size_t>(first) * size(), array.bytes.size());
    for (std::int64_t i = 0; i < kCompared; ++i) {
      // Of grad_weight one tap alone: a block need not have the others.
      const bool is_made = role == Role::kGradX || i + 1 == kCompared;
      if (const double want = defined(role, first + i); is_made && array.at(i) != want) {
        return fmt::format("{} {} is {}, not {}", name_of(role), first + i, array.at(i), want);
      }
    }
    return "";
  }

  Problem problem_;
  Shape shape_;
  Plan plan_;
  KernelSource source_;
  LayerInputs inputs_;
  std::unique_ptr<HostDevice> device_ = open_host_device(HostOptions{.workers = 1}).value();
};

}  // namespace convtgen::testing
