// The function of the C API on ONNX models.
#include <fmt/ranges.h>

#include "generator/language/language.h"
#include "generator/onnx/import.h"
#include "runtime/api/guard.h"

namespace convtgen::api {
namespace {

convtgen_onnx_tensor tensor_of(const std::optional<onnx::Elements>& elements) {
  convtgen_onnx_tensor tensor{};
  if (!elements) {
    return tensor;
  }
  tensor.axes = elements->shape.size();
  tensor.extents = elements->shape.data();
  if (elements->external) {
    tensor.file = elements->external->location.c_str();
    tensor.file_offset = elements->external->offset;
  } else {
    tensor.data = elements->bytes->data();
    tensor.bytes = elements->bytes->size();
  }
  return tensor;
}

convtgen_onnx_node empty_node() {
  convtgen_onnx_node node{};
  node.struct_size = sizeof(node);
  return node;
}

/// Calls `visit` for each node. Errors: it returned another number than 0, or threw.
Outcome<void> visit_all(const onnx::Imported& imported, convtgen_onnx_visit visit, void* user) {
  CallbackGuard guard;
  const auto is_cancelled = [&](const convtgen_onnx_node& node) {
    return guard.call([&] { return visit(user, &node); }, 1) != 0;
  };
  const auto cancelled = [&]() -> Outcome<void> {
    auto thrown = guard.result("visit");
    return thrown ? fail_with(Status::kCancelled, "visit cancelled the import") : thrown;
  };
  for (const onnx::ImportedLayer& each : imported.layers) {
    const std::string layer = canonical_form(each.layer.layer);
    const std::string notes = fmt::format("{}", fmt::join(each.notes, "\n"));
    convtgen_onnx_node node = empty_node();
    node.node = each.node.c_str();
    node.name = each.layer.name.c_str();
    node.layer = layer.c_str();
    node.x = each.input.c_str();
    node.y = each.output.c_str();
    node.notes = notes.c_str();
    node.weight = tensor_of(each.weight);
    node.bias = tensor_of(each.bias);
    if (is_cancelled(node)) {
      return cancelled();
    }
  }
  for (const onnx::NotTaken& each : imported.not_taken) {
    convtgen_onnx_node node = empty_node();
    node.node = each.node.c_str();
    node.attribute = each.why.attribute.c_str();
    node.value = each.why.value.c_str();
    node.reason = each.why.reason.c_str();
    if (is_cancelled(node)) {
      return cancelled();
    }
  }
  return {};
}

}  // namespace
}  // namespace convtgen::api

using namespace convtgen;
using namespace convtgen::api;

extern "C" convtgen_status convtgen_import_onnx(const void* model, size_t bytes, const char* auto_pad_as,
                                                convtgen_onnx_visit visit, void* user) {
  return guarded([&]() -> Outcome<void> {
    if (auto checked = check_not_null(model, "model"); !checked) {
      return checked;
    }
    if (visit == nullptr) {
      return fail_with(Status::kInvalidArgument, "visit is null");
    }
    const std::string_view reading = auto_pad_as != nullptr ? auto_pad_as : "standard";
    const auto known = onnx::auto_pad_as_named(reading);
    if (!known) {
      return fail_with(Status::kInvalidArgument,
                       fmt::format("auto_pad_as is '{}'; legal are standard, onnxruntime", reading));
    }
    const auto imported =
        onnx::import_model(std::string_view(static_cast<const char*>(model), bytes), {.auto_pad_as = *known});
    if (!imported) {
      return fail_with(Status::kInvalidArgument, fmt::format("model: {}", imported.error().message));
    }
    return visit_all(*imported, visit, user);
  });
}
