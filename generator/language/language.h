// The layer language: text in, layers out, and back again. docs/language.md has the grammar.
#pragma once

#include <expected>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "generator/language/diagnostics.h"
#include "generator/layer/layer.h"
#include "generator/support/error.h"

namespace convtgen {

/// What else a layer must meet. An error is reported at the layer's name, among the others of the text.
using LayerCheck = std::function<Result<void>(const Layer&)>;

/// All layers of a file, with the file's defaults applied, or all errors of the file.
[[nodiscard]] std::expected<std::vector<NamedLayer>, std::vector<Diagnostic>> parse_file(std::string_view text,
                                                                                         const LayerCheck& check = {});

/// A layer in its one-line form ("conv_transpose2d 512 -> 256; kernel 4x4; ..."), with no name and no braces.
[[nodiscard]] std::expected<Layer, std::vector<Diagnostic>> parse_layer(std::string_view text,
                                                                        const LayerCheck& check = {});

/// The canonical one-line form: every property that differs from its default, in a fixed order.
/// parse_layer(canonical_form(layer)) == layer.
[[nodiscard]] std::string canonical_form(const Layer& layer);

/// The layer as a block of a layer file, one property a line.
[[nodiscard]] std::string print_layer(const NamedLayer& layer);

/// The file laid out anew, comments kept; idempotent. Errors as parse_file's.
[[nodiscard]] std::expected<std::string, std::vector<Diagnostic>> format_file(std::string_view text);

}  // namespace convtgen
