// SHA-256, of bytes that come in parts.
#pragma once

#include <sodium.h>

#include <string>
#include <string_view>

namespace convtgen {

class Digest {
 public:
  static constexpr std::size_t kBytes = crypto_hash_sha256_BYTES;

  Digest();
  void add(std::string_view bytes);
  /// The 32 bytes; nothing can be added after.
  [[nodiscard]] std::string take();

 private:
  crypto_hash_sha256_state state_;
};

/// The 32 bytes of all of it.
[[nodiscard]] std::string digest_of(std::string_view bytes);
/// Two lower-case digits a byte.
[[nodiscard]] std::string hex_of(std::string_view bytes);

}  // namespace convtgen
