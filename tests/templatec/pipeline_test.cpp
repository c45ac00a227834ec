// A template with tensor cores, TMA and mbarriers (pipeline/pipeline.cu), all the way from its text to cubins.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <set>

#include "generator/program/program_text.h"
#include "generator/specializer/specialize.h"
#include "generator/templatec/templatec.h"
#include "runtime/compile/nvrtc.h"

namespace convtgen::templatec {
namespace {

namespace fs = std::filesystem;

const fs::path kFolder = fs::path(CONVTGEN_SOURCE_DIR) / "tests/templatec/pipeline";

std::string read_file(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

const Output& compiled() {
  static const Output output = compile_template(
      {.path = (kFolder / "pipeline.cu").string(), .shared = std::string(CONVTGEN_SOURCE_DIR) + "/templates"});
  return output;
}

struct Pipeline {
  std::string name;
  int type = 0;
  int tile_n = 0;
  int stages = 0;
  bool cluster = false;
};
void PrintTo(const Pipeline& pipeline, std::ostream* out) {
  *out << pipeline.name;
}

const Pipeline kHalf = {"f16", 0, 128, 3, false};
const Pipeline kTf32Cluster = {"tf32_cluster", 2, 64, 4, true};

Result<KernelSource> source_of(const Pipeline& pipeline, const std::string& architecture) {
  if (!compiled().ok) {
    return fail(compiled().diagnostics);
  }
  const Result<Program> program = read_program(compiled().program);
  if (!program) {
    return std::unexpected(program.error());
  }
  const Parameters parameters = {{"type", std::int64_t{pipeline.type}},
                                 {"tile_n", std::int64_t{pipeline.tile_n}},
                                 {"stages", std::int64_t{pipeline.stages}},
                                 {"steps", std::int64_t{7}},
                                 {"columns", std::int64_t{256}},
                                 {"cluster", pipeline.cluster}};
  const std::string head = fmt::format("// Template pipeline, {} for {}.", pipeline.name, architecture);
  Result<KernelSource> source = specialize_program(*program, parameters, head, "pipeline", architecture);
  if (source) {
    source->recipe.kernels[0].threads = 384;
    source->recipe.kernels[0].shared_bytes = pipeline.stages * (128 + pipeline.tile_n) * 128 + 64 + 1024;
  }
  return source;
}

/// What the guarded blocks of an emitted source declare and define, and what stands between them.
struct Parts {
  std::multiset<std::string> declared;
  std::multiset<std::string> defined;
  std::string between;
};

Parts parts_of(const std::string& text) {
  const std::size_t declared = text.find("#elif !defined(CONVTGEN_HOST_DEVICE)\n"), between = text.find("\n#endif\n");
  const std::size_t defined = text.find("#ifndef CONVTGEN_HOST_DEVICE\n");
  EXPECT_TRUE(declared < between && between < defined && defined != std::string::npos) << text;
  Parts parts;
  parts.between = text.substr(between, defined - between);
  const std::regex function(R"(__device__ __forceinline__ [\w ]+?\*?\s(\w+)\([^{;]*([{;]))");
  for (std::sregex_iterator found(text.begin(), text.end(), function), last; found != last; ++found) {
    const auto at = static_cast<std::size_t>(found->position());
    if (at < between || at > defined) {
      ((*found)[2] == ";" ? parts.declared : parts.defined).insert((*found)[1]);
    }
  }
  return parts;
}

class Pipelines : public testing::TestWithParam<Pipeline> {};

// CONVTGEN_UPDATE_GOLDENS=1 writes the files anew: read the difference before it is committed.
TEST_P(Pipelines, AreTheCommittedSource) {
  const Result<KernelSource> source = source_of(GetParam(), "sm_90a");
  ASSERT_TRUE(source) << source.error().message;
  const fs::path path = kFolder / (GetParam().name + ".emitted.cu");
  if (std::getenv("CONVTGEN_UPDATE_GOLDENS") != nullptr) {
    std::ofstream(path) << source->text;
  }
  EXPECT_EQ(source->text, read_file(path));
  EXPECT_EQ(source->main().parameters,
            (std::vector<KernelParameter>{{"out", "float*"}, {"map_a", "TensorMap"}, {"map_b", "TensorMap"}}));
}

TEST_P(Pipelines, CompileWithoutSpills) {
  if (!find_nvrtc().found()) {
    GTEST_SKIP() << "not run: there is no NVRTC";
  }
  const Result<KernelSource> source = source_of(GetParam(), "sm_90a");
  ASSERT_TRUE(source) << source.error().message;
  const Result<Binary> binary = compile_with_nvrtc(*source, "sm_90a", BinaryKind::kCubin);
  ASSERT_TRUE(binary) << binary.error().message;
  const std::optional<ResourceUsage> usage = resource_usage(*binary);
  ASSERT_TRUE(usage) << binary->log;
  EXPECT_EQ(usage->spill_bytes, 0);
  EXPECT_EQ(usage->stack_bytes, 0);
  EXPECT_EQ(binary->log.find("serialized"), std::string::npos) << binary->log;
}

TEST_P(Pipelines, DeclareAndDefineEachPrimitiveThatTheyUseOnce) {
  const Result<KernelSource> source = source_of(GetParam(), "sm_90a");
  ASSERT_TRUE(source) << source.error().message;
  const Parts parts = parts_of(source->text);
  EXPECT_GT(parts.defined.size(), 15u);
  for (const std::string& primitive : parts.defined) {
    EXPECT_EQ(parts.defined.count(primitive), 1u) << primitive;
    const bool only_by_others = primitive == "shared_address" || primitive == "mbarrier_try_wait";
    EXPECT_EQ(parts.declared.count(primitive), only_by_others ? 0u : 1u) << primitive;
    EXPECT_EQ(parts.between.find(" " + primitive + "(") == std::string::npos &&
                  parts.between.find("(" + primitive + "(") == std::string::npos,
              only_by_others)
        << primitive;
  }
}

INSTANTIATE_TEST_SUITE_P(Each, Pipelines, testing::Values(kHalf, kTf32Cluster),
                         [](const auto& info) { return info.param.name; });

TEST(Pipeline, UsesWhatItsParametersAskFor) {
  const Result<KernelSource> half = source_of(kHalf, "sm_90a"), cluster = source_of(kTf32Cluster, "sm_90a");
  ASSERT_TRUE(half && cluster) << (half ? cluster : half).error().message;
  const Parts in_half = parts_of(half->text), in_cluster = parts_of(cluster->text);
  for (const char* both : {"tensor_load_2d", "wgmma_fence", "setmaxnreg_decrease_24", "setmaxnreg_increase_232"}) {
    EXPECT_TRUE(in_half.defined.contains(both) && in_cluster.defined.contains(both)) << both;
  }
  for (const char* one : {"wgmma_m64n128k16_f16_ss", "mbarrier_arrive"}) {
    EXPECT_TRUE(in_half.defined.contains(one) && !in_cluster.defined.contains(one)) << one;
  }
  for (const char* other : {"wgmma_m64n64k8_tf32_ss", "tensor_load_multicast_2d", "cluster_rank", "cluster_wait",
                            "mbarrier_arrive_remote", "mbarrier_wait_cluster"}) {
    EXPECT_TRUE(!in_half.defined.contains(other) && in_cluster.defined.contains(other)) << other;
  }
}

TEST(Pipeline, IsRefusedWhereAPrimitiveIsMissing) {
  const auto message = [](const Pipeline& pipeline, const std::string& architecture) {
    const Result<KernelSource> source = source_of(pipeline, architecture);
    return source ? std::string() : source.error().message;
  };
  const std::regex named(
      R"(pipeline\.cu:\d+: sm_80 has no '\w+'; sm_90a, sm_100, sm_103, sm_110, sm_120, sm_121 have)");
  EXPECT_TRUE(std::regex_match(message(kHalf, "sm_80"), named)) << message(kHalf, "sm_80");
  const std::regex wgmma(R"(pipeline\.cu:\d+: sm_100 has no '(wgmma|setmaxnreg)_\w+'; sm_90a has)");
  EXPECT_TRUE(std::regex_match(message(kHalf, "sm_100"), wgmma)) << message(kHalf, "sm_100");
  Pipeline wide = kHalf;
  wide.tile_n = 264;
  const std::regex accumulators(R"(pipeline\.cu:\d+: wgmma_ss: d has 132 elements; .*)");
  EXPECT_TRUE(std::regex_match(message(wide, "sm_90a"), accumulators)) << message(wide, "sm_90a");
}

}  // namespace
}  // namespace convtgen::templatec
