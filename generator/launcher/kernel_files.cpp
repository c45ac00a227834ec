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
#include "generator/launcher/signature.h"

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

/// The launch code knows a kernel that makes tiles of the output, and one before it that packs its weights.
struct Parts {
  const RecipeKernel* packing = nullptr;  // or null
  const RecipeKernel* main = nullptr;
};

Result<Parts> parts_of(const Recipe& recipe) {
  const std::vector<RecipeKernel>& kernels = recipe.kernels;
  const bool packs = kernels.size() == 2 && kernels[0].once && recipe.regions.size() == 1 && recipe.regions[0].kept;
  if (!(packs || (kernels.size() == 1 && recipe.regions.empty())) || !recipe.maps.empty() ||
      kernels.back().grid.axes.size() != 3) {
    return fail("the kernel is launched in a way that launch code can't do yet");
  }
  return Parts{packs ? &kernels[0] : nullptr, &kernels.back()};
}

Result<std::string> arguments_text(const Writer& writer, const RecipeKernel& kernel) {
  std::vector<std::string> arguments;
  for (std::size_t i = 0; i < kernel.arguments.size(); ++i) {
    const KernelArgument& argument = kernel.arguments[i];
    const KernelParameter& parameter = kernel.parameters[i];
    const std::optional<std::string_view> name =
        argument.kind == KernelArgument::Kind::kTensor     ? std::optional(name_of(static_cast<Role>(argument.index)))
        : argument.kind == KernelArgument::Kind::kRegion   ? std::optional<std::string_view>("packed")
        : argument.kind == KernelArgument::Kind::kQuantity ? std::optional<std::string_view>(parameter.name)
                                                           : std::nullopt;
    if (!name) {
      return fail(fmt::format("the kernel has a parameter '{} {}' that launch code can't give yet", parameter.type,
                              parameter.name));
    }
    arguments.push_back(fmt::format("{}_{}", writer.large, capitals(std::string(*name))));
  }
  return fmt::format("{}, {{{}}}", arguments.size(), fmt::join(arguments, ", "));
}

/// How the functions of a source are reached from launch code: by the expressions for the CUDA runtime, or by symbol.
struct Functions {
  std::string packing = "NULL", main = "NULL";
};

/// The initialisers of the two NS_parts of a binary.
Result<std::string> parts_text(const Writer& writer, const Parts& parts, const Functions& functions) {
  const auto main = arguments_text(writer, *parts.main);
  if (!main) {
    return std::unexpected(main.error());
  }
  std::string packing = "{NULL, NULL, 0, 0, 0, {0}}";
  if (parts.packing != nullptr) {
    const auto arguments = arguments_text(writer, *parts.packing);
    if (!arguments) {
      return std::unexpected(arguments.error());
    }
    packing = fmt::format("{{{}, \"{}\", /* threads */ {}, 0,\n       /* arguments */ {}}}", functions.packing,
                          parts.packing->symbol, parts.packing->threads, *arguments);
  }
  return fmt::format(
      "{{{},\n"
      "      {{{}, \"{}\", /* threads */ {}, /* shared bytes */ {},\n       /* arguments */ {}}}}}",
      packing, functions.main, parts.main->symbol, parts.main->threads, parts.main->shared_bytes, *main);
}

