// Finding NVRTC and compiling with it. Each test of compiling runs with every NVRTC there is: the machine's own, and
// those named in $CONVTGEN_TEST_NVRTC (files, with ':' between them).
#include "runtime/compile/nvrtc.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "runtime/compile/python_packages.h"

namespace convtgen {
namespace {

namespace fs = std::filesystem;

// Sets variables while it lives, or unsets them where the value is empty.
class Environment {
 public:
  Environment(std::initializer_list<std::pair<std::string, std::string>> variables) {
    for (const auto& [name, value] : variables) {
      const char* old = std::getenv(name.c_str());
      before_[name] = old != nullptr ? std::optional<std::string>(old) : std::nullopt;
      value.empty() ? unsetenv(name.c_str()) : setenv(name.c_str(), value.c_str(), 1);
    }
  }
  ~Environment() {
    for (const auto& [name, value] : before_) {
      value ? setenv(name.c_str(), value->c_str(), 1) : unsetenv(name.c_str());
    }
  }
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;

 private:
  std::map<std::string, std::optional<std::string>> before_;
};

// Of this process alone: tests run side by side. The loader knows a library again by its name, so a name serves once.
fs::path scratch_folder(const std::string& name) {
  return fs::path(testing::TempDir()) / ("convtgen_" + name + "_" + std::to_string(getpid()));
}

bool contains(std::string_view text, std::string_view words) {
  return text.find(words) != std::string_view::npos;
}

// Adds what its neighbour staged; 512 bytes of static shared memory.
KernelSource small_kernel() {
  KernelSource source;
  source.symbol = "small_kernel";
  source.recipe.kernels = {{.symbol = source.symbol, .threads = 128, .shared_bytes = 4096}};
  source.text =
      "extern \"C\" __global__ void __launch_bounds__(128) small_kernel(const float* __restrict__ x, float* "
      "__restrict__ y, int n) {\n"
      "  __shared__ float staged[128];\n"
      "  const int i = blockIdx.x * 128 + threadIdx.x;\n"
      "  staged[threadIdx.x] = i < n ? x[i] : 0.0f;\n"
      "  __syncthreads();\n"
      "  if (i < n) {\n"
      "    y[i] = fmaf(staged[threadIdx.x ^ 1], 2.0f, 1.0f);\n"
      "  }\n"
      "}\n";
  source.template_lines = {11, 12, 13, 14, 15, 16, 17, 18, 19};
  return source;
}

std::string replaced(std::string text, std::string_view from, std::string_view to) {
  return text.replace(text.find(from), from.size(), to);
}

std::vector<std::string> nvrtc_files() {
  std::vector<std::string> files;
  if (const NvrtcSearch search = find_nvrtc(); search.found()) {
    files.push_back(search.path);
  }
  const char* more = std::getenv("CONVTGEN_TEST_NVRTC");
  std::istringstream names(more != nullptr ? more : "");
  for (std::string name; std::getline(names, name, ':');) {
    if (!name.empty()) {
      files.push_back(name);
    }
  }
  return files;
}

class NvrtcTest : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    Result<Nvrtc> opened = open_nvrtc(GetParam());
    ASSERT_TRUE(opened) << opened.error().message;
    nvrtc_ = std::move(*opened);
  }
  Nvrtc nvrtc_;
};

// On a machine with no NVRTC at all there is nothing to compile with; the search is tested there all the same.
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(NvrtcTest);
INSTANTIATE_TEST_SUITE_P(Every, NvrtcTest, testing::ValuesIn(nvrtc_files()),
                         [](const auto& info) { return "nvrtc" + std::to_string(info.index); });

