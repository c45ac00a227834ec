// The net (net.h): its layers run through the whole chain and are held to the definition in fp64, and the planner is
// asked whether it accepts what no layer of the net shows.
//
// Which layers: by tests/sample/sample.h. Besides,
// CONVTGEN_TEST_LAYERS   how many (default 10, under sanitizers 8)
// CONVTGEN_TEST_LINE     this one line of a file of layers, to replay a failure
// CONVTGEN_TEST_PARTS    hundreds of layers that the planner is asked about (default a fifth of all, under sanitizers a
//                        tenth)
// CONVTGEN_TEST_DEVICE   host (default) or cuda
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <functional>
#include <limits>
#include <mutex>
#include <thread>

#include "tests/end_to_end/net.h"
#include "tests/end_to_end/through_the_chain.h"
#include "tests/sample/sample.h"

namespace convtgen::testing {
namespace {

#ifdef CONVTGEN_SANITIZED
constexpr std::uint64_t kLayers = 8;
constexpr std::uint64_t kParts = kQuestionParts / 40;
#else
constexpr std::uint64_t kLayers = 10;
constexpr std::uint64_t kParts = kQuestionParts / 20;
#endif
constexpr int kRunsOfAClass = 1;          // but a layer's first plan runs whatever others showed
constexpr std::size_t kFailedParts = 16;  // a run has one
constexpr std::uint64_t kDrawnFrom = 4;   // of so many layers one is planned and may be taken
constexpr const char* kNet = CONVTGEN_NET_FOLDER "/net_layers.txt";
constexpr const char* kFailed = CONVTGEN_NET_FOLDER "/failed_layers.txt";

std::string text_from(const char* variable, const char* otherwise) {
  const char* text = std::getenv(variable);
  return text == nullptr ? otherwise : text;
}
std::uint64_t number_from(const char* variable, std::uint64_t otherwise) {
  const char* text = std::getenv(variable);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

/// Calls f(i) for each i below `count`, from as many threads as there are cores.
void in_parallel(std::size_t count, const std::function<void(std::size_t)>& f) {
  std::atomic<std::size_t> next{0};
  std::vector<std::jthread> workers;
  for (unsigned i = 0; i < std::max(1U, test_on_gpu() ? 1U : std::thread::hardware_concurrency()); ++i) {
    workers.emplace_back([&] {
      for (std::size_t at = next++; at < count; at = next++) {
        f(at);
      }
    });
  }
}

/// A line with what the planner makes of it.
struct Planned {
  NetLine line;
  std::vector<Plan> plans;
  std::vector<Plan> to_run;
};
std::vector<Planned> planned(std::vector<NetLine> lines) {
  std::vector<Planned> all(lines.size());
  in_parallel(lines.size(), [&](std::size_t i) {
    const auto plans = net_plans(lines[i].drawn.layer);
    ASSERT_TRUE(plans) << text_of(lines[i]) << ": " << plans.error().message;
    all[i] = {lines[i], *plans, plans_to_run(lines[i], *plans)};
  });
  return all;
}

/// What a plan shows: its mode, or in a short run its template with the compute mode.
using Shows = std::function<std::vector<std::string>(const Layer&, const Plan&)>;

std::vector<std::string> its_mode(const Layer& layer, const Plan& plan) {
  return {mode_of(layer, plan)};
}

std::string without_layout(const std::string& mode) {
  return mode.substr(0, mode.rfind(' '));
}
std::vector<std::string> its_mode_without_layout(const Layer& layer, const Plan& plan) {
  return {without_layout(mode_of(layer, plan))};
}

/// As many lines; the plans are of each of the classes that they show about as often.
std::vector<Planned> sample_of(const std::vector<Planned>& all, std::size_t count, const Shows& shows) {
  std::vector<Candidate> candidates;
  for (const Planned& each : all) {
    candidates.push_back({text_of(each.line), {"any"}});
    for (const Plan& plan : shows ? each.to_run : std::vector<Plan>()) {
      std::ranges::copy(shows(each.line.drawn.layer, plan), std::back_inserter(candidates.back().classes));
    }
  }
  std::vector<Planned> taken;
  for (const std::size_t i : sample(candidates, count)) {
    taken.push_back(all[i]);
  }
  return taken;
}

/// Runs the lines' first plans, and others that show a class which plans before showed less often than `most` times.
/// Returns the classes.
std::set<std::string> run(const std::vector<Planned>& lines, const Shows& shows = its_mode,
                          int most = std::numeric_limits<int>::max()) {
  struct Job {
    const Planned* planned;
    const Plan* plan;
  };
  std::vector<Job> jobs;
  std::map<std::string, int> counts;
  for (const Planned& each : lines) {
    for (const Plan& plan : each.to_run) {
      const std::vector<std::string> classes = shows(each.line.drawn.layer, plan);
      if (&plan == &each.to_run.front() ||
          std::ranges::any_of(classes, [&](const std::string& name) { return counts[name] < most; })) {
        std::ranges::for_each(classes, [&](const std::string& name) { ++counts[name]; });
        jobs.push_back({&each, &plan});
      }
    }
  }
  std::mutex mutex;
  in_parallel(jobs.size(), [&](std::size_t i) {
    thread_local const std::unique_ptr<Device> device = test_device(1);
    ASSERT_NE(device, nullptr);
    const auto& [line, plan] = jobs[i];
    const auto& [layer, sizes] = line->line.drawn;
    const std::string text = text_of(line->line);
    const auto failure = failure_of(*device, layer, sizes, *plan, hash_of(text), layer.directions.front());
    if (failure) {
      const std::lock_guard lock(mutex);
      ADD_FAILURE() << fmt::format(
          "{}: {}\n{}\nreplay: CONVTGEN_TEST_LINE='{}' net_test --gtest_filter=Net.LayersMatchTheDefinition\nIt goes "
          "into {}.",
          plan->template_name, plan->reason, *failure, text, kFailed);
    }
  });
  std::set<std::string> shown;
  for (const auto& [name, count] : counts) {
    fmt::print("  {}: {} plans\n", name, count);
    shown.insert(name);
  }
  fmt::print("{} layers, {} plans run\n", lines.size(), jobs.size());
  return shown;
}

TEST(Net, LayersMatchTheDefinition) {
  if (const std::string text = text_from("CONVTGEN_TEST_LINE", ""); !text.empty()) {
    const auto line = parse_net_line(text);
    ASSERT_TRUE(line) << line.error().message;
    run(planned({*line}));
    return;
  }
  auto lines = read_net_lines(kNet);
  ASSERT_TRUE(lines) << lines.error().message;
  const std::size_t all = lines->size();
  const bool is_short = std::getenv("CONVTGEN_TEST_LAYERS") == nullptr && !tests_all();
  if (is_short) {
    std::erase_if(*lines, [](const NetLine& line) { return hash_of(test_seed() + text_of(line)) % kDrawnFrom != 0; });
  }
  const Shows shows = is_short ? its_mode_without_layout : its_mode;
  const std::vector<Planned> drawn =
      sample_of(planned(*std::move(lines)), number_from("CONVTGEN_TEST_LAYERS", kLayers), shows);
  fmt::print("CONVTGEN_TEST_SEED={}: {} of {} layers\n", test_seed(), drawn.size(), all);
  std::set<std::string> wanted;
  for (const std::string& mode : all_modes()) {
    wanted.insert(is_short ? without_layout(mode) : mode);
  }
  EXPECT_EQ(run(drawn, shows, is_short ? kRunsOfAClass : std::numeric_limits<int>::max()), wanted);
}

TEST(Net, LayersThatOnceFailedMatchTheDefinition) {
  auto lines = read_net_lines(kFailed);
  ASSERT_TRUE(lines) << lines.error().message;
  const std::size_t wanted = (lines->size() + kFailedParts - 1) / kFailedParts;
  run(sample_of(planned(*std::move(lines)), wanted, nullptr));
}

TEST(Net, ShowsEveryPairAndKindOfPlanThatThePlannerAccepts) {
  auto lines = read_net_lines(kNet);
  ASSERT_TRUE(lines) << lines.error().message;
  Coverage coverage;
  for (const Planned& each : planned(*std::move(lines))) {
    add_line(coverage, each.line, each.plans);
  }
  std::set<std::string> modes;
  for (const auto& [mode, count] : coverage.counts()) {
    modes.insert(mode);
    fmt::print("  {}: {} pairs, {} kinds of plans\n", mode, count.first, count.second);
  }
  EXPECT_EQ(modes, all_modes());
  std::mutex mutex;
  std::map<std::string, std::string> missing;  // with a line that shows it
  const std::uint64_t parts = number_from("CONVTGEN_TEST_PARTS", tests_all() ? kQuestionParts : kParts);
  const std::uint64_t first = hash_of(test_seed()) % kQuestionParts;
  in_parallel(parts, [&](std::size_t part) {
    for (const RandomLayer& drawn : questions((first + part) % kQuestionParts)) {
      const auto plans = net_plans(drawn.layer);
      std::map<std::string, std::size_t> numbers;
      for (const Plan& plan : plans ? *plans : std::vector<Plan>()) {
        const std::string mode = mode_of(drawn.layer, plan);
        const NetLine line{drawn, fmt::format("plan {}", numbers[mode]++)};
        const std::lock_guard lock(mutex);
        for (const auto& pair : coverage.missing_pairs(mode, classes_of(drawn))) {
          missing.try_emplace(fmt::format("{}: {}", mode, words(pair)), text_of(line));
        }
        for (const std::string& kind : coverage.missing_kinds(mode, kinds_of(drawn.layer, plan))) {
          missing.try_emplace(fmt::format("{}: {}", mode, kind), text_of(line));
        }
      }
    }
  });
  constexpr std::size_t kMostShown = 10;
  for (std::size_t shown = 0; const auto& [what, line] : missing) {
    if (++shown <= kMostShown) {
      ADD_FAILURE() << fmt::format("{} is accepted, and no layer of {} shows it; this one does:\n{}", what, kNet, line);
    }
  }
  EXPECT_EQ(missing.size(), 0U) << "update_net adds what is missing";
}

}  // namespace
}  // namespace convtgen::testing
