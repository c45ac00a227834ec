#include "runtime/jit/host_kernel.h"

#include <fmt/format.h>

#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "runtime/support/counters.h"

namespace convtgen::jit {
namespace {

constexpr std::byte kPoison{0xff};  // every float of these bytes is a NaN

using Owned = std::unique_ptr<Buffer>;

class HostKernel final : public PreparedKernel {
 public:
  /// `packing` is null where the kernel takes the weights as they are.
  HostKernel(std::shared_ptr<Device> device, KernelFacts facts, std::unique_ptr<LoadedKernel> kernel,
             std::unique_ptr<LoadedKernel> packing)
      : PreparedKernel(std::move(facts)),
        device_(std::move(device)),
        kernel_(std::move(kernel)),
        packing_(std::move(packing)) {}
  ~HostKernel() override { count(counters().unloads); }

  [[nodiscard]] Outcome<void> launch(const Pointers& pointers, const InputSizes& sizes, void* stream) override;

 private:
  /// The arrays of a call in the device's memory; null where the call has none.
  struct Copies {
    Owned x, weight, bias, y, workspace;
    [[nodiscard]] Pointers pointers() const;
  };
  [[nodiscard]] Outcome<Copies> copy_in(const Pointers& pointers, const Shape& shape) const;
  /// `workspace` is where the packed weights are, in the device's memory; 0 where there are none.
  [[nodiscard]] Outcome<void> run(const Call& call, std::uint64_t workspace);
  [[nodiscard]] Outcome<void> copy_out(const char* name, void* to, std::int64_t bytes, const Owned& from) const;
  [[nodiscard]] std::int64_t bytes_of_elements(std::int64_t elements) const {
    return elements * bytes_of(facts().problem.layer.dtype);
  }

  std::shared_ptr<Device> device_;
  std::unique_ptr<LoadedKernel> kernel_, packing_;
};

Pointers HostKernel::Copies::pointers() const {
  const auto address = [](const Owned& buffer) {
    return buffer != nullptr ? reinterpret_cast<void*>(buffer->address()) : nullptr;
  };
  return {address(x), address(weight), address(bias), address(y), address(workspace)};
}

// A buffer of its own for every array: so an index that leaves it meets no other. What the kernels write first is
// poisoned.
Outcome<HostKernel::Copies> HostKernel::copy_in(const Pointers& pointers, const Shape& shape) const {
  Outcome<void> done;
  const auto make = [&](const char* name, const void* from, std::int64_t bytes) -> Owned {
    auto buffer = device_->allocate(static_cast<std::size_t>(bytes));
    Result<void> filled = buffer ? Result<void>() : std::unexpected(buffer.error());
    if (buffer && from != nullptr) {
      filled =
          device_->upload(**buffer, std::span(static_cast<const std::byte*>(from), static_cast<std::size_t>(bytes)));
    } else if (buffer) {
      filled = device_->poison(**buffer, kPoison);
    }
    if (!filled) {
      done = fail_with(Status::kOutOfMemory, fmt::format("{}: {}", name, filled.error().message));
      return nullptr;
    }
    return *std::move(buffer);
  };
  Copies copies;
  copies.x = make("x", pointers.x, bytes_of_elements(shape.input_elements));
  copies.y = make("y", nullptr, bytes_of_elements(shape.output_elements));
  if (pointers.weight != nullptr) {
    copies.weight = make("weight", pointers.weight, bytes_of_elements(shape.weight_elements));
  }
  if (pointers.bias != nullptr) {
    copies.bias = make("bias", pointers.bias, bytes_of_elements(shape.out_channels));
  }
  if (const std::int64_t bytes = facts().form.workspace_bytes(); bytes > 0) {
    copies.workspace = make("workspace", pointers.weight == nullptr ? pointers.workspace : nullptr, bytes);
  }
  return done ? Outcome<Copies>(std::move(copies)) : std::unexpected(std::move(done.error()));
}

Outcome<void> HostKernel::run(const Call& call, std::uint64_t workspace) {
  const KernelSource& source = facts().source;
  const auto arguments = [](std::span<const std::uint64_t> slots) {
    return std::vector<std::uint64_t>(slots.begin(), slots.end());
  };
  if (call.packing_blocks > 0) {
    Launch packing;
    packing.blocks = call.packing_blocks;
    packing.threads = source.packing->threads;
    packing.arguments = arguments(std::span(call.packing_slots).first(facts().form.packing_parameter_count()));
    if (const auto ran = device_->run(*packing_, packing); !ran) {
      return fail_with(Status::kKernelFault, ran.error());
    }
  }
  Launch launch;
  launch.blocks = call.blocks;
  launch.threads = source.threads;
  launch.shared_bytes = source.shared_bytes;
  launch.awaited = call.packing_blocks > 0 && source.packing->overlaps ? workspace : 0;
  launch.arguments = arguments(std::span(call.slots).first(facts().form.parameter_count()));
  if (const auto ran = device_->run(*kernel_, launch); !ran) {
    return fail_with(Status::kKernelFault, ran.error());
  }
  return {};
}

Outcome<void> HostKernel::copy_out(const char* name, void* to, std::int64_t bytes, const Owned& from) const {
  const auto copied = device_->download(std::span(static_cast<std::byte*>(to), static_cast<std::size_t>(bytes)), *from);
  return copied ? Outcome<void>() : fail_with(Status::kInternal, fmt::format("{}: {}", name, copied.error().message));
}

Outcome<void> HostKernel::launch(const Pointers& pointers, const InputSizes& sizes, void* stream) {
  if (stream != nullptr) {
    return fail_with(Status::kInvalidArgument, "stream must be null on the host device, which has none");
  }
  const CallForm& form = facts().form;
  auto checked = form.call(pointers, sizes);
  if (!checked) {
    return std::unexpected(std::move(checked.error()));
  }
  const Shape& shape = checked->shape;
  if (checked->blocks == 0) {
    return {};
  }
  auto copies = copy_in(pointers, shape);
  if (!copies) {
    return std::unexpected(std::move(copies.error()));
  }
  auto call = form.call(copies->pointers(), sizes);
  if (!call) {
    return std::unexpected(std::move(call.error()));
  }
  if (auto ran = run(*call, copies->workspace ? copies->workspace->address() : 0); !ran) {
    return ran;
  }
  if (call->packing_blocks > 0) {
    if (auto copied = copy_out("workspace", pointers.workspace, form.workspace_bytes(), copies->workspace); !copied) {
      return copied;
    }
  }
  return copy_out("y", pointers.y, bytes_of_elements(shape.output_elements), copies->y);
}

}  // namespace

Outcome<std::shared_ptr<PreparedKernel>> load_on_host(std::shared_ptr<Device> device, KernelFacts facts,
                                                      const Binary& binary) {
  auto kernel = device->load(binary);
  if (!kernel) {
    return fail_with(Status::kInternal, kernel.error());
  }
  std::unique_ptr<LoadedKernel> packing;
  if (binary.packing) {
    auto loaded = device->load(for_packing(binary));
    if (!loaded) {
      return fail_with(Status::kInternal, loaded.error());
    }
    packing = *std::move(loaded);
  }
  count(counters().loads);
  return std::make_shared<HostKernel>(std::move(device), std::move(facts), *std::move(kernel), std::move(packing));
}

}  // namespace convtgen::jit
