#include "generator/launcher/names.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace convtgen {
namespace {

// Of C and C++, as far as a name that is otherwise legal can be one.
constexpr std::string_view kWords[] = {
    "alignas",     "alignof",      "and",       "and_eq",   "asm",       "auto",     "bitand",       "bitor",
    "bool",        "break",        "case",      "catch",    "char",      "char16_t", "char32_t",     "char8_t",
    "class",       "co_await",     "co_return", "co_yield", "compl",     "concept",  "const",        "const_cast",
    "consteval",   "constexpr",    "constinit", "continue", "decltype",  "default",  "delete",       "do",
    "double",      "dynamic_cast", "else",      "enum",     "explicit",  "export",   "extern",       "false",
    "float",       "for",          "friend",    "goto",     "if",        "inline",   "int",          "linux",
    "long",        "mutable",      "namespace", "new",      "noexcept",  "not",      "not_eq",       "nullptr",
    "operator",    "or",           "or_eq",     "private",  "protected", "public",   "register",     "reinterpret_cast",
    "requires",    "restrict",     "return",    "short",    "signed",    "sizeof",   "static",       "static_assert",
    "static_cast", "std",          "struct",    "switch",   "template",  "this",     "thread_local", "throw",
    "true",        "try",          "typedef",   "typeid",   "typename",  "typeof",   "union",        "unix",
    "unsigned",    "using",        "virtual",   "void",     "volatile",  "wchar_t",  "while",        "xor",
    "xor_eq"};

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

bool is_name_part(char c) {
  return is_letter(c) || (c >= '0' && c <= '9') || c == '_';
}

}  // namespace

std::string stem_of(std::string_view layer, Direction direction) {
  return fmt::format("{}_{}", layer, name_of(direction));
}

std::string source_file(std::string_view stem, const Target& target) {
  return fmt::format("{}.{}.cu", stem, target.architecture);
}

std::string code_file(std::string_view stem, const CodeTarget& code) {
  return fmt::format("{}.{}.{}", stem, name_of(code), code.is_ptx ? "ptx" : "cubin");
}

std::string host_file(std::string_view stem) {
  return fmt::format("{}.host.so", stem);
}

Result<void> check_namespace(std::string_view name) {
  const bool is_name = !name.empty() && is_letter(name.front()) && std::ranges::all_of(name, is_name_part);
  if (!is_name || name.contains("__") || name.ends_with('_')) {
    return fail(
        fmt::format("namespace '{}': legal are a letter and then letters, digits and single '_' between them", name));
  }
  if (std::ranges::find(kWords, name) != std::end(kWords)) {
    return fail(fmt::format("namespace '{}': that is a word of C or C++; take another name", name));
  }
  return {};
}

std::string capitals(std::string_view name) {
  std::string text(name);
  for (char& c : text) {
    c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  }
  return text;
}

std::string with_namespace(std::string_view text, std::string_view name) {
  const std::string large = capitals(name);
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const std::string_view rest = text.substr(i);
    const bool begins = i == 0 || !is_name_part(text[i - 1]);
    if (begins && (rest.starts_with("ns_") || rest.starts_with("NS_"))) {
      result += rest[0] == 'n' ? std::string_view(name) : std::string_view(large);
      ++i;
    } else {
      result += text[i];
    }
  }
  return result;
}

}  // namespace convtgen
