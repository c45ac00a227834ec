#include "cli/reporter.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "cli/options.h"
#include "cli/terminal.h"

namespace convtgen::cli {

void add_error_limit_option(CLI::App& verb, std::size_t& limit) {
  verb.add_option("--error-limit", limit, "Of layer files' errors, as many are shown as text; 0: all.")
      ->check(whole_number())
      ->type_name("N")
      ->capture_default_str();
}

void Reporter::report(const std::vector<Diagnostic>& diagnostics, std::string_view text, const std::string& file) {
  if (json_) {
    arrays_.push_back(render_json(diagnostics, file));
    return;
  }
  const std::size_t room = limit_ == 0 ? diagnostics.size() : limit_ - std::min(limit_, count_);
  const std::size_t shown = std::min(room, diagnostics.size());
  count_ += diagnostics.size();
  print_on_stderr(render_text({diagnostics.begin(), diagnostics.begin() + static_cast<std::ptrdiff_t>(shown)}, text,
                              file, has_colours(stderr)));
}

void Reporter::report(const std::string& message, const std::string& file) {
  if (json_) {
    report({Diagnostic{.message = message, .suggestion = {}}}, "", file);
  } else {
    print_error(message);
  }
}

void Reporter::finish() {
  if (!arrays_.empty()) {
    auto all = nlohmann::ordered_json::array();
    for (const std::string& array : arrays_) {
      for (auto& entry : nlohmann::ordered_json::parse(array)) {
        all.push_back(std::move(entry));
      }
    }
    fmt::print("{}\n", all.dump(2));
  }
  if (limit_ != 0 && count_ > limit_) {
    print_on_stderr(fmt::format("convtgen: {} more {} not shown; --error-limit 0 shows all\n", count_ - limit_,
                                count_ - limit_ == 1 ? "error is" : "errors are"));
  }
}

}  // namespace convtgen::cli
