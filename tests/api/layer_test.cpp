// Layers of the public API: from text and fields, their shapes, and what is said of wrong ones.
#include <gtest/gtest.h>

#include <convtgen/convtgen.hpp>
#include <limits>
#include <string>

#include "tests/api/thrown.h"

namespace convtgen::api_test {
namespace {

TEST(ApiLayerTest, ReadsTheOneLineForm) {
  const Layer layer("conv_transpose2d 64 -> 32; kernel 4; stride 2; padding 1; input ?x8x8; bias; fuse relu");
  EXPECT_EQ(layer.text(),
            "conv_transpose2d 64 -> 32; kernel 4x4; stride 2x2; padding 1x1; input ?x8x8; bias; fuse relu; dtype f32; "
            "compute f32; layout nchw");
  EXPECT_EQ(Layer(layer.text()).text(), layer.text());
}

TEST(ApiLayerTest, TakesALayerOfAFileByItsName) {
  const std::string file =
      "# two\ndefaults { kernel 3 }\nlayer a { conv_transpose2d 2 -> 3 }\nlayer b { conv_transpose1d 4 -> 5; kernel 7 "
      "}";
  EXPECT_NE(Layer(file, "a").text().find("2 -> 3"), std::string::npos);
  EXPECT_NE(Layer(file, "b").text().find("conv_transpose1d 4 -> 5"), std::string::npos);
  EXPECT_NE(Layer("layer only { conv_transpose2d 2 -> 3; kernel 1 }").text().find("2 -> 3"), std::string::npos);
  expect_error(thrown_by([&] { Layer(file, "c"); }), CONVTGEN_INVALID_ARGUMENT, "no layer 'c'; it has: a, b");
  expect_error(thrown_by([&] { (void)Layer(file); }), CONVTGEN_INVALID_ARGUMENT, "name is null, and the text has 2");
  expect_error(thrown_by([&] { (void)Layer("# nothing"); }), CONVTGEN_INVALID_LAYER, "the file has no layer");
}

TEST(ApiLayerTest, ReportsEveryErrorOfATextWithItsPlace) {
  const Thrown thrown = thrown_by([] { (void)Layer("conv_transpose2d 8 -> 8; kernel 3; pading 1; dtype float16"); });
  expect_error(thrown, CONVTGEN_INVALID_LAYER, "layer:1:36: error: unknown property 'pading'; did you mean 'padding'?");
  expect_error(thrown, CONVTGEN_INVALID_LAYER, "unknown dtype 'float16'");
  expect_error(thrown_by([] { (void)Layer("layer a {"); }), CONVTGEN_INVALID_LAYER, "layers:1:");
}

TEST(ApiLayerTest, FieldsGiveTheLayerThatTheTextGives) {
  LayerFields fields;
  fields.in_channels = 32;
  fields.out_channels = 48;
  fields.axes[1] = {.kernel = 3,
                    .stride = 2,
                    .padding_before = 1,
                    .padding_after = 0,
                    .output_padding = 1,
                    .dilation = 1,
                    .extent = CONVTGEN_DYNAMIC};
  fields.axes[2] = {.kernel = 7,
                    .stride = 3,
                    .padding_before = 2,
                    .padding_after = 2,
                    .output_padding = 2,
                    .dilation = 2,
                    .extent = 60};
  fields.groups = 4;
  fields.batch = 4;
  fields.bias = 1;
  fields.fuse = "leaky_relu(0.2), scale(0.5)";
  fields.dtype = "f16";
  fields.layout = "nhwc";
  fields.weight_layout = "channels_last";
  EXPECT_EQ(Layer(fields).text(),
            Layer("conv_transpose2d 32 -> 48; kernel 3x7; stride 2x3; padding 1:0x2; output_padding 1x2; dilation 1x2; "
                  "groups 4; input 4x?x60; bias; fuse leaky_relu(0.2), scale(0.5); dtype f16; layout nhwc; "
                  "weight_layout channels_last")
                .text());
  fields.x_channels = 40;
  fields.y_channels = 48;
  EXPECT_TRUE(Layer(fields).text().contains("; groups 4; x_channels 40; input 4x?x60; ")) << Layer(fields).text();
  fields.x_channels = fields.y_channels = 0;
  fields.fuse = nullptr;
  fields.directions = "grad_input, forward";
  EXPECT_TRUE(Layer(fields).text().ends_with("; weight_layout channels_last; directions forward, grad_input"))
      << Layer(fields).text();
  LayerFields line;
  line.dimensions = 1;
  line.axes[2].kernel = 16;
  line.compute = "tf32";
  EXPECT_EQ(Layer(line).text(), Layer("conv_transpose1d 1 -> 1; kernel 16; compute tf32").text());
  line.fuse_input = "leaky_relu(0.1)";
  EXPECT_EQ(Layer(line).text(),
            Layer("conv_transpose1d 1 -> 1; kernel 16; compute tf32; fuse_input leaky_relu(0.1)").text());
  line.fuse_input = nullptr;
  line.streaming = 1;
  EXPECT_EQ(Layer(line).text(), Layer("conv_transpose1d 1 -> 1; kernel 16; compute tf32; streaming").text());
  LayerFields volume;
  volume.dimensions = 3;
  volume.batch = 1;
  for (std::size_t axis = 0; axis < CONVTGEN_AXES; ++axis) {
    volume.axes[axis].kernel = 3;
    volume.axes[axis].extent = 8 + static_cast<int64_t>(axis);
  }
  EXPECT_EQ(Layer(volume).text(), Layer("conv_transpose3d 1 -> 1; kernel 3; input 1x8x9x10").text());
}

TEST(ApiLayerTest, WrongFieldsAreNamed) {
  const auto wrong = [](auto change, const std::string& words) {
    LayerFields fields;
    change(fields);
    expect_error(thrown_by([&] { (void)Layer(fields); }), CONVTGEN_INVALID_LAYER, words);
  };
  wrong([](LayerFields& f) { f.dimensions = 4; }, "dimensions is 4; legal are 1 to 3");
  wrong([](LayerFields& f) { f.bias = 2; }, "bias is 2");
  wrong([](LayerFields& f) { f.streaming = -1; }, "streaming is -1; legal are 0 and 1");
  wrong([](LayerFields& f) { f.streaming = 1; }, "streaming: conv_transpose2d has 2 axes");
  wrong([](LayerFields& f) { f.in_channels = 0; }, "conv_transpose2d");
  wrong([](LayerFields& f) { f.axes[1].kernel = -1; }, "kernel");
  wrong([](LayerFields& f) { f.axes[2].stride = 0; }, "stride");
  wrong([](LayerFields& f) { f.dimensions = 1, f.axes[1].kernel = int64_t{1} << 62, f.axes[2].kernel = 34; },
        "height 1");
  wrong([](LayerFields& f) { f.axes[1].padding_before = -1; }, "padding");
  wrong([](LayerFields& f) { f.axes[1].output_padding = 1; }, "output_padding");
  wrong([](LayerFields& f) { f.axes[1].dilation = 0; }, "dilation");
  wrong([](LayerFields& f) { f.groups = 3; }, "groups");
  wrong([](LayerFields& f) { f.x_channels = -3; }, "x_channels");
  wrong([](LayerFields& f) { f.y_channels = -1; }, "y_channels");
  wrong([](LayerFields& f) { f.groups = std::numeric_limits<int64_t>::min(); }, "groups");
  wrong([](LayerFields& f) { f.batch = -2; }, "batch");
  wrong([](LayerFields& f) { f.axes[1].extent = 0; }, "height");
  wrong([](LayerFields& f) { f.axes[2].extent = std::numeric_limits<int64_t>::max(); }, "width");
  wrong([](LayerFields& f) { f.fuse = "relu; bias"; }, "fuse: 'relu; bias'");
  wrong([](LayerFields& f) { f.fuse = "reloo"; }, "fuse: unknown");
  wrong([](LayerFields& f) { f.fuse_input = "relu; bias"; }, "fuse_input: 'relu; bias'");
  wrong([](LayerFields& f) { f.fuse_input = "reloo"; }, "fuse_input: unknown");
  wrong([](LayerFields& f) { f.dtype = "float"; }, "dtype: unknown word 'float'; legal are f64, f32, f16, bf16");
  wrong([](LayerFields& f) { f.compute = "f16"; }, "compute");
  wrong([](LayerFields& f) { f.layout = "chwn"; }, "layout: unknown word 'chwn'; legal are nchw, nhwc");
  wrong([](LayerFields& f) { f.weight_layout = "nhwc"; },
        "weight_layout: unknown word 'nhwc'; legal are contiguous, channels_last");
  wrong([](LayerFields& f) { f.directions = "backward"; }, "directions: unknown direction 'backward'");
  LayerFields old;
  old.struct_size = 176;  // convtgen 0.1's
  const Thrown thrown = thrown_by([&] { (void)Layer(old); });
  expect_error(thrown, CONVTGEN_INVALID_ARGUMENT, "fields: struct_size is 176; in convtgen " CONVTGEN_PROJECT_VERSION);
  expect_error(thrown, CONVTGEN_INVALID_ARGUMENT, "build the program against the header of this library");
}

TEST(ApiLayerTest, TellsHowALayerStreams) {
  const convtgen_stream stream = Layer("conv_transpose1d 8 -> 4; kernel 11; stride 5; padding 3; streaming").stream();
  EXPECT_EQ(stream.context, 2);
  EXPECT_EQ(stream.stride, 5);
  EXPECT_EQ(stream.delay, 3);
  EXPECT_EQ(stream.rest, 3);
  expect_error(thrown_by([] { (void)Layer("conv_transpose1d 8 -> 4; kernel 11").stream(); }), CONVTGEN_INVALID_ARGUMENT,
               "layer: it has no 'streaming'");
}

TEST(ApiLayerTest, TellsTheShapeOfACall) {
  const Layer layer("conv_transpose2d 8 -> 6; kernel 4; stride 2; padding 1; input ?x5x?; bias; dtype bf16; groups 2");
  const convtgen_shape shape = layer.shape({3, CONVTGEN_DYNAMIC, 7});
  EXPECT_EQ(shape.batch, 3);
  EXPECT_EQ(shape.in[1], 5);
  EXPECT_EQ(shape.out_channels, 6);
  EXPECT_EQ(shape.out[1], 10);
  EXPECT_EQ(shape.out[2], 14);
  EXPECT_EQ(shape.x_elements, 3 * 8 * 5 * 7);
  EXPECT_EQ(shape.weight_elements, 8 * 3 * 4 * 4);
  EXPECT_EQ(shape.bias_elements, 6);
  EXPECT_EQ(shape.y_elements, 3 * 6 * 10 * 14);
  EXPECT_EQ(shape.element_bytes, 2);
  EXPECT_EQ(layer.shape({0, 5, 1}).y_elements, 0);
  expect_error(thrown_by([&] { (void)layer.shape({1, 5, CONVTGEN_DYNAMIC}); }), CONVTGEN_INVALID_ARGUMENT, "width -1");
  expect_error(thrown_by([&] { (void)layer.shape({1, 6, 7}); }), CONVTGEN_INVALID_ARGUMENT, "height 6 contradicts");
  expect_error(thrown_by([&] { (void)layer.shape({-2, 5, 7}); }), CONVTGEN_INVALID_ARGUMENT, "batch -2");
  const int64_t most = std::numeric_limits<int64_t>::max();
  expect_error(thrown_by([&] { (void)layer.shape({1, 5, most}); }), CONVTGEN_INVALID_ARGUMENT, "width");
}

TEST(ApiLayerTest, ALayerOfThreeAxesHasAShape) {
  const Layer layer("conv_transpose3d 8 -> 6; kernel 4x3x3; input 1x2x3x4");
  EXPECT_EQ(std::string(layer.text()).find("conv_transpose3d 8 -> 6; kernel 4x3x3; input 1x2x3x4;"), 0U);
  const convtgen_shape shape = layer.shape();
  EXPECT_EQ(shape.in[0], 2);
  EXPECT_EQ(shape.out[0], 5);
  EXPECT_EQ(shape.y_elements, 6 * 5 * 5 * 6);
  EXPECT_EQ(shape.weight_elements, 8 * 6 * 4 * 3 * 3);
  expect_error(thrown_by([&] { (void)layer.shape({1, 3, 3, 4}); }), CONVTGEN_INVALID_ARGUMENT, "depth 3 contradicts");
}

TEST(ApiLayerTest, NullAndForeignPointersAreErrorsThatNameTheArgument) {
  const auto expect_last = [](convtgen_status status, const std::string& words) {
    EXPECT_EQ(status, CONVTGEN_INVALID_ARGUMENT);
    EXPECT_NE(std::string(convtgen_last_error()).find(words), std::string::npos) << convtgen_last_error();
  };
  convtgen_layer* layer = nullptr;
  convtgen_shape shape{};
  shape.struct_size = sizeof(shape);
  expect_last(convtgen_layer_parse(nullptr, nullptr, &layer), "text is null");
  expect_last(convtgen_layer_parse("", nullptr, nullptr), "layer is null");
  expect_last(convtgen_layer_create(nullptr, &layer), "fields is null");
  expect_last(convtgen_layer_fields_init(nullptr), "fields is null");
  expect_last(convtgen_layer_shape(nullptr, nullptr, &shape), "layer is null");
  ASSERT_EQ(convtgen_layer_parse("conv_transpose2d 1 -> 1; kernel 1", nullptr, &layer), CONVTGEN_OK);
  expect_last(convtgen_layer_shape(layer, nullptr, nullptr), "shape is null");
  shape.struct_size = 0;
  expect_last(convtgen_layer_shape(layer, nullptr, &shape), "shape: struct_size is 0");
  alignas(16) const char other[64] = "this is no handle, but bytes that can be read";
  const auto* wrong = reinterpret_cast<const convtgen_layer*>(other);
  shape.struct_size = sizeof(shape);
  expect_last(convtgen_layer_shape(wrong, nullptr, &shape), "is no layer");
  EXPECT_STREQ(convtgen_layer_text(wrong), "");
  EXPECT_STREQ(convtgen_layer_text(nullptr), "");
  convtgen_layer_destroy(layer);
  EXPECT_EQ(convtgen_layer_parse("", nullptr, &layer), CONVTGEN_INVALID_LAYER);
  EXPECT_EQ(layer, nullptr);  // what fails leaves no handle
  convtgen_layer_destroy(nullptr);
}

TEST(ApiLayerTest, ErrorsAreOfTheirThread) {
  EXPECT_STREQ(convtgen_status_text(CONVTGEN_OK), "ok");
  EXPECT_STREQ(convtgen_status_text(CONVTGEN_INTERNAL), "internal error");
  EXPECT_STREQ(convtgen_status_text(99), "unknown status");
  EXPECT_STREQ(convtgen_status_text(-1), "unknown status");
  EXPECT_EQ(convtgen_version(), 10000 * CONVTGEN_VERSION_MAJOR + 100 * CONVTGEN_VERSION_MINOR + CONVTGEN_VERSION_PATCH);
  EXPECT_STREQ(convtgen_version_text(), CONVTGEN_PROJECT_VERSION);
}

}  // namespace
}  // namespace convtgen::api_test
