// Adds layers to a file of the net that show what it lacks, found by a search for so many seconds and by the questions
// of net_test: update_net <file> <seconds> [seed]. Lines that show nothing of their own are left out.
#include <fmt/format.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <mutex>
#include <thread>

#include "tests/end_to_end/net.h"

namespace convtgen::testing {
namespace {

using Clock = std::chrono::steady_clock;

struct Net {
  std::mutex mutex;
  std::vector<NetLine> lines;
  Coverage coverage;
};

/// How much of the net's lack this line makes up for.
std::size_t worth(const Net& net, const NetLine& line, const std::vector<Plan>& plans) {
  std::size_t worth = 0;
  const Classes classes = classes_of(line.drawn);
  for (const Plan& plan : plans_to_run(line, plans)) {
    const std::string mode = mode_of(line.drawn.layer, plan);
    worth += net.coverage.missing_pairs(mode, classes).size() +
             net.coverage.missing_kinds(mode, kinds_of(line.drawn.layer, plan)).size();
  }
  return worth;
}

/// Adds what net_test asks the planner about and the net lacks.
void answer(Net& net, std::uint64_t part) {
  for (const RandomLayer& drawn : questions(part)) {
    const auto plans = net_plans(drawn.layer);
    for (std::size_t number = 0; plans && number < plans->size(); ++number) {
      const NetLine line{drawn, fmt::format("plan {}", number)};
      const std::lock_guard lock(net.mutex);
      if (worth(net, line, *plans) > 0) {
        add_line(net.coverage, line, *plans);
        net.lines.push_back(line);
      }
    }
  }
}

/// Draws a few layers for each pair and adds the best of them, if they show anything that the net lacks.
void search(Net& net, std::uint64_t seed, Clock::time_point end) {
  std::mt19937_64 random(seed);
  LayerSource source(seed);
  int idle = 0;
  while (Clock::now() < end) {
    const int candidates = idle > 200 ? 1 : idle > 20 ? 6 : 24;
    std::optional<NetLine> best;
    std::vector<Plan> best_plans;
    std::size_t most = 0;
    Wanted wanted = random_wish(random);
    for (int i = 0; i < candidates; ++i) {
      const std::optional<RandomLayer> drawn = source.next(wanted);
      if (!drawn) {
        break;
      }
      const auto plans = net_plans(drawn->layer);
      if (!plans) {
        continue;
      }
      for (const std::uint64_t number : {std::uint64_t{0}, random() % 16, random() % 16}) {
        const NetLine line{*drawn, fmt::format("plan {}", number)};
        const std::lock_guard lock(net.mutex);
        if (const std::size_t found = worth(net, line, *plans); found > most) {
          most = found;
          best = line;
          best_plans = *plans;
        }
      }
    }
    const std::lock_guard lock(net.mutex);
    idle = best ? 0 : idle + 1;
    if (best) {
      add_line(net.coverage, *best, best_plans);
      net.lines.push_back(*best);
    }
  }
}

int run(const std::string& path, int seconds, std::uint64_t seed) {
  Net net;
  if (auto lines = read_net_lines(path)) {
    // The last lines were added for what is rarest.
    for (auto line = lines->rbegin(); line != lines->rend(); ++line) {
      const auto plans = net_plans(line->drawn.layer);
      if (plans && worth(net, *line, *plans) > 0) {
        add_line(net.coverage, *line, *plans);
        net.lines.insert(net.lines.begin(), *line);
      }
    }
    fmt::print("{} of {} lines kept\n", net.lines.size(), lines->size());
  }
  const auto end = Clock::now() + std::chrono::seconds(seconds);
  {
    std::vector<std::jthread> workers;
    const std::uint64_t count = std::max(1U, std::thread::hardware_concurrency());
    for (std::uint64_t i = 0; i < count; ++i) {
      workers.emplace_back([&net, i, count, seed, end] {
        search(net, seed * 1000 + i, end);
        for (std::uint64_t part = i; part < kQuestionParts; part += count) {
          answer(net, part);
        }
      });
    }
  }
  std::ofstream file(path);
  file << "# LAYER | BATCHxHEIGHTxWIDTH | PLANS, written by update_net (docs/contributing.md)\n";
  for (const NetLine& line : net.lines) {
    file << text_of(line) << '\n';
  }
  for (const auto& [mode, count] : net.coverage.counts()) {
    fmt::print("{}: {} pairs, {} kinds of plans\n", mode, count.first, count.second);
  }
  fmt::print("{} lines\n", net.lines.size());
  return file.flush() ? 0 : 1;
}

}  // namespace
}  // namespace convtgen::testing

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fputs("usage: update_net <file> <seconds> [seed]\n", stderr);
    return 2;
  }
  return convtgen::testing::run(argv[1], std::atoi(argv[2]), argc > 3 ? std::strtoull(argv[3], nullptr, 10) : 1);
}
