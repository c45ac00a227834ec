#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/cli/process.h"

namespace convtgen::test {
namespace {

using testing::HasSubstr;

constexpr const char* kWrong = "layer a {\n  conv_transpose2d 4 -> 2\n  kernel 3x3\n  pading 1x1\n  strid 2x2\n}\n";

TEST(Check, RightFilesPass) {
  const Outcome outcome = convtgen({"check", seeds()});
  EXPECT_EQ(outcome.exit, 0) << outcome.err;
  EXPECT_EQ(outcome.out, "7 layers: no errors\n");
  EXPECT_EQ(outcome.err, "");
}

TEST(Check, AllErrorsOfAllFilesAreTold) {
  const Folder folder;
  write(folder / "a.convt", kWrong);
  write(folder / "b.convt", "layer b { conv_transpose2d 4 - 2; kernel 3 }\n");
  const Outcome outcome = convtgen({"check", "a.convt", seeds(), "b.convt"}, {.folder = folder.path()});
  EXPECT_EQ(outcome.exit, 1);
  EXPECT_EQ(outcome.out, "");
  EXPECT_THAT(outcome.err, HasSubstr("a.convt:4:3: error: unknown property 'pading'; did you mean 'padding'?"));
  EXPECT_THAT(outcome.err, HasSubstr("a.convt:5:3: error: unknown property 'strid'; did you mean 'stride'?"));
  EXPECT_THAT(outcome.err, HasSubstr("b.convt:1:"));
  EXPECT_THAT(outcome.err, HasSubstr("^~~~~~"));
}

TEST(Check, JsonIsOneArray) {
  const Folder folder;
  write(folder / "a.convt", kWrong);
  write(folder / "b.convt", "layer b { conv_transpose2d 4 - 2; kernel 3 }\n");
  const Outcome outcome = convtgen({"check", "--diagnostics=json", "a.convt", "b.convt"}, {.folder = folder.path()});
  EXPECT_EQ(outcome.exit, 1);
  EXPECT_EQ(outcome.err, "");
  const auto json = nlohmann::json::parse(outcome.out);
  ASSERT_TRUE(json.is_array());
  ASSERT_GE(json.size(), 3U);
  EXPECT_EQ(json[0].at("file"), "a.convt");
  EXPECT_EQ(json[0].at("line"), 4);
  EXPECT_EQ(json[0].at("column"), 3);
  EXPECT_EQ(json[0].at("length"), 6);
  EXPECT_EQ(json[0].at("suggestion"), "padding");
  EXPECT_EQ(json.back().at("file"), "b.convt");
  EXPECT_EQ(convtgen({"check", "--diagnostics=json", seeds()}).out, "[]\n");
  EXPECT_EQ(convtgen({"check", "--diagnostics=xml", seeds()}).exit, 2);
}

TEST(Check, LayersWithoutAKernelAreErrors) {
  const Folder folder;
  write(folder / "a.convt",
        "layer a { conv_transpose2d 4 -> 2; kernel 3 }\n\n  layer b {\n conv_transpose2d 4 -> 2\n kernel 1\n stride "
        "30000 "
        "}\nlayer c { conv_transpose3d 4 -> 2; kernel 3; stride 1x200x200; directions grad_weight }\n"
        "layer d { conv_transpose2d 4 -> 2; pading 1 }\n");
  const Outcome outcome = convtgen({"check", "a.convt"}, {.folder = folder.path()});
  EXPECT_EQ(outcome.exit, 1);
  EXPECT_EQ(outcome.out, "");
  EXPECT_THAT(outcome.err, HasSubstr("a.convt:3:9: error: there is no forward kernel for this layer: stride "));
  EXPECT_THAT(outcome.err, HasSubstr("a.convt:7:7: error: there is no grad_weight kernel for this layer: "));
  EXPECT_THAT(outcome.err, HasSubstr("a.convt:8:36: error: unknown property 'pading'"));
  const Outcome text = convtgen({"check", "-e", "conv_transpose2d 4 -> 2; kernel 1; stride 30000"});
  EXPECT_EQ(text.exit, 1);
  EXPECT_THAT(text.err, HasSubstr("<-e>:1:1: error: there is no forward kernel"));
}

TEST(Check, EveryVerbTakesThreeAxes) {
  const Folder folder;
  const std::string layer = "conv_transpose3d 4 -> 2; kernel 3; padding 1:2x0x1; input 1x4x5x6";
  write(folder / "a.convt", "layer a { " + layer + " }\n");
  const std::vector<std::vector<std::string>> commands = {
      {"check", "-e", layer},
      {"explain", "-e", layer},
      {"emit", "-e", layer, "-o", "out"},
      {"run", "-e", layer, "--device", "host"},
      {"launcher", "a.convt", "--namespace", "net", "-o", "out"},
      {"fmt", "a.convt"},
  };
  for (const std::vector<std::string>& command : commands) {
    const Outcome outcome = convtgen(command, {.folder = folder.path()});
    EXPECT_EQ(outcome.exit, 0) << command.front() << ": " << outcome.err;
  }
}

TEST(Check, StandardInputAndTextOnTheCommandLine) {
  const Outcome input = convtgen({"check", "-"}, {.input = kWrong});
  EXPECT_EQ(input.exit, 1);
  EXPECT_THAT(input.err, HasSubstr("<stdin>:4:3: error: "));
  EXPECT_EQ(convtgen({"check", "-e", "conv_transpose2d 4 -> 2; kernel 3"}).exit, 0);
  const Outcome text = convtgen({"check", "-e", "conv_transpose2d 4 -> 2; kernel 0"});
  EXPECT_EQ(text.exit, 1);
  EXPECT_THAT(text.err, HasSubstr("<-e>:1:"));
  EXPECT_EQ(
      convtgen({"check", "-e", "conv_transpose2d 4 -> 2; kernel 3", "-e", "conv_transpose2d 4 -> 2; kernel 5"}).out,
      "2 layers: no errors\n");
}

TEST(Check, LayersComeFromFilesOrFromTheCommandLine) {
  const std::string text = "conv_transpose2d 4 -> 2; kernel 3";
  for (const std::vector<std::string>& order : {std::vector<std::string>{"check", "-e", text, seeds()},
                                                {"check", seeds(), "-e", text},
                                                {"check", "--layer-text", text, seeds(), "-e", text}}) {
    const Outcome outcome = convtgen(order);
    EXPECT_EQ(outcome.exit, 2);
    EXPECT_EQ(outcome.err, "convtgen: error: -e and the file '" + seeds() +
                               "' are given: layers come from files or from -e, not from both\n");
  }
}

TEST(Check, TheFirstErrorsAreShownAndTheOthersCounted) {
  const Folder folder;
  std::string wrong = "layer a {\n  conv_transpose2d 4 -> 2\n  kernel 3\n";
  for (int i = 0; i < 30; ++i) {
    wrong += "  @\n";
  }
  write(folder / "a.convt", wrong + "}\n");
  write(folder / "b.convt", wrong + "}\n");
  const auto shown = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "check");
    arguments.insert(arguments.end(), {"a.convt", "b.convt"});
    const Outcome outcome = convtgen(arguments, {.folder = folder.path()});
    EXPECT_EQ(outcome.exit, 1);
    std::size_t count = 0;
    for (std::size_t at = 0; (at = outcome.err.find(": error: ", at)) != std::string::npos; ++at) {
      ++count;
    }
    const std::size_t last = outcome.err.rfind("convtgen: ");
    return std::pair(count, last == std::string::npos ? "" : outcome.err.substr(last));
  };
  using Shown = std::pair<std::size_t, std::string>;
  EXPECT_EQ(shown({}), Shown(20, "convtgen: 40 more errors are not shown; --error-limit 0 shows all\n"));
  EXPECT_EQ(shown({"--error-limit", "59"}),
            Shown(59, "convtgen: 1 more error is not shown; --error-limit 0 shows all\n"));
  EXPECT_EQ(shown({"--error-limit", "60"}), Shown(60, ""));
  EXPECT_EQ(shown({"--error-limit", "0"}), Shown(60, ""));
  EXPECT_EQ(convtgen({"check", "--error-limit", "-1", seeds()}).exit, 2);
}

