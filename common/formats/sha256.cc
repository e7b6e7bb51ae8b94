// Through OpenSSL's one-call digest.
#include "common/formats/sha256.h"

#include <openssl/evp.h>

#include "common/base/check.h"

namespace trireme {

std::string Sha256Hex(std::string_view bytes) {
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned int size = 0;
  const int done =
      EVP_Digest(bytes.data(), bytes.size(), digest, &size, EVP_sha256(), /*impl=*/nullptr);
  CHECK(done == 1 && size == 32) << "SHA-256 is missing from this OpenSSL";
  constexpr char kDigits[] = "0123456789abcdef";
  std::string hex;
  for (unsigned int i = 0; i < size; ++i) {
    hex += kDigits[digest[i] >> 4];
    hex += kDigits[digest[i] & 15];
  }
  return hex;
}

}  // namespace trireme
