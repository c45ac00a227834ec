#include "cli/help.h"

#include <sstream>
#include <string>

namespace convtgen::cli {
namespace {

constexpr std::size_t kColumn = 30;
constexpr std::size_t kWidth = 110;

/// The text in lines that fit beside the options; CLI11 indents those after the first.
std::string wrapped(const std::string& text) {
  std::istringstream words(text);
  std::string result, word;
  std::size_t column = kColumn;
  while (words >> word) {
    if (column > kColumn && column + 1 + word.size() > kWidth) {
      result += '\n';
      column = kColumn;
    } else if (column > kColumn) {
      result += ' ';
      ++column;
    }
    result += word;
    column += word.size();
  }
  return result;
}

class HelpFormatter : public CLI::Formatter {
 public:
  HelpFormatter() {
    column_width(kColumn);
    label("SUBCOMMAND", "VERB");
    label("Subcommands", "Verbs");
  }

  std::string make_option_opts(const CLI::Option* option) const override {
    if (option->get_items_expected_max() == 0) {
      return "";
    }
    if (!option->nonpositional()) {
      return option->get_items_expected_max() > 1 ? " ..." : "";
    }
    const std::string type = option->get_type_name();
    return " " + (type.find('{') == std::string::npos ? type.substr(0, type.find(':')) : "WORD");
  }

  std::string make_option_desc(const CLI::Option* option) const override {
    std::string text = option->get_description();
    const std::string type = option->get_type_name();
    if (const std::size_t open = type.find('{'); open != std::string::npos) {
      text += " One of ";
      for (const char c : type.substr(open + 1, type.rfind('}') - open - 1)) {
        text += c == ',' ? std::string(", ") : std::string(1, c);
      }
      text += ".";
    }
    if (!option->get_default_str().empty()) {
      std::string value = option->get_default_str();  // a list in brackets
      if (value.front() == '[' && value.back() == ']') {
        value = value.substr(1, value.size() - 2);
      }
      text += " Default: " + value + ".";
    }
    return wrapped(text);
  }
};

}  // namespace

std::shared_ptr<CLI::FormatterBase> make_help_formatter() {
  return std::make_shared<HelpFormatter>();
}

}  // namespace convtgen::cli