TEST_P(NvrtcTest, MakesCubinsForEveryTarget) {
  const KernelSource source = small_kernel();
  for (const char* architecture : {"sm_75", "sm_80", "sm_86", "sm_89", "sm_90a", "sm_100", "sm_120"}) {
    const Result<Binary> binary = compile_with_nvrtc(nvrtc_, source, architecture, BinaryKind::kCubin);
    ASSERT_TRUE(binary) << binary.error().message;
    EXPECT_EQ(binary->kind, BinaryKind::kCubin);
    EXPECT_EQ(binary->architecture, architecture);
    EXPECT_EQ(binary->symbol, "small_kernel");
    EXPECT_EQ(binary->kernels, (std::vector<BinaryKernel>{{"small_kernel", 128, 4096}}));
    EXPECT_TRUE(binary->bytes.starts_with("\177ELF")) << architecture;
    EXPECT_TRUE(contains(binary->bytes, "small_kernel"));

    const std::optional<ResourceUsage> usage = resource_usage(*binary);
    ASSERT_TRUE(usage) << binary->log;
    EXPECT_GE(usage->registers, 4);
    EXPECT_LE(usage->registers, 40);
    EXPECT_EQ(usage->spill_bytes, 0);
    EXPECT_EQ(usage->stack_bytes, 0);
    EXPECT_GE(usage->static_shared, 512);  // some chips have a kilobyte of the system's with it
    EXPECT_LE(usage->static_shared, 512 + 1024);
  }
}

TEST_P(NvrtcTest, MakesPtx) {
  const Result<Binary> binary = compile_with_nvrtc(nvrtc_, small_kernel(), "sm_90a", BinaryKind::kPtx);
  ASSERT_TRUE(binary) << binary.error().message;
  EXPECT_EQ(binary->kind, BinaryKind::kPtx);
  EXPECT_TRUE(contains(binary->bytes, ".target sm_90a"));
  EXPECT_TRUE(contains(binary->bytes, ".entry small_kernel("));
  EXPECT_FALSE(resource_usage(*binary));
}

TEST_P(NvrtcTest, GivesTheSameBytesAgain) {
  for (const BinaryKind kind : {BinaryKind::kCubin, BinaryKind::kPtx}) {
    const Result<Binary> first = compile_with_nvrtc(nvrtc_, small_kernel(), "sm_90a", kind);
    const Result<Binary> second = compile_with_nvrtc(nvrtc_, small_kernel(), "sm_90a", kind);
    ASSERT_TRUE(first && second);
    EXPECT_EQ(first->bytes, second->bytes);
    EXPECT_EQ(first->log, second->log);
    // Not out of a cache of NVRTC's own, which has no log.
    EXPECT_EQ(resource_usage(*second).has_value(), kind == BinaryKind::kCubin);
  }
}

TEST_P(NvrtcTest, CountsSpills) {
  KernelSource source;
  source.symbol = "spills";
  source.text =
      "extern \"C\" __global__ void __launch_bounds__(1024, 2) spills(float* y, int n) {\n"
      "  float v[128];\n"
      "#pragma unroll\n"
      "  for (int i = 0; i < 128; ++i) v[i] = y[i * 1024 + threadIdx.x];\n"
      "  for (int k = 0; k < n; ++k) {\n"
      "#pragma unroll\n"
      "    for (int i = 0; i < 128; ++i) v[i] = fmaf(v[(i + 7) % 128], v[i], v[(i + 51) % 128]);\n"
      "  }\n"
      "#pragma unroll\n"
      "  for (int i = 0; i < 128; ++i) y[i * 1024 + threadIdx.x] = v[i];\n"
      "}\n";
  const Result<Binary> binary = compile_with_nvrtc(nvrtc_, source, "sm_90a", BinaryKind::kCubin);
  ASSERT_TRUE(binary) << binary.error().message;
  const std::optional<ResourceUsage> usage = resource_usage(*binary);
  ASSERT_TRUE(usage) << binary->log;
  EXPECT_EQ(usage->registers, 32);
  EXPECT_GT(usage->spill_bytes, 500);
  EXPECT_GT(usage->stack_bytes, 250);
}

