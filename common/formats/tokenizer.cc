// The byte tokenizer and the table of tokenizers.
#include "common/formats/tokenizer.h"

namespace trireme {
namespace {

class ByteTokenizer : public Tokenizer {
 public:
  std::string_view name() const override { return "bytes"; }
  int64_t vocab_size() const override { return 256; }
  bool cuts_anywhere() const override { return true; }

  void Encode(std::string_view text, std::vector<int32_t>* tokens) const override {
    tokens->reserve(tokens->size() + text.size());
    for (const char c : text) tokens->push_back(static_cast<unsigned char>(c));
  }

  std::string Decode(std::span<const int32_t> tokens) const override {
    std::string text;
    for (const int32_t token : tokens) {
      if (token >= 0 && token < 256) {
        text += static_cast<char>(token);
      } else {
        text += "\xef\xbf\xbd";
      }
    }
    return text;
  }
};

struct Entry {
  std::string_view name;
  std::unique_ptr<Tokenizer> (*make)();
};

constexpr Entry kTokenizers[] = {
    {"bytes", []() -> std::unique_ptr<Tokenizer> { return std::make_unique<ByteTokenizer>(); }},
};

}  // namespace

StatusOr<std::unique_ptr<Tokenizer>> MakeTokenizer(std::string_view name) {
  std::string known;
  for (const Entry& entry : kTokenizers) {
    if (entry.name == name) return entry.make();
    (known += known.empty() ? "" : ", ") += entry.name;
  }
  return InvalidArgument("tokenizer \"" + std::string(name) + "\" is not known; known: " + known);
}

}  // namespace trireme
