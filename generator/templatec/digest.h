// The identity of a template's sources, by which a committed program that is stale is noticed without LLVM.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace convtgen::templatec {

/// The header of a template's folder that holds its static parameters.
inline constexpr std::string_view kParametersFile = "parameters.h";

/// Texts by name; names are relative to the template's folder ("store.h") or to the one of what templates share
/// ("device/memory.h").
using SourceFiles = std::map<std::string, std::string>;

/// The text of a file by its name; nothing if it can't be read.
using ReadSource = std::function<std::optional<std::string>(const std::string& name)>;

/// The files that make the template `name`: "<name>.cu", "parameters.h", and what these include as "...", to the end.
[[nodiscard]] SourceFiles sources_of(const std::string& name, const ReadSource& read);

/// SHA-256 over the files in the order of their names, each name and text preceded by its length in 8 bytes, least
/// significant first; 64 lower-case hexadecimal digits.
[[nodiscard]] std::string digest_of(const SourceFiles& files);

}  // namespace convtgen::templatec
