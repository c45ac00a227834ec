#include "tests/specializer/taps_in_source.h"

#include <regex>
#include <string>

#include "generator/layer/phases.h"

namespace convtgen::testing_support {
namespace {

Phase phase_of(const Layer& layer, const Tap& tap) {
  return {phase_of_tap(layer.axes[kHeight], tap.first), phase_of_tap(layer.axes[kWidth], tap.second)};
}

/// The source's comments, one a line; lines of comments alone that follow one another are one comment.
std::string comments_of(std::string_view source) {
  std::string out;
  bool was_comment = false;
  for (std::size_t at = 0; at < source.size();) {
    const std::size_t end = std::min(source.find('\n', at), source.size());
    const std::string_view line = source.substr(at, end - at);
    const std::size_t slashes = line.find("//");
    const bool is_comment = slashes != line.npos && line.find_first_not_of(' ') == slashes;
    if (slashes != line.npos) {
      out += is_comment && was_comment ? " " : "\n";
      out += line.substr(std::min(slashes + 3, line.size()));
    }
    was_comment = is_comment;
    at = end + 1;
  }
  return out;
}

struct Numbers {
  std::int64_t first = 0, last = 0;
  bool after_r = false;
};

Numbers numbers_of(const std::string& text) {
  static const std::regex form(R"((\d+)(?: to (\d+))?( \+ r)?)");
  std::smatch found;
  std::regex_match(text, found, form);
  const std::int64_t first = std::stoll(found[1]);
  return {first, found[2].matched ? std::stoll(found[2]) : first, found[3].matched};
}

}  // namespace

std::map<Phase, std::vector<Tap>> taps_in_source(const Layer& layer, std::string_view source, std::int64_t rows_of_r) {
  const std::int64_t all_of_r = rows_of_r > 0 ? rows_of_r : layer.axes[kHeight].stride;
  static const std::regex list(R"(\btaps?((?: \(\d[^()]*, \d[^()]*\))+))");
  static const std::regex tap(R"(\((\d+(?: to \d+)?(?: \+ r)?), (\d+(?: to \d+)?)\))");
  const std::string comments = comments_of(source);
  std::map<Phase, std::vector<Tap>> out;
  for (std::sregex_iterator l(comments.begin(), comments.end(), list), end; l != end; ++l) {
    const std::string taps = (*l)[1];
    for (std::sregex_iterator t(taps.begin(), taps.end(), tap); t != end; ++t) {
      const Numbers rows = numbers_of((*t)[1]), columns = numbers_of((*t)[2]);
      for (std::int64_t row = rows.first; row <= rows.last; ++row) {
        for (std::int64_t r = 0; r < (rows.after_r ? all_of_r : 1); ++r) {
          for (std::int64_t column = columns.first; column <= columns.last; ++column) {
            const Tap each{row + r, column};
            out[phase_of(layer, each)].push_back(each);
          }
        }
      }
    }
  }
  return out;
}

std::map<Phase, std::vector<Tap>> taps_of(const Layer& layer) {
  std::map<Phase, std::vector<Tap>> out;
  for (std::int64_t kh = 0; kh < layer.axes[kHeight].kernel; ++kh) {
    for (std::int64_t kw = 0; kw < layer.axes[kWidth].kernel; ++kw) {
      out[phase_of(layer, {kh, kw})].emplace_back(kh, kw);
    }
  }
  return out;
}

}  // namespace convtgen::testing_support
