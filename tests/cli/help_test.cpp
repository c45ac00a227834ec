#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/cli/process.h"

namespace convtgen::test {
namespace {

using testing::HasSubstr;
using testing::Not;

const std::vector<std::string> kVerbs{"check", "fmt",  "emit",  "explain", "compile",   "launcher",
                                      "run",   "tune", "cache", "doctor",  "completion"};
const std::vector<std::string> kCacheVerbs{"list", "verify", "prune", "clear", "path", "why"};

TEST(Help, NamesEveryVerb) {
  const Outcome help = convtgen({"--help"});
  EXPECT_EQ(help.exit, 0);
  EXPECT_EQ(help.err, "");
  for (const std::string& verb : kVerbs) {
    EXPECT_THAT(help.out, HasSubstr("\n  " + verb + " "));
  }
  EXPECT_THAT(help.out, HasSubstr("Examples:"));
  EXPECT_THAT(help.out, HasSubstr("Exit codes"));
  EXPECT_THAT(help.out, HasSubstr("conv_transpose2d"));
}

TEST(Help, EveryVerbHasExamples) {
  std::vector<std::vector<std::string>> verbs;
  for (const std::string& verb : kVerbs) {
    verbs.push_back({verb});
  }
  for (const std::string& verb : kCacheVerbs) {
    verbs.push_back({"cache", verb});
    EXPECT_THAT(convtgen({"cache", "--help"}).out, HasSubstr("\n  " + verb + " "));
  }
  for (std::vector<std::string> words : verbs) {
    const std::string verb = words.size() == 1 ? words[0] : words[0] + " " + words[1];
    words.emplace_back("--help");
    const Outcome help = convtgen(words);
    EXPECT_EQ(help.exit, 0) << verb;
    EXPECT_THAT(help.out, HasSubstr("Examples:")) << verb;
    EXPECT_THAT(help.out, HasSubstr("convtgen " + verb)) << verb;
    EXPECT_THAT(help.out, Not(HasSubstr("TEXT:{"))) << verb;
    std::size_t begin = 0;
    for (std::size_t end = 0; (end = help.out.find('\n', begin)) != std::string::npos; begin = end + 1) {
      EXPECT_LE(end - begin, 120U) << help.out.substr(begin, end - begin);
    }
  }
}

TEST(Help, Version) {
  const Outcome version = convtgen({"--version"});
  EXPECT_EQ(version.exit, 0);
  EXPECT_EQ(version.out, "convtgen " CONVTGEN_PROJECT_VERSION "\n");
}

TEST(Help, NoVerbIsWrongUsageAndShowsHelp) {
  const Outcome outcome = convtgen({});
  EXPECT_EQ(outcome.exit, 2);
  EXPECT_EQ(outcome.out, "");
  EXPECT_THAT(outcome.err, HasSubstr("Examples:"));
}

TEST(Help, UnknownVerbsGetASuggestion) {
  const Outcome outcome = convtgen({"chekc", "a.convt"});
  EXPECT_EQ(outcome.exit, 2);
  EXPECT_THAT(outcome.err, HasSubstr("there is no verb 'chekc'; did you mean 'check'?"));
  EXPECT_THAT(convtgen({"xyzzy"}).err, HasSubstr("there is no verb 'xyzzy'"));
}

TEST(Help, UnknownOptionsAndValuesAreWrongUsage) {
  const Outcome option = convtgen({"emit", seeds(), "--colour"});
  EXPECT_EQ(option.exit, 2);
  EXPECT_THAT(option.err, HasSubstr("--colour"));
  EXPECT_THAT(option.err, HasSubstr("'convtgen emit --help'"));
  const Outcome value = convtgen({"emit", seeds(), "--arch", "sm_91"});
  EXPECT_EQ(value.exit, 2);
  EXPECT_THAT(value.err, HasSubstr("sm_90a"));
  EXPECT_EQ(convtgen({"--colour"}).exit, 2);
}

TEST(Help, AFullDiskIsAnErrorAndNotHalfAFile) {
  for (const std::string verb : {"emit", "explain"}) {
    const Outcome outcome =
        run_program({"sh", "-c", std::string("\"$0\" \"$1\" \"$2\" >/dev/full"), CONVTGEN_BINARY, verb, seeds()});
    EXPECT_EQ(outcome.exit, 2) << verb << outcome.err;
    EXPECT_THAT(outcome.err, HasSubstr("convtgen: error: cannot write to file")) << verb;
  }
}

}  // namespace
}  // namespace convtgen::test
