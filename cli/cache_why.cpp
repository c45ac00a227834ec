// convtgen cache why: is a layer's kernel in the cache, and if not, what is different?
#include "cli/cache.h"

#include <algorithm>
#include <memory>

#include "cli/architectures.h"
#include "cli/layers.h"
#include "cli/records.h"
#include "cli/terminal.h"
#include "generator/language/language.h"
#include "generator/layer/directions.h"
#include "runtime/compile/nvrtc_search.h"
#include "runtime/make/cubin_maker.h"
#include "runtime/make/shared_store.h"
#include "runtime/records/record.h"

namespace convtgen::cli {
namespace {

struct WhyOptions {
  LayerSource source;
  std::vector<std::string> architectures{"sm_90a"};
  std::string direction;
  std::string chip;
};

void print_fact(std::string_view word, std::string_view text) {
  fmt::print("  {:<12} {}\n", word, text);
}

/// What a field of a key is to people.
std::string meaning(const FieldDifference& field) {
  return field.name == kCompilerField ? "compiler, NVRTC's file" : field.name;
}

void print_differences(const std::vector<FieldDifference>& differences) {
  for (const FieldDifference& field : differences) {
    print_fact("differs", meaning(field));
    print_fact("  was", field.recorded);
    print_fact("  is now", field.wanted);
  }
}

void print_why(const std::string& name, const Store::Why& why, const Key& key) {
  print_fact("key", fmt::format("{}, {}", short_key(key), key.field("kind")));
  if (!why.problem.empty()) {
    print_fact("bad",
               fmt::format("there is a file of that key, but {}; it is replaced when the kernel is made", why.problem));
  }
  const Key nearest(why.nearest ? why.nearest->head.fields : KeyFields());
  if (nearest.field("kind") != key.field("kind")) {
    print_fact("nearest", fmt::format("none: no {} is in the cache", key.field("kind")));
    return;
  }
  const bool same = why.nearest->head.label == name;
  print_fact("nearest", fmt::format("{}, {}, used {}, {}", short_key(nearest), nearest.field("kind"),
                                    age_text(*why.nearest), same ? "of this layer" : "of another layer"));
  if (!same) {
    print_fact("", why.nearest->head.label);
  }
  print_differences(why.differences);
}

/// Prints why one kernel is a hit or a miss on a GPU. Errors: it has no plan.
Result<void> tell(const std::shared_ptr<Store>& store, const std::string& name, const Problem& problem,
                  const std::string& chip, const std::string& nvrtc) {
  const auto made = CubinMaker(store, chip).generate(problem.layer, problem.direction, problem.target);
  if (!made) {
    return fail(made.error().message);
  }
  const std::string label = canonical_form(in_direction(problem.layer, problem.direction));
  const std::string head = fmt::format("{}, {} for {}{}", name, name_of(problem.direction), problem.target.architecture,
                                       chip.empty() ? "" : " on " + chip);
  // The runtime, too, looks for a cubin first, then for PTX that it made where NVRTC did not know the chip.
  const Key cubin = binary_key(*made, BinaryKind::kCubin, nvrtc);
  const Key ptx = binary_key(*made, BinaryKind::kPtx, nvrtc);
  const Store::Why in_cubins = store->why(cubin, label);
  const Store::Why in_ptx = in_cubins.found ? Store::Why{} : store->why(ptx, label);
  if (in_cubins.found || in_ptx.found) {
    const Key& key = in_cubins.found ? cubin : ptx;
    fmt::print("{}: {}\n", bold(stdout, head), green(stdout, "hit"));
    print_fact("key", fmt::format("{}, {}", short_key(key), key.field("kind")));
  } else {
    fmt::print("{}: {}\n", bold(stdout, head), yellow(stdout, "miss"));
    print_why(label, in_cubins, cubin);
  }
  if (!chip.empty()) {
    print_fact("plan", store->find(record_key(problem, chip)) ? "by the tuning record of this GPU"
                                                              : "the planner's first: this GPU has no tuning record");
  }
  return {};
}

Exit why(const WhyOptions& options) {
  Exit exit = Exit::kOk;
  const auto layers = load_layers(options.source, exit);
  if (!layers) {
    return exit;
  }
  std::vector<Target> targets;
  for (const std::string& architecture : options.architectures) {
    const Result<Target> target = target_named(architecture);
    if (!target) {
      print_error(target.error().message);
      return Exit::kUsage;
    }
    targets.push_back(*target);
  }
  const std::shared_ptr<Store> store = store_of("");
  if (!usable(*store)) {
    return Exit::kUsage;
  }
  const NvrtcFile nvrtc = locate_nvrtc();
  if (!nvrtc.found()) {
    print_on_stderr("convtgen: no NVRTC is found here, so that a kernel that any NVRTC made is a hit\n");
  }
  const std::vector<TuningRecord> records = stored_records(*store);
  for (const NamedLayer& layer : *layers) {
    std::vector<Direction> directions = layer.layer.directions;
    if (!options.direction.empty()) {
      directions = {direction_named(options.direction).value()};
    }
    for (const Direction direction : directions) {
      for (const Target& target : targets) {
        const Problem problem{layer.layer, direction, target};
        const auto chips = options.chip.empty() ? tuned_chips(records, problem) : std::vector{options.chip};
        for (const std::string& chip : chips) {
          if (const auto told = tell(store, layer.name, problem, chip, nvrtc.identity); !told) {
            print_layer_error(layer.name, told.error());
            exit = Exit::kWrong;
          }
        }
      }
    }
  }
  return exit;
}

}  // namespace

void add_cache_why(CLI::App& cache, Exit& exit) {
  auto options = std::make_shared<WhyOptions>();
  CLI::App* verb = cache.add_subcommand("why", "Tell whether each layer's kernel is kept, or what is different now.");
  add_layer_options(*verb, options->source);
  add_architectures_option(*verb, options->architectures, Architectures::kReal);
  add_direction_option(*verb, options->direction);
  verb->add_option("--chip", options->chip,
                   "The GPU, as \"NVIDIA H200\", whose tuning records choose plans; unless given, each that has one.")
      ->type_name("NAME");
  verb->footer(R"(
A kernel is kept under its source, its architecture, the NVRTC that compiled it and the options. Its source depends on
the plan, and so on what 'convtgen tune' has measured on a GPU. Of a layer whose kernel is not there, the nearest entry
is compared with what would be compiled today. Nothing is compiled; no GPU is needed.
Examples:
  convtgen cache why layers.convt
  convtgen cache why layers.convt --layer up --arch sm_80
  convtgen cache why -e "conv_transpose2d 8 -> 4; kernel 3; stride 2"
Exit codes: 0 for hits and misses; 1 a layer is wrong; 2 wrong usage, or the cache can't be used.)");
  verb->callback([options, &exit] { exit = why(*options); });
}

}  // namespace convtgen::cli
