#include "generator/launcher/header.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string>
#include <vector>

#include "convtgen_launcher_embedded.h"
#include "generator/language/language.h"
#include "generator/launcher/names.h"
#include "generator/launcher/signature.h"
#include "generator/layer/directions.h"
#include "generator/recipe/array_axes.h"
#include "generator/recipe/recipe.h"

namespace convtgen {
namespace {

// Sentences in a block comment of at most 120 columns, each on a line of its own.
std::string comment(const std::vector<std::string>& sentences) {
  std::string result = "/*";
  std::size_t column = 2;
  for (std::string_view text : sentences) {
    bool begins = column > 2;
    while (!text.empty()) {
      const std::string_view word = text.substr(0, text.find(' '));
      text.remove_prefix(std::min(text.size(), word.size() + 1));
      if (begins || column + 1 + word.size() + 3 > 120) {
        result += "\n *";
        column = 2;
        begins = false;
      }
      result += fmt::format(" {}", word);
      column += 1 + word.size();
    }
  }
  return result + " */\n";
}

// "64", or what a function of the layer calls an open size: "batch", "height", "out_height".
std::string extent_text(const Layer& layer, const Amount& extent) {
  if (extent.factor == 0) {
    return fmt::format("{}", extent.constant);
  }
  if (extent.per == Quantity::kBatch) {
    return "batch";
  }
  for (const std::size_t index : axes_of(layer)) {
    if (extent.per == static_cast<Quantity>(static_cast<std::size_t>(Quantity::kOutDepth) + index)) {
      return fmt::format("out_{}", axis_name(layer, index));
    }
    if (extent.per == static_cast<Quantity>(static_cast<std::size_t>(Quantity::kInDepth) + index)) {
      return std::string(axis_name(layer, index));
    }
  }
  return {};
}

// "x (batch, 64, height, width), weight (64, 32, 4, 4), bias (32) -> y (batch, 32, ...)."; with weights that are
// channels last "weight (64, 4, 4, 32; output channels last)".
std::string arrays_text(const Layer& layer, Direction direction) {
  const auto list = [&](const std::vector<Role>& roles) {
    std::vector<std::string> texts;
    for (const Role role : roles) {
      std::vector<std::string> extents;
      for (const ArrayAxis& axis : axes_of_array(layer, role)) {
        extents.push_back(extent_text(layer, axis.extent));
      }
      const bool is_weight = role == Role::kWeight || role == Role::kGradWeight;
      const bool channels_last = is_weight && layer.weight_layout == WeightLayout::kChannelsLast;
      const Size all = tensor_channels(layer, role);
      texts.push_back(fmt::format("{} ({}{}{})", name_of(role), fmt::join(extents, ", "),
                                  channels_last ? "; output channels last" : "",
                                  all ? fmt::format("; channels of a tensor of {}", *all) : ""));
    }
    return fmt::format("{}", fmt::join(texts, ", "));
  };
  const Roles roles = roles_of(layer, direction);
  return fmt::format("{} -> {}.", list(roles.read), list(roles.written));
}

// CUDA's 16-bit floats, whose headers programs need not have.
struct CudaType {
  Dtype dtype;
  std::string_view name, header, exists;
};
constexpr CudaType kCudaTypes[] = {{Dtype::kF16, "__half", "cuda_fp16.h", "__CUDA_FP16_TYPES_EXIST__"},
                                   {Dtype::kBf16, "__nv_bfloat16", "cuda_bf16.h", "__CUDA_BF16_TYPES_EXIST__"}};

std::string element_note(Dtype dtype) {
  for (const CudaType& type : kCudaTypes) {
    if (dtype == type.dtype) {
      return fmt::format(" Elements are the bits of {}; in C++ where {} is included, also {}.", name_of(dtype),
                         type.header, type.name);
    }
  }
  return "";
}

std::string kernel_declarations(const LayerSet& set, const SetKernel& kernel) {
  const Signature signature = signature_of(set, kernel);
  std::string text = comment({fmt::format("{}, {}: {}.", kernel.layer_name, name_of(kernel.direction),
                                          canonical_form(in_direction(kernel.layer, kernel.direction))),
                              arrays_text(kernel.layer, kernel.direction) + element_note(kernel.layer.dtype)});
  for (const CFunction& function : functions_of(set, signature)) {
    text += prototype(function, signature.function) + ";\n";
  }
  return text + "\n";
}

// The same functions in a namespace: "net::up_forward(...)".
std::string kernel_inlines(const LayerSet& set, const SetKernel& kernel) {
  const Signature signature = signature_of(set, kernel);
  const std::string stem = stem_of(kernel.layer_name, kernel.direction);
  std::string text;
  for (CFunction function : functions_of(set, signature)) {
    const std::string head = fmt::format("  return ::{}{}", signature.function, function.suffix);
    function.result = "inline " + function.result;
    text += fmt::format("{} {{\n{};\n}}\n", prototype(function, stem), wrapped(head, names_of(function.parameters)));
  }
  return text;
}

// The call with arrays of CUDA's type, for C++.
std::string cuda_overload(const LayerSet& set, const SetKernel& kernel, const CudaType& type) {
  const Signature signature = signature_of(set, kernel);
  CFunction call = functions_of(set, signature).front();
  std::vector<std::string> arguments;
  for (CParameter& parameter : call.parameters) {
    std::string argument = parameter.name;
    if (const std::size_t at = parameter.type.find("uint16_t"); at != std::string::npos) {
      argument = fmt::format("reinterpret_cast<{}>({})", parameter.type, parameter.name);
      parameter.type.replace(at, std::string_view("uint16_t").size(), type.name);
    }
    arguments.push_back(std::move(argument));
  }
  call.result = "inline int";
  return fmt::format("{} {{\n{};\n}}\n", prototype(call, stem_of(kernel.layer_name, kernel.direction)),
                     wrapped(fmt::format("  return ::{}", signature.function), arguments));
}

// Below the header's own guard and with their own: a program may include the header before CUDA's and again after it.
std::string cuda_overloads(const LayerSet& set, const std::vector<SetKernel>& kernels) {
  std::string text;
  for (const CudaType& type : kCudaTypes) {
    std::string overloads;
    for (const SetKernel& kernel : kernels) {
      if (kernel.layer.dtype == type.dtype) {
        overloads += cuda_overload(set, kernel, type);
      }
    }
    if (!overloads.empty()) {
      const std::string guard = fmt::format("{}_LAYERS_{}", capitals(set.name_space), capitals(name_of(type.dtype)));
      text += fmt::format(
          "\n#if defined(__cplusplus) && defined({1}) && !defined({2})\n#define {2}\n"
          "namespace {0} {{\n\n{3}\n}} /* namespace {0} */\n#endif\n",
          set.name_space, type.exists, guard, overloads);
    }
  }
  return text;
}

}  // namespace

std::string header_text(const LayerSet& set, const std::vector<SetKernel>& kernels) {
  const std::string& name = set.name_space;
  const std::string guard = capitals(name) + "_LAYERS_H";
  std::string c, cpp;
  for (const SetKernel& kernel : kernels) {
    c += kernel_declarations(set, kernel);
    cpp += kernel_inlines(set, kernel);
  }
  return fmt::format(
      R"(/* The layers of "{name}". Made by convtgen.
 *
 * Each layer has one function a direction, which puts one call on a stream and returns an {name}_status, 0 where all is
 * well. Its comment lists the arrays that it reads -> those that it writes; grad_x is the gradient of x, and so on.
 * Arrays are without gaps and on the GPU (in host memory on the host device, see {name}_use_host()); sizes are those
 * of x, and only those that the layer leaves open; stream is a CUstream or cudaStream_t, null for the default stream.
 * Functions may be called from any thread. The first call in a context loads the kernel; no later one locks, allocates
 * or loads anything, and it can be captured in a CUDA graph.
 *   _sizes          all extents of a call, that of y among them
 *   _workspace      bytes of the workspace of a call; 0: it needs none, and null will do
 *   _prepare        loads the kernel in the calling thread's context
 *   _keeps_weights  whether calls in this context may leave weight out; loads the kernel, as _prepare does
 *   _stream         of a layer with streaming: how it runs while its input arrives
 *
 * workspace is memory where the arrays are, workspace_bytes of it, at a multiple of {workspace} bytes. A kernel that
 * reads weights in an order of its own has a packed copy of them there. A call packs its weights and then runs the
 * kernel; with weight null it runs the kernel with what an earlier call has packed, so that weights which stay the same
 * are packed once. Kernels for other GPUs may read the weights in each call, and then null is an error: _keeps_weights
 * sets *keeps to 1 where null is legal, and to 0 where each call needs the weights. Calls that may run at the same time
 * need different workspaces, unless weight is null in all of them and the kernel keeps nothing else there. */
#ifndef {guard}
#define {guard}

{common}
#ifdef __cplusplus
extern "C" {{
#endif

{c}#ifdef __cplusplus
}} /* extern "C" */

namespace {name} {{

{cpp}
}} /* namespace {name} */
#endif

#endif /* {guard} */
{cuda})",
      fmt::arg("name", name), fmt::arg("guard", guard), fmt::arg("workspace", kWorkspaceAlignment),
      fmt::arg("common", with_namespace(support_sources::common(), name)), fmt::arg("c", c), fmt::arg("cpp", cpp),
      fmt::arg("cuda", cuda_overloads(set, kernels)));
}

}  // namespace convtgen