TEST(Check, FilesThatAreNoTextAreOneError) {
  const Folder folder;
  std::string utf16 = "\xFF\xFE";
  for (const char c : std::string("layer a { conv_transpose2d 4 -> 2; kernel 3 }\n")) {
    utf16 += c;
    utf16 += '\0';
  }
  write(folder / "a.convt", utf16);
  const Outcome outcome = convtgen({"check", "a.convt", CONVTGEN_BINARY}, {.folder = folder.path()});
  EXPECT_EQ(outcome.exit, 1);
  EXPECT_EQ(outcome.err, "a.convt:1:1: error: the file is UTF-16; save it as UTF-8\n" CONVTGEN_BINARY
                         ":1:1: error: the file is no text; a layer file is UTF-8\n");
}

/// What `check --diagnostics=json` prints, which must be an array whatever happens.
nlohmann::json json_of(std::vector<std::string> arguments, int exit, const Setting& setting = {}) {
  arguments.insert(arguments.begin(), {"check", "--diagnostics=json"});
  const Outcome outcome = convtgen(arguments, setting);
  EXPECT_EQ(outcome.exit, exit);
  EXPECT_EQ(outcome.err, "");
  const auto json = nlohmann::json::parse(outcome.out, nullptr, false);
  EXPECT_TRUE(json.is_array()) << outcome.out;
  for (const auto& entry : json) {
    EXPECT_TRUE(entry.at("file").is_string() && entry.at("message").is_string() && entry.at("suggestion").is_string());
    EXPECT_TRUE(entry.at("line") >= 1 && entry.at("column") >= 1 && entry.at("length") >= 1);
  }
  return json;
}

