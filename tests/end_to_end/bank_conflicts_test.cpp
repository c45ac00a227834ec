// How the lanes of a warp read shared memory, in kernels whose products are of warps: every load of a block's, with the
// addresses that its lanes have as the host device runs them. A load needs as many wavefronts as its bytes do; more are
// bank conflicts. A run looks at a sample of the first plans of the benchmark's layers (tests/sample/sample.h).
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <fstream>
#include <map>
#include <memory>
#include <set>
#include <sstream>
#include <unordered_map>
#include <utility>

#include "generator/language/language.h"
#include "generator/planner/candidates.h"
#include "generator/planner/search/cost.h"
#include "runtime/device/host/host_device.h"
#include "runtime/reference/layer_arrays.h"
#include "runtime/reference/run_layer.h"
#include "tests/end_to_end/chip_cases.h"
#include "tests/sample/sample.h"
#include "tests/template_facts/facts.h"

namespace convtgen::testing {
namespace {

/// A load of a warp: its lanes' offsets.
struct WarpLoad {
  std::uint32_t bytes = 0;
  std::map<std::uint32_t, std::uint32_t> offsets;  // by lane
};

/// The wavefronts that a load takes, and the least that one of its lanes and bytes takes. Lanes that read one word
/// share it. 8 and 16 bytes a lane go by halves and quarters of the warp; so do rows of ldmatrix.
struct Wavefronts {
  std::int64_t taken = 0, needed = 0;
};
Wavefronts wavefronts_of(const WarpLoad& load) {
  const std::uint32_t lanes = load.bytes <= 4 ? 32 : 128 / load.bytes;
  std::map<std::uint32_t, std::array<std::set<std::uint32_t>, 32>> parts;  // the words of each bank
  for (const auto& [lane, offset] : load.offsets) {
    for (std::uint32_t word = offset / 4; word <= (offset + load.bytes - 1) / 4; ++word) {
      parts[lane / lanes][word % 32].insert(word);
    }
  }
  Wavefronts out;
  for (const auto& [part, banks] : parts) {
    const auto most = std::ranges::max_element(banks, {}, [](const auto& bank) { return bank.size(); });
    out.taken += static_cast<std::int64_t>(most->size());
    ++out.needed;
  }
  return out;
}

TEST(Wavefronts, AreOneWhereBanksDiffer) {
  const auto load = [](std::uint32_t bytes, std::uint32_t pitch) {
    WarpLoad out{bytes, {}};
    for (std::uint32_t lane = 0; lane < 32; ++lane) {
      out.offsets[lane] = 1040 + lane * pitch;
    }
    return wavefronts_of(out);
  };
  EXPECT_EQ(load(4, 4).taken, 1);
  EXPECT_EQ(load(4, 0).taken, 1);
  EXPECT_EQ(load(4, 8).taken, 2);
  EXPECT_EQ(load(4, 128).taken, 32);
  EXPECT_EQ(load(2, 2).taken, 1);
  EXPECT_EQ(load(8, 8).taken, 2);
  EXPECT_EQ(load(8, 8).needed, 2);
  EXPECT_EQ(load(16, 16).taken, 4);
  EXPECT_EQ(load(16, 48).taken, 4);
  EXPECT_EQ(load(16, 32).taken, 8);
  EXPECT_EQ(load(16, 32).needed, 4);
}

/// The loads that stand at one place of a kernel. The first ones are looked at: later k-blocks have their addresses.
struct LoadsOfPlace {
  std::map<std::pair<std::uint32_t, std::uint32_t>, WarpLoad> first;  // by warp and turn
  std::int64_t reads = 0, looked_at = 0;                              // of threads

  /// How often the whole makes wavefronts of those that are looked at.
  [[nodiscard]] double times() const { return static_cast<double>(reads) / static_cast<double>(looked_at); }
  [[nodiscard]] Wavefronts wavefronts() const {
    Wavefronts out;
    for (const auto& [turn, load] : first) {
      const Wavefronts each = wavefronts_of(load);
      out.taken += each.taken;
      out.needed += each.needed;
    }
    return out;
  }
};

/// The loads of a launch, by where they stand in the kernel.
class Loads {
 public:
  void add(const SharedRead& read) {
    const std::uint32_t turn = turns_[(std::uint64_t{read.thread} << 48) ^ read.place]++;
    LoadsOfPlace& loads = places_[read.place];
    ++loads.reads;
    if (turn < kTurns) {
      ++loads.looked_at;
      WarpLoad& load = loads.first[{read.thread / 32, turn}];
      load.bytes = read.bytes;
      load.offsets[read.thread % 32] = read.offset;
    }
  }
  [[nodiscard]] const std::map<std::uintptr_t, LoadsOfPlace>& places() const { return places_; }

