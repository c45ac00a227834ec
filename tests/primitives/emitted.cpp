#include "tests/primitives/emitted.h"

#include <algorithm>
#include <cctype>
#include <set>
#include <sstream>

#include "generator/specializer/primitives.h"
#include "primitives_cases_embedded.h"

namespace convtgen::testing {
namespace {

bool in_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

std::set<std::string> words_of(std::string_view text) {
  std::set<std::string> words;
  for (std::size_t i = 0; i < text.size();) {
    std::size_t end = i;
    while (end < text.size() && in_word(text[end])) {
      ++end;
    }
    if (end > i) {
      words.emplace(text.substr(i, end - i));
    }
    i = end + 1;
  }
  return words;
}

// The code of an item without the comment above it.
std::string_view code_of(std::string_view item) {
  while (item.starts_with("//")) {
    item.remove_prefix(item.find('\n') + 1);
  }
  return item;
}

// What a declaration declares: the word before the first of these marks, alignments and attributes left out.
std::string name_of(std::string_view code) {
  for (const std::string_view word : {"__forceinline__", "__align__(16)", "__align__(64)"}) {
    if (const std::size_t at = code.find(word); at != std::string_view::npos) {
      code.remove_prefix(at + word.size());
    }
  }
  std::size_t end = code.find_first_of("([{");
  while (end > 0 && !in_word(code[end - 1])) {
    --end;
  }
  std::size_t begin = end;
  while (begin > 0 && in_word(code[begin - 1])) {
    --begin;
  }
  return std::string(code.substr(begin, end - begin));
}

void add_items(std::vector<HeaderItem>& items, std::string_view header, std::string_view text) {
  std::istringstream lines{std::string(text.substr(text.find("#pragma once")))};
  std::string line, item;
  const auto finish = [&] {
    if (!item.empty()) {
      items.push_back({std::string(header), name_of(code_of(item)), item});
      item.clear();
    }
  };
  while (std::getline(lines, line)) {
    if (line.empty()) {
      finish();
    } else if (!line.starts_with("#pragma once") && !line.starts_with("#include")) {
      item += line + "\n";
    }
  }
  finish();
}

}  // namespace

const std::vector<HeaderItem>& header_items() {
  static const std::vector<HeaderItem> all = [] {
    std::vector<HeaderItem> items;
    add_items(items, "device/memory.h", headers::memory());
    add_items(items, "device/convert.h", headers::convert());
    add_items(items, "device/warp.h", headers::warp());
    add_items(items, "device/async_copy.h", headers::async_copy());
    add_items(items, "device/barrier.h", headers::barrier());
    add_items(items, "device/matrix_load.h", headers::matrix_load());
    add_items(items, "device/mma.h", headers::mma());
    add_items(items, "device/tensor_copy.h", headers::tensor_copy());
    add_items(items, "device/cluster.h", headers::cluster());
    add_items(items, "device/grid.h", headers::grid());
    add_items(items, "device/warpgroup.h", headers::warpgroup());
    return items;
  }();
  return all;
}

Emitted emitted(const std::string& body, int threads, int shared_bytes) {
  const std::set<std::string> named = words_of(body);
  std::set<std::string> used = named;
  const std::vector<HeaderItem>& items = header_items();
  for (std::size_t before = 0; before != used.size();) {
    before = used.size();
    for (const HeaderItem& item : items) {
      if (used.contains(item.name)) {
        used.merge(words_of(code_of(item.text)));
      }
    }
  }
  Emitted result;
  std::string block;
  for (const HeaderItem& item : items) {
    if (used.contains(item.name)) {
      block += item.text + "\n";
      if (item.text.find("__forceinline__") != std::string::npos) {
        result.primitives.push_back(item.name);
      }
    }
  }
  for (const std::string& name : named) {
    if (is_printed_primitive(name)) {
      if (const Result<Primitive> printed = printed_primitive(name)) {
        block += printed->text + "\n\n";
        result.primitives.push_back(name);
      }
    }
  }
  result.source.text = "#ifndef CONVTGEN_HOST_DEVICE\n" + block + "#endif\n\n" + body;
  result.source.symbol = "kernel";
  result.source.recipe.kernels = {{.symbol = "kernel", .threads = threads, .shared_bytes = shared_bytes}};
  return result;
}

}  // namespace convtgen::testing
