#include "tests/launcher/with_packing.h"

#include <fmt/format.h>

namespace convtgen::test {

TargetKernel with_packing(const Layer& layer, TargetKernel made) {
  KernelSource& source = made.source;
  PackingKernel packing;
  packing.symbol = source.symbol + "_pack";
  packing.threads = 32;
  const std::int64_t elements = weight_elements(layer);
  packing.blocks = (elements + packing.threads - 1) / packing.threads;
  packing.bytes = elements * bytes_of(layer.dtype);
  std::string type;
  for (KernelParameter& parameter : source.parameters) {
    if (parameter.name == "weight") {
      type = parameter.type.substr(std::string_view("const ").size());
      packing.parameters = {parameter, {"packed", type}};
      parameter.name = "packed";  // to the launch code: its name in the source matters to nobody
    }
  }
  const std::string name_space = source.symbol + std::string(kNamespaceSuffix);
  source.text += fmt::format(
      "\nnamespace {} {{\n"
      "extern \"C\" __global__ void {}(const {} weight, {} packed) {{\n"
      "  const int i = blockIdx.x * 32 + threadIdx.x;\n"
      "  if (i < {}) {{\n"
      "    packed[i] = weight[i];\n"
      "  }}\n"
      "}}\n"
      "}}\n"
      "using {}::{};\n",
      name_space, packing.symbol, type, type, elements, name_space, packing.symbol);
  made.plan.packed_bytes = packing.bytes;
  source.packing = std::move(packing);
  return made;
}

}  // namespace convtgen::test