TEST_P(NvrtcTest, QuotesTheLineAtFaultAndItsTemplateLine) {
  KernelSource source = small_kernel();
  source.text = replaced(source.text, "fmaf(", "fmag(");
  const Result<Binary> binary = compile_with_nvrtc(nvrtc_, source, "sm_90a", BinaryKind::kCubin);
  ASSERT_FALSE(binary);
  const std::string& message = binary.error().message;
  EXPECT_TRUE(contains(message, "could not compile small_kernel for sm_90a")) << message;
  EXPECT_TRUE(contains(message, "small_kernel.cu(7): error: identifier \"fmag\" is undefined")) << message;
  EXPECT_TRUE(contains(message, "     7 |     y[i] = fmag(staged")) << message;
  EXPECT_TRUE(contains(message, "from line 17 of the template")) << message;

  source.template_lines[6] = 0;  // a line that came from no template
  const Result<Binary> unmapped = compile_with_nvrtc(nvrtc_, source, "sm_90a", BinaryKind::kCubin);
  ASSERT_FALSE(unmapped);
  EXPECT_FALSE(contains(unmapped.error().message, "of the template"));
}

TEST_P(NvrtcTest, TellsWhatPtxasHasAgainstASource) {
  KernelSource source = small_kernel();
  source.text = replaced(source.text, "__syncthreads();", "asm volatile(\"no.such.instruction;\");");
  const Result<Binary> binary = compile_with_nvrtc(nvrtc_, source, "sm_90a", BinaryKind::kCubin);
  ASSERT_FALSE(binary);
  EXPECT_TRUE(contains(binary.error().message, "no")) << binary.error().message;
  EXPECT_TRUE(contains(binary.error().message, "ptxas")) << binary.error().message;
}

TEST_P(NvrtcTest, ListsWhatItKnowsWhenAskedForAnotherArchitecture) {
  for (const char* architecture : {"sm_19", "sm_999", "sm_", "90a", ""}) {
    const Result<Binary> binary = compile_with_nvrtc(nvrtc_, small_kernel(), architecture, BinaryKind::kCubin);
    ASSERT_FALSE(binary) << architecture;
    EXPECT_TRUE(contains(binary.error().message, "compiles for sm_")) << binary.error().message;
    EXPECT_TRUE(contains(binary.error().message, "sm_75, sm_80")) << binary.error().message;
    EXPECT_TRUE(contains(binary.error().message, "'" + std::string(architecture) + "'")) << binary.error().message;
  }
  // A known number with a suffix of nobody's: NVRTC's own words.
  const Result<Binary> binary = compile_with_nvrtc(nvrtc_, small_kernel(), "sm_90z", BinaryKind::kCubin);
  ASSERT_FALSE(binary);
  EXPECT_TRUE(contains(binary.error().message, "--gpu-architecture")) << binary.error().message;
}

TEST_P(NvrtcTest, MakesNoHostLibraries) {
  EXPECT_FALSE(compile_with_nvrtc(nvrtc_, small_kernel(), "sm_90a", BinaryKind::kHostLibrary));
}

TEST_P(NvrtcTest, IsTakenWhereAFolderNamesIt) {
  const fs::path folder =
      scratch_folder("nvrtc_dir_" + std::to_string(nvrtc_.major) + "_" + std::to_string(nvrtc_.minor));
  // As `pip install --target` lays it out.
  const fs::path lib = folder / "nvidia" / "cu13" / "lib";
  fs::remove_all(folder);
  fs::create_directories(lib);
  fs::create_symlink(GetParam(), lib / "libnvrtc.so.13");
  const Environment environment{{"CONVTGEN_NVRTC", ""}, {"CONVTGEN_NVRTC_DIR", folder.string()}};
  const NvrtcSearch packaged = find_nvrtc();
  EXPECT_EQ(packaged.path, (lib / "libnvrtc.so.13").string());
  EXPECT_EQ(packaged.major, nvrtc_.major);
  EXPECT_EQ(packaged.minor, nvrtc_.minor);
  EXPECT_EQ(packaged.places, (std::vector<NvrtcPlace>{{"$CONVTGEN_NVRTC_DIR", packaged.path, "found"}}));

  fs::rename(lib / "libnvrtc.so.13", folder / "libnvrtc.so.13");
  EXPECT_EQ(find_nvrtc().path, (folder / "libnvrtc.so.13").string());

  // The newest of a folder is taken; what can't be loaded is passed over, and told.
  std::ofstream(folder / "libnvrtc.so.99") << "no library";
  const NvrtcSearch passed = find_nvrtc();
  EXPECT_EQ(passed.path, (folder / "libnvrtc.so.13").string());
  ASSERT_EQ(passed.places.size(), 2u);
  EXPECT_EQ(passed.places[0].path, (folder / "libnvrtc.so.99").string());
  EXPECT_NE(passed.places[0].outcome, "found");
  fs::remove_all(folder);
}

