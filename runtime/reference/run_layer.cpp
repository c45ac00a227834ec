#include "runtime/reference/run_layer.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <optional>
#include <string_view>
#include <vector>

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

Result<std::unique_ptr<Buffer>> upload_array(Device& device, std::string_view name, const HostArray& array,
                                             void* given) {
  auto buffer = allocate_for(device, name, static_cast<std::int64_t>(array.bytes.size()), given);
  if (!buffer || array.bytes.empty()) {
    return buffer;
  }
  if (auto uploaded = device.upload(**buffer, array.bytes); !uploaded) {
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

bool checks_all(const Layer& layer, const Shape& shape, const VerifyOptions& options) {
  return multiply_adds(layer, shape) <= options.most_for_all && shape.output_elements <= options.most_outputs_for_all;
}

void append(Definition& to, const Definition& part) {
  to.sum.insert(to.sum.end(), part.sum.begin(), part.sum.end());
  to.magnitude.insert(to.magnitude.end(), part.magnitude.begin(), part.magnitude.end());
  to.terms.insert(to.terms.end(), part.terms.begin(), part.terms.end());
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
  return load_made(device, maker_for(device, store)->find_or_compile(std::move(generated), BinaryKind::kCubin));
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
                                     const LayerInputs& inputs, const Arrays& given) {
  auto shape = shape_of(layer, sizes);
  if (!shape) {
    return std::unexpected(shape.error());
  }
  if (auto checked = check_inputs(layer, *shape, inputs); !checked) {
    return std::unexpected(checked.error());
  }
  UploadedInputs uploaded{sizes, *shape, nullptr, nullptr, nullptr};
  const auto put = [&](Role role, const HostArray& array, std::shared_ptr<Buffer>& into) -> Result<void> {
    const std::string_view name = name_of(role);
    auto buffer = upload_array(device, name, array, given.of(role));
    if (!buffer) {
      return std::unexpected(buffer.error());
    }
    into = *std::move(buffer);
    return {};
  };
  if (auto done = put(Role::kX, inputs.x, uploaded.x); !done) {
    return std::unexpected(done.error());
  }
  if (auto done = put(Role::kWeight, inputs.weight, uploaded.weight); !done) {
    return std::unexpected(done.error());
  }
  if (inputs.bias) {
    if (auto done = put(Role::kBias, *inputs.bias, uploaded.bias); !done) {
      return std::unexpected(done.error());
    }
  }
  return uploaded;
}

Result<LayerCall> make_call(Device& device, const LoadedLayer& layer, const InputSizes& sizes,
                            const LayerInputs& inputs) {
  auto uploaded = upload_inputs(device, layer.problem.layer, sizes, inputs);
  if (!uploaded) {
    return std::unexpected(uploaded.error());
  }
  return make_call(device, layer, *std::move(uploaded));
}

Result<LayerCall> make_call(Device& device, const LoadedLayer& layer, UploadedInputs inputs, const Arrays& given) {
  LayerCall call{std::move(inputs), nullptr, nullptr, {}};
  auto y =
      poisoned_array(device, "y", call.shape.output_elements * bytes_of(layer.problem.layer.dtype), given.of(Role::kY));
  if (!y) {
    return std::unexpected(y.error());
  }
  call.y = *std::move(y);
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
  const auto array = [](const auto& buffer) { return buffer ? reinterpret_cast<void*>(buffer->address()) : nullptr; };
  const Arrays arrays =
      forward_arrays(array(call.x), array(call.weight), array(call.bias), array(call.y), array(call.workspace));
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

Result<void> run_call(Device& device, LoadedLayer& layer, const LayerCall& call) {
  return run_launches(device, layer.kernels, call.launches);
}

Result<double> time_call(Device& device, LoadedLayer& layer, const LayerCall& call, int repeats) {
  return time_launches(device, layer.kernels, call.launches, repeats);
}

Result<HostArray> read_output(Device& device, const Layer& layer, const LayerCall& call) {
  HostArray y = make_array(layer.dtype, output_shape(layer, call.shape));
  if (!y.bytes.empty()) {
    if (auto downloaded = device.download(y.bytes, *call.y); !downloaded) {
      return fail(fmt::format("y: {}", downloaded.error().message));
    }
  }
  return y;
}

Result<HostArray> read_samples(Device& device, const Layer& layer, const LayerCall& call,
                               std::span<const std::int64_t> offsets, std::int64_t piece_bytes) {
  const std::int64_t element = bytes_of(layer.dtype);
  const std::int64_t piece = piece_bytes / element;
  HostArray samples = make_array(layer.dtype, {static_cast<std::int64_t>(offsets.size())});
  std::vector<std::byte> bytes;
  std::int64_t loaded = -1;  // the piece that `bytes` holds
  for (std::size_t i = 0; i < offsets.size(); ++i) {
    const std::int64_t begin = offsets[i] / piece * piece;
    if (begin != loaded) {
      bytes.resize(static_cast<std::size_t>(std::min(piece, call.shape.output_elements - begin) * element));
      auto downloaded = device.download_part(bytes, *call.y, static_cast<std::size_t>(begin * element));
      if (!downloaded) {
        return fail(fmt::format("y: {}", downloaded.error().message));
      }
      loaded = begin;
    }
    std::copy_n(bytes.begin() + (offsets[i] - begin) * element, element,
                samples.bytes.begin() + static_cast<std::int64_t>(i) * element);
  }
  return samples;
}

VerifyMemory verify_memory(const Layer& layer, const Shape& shape, const VerifyOptions& options) {
  const std::int64_t element = bytes_of(layer.dtype);
  if (checks_all(layer, shape, options)) {
    const std::int64_t reference = shape.output_elements * kDefinedBytes;
    return {.making = reference + definition_bytes(shape), .checking = reference + shape.output_elements * element};
  }
  const std::int64_t samples = options.samples.random + options.samples.most_borders;
  // Lists that grow have room for up to twice of what is in them.
  const std::int64_t reference = 2 * samples * (kDefinedBytes + static_cast<std::int64_t>(sizeof(std::int64_t)));
  const std::int64_t piece = std::min(kPieceBytes / element, shape.output_elements) * element;
  return {.making = reference, .checking = reference + samples * element + piece};
}

Reference make_reference(const Layer& layer, const Shape& shape, const LayerInputs& inputs,
                         const VerifyOptions& options) {
  if (checks_all(layer, shape, options)) {
    return {define_all(layer, shape, inputs), std::nullopt};
  }
  Reference reference{{}, choose_samples(layer, shape, options.samples)};
  // Slices, so that progress can be told between them.
  const std::span<const std::int64_t> outputs = reference.samples->outputs;
  const std::size_t slice = std::max<std::size_t>(outputs.size() / 50, 4096);
  for (std::size_t begin = 0; begin < outputs.size(); begin += slice) {
    const std::size_t count = std::min(slice, outputs.size() - begin);
    append(reference.definition, define_at(layer, shape, inputs, outputs.subspan(begin, count)));
    if (options.progress) {
      options.progress(static_cast<double>(begin + count) / static_cast<double>(outputs.size()));
    }
  }
  return reference;
}

Result<Verification> verify_call(Device& device, const Layer& layer, const LayerCall& call,
                                 const Reference& reference) {
  const auto& samples = reference.samples;
  const Result<HostArray> got =
      samples ? read_samples(device, layer, call, samples->outputs) : read_output(device, layer, call);
  if (!got) {
    return std::unexpected(got.error());
  }
  const std::span<const std::int64_t> outputs = samples ? samples->outputs : std::span<const std::int64_t>();
  return Verification{compare(layer, call.shape, reference.definition, *got, outputs), samples.has_value(),
                      !samples || samples->all_borders};
}

Result<Verification> verify_call(Device& device, const Layer& layer, const LayerCall& call, const LayerInputs& inputs,
                                 const VerifyOptions& options) {
  return verify_call(device, layer, call, make_reference(layer, call.shape, inputs, options));
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
  auto verification = verify_call(device, problem.layer, *call, inputs, options);
  if (!verification) {
    return std::unexpected(verification.error());
  }
  return LayerRun{*std::move(layer), *std::move(call), *std::move(verification)};
}

}  // namespace convtgen
