// A layer on a device, from plan to verified numbers: what `convtgen run` and the end-to-end tests do.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "generator/planner/plan/plan.h"
#include "generator/specializer/kernel_source.h"
#include "runtime/device/recipe_launch.h"
#include "runtime/make/shared_store.h"
#include "runtime/reference/compare.h"
#include "runtime/reference/definition.h"
#include "runtime/reference/host_array.h"
#include "runtime/reference/layer_inputs.h"
#include "runtime/reference/samples.h"

namespace convtgen {

/// A kernel that is compiled and loaded. It must not outlive the device.
struct LoadedLayer {
  Problem problem;
  Plan plan;
  KernelSource source;
  Binary binary;
  CallForm form;
  LoadedKernels kernels = {};
};

/// Specializes, compiles and loads. The store has what was compiled before. Errors: those of these steps.
[[nodiscard]] Result<LoadedLayer> load_layer(Device& device, const Problem& problem, const Plan& plan,
                                             const std::shared_ptr<Store>& store = store_of(""));
/// Compiles and loads this source for the plan. Errors: those of these steps.
[[nodiscard]] Result<LoadedLayer> load_source(Device& device, const Problem& problem, const Plan& plan,
                                              KernelSource source, const std::shared_ptr<Store>& store = store_of(""));
/// Loads what this source was compiled to. Errors: those of loading.
[[nodiscard]] Result<LoadedLayer> load_binary(Device& device, const Problem& problem, const Plan& plan,
                                              KernelSource source, Binary binary);

/// Arrays on a device by their roles, null if absent.
class RoleBuffers {
 public:
  [[nodiscard]] const std::shared_ptr<Buffer>& of(Role role) const { return buffers_[static_cast<std::size_t>(role)]; }
  void set(Role role, std::shared_ptr<Buffer> buffer) { buffers_[static_cast<std::size_t>(role)] = std::move(buffer); }

 private:
  std::array<std::shared_ptr<Buffer>, kRoles> buffers_;
};

/// What a layer's calls read, on a device, for any number of them. It must not outlive the device.
struct UploadedInputs {
  InputSizes sizes;
  Shape shape;
  RoleBuffers buffers = {};
};

/// What the direction reads, to the arrays that are given, which must be on the device, large enough and not in use;
/// where one is null, or is channels of a larger tensor, to a buffer of its own. Errors: sizes or arrays that don't go
/// with the layer, memory.
[[nodiscard]] Result<UploadedInputs> upload_inputs(Device& device, const Layer& layer, const InputSizes& sizes,
                                                   const LayerInputs& inputs, Direction direction = Direction::kForward,
                                                   const Arrays& given = {});

/// One call of a layer: its arrays on the device, those that it writes among them, and the launches that bind them. It
/// must not outlive the device.
struct LayerCall : UploadedInputs {
  Direction direction = Direction::kForward;
  std::unique_ptr<Buffer> workspace = nullptr;  // null where the recipe needs none
  std::vector<Launch> launches = {};  // one a kernel of the recipe; of zero blocks where there is nothing to compute

