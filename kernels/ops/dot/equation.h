// The einsum equation of dot: one letter a dim of each operand, for example "abc,cd->abd".
#ifndef TRIREME_KERNELS_OPS_DOT_EQUATION_H_
#define TRIREME_KERNELS_OPS_DOT_EQUATION_H_

#include <string>

#include "common/base/status.h"

namespace trireme {

struct Equation {
  std::string a;
  std::string b;
  std::string out;
};

inline bool HasLetter(const std::string& letters, char letter) {
  return letters.find(letter) != std::string::npos;
}

// Every letter stands in at least two of the three parts (a letter of one operand alone would be a
// sum over it, which reduce_sum does), and at most once in each. Errors: kInvalidArgument naming
// the equation and the letter.
inline StatusOr<Equation> ParseEquation(const std::string& text) {
  const size_t comma = text.find(',');
  const size_t arrow = text.find("->");
  if (comma == std::string::npos || arrow == std::string::npos || arrow < comma) {
    return InvalidArgument("equation " + text + " must look like abc,cd->abd");
  }
  const Equation equation{text.substr(0, comma), text.substr(comma + 1, arrow - comma - 1),
                          text.substr(arrow + 2)};
  for (const std::string* part : {&equation.a, &equation.b, &equation.out}) {
    for (const char letter : *part) {
      const int parts = HasLetter(equation.a, letter) + HasLetter(equation.b, letter) +
                        HasLetter(equation.out, letter);
      const bool repeated = part->find(letter) != part->rfind(letter);
      if (letter >= 'a' && letter <= 'z' && parts >= 2 && !repeated) continue;
      return InvalidArgument("equation " + text + ": letter " + letter +
                             " must be a-z, stand in two of the three parts and once in each");
    }
  }
  return equation;
}

}  // namespace trireme

#endif  // TRIREME_KERNELS_OPS_DOT_EQUATION_H_
