// The table and the printer of primitives; kernels of the cases compiled for an architecture that has what they call,
// or all for all (tests/sample/sample.h).
#include "generator/specializer/primitives.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <vector>

#include "generator/planner/chip/target.h"
#include "runtime/compile/nvrtc.h"
#include "tests/primitives/case.h"
#include "tests/primitives/emitted.h"
#include "tests/sample/sample.h"

namespace convtgen::testing {
namespace {

bool contains(const Error& error, std::string_view words) {
  return error.message.find(words) != std::string::npos;
}

std::string message_of(std::string_view name, std::string_view architecture) {
  const Result<void> checked = check_primitive(name, architecture);
  return checked ? "" : checked.error().message;
}

TEST(PrimitiveTable, HoldsEveryFunctionOfTheHeaders) {
  std::set<std::pair<std::string, std::string>> in_headers, in_table;
  for (const HeaderItem& item : header_items()) {
    if (item.text.find("__forceinline__") != std::string::npos) {
      in_headers.emplace(item.header, item.name);
    }
  }
  for (const PrimitiveNeed& need : known_primitives()) {
    in_table.emplace(need.header, need.name);
  }
  std::vector<std::pair<std::string, std::string>> differ;
  std::ranges::set_symmetric_difference(in_headers, in_table, std::back_inserter(differ));
  EXPECT_EQ(differ, decltype(differ)());
  EXPECT_EQ(in_table.size(), known_primitives().size());
}

TEST(PrimitiveTable, EveryPrimitiveHasAKernel) {
  std::set<std::string> used;
  for (const Case& one : all_cases()) {
    const Emitted emitted = testing::emitted(one.body, one.threads, one.shared_bytes);
    used.insert(emitted.primitives.begin(), emitted.primitives.end());
  }
  for (const PrimitiveNeed& need : known_primitives()) {
    EXPECT_TRUE(used.contains(need.name)) << need.name;
  }
}

TEST(PrimitiveTable, SaysWhoHasWhat) {
  EXPECT_EQ(message_of("matrix_load_x4", "sm_75"), "");
  EXPECT_EQ(message_of("async_copy_16", "sm_75"),
            "sm_75 has no 'async_copy_16'; sm_80, sm_86, sm_87, sm_88, sm_89, sm_90a, sm_100, sm_103, sm_110, sm_120, "
            "sm_121 have");
  EXPECT_EQ(message_of("async_copy_16", "sm_80"), "");
  EXPECT_EQ(message_of("tensor_load_2d", "sm_89"),
            "sm_89 has no 'tensor_load_2d'; sm_90a, sm_100, sm_103, sm_110, sm_120, sm_121 have");
  EXPECT_EQ(message_of("mma_k8_f16", "sm_75"), "");
  EXPECT_EQ(message_of("tensor_load_2d", "sm_120"), "");
  EXPECT_EQ(message_of("wgmma_m64n96k16_f16_ss", "sm_90a"), "");
  EXPECT_EQ(message_of("wgmma_m64n96k16_f16_ss", "sm_100"), "sm_100 has no 'wgmma_m64n96k16_f16_ss'; sm_90a has");
  EXPECT_EQ(message_of("wgmma_commit", "sm_80"), "sm_80 has no 'wgmma_commit'; sm_90a has");
  EXPECT_EQ(message_of("async_copy_32", "sm_80"), "no primitive 'async_copy_32'");
  EXPECT_NE(message_of("async_copy_16", "sm_42"), "");
}

TEST(PrimitivePrinter, NamesAndTextsAgree) {
  int count = 0;
  for (int n = 8; n <= 256; n += 8) {
    for (const WgmmaType type : {WgmmaType::kF16, WgmmaType::kBf16, WgmmaType::kTf32}) {
      for (int bits = 0; bits < 8; ++bits) {
        const Wgmma wgmma{.n = n,
                          .type = type,
                          .a_in_registers = (bits & 1) != 0,
                          .a_mn_major = (bits & 2) != 0,
                          .b_mn_major = (bits & 4) != 0};
        const std::string name = wgmma_name(wgmma);
        const Result<Primitive> printed = printed_primitive(name);
        const bool legal = !(type == WgmmaType::kTf32 && bits > 1) && !(wgmma.a_in_registers && wgmma.a_mn_major);
        ASSERT_EQ(printed.has_value(), legal) << name;
        EXPECT_TRUE(is_printed_primitive(name));
        if (printed) {
          ++count;
          EXPECT_EQ(printed->name, name);
          EXPECT_EQ(printed->type.name, "void");
          EXPECT_NE(printed->text.find("void " + name + "(float (&d)[" + std::to_string(n / 2) + "]"),
                    std::string::npos)
              << printed->text;
        }
      }
    }
  }
  EXPECT_EQ(count, 32 * (6 + 6 + 2));
}

TEST(PrimitivePrinter, PrintsTheWholeFunction) {
  EXPECT_EQ(
      printed_primitive("wgmma_m64n8k16_bf16_rs_mn_b")->text,
      R"(// d (64x8, f32) = a (64x16) * b (16x8), added to d where `accumulate` is not 0: bf16, A in registers, B N-major.
__device__ __forceinline__ void wgmma_m64n8k16_bf16_rs_mn_b(float (&d)[4], const unsigned int (&a)[4],
                                                            unsigned long long b, int accumulate) {
  asm volatile("{ .reg .pred p; setp.ne.b32 p, %9, 0; wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 "
      "{%0, %1, %2, %3}, "
      "{%4, %5, %6, %7}, %8, p, 1, 1, 1; }"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(accumulate) : "memory");
})");
  EXPECT_EQ(printed_primitive("setmaxnreg_decrease_24")->text,
            R"(// Gives back the registers of each thread of this warpgroup beyond 24. Collective.
__device__ __forceinline__ void setmaxnreg_decrease_24() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 24;");
})");
}

TEST(PrimitivePrinter, SaysWhatIsNotLegal) {
  const auto message = [](std::string_view name) {
    const Result<Primitive> printed = printed_primitive(name);
    return printed ? Error{""} : printed.error();
  };
  EXPECT_TRUE(contains(message("wgmma_m64n12k16_f16_ss"), "N is 8 to 256 in steps of 8"));
  EXPECT_TRUE(contains(message("wgmma_m64n264k16_f16_ss"), "N is 8 to 256 in steps of 8"));
  EXPECT_TRUE(contains(message("wgmma_m64n"), "N is 8 to 256 in steps of 8"));
  EXPECT_TRUE(contains(message("wgmma_m64n064k16_f16_ss"), "N is 8 to 256 in steps of 8"));
  EXPECT_TRUE(contains(message("wgmma_m64n64_f16_ss"), "the K of an instruction"));
  EXPECT_TRUE(contains(message("wgmma_m64n64k8_f16_ss"), "K of f16 is 16"));
  EXPECT_TRUE(contains(message("wgmma_m64n64k16_tf32_ss"), "K of tf32 is 8"));
  EXPECT_TRUE(contains(message("wgmma_m64n64k16_f32_ss"), "types are f16, bf16, tf32"));
  EXPECT_TRUE(contains(message("wgmma_m64n64k16_f16_sr"), "in registers (rs)"));
  EXPECT_TRUE(contains(message("wgmma_m64n64k16_f16_ss_mn"), "_mn_ab"));
  EXPECT_TRUE(contains(message("wgmma_m64n64k8_tf32_ss_mn_a"), "tf32 operands are K-major"));
  EXPECT_TRUE(contains(message("wgmma_m64n64k16_f16_rs_mn_a"), "only operands in shared memory"));
  EXPECT_TRUE(contains(message("setmaxnreg_increase_20"), "registers are 24 to 256"));
  EXPECT_TRUE(contains(message("setmaxnreg_increase_240x"), "registers are 24 to 256"));
  EXPECT_TRUE(contains(message("matrix_load_x4"), "no printed primitive"));
}

class PrimitiveKernel : public ::testing::TestWithParam<std::size_t> {};

TEST_P(PrimitiveKernel, CompilesForArchitecturesThatHaveIt) {
  const Case& one = all_cases()[GetParam()];
  const Emitted emitted = testing::emitted(one.body, one.threads, one.shared_bytes);
  const char* folder = std::getenv("CONVTGEN_CUBIN_DIR");
  std::string refused;  // the newest that lacks it
  std::vector<Target> targets;
  std::vector<Candidate> candidates;
  for (const Target& target : known_targets()) {
    const bool able = std::ranges::all_of(emitted.primitives, [&](const std::string& primitive) {
      return check_primitive(primitive, target.architecture).has_value();
    });
    if (!able) {
      refused = target.architecture;
      continue;
    }
    targets.push_back(target);
    candidates.push_back({one.name + "/" + target.architecture, {"any"}});
  }
  // A sample of each kernel's, unless the cubins are wanted.
  int compiled = 0;
  for (const std::size_t i : sample(candidates, folder != nullptr ? targets.size() : 1)) {
    const Target& target = targets[i];
    const Result<Binary> binary = compile_with_nvrtc(emitted.source, target.architecture, BinaryKind::kCubin);
    ASSERT_TRUE(binary) << one.name << " for " << target.architecture << ": " << binary.error().message;
    ++compiled;
    if (one.tuned) {
      const std::optional<ResourceUsage> usage = resource_usage(*binary);
      ASSERT_TRUE(usage) << one.name << " for " << target.architecture;
      EXPECT_EQ(usage->spill_bytes, 0) << one.name << " for " << target.architecture;
      EXPECT_EQ(usage->stack_bytes, 0) << one.name << " for " << target.architecture;
    }
    for (const char* bad : {"serialized", "C7510", "C7511", "C7512", "C7517", "C7519", "C7520"}) {
      EXPECT_EQ(binary->log.find(bad), std::string::npos) << one.name << ": " << binary->log;
    }
    if (folder != nullptr) {
      const std::filesystem::path path =
          std::filesystem::path(folder) / (one.name + "." + target.architecture + ".cubin");
      std::ofstream(path, std::ios::binary) << binary->bytes;
      ASSERT_TRUE(std::filesystem::exists(path)) << path;
    }
  }
  EXPECT_GT(compiled, 0) << one.name;
  // The table is right: who lacks it can't compile it.
  if (!refused.empty()) {
    EXPECT_FALSE(compile_with_nvrtc(emitted.source, refused, BinaryKind::kCubin)) << one.name << " for " << refused;
  }
}

// A third of the kernels, unless all cubins are wanted. Those that are left out run on the host device all the same.
std::vector<std::size_t> indices() {
  std::vector<Candidate> candidates;
  for (const Case& one : all_cases()) {
    candidates.push_back({one.name, {"any"}});
  }
  return sample(candidates, candidates.size() / (std::getenv("CONVTGEN_CUBIN_DIR") != nullptr ? 1 : 3));
}

INSTANTIATE_TEST_SUITE_P(Sample, PrimitiveKernel, ::testing::ValuesIn(indices()),
                         [](const auto& info) { return all_cases()[info.param].name; });

}  // namespace
}  // namespace convtgen::testing
