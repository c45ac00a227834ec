// What a call throws, as a value.
#pragma once

#include <gtest/gtest.h>

#include <convtgen/convtgen.hpp>
#include <string>
#include <utility>

namespace convtgen::api_test {

/// The status and the message of what `work` throws; CONVTGEN_OK where it throws nothing.
struct Thrown {
  convtgen_status status = CONVTGEN_OK;
  std::string message;
};
template <typename Work>
Thrown thrown_by(Work&& work) {
  try {
    work();
    return {};
  } catch (const Error& error) {
    return {error.code(), error.what()};
  }
}
inline void expect_error(const Thrown& thrown, convtgen_status status, const std::string& words) {
  EXPECT_EQ(thrown.status, status) << thrown.message;
  EXPECT_NE(thrown.message.find(words), std::string::npos) << thrown.message << "\n  has no: " << words;
}

}  // namespace convtgen::api_test
