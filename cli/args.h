// Flags and arguments of one verb: parsed by a table, which also prints the help. Flags may stand before or after
// arguments, as --name value or --name=value; after "--" everything is an argument.
#ifndef TRIREME_CLI_ARGS_H_
#define TRIREME_CLI_ARGS_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "common/base/status.h"

namespace trireme {

struct FlagSpec {
  std::string name;     // without dashes
  std::string value;    // what it takes, for the help: "FILE"; "" = takes none
  std::string meaning;
  char letter = 0;      // -o
  bool repeated = false;
  std::vector<std::string> choices;  // the only values; empty = any
};

class Args {
 public:
  const std::vector<std::string>& positional() const { return positional_; }
  bool Has(const std::string& flag) const { return values_.count(flag) > 0; }
  // The last value given, or `fallback`.
  std::string Get(const std::string& flag, const std::string& fallback = "") const;
  const std::vector<std::string>& All(const std::string& flag) const;
  // Errors: kInvalidArgument "--rank: expected a whole number from 0 to 9, got "ten"".
  StatusOr<int64_t> GetInt(const std::string& flag, int64_t fallback, int64_t min,
                           int64_t max) const;
  StatusOr<double> GetNumber(const std::string& flag, double fallback, double min,
                             double max) const;
  bool json() const { return Get("output") == "json"; }

 private:
  friend StatusOr<Args> ParseArgs(const std::vector<std::string>&, const std::vector<FlagSpec>&);
  std::vector<std::string> positional_;
  std::map<std::string, std::vector<std::string>> values_;
};

// Errors: kInvalidArgument naming the flag, with the nearest known one; a flag given twice that is not repeated.
StatusOr<Args> ParseArgs(const std::vector<std::string>& words, const std::vector<FlagSpec>& specs);

// "  -o, --output json|text   ..." one flag a line, meanings wrapped at 100 columns.
std::string FlagHelp(const std::vector<FlagSpec>& specs);

// `text` without control characters (terminal escapes from logs and names): each becomes '?', tabs a space.
std::string Printable(const std::string& text);

}  // namespace trireme

#endif  // TRIREME_CLI_ARGS_H_