TEST(Check, JsonIsAnArrayWhateverHappens) {
  const Folder folder;
  const Setting here{.folder = folder.path()};
  write(folder / "wrong.convt", kWrong);
  write(folder / "bytes.convt", "layer \xFF\xFE { conv_transpose2d 4 -> 2; k\x80rnel 3 # \xC3\n}\n");
  write(folder / "\xFF.convt", kWrong);
  EXPECT_EQ(json_of({seeds()}, 0).size(), 0U);
  const auto missing = json_of({"nowhere.convt", "wrong.convt"}, 2, here);
  ASSERT_EQ(missing.size(), 3U);
  EXPECT_EQ(missing[0].at("file"), "nowhere.convt");
  EXPECT_THAT(missing[0].at("message").get<std::string>(), HasSubstr("can't be read: No such file"));
  EXPECT_EQ(missing[1].at("line"), 4);
  EXPECT_GE(json_of({"bytes.convt"}, 1, here).size(), 2U);
  EXPECT_EQ(json_of({"\xFF.convt"}, 1, here).at(0).at("file"), "\xEF\xBF\xBD.convt");
  EXPECT_EQ(json_of({CONVTGEN_BINARY}, 1).size(), 1U);
  EXPECT_EQ(json_of({}, 2).at(0).at("file"), "");
  EXPECT_EQ(json_of({"--layer", "upsampel", seeds()}, 2).size(), 1U);
  EXPECT_EQ(json_of({"-e", "conv_transpose2d 4 -> 2; kernel 3", seeds()}, 2).size(), 1U);
  std::string many = "layer a {\n";
  for (int i = 0; i < 30; ++i) {
    many += "  @\n";
  }
  EXPECT_GE(json_of({"-"}, 1, {.input = many}).size(), 30U) << "tools get all errors";
}

TEST(Check, MissingFilesAreWrongUsage) {
  const Outcome missing = convtgen({"check", "nowhere.convt"});
  EXPECT_EQ(missing.exit, 2);
  EXPECT_THAT(missing.err, HasSubstr("nowhere.convt: can't be read: No such file"));
  EXPECT_THAT(convtgen({"check", "/"}).err, HasSubstr("a folder"));
  const Outcome nothing = convtgen({"check"});
  EXPECT_EQ(nothing.exit, 2);
  EXPECT_THAT(nothing.err, HasSubstr("no layers"));
}

}  // namespace
}  // namespace convtgen::test
