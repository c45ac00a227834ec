#include "runtime/jit/host_kernel.h"

#include <fmt/format.h>

#include <cstddef>
#include <span>

#include "runtime/jit/counters.h"

namespace convtgen::jit {
namespace {

constexpr std::byte kPoison{0xff};  // every float of these bytes is a NaN

class HostKernel final : public PreparedKernel {
 public:
  HostKernel(std::shared_ptr<Device> device, KernelFacts facts, std::unique_ptr<LoadedKernel> kernel)
      : PreparedKernel(std::move(facts)), device_(std::move(device)), kernel_(std::move(kernel)) {}
  ~HostKernel() override { count(counters().unloads); }

  [[nodiscard]] Outcome<void> launch(const Pointers& pointers, const InputSizes& sizes, void* stream) override;

 private:
  using Owned = std::unique_ptr<Buffer>;
  [[nodiscard]] Outcome<Owned> copy_in(const char* name, const void* from, std::int64_t elements) const;
  [[nodiscard]] std::size_t bytes_of_elements(std::int64_t elements) const {
    return static_cast<std::size_t>(elements * bytes_of(facts().problem.layer.dtype));
  }

  std::shared_ptr<Device> device_;
  std::unique_ptr<LoadedKernel> kernel_;
};

// A buffer of its own for every array: so an index that leaves it meets no other.
Outcome<std::unique_ptr<Buffer>> HostKernel::copy_in(const char* name, const void* from, std::int64_t elements) const {
  const std::size_t bytes = bytes_of_elements(elements);
  auto buffer = device_->allocate(bytes);
  if (!buffer) {
    return fail_with(Status::kOutOfMemory, fmt::format("{}: {}", name, buffer.error().message));
  }
  const auto done = from != nullptr ? device_->upload(**buffer, std::span(static_cast<const std::byte*>(from), bytes))
                                    : device_->poison(**buffer, kPoison);
  if (!done) {
    return fail_with(Status::kOutOfMemory, fmt::format("{}: {}", name, done.error().message));
  }
  return *std::move(buffer);
}

Outcome<void> HostKernel::launch(const Pointers& pointers, const InputSizes& sizes, void* stream) {
  if (stream != nullptr) {
    return fail_with(Status::kInvalidArgument, "stream must be null on the host device, which has none");
  }
  auto checked = facts().form.call(pointers, sizes);
  if (!checked) {
    return std::unexpected(std::move(checked.error()));
  }
  const Shape& shape = checked->shape;
  if (checked->blocks == 0) {
    return {};
  }
  auto x = copy_in("x", pointers.x, shape.input_elements);
  if (!x) {
    return std::unexpected(std::move(x.error()));
  }
  auto weight = copy_in("weight", pointers.weight, shape.weight_elements);
  if (!weight) {
    return std::unexpected(std::move(weight.error()));
  }
  auto bias = copy_in("bias", pointers.bias, pointers.bias != nullptr ? shape.out_channels : 1);
  if (!bias) {
    return std::unexpected(std::move(bias.error()));
  }
  auto y = copy_in("y", nullptr, shape.output_elements);
  if (!y) {
    return std::unexpected(std::move(y.error()));
  }
  const auto address = [](const Owned& buffer) { return reinterpret_cast<void*>(buffer->address()); };
  const auto call = facts().form.call(
      {address(*x), address(*weight), pointers.bias != nullptr ? address(*bias) : nullptr, address(*y)}, sizes);
  if (!call) {
    return std::unexpected(call.error());
  }
  Launch launch;
  launch.blocks = call->blocks;
  launch.threads = facts().source.threads;
  launch.shared_bytes = facts().source.shared_bytes;
  launch.arguments.assign(call->slots.begin(),
                          call->slots.begin() + static_cast<std::ptrdiff_t>(facts().form.parameter_count()));
  if (const auto ran = device_->run(*kernel_, launch); !ran) {
    return fail_with(Status::kKernelFault, ran.error());
  }
  const auto copied =
      device_->download(std::span(static_cast<std::byte*>(pointers.y), bytes_of_elements(shape.output_elements)), **y);
  if (!copied) {
    return fail_with(Status::kInternal, copied.error());
  }
  return {};
}

}  // namespace

Outcome<std::shared_ptr<PreparedKernel>> load_on_host(std::shared_ptr<Device> device, KernelFacts facts,
                                                      const Binary& binary) {
  auto kernel = device->load(binary);
  if (!kernel) {
    return fail_with(Status::kInternal, kernel.error());
  }
  count(counters().loads);
  return std::make_shared<HostKernel>(std::move(device), std::move(facts), *std::move(kernel));
}

}  // namespace convtgen::jit
