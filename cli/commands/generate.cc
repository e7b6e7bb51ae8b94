// trireme generate: continues a text with the weights of a checkpoint.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <system_error>
#include <thread>

#include "cli/commands/commands.h"
#include "cli/job_file.h"
#include "cli/job_record.h"
#include "cli/subprocess.h"
#include "common/formats/checkpoint_manifest.h"
#include "common/plan/wire.h"
#include "coordinator/planner/planner.h"
#include "nlohmann/json.hpp"
#include "trireme/v1/rank.pb.h"

namespace trireme {
namespace {

namespace fs = std::filesystem;

// The folder of one step: `path` itself, or the newest under it.
// Errors: kInvalidArgument when there is none.
StatusOr<std::string> FindStep(const std::string& path) {
  if (ReadManifest(path).ok()) return path;
  const auto newest = NewestCheckpoint(path);
  if (newest.ok() && newest->has_value()) return **newest;
  return InvalidArgument("no complete checkpoint in " + path +
                         "; name a folder step-NNNNNNN with a manifest.json, or the folder that "
                         "holds such folders");
}

StatusOr<v1::GenerateRequest> MakeRequest(const Args& args, Context& context) {
  if (!args.Has("checkpoint")) return InvalidArgument("generate needs --checkpoint FOLDER");
  if (args.Get("prompt").empty()) return InvalidArgument("generate needs --prompt TEXT");
  v1::GenerateRequest request;
  ASSIGN_OR_RETURN(const int64_t max_tokens, args.GetInt("max-tokens", 200, 1, 1 << 20));
  ASSIGN_OR_RETURN(const double temperature, args.GetNumber("temperature", 0.8, 0, 100));
  ASSIGN_OR_RETURN(const int64_t seed, args.GetInt("seed", 0, 0, int64_t{1} << 62));
  const fs::path path = fs::path(context.current_folder) / args.Get("checkpoint");
  ASSIGN_OR_RETURN(const std::string folder, FindStep(path.lexically_normal().string()));
  const auto spec = args.Has("job") ? LoadJob(args.Get("job"), args.All("set"), context.current_folder)
                                    : RecordedJob(folder);
  RETURN_IF_ERROR(spec.status());
  ASSIGN_OR_RETURN(const Plan plan, PlanGenerate(*spec, spec->data.sequence_length));
  if (!request.mutable_program()->ParseFromString(SerializeRankProgram(plan, 0))) {
    return Internal("a program does not survive its own wire form");
  }
  request.set_checkpoint(folder);
  request.set_prompt(args.Get("prompt"));
  request.set_max_new_tokens(max_tokens);
  request.set_temperature(temperature);
  request.set_seed(seed);
  request.set_num_threads(static_cast<int>(std::max(1u, std::thread::hardware_concurrency())));
  request.set_tokenizer(spec->data.tokenizer);
  return request;
}

// A file in memory that our child sees under the same path; nothing is left of it, however we end.
class MemoryFile {
 public:
  MemoryFile() : fd_(memfd_create("trireme-generate", 0)) {}
  ~MemoryFile() {
    if (fd_ >= 0) close(fd_);
  }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  int fd() const { return fd_; }
  std::string path() const { return "/proc/self/fd/" + std::to_string(fd_); }

 private:
  int fd_ = -1;
};

// Exit code of the worker, whose text goes to `out_file`, or to our standard output when that is "".
StatusOr<int> RunWorker(const v1::GenerateRequest& request, const std::string& out_file,
                        const Context& context) {
  const MemoryFile file;
  if (file.fd() < 0 || !request.SerializeToFileDescriptor(file.fd())) {
    return Internal("cannot keep the request in memory");
  }
  SubprocessOptions options;
  options.own_group = false;
  options.log_file = out_file;
  options.log_errors = false;
  ASSIGN_OR_RETURN(Subprocess worker,
                   Subprocess::Start(context.program_folder + "/trireme-worker",
                                     {"--generate", file.path()}, options));
  return worker.Wait();
}

StatusOr<int> PrintJson(const v1::GenerateRequest& request, Context& context) {
  using Json = nlohmann::ordered_json;
  const MemoryFile out;
  ASSIGN_OR_RETURN(const int code, RunWorker(request, out.path(), context));
  std::ostringstream text;
  text << std::ifstream(out.path(), std::ios::binary).rdbuf();
  if (code != kExitOk) return code;
  context.out << Json{{"checkpoint", request.checkpoint()},
                      {"prompt", request.prompt()},
                      {"text", text.str()}}
                     .dump(-1, ' ', false, Json::error_handler_t::replace)
              << std::endl;
  return code;
}

// The prompt and its continuation as one text; the worker prints while it makes it.
StatusOr<int> PrintText(const v1::GenerateRequest& request, Context& context) {
  context.out << request.prompt() << std::flush;
  auto code = RunWorker(request, "", context);
  context.out << std::endl;
  return code;
}

int RunGenerate(const Args& args, Context& context) {
  const auto request = MakeRequest(args, context);
  if (!request.ok()) return Fail(request.status(), context);
  const auto code = args.json() ? PrintJson(*request, context) : PrintText(*request, context);
  return code.ok() ? *code : Fail(code.status(), context);
}

}  // namespace

Command GenerateCommand() {
  return {"generate",
          "",
          "Continue a text with the weights of a checkpoint.",
          "Runs on one CPU rank here; needs no coordinator. The model is read from job.json beside the\n"
          "checkpoint, or from --job. Temperature 0 always takes the likeliest token. Prints the prompt\n"
          "and what follows; with -o json, one object: checkpoint, prompt, text.\n\n"
          "Example:\n  trireme generate --checkpoint ckpt --prompt \"In the beginning\" "
          "--max-tokens 200\n",
          {{"checkpoint", "FOLDER", "A checkpoint, or the folder of a job's checkpoints (the newest).",
            0, false, {}},
           {"prompt", "TEXT", "What to continue.", 0, false, {}},
           {"max-tokens", "N", "Tokens to add (default: 200).", 0, false, {}},
           {"temperature", "T", "Evens out (above 1) or sharpens the choice (default: 0.8).", 0, false,
            {}},
           {"seed", "S", "Decides the choices (default: 0).", 0, false, {}},
           {"job", "JOB.yaml", "The job file of the checkpoint, when job.json is missing.", 0, false,
            {}},
           {"set", "KEY=VALUE", "Override a key of --job; may be repeated.", 0, true, {}}},
          0,
          RunGenerate};
}

}  // namespace trireme
