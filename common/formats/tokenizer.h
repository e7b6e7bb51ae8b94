// Text to tokens and back, behind one small interface; a table of names makes them.
#ifndef TRIREME_COMMON_FORMATS_TOKENIZER_H_
#define TRIREME_COMMON_FORMATS_TOKENIZER_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"

namespace trireme {

class Tokenizer {
 public:
  virtual ~Tokenizer() = default;

  virtual std::string_view name() const = 0;
  virtual int64_t vocab_size() const = 0;
  // True when text may be cut anywhere and its parts encoded alone.
  virtual bool cuts_anywhere() const = 0;

  // Appends the tokens of `text`, each in [0, vocab_size()).
  virtual void Encode(std::string_view text, std::vector<int32_t>* tokens) const = 0;
  // Tokens that do not exist (a padded vocabulary may produce them) become U+FFFD.
  virtual std::string Decode(std::span<const int32_t> tokens) const = 0;
};

// Known now: "bytes", each byte a token.
// Errors: kInvalidArgument listing the known names.
StatusOr<std::unique_ptr<Tokenizer>> MakeTokenizer(std::string_view name);

}  // namespace trireme

#endif  // TRIREME_COMMON_FORMATS_TOKENIZER_H_
