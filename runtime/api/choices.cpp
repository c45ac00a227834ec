// The function of the C API that keeps choices.
#include <cstring>
#include <memory>
#include <string>
#include <string_view>

#include "runtime/api/guard.h"
#include "runtime/make/shared_store.h"
#include "runtime/records/choice.h"

using namespace convtgen;
using namespace convtgen::api;

namespace convtgen::api {
namespace {

// Reads at most one byte more than is legal.
std::string_view choice_text(const char* given) {
  return {given, strnlen(given, CONVTGEN_CHOICE_BYTES + 1)};
}

// Errors: `text`, the argument `name`, is empty or too long; `otherwise` is what else is legal.
Outcome<void> check_choice_text(std::string_view text, const char* name, const char* otherwise = "") {
  if (!text.empty() && text.size() <= CONVTGEN_CHOICE_BYTES) {
    return {};
  }
  return fail_with(Status::kInvalidArgument,
                   fmt::format("{} {}; legal is a text of 1 to {} bytes{}", name,
                               text.empty() ? "is empty" : "is longer", CONVTGEN_CHOICE_BYTES, otherwise));
}

}  // namespace
}  // namespace convtgen::api

extern "C" {

convtgen_status convtgen_choice(const char* key, const char* choice, const char** kept) {
  return guarded([&]() -> Outcome<void> {
    if (auto checked = first_failure(clear_output(kept, "kept"), check_not_null(key, "key")); !checked) {
      return checked;
    }
    const std::string_view name = choice_text(key);
    if (auto checked = check_choice_text(name, "key"); !checked) {
      return checked;
    }
    const std::shared_ptr<Store> store = store_of("");
    thread_local std::string answer;  // assigned last: `choice` may be the text that the call before returned
    if (choice == nullptr) {
      answer = stored_choice(*store, name);
    } else {
      const std::string_view text = choice_text(choice);
      if (auto checked = check_choice_text(text, "choice", ", or NULL, which keeps nothing"); !checked) {
        return checked;
      }
      answer = keep_choice(*store, name, text);
    }
    *kept = answer.c_str();
    return {};
  });
}

}  // extern "C"
