// The machine code of first plans as chips without wgmma get it: of the benchmark's layers, in all directions, no
// register is spilled, products are the instructions that the chip has for the mode, and as many blocks fit an SM as
// the planner counts on. A committed table has a line for each kernel: registers, blocks of an SM and shared memory. A
// run compiles a sample of them (tests/sample/sample.h).
//
// CONVTGEN_UPDATE_GOLDENS=1 writes the table anew; it compiles those kernels whose source is not that of their line.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <fstream>
#include <map>
#include <mutex>
#include <set>
#include <thread>

#include "generator/planner/search/planner.h"
#include "runtime/compile/nvrtc.h"
#include "runtime/compile/nvrtc_search.h"
#include "tests/end_to_end/chip_cases.h"
#include "tests/end_to_end/compiled_plan.h"
#include "tests/sample/sample.h"
#include "tests/template_facts/facts.h"

namespace convtgen::testing {
namespace {

std::string nvrtc_here() {
  const NvrtcSearch nvrtc = find_nvrtc();
  return fmt::format("NVRTC {}.{}", nvrtc.major, nvrtc.minor);
}

/// The source that a line is of, as the last word of the line.
std::string digest_of(const KernelSource& source) {
  return fmt::format("{:08x}", static_cast<std::uint32_t>(hash_of(source.text)));
}

/// The blocks that registers leave room for on an SM, and its threads: warps get registers by 256, of 64 Ki.
std::int64_t blocks_by_registers(const Target& target, const KernelPlan& kernel, int registers) {
  const std::int64_t of_warp = (std::int64_t{registers} * 32 + 255) / 256 * 256;
  return std::min(65536 / of_warp / 4 * 4 / ((kernel.threads + 31) / 32),
                  target.max_threads_per_sm / std::int64_t{kernel.threads});
}

/// The names of all products of warps in a kernel.
std::set<std::string> products_of(const MachineCode& kernel) {
  std::set<std::string> out;
  for (const Instruction& each : kernel.instructions) {
    for (const char* product : {"HMMA", "IMMA", "DMMA", "QMMA", "OMMA", "HGMMA"}) {
      if (each.text.starts_with(product)) {
        out.insert(each.text.substr(0, each.text.find(' ')));
      }
    }
  }
  return out;
}

/// The products that a mode has on a chip where a template uses those of warps. With 16 bits there are shorter ones for
/// groups of few channels, and on sm_75 no others.
std::set<std::string> expected_products(const Target& target, Compute compute) {
  const bool is_turing = !target.features.has(Feature::kCpAsync);
  switch (compute) {
    case Compute::kTf32:
      return {"HMMA.1688.F32.TF32"};
    case Compute::kBf16:
      return {"HMMA.16816.F32.BF16", "HMMA.1688.F32.BF16"};
    case Compute::kF32x3:  // of parts of f16, or of tf32
      return is_turing ? std::set<std::string>{"HMMA.1688.F32"}
                       : std::set<std::string>{"HMMA.16816.F32", "HMMA.1688.F32", "HMMA.1688.F32.TF32"};
    default:
      return is_turing ? std::set<std::string>{"HMMA.1688.F32"}
                       : std::set<std::string>{"HMMA.16816.F32", "HMMA.1688.F32"};
  }
}

constexpr std::string_view kOfStack = "bytes of stack";

/// The line of a case, and what is wrong with its machine code.
struct Looked {
  std::string line;
  std::vector<std::string> faults;
};

Looked look_at(const MadeCase& made) {
  const Result<CompiledPlan> compiled = compile_plan(made.problem, made.plan);
  if (!compiled) {
    return {"", {compiled.error().message}};
  }
  const Target& target = made.problem.target;
  const ResourceUsage usage = resource_usage(compiled->binary).value();
  const KernelPlan& main = made.plan.launch.main();
  const std::int64_t by_registers = blocks_by_registers(target, main, usage.registers);
  const std::int64_t blocks = std::min(by_registers, blocks_by_shared(target, main.shared_bytes));
  const auto kernel = std::ranges::find(compiled->kernels, made.source.symbol, &MachineCode::name);
  if (kernel == compiled->kernels.end()) {
    return {"", {fmt::format("no machine code of {}", made.source.symbol)}};
  }
  const std::set<std::string> products = products_of(*kernel);

  Looked out;
  std::set<std::string> expected;
  if (facts_of(made.plan.template_name).machine_code.warp_products) {
    expected = expected_products(target, made.problem.layer.compute);
  }
  if (products.empty() != expected.empty() || !std::ranges::includes(expected, products)) {
    out.faults.push_back(fmt::format("products are {}, not of {}", products, expected));
  }
  // Planners of tensor cores count on so many blocks; to others it is what registers are bounded by.
  const std::int64_t fitting = expected.empty() ? by_registers : blocks;
  const auto planned = made.plan.parameters.find("blocks_per_sm");
  if (planned != made.plan.parameters.end() && fitting < std::get<std::int64_t>(planned->second)) {
    out.faults.push_back(fmt::format("{} blocks fit an SM, not {}", fitting, std::get<std::int64_t>(planned->second)));
  }
  if (usage.spill_bytes != 0) {
    out.faults.push_back(fmt::format("{} bytes spilled", usage.spill_bytes));
  }
  // A stack without spills: of a call that ptxas makes for copies to another block of a cluster, or of an array.
  const std::string memory = usage.stack_bytes != 0 ? fmt::format(", {} {}", usage.stack_bytes, kOfStack) : "";
  out.line = fmt::format("{}; {} registers{}; {} of {} threads; {} bytes; {}; {}", made.plan.template_name,
                         usage.registers, memory, blocks, main.threads, main.shared_bytes,
                         products.empty() ? "no products" : fmt::format("{}", fmt::join(products, " ")),
                         digest_of(made.source));
  return out;
}

/// Writes the table anew, after each chip. Lines are kept whose source is as it was.
void update_table(const std::vector<ChipCase>& all) {
  const ChipTable committed = committed_chip_table();
  const std::string nvrtc = nvrtc_here();
  std::map<std::string, std::string> lines = committed.nvrtc == nvrtc ? committed.lines : decltype(committed.lines)();
  for (const BoardOfChip& board : boards_of_chips()) {
    std::atomic<std::size_t> next = 0;
    std::mutex mutex;
    const auto work = [&] {
      for (std::size_t i = next++; i < all.size(); i = next++) {
        if (all[i].board.architecture != board.architecture) {
          continue;
        }
        const MadeCase made = make_case(all[i]);
        std::unique_lock lock(mutex);
        if (lines[all[i].name].ends_with(digest_of(made.source))) {
          continue;
        }
        lock.unlock();
        const Looked looked = look_at(made);
        lock.lock();
        lines[all[i].name] = looked.line;
        for (const std::string& fault : looked.faults) {
          ADD_FAILURE() << all[i].name << ": " << fault;
        }
      }
    };
    {
      std::vector<std::jthread> workers;
      for (unsigned i = 0; i < std::max(1u, std::thread::hardware_concurrency()); ++i) {
        workers.emplace_back(work);
      }
    }
    std::ofstream file(CONVTGEN_CHIPS_TABLE);
    file << nvrtc << '\n';
    for (const ChipCase& one : all) {
      if (const auto line = lines.find(one.name); line != lines.end()) {
        file << one.name << ": " << line->second << '\n';
      }
    }
  }
}

std::vector<Candidate> candidates_of(const std::vector<ChipCase>& all, const ChipTable& table) {
  std::vector<Candidate> out;
  for (const ChipCase& one : all) {
    out.push_back({one.name,
                   {one.board.architecture, std::string(name_of(one.layer.compute)),
                    std::string(name_of(one.direction)), fmt::format("{} ", template_in_table(table, one.name))}});
  }
  return out;
}

constexpr std::size_t kSample = 8;
constexpr std::size_t kParts = 2;  // tests that share the sample, so that they run side by side

class ChipsMachineCode : public ::testing::TestWithParam<std::size_t> {};

TEST_P(ChipsMachineCode, IsSoundAndAsTheTableSays) {
  const std::vector<ChipCase> all = chip_cases();
  if (std::getenv("CONVTGEN_UPDATE_GOLDENS") != nullptr && GetParam() == 0) {
    update_table(all);
  }
  ASSERT_NE(disassembler(), nullptr) << "machine code is not looked at without nvdisasm: set CONVTGEN_NVDISASM";
  const ChipTable table = committed_chip_table();
  EXPECT_EQ(table.lines.size(), all.size());
  for (const std::size_t i : part_of(sample(candidates_of(all, table), kSample), GetParam(), kParts)) {
    SCOPED_TRACE(fmt::format("replay: CONVTGEN_TEST_ONLY={} chips_machine_code_test", all[i].name));
    fmt::print("{}\n", all[i].name);
    const MadeCase made = make_case(all[i]);
    const Looked looked = look_at(made);
    EXPECT_EQ(looked.faults, std::vector<std::string>());
    const auto line = table.lines.find(all[i].name);
    ASSERT_NE(line, table.lines.end()) << "no line of the table";
    // With another NVRTC registers differ.
    EXPECT_TRUE(!looked.line.contains(kOfStack) || line->second.contains(kOfStack)) << looked.line;
    if (table.nvrtc == nvrtc_here()) {
      EXPECT_EQ(looked.line, line->second) << "CONVTGEN_UPDATE_GOLDENS=1 chips_machine_code_test writes it anew";
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Part, ChipsMachineCode, ::testing::Range(std::size_t{0}, number_of_parts(kParts, [] {
                                                                    return candidates_of(chip_cases(),
                                                                                         committed_chip_table());
                                                                  })));

}  // namespace
}  // namespace convtgen::testing
