// The ConvTranspose tests of ONNX's backend suite: imported, run on the host device, compared with their outputs. Their
// inputs and outputs are whole numbers or have few digits; the bound is f32's.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "cli/npy.h"
#include "tests/cli/process.h"

namespace convtgen::test {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> cases() {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(CONVTGEN_ONNX_TESTS "/backend")) {
    if (entry.path().extension() == ".onnx") {
      names.push_back(entry.path().stem().string());
    }
  }
  std::ranges::sort(names);
  return names;
}

std::vector<float> numbers(const std::string& path, std::vector<std::int64_t>& shape) {
  const auto array = cli::read_npy(path, Dtype::kF32);
  EXPECT_TRUE(array) << array.error().message;
  if (!array) {
    return {};
  }
  shape = array->shape;
  std::vector<float> values(array->bytes.size() / sizeof(float));
  std::memcpy(values.data(), array->bytes.data(), array->bytes.size());
  return values;
}

TEST(OnnxBackend, AllOfItsTestsAreHere) {
  EXPECT_EQ(cases().size(), 14U);  // 11 of nodes, 3 of models
}

class OnnxBackendCase : public testing::TestWithParam<std::string> {};

TEST_P(OnnxBackendCase, GivesTheOutputOfTheSuite) {
  const std::string path = CONVTGEN_ONNX_TESTS "/backend/" + GetParam();
  const Folder folder;
  const Outcome import =
      convtgen({"import", path + ".onnx", "-o", folder / "l.convt", "--weights", folder / "w", "--json"});
  ASSERT_EQ(import.exit, 0) << import.err << import.out;
  const auto layer = nlohmann::json::parse(import.out).at("layers").at(0);
  std::vector<std::string> command = {"run", folder / "l.convt", "--device", "host",
                                      "--x", path + ".x.npy",    "--out",    folder / "y.npy"};
  const auto add = [&](const std::string& option, const std::string& key, const std::string& input) {
    if (layer.contains(key)) {
      command.insert(command.end(), {option, layer.at(key)});
    } else if (fs::exists(input)) {
      command.insert(command.end(), {option, input});
    }
  };
  add("--w", "weight", path + ".w.npy");
  add("--bias", "bias", path + ".b.npy");
  const Outcome run = convtgen(command);
  ASSERT_EQ(run.exit, 0) << run.err << run.out;
  std::vector<std::int64_t> shape, expected_shape;
  const std::vector<float> y = numbers(folder / "y.npy", shape);
  const std::vector<float> expected = numbers(path + ".y.npy", expected_shape);
  ASSERT_EQ(y.size(), expected.size());
  if (shape.size() == expected_shape.size()) {  // 1-D outputs may have a height
    EXPECT_EQ(shape, expected_shape);
  }
  double error = 0, norm = 0;
  for (std::size_t i = 0; i < y.size(); ++i) {
    error += std::pow(static_cast<double>(y[i]) - expected[i], 2);
    norm += std::pow(static_cast<double>(expected[i]), 2);
  }
  constexpr double kBound = 2e-6;
  EXPECT_LE(std::sqrt(error), kBound * std::sqrt(norm));
}

INSTANTIATE_TEST_SUITE_P(All, OnnxBackendCase, testing::ValuesIn(cases()), [](const auto& info) { return info.param; });

}  // namespace
}  // namespace convtgen::test
