// Runs a command line in this process and gives back all it said.
#ifndef TRIREME_CLI_TESTING_RUN_WORDS_H_
#define TRIREME_CLI_TESTING_RUN_WORDS_H_

#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "cli/command.h"

namespace trireme {

struct Outcome {
  int code = 0;
  std::string out;
  std::string err;
};

// `coordinator` as if TRIREME_COORDINATOR said so.
inline Outcome RunWords(const std::vector<std::string>& words, const Command& command,
                        const std::string& coordinator = "") {
  std::ostringstream out, err;
  Context context{out, err};
  context.coordinator = coordinator;
  context.current_folder = "/work";
  context.program_folder = "/nowhere";
  const int code = RunCommandLine(words, {command}, context);
  return {code, out.str(), err.str()};
}

// A small valid job file with two layers and eight sequences a step; returns its path.
inline std::string WriteJob(const std::string& folder, const std::string& name) {
  const std::string path = folder + "/" + name;
  std::ofstream(path) << "name: tiny\n"
                         "model: {type: llama, hidden_size: 16, intermediate_size: 32,\n"
                         "  num_hidden_layers: 2, num_attention_heads: 2, vocab_size: 256,\n"
                         "  max_position_embeddings: 16}\n"
                         "data: {train: [{path: corpus.txt}], sequence_length: 16}\n"
                         "train: {steps: 2, global_batch_size: 8}\n";
  return path;
}

}  // namespace trireme

#endif  // TRIREME_CLI_TESTING_RUN_WORDS_H_
