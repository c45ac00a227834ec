// Any legal layer, drawn from the fuzzer's bytes: parse(print(layer)) == layer, in both forms; and a file of layers and
// comments keeps them through the formatter.
#include <fuzzer/FuzzedDataProvider.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "generator/language/language.h"
#include "generator/layer/shape.h"
#include "tests/language/fuzz/check.h"
#include "tests/language/random_layer.h"

namespace convtgen {
namespace {

std::size_t count(const std::string& text, char c) {
  std::size_t found = 0;
  for (const char d : text) {
    found += d == c ? 1 : 0;
  }
  return found;
}

// The printed block, with comments and blanks put in where the bytes say.
std::string disturbed(const std::string& block, FuzzedDataProvider& bytes) {
  std::string text;
  for (const char c : block) {
    if (c == '\n' && bytes.ConsumeIntegralInRange(0, 3) == 1) {
      text += bytes.ConsumeBool() ? "#c" : ";  # c";
    } else if (c == ' ' && bytes.ConsumeIntegralInRange(0, 7) == 1) {
      text += "\t ";
    } else if (c == '{' && bytes.ConsumeIntegralInRange(0, 3) == 1) {
      text += bytes.ConsumeBool() ? "# before\n\n" : "\n# before\n";
    }
    text += c;
  }
  return text;
}

void check(FuzzedDataProvider& bytes) {
  const testing_support::Pick pick = [&bytes](std::int64_t least, std::int64_t most) {
    return bytes.ConsumeIntegralInRange<std::int64_t>(least, most);
  };
  std::string file;
  std::vector<NamedLayer> layers;
  const int number = bytes.ConsumeIntegralInRange(1, 3);
  for (int i = 0; i < number; ++i) {
    const Layer layer = testing_support::random_layer(pick);
    CONVTGEN_CHECK(check_limits(layer).empty());
    const std::string line = canonical_form(layer);
    const auto parsed = parse_layer(line);
    CONVTGEN_CHECK(parsed.has_value());
    CONVTGEN_CHECK(*parsed == layer);
    CONVTGEN_CHECK(canonical_form(*parsed) == line);
    layers.push_back({"layer_" + std::to_string(i), layer});
    file += disturbed(print_layer(layers.back()), bytes);
  }
  CONVTGEN_CHECK(parse_file(file) == layers);
  const auto formatted = format_file(file);
  CONVTGEN_CHECK(formatted.has_value());
  CONVTGEN_CHECK(parse_file(*formatted) == layers);
  CONVTGEN_CHECK(format_file(*formatted) == formatted);
  CONVTGEN_CHECK(count(*formatted, '#') == count(file, '#'));
}

}  // namespace
}  // namespace convtgen

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  FuzzedDataProvider bytes(data, size);
  convtgen::check(bytes);
  return 0;
}
