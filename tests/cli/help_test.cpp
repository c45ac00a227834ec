#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/cli/process.h"

namespace convtgen::test {
namespace {

using testing::HasSubstr;
using testing::Not;

const std::vector<std::string> kVerbs{"new", "check", "fmt",   "emit",   "explain",    "compile", "launcher",
                                      "run", "tune",  "cache", "doctor", "completion", "help"};
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
  for (const char* flag : {"--version", "-V"}) {
    const Outcome version = convtgen({flag});
    EXPECT_EQ(version.exit, 0) << flag;
    EXPECT_EQ(version.out, "convtgen " CONVTGEN_PROJECT_VERSION "\n") << flag;
  }
}

TEST(Help, TheVerbShowsWhatTheFlagShows) {
  EXPECT_EQ(convtgen({"help"}).out, convtgen({"--help"}).out);
  EXPECT_EQ(convtgen({"help", "emit"}).out, convtgen({"emit", "--help"}).out);
  EXPECT_EQ(convtgen({"help", "cache"}).out, convtgen({"cache", "--help"}).out);
  EXPECT_EQ(convtgen({"help", "cache", "list"}).out, convtgen({"cache", "list", "--help"}).out);
  EXPECT_EQ(convtgen({"help", "emit"}).exit, 0);
  const Outcome unknown = convtgen({"help", "frobnicate"});
  EXPECT_EQ(unknown.exit, 2);
  EXPECT_THAT(unknown.err, HasSubstr("frobnicate"));
  const Outcome nested = convtgen({"help", "emit", "list"});
  EXPECT_EQ(nested.exit, 2);
  EXPECT_THAT(nested.err, HasSubstr("there is no verb 'convtgen emit list'"));
  EXPECT_EQ(nested.out, "");
}

TEST(Help, WholeNumbersAreNotNegativeAndNotTooLarge) {
  for (const char* number : {"-1", "18446744073709551616", "1.5", "one", ""}) {
    for (const char* verb : {"run", "tune"}) {
      const Outcome outcome =
          convtgen({verb, "--device", "host", "-e", "conv_transpose2d 1 -> 1; kernel 1; input 1x1x1",
                    std::string("--seed=") + number});
      EXPECT_EQ(outcome.exit, 2) << verb << " " << number;
      EXPECT_THAT(outcome.err, HasSubstr("--seed: ")) << verb << " " << number;
    }
  }
  for (const std::vector<std::string>& option : {std::vector<std::string>{"run", "--repeat", "-1"},
                                                 {"run", "--device", "cuda:4294967296"},
                                                 {"tune", "--jobs", "-1"},
                                                 {"tune", "--candidates", "18446744073709551617"},
                                                 {"check", "--error-limit", "-1"}}) {
    const Outcome outcome = convtgen({option[0], option[1], option[2], seeds()});
    EXPECT_EQ(outcome.exit, 2) << option[1];
    EXPECT_THAT(outcome.err, HasSubstr(option[1] + ": ")) << option[1];
  }
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