 private:
  static constexpr std::uint32_t kTurns = 128;  // of each thread and place
  std::unordered_map<std::uint64_t, std::uint32_t> turns_;
  std::map<std::uintptr_t, LoadsOfPlace> places_;
};

std::unique_ptr<Buffer> written_buffer(HostDevice& device, std::int64_t bytes) {
  auto buffer = device.allocate(static_cast<std::size_t>(bytes)).value();
  EXPECT_TRUE(device.mark_written(*buffer, 0, static_cast<std::size_t>(bytes)));
  return buffer;
}

/// Runs the last blocks of the main kernel, on zeros: one, or as many more as it takes until one has work.
void run_last_blocks(HostDevice& device, const MadeCase& made, const Loads& loads) {
  const LoadedLayer layer = load_source(device, made.problem, made.plan, made.source).value();
  const InputSizes sizes = planned_sizes(made.problem.layer);
  const Shape shape = shape_of(made.problem.layer, sizes).value();
  std::vector<std::unique_ptr<Buffer>> buffers;
  Arrays arrays;
  for (const Tensor& tensor : made.source.recipe.tensors) {
    const std::int64_t elements = tensor.elements.in(quantities_of(shape)).value();
    buffers.push_back(written_buffer(device, elements * bytes_of(made.problem.layer.dtype)));
    arrays.set(tensor.role, reinterpret_cast<void*>(buffers.back()->address()));
  }
  arrays.workspace_bytes = layer.form.workspace_bytes(shape).value();
  buffers.push_back(written_buffer(device, std::max<std::int64_t>(16, arrays.workspace_bytes)));
  arrays.workspace = reinterpret_cast<void*>(buffers.back()->address());
  const Call call = layer.form.call(arrays, sizes).value();
  const std::vector<Launch> launches = launches_of(layer.form, arrays, call).value();
  for (std::size_t i = 0; i < launches.size(); ++i) {
    const RecipeKernel& kernel = made.source.recipe.kernels[i];
    if (kernel.symbol == made.source.symbol) {
      for (std::int64_t left = launches[i].blocks - kernel.cluster; loads.places().empty() && left >= 0;
           left -= kernel.cluster) {
        const auto ran = device.run_from(*layer.kernels[i], launches[i], left);
        ASSERT_TRUE(ran) << ran.error().message;
      }
    }
  }
}

std::int64_t elements_of(const Layer& layer) {
  const Shape shape = shape_of(layer, planned_sizes(layer)).value();
  return element_count(shape, Role::kX) + element_count(shape, Role::kY);
}

/// The lines of the table whose kernels have products of warps, of each kind the one of the smallest layer.
std::vector<Candidate> conflict_candidates(const std::vector<ChipCase>& all) {
  const ChipTable table = committed_chip_table();
  std::map<std::string, std::pair<std::int64_t, Candidate>> least;
  for (const ChipCase& one : all) {
    const std::string name = template_in_table(table, one.name);
    if (name.empty() || !facts_of(name).machine_code.warp_products) {
      continue;
    }
    const std::string kind = fmt::format("{} {} {} {} {}", name, one.board.architecture, name_of(one.direction),
                                         name_of(one.layer.compute), name_of(one.layer.layout));
    const std::int64_t elements = elements_of(one.layer);
    const auto found = least.find(kind);
    if (found == least.end() || elements < found->second.first) {
      least[kind] = {elements, {one.name, {name}}};
    }
  }
  std::vector<Candidate> out;
  for (const auto& [kind, candidate] : least) {
    out.push_back(candidate.second);
  }
  return out;
}

constexpr std::size_t kSampledCases = 4;

TEST(BankConflicts, AreInNoLoadOfProducts) {
  const std::vector<ChipCase> all = chip_cases();
  const std::vector<Candidate> candidates = conflict_candidates(all);
  ASSERT_FALSE(candidates.empty());
  Loads loads;
  const auto device =
      open_host_device(
          {.workers = 1, .races = false, .on_shared_read = [&](const SharedRead& read) { loads.add(read); }})
          .value();
  for (const std::size_t i : sample(candidates, kSampledCases)) {
    const auto one = std::ranges::find(all, candidates[i].name, &ChipCase::name);
    const MadeCase made = make_case(*one);
    SCOPED_TRACE(fmt::format("replay: CONVTGEN_TEST_ONLY={} bank_conflicts_test", one->name));
    loads = Loads();
    run_last_blocks(*device, made, loads);
    double taken = 0, needed = 0;
    std::string listed;
    for (const auto& [place, at] : loads.places()) {
      const Wavefronts some = at.wavefronts();
      taken += at.times() * static_cast<double>(some.taken);
      needed += at.times() * static_cast<double>(some.needed);
      if (some.taken > some.needed) {
        listed += fmt::format("  loads of {} bytes: {} wavefronts for {}, {:.0f} times\n",
                              at.first.begin()->second.bytes, some.taken, some.needed, at.times());
      }
    }
    fmt::print("{}: {:.0f} wavefronts for {:.0f}\n{}", one->name, taken, needed, listed);
    std::fflush(stdout);
    EXPECT_GT(needed, 0);
    EXPECT_LE(taken, facts_of(made.plan.template_name).machine_code.most_wavefronts * needed) << listed;
  }
}

}  // namespace
}  // namespace convtgen::testing
