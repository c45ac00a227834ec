#include "runtime/reference/run_layer.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <optional>
#include <string_view>
#include <vector>

#include "runtime/device/tensor_runs.h"
#include "runtime/make/device_maker.h"

namespace convtgen {
namespace {

constexpr std::byte kPoison{0xff};  // every float of these bytes is a NaN

/// An array of the caller's.
class GivenBuffer final : public Buffer {
 public:
  GivenBuffer(void* array, std::int64_t bytes) : array_(array), bytes_(static_cast<std::size_t>(bytes)) {}
  [[nodiscard]] std::uint64_t address() const override { return reinterpret_cast<std::uint64_t>(array_); }
  [[nodiscard]] std::size_t bytes() const override { return bytes_; }

 private:
  void* array_;
  std::size_t bytes_;
};

/// What is given, or where that is null, new memory.
Result<std::unique_ptr<Buffer>> allocate_for(Device& device, std::string_view name, std::int64_t bytes, void* given) {
  if (given != nullptr) {
    return std::make_unique<GivenBuffer>(given, bytes);
  }
  // A buffer of no bytes still needs an address.
  auto buffer = device.allocate(static_cast<std::size_t>(std::max<std::int64_t>(bytes, 1)));
  if (!buffer) {
    return fail(fmt::format("{}: no {} bytes on {}: {}", name, bytes, device.name(), buffer.error().message));
  }
  return buffer;
}

/// The tensor of a role in calls of this shape, and where its bytes lie.
TensorRuns runs_of(const Layer& layer, const Shape& shape, Direction direction, Role role) {
  const std::vector<Tensor> tensors = tensors_of(layer, direction, 0);
  return runs_of(*std::ranges::find(tensors, role, &Tensor::role), quantities_of(shape), bytes_of(layer.dtype));
}

/// A larger tensor than the layer's own is never the caller's: its other channels are poisoned.
void* given_for(const TensorRuns& runs, void* given) {
  return runs.count == 1 ? given : nullptr;
}

Result<std::unique_ptr<Buffer>> upload_array(Device& device, std::string_view name, const HostArray& array,
                                             const TensorRuns& runs, void* given) {
  auto buffer = allocate_for(device, name, runs.span(), given_for(runs, given));
  if (!buffer || array.bytes.empty()) {
    return buffer;
  }
  std::vector<std::byte> spread;
  if (runs.count > 1) {
    spread.assign(static_cast<std::size_t>(runs.span()), kPoison);
    copy_runs(runs, array.bytes.data(), runs.run, spread.data(), runs.pitch);
  }
  if (auto uploaded = device.upload(**buffer, runs.count > 1 ? spread : array.bytes); !uploaded) {
    return fail(fmt::format("{}: {}", name, uploaded.error().message));
  }
  return buffer;
}

Result<std::unique_ptr<Buffer>> poisoned_array(Device& device, std::string_view name, std::int64_t bytes, void* given) {
  auto buffer = allocate_for(device, name, bytes, given);
  if (!buffer) {
    return buffer;
  }
  if (auto poisoned = device.poison(**buffer, kPoison); !poisoned) {
    return std::unexpected(poisoned.error());
  }
  return buffer;
}

void* pointer_to(const Buffer* buffer) {
  return buffer != nullptr ? reinterpret_cast<void*>(buffer->address()) : nullptr;
}

bool checks_all(const Layer& layer, const Shape& shape, const VerifyOptions& options, Role role) {
  const std::int64_t terms = role == Role::kGradBias ? shape.output_elements : multiply_adds(layer, shape);
  return terms <= options.most_for_all && element_count(shape, role) <= options.most_outputs_for_all;
}

void append(Definition& to, const Definition& part) {
  to.sum.insert(to.sum.end(), part.sum.begin(), part.sum.end());
  to.magnitude.insert(to.magnitude.end(), part.magnitude.begin(), part.magnitude.end());
  to.terms.insert(to.terms.end(), part.terms.begin(), part.terms.end());
  to.carried.insert(to.carried.end(), part.carried.begin(), part.carried.end());
}

/// `progress` is called with the part of this array's work that is done.
ArrayReference reference_of(const Layer& layer, const Shape& shape, const LayerInputs& inputs,
                            const VerifyOptions& options, Role role, const std::function<void(double)>& progress) {
  if (checks_all(layer, shape, options, role)) {
    return {role, define_all(layer, shape, inputs, role)};
  }
  ArrayReference reference{role, {}, choose_samples(layer, shape, options.samples, role)};
  // Slices, so that progress can be reported between them. An element of grad_weight or grad_bias is much work.
  const std::span<const std::int64_t> offsets = reference.samples->offsets;
  const bool is_image = role == Role::kY || role == Role::kGradX;
  const std::size_t slice = std::max<std::size_t>(offsets.size() / 50, is_image ? 4096 : 16);
  for (std::size_t begin = 0; begin < offsets.size(); begin += slice) {
    const std::size_t count = std::min(slice, offsets.size() - begin);
    append(reference.definition, define_at(layer, shape, inputs, offsets.subspan(begin, count), role));
    if (options.progress) {
      progress(static_cast<double>(begin + count) / static_cast<double>(offsets.size()));
    }
  }
  return reference;
}

/// The largest size of its finite elements.
double largest_finite(const HostArray& array) {
  double largest = 0;
  for (std::int64_t i = 0; i < array.size(); ++i) {
    const double size = std::abs(array.at(i));
    largest = std::isfinite(size) ? std::max(largest, size) : largest;
  }
  return largest;
}

Result<LoadedLayer> load_made(Device& device, Outcome<MadeKernel> made) {
  if (!made) {
    return fail(made.error().message);
  }
  return load_binary(device, made->problem, made->plan, std::move(made->source), std::move(made->binary));
}

}  // namespace

Result<LoadedLayer> load_layer(Device& device, const Problem& problem, const Plan& plan,
                               const std::shared_ptr<Store>& store) {
  return load_made(device, maker_for(device, store)->make(problem, plan));
}

Result<LoadedLayer> load_source(Device& device, const Problem& problem, const Plan& plan, KernelSource source,
                                const std::shared_ptr<Store>& store) {
  MadeKernel generated = generated_kernel(problem, plan, std::move(source));
  const auto maker = maker_for(device, store);
  return load_made(device, maker->find_or_compile(std::move(generated), maker->kind()));
}

Result<LoadedLayer> load_binary(Device& device, const Problem& problem, const Plan& plan, KernelSource source,
                                Binary binary) {
  auto form = CallForm::make(problem.layer, source.recipe);
  if (!form) {
    return std::unexpected(form.error());
  }
  auto kernels = load_kernels(device, source.recipe, binary);
  if (!kernels) {
    return std::unexpected(kernels.error());
  }
  return LoadedLayer{problem, plan, std::move(source), std::move(binary), *std::move(form), *std::move(kernels)};
}

Result<UploadedInputs> upload_inputs(Device& device, const Layer& layer, const InputSizes& sizes,
                                     const LayerInputs& inputs, Direction direction, const Arrays& given) {
  auto shape = shape_of(layer, sizes);
  if (!shape) {
    return std::unexpected(shape.error());
  }
  if (auto checked = check_inputs(layer, *shape, inputs, direction); !checked) {
    return std::unexpected(checked.error());
  }
  UploadedInputs uploaded{sizes, *shape};
  for (const Role role : roles_of(layer, direction).read) {
    auto buffer =
        upload_array(device, name_of(role), *inputs.of(role), runs_of(layer, *shape, direction, role), given.of(role));
    if (!buffer) {
      return std::unexpected(buffer.error());
    }
    uploaded.buffers.set(role, *std::move(buffer));
  }
  return uploaded;
}

Result<LayerCall> make_call(Device& device, const LoadedLayer& layer, const InputSizes& sizes,
                            const LayerInputs& inputs) {
  auto uploaded = upload_inputs(device, layer.problem.layer, sizes, inputs, layer.problem.direction);
  if (!uploaded) {
    return std::unexpected(uploaded.error());
  }
  return make_call(device, layer, *std::move(uploaded));
}

Result<LayerCall> make_call(Device& device, const LoadedLayer& layer, UploadedInputs inputs, const Arrays& given) {
  LayerCall call{std::move(inputs), layer.problem.direction};
  Arrays arrays;
  for (const Tensor& tensor : layer.form.recipe().tensors) {
    if (tensor.written) {
      const TensorRuns runs = runs_of(tensor, quantities_of(call.shape), bytes_of(layer.problem.layer.dtype));
      auto buffer = poisoned_array(device, name_of(tensor.role), runs.span(), given_for(runs, given.of(tensor.role)));
      if (!buffer) {
        return std::unexpected(buffer.error());
      }
      call.buffers.set(tensor.role, *std::move(buffer));
    }
    arrays.set(tensor.role, pointer_to(call.buffers.of(tensor.role).get()));
  }
  const auto workspace_bytes = layer.form.workspace_bytes(call.shape);
  if (!workspace_bytes) {
    return std::unexpected(workspace_bytes.error());
  }
  if (*workspace_bytes > 0) {
    auto workspace = poisoned_array(device, "workspace", *workspace_bytes, given.workspace);
    if (!workspace) {
      return std::unexpected(workspace.error());
    }
    call.workspace = *std::move(workspace);
  }
  arrays.workspace = pointer_to(call.workspace.get());
  const auto checked = layer.form.call(arrays, call.sizes);
  if (!checked) {
    return std::unexpected(checked.error());
  }
  auto launches = launches_of(layer.form, arrays, *checked);
  if (!launches) {
    return std::unexpected(launches.error());
  }
  call.launches = *std::move(launches);
  return call;
}

bool LayerCall::is_empty() const {
  return std::ranges::all_of(launches, [](const Launch& launch) { return launch.blocks == 0; });
}

Result<void> run_call(Device& device, LoadedLayer& layer, const LayerCall& call) {
  return run_launches(device, layer.kernels, call.launches);
}

Result<double> time_call(Device& device, LoadedLayer& layer, const LayerCall& call, int repeats) {
  return time_launches(device, layer.kernels, call.launches, repeats);
}

Result<HostArray> read_output(Device& device, const Layer& layer, const LayerCall& call, Role role) {
  HostArray array = make_array(layer.dtype, array_shape(layer, call.shape, role));
  if (array.bytes.empty()) {
    return array;
  }
  const TensorRuns runs = runs_of(layer, call.shape, call.direction, role);
  std::vector<std::byte> spread(runs.count == 1 ? 0 : static_cast<std::size_t>(runs.span()));
  std::vector<std::byte>& bytes = runs.count == 1 ? array.bytes : spread;
  if (auto downloaded = device.download(bytes, *call.buffers.of(role)); !downloaded) {
    return fail(fmt::format("{}: {}", name_of(role), downloaded.error().message));
  }
  if (runs.count > 1) {
    if (!gaps_hold(runs, spread, kPoison)) {
      return fail(fmt::format("{}: the kernel wrote into other channels of its tensor", name_of(role)));
    }
    copy_runs(runs, spread.data(), runs.pitch, array.bytes.data(), runs.run);
  }
  return array;
}

Result<HostArray> read_samples(Device& device, const Layer& layer, const LayerCall& call,
                               std::span<const std::int64_t> offsets, Role role, std::int64_t piece_bytes) {
  const std::int64_t element = bytes_of(layer.dtype);
  const TensorRuns runs = runs_of(layer, call.shape, call.direction, role);
  const std::int64_t elements = runs.span() / element, run = std::max<std::int64_t>(1, runs.run / element);
  const std::int64_t piece = piece_bytes / element;
  HostArray samples = make_array(layer.dtype, {static_cast<std::int64_t>(offsets.size())});
  std::vector<std::byte> bytes;
  std::int64_t loaded = -1;  // the piece that `bytes` holds
  for (std::size_t i = 0; i < offsets.size(); ++i) {
    const std::int64_t offset = offsets[i] / run * (runs.pitch / element) + offsets[i] % run;
    const std::int64_t begin = offset / piece * piece;
    if (begin != loaded) {
      bytes.resize(static_cast<std::size_t>(std::min(piece, elements - begin) * element));
      auto downloaded = device.download_part(bytes, *call.buffers.of(role), static_cast<std::size_t>(begin * element));
      if (!downloaded) {
        return fail(fmt::format("{}: {}", name_of(role), downloaded.error().message));
      }
      loaded = begin;
    }
    std::copy_n(bytes.begin() + (offset - begin) * element, element,
                samples.bytes.begin() + static_cast<std::int64_t>(i) * element);
  }
  return samples;
}

VerifyMemory verify_memory(const Layer& layer, const Shape& shape, const VerifyOptions& options, Direction direction) {
  const std::int64_t element = bytes_of(layer.dtype);
  std::int64_t references = 0, making = 0, reading = 0;  // the latter two of one array at a time
  for (const Role role : roles_of(layer, direction).written) {
    const std::int64_t elements = element_count(shape, role);
    if (checks_all(layer, shape, options, role)) {
      references += elements * defined_bytes(layer);
      making = std::max(making, definition_bytes(layer, shape, role));
      reading = std::max(reading, elements * element);
    } else {
      const std::int64_t samples = most_samples(shape, options.samples, role);
      // Lists that grow have room for up to twice of what is in them.
      references += 2 * samples * (defined_bytes(layer) + static_cast<std::int64_t>(sizeof(std::int64_t)));
      const std::int64_t piece = std::min(kPieceBytes / element, elements) * element;
      reading = std::max(reading, samples * element + piece);
    }
  }
  return {.making = references + making, .checking = references + reading};
}

Reference make_reference(const Layer& layer, const Shape& shape, const LayerInputs& inputs,
                         const VerifyOptions& options, Direction direction) {
  const std::vector<Role> roles = roles_of(layer, direction).written;
  double largest = 0;
  for (const Role role : layer.compute == Compute::kTf32 ? roles_of(layer, direction).read : std::vector<Role>()) {
    const bool is_activated = role == Role::kX && !layer.fuse_input.empty();
    largest += role == Role::kBias ? 0
               : is_activated      ? largest_finite(activated_input(layer, inputs.x))
                                   : largest_finite(*inputs.of(role));
  }
  Reference reference;
  for (const Role role : roles) {
    const auto done = static_cast<double>(reference.arrays.size());
    const auto progress = [&](double fraction) {
      options.progress((done + fraction) / static_cast<double>(roles.size()));
    };
    reference.arrays.push_back(reference_of(layer, shape, inputs, options, role, progress));
    Operands& operands = reference.arrays.back().operands;
    operands = {largest, NanLimit(layer, shape, role, inputs.weight)};
    if (role == Role::kY && options.zero_taps) {
      operands.nan.add_zero_taps(layer.fuse_input.empty() ? inputs.x : activated_input(layer, inputs.x));
    }
  }
  return reference;
}

bool Verification::passed() const {
  return std::ranges::all_of(arrays, [](const ArrayVerification& array) { return array.comparison.passed(); });
}

std::string describe(const Verification& verification, const Layer& layer) {
  std::string text;
  for (const ArrayVerification& array : verification.arrays) {
    const std::string name =
        verification.arrays.size() > 1 ? fmt::format("{}: ", name_of(array.comparison.role)) : std::string();
    text += fmt::format("{}{}{}", text.empty() ? "" : "\n", name, describe(array.comparison, layer));
  }
  return text;
}

Result<Verification> verify_call(Device& device, const Layer& layer, const LayerCall& call,
                                 const Reference& reference) {
  Verification verification;
  for (const auto& [role, definition, samples, operands] : reference.arrays) {
    const Result<HostArray> got =
        samples ? read_samples(device, layer, call, samples->offsets, role) : read_output(device, layer, call, role);
    if (!got) {
      return std::unexpected(got.error());
    }
    const std::span<const std::int64_t> offsets = samples ? samples->offsets : std::span<const std::int64_t>();
    verification.arrays.push_back({compare(layer, call.shape, definition, *got, offsets, role, operands),
                                   samples.has_value(), !samples || samples->all_borders});
  }
  return verification;
}

Result<Verification> verify_call(Device& device, const Layer& layer, const LayerCall& call, const LayerInputs& inputs,
                                 const VerifyOptions& options) {
  return verify_call(device, layer, call, make_reference(layer, call.shape, inputs, options, call.direction));
}

Result<LayerRun> run_layer(Device& device, const Problem& problem, const Plan& plan, const InputSizes& sizes,
                           const LayerInputs& inputs, const VerifyOptions& options) {
  auto layer = load_layer(device, problem, plan);
  if (!layer) {
    return std::unexpected(layer.error());
  }
  auto call = make_call(device, *layer, sizes, inputs);
  if (!call) {
    return std::unexpected(call.error());
  }
  if (auto done = run_call(device, *layer, *call); !done) {
    return std::unexpected(done.error());
  }
  VerifyOptions of_plan = options;
  of_plan.zero_taps = has_zero_taps(plan);
  auto verification = verify_call(device, problem.layer, *call, inputs, of_plan);
  if (!verification) {
    return std::unexpected(verification.error());
  }
  return LayerRun{*std::move(layer), *std::move(call), *std::move(verification)};
}

}  // namespace convtgen
