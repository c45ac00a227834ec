// Compiled kernels on disk: the host device's use of the store.
#include <filesystem>
#include <fstream>

#include "runtime/device/host/process.h"
#include "tests/host_device/bench.h"

namespace convtgen::testing {
namespace {

namespace fs = std::filesystem;

class Cache : public ::testing::Test {
 protected:
  std::vector<fs::path> entries() const {
    std::vector<fs::path> result;
    for (const auto& entry : fs::directory_iterator(folder_)) {
      result.push_back(entry.path());
    }
    return result;
  }

  host::TemporaryFolder temporary_ = std::move(*host::TemporaryFolder::make());
  std::string folder_ = temporary_.path() + "/a/cache";
};

TEST_F(Cache, DeviceCompilesAKernelOnce) {
  const auto source = source_of("extern \"C\" __global__ void kernel(int* y) {\n  y[threadIdx.x] = 3;\n}\n", {"y"});
  const auto device = open_host({.cache_folder = folder_});
  const auto first = device->compile(source, "");
  ASSERT_TRUE(first) << first.error().message;
  ASSERT_EQ(entries().size(), 1u);
  const auto written = fs::last_write_time(entries()[0]) - std::chrono::hours(1);
  fs::last_write_time(entries()[0], written);
  const auto second = open_host({.cache_folder = folder_})->compile(source, "");
  ASSERT_TRUE(second) << second.error().message;
  EXPECT_EQ(second->bytes, first->bytes);
  EXPECT_GT(fs::last_write_time(entries()[0]), written);  // a hit is noted, for the least recently used to go first

  // A bad entry is compiled anew, another source is another entry.
  std::ofstream(entries()[0], std::ios::binary) << "bad";
  const auto third = open_host({.cache_folder = folder_})->compile(source, "");
  ASSERT_TRUE(third) << third.error().message;
  EXPECT_EQ(entries().size(), 1u);
  Array<int> y(*device, 32);
  const auto kernel = device->load(*third);
  ASSERT_TRUE(kernel) << kernel.error().message;
  EXPECT_TRUE(device->run(**kernel, {.blocks = 1, .threads = 32, .shared_bytes = 0, .arguments = {y.address()}}));
  EXPECT_EQ(y.values()[31], 3);
  EXPECT_TRUE(device->compile(source_of(source.text + "\n"), ""));
  EXPECT_EQ(entries().size(), 2u);
  EXPECT_TRUE(open_host({.cache_folder = folder_, .cache = false})->compile(source_of(source.text + "\n\n"), ""));
  EXPECT_EQ(entries().size(), 2u);
}

}  // namespace
}  // namespace convtgen::testing
