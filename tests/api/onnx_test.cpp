// Models of ONNX through the public API.
#include <gtest/gtest.h>

#include <convtgen/convtgen.hpp>
#include <cstring>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>

#include "tests/api/thrown.h"

namespace convtgen::api_test {
namespace {

std::string model(const std::string& name) {
  std::ifstream file(CONVTGEN_ONNX_MODELS "/" + name, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

TEST(ApiOnnxTest, GivesLayersWithTheirWeights) {
  const std::vector<OnnxNode> nodes = import_onnx(model("decoder.onnx"));
  ASSERT_EQ(nodes.size(), 2U);
  const OnnxNode& first = nodes.front();
  EXPECT_EQ(first.node, "/dec/0/up");
  EXPECT_EQ(first.name, "dec_0_up");
  EXPECT_EQ(first.x, "c1");
  EXPECT_EQ(first.y, "u1");
  EXPECT_EQ(first.notes, "fused into the input: before\nfused: after");
  const Layer layer(first.layer);
  const convtgen_shape shape = layer.shape(Sizes(3, 8, 6));
  EXPECT_EQ(first.weight.extents, (std::vector<std::int64_t>{8, 4, 4, 4}));
  EXPECT_EQ(first.weight.bytes.size(), static_cast<std::size_t>(shape.weight_elements * shape.element_bytes));
  EXPECT_EQ(first.bias.extents, (std::vector<std::int64_t>{4}));
  float numbers[2] = {};
  std::memcpy(numbers, first.bias.bytes.data(), sizeof numbers);
  EXPECT_EQ(numbers[1], 1);  // 0.5, 1, 1.5, ...
  EXPECT_TRUE(nodes.back().bias.extents.empty());
}

TEST(ApiOnnxTest, GivesReasonsForWhatIsNotTaken) {
  const std::vector<OnnxNode> nodes = import_onnx(model("contradictions.onnx"));
  ASSERT_EQ(nodes.size(), 7U);
  EXPECT_EQ(nodes[4].node, "added");
  EXPECT_TRUE(nodes[4].name.empty() && nodes[4].layer.empty());
  EXPECT_EQ(nodes[4].attribute, "auto_pad");
  EXPECT_EQ(nodes[4].value, "SAME_UPPER");
  EXPECT_NE(nodes[4].reason.find("contradict each other"), std::string::npos);
  std::size_t taken = 0;
  for (const OnnxNode& node : import_onnx(model("contradictions.onnx"), "onnxruntime")) {
    taken += node.name.empty() ? 0 : 1;
  }
  EXPECT_EQ(taken, 6U);
}

TEST(ApiOnnxTest, NamesTheFileOfExternalData) {
  const std::vector<OnnxNode> nodes = import_onnx(model("external.onnx"));
  ASSERT_EQ(nodes.size(), 1U);
  EXPECT_EQ(nodes[0].weight.file, "external.data");
  EXPECT_EQ(nodes[0].bias.file_offset, 240);
  EXPECT_TRUE(nodes[0].weight.bytes.empty());
}

TEST(ApiOnnxTest, WrongCallsAreErrors) {
  expect_error(thrown_by([&] { (void)import_onnx("no model"); }), CONVTGEN_INVALID_ARGUMENT, "not an ONNX model");
  expect_error(thrown_by([&] { (void)import_onnx(model("decoder.onnx"), "tensorrt"); }), CONVTGEN_INVALID_ARGUMENT,
               "auto_pad_as is 'tensorrt'; legal are standard, onnxruntime");
  const auto nothing = [](void*, const convtgen_onnx_node*) { return 0; };
  EXPECT_EQ(convtgen_import_onnx(nullptr, 0, nullptr, nothing, nullptr), CONVTGEN_INVALID_ARGUMENT);
  EXPECT_EQ(convtgen_import_onnx("", 0, nullptr, nullptr, nullptr), CONVTGEN_INVALID_ARGUMENT);
}

TEST(ApiOnnxTest, AVisitorEndsTheImport) {
  const std::string bytes = model("decoder.onnx");
  int calls = 0;
  const auto stop = [](void* user, const convtgen_onnx_node* node) {
    EXPECT_EQ(node->struct_size, sizeof(convtgen_onnx_node));
    ++*static_cast<int*>(user);
    return 1;
  };
  EXPECT_EQ(convtgen_import_onnx(bytes.data(), bytes.size(), nullptr, stop, &calls), CONVTGEN_CANCELLED);
  EXPECT_EQ(calls, 1);
  const auto fails = [](void*, const convtgen_onnx_node*) -> int { throw std::runtime_error("enough"); };
  EXPECT_EQ(convtgen_import_onnx(bytes.data(), bytes.size(), nullptr, fails, nullptr), CONVTGEN_CANCELLED);
  EXPECT_NE(std::string(convtgen_last_error()).find("enough"), std::string::npos);
}

}  // namespace
}  // namespace convtgen::api_test
