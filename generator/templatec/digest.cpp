#include "generator/templatec/digest.h"

#include <sodium.h>

#include <array>
#include <string_view>
#include <utility>
#include <vector>

namespace convtgen::templatec {
namespace {

void add(crypto_hash_sha256_state& state, std::string_view field) {
  std::array<unsigned char, 8> length{};
  for (std::size_t i = 0; i < length.size(); ++i) {
    length[i] = static_cast<unsigned char>(field.size() >> (8 * i));
  }
  crypto_hash_sha256_update(&state, length.data(), length.size());
  crypto_hash_sha256_update(&state, reinterpret_cast<const unsigned char*>(field.data()), field.size());
}

/// The names in the text's `#include "..."` lines.
std::vector<std::string> includes_of(std::string_view text) {
  constexpr std::string_view kInclude = "#include \"";
  std::vector<std::string> names;
  for (std::size_t at = text.find(kInclude); at != text.npos; at = text.find(kInclude, at + 1)) {
    const std::size_t begin = at + kInclude.size();
    if (const std::size_t end = text.find('"', begin); end != text.npos) {
      names.emplace_back(text.substr(begin, end - begin));
    }
  }
  return names;
}

}  // namespace

SourceFiles sources_of(const std::string& name, const ReadSource& read) {
  SourceFiles files;
  std::vector<std::string> wanted = {name + ".cu", std::string(kParametersFile)};
  while (!wanted.empty()) {
    const std::string file = std::move(wanted.back());
    wanted.pop_back();
    if (files.contains(file)) {
      continue;
    }
    std::optional<std::string> text = read(file);
    if (!text) {
      continue;  // not the template's own: the compiler will have said so where it is missing
    }
    std::vector<std::string> includes = includes_of(*text);
    wanted.insert(wanted.end(), includes.begin(), includes.end());
    files.emplace(file, std::move(*text));
  }
  return files;
}

std::string digest_of(const SourceFiles& files) {
  crypto_hash_sha256_state state;
  crypto_hash_sha256_init(&state);
  for (const auto& [name, text] : files) {
    add(state, name);
    add(state, text);
  }
  std::array<unsigned char, crypto_hash_sha256_BYTES> hash{};
  crypto_hash_sha256_final(&state, hash.data());
  std::string hex(2 * hash.size() + 1, '\0');
  sodium_bin2hex(hex.data(), hex.size(), hash.data(), hash.size());
  hex.pop_back();
  return hex;
}

}  // namespace convtgen::templatec
