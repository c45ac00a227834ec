// What a store says and does of entries that another version has left in its folder.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <spawn.h>
#include <sys/wait.h>

#include <array>

#include "runtime/support/log.h"
#include "tests/store/folders.h"

extern char** environ;

namespace convtgen::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

/// Has the next version put an entry into a folder.
void make_with_next_version(const fs::path& folder, const fs::path& log) {
  std::array<std::string, 4> words = {CONVTGEN_NEXT_STORE_WORKER, "one", folder.string(), log.string()};
  std::array<char*, 5> argv = {words[0].data(), words[1].data(), words[2].data(), words[3].data(), nullptr};
  pid_t worker = -1;
  ASSERT_EQ(posix_spawn(&worker, argv[0], nullptr, nullptr, argv.data(), environ), 0);
  int status = -1;
  ASSERT_EQ(waitpid(worker, &status, 0), worker);
  ASSERT_EQ(status, 0);
}

TEST(OtherVersions, AreCountedInOneLineOfAProcessAndRemovedWhenThatIsAskedFor) {
  const Scratch scratch;
  const fs::path folder = scratch.path() / "store";
  std::vector<std::string> told;
  set_log_sink([&](LogLevel, std::string_view message) { told.emplace_back(message); }, LogLevel::kInfo);
  Store({.folder = folder.string()}).insert(key_of("own"), "bytes");
  EXPECT_THAT(told, IsEmpty()) << "no other version yet";
  make_with_next_version(folder, scratch.path() / "log");
  ASSERT_EQ(files_in(folder, ".entry").size(), 2u);
  const std::uintmax_t bytes = fs::file_size(files_in(folder, ".entry")[0]) +
                               fs::file_size(files_in(folder, ".entry")[1]) -
                               fs::file_size(folder / (key_of("own").name() + ".entry"));
  for (int i = 0; i < 3; ++i) {
    Store store({.folder = folder.string()});
    EXPECT_TRUE(store.find(key_of("own")));
    store.insert(key_of(fmt::format("new {}", i)), "bytes");
    store.insert(key_of("own"), "bytes");
  }
  EXPECT_THAT(told,
              ElementsAre(fmt::format("the cache {} has entries of other versions of convtgen, which this one does "
                                      "not read: 1, of {} bytes; 'convtgen cache prune --other-versions' removes "
                                      "them",
                                      folder.string(), bytes)));
  set_log_sink({}, LogLevel::kWarning);

  Store store({.folder = folder.string()});
  const ForeignEntries removed = store.remove_foreign();
  EXPECT_EQ(removed.count, 1u);
  EXPECT_EQ(removed.bytes, bytes);
  EXPECT_EQ(store.remove_foreign().count, 0u);
  EXPECT_EQ(store.verify().foreign, 0u);
  EXPECT_EQ(store.verify().good, 4u) << "its own are left";
}

}  // namespace
}  // namespace convtgen::testing