  /// There is nothing to compute. A call with an empty batch still writes gradients of the weights: zeros.
  [[nodiscard]] bool is_empty() const;
};

/// A call with inputs of this layer and its direction. What it writes, and its workspace, are the arrays that are
/// given, as for upload_inputs(), or its own; and poisoned, so that an element which is never written is NaN. Errors:
/// memory, a size that the kernels can't have, or an array that is misaligned.
[[nodiscard]] Result<LayerCall> make_call(Device& device, const LoadedLayer& layer, UploadedInputs inputs,
                                          const Arrays& given = {});
/// With inputs of its own. Errors: also those of uploading them.
[[nodiscard]] Result<LayerCall> make_call(Device& device, const LoadedLayer& layer, const InputSizes& sizes,
                                          const LayerInputs& inputs);

/// Runs the call to its end; nothing is launched where there is nothing to compute.
[[nodiscard]] Result<void> run_call(Device& device, LoadedLayer& layer, const LayerCall& call);

/// Milliseconds of all the call's launches, as Device::time() measures; 0 where there is nothing to
/// compute.
[[nodiscard]] Result<double> time_call(Device& device, LoadedLayer& layer, const LayerCall& call, int repeats);

/// An array that the call writes, in the layer's memory order, without other channels of its tensor. Errors: also where
/// the call has changed these.
[[nodiscard]] Result<HostArray> read_output(Device& device, const Layer& layer, const LayerCall& call,
                                            Role role = Role::kY);

inline constexpr std::int64_t kPieceBytes = std::int64_t{256} << 20;

/// The elements at these ascending offsets of an array that the call writes, as a vector; the array is read in pieces,
/// so it may be larger than memory.
[[nodiscard]] Result<HostArray> read_samples(Device& device, const Layer& layer, const LayerCall& call,
                                             std::span<const std::int64_t> offsets, Role role = Role::kY,
                                             std::int64_t piece_bytes = kPieceBytes);

struct VerifyOptions {
  /// The most multiply-adds (of grad_bias: additions) and elements (32 bytes of memory each) for which every element of
  /// an array is checked; above either, samples are.
  std::int64_t most_for_all = std::int64_t{1} << 30;
  std::int64_t most_outputs_for_all = std::int64_t{1} << 26;
  SampleOptions samples;
  bool zero_taps = false;  // what has_zero_taps() of the plan is
  /// Told now and then which part of the work is done, from 0 to 1. May be empty.
  std::function<void(double)> progress;
};

/// Bytes of main memory that verification takes, at most.
struct VerifyMemory {
  std::int64_t making = 0;    // while the reference is made, the inputs not counted
  std::int64_t checking = 0;  // of the reference and of results that are compared with it
};
[[nodiscard]] VerifyMemory verify_memory(const Layer& layer, const Shape& shape, const VerifyOptions& options = {},
                                         Direction direction = Direction::kForward);

/// The reference of an array that calls write: the definition of all its elements, or of samples.
struct ArrayReference {
  Role role = Role::kY;
  Definition definition;
  std::optional<Samples> samples = {};  // that the definition is of; nothing where it is of all elements
  Operands operands = {};
};

/// Of all arrays that calls write. It depends on the layer and its inputs alone, so it serves any number of calls.
struct Reference {
  std::vector<ArrayReference> arrays;
};
[[nodiscard]] Reference make_reference(const Layer& layer, const Shape& shape, const LayerInputs& inputs,
                                       const VerifyOptions& options = {}, Direction direction = Direction::kForward);

struct ArrayVerification {
  Comparison comparison;  // which has the array's role
  bool sampled = false;
  bool all_borders = true;  // where sampled: every border element was among the samples
};

/// Of all arrays that a call writes, what its direction is named after first.
struct Verification {
  std::vector<ArrayVerification> arrays;
  [[nodiscard]] bool passed() const;
};

/// Lines for the user: describe() of each array, after its name where there are several.
[[nodiscard]] std::string describe(const Verification& verification, const Layer& layer);

/// Compares what the call has written on the device with the definition. Errors: those of reading it.
[[nodiscard]] Result<Verification> verify_call(Device& device, const Layer& layer, const LayerCall& call,
                                               const Reference& reference);
/// With a reference of its own.
[[nodiscard]] Result<Verification> verify_call(Device& device, const Layer& layer, const LayerCall& call,
                                               const LayerInputs& inputs, const VerifyOptions& options = {});

/// All of it at once: load, call, run, verify.
struct LayerRun {
  LoadedLayer layer;
  LayerCall call;
  Verification verification;
};
[[nodiscard]] Result<LayerRun> run_layer(Device& device, const Problem& problem, const Plan& plan,
                                         const InputSizes& sizes, const LayerInputs& inputs,
                                         const VerifyOptions& options = {});

}  // namespace convtgen
