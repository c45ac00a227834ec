// Choices that are kept for all processes: who is first, what is found again, what is refused.
#include <algorithm>
#include <set>
#include <sstream>
#include <thread>
#include <vector>

#include "tests/api/fake_gpu.h"

namespace convtgen::api_test {
namespace {

constexpr const char* kKey = "my program 3; conv_transpose2d 8 -> 6; NVIDIA H200";

class ChoiceTest : public FakeGpuTest {
 protected:
  static Ran choose(const std::string& key, const std::string& choice) {
    return worker("choose '" + key + "' '" + choice + "'");
  }
  /// Files of the store.
  [[nodiscard]] std::vector<std::filesystem::path> entries() const {
    std::vector<std::filesystem::path> found;
    for (const auto& file : std::filesystem::directory_iterator(folder_ / "store")) {
      found.push_back(file.path());
    }
    return found;
  }
};

TEST_F(ChoiceTest, TheFirstOneIsKept) {
  EXPECT_EQ(find_choice(kKey), "");
  EXPECT_FALSE(std::filesystem::exists(folder_ / "store")) << "finding makes no folder";
  EXPECT_EQ(keep_choice(kKey, "fused"), "fused");
  EXPECT_EQ(keep_choice(kKey, "plain"), "fused");
  EXPECT_EQ(find_choice(kKey), "fused");
  EXPECT_EQ(find_choice(std::string(kKey) + " "), "") << "of another key";
  EXPECT_EQ(keep_choice("zwei\nZeilen", "\xC3\xA4\n\x01"), "\xC3\xA4\n\x01") << "all bytes of a text are kept";
  EXPECT_EQ(entries().size(), 2u) << "no lock stays";
  EXPECT_EQ(log_, "");
}

TEST_F(ChoiceTest, OtherProcessesFindIt) {
  EXPECT_EQ(worker("choose key").output, "\n");
  EXPECT_EQ(choose("key", "fused").output, "fused\n");
  EXPECT_EQ(worker("choose key").output, "fused\n");
  EXPECT_EQ(choose("key", "plain").output, "fused\n");
  EXPECT_EQ(keep_choice("key", "plain"), "fused");
}

TEST_F(ChoiceTest, OneOfManyProcessesIsFirstForAll) {
  std::string command;
  for (int i = 0; i < 16; ++i) {
    command += std::string(CONVTGEN_API_WORKER) + " choose key choice" + std::to_string(i) + " & ";
  }
  std::istringstream lines(run_command(command + "wait").output);
  std::multiset<std::string> answers;
  for (std::string line; std::getline(lines, line);) {
    answers.insert(line);
  }
  EXPECT_EQ(answers.size(), 16u);
  EXPECT_EQ(answers.count(find_choice("key")), 16u);
}

TEST_F(ChoiceTest, OneOfManyThreadsIsFirstForAll) {
  for (int round = 0; round < 20; ++round) {
    const std::string key = "round " + std::to_string(round);
    std::vector<std::string> answers(8);
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < answers.size(); ++i) {
      threads.emplace_back([&, i] { answers[i] = keep_choice(key, "choice " + std::to_string(i)); });
    }
    for (std::thread& thread : threads) {
      thread.join();
    }
    EXPECT_EQ(std::ranges::count(answers, find_choice(key)), 8) << key;
  }
}

TEST_F(ChoiceTest, EachThreadHasItsAnswerUntilItsNextCall) {
  const char* kept = nullptr;
  EXPECT_EQ(convtgen_choice("a", "first", &kept), CONVTGEN_OK);
  std::thread([] { EXPECT_EQ(keep_choice("b", "second"), "second"); }).join();
  EXPECT_STREQ(kept, "first");
  EXPECT_EQ(convtgen_choice("c", kept, &kept), CONVTGEN_OK) << "the answer may be the next choice";
  EXPECT_STREQ(kept, "first");
  EXPECT_EQ(find_choice("c"), "first");
}

TEST_F(ChoiceTest, RefusesWhatIsNoKeyOrChoice) {
  const auto refused = [](const char* key, const char* choice, const std::string& message) {
    const char* kept = "before";
    EXPECT_EQ(convtgen_choice(key, choice, &kept), CONVTGEN_INVALID_ARGUMENT) << message;
    EXPECT_EQ(convtgen_last_error(), message);
    EXPECT_EQ(kept, nullptr);
  };
  const std::string longest(CONVTGEN_CHOICE_BYTES, 'x');
  const std::string longer = longest + "x";
  refused(nullptr, "choice", "key is null");
  refused("", "choice", "key is empty; legal is a text of 1 to 65536 bytes");
  refused(longer.c_str(), nullptr, "key is longer; legal is a text of 1 to 65536 bytes");
  refused("key", "", "choice is empty; legal is a text of 1 to 65536 bytes, or NULL, which keeps nothing");
  refused("key", longer.c_str(), "choice is longer; legal is a text of 1 to 65536 bytes, or NULL, which keeps nothing");
  EXPECT_EQ(convtgen_choice("key", "choice", nullptr), CONVTGEN_INVALID_ARGUMENT);
  EXPECT_STREQ(convtgen_last_error(), "kept is null");
  EXPECT_EQ(find_choice("key"), "");
  expect_error(thrown_by([] { (void)keep_choice("key", ""); }), CONVTGEN_INVALID_ARGUMENT, "choice is empty");
  expect_error(thrown_by([] { (void)find_choice(""); }), CONVTGEN_INVALID_ARGUMENT, "key is empty");
  EXPECT_EQ(keep_choice(longest, longest), longest);
  EXPECT_EQ(find_choice(longest), longest);
}

TEST_F(ChoiceTest, StaysInMemoryWhereTheStoreCantBeWritten) {
  std::ofstream(folder_ / "store") << "a file";
  EXPECT_EQ(find_choice(kKey), "");
  EXPECT_EQ(keep_choice(kKey, "fused"), "fused");
  EXPECT_EQ(keep_choice(kKey, "plain"), "fused");
  EXPECT_EQ(find_choice(kKey), "fused");
  EXPECT_NE(log_.find("the cache can't be used"), std::string::npos) << log_;
  EXPECT_EQ(std::ranges::count(log_, '\n'), 1) << log_;
  EXPECT_EQ(choose(kKey, "plain").output.find("fused"), std::string::npos) << "another process can't see it";
}

TEST_F(ChoiceTest, IsInTheFolderThatTheEnvironmentNamesAtTheCall) {
  EXPECT_EQ(keep_choice(kKey, "fused"), "fused");
  setenv("CONVTGEN_CACHE_DIR", (folder_ / "other").c_str(), 1);
  EXPECT_EQ(keep_choice(kKey, "plain"), "plain");
  setenv("CONVTGEN_CACHE_DIR", (folder_ / "store").c_str(), 1);
  EXPECT_EQ(find_choice(kKey), "fused");
}

TEST_F(ChoiceTest, IsMadeAnewWhereItsFileIsDamagedOrGone) {
  EXPECT_EQ(keep_choice(kKey, "fused"), "fused");
  const std::filesystem::path file = entries().at(0);
  std::filesystem::resize_file(file, std::filesystem::file_size(file) - 1);
  EXPECT_EQ(find_choice(kKey), "");
  EXPECT_EQ(keep_choice(kKey, "plain"), "plain");
  std::filesystem::remove(file);
  EXPECT_EQ(find_choice(kKey), "");
  EXPECT_EQ(keep_choice(kKey, "fused"), "fused");
}

}  // namespace
}  // namespace convtgen::api_test
