// Compiled kernels on disk.
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "runtime/device/host/cache.h"
#include "runtime/device/host/process.h"
#include "tests/host_device/bench.h"

namespace convtgen::testing {
namespace {

namespace fs = std::filesystem;
using host::LibraryCache;

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

TEST_F(Cache, KeysTellFieldsApart) {
  EXPECT_EQ(LibraryCache::key({}), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(LibraryCache::key({"a", "b"}), LibraryCache::key({"a", "b"}));
  EXPECT_NE(LibraryCache::key({"a", "b"}), LibraryCache::key({"ab", ""}));
  EXPECT_NE(LibraryCache::key({"a", "b"}), LibraryCache::key({"b", "a"}));
}

TEST_F(Cache, KeepsEntriesAndMissesBadOnes) {
  LibraryCache cache(folder_);
  ASSERT_EQ(cache.why(), "");
  const std::string key = LibraryCache::key({"one"});
  EXPECT_FALSE(cache.find(key));
  const std::string bytes("some\0bytes", 10);
  cache.insert(key, bytes);
  EXPECT_EQ(cache.find(key), bytes);
  EXPECT_EQ(LibraryCache(folder_).find(key), bytes);
  ASSERT_EQ(entries().size(), 1u);  // nothing is left of the staging
  struct stat status = {};
  ASSERT_EQ(stat(folder_.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0700u);

  for (const std::string bad : {"", "short", "0000000000000000000000000000000000000000000000000000000000000000bytes"}) {
    std::ofstream(entries()[0], std::ios::binary) << bad;
    EXPECT_FALSE(cache.find(key));
  }
  cache.insert(key, bytes);
  EXPECT_EQ(cache.find(key), bytes);
}

TEST_F(Cache, DoesWithoutAFolderItCanNotTrust) {
  fs::create_directories(folder_);
  chmod(folder_.c_str(), 0777);
  LibraryCache open(folder_);
  EXPECT_EQ(open.folder(), "");
  EXPECT_NE(open.why().find("others can write to it"), std::string::npos);
  const std::string key = LibraryCache::key({"one"});
  open.insert(key, "bytes");
  EXPECT_FALSE(open.find(key));

  std::ofstream(temporary_.path() + "/file") << "no folder";
  EXPECT_NE(LibraryCache(temporary_.path() + "/file").why(), "");
  EXPECT_NE(LibraryCache(temporary_.path() + "/file/below").why(), "");
}

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
