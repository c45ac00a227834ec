// The models of make_models.py: what the package onnx writes.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "tests/cli/process.h"

namespace convtgen::test {
namespace {

namespace fs = std::filesystem;

const fs::path kModels = CONVTGEN_ONNX_TESTS "/models";

class OnnxModels : public testing::TestWithParam<std::string> {};

// What `convtgen import --json` prints of each is in a file next to it.
TEST_P(OnnxModels, AreImportedAsTheGoldenHasIt) {
  const fs::path golden = kModels / (GetParam() + ".json");
  const Outcome outcome = convtgen({"import", (kModels / (GetParam() + ".onnx")).string(), "--json"});
  EXPECT_EQ(outcome.err, "");
  if (std::getenv("CONVTGEN_UPDATE_GOLDENS") != nullptr) {
    write(golden, outcome.out);
  }
  EXPECT_EQ(outcome.out, read(golden));
}

INSTANTIATE_TEST_SUITE_P(All, OnnxModels,
                         testing::Values("contradictions", "decoder", "external", "names", "parts", "types"),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace convtgen::test
