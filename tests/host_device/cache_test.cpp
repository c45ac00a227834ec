// Compiled kernels on disk: libraries of the host device in the store.
#include <filesystem>
#include <fstream>

#include "runtime/device/host/compiler.h"
#include "tests/host_device/bench.h"
#include "tests/store/folders.h"

namespace convtgen::testing {
namespace {

class Cache : public ::testing::Test {
 protected:
  /// As another process makes it: with a device and a store of its own.
  [[nodiscard]] Outcome<MadeKernel> make(const KernelSource& source) const {
    const auto device = open_host();
    return DeviceMaker(*device, std::make_shared<Store>(StoreOptions{.folder = folder_}))
        .find_or_compile(generated_kernel({}, {}, source), BinaryKind::kHostLibrary);
  }
  [[nodiscard]] std::vector<fs::path> entries() const { return files_in(folder_, ".entry"); }

  Scratch scratch_;
  std::string folder_ = scratch_.path() / "a/cache";
};

TEST_F(Cache, AKernelIsCompiledOnce) {
  const auto source = source_of("extern \"C\" __global__ void kernel(int* y) {\n  y[threadIdx.x] = 3;\n}\n", {"y"});
  const auto first = make(source);
  ASSERT_TRUE(first) << first.error().message;
  EXPECT_TRUE(first->compiled);
  ASSERT_EQ(entries().size(), 1u);
  const auto written = fs::last_write_time(entries()[0]) - std::chrono::hours(1);
  fs::last_write_time(entries()[0], written);
  const auto second = make(source);
  ASSERT_TRUE(second) << second.error().message;
  EXPECT_FALSE(second->compiled);
  EXPECT_EQ(second->binary.bytes, first->binary.bytes);
  EXPECT_GT(fs::last_write_time(entries()[0]), written);  // a hit is noted, for the least recently used to go first

  // A bad entry is compiled anew, another source is another entry.
  std::ofstream(entries()[0], std::ios::binary) << "bad";
  const auto third = make(source);
  ASSERT_TRUE(third) << third.error().message;
  EXPECT_TRUE(third->compiled);
  EXPECT_EQ(entries().size(), 1u);
  const auto device = open_host();
  Array<int> y(*device, 32);
  const auto kernel = device->load(third->binary);
  ASSERT_TRUE(kernel) << kernel.error().message;
  EXPECT_TRUE(device->run(**kernel, {.blocks = 1, .threads = 32, .shared_bytes = 0, .arguments = {y.address()}}));
  EXPECT_EQ(y.values()[31], 3);
  EXPECT_TRUE(make(source_of(source.text + "\n")));
  EXPECT_EQ(entries().size(), 2u);
}

// Entries of other versions of this program hit: the fields of the key, and the shared library alone as the bytes.
TEST_F(Cache, AnEntryIsTheSharedLibraryByItsSourceAndCompiler) {
  const auto source = source_of("extern \"C\" __global__ void kernel(int* y) {\n  y[threadIdx.x] = 3;\n}\n", {"y"});
  const auto made = make(source);
  ASSERT_TRUE(made) << made.error().message;
  const host::HostCompiler compiler = host::find_host_compiler().value();
  const std::string unit = host::host_translation_unit(source);
  const auto entry = Store({.folder = folder_}).find(host::host_library_key(compiler, unit));
  ASSERT_TRUE(entry);
  EXPECT_EQ(entry->label, "kernel");
  EXPECT_EQ(entry->bytes, host::compile_host_library(compiler, unit, "kernel").value());
  EXPECT_EQ(made->key, host::host_library_key(compiler, unit).hex());
}

TEST_F(Cache, ADeviceKeepsNothing) {
  const Variable folder("CONVTGEN_CACHE_DIR", folder_.c_str());
  EXPECT_TRUE(open_host()->compile(source_of("extern \"C\" __global__ void kernel() {}\n"), ""));
  EXPECT_FALSE(fs::exists(folder_));
}

}  // namespace
}  // namespace convtgen::testing
