#include "runtime/store/digest.h"

namespace convtgen {

Digest::Digest() {
  crypto_hash_sha256_init(&state_);
}

void Digest::add(std::string_view bytes) {
  crypto_hash_sha256_update(&state_, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size());
}

std::string Digest::take() {
  std::string bytes(kBytes, '\0');
  crypto_hash_sha256_final(&state_, reinterpret_cast<unsigned char*>(bytes.data()));
  return bytes;
}

std::string digest_of(std::string_view bytes) {
  Digest digest;
  digest.add(bytes);
  return digest.take();
}

std::string hex_of(std::string_view bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string hex;
  hex.reserve(2 * bytes.size());
  for (const char byte : bytes) {
    hex += kDigits[static_cast<unsigned char>(byte) >> 4];
    hex += kDigits[static_cast<unsigned char>(byte) & 15];
  }
  return hex;
}

}  // namespace convtgen
