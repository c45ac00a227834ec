// Pointwise nodes around a ConvTranspose.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "generator/language/language.h"
#include "generator/onnx/import.h"
#include "tests/onnx/build_model.h"
#include "tests/onnx/check_import.h"

namespace convtgen::onnx::test {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;

std::string number(const std::string& name, float value) {
  return raw(name, 1, {}, std::string(reinterpret_cast<const char*>(&value), sizeof value));
}

/// The only layer of a model in which `nodes` follow a ConvTranspose that gives "y0"; the graph gives "y".
ImportedLayer layer_before(const std::vector<NodeFields>& nodes, const std::vector<std::string>& constants = {},
                           std::int64_t opset = 20) {
  GraphFields fields{.nodes = {node({"ConvTranspose", {"x", "w"}, {"y0"}, {}, "up"})},
                     .outputs = {value("y", {})},
                     .initializers = {floats("w", {2, 3, 4})}};
  for (const NodeFields& each : nodes) {
    fields.nodes.push_back(node(each));
  }
  fields.initializers.insert(fields.initializers.end(), constants.begin(), constants.end());
  const std::string bytes = model(opset, fields);
  EXPECT_EQ(broken_claim(bytes), "");
  const auto imported = import_model(bytes);
  EXPECT_TRUE(imported && imported->layers.size() == 1);
  return imported && !imported->layers.empty() ? imported->layers.front() : ImportedLayer{};
}

/// The layer's fuse chain as the language has it.
std::string fuse_of(const ImportedLayer& layer) {
  std::string text = canonical_form(layer.layer.layer);
  const std::size_t start = text.find("fuse ");
  return start == std::string::npos ? "" : text.substr(start + 5, text.find(';', start) - start - 5);
}

std::string fuse_before(const std::vector<NodeFields>& nodes, const std::vector<std::string>& constants = {},
                        std::int64_t opset = 20) {
  return fuse_of(layer_before(nodes, constants, opset));
}

TEST(OnnxChain, EachActivationIsOneOfTheLanguages) {
  const auto one = [](const std::string& op, const std::vector<Attribute>& attributes = {}) {
    return fuse_before({{op, {"y0"}, {"y"}, attributes}});
  };
  EXPECT_EQ(one("Relu"), "relu");
  EXPECT_EQ(one("LeakyRelu"), "leaky_relu(0.01)");
  EXPECT_EQ(one("LeakyRelu", {real("alpha", 0.2F)}), "leaky_relu(0.2)");
  EXPECT_EQ(one("Tanh"), "tanh");
  EXPECT_EQ(one("Sigmoid"), "sigmoid");
  EXPECT_EQ(one("Mish"), "mish");
  EXPECT_EQ(one("Gelu"), "gelu");
  EXPECT_EQ(one("Gelu", {text("approximate", "tanh")}), "gelu_tanh");
  EXPECT_EQ(one("HardSigmoid"), "scale(0.2), add(0.5), clamp(0, 1)");
  EXPECT_EQ(one("Swish"), "silu");
  EXPECT_EQ(one("Swish", {real("alpha", 2)}), "");
  EXPECT_EQ(one("Elu"), "elu(1)");
  EXPECT_EQ(one("Elu", {real("alpha", 0.5F)}), "elu(0.5)");
  EXPECT_EQ(one("Celu"), "");
  EXPECT_EQ(one("Identity"), "");
}

TEST(OnnxChain, ClipHasItsLimitsAsAttributesOrInputs) {
  EXPECT_EQ(fuse_before({{"Clip", {"y0", "zero", "six"}, {"y"}}}, {number("zero", 0), number("six", 6)}),
            "clamp(0, 6)");
  EXPECT_EQ(fuse_before({{"Clip", {"y0", "zero"}, {"y"}}}, {number("zero", 0)}), "relu");
  EXPECT_EQ(fuse_before({{"Clip", {"y0", "", "six"}, {"y"}}}, {number("six", 6)}), "clamp(-3.4028234663852886e+38, 6)");
  EXPECT_EQ(fuse_before({{"Clip", {"y0", "y0"}, {"y"}}}), "");
  EXPECT_EQ(fuse_before({{"Clip", {"y0"}, {"y"}, {real("min", -1), real("max", 1)}}}, {}, 6), "clamp(-1, 1)");
}

TEST(OnnxChain, ArithmeticWithOneNumber) {
  const auto two = [](const std::string& op, const std::string& a, const std::string& b) {
    return fuse_before({{op, {a, b}, {"y"}}}, {number("c", 4), number("third", 3), floats("many", {3, 1})});
  };
  EXPECT_EQ(two("Add", "y0", "c"), "add(4)");
  EXPECT_EQ(two("Mul", "c", "y0"), "scale(4)");
  EXPECT_EQ(two("Sub", "y0", "c"), "add(-4)");
  EXPECT_EQ(two("Sub", "c", "y0"), "scale(-1), add(4)");
  EXPECT_EQ(two("Div", "y0", "c"), "scale(0.25)");
  EXPECT_EQ(two("Div", "y0", "third"), "");  // another rounding than a product's
  EXPECT_EQ(two("Div", "c", "y0"), "");
  EXPECT_EQ(two("Add", "y0", "many"), "");
  EXPECT_EQ(two("Mul", "y0", "y0"), "");
  EXPECT_EQ(fuse_before({{"PRelu", {"y0", "c"}, {"y"}}}, {number("c", 0.5F)}), "leaky_relu(0.5)");
  EXPECT_EQ(fuse_before({{"Mul", {"y0", "c"}, {"y"}}}, {number("c", INFINITY)}), "");
}

TEST(OnnxChain, SiluAndGeluAreFoundInTheirParts) {
  EXPECT_EQ(fuse_before({{"Sigmoid", {"y0"}, {"g"}}, {"Mul", {"y0", "g"}, {"y"}}}), "silu");
  const std::vector<std::string> numbers = {number("root", 1.41421354F), number("one", 1), number("half", 0.5F)};
  const NodeFields divide{"Div", {"y0", "root"}, {"a"}}, erf{"Erf", {"a"}, {"b"}}, add{"Add", {"b", "one"}, {"c"}};
  EXPECT_EQ(fuse_before({divide, erf, add, {"Mul", {"y0", "c"}, {"d"}}, {"Mul", {"d", "half"}, {"y"}}}, numbers),
            "gelu");
  EXPECT_EQ(fuse_before({divide, erf, add, {"Mul", {"half", "c"}, {"d"}}, {"Mul", {"y0", "d"}, {"y"}}}, numbers),
            "gelu");
  EXPECT_EQ(fuse_before({divide, erf, add, {"Mul", {"y0", "half"}, {"d"}}, {"Mul", {"d", "c"}, {"y"}}}, numbers),
            "gelu");
  EXPECT_EQ(fuse_before({divide, erf, add, {"Mul", {"y0", "c"}, {"d"}}, {"Mul", {"d", "one"}, {"y"}}}, numbers), "");
  // The gate is an output of the graph, too.
  EXPECT_EQ(fuse_before({{"Sigmoid", {"y0"}, {"y"}}, {"Mul", {"y0", "y"}, {"z"}}}), "");
}

TEST(OnnxChain, AChainEndsWhereSomebodyElseReads) {
  EXPECT_EQ(fuse_before({{"Relu", {"y0"}, {"a"}}, {"Identity", {"a"}, {"b"}}, {"Tanh", {"b"}, {"y"}}}), "relu, tanh");
  const ImportedLayer shared = layer_before({{"Relu", {"y0"}, {"a"}}, {"Tanh", {"a"}, {"b"}}, {"Neg", {"a"}, {"y"}}});
  EXPECT_EQ(fuse_of(shared), "relu");
  EXPECT_EQ(shared.output, "a");
  EXPECT_THAT(shared.notes,
              ElementsAre("fused: Relu that gives 'a'",
                          "Tanh after it, Tanh that gives 'b', stays outside: its input has other readers"));
  EXPECT_EQ(fuse_before({{"Relu", {"y0"}, {"y"}}, {"Tanh", {"y"}, {"z"}}}), "relu");  // "y" is the graph's output
  const std::string branch = graph_bytes({.nodes = {node({"Neg", {"y0"}, {"n"}})}, .outputs = {value("n", {})}});
  EXPECT_EQ(fuse_before({{"Relu", {"y0"}, {"y"}}, {"If", {"flag"}, {"z"}, {graph("then_branch", branch)}}}), "");
}

ImportedLayer layer_after(const std::vector<NodeFields>& nodes) {
  GraphFields fields{.nodes = {},
                     .inputs = {value("x", {1, 2, 5})},
                     .initializers = {floats("w", {2, 2, 4}), number("c", 4), number("zero", 0), number("six", 6)}};
  for (const NodeFields& each : nodes) {
    fields.nodes.push_back(node(each));
  }
  fields.nodes.push_back(node({"ConvTranspose", {"x0", "w"}, {"y"}}));
  const auto imported = import_model(model(20, fields));
  EXPECT_TRUE(imported && imported->layers.size() == 1);
  return imported && !imported->layers.empty() ? imported->layers.front() : ImportedLayer{};
}

/// What of the nodes, which give x0 of x, the layer has, and what its input is.
std::string chain_and_input(const std::vector<NodeFields>& nodes) {
  const ImportedLayer layer = layer_after(nodes);
  const std::string text = canonical_form(layer.layer.layer);
  const std::size_t start = text.find("fuse_input ");
  return (start == std::string::npos ? "" : text.substr(start + 11, text.find(';', start) - start - 11)) + " of " +
         layer.input;
}

TEST(OnnxChain, LeadingActivationsAreOfTheInput) {
  EXPECT_EQ(chain_and_input({{"LeakyRelu", {"x"}, {"x0"}, {real("alpha", 0.1F)}}}), "leaky_relu(0.1) of x");
  EXPECT_EQ(
      chain_and_input({{"Mul", {"c", "x"}, {"a"}}, {"Clip", {"a", "zero", "six"}, {"b"}}, {"Tanh", {"b"}, {"x0"}}}),
      "scale(4), clamp(0, 6), tanh of x");
  // What has another reader stays outside; that the chain's own input has one does not matter.
  EXPECT_EQ(chain_and_input({{"Relu", {"x"}, {"a"}}, {"Tanh", {"a"}, {"x0"}}, {"Neg", {"a"}, {"z"}}}), "tanh of a");
  EXPECT_EQ(chain_and_input({{"Relu", {"x"}, {"x0"}}, {"Neg", {"x"}, {"z"}}}), "relu of x");
  EXPECT_EQ(chain_and_input({{"Neg", {"x"}, {"a"}}, {"Relu", {"a"}, {"x0"}}}), "relu of a");
  EXPECT_EQ(chain_and_input({{"Add", {"x", "x"}, {"x0"}}}), " of x0");
  EXPECT_THAT(layer_after({{"Relu", {"x"}, {"x0"}, {}, "act"}, {"Neg", {"x0"}, {"z"}}}).notes,
              ElementsAre("Relu before it, act, stays outside: its result has other readers"));
  EXPECT_THAT(layer_after({{"Celu", {"x"}, {"x0"}, {}, "act"}}).notes,
              ElementsAre("Celu before it, act, stays outside: layers don't have it, or not with these arguments"));
}

TEST(OnnxChain, AnActivationBetweenTwoLayersIsOfTheFirst) {
  const std::string bytes = model(
      20,
      {.nodes = {node({"Relu", {"x"}, {"x0"}, {}, "act"}), node({"ConvTranspose", {"x0", "w"}, {"y0"}, {}, "first"}),
                 node({"Relu", {"y0"}, {"y1"}}), node({"ConvTranspose", {"y1", "w"}, {"y"}, {}, "second"})},
       .inputs = {value("x", {1, 2, 5})},
       .initializers = {floats("w", {2, 2, 4})}});
  const auto imported = import_model(bytes);
  ASSERT_TRUE(imported && imported->layers.size() == 2);
  EXPECT_THAT(imported->layers[0].notes, Contains("fused into the input: act"));
  EXPECT_EQ(imported->layers[0].input, "x");
  EXPECT_THAT(imported->layers[1].notes, ElementsAre());  // it is in the first layer
  EXPECT_THAT(canonical_form(imported->layers[1].layer.layer), HasSubstr("input 1x8;"));
}

}  // namespace
}  // namespace convtgen::onnx::test
