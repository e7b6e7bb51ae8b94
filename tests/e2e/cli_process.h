// Runs the program `trireme` in a folder of its own and reads what it said. Every test gets a fresh
// folder, which is also TMPDIR, so that anything left behind can be seen.
#ifndef TRIREME_TESTS_E2E_CLI_PROCESS_H_
#define TRIREME_TESTS_E2E_CLI_PROCESS_H_

#include <map>
#include <string>
#include <vector>

#include "cli/subprocess.h"

namespace trireme {

struct CliResult {
  int code = -1;
  std::string out;
  std::string err;
};

// One step of `run -o json` or `metrics -o json`.
struct StepLineJson {
  int64_t step = 0;
  double loss = 0;
  double grad_norm = 0;
  double seconds = 0;
  int64_t ici_bytes = 0;  // sent by the reporting rank
  int64_t dcn_bytes = 0;
};

class CliFolder {
 public:
  // A new empty folder named after the running test, with a text to train on: corpus.txt.
  CliFolder();

  const std::string& path() const { return path_; }
  std::string Write(const std::string& name, const std::string& text) const;  // returns its path

  // Starts `trireme WORDS` here; standard output and error go to files. `env` adds to the
  // environment.
  Subprocess Start(const std::vector<std::string>& words,
                   const std::map<std::string, std::string>& env = {}) const;
  // What the newest Start has said so far.
  std::string Out() const;
  std::string Err() const;
  // Start, and wait for its end.
  CliResult Run(const std::vector<std::string>& words,
                const std::map<std::string, std::string>& env = {}) const;

  // Processes that still run with this folder as their TMPDIR, as text; "" when there are none.
  std::string LeftProcesses() const;
  // Names in the folder and its tmp/, besides what tests wrote.
  std::vector<std::string> LeftFiles() const;

 private:
  std::string path_;
  mutable std::vector<std::string> known_;
};

// A small job; `sets` go on the command line as --set.
std::string LlamaJob();     // 4 layers, 4 heads, 2 KV heads, batch 8
std::string Gpt2Job();      // tied embeddings
std::string MixtralJob();   // 2 blocks of 4 experts
std::string GrugJob();      // 2 blocks of 8 experts
std::string DeepseekJob();  // a dense block, 2 of 8 experts

std::vector<StepLineJson> Steps(const std::string& json_lines);

// A tensor of a checkpoint, whole; empty, with a failed expectation, when it is not there.
std::vector<float> ReadTensor(const std::string& folder, const std::string& name);

// Folder of the three programs.
std::string BinFolder();

}  // namespace trireme

#endif  // TRIREME_TESTS_E2E_CLI_PROCESS_H_