/// The initialiser of an NS_binary; the image is what the driver loads.
Result<std::string> binary_text(const Writer& writer, const TargetKernel& made, const std::string& image,
                                const Functions& functions) {
  const Recipe& recipe = made.source.recipe;
  const auto known = parts_of(recipe);
  const auto parts = known ? parts_text(writer, *known, functions) : std::unexpected(known.error());
  if (!parts) {
    return std::unexpected(parts.error());
  }
  const Grid& grid = known->main->grid;
  const RecipeKernel* const packing = known->packing;
  const bool only_there = !made.code.is_ptx && !is_portable(made.code.target);
  return fmt::format(
      "{{\"{}\", {}, /* only there */ {}, /* PTX */ {}, {},\n"
      "     /* tile */ {}, {}, {}, /* blocks a tile */ {}, /* most tiles */ {},\n"
      "     /* packing: blocks, bytes, overlaps */ {}, {}, {},\n"
      "     {}}}",
      name_of(made.code), made.code.target.capability, only_there ? 1 : 0, made.code.is_ptx ? 1 : 0, image,
      grid.axes[2].tile, grid.axes[0].tile, grid.axes[1].tile, grid.blocks_per_tile, grid.most_tiles,
      packing != nullptr ? packing->grid.blocks({}).value_or(0) : 0,
      packing != nullptr ? recipe.regions[0].bytes.constant : 0, packing != nullptr && known->main->waits ? 1 : 0,
      *parts);
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

/// Of x and y, for all architectures: programs should not meet a new rule on a new chip.
std::int64_t alignment_of(const Writer& writer) {
  std::int64_t alignment = bytes_of(writer.kernel.layer.dtype);
  for (const TargetKernel& made : writer.made) {
    alignment = std::max(alignment, made.plan.alignment);
  }
  return alignment;
}

/// For the architecture that needs the most: which one runs is known on the machine only.
std::int64_t workspace_of(const Writer& writer) {
  std::int64_t bytes = 0;
  for (const TargetKernel& made : writer.made) {
    for (const Region& region : made.source.recipe.regions) {
      bytes = std::max(bytes, region.bytes.constant);
    }
  }
  return bytes;
}

/// What does not depend on the architecture.
std::string recipe_text(const Writer& writer, std::size_t binaries) {
  const Layer& layer = writer.kernel.layer;
  const Axis& rows = layer.axes[kHeight];
  const Axis& columns = layer.axes[kWidth];
  const auto reach = [](const Axis& axis) { return output_extent(axis, 1); };
  const std::string host = writer.set.host ? fmt::format("&{}_host", writer.full) : "NULL";
  return fmt::format(
      "static {name}_place* {full}_places;\n\n"
      "static const {name}_recipe {full}_recipe = {{\n"
      "    /* batch, height, width */ {batch}, {height}, {width},\n"
      "    /* channels */ {in}, {out},\n"
      "    /* elements of weight and bias */ {weight}, {bias},\n"
      "    /* stride */ {stride_h}, {stride_w},\n"
      "    /* output of one input row and column */ {reach_h}, {reach_w},\n"
      "    /* bytes of an element, alignment of x and y */ {bytes}, {alignment},\n"
      "    /* bytes of the workspace, its alignment */ {workspace}, {workspace_alignment}, \"{width_name}\",\n"
      "    {full}_binaries, {binaries},\n"
      "    {host},\n"
      "    &{full}_places,\n"
      "}};\n\n"
      "const {name}_kernel {full}_kernel = {{\n"
      "    \"{stem}\",\n    \"{layer}\",\n    \"{direction}\",\n"
      "    \"{text}\",\n"
      "    \"{architectures}\",\n    &{full}_recipe,\n"
      "}};\n",
      fmt::arg("name", writer.name), fmt::arg("full", writer.full), fmt::arg("stem", writer.stem),
      fmt::arg("batch", size_text(layer.batch)), fmt::arg("height", size_text(rows.extent)),
      fmt::arg("width", size_text(columns.extent)), fmt::arg("in", layer.in_channels),
      fmt::arg("out", layer.out_channels), fmt::arg("weight", weight_elements(layer)),
      fmt::arg("bias", layer.bias ? layer.out_channels : 0), fmt::arg("stride_h", rows.stride),
      fmt::arg("stride_w", columns.stride), fmt::arg("reach_h", reach(rows)), fmt::arg("reach_w", reach(columns)),
      fmt::arg("bytes", bytes_of(layer.dtype)), fmt::arg("alignment", alignment_of(writer)),
      fmt::arg("workspace", workspace_of(writer)), fmt::arg("workspace_alignment", kWorkspaceAlignment),
      fmt::arg("width_name", axis_name(layer, kWidth)), fmt::arg("binaries", binaries), fmt::arg("host", host),
      fmt::arg("layer", writer.kernel.layer_name), fmt::arg("direction", name_of(writer.kernel.direction)),
      fmt::arg("text", canonical_form(layer)), fmt::arg("architectures", architecture_names(writer)));
}

/// What each of the functions does, by its suffix.
std::string body_of(const Writer& writer, const Signature& signature, const CFunction& function) {
  const std::string sizes = fmt::format("{}, {}, {}", signature.batch, signature.height, signature.width);
  if (function.suffix == "_sizes") {
    return fmt::format("  return {}_kernel_sizes(&{}_kernel, {}, sizes);\n", writer.name, writer.full, sizes);
  }
  if (function.suffix == "_prepare") {
    return fmt::format("  return {}_kernel_prepare(&{}_kernel);\n", writer.name, writer.full);
  }
  if (function.suffix == "_workspace") {
    return fmt::format("  return {}_kernel_workspace(&{}_kernel);\n", writer.name, writer.full);
  }
  return wrapped(fmt::format("  return {}_kernel_launch", writer.name),
                 {"&" + writer.full + "_kernel", "x", "weight", signature.has_bias ? "bias" : "NULL", "y", "workspace",
                  signature.batch, signature.height, signature.width, "stream"}) +
         ";\n";
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
                     canonical_form(writer.kernel.layer), what, writer.stem, writer.name);
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
    for (const RecipeKernel& kernel : source->source.recipe.kernels) {
      add(kernel.symbol, space + (kernel.once ? "_packing" : "_kernel"), kernel.parameters);
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

Result<std::string> binaries_text(const Writer& writer, const std::vector<std::string>& entries) {
  return fmt::format("static const {}_binary {}_binaries[] = {{\n    {},\n}};\n", writer.name, writer.full,
                     fmt::join(entries, ",\n    "));
}

Result<TextFile> source_launch_file(const Writer& writer) {
  const std::vector<const TargetKernel*> sources = sources_of(writer);
  std::vector<std::string> entries;
  for (const TargetKernel* source : sources) {
    const CodeTarget real{source->code.target, false};
    const std::string space = code_name(writer, real);
    const Functions functions{fmt::format("(const void*){0}::{0}_packing", space),
                              fmt::format("(const void*){0}::{0}_kernel", space)};
    auto entry = binary_text(writer, {real, source->plan, source->source}, "NULL", functions);
    if (!entry) {
      return std::unexpected(entry.error());
    }
    entries.push_back(*std::move(entry));
  }
  return TextFile{writer.full + ".cu", head_text(writer, "Kernels and launch code") + sources_text(writer, sources) +
                                           "\n" + c_linkage(declarations_text(writer)) + "\n" +
                                           *binaries_text(writer, entries) + "\n" +
                                           recipe_text(writer, entries.size()) + functions_text(writer)};
}

Result<TextFile> cubin_launch_file(const Writer& writer) {
  std::string bytes;
  std::vector<std::string> entries;
  for (const TargetKernel& made : writer.made) {
    const std::string symbol = code_name(writer, made.code);
    bytes += incbin_text(writer, symbol, code_file(writer.stem, made.code), false);
    auto entry = binary_text(writer, made, symbol, {});
    if (!entry) {
      return std::unexpected(entry.error());
    }
    entries.push_back(*std::move(entry));
  }
  return TextFile{writer.full + ".c", head_text(writer, "Binaries and launch code") +
                                          c_linkage(bytes + declarations_text(writer)) + "\n" +
                                          *binaries_text(writer, entries) + "\n" + recipe_text(writer, entries.size()) +
                                          functions_text(writer)};
}

Result<TextFile> host_file_of(const Writer& writer) {
  const std::string bytes = writer.full + "_host_bytes";
  const TargetKernel& made = writer.made.front();
  const auto binary = binary_text(writer, made, "NULL", {});
  if (!binary) {
    return std::unexpected(binary.error());
  }
  return TextFile{
      writer.full + "_host.c",
      head_text(writer, "The host device's library") +
          c_linkage(incbin_text(writer, bytes, host_file(writer.stem), true) +
                    fmt::format("extern {0}_HIDDEN const {1}_host_binary {2}_host;\n", writer.large, writer.name,
                                writer.full)) +
          fmt::format(
              "\nconst {0}_host_binary {1}_host = {{\n    {2},\n    {2}_end,\n    {3},\n    {0}_host_launch,\n}};\n",
              writer.name, writer.full, bytes, *binary)};
}

}  // namespace

Result<std::vector<TextFile>> kernel_files(const LayerSet& set, const SetKernel& kernel,
                                           const std::vector<TargetKernel>& made) {
  if (auto checked = check_set(set); !checked) {
    return std::unexpected(checked.error());
  }
  const std::string stem = stem_of(kernel.layer_name, kernel.direction);
  const Writer writer{set, kernel, made, set.name_space, capitals(set.name_space), stem, set.name_space + "_" + stem};
  auto launch = set.format == LaunchFormat::kSource ? source_launch_file(writer) : cubin_launch_file(writer);
  if (!launch) {
    return std::unexpected(launch.error());
  }
  std::vector<TextFile> files{*std::move(launch)};
  if (set.host) {
    auto host = host_file_of(writer);
    if (!host) {
      return std::unexpected(host.error());
    }
    files.push_back(*std::move(host));
  }
  return files;
}

}  // namespace convtgen
