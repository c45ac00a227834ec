#include "cli/layers.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <charconv>
#include <nlohmann/json.hpp>

#include "cli/files.h"
#include "cli/terminal.h"
#include "generator/language/suggest.h"

namespace convtgen::cli {
namespace {

/// Tells the diagnostics of one source, or keeps them for the JSON array.
class Reporter {
 public:
  explicit Reporter(bool json) : json_(json) {}
  ~Reporter() {
    if (json_ && !all_.empty()) {
      fmt::print("{}\n", all_.dump(2));
    }
  }
  Reporter(const Reporter&) = delete;
  Reporter& operator=(const Reporter&) = delete;

  void report(const std::vector<Diagnostic>& diagnostics, const std::string& source, const std::string& name) {
    if (json_) {
      for (const auto& entry : nlohmann::json::parse(render_json(diagnostics, name))) {
        all_.push_back(entry);
      }
    } else {
      fmt::print(stderr, "{}", render_text(diagnostics, source, name, has_colours(stderr)));
    }
  }

 private:
  bool json_;
  nlohmann::json all_ = nlohmann::json::array();
};

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

std::vector<std::string> real_architectures() {
  std::vector<std::string> names;
  for (const Target& target : known_targets()) {
    names.push_back(target.architecture);
  }
  return names;
}

std::vector<std::string> direction_names() {
  return {"forward", "grad_input", "grad_weight"};
}

}  // namespace

void add_layer_options(CLI::App& verb, LayerSource& source) {
  auto* files = verb.add_option("FILE", source.files, "Layer files; '-' is standard input.")->type_name("FILE");
  auto* texts = verb.add_option("-e,--layer-text", source.texts,
                                "A layer as text instead: \"conv_transpose2d 8 -> 4; kernel 3; ...\".")
                    ->type_name("TEXT");
  texts->expected(1)->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  files->excludes(texts);
  verb.add_option("--layer", source.only, "Only the layer of this name.")->type_name("NAME");
  verb.add_option("--diagnostics", source.diagnostics, "How errors of layer files are told: text on stderr, or json.")
      ->check(CLI::IsMember({"text", "json"}))
      ->capture_default_str();
}

std::optional<std::vector<NamedLayer>> load_layers(const LayerSource& source, Exit& exit, const LayerCheck& check) {
  if (source.files.empty() && source.texts.empty()) {
    print_error("no layers: give a layer file, '-' for standard input, or a layer as text with -e");
    exit = Exit::kUsage;
    return std::nullopt;
  }
  Reporter reporter(source.diagnostics == "json");
  std::vector<NamedLayer> layers;
  exit = Exit::kOk;
  for (const std::string& file : source.files) {
    const Result<std::string> text = read_file(file);
    if (!text) {
      print_error(text.error().message);
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
  if (exit != Exit::kOk) {
    return std::nullopt;
  }
  if (!source.only.empty()) {
    std::vector<std::string_view> names;
    std::vector<NamedLayer> chosen;
    for (const NamedLayer& layer : layers) {
      names.push_back(layer.name);
      if (layer.name == source.only) {
        chosen.push_back(layer);
      }
    }
    if (chosen.empty()) {
      const std::string_view near = nearest(source.only, names);
      print_error(fmt::format("no layer is called '{}'{} The layers are {}", source.only,
                              near.empty() ? "." : fmt::format("; did you mean '{}'?", near), fmt::join(names, ", ")));
      exit = Exit::kUsage;
      return std::nullopt;
    }
    layers = std::move(chosen);
  }
  return layers;
}

void add_architecture_option(CLI::App& verb, std::string& architecture) {
  architecture = "sm_90a";
  verb.add_option("--arch", architecture, "The exact architecture that the kernel is for.")
      ->check(CLI::IsMember(real_architectures()))
      ->capture_default_str();
}

void add_architectures_option(CLI::App& verb, std::vector<std::string>& architectures, Architectures which) {
  verb.add_option("--arch", architectures, "The exact architectures, one or more: --arch sm_80,sm_90a.")
      ->delimiter(',')
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->check(CLI::IsMember(which == Architectures::kReal ? real_architectures() : code_target_names()))
      ->capture_default_str();
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
      ->check(CLI::IsMember(direction_names()));
}

Direction direction_named(const std::string& name) {
  for (const Direction direction : {Direction::kGradInput, Direction::kGradWeight}) {
    if (name == name_of(direction)) {
      return direction;
    }
  }
  return Direction::kForward;
}

std::optional<std::vector<PlannedLayer>> plan_layers(const std::vector<NamedLayer>& layers,
                                                     const std::string& direction, const std::string& architecture,
                                                     Exit& exit) {
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
      directions = {direction_named(direction)};
    }
    for (const Direction wanted : directions) {
      const Problem problem{layer.layer, wanted, *target};
      auto plans = plan(problem);
      if (!plans) {
        print_layer_error(layer.name, plans.error());
        failed = true;
        continue;
      }
      planned.push_back({wanted == Direction::kForward ? layer.name : fmt::format("{}_{}", layer.name, name_of(wanted)),
                         layer.name, problem, std::move(plans->front())});
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
  verb.add_option(
          "--input", option.text,
          "Sizes to run at, batch x height x width as in \"8x32x64\" (1-D: batch x length): fills in a \"?\", and"
          " changes the layer where it says otherwise.")
      ->type_name("BxHxW");
}

Result<SizedLayer> apply_input(const Layer& layer, const InputOption& option) {
  Layer sized = layer;
  InputSizes sizes{layer.batch.value_or(-1), layer.height.value_or(-1), layer.width.value_or(-1)};
  if (!option.text.empty()) {
    std::vector<std::int64_t> numbers;
    const std::vector<std::string> parts = split(option.text, 'x');
    for (const std::string& part : parts) {
      if (const auto value = number(part)) {
        numbers.push_back(*value);
      }
    }
    const std::size_t wanted = layer.dimensions == 1 ? 2 : 3;
    if (numbers.size() != parts.size() || numbers.size() != wanted) {
      return fail(fmt::format("--input '{}': should be {}", option.text,
                              layer.dimensions == 1 ? "batch x length for a conv_transpose1d, as in 8x64"
                                                    : "batch x height x width, as in 8x32x64"));
    }
    sizes = {numbers.front(), layer.dimensions == 1 ? 1 : numbers[1], numbers.back()};
    const auto change = [](Size& size, std::int64_t value) {
      if (size) {
        size = value;
      }
    };
    change(sized.batch, sizes.batch);
    change(sized.height, sizes.height);
    change(sized.width, sizes.width);
  }
  if (sizes.batch < 0 || sizes.height < 0 || sizes.width < 0) {
    return fail(fmt::format("{} \"?\" in this layer; give the sizes with --input {}",
                            sizes.batch < 0    ? "the batch is"
                            : sizes.height < 0 ? "the height is"
                                               : "the width is",
                            layer.dimensions == 1 ? "batch x length, as in 8x64" : "BxHxW, as in 8x32x64"));
  }
  return SizedLayer{std::move(sized), sizes};
}

}  // namespace convtgen::cli
