// The launch code of one kernel: its binaries or sources, what launches need of them, and its functions.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "generator/language/language.h"
#include "generator/launcher/launcher.h"
#include "generator/launcher/names.h"
#include "generator/launcher/recipe_text.h"
#include "generator/launcher/signature.h"
#include "generator/layer/directions.h"
#include "generator/planner/chip/chip_code.h"

namespace convtgen {
namespace {

/// One kernel on its way to text.
struct Writer {
  const LayerSet& set;
  const SetKernel& kernel;
  const std::vector<TargetKernel>& made;
  std::string name;   // "net"
  std::string large;  // "NET"
  std::string stem;   // "up_forward"
  std::string full;   // "net_up_forward"
};

/// "net_up_forward_sm_80": the bytes of a binary, or the namespace of a source.
std::string code_name(const Writer& writer, const CodeTarget& code) {
  return fmt::format("{}_{}", writer.full, name_of(code));
}

/// What is compiled in its own pass of nvcc serves its cubin and its PTX.
std::vector<const TargetKernel*> sources_of(const Writer& writer) {
  std::vector<const TargetKernel*> sources;
  for (const TargetKernel& made : writer.made) {
    const bool known = std::ranges::any_of(sources, [&](const TargetKernel* source) {
      return source->code.target.architecture == made.code.target.architecture;
    });
    if (!known) {
      sources.push_back(&made);
    }
  }
  return sources;
}

std::string architecture_names(const Writer& writer) {
  std::vector<std::string> names;
  for (const CodeTarget& code : writer.set.targets) {
    names.push_back(name_of(code));
  }
  return fmt::format("{}", fmt::join(names, " "));
}

/// The name of a kernel where nvcc compiles it with the launch code: "net_up_forward_sm_80_0".
std::string kernel_name(const Writer& writer, const CodeTarget& code, std::size_t kernel) {
  return fmt::format("{}_{}", code_name(writer, code), kernel);
}

/// A binary on its way to text.
struct BinaryText {
  const TargetKernel& made;
  std::string image = "NULL";  // what the driver loads
  std::string maps;            // the name of its array of tensor maps
  bool has_functions = false;  // for the CUDA runtime, in a namespace of the binary's name
};

/// The initialiser of an NS_binary.
std::string binary_text(const Writer& writer, const BinaryText& binary) {
  const TargetKernel& made = binary.made;
  const int major = made.code.target.capability / 10;
  unsigned minors = 0;
  for (int minor = 0; minor < 10; ++minor) {
    minors |= cubin_runs_on(made.code.target, 10 * major + minor) ? 1U << minor : 0;
  }
  const auto function = [&](std::size_t kernel) {
    return binary.has_functions ? fmt::format("(const void*){}::{}", code_name(writer, made.code),
                                              kernel_name(writer, made.code, first_launch(made.source.recipe, kernel)))
                                : std::string("NULL");
  };
  return fmt::format("{{\"{}\", {}, /* minors */ 0x{:x}, /* PTX */ {}, {}, {}}}", name_of(made.code),
                     made.code.target.capability, minors, made.code.is_ptx ? 1 : 0, binary.image,
                     recipe_text(writer.large, made.source.recipe, binary.maps, function));
}

/// The definition of the array of its tensor maps, where it has any.
std::string maps_of(const Writer& writer, const BinaryText& binary) {
  return maps_text(writer.large, writer.name + "_map", binary.maps, binary.made.source.recipe);
}

std::string incbin_text(const Writer& writer, const std::string& symbol, const std::string& file, bool with_end) {
  const auto label = [](const std::string& name) {
    return fmt::format(
        "    \".globl {0}\\n\"\n"
        "    \".hidden {0}\\n\"\n"
        "    \"{0}:\\n\"\n",
        name);
  };
  return fmt::format(
      "__asm__(\n"
      "    \".section .rodata\\n\"\n"
      "    \".balign 64\\n\"\n"
      "{}"
      "    \".incbin \\\"{}\\\"\\n\"\n"
      "{}"
      "    \".byte 0\\n\"\n"
      "    \".previous\\n\");\n"
      "extern {}_HIDDEN const char {}[]{};\n\n",
      label(symbol), file, with_end ? label(symbol + "_end") : "", writer.large, symbol,
      with_end ? fmt::format(";\nextern {}_HIDDEN const char {}_end[]", writer.large, symbol) : "");
}

std::string c_linkage(const std::string& text) {
  return fmt::format("#ifdef __cplusplus\nextern \"C\" {{\n#endif\n{}#ifdef __cplusplus\n}}\n#endif\n", text);
}

std::string size_text(const Size& size) {
  return size ? fmt::format("{}", *size) : "-1";
}

/// The tensors of the call, with the alignment of the binary that needs the most: programs should not meet a new rule
/// on a new chip.
std::vector<Tensor> tensors_of_all(const Writer& writer) {
  std::vector<Tensor> tensors = writer.made.front().source.recipe.tensors;
  for (const TargetKernel& made : writer.made) {
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      tensors[i].alignment = std::max(tensors[i].alignment, made.source.recipe.tensors[i].alignment);
    }
  }
  return tensors;
}

/// What does not depend on the architecture.
std::string form_text(const Writer& writer, std::size_t binaries) {
  const Layer& layer = writer.kernel.layer;
  std::vector<std::string> axes;
  for (std::size_t index = 0; index < kAxes; ++index) {
    const Axis& axis = layer.axes[index];
    axes.push_back(fmt::format("{{\"{}\", {}, {}, {}}}", axis_name(layer, index), size_text(axis.extent), axis.stride,
                               output_extent(axis, 1)));
  }
  const std::string host = writer.set.host ? fmt::format("&{}_host", writer.full) : "NULL";
  return fmt::format(
      "static {name}_place* {full}_places;\n\n"
      "static const {name}_form {full}_form = {{\n"
      "    /* batch */ {batch},\n"
      "    /* axes: extent, stride, output of one input element */\n"
      "    {{{axes}}},\n"
      "    /* channels */ {in}, {out},\n"
      "    /* elements of weight and bias */ {weight}, {bias},\n"
      "    /* bytes of an element */ {bytes},\n"
      "    {tensors},\n"
      "    {full}_binaries, {binaries},\n"
      "    {host},\n"
      "    &{full}_places,\n"
      "}};\n\n"
      "const {name}_kernel {full}_kernel = {{\n"
      "    \"{stem}\",\n    \"{layer}\",\n    \"{direction}\",\n"
      "    \"{text}\",\n"
      "    \"{architectures}\",\n    &{full}_form,\n"
      "}};\n",
      fmt::arg("name", writer.name), fmt::arg("full", writer.full), fmt::arg("stem", writer.stem),
      fmt::arg("batch", size_text(layer.batch)), fmt::arg("axes", fmt::join(axes, ", ")),
      fmt::arg("in", layer.in_channels), fmt::arg("out", layer.out_channels),
      fmt::arg("weight", weight_elements(layer)), fmt::arg("bias", layer.bias ? layer.out_channels : 0),
      fmt::arg("bytes", bytes_of(layer.dtype)), fmt::arg("tensors", tensors_text(writer.large, tensors_of_all(writer))),
      fmt::arg("binaries", binaries), fmt::arg("host", host), fmt::arg("layer", writer.kernel.layer_name),
      fmt::arg("direction", name_of(writer.kernel.direction)),
      fmt::arg("text", canonical_form(in_direction(layer, writer.kernel.direction))),
      fmt::arg("architectures", architecture_names(writer)));
}

/// What each of the functions does, by its suffix.
std::string body_of(const Writer& writer, const Signature& signature, const CFunction& function) {
  const std::string kernel = fmt::format("&{}_kernel", writer.full);
  const std::string input = fmt::format("  const {}_input input = {{{}, {{{}}}}};\n", writer.name, signature.batch,
                                        fmt::join(signature.extents, ", "));
  if (function.suffix == "_sizes") {
    return input + fmt::format("  return {}_kernel_sizes({}, &input, sizes);\n", writer.name, kernel);
  }
  if (function.suffix == "_prepare") {
    return fmt::format("  return {}_kernel_prepare({});\n", writer.name, kernel);
  }
  if (function.suffix == "_keeps_weights") {
    return fmt::format("  return {}_kernel_keeps_weights({}, keeps);\n", writer.name, kernel);
  }
  if (function.suffix == "_stream") {
    const Stream& stream = signature.stream.value();
    return fmt::format(
        "  stream->context = {};\n"
        "  stream->stride = {};\n"
        "  stream->delay = {};\n"
        "  stream->rest = {};\n",
        stream.context, stream.stride, stream.delay, stream.rest);
  }
  if (function.suffix == "_workspace") {
    return input + fmt::format("  return {}_kernel_workspace({}, &input);\n", writer.name, kernel);
  }
  const auto tensor = [&](const char* role) {
    const bool has = std::ranges::find(signature.arrays, role, &CParameter::name) != signature.arrays.end();
    return std::string(has ? role : "NULL");
  };
  std::vector<std::string> tensors;
  for (const char* role : {"x", "weight", "bias", "y", "grad_y", "grad_x", "grad_weight", "grad_bias"}) {
    tensors.push_back(tensor(role));
  }
  return input + fmt::format(
                     "  const {0}_tensors tensors = {{{1}, workspace, workspace_bytes}};\n"
                     "  return {0}_kernel_launch({2}, &tensors, &input, stream);\n",
                     writer.name, fmt::join(tensors, ", "), kernel);
}

std::string functions_text(const Writer& writer) {
  const Signature signature = signature_of(writer.set, writer.kernel);
  std::string text;
  for (const CFunction& function : functions_of(writer.set, signature)) {
    text +=
        fmt::format("\n{} {{\n{}}}\n", prototype(function, signature.function), body_of(writer, signature, function));
  }
  return text;
}

std::string declarations_text(const Writer& writer) {
  const Signature signature = signature_of(writer.set, writer.kernel);
  std::string text =
      fmt::format("extern {}_HIDDEN const {}_kernel {}_kernel;\n", writer.large, writer.name, writer.full);
  if (writer.set.host) {
    text += fmt::format("extern {}_HIDDEN const {}_host_binary {}_host;\n", writer.large, writer.name, writer.full);
  }
  for (const CFunction& function : functions_of(writer.set, signature)) {
    text += prototype(function, signature.function) + ";\n";
  }
  return text;
}

std::string head_text(const Writer& writer, std::string_view what) {
  return fmt::format("/* {}\n * {} of {}. Made by convtgen. */\n#include \"{}_support.h\"\n\n",
                     canonical_form(in_direction(writer.kernel.layer, writer.kernel.direction)), what, writer.stem,
                     writer.name);
}

/// "compute_80,code=sm_80" for nvcc's -gencode arch=.
std::string gencode(const Target& target) {
  const std::string number = target.architecture.substr(target.architecture.find('_') + 1);
  return fmt::format("-gencode arch=compute_{0},code=sm_{0}", number);
}

/// The sources, each in the pass of nvcc that is for it; in the others stands a kernel of the same name in the same
/// namespace, so that all passes know all kernels.
std::string sources_text(const Writer& writer, const std::vector<const TargetKernel*>& sources) {
  std::vector<std::string> others, options, names;
  for (const TargetKernel* source : sources) {
    others.push_back(fmt::format("__CUDA_ARCH__ != {}", 10 * source->code.target.capability));
    options.push_back(gencode(source->code.target));
    names.push_back(source->code.target.architecture);
  }
  std::string text = fmt::format(
      "#if defined(__CUDA_ARCH__) && {}\n"
      "#error \"{} has sources for {}: {}\"\n"
      "#endif\n",
      fmt::join(others, " && "), writer.stem, fmt::join(names, ", "), fmt::join(options, " "));
  for (const TargetKernel* source : sources) {
    const std::string space = code_name(writer, {source->code.target, false});
    std::string defines, empties, undefines;
    const auto rename = [&](const std::string& from, const std::string& to) {
      defines += fmt::format("#define {} {}\n", from, to);
      undefines += fmt::format("#undef {}\n", from);
    };
    const auto add = [&](const std::string& symbol, const std::string& name, const auto& parameters) {
      std::vector<std::string> types;
      for (const KernelParameter& parameter : parameters) {
        types.push_back(parameter.type);
      }
      rename(symbol, name);
      empties += wrapped(fmt::format("extern \"C\" __global__ void {}", name), types) + " {}\n";
    };
    for (std::size_t i = 0; i < source->source.recipe.kernels.size(); ++i) {
      const RecipeKernel& kernel = source->source.recipe.kernels[i];
      if (first_launch(source->source.recipe, i) == i) {
        add(kernel.symbol, kernel_name(writer, {source->code.target, false}, i), kernel.parameters);
      }
    }
    rename(source->source.symbol + std::string(kNamespaceSuffix), space);
    text += fmt::format(
        "\n"
        "{defines}"
        "#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ == {arch}\n"
        "#include \"{file}\"\n"
        "#else\n"
        "namespace {space} {{\n"
        "{empties}"
        "}} /* namespace {space} */\n"
        "#endif\n"
        "{undefines}",
        fmt::arg("defines", defines), fmt::arg("space", space), fmt::arg("arch", 10 * source->code.target.capability),
        fmt::arg("file", source_file(writer.stem, source->code.target)), fmt::arg("empties", empties),
        fmt::arg("undefines", undefines));
  }
  return text;
}

std::string binaries_text(const Writer& writer, const std::vector<BinaryText>& binaries) {
  std::string maps;
  std::vector<std::string> entries;
  for (const BinaryText& binary : binaries) {
    maps += maps_of(writer, binary);
    entries.push_back(binary_text(writer, binary));
  }
  return fmt::format("{}static const {}_binary {}_binaries[] = {{\n    {},\n}};\n", maps, writer.name, writer.full,
                     fmt::join(entries, ",\n    "));
}

TextFile source_launch_file(const Writer& writer) {
  const std::vector<const TargetKernel*> sources = sources_of(writer);
  std::vector<TargetKernel> real;
  for (const TargetKernel* source : sources) {
    real.push_back({{source->code.target, false}, source->plan, source->source});
  }
  std::vector<BinaryText> binaries;
  for (const TargetKernel& made : real) {
    binaries.push_back({made, "NULL", code_name(writer, made.code) + "_maps", true});
  }
  return TextFile{writer.full + ".cu", head_text(writer, "Kernels and launch code") + sources_text(writer, sources) +
                                           "\n" + c_linkage(declarations_text(writer)) + "\n" +
                                           binaries_text(writer, binaries) + "\n" + form_text(writer, binaries.size()) +
                                           functions_text(writer)};
}

TextFile cubin_launch_file(const Writer& writer) {
  std::string bytes;
  std::vector<BinaryText> binaries;
  for (const TargetKernel& made : writer.made) {
    const std::string symbol = code_name(writer, made.code);
    bytes += incbin_text(writer, symbol, code_file(writer.stem, made.code), false);
    binaries.push_back({made, symbol, symbol + "_maps"});
  }
  return TextFile{writer.full + ".c", head_text(writer, "Binaries and launch code") +
                                          c_linkage(bytes + declarations_text(writer)) + "\n" +
                                          binaries_text(writer, binaries) + "\n" + form_text(writer, binaries.size()) +
                                          functions_text(writer)};
}

TextFile host_file_of(const Writer& writer) {
  const std::string bytes = writer.full + "_host_bytes";
  const BinaryText binary{writer.made.front(), "NULL", writer.full + "_host_maps"};
  return TextFile{
      writer.full + "_host.c",
      head_text(writer, "The host device's library") +
          c_linkage(incbin_text(writer, bytes, host_file(writer.stem), true) +
                    fmt::format("extern {0}_HIDDEN const {1}_host_binary {2}_host;\n", writer.large, writer.name,
                                writer.full)) +
          fmt::format(
              "\n{4}const {0}_host_binary {1}_host = {{\n    {2},\n    {2}_end,\n    {3},\n    {0}_host_launch,\n    "
              "{0}_host_prepare,\n}};\n",
              writer.name, writer.full, bytes, binary_text(writer, binary), maps_of(writer, binary))};
}

}  // namespace

Result<std::vector<TextFile>> kernel_files(const LayerSet& set, const SetKernel& kernel,
                                           const std::vector<TargetKernel>& made) {
  if (auto checked = check_set(set); !checked) {
    return std::unexpected(checked.error());
  }
  const std::string stem = stem_of(kernel.layer_name, kernel.direction);
  const Writer writer{set, kernel, made, set.name_space, capitals(set.name_space), stem, set.name_space + "_" + stem};
  std::vector<TextFile> files{set.format == LaunchFormat::kSource ? source_launch_file(writer)
                                                                  : cubin_launch_file(writer)};
  if (set.host) {
    files.push_back(host_file_of(writer));
  }
  return files;
}

}  // namespace convtgen
