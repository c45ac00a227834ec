#include "cli/layers.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>

#include "cli/files.h"
#include "cli/reporter.h"
#include "cli/terminal.h"
#include "generator/language/suggest.h"
#include "runtime/make/choose.h"

namespace convtgen::cli {
namespace {

std::optional<std::int64_t> number(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value < 0) {
    return std::nullopt;
  }
  return value;
}

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts{""};
  for (const char c : text) {
    if (c == separator) {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

std::vector<std::string> direction_names() {
  return {"forward", "grad_input", "grad_weight", "grad_bias"};
}

/// All layers of the files or texts. Where there is an error, it has been reported and `exit` is set.
std::optional<std::vector<NamedLayer>> read_layers(const LayerSource& source, Reporter& reporter, Exit& exit,
                                                   const LayerCheck& check) {
  const bool both = !source.files.empty() && !source.texts.empty();
  if (both || (source.files.empty() && source.texts.empty())) {
    reporter.report(
        both ? fmt::format("-e and the file '{}' are given: layers come from files or from -e, not from both",
                           source.files.front())
             : "no layers: give a layer file, '-' for standard input, or a layer as text with -e");
    exit = Exit::kUsage;
    return std::nullopt;
  }
  std::vector<NamedLayer> layers;
  exit = Exit::kOk;
  for (const std::string& file : source.files) {
    const Result<std::string> text = read_file(file);
    if (!text) {
      reporter.report(text.error().message, file);
      exit = Exit::kUsage;
      continue;
    }
    auto parsed = parse_file(*text, check);
    if (!parsed) {
      reporter.report(parsed.error(), *text, file == "-" ? "<stdin>" : file);
      exit = worse(exit, Exit::kWrong);
      continue;
    }
    layers.insert(layers.end(), parsed->begin(), parsed->end());
  }
  for (std::size_t i = 0; i < source.texts.size(); ++i) {
    auto parsed = parse_layer(source.texts[i], check);
    if (!parsed) {
      reporter.report(parsed.error(), source.texts[i], "<-e>");
      exit = worse(exit, Exit::kWrong);
      continue;
    }
    layers.push_back({source.texts.size() == 1 ? "layer" : fmt::format("layer{}", i + 1), *std::move(parsed)});
  }
  return exit == Exit::kOk ? std::optional(std::move(layers)) : std::nullopt;
}

/// Those of them that --layer names.
std::optional<std::vector<NamedLayer>> choose_layers(const LayerSource& source, Reporter& reporter, Exit& exit,
                                                     const LayerCheck& check) {
  auto layers = read_layers(source, reporter, exit, check);
  if (!layers || source.only.empty()) {
    return layers;
  }
  std::vector<std::string_view> names;
  for (const NamedLayer& layer : *layers) {
    names.push_back(layer.name);
  }
  for (const std::string& wanted : source.only) {
    if (std::ranges::find(names, wanted) == names.end()) {
      const std::string_view near = nearest(wanted, names);
      reporter.report(fmt::format("no layer is called '{}'{} The layers are {}", wanted,
                                  near.empty() ? "." : fmt::format("; did you mean '{}'?", near),
                                  fmt::join(names, ", ")));
      exit = Exit::kUsage;
      return std::nullopt;
    }
  }
  std::erase_if(*layers, [&](const NamedLayer& layer) {
    return std::ranges::find(source.only, layer.name) == source.only.end();
  });
  return layers;
}

}  // namespace

void add_layer_options(CLI::App& verb, LayerSource& source) {
  verb.add_option("FILE", source.files, "Layer files; '-' is standard input.")->type_name("FILE");
  verb.add_option("-e,--layer-text", source.texts,
                  "A layer as text instead: \"conv_transpose2d 8 -> 4; kernel 3; ...\".")
      ->type_name("TEXT")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->allow_extra_args(false);
  verb.add_option("--layer", source.only, "Only the layer of this name; may be given several times.")
      ->type_name("NAME")
      ->delimiter(',')
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->allow_extra_args(false);
  verb.add_option("--diagnostics", source.diagnostics, "Prints errors of layer files as text on stderr, or as json.")
      ->check(CLI::IsMember({"text", "json"}))
      ->capture_default_str();
  add_error_limit_option(verb, source.error_limit);
}

std::optional<std::vector<NamedLayer>> load_layers(const LayerSource& source, Exit& exit, const LayerCheck& check) {
  Reporter reporter(source.diagnostics == "json", source.error_limit);
  auto layers = choose_layers(source, reporter, exit, check);
  reporter.finish();
  return layers;
}

void add_direction_option(CLI::App& verb, std::string& direction) {
  verb.add_option("--direction", direction, "Only this direction; unless given, all that the layer names.")
      ->check(CLI::IsMember(direction_names()));
}

void add_directions_option(CLI::App& verb, std::vector<std::string>& directions) {
  verb.add_option("--direction", directions, "Only these directions; unless given, all that the layer names.")
      ->delimiter(',')
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->allow_extra_args(false)
      ->check(CLI::IsMember(direction_names()));
}

std::optional<std::vector<PlannedLayer>> plan_layers(const std::vector<NamedLayer>& layers,
                                                     const std::string& direction, const std::string& architecture,
                                                     const Planner& planner, Exit& exit,
                                                     const Specializer& specializer) {
  const Result<Target> target = target_named(architecture);
  if (!target) {
    print_error(target.error().message);
    exit = Exit::kUsage;
    return std::nullopt;
  }
  std::vector<PlannedLayer> planned;
  bool failed = false;
  for (const NamedLayer& layer : layers) {
    std::vector<Direction> directions = layer.layer.directions;
    if (!direction.empty()) {
      directions = {direction_named(direction).value()};
    }
    for (const Direction wanted : directions) {
      const Problem problem{layer.layer, wanted, *target};
      const auto plans = planner(problem);
      auto first = plans ? first_source(problem, *plans, 0, specializer) : std::unexpected(plans.error());
      if (!first) {
        print_layer_error(layer.name, first.error());
        failed = true;
        continue;
      }
      for (const PassedOver& passed : first->passed_over) {
        log_passed_over(problem, passed);
      }
      planned.push_back({wanted == Direction::kForward ? layer.name : fmt::format("{}_{}", layer.name, name_of(wanted)),
                         layer.name, problem, (*plans)[first->index], std::move(first->source),
                         std::move(first->passed_over)});
    }
  }
  if (failed) {
    exit = Exit::kWrong;
    return std::nullopt;
  }
  return planned;
}

void print_layer_error(const std::string& name, const Error& error) {
  print_error(fmt::format("layer '{}': {}", name, error.message));
}

void add_input_option(CLI::App& verb, InputOption& option) {
  verb.add_option("--input", option.text,
                  "Sizes to run at, batch x height x width as in \"8x32x64\" (1-D: batch x length; 3-D: batch x depth "
                  "x height x"
                  " width): fills in a \"?\", and changes the layer where it says otherwise.")
      ->type_name("BxHxW");
}

Result<SizedLayer> apply_input(const Layer& layer, const InputOption& option) {
  Layer sized = layer;
  InputSizes sizes{.batch = layer.batch.value_or(-1)};
  for (const std::size_t axis : axes_of(layer)) {
    sizes.extents[axis] = layer.axes[axis].extent.value_or(-1);
  }
  if (!option.text.empty()) {
    std::vector<std::int64_t> numbers;
    const std::vector<std::string> parts = split(option.text, 'x');
    for (const std::string& part : parts) {
      if (const auto value = number(part)) {
        numbers.push_back(*value);
      }
    }
    const auto axes = axes_of(layer);
    if (numbers.size() != parts.size() || numbers.size() != 1 + axes.size()) {
      return fail(fmt::format("--input '{}': should be {}", option.text,
                              layer.dimensions == 1   ? "batch x length for a conv_transpose1d, as in 8x64"
                              : layer.dimensions == 2 ? "batch x height x width, as in 8x32x64"
                                                      : "batch x depth x height x width, as in 8x16x32x64"));
    }
    const auto change = [](Size& size, std::int64_t value) {
      if (size) {
        size = value;
      }
    };
    sizes.batch = numbers.front();
    change(sized.batch, sizes.batch);
    for (const std::size_t axis : axes) {
      sizes.extents[axis] = numbers[1 + axis - axes.front()];
      change(sized.axes[axis].extent, sizes.extents[axis]);
    }
  }
  std::string_view open = sizes.batch < 0 ? "batch" : "";
  for (const std::size_t axis : axes_of(layer)) {
    open = open.empty() && sizes.extents[axis] < 0 ? axis_name(layer, axis) : open;
  }
  if (!open.empty()) {
    return fail(fmt::format("the {} is \"?\" in this layer; give the sizes with --input {}", open,
                            layer.dimensions == 1   ? "batch x length, as in 8x64"
                            : layer.dimensions == 2 ? "BxHxW, as in 8x32x64"
                                                    : "BxDxHxW, as in 8x16x32x64"));
  }
  return SizedLayer{std::move(sized), sizes};
}

}  // namespace convtgen::cli
