// SHA-256, the name of everything content-addressed (programs, schedules).
#ifndef TRIREME_COMMON_FORMATS_SHA256_H_
#define TRIREME_COMMON_FORMATS_SHA256_H_

#include <string>
#include <string_view>

namespace trireme {

// 64 lower-case hexadecimal digits.
std::string Sha256Hex(std::string_view bytes);

}  // namespace trireme

#endif  // TRIREME_COMMON_FORMATS_SHA256_H_
