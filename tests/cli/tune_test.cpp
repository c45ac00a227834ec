#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/cli/process.h"

namespace convtgen::test {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr const char* kTiny = "conv_transpose2d 8 -> 8; kernel 2; stride 2; input 1x6x5";

class TuneVerbTest : public testing::Test {
 protected:
  [[nodiscard]] Outcome tune(std::vector<std::string> arguments, const std::string& store = "store") const {
    arguments.insert(arguments.begin(), "tune");
    return convtgen(std::move(arguments),
                    {.environment = {{"CONVTGEN_CACHE_DIR", folder_ / store}}, .folder = folder_.path()});
  }
  Folder folder_;
};

TEST_F(TuneVerbTest, MeasuresOnceAndGoesOnWhereItWas) {
  const Outcome first = tune({"--device", "host", "-e", kTiny, "--candidates", "2"});
  EXPECT_EQ(first.exit, 0) << first.out << first.err;
  EXPECT_EQ(first.err, "");
  EXPECT_THAT(first.out, HasSubstr("layer on host"));
  EXPECT_THAT(first.out, HasSubstr("\n  * "));
  EXPECT_THAT(first.out, HasSubstr("blocks_per_sm "));
  EXPECT_THAT(first.out, HasSubstr("only the host device uses this record"));
  EXPECT_THAT(first.out, Not(HasSubstr("measured before")));
  const Outcome second = tune({"--device", "host", "-e", kTiny, "--candidates", "3"});
  EXPECT_EQ(second.exit, 0) << second.err;
  std::size_t before = 0;
  for (std::size_t at = 0; (at = second.out.find("(measured before)", at)) != std::string::npos; ++at) {
    ++before;
  }
  EXPECT_EQ(before, 2u) << second.out;
  EXPECT_THAT(tune({"--device", "host", "-e", kTiny, "--candidates", "2", "--again"}).out,
              Not(HasSubstr("measured before")));
}

TEST_F(TuneVerbTest, RecordsGoToAFileAndIntoAnotherStore) {
  const Outcome exported = tune({"--device", "host", "-e", kTiny, "-e", "conv_transpose1d 4 -> 4; kernel 3; input 2x9",
                                 "--candidates", "2", "--export", "a.json"});
  ASSERT_EQ(exported.exit, 0) << exported.err;
  EXPECT_THAT(exported.out, HasSubstr("a.json: 2 records"));
  const std::string file = read(folder_ / "a.json");
  const nlohmann::json records = nlohmann::json::parse(file).at("records");
  ASSERT_EQ(records.size(), 2u);
  EXPECT_EQ(records[0].at("chip"), "host");
  EXPECT_EQ(records[0].at("measured").size(), 2u);
  EXPECT_THAT(file, Not(HasSubstr(folder_.path().string())));

  const Outcome imported = tune({"--import", "a.json", "--export", "b.json"}, "other");
  EXPECT_EQ(imported.exit, 0) << imported.err;
  EXPECT_THAT(imported.out, HasSubstr("a.json: 2 of 2 records taken\n"));
  EXPECT_EQ(read(folder_ / "b.json"), file) << "the same records give the same bytes";
  EXPECT_THAT(tune({"--device", "host", "-e", kTiny, "--candidates", "2"}, "other").out, HasSubstr("measured before"));
  EXPECT_THAT(tune({"--import", "a.json"}, "other").out, HasSubstr("0 of 2 records taken; there were"));
  EXPECT_THAT(tune({"--import", "a.json", "--again"}, "other").out, HasSubstr("2 of 2"));
  EXPECT_THAT(tune({"--export", "c.json", "--chip", "NVIDIA H200"}).out, HasSubstr("c.json: 0 records"));
  EXPECT_EQ(read(folder_ / "c.json"), "{\n \"records\": []\n}\n");
}

TEST_F(TuneVerbTest, WhatIsWrongIsTold) {
  EXPECT_THAT(tune({}).err, HasSubstr("no layers"));
  EXPECT_EQ(tune({}).exit, 2);
  EXPECT_EQ(tune({"--import", "nowhere.json"}).exit, 2);
  write(folder_ / "bad.json", R"({"records": [{"versions": {"format": 7}}]})");
  const Outcome bad = tune({"--import", "bad.json", "--export", "out.json"});
  EXPECT_EQ(bad.exit, 1);
  EXPECT_THAT(bad.err, HasSubstr("bad.json: record 1: a record of format 7"));
  const Outcome open = tune({"--device", "host", "-e", "conv_transpose2d 4 -> 4; kernel 2"});
  EXPECT_EQ(open.exit, 2);
  EXPECT_THAT(open.err, HasSubstr("give the sizes with --input"));
  const Outcome backward =
      tune({"--device", "host", "-e", "conv_transpose2d 4 -> 4; kernel 2; input 1x4x4; directions grad_input"});
  EXPECT_EQ(backward.exit, 1);
  EXPECT_THAT(backward.err, HasSubstr("there are no kernels for grad_input yet"));
  const Outcome no_gpu = convtgen({"tune", "-e", kTiny}, {.environment = {{"CONVTGEN_CUDA_DRIVER", "/nowhere/cuda"}}});
  EXPECT_EQ(no_gpu.exit, 2);
  EXPECT_THAT(no_gpu.err, HasSubstr("/nowhere/cuda"));
}

}  // namespace
}  // namespace convtgen::test