TEST_P(NvrtcTest, IsTheOneTheVariableNames) {
  const Environment environment{{"CONVTGEN_NVRTC", GetParam()}};
  const NvrtcSearch search = find_nvrtc();
  EXPECT_EQ(search.path, GetParam());
  ASSERT_EQ(search.places.size(), 1u);
  EXPECT_EQ(search.places[0].origin, "$CONVTGEN_NVRTC");
}

TEST(NvrtcSearchTest, LooksNowhereElseWhenTheVariableNamesNone) {
  const Environment environment{{"CONVTGEN_NVRTC", "/nonexistent/libnvrtc.so.13"}};
  const NvrtcSearch search = find_nvrtc();
  EXPECT_FALSE(search.found());
  EXPECT_EQ(search.places, (std::vector<NvrtcPlace>{{"$CONVTGEN_NVRTC", "/nonexistent/libnvrtc.so.13", "not there"}}));
  const std::string text = describe_missing_nvrtc(search);
  EXPECT_TRUE(contains(text, "pip install nvidia-cuda-nvrtc")) << text;
  EXPECT_TRUE(contains(text, "$CONVTGEN_NVRTC (/nonexistent/libnvrtc.so.13): not there")) << text;

  const Result<Binary> binary = compile_with_nvrtc(small_kernel(), "sm_90a", BinaryKind::kCubin);
  ASSERT_FALSE(binary);
  EXPECT_EQ(binary.error().message, text);
}

TEST(NvrtcSearchTest, LooksNowhereElseWhenAFolderHasNone) {
  const fs::path empty = scratch_folder("no_nvrtc");
  fs::create_directories(empty);
  for (const std::string& folder : {empty.string(), std::string("/nonexistent")}) {
    const Environment environment{{"CONVTGEN_NVRTC", ""}, {"CONVTGEN_NVRTC_DIR", folder}};
    EXPECT_EQ(find_nvrtc().places, (std::vector<NvrtcPlace>{{"$CONVTGEN_NVRTC_DIR", folder, "not there"}}));
    EXPECT_FALSE(locate_nvrtc().found());
    const Result<void> checked = check_nvrtc();
    ASSERT_FALSE(checked);
    EXPECT_TRUE(contains(checked.error().message, "$CONVTGEN_NVRTC_DIR (" + folder + "): not there"));
  }
  fs::remove_all(empty);
}

TEST(NvrtcSearchTest, RefusesALibraryThatIsNoNvrtc) {
  const Result<Nvrtc> opened = open_nvrtc("libm.so.6");
  ASSERT_FALSE(opened);
  EXPECT_TRUE(contains(opened.error().message, "no NVRTC of version 11.2 or later")) << opened.error().message;
}

TEST(NvrtcSearchTest, LooksAtEachFolderOnce) {
  const fs::path empty = scratch_folder("empty");
  fs::create_directories(empty / "lib64");
  const Environment environment{
      {"CONVTGEN_NVRTC", ""}, {"CONVTGEN_NVRTC_DIR", ""}, {"CUDA_HOME", empty.string()}, {"CUDA_PATH", empty.string()}};
  const NvrtcSearch search = find_nvrtc();
  ASSERT_GE(search.places.size(), 1u);
  std::multiset<std::string> paths;
  for (const NvrtcPlace& place : search.places) {
    paths.insert(place.path);
  }
  EXPECT_LE(paths.count((empty / "lib64").string()), 1u);
  fs::remove_all(empty);
}

// A prefix as Python and pip lay it out, with a program that would tell if it were run.
class PythonPackagesTest : public testing::Test {
 protected:
  void SetUp() override {
    fs::remove_all(prefix_);
    fs::create_directories(lib_);
    fs::create_directories(prefix_ / "lib" / "python3.99" / "site-packages" / "nvidia" / "no_libraries");
    fs::create_directories(prefix_ / "bin");
  }
  void TearDown() override { fs::remove_all(prefix_); }

