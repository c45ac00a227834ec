#include "runtime/jit/host_kernel.h"

#include <fmt/format.h>

#include <array>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "runtime/device/recipe_launch.h"
#include "runtime/device/tensor_runs.h"
#include "runtime/support/counters.h"

namespace convtgen::jit {
namespace {

constexpr std::byte kPoison{0xff};  // every float of these bytes is a NaN

using Owned = std::unique_ptr<Buffer>;

class HostKernel final : public PreparedKernel {
 public:
  HostKernel(std::shared_ptr<Device> device, KernelFacts facts, LoadedKernels kernels)
      : PreparedKernel(std::move(facts)), device_(std::move(device)), kernels_(std::move(kernels)) {}
  ~HostKernel() override { count(counters().unloads); }

  [[nodiscard]] Outcome<void> launch(const Arrays& arrays, const InputSizes& sizes, void* stream) override;

 private:
  /// The arrays of a call in the device's memory, by their roles; null where the call has none.
  struct Copies {
    std::array<Owned, kRoles> tensors;
    Owned workspace;
    [[nodiscard]] Arrays arrays() const;
  };
  [[nodiscard]] Outcome<Copies> copy_in(const Arrays& arrays, const Call& call) const;
  [[nodiscard]] Outcome<void> copy_out(const Arrays& arrays, const Copies& copies, const Call& call) const;
  [[nodiscard]] TensorRuns runs_of_tensor(const Tensor& tensor, const Call& call) const {
    return runs_of(tensor, call.quantities, bytes_of(facts().problem.layer.dtype));
  }

  std::shared_ptr<Device> device_;
  LoadedKernels kernels_;
};

Arrays HostKernel::Copies::arrays() const {
  const auto address = [](const Owned& buffer) {
    return buffer != nullptr ? reinterpret_cast<void*>(buffer->address()) : nullptr;
  };
  Arrays arrays;
  for (std::size_t role = 0; role < kRoles; ++role) {
    arrays.tensors[role] = address(tensors[role]);
  }
  arrays.workspace = address(workspace);
  return arrays;
}

// A buffer of its own for every array: so an index that leaves it meets no other. What the kernels write first is
// poisoned, and so is what lies between channels of a larger tensor.
Outcome<HostKernel::Copies> HostKernel::copy_in(const Arrays& arrays, const Call& call) const {
  Outcome<void> done;
  const auto make = [&](std::string_view name, const void* from, std::int64_t read, std::int64_t bytes) -> Owned {
    auto buffer = device_->allocate(static_cast<std::size_t>(bytes));
    Result<void> filled = buffer ? device_->poison(**buffer, kPoison) : std::unexpected(buffer.error());
    if (filled && read > 0) {
      filled =
          device_->upload(**buffer, std::span(static_cast<const std::byte*>(from), static_cast<std::size_t>(read)));
    }
    if (!filled) {
      done = fail_with(Status::kOutOfMemory, fmt::format("{}: {}", name, filled.error().message));
      return nullptr;
    }
    return *std::move(buffer);
  };
  const CallForm& form = facts().form;
  Copies copies;
  for (const Tensor& tensor : form.recipe().tensors) {
    if (const void* const array = arrays.of(tensor.role); array != nullptr) {
      const TensorRuns runs = runs_of_tensor(tensor, call);
      std::vector<std::byte> spread;
      const void* from = array;
      if (runs.count > 1 && !tensor.written) {
        spread.assign(static_cast<std::size_t>(runs.span()), kPoison);
        copy_runs(runs, static_cast<const std::byte*>(array), runs.pitch, spread.data(), runs.pitch);
        from = spread.data();
      }
      copies.tensors[static_cast<std::size_t>(tensor.role)] =
          make(name_of(tensor.role), from, tensor.written ? 0 : runs.span(), runs.span());
    }
  }
  const auto workspace = form.workspace_bytes(call.shape);
  if (workspace && *workspace > 0) {
    const bool packed_before = form.recipe().may_omit_weight() && arrays.of(Role::kWeight) == nullptr;
    copies.workspace = make("workspace", arrays.workspace, packed_before ? form.kept_bytes() : 0, *workspace);
  }
  return done ? Outcome<Copies>(std::move(copies)) : std::unexpected(std::move(done.error()));
}

Outcome<void> HostKernel::copy_out(const Arrays& arrays, const Copies& copies, const Call& call) const {
  Outcome<void> done;
  const auto copy = [&](std::string_view name, void* to, const Owned& from, std::int64_t bytes) {
    if (!done || bytes == 0) {
      return;
    }
    const auto copied =
        device_->download(std::span(static_cast<std::byte*>(to), static_cast<std::size_t>(bytes)), *from);
    if (!copied) {
      done = fail_with(Status::kInternal, fmt::format("{}: {}", name, copied.error().message));
    }
  };
  const CallForm& form = facts().form;
  if (arrays.of(Role::kWeight) != nullptr) {
    copy("workspace", arrays.workspace, copies.workspace, form.kept_bytes());
  }
  for (const Tensor& tensor : form.recipe().tensors) {
    if (!tensor.written) {
      continue;
    }
    const TensorRuns runs = runs_of_tensor(tensor, call);
    const Owned& own = copies.tensors[static_cast<std::size_t>(tensor.role)];
    if (runs.count == 1) {
      copy(name_of(tensor.role), arrays.of(tensor.role), own, runs.bytes());
      continue;
    }
    std::vector<std::byte> spread(static_cast<std::size_t>(runs.span()));
    copy(name_of(tensor.role), spread.data(), own, runs.span());
    if (done && !gaps_hold(runs, spread, kPoison)) {
      return fail_with(Status::kKernelFault,
                       fmt::format("{}: the kernel wrote into other channels of its tensor", name_of(tensor.role)));
    }
    if (done) {
      copy_runs(runs, spread.data(), runs.pitch, static_cast<std::byte*>(arrays.of(tensor.role)), runs.pitch);
    }
  }
  return done;
}

Outcome<void> HostKernel::launch(const Arrays& arrays, const InputSizes& sizes, void* stream) {
  if (stream != nullptr) {
    return fail_with(Status::kInvalidArgument, "stream must be null on the host device, which has none");
  }
  const CallForm& form = facts().form;
  const auto checked = form.call(arrays, sizes);
  if (!checked) {
    return fail_with(Status::kInvalidArgument, checked.error());
  }
  if (checked->is_empty) {
    return {};
  }
  const auto copies = copy_in(arrays, *checked);
  if (!copies) {
    return std::unexpected(copies.error());
  }
  const auto call = form.call(copies->arrays(), sizes);
  if (!call) {
    return fail_with(Status::kInvalidArgument, call.error());
  }
  const auto launches = launches_of(form, copies->arrays(), *call);
  if (!launches) {
    return fail_with(Status::kInvalidArgument, launches.error());
  }
  if (const auto ran = run_launches(*device_, kernels_, *launches); !ran) {
    return fail_with(Status::kKernelFault, ran.error());
  }
  return copy_out(arrays, *copies, *call);
}

}  // namespace

Outcome<std::shared_ptr<PreparedKernel>> load_on_host(std::shared_ptr<Device> device, KernelFacts facts,
                                                      const Binary& binary) {
  auto kernels = load_kernels(*device, facts.form.recipe(), binary);
  if (!kernels) {
    return fail_with(Status::kInternal, kernels.error());
  }
  count(counters().loads);
  return std::make_shared<HostKernel>(std::move(device), std::move(facts), *std::move(kernels));
}

}  // namespace convtgen::jit
