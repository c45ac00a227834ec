// What all kernels of a set share.
#include <fmt/format.h>

#include <set>

#include "convtgen_launcher_embedded.h"
#include "generator/launcher/header.h"
#include "generator/launcher/launcher.h"
#include "generator/launcher/names.h"

namespace convtgen {
namespace {

// Support code as it goes into the set's own files: without the includes that bind it together here.
std::string support_text(std::string_view text, const std::string& name) {
  std::string without(text);
  for (const std::string_view line : {"#include \"common.h\"\n", "#include \"support.h\"\n\n"}) {
    if (const std::size_t at = without.find(line); at != std::string::npos) {
      without.erase(at, line.size());
    }
  }
  return with_namespace(without, name);
}

std::string table_text(const LayerSet& set, const std::vector<SetKernel>& kernels) {
  std::string externs, entries;
  for (const SetKernel& kernel : kernels) {
    const std::string stem = stem_of(kernel.layer_name, kernel.direction);
    externs += fmt::format("extern {}_HIDDEN const {}_kernel {}_{}_kernel;\n", capitals(set.name_space), set.name_space,
                           set.name_space, stem);
    entries += fmt::format("      &{}_{}_kernel,\n", set.name_space, stem);
  }
  return fmt::format(
      "/* The kernels of the set. */\n{0}\n"
      "const {1}_kernel* const* {1}_kernels(void) {{\n"
      "  static const {1}_kernel* const kernels[] = {{\n{2}      NULL,\n  }};\n"
      "  return kernels;\n}}\n",
      externs, set.name_space, entries);
}

}  // namespace

Result<void> check_set(const LayerSet& set) {
  if (auto checked = check_namespace(set.name_space); !checked) {
    return checked;
  }
  if (!set.header.ends_with(".h") || set.header.size() == 2 || set.header.contains('/') ||
      set.header == set.name_space + "_support.h") {
    return fail(fmt::format("header '{}': legal is a file name that ends in .h, other than {}_support.h", set.header,
                            set.name_space));
  }
  if (set.targets.empty()) {
    return fail("no architectures: a set is made for at least one");
  }
  return {};
}

Result<std::vector<TextFile>> shared_files(const LayerSet& set, const std::vector<SetKernel>& kernels) {
  if (auto checked = check_set(set); !checked) {
    return std::unexpected(checked.error());
  }
  std::set<std::string> stems;
  for (const SetKernel& kernel : kernels) {
    if (!stems.insert(stem_of(kernel.layer_name, kernel.direction)).second) {
      return fail(fmt::format("layer '{}' is in the set twice; give the layers different names", kernel.layer_name));
    }
  }
  const std::string& name = set.name_space;
  const bool source = set.format == LaunchFormat::kSource;
  const std::string head =
      fmt::format("/* Shared by the kernels of \"{}\". Made by convtgen; not for programs: they include {}. */\n", name,
                  set.header);
  // Each knows only those before it.
  std::vector<std::string_view> parts = {support_sources::error(), support_sources::recipe(), support_sources::ready(),
                                         source ? support_sources::runtime() : support_sources::driver()};
  if (set.host) {
    parts.push_back(support_sources::host());
  }
  parts.push_back(support_sources::calls());
  std::string code = fmt::format("{}#include \"{}_support.h\"\n\n", head, name);
  for (const std::string_view part : parts) {
    code += support_text(part, name) + "\n";
  }
  code += table_text(set, kernels);
  return std::vector<TextFile>{{set.header, header_text(set, kernels)},
                               {name + "_support.h", head + support_text(support_sources::common(), name) + "\n" +
                                                         support_text(support_sources::support(), name)},
                               {name + (source ? "_support.cu" : "_support.c"), std::move(code)}};
}

}  // namespace convtgen