  void write_python(const std::string& body) const {
    const fs::path program = prefix_ / "bin" / "python3";
    std::ofstream(program) << "#!/bin/sh\n" << body;
    fs::permissions(program, fs::perms::owner_all);
  }
  [[nodiscard]] std::string path_with_python() const { return (prefix_ / "bin").string() + ":/usr/bin:/bin"; }

  const fs::path prefix_ = scratch_folder("python");
  const fs::path lib_ = prefix_ / "lib" / "python3.99" / "site-packages" / "nvidia" / "cuda_nvrtc" / "lib";
};

TEST_F(PythonPackagesTest, AreFoundBesideThePythonOnPathWithoutRunningIt) {
  write_python("touch " + (prefix_ / "was_run").string() + "\n");
  const Environment environment{{"VIRTUAL_ENV", ""}, {"CONDA_PREFIX", ""}, {"PATH", path_with_python()}};
  EXPECT_EQ(python_on_path(), prefix_ / "bin" / "python3");
  const std::vector<fs::path> found = nvidia_libraries_of_python();
  ASSERT_FALSE(found.empty());
  EXPECT_EQ(found[0], lib_);
  EXPECT_EQ(std::ranges::count(found, lib_), 1);
  EXPECT_FALSE(fs::exists(prefix_ / "was_run"));
}

TEST_F(PythonPackagesTest, AreFoundInTheVirtualEnvironmentAndTheHomeFolder) {
  const Environment environment{{"VIRTUAL_ENV", prefix_.string()}, {"CONDA_PREFIX", ""}, {"PATH", "/nonexistent"}};
  EXPECT_TRUE(python_on_path().empty());
  const std::vector<fs::path> found = nvidia_libraries_of_python();
  ASSERT_FALSE(found.empty());
  EXPECT_EQ(found[0], lib_);

  fs::create_directories(prefix_ / ".local");
  fs::rename(prefix_ / "lib", prefix_ / ".local" / "lib");
  const Environment home{{"VIRTUAL_ENV", ""}, {"HOME", prefix_.string()}};
  const std::vector<fs::path> of_home = nvidia_libraries_of_python();
  ASSERT_FALSE(of_home.empty());
  EXPECT_EQ(of_home[0], prefix_ / ".local" / "lib" / "python3.99" / "site-packages" / "nvidia" / "cuda_nvrtc" / "lib");
}

TEST_F(PythonPackagesTest, AreToldByPythonItself) {
  write_python("echo; echo /nonexistent; echo " + (prefix_ / "lib" / "python3.99" / "site-packages").string() + "\n");
  const Environment environment{{"PATH", path_with_python()}};
  EXPECT_EQ(nvidia_libraries_asking_python(), std::vector<fs::path>{lib_});
  write_python("exit 1\n");
  EXPECT_TRUE(nvidia_libraries_asking_python().empty());
}

TEST(ResourceUsageTest, ReadsTheKernelsOwnNumbers) {
  Binary binary;
  binary.symbol = "conv";
  EXPECT_FALSE(resource_usage(binary));
  binary.log =
      "ptxas info    : 0 bytes gmem\n"
      "ptxas info    : Compiling entry function 'conv' for 'sm_90a'\n"
      "ptxas info    : Function properties for conv\n"
      "ptxas         .     1024 bytes stack frame, 12 bytes spill stores, 24 bytes spill loads\n"
      "ptxas info    : Used 255 registers, used 1 barriers, 1024 bytes cumulative stack size, 48 bytes smem\n"
      "ptxas info    : Function properties for helper\n"
      "ptxas         .     8 bytes stack frame, 4 bytes spill stores, 4 bytes spill loads\n";
  EXPECT_EQ(resource_usage(binary),
            (ResourceUsage{.registers = 255, .spill_bytes = 36, .stack_bytes = 1024, .static_shared = 48}));
}

}  // namespace
}  // namespace convtgen
