// Programs go out in chunks cut from one shared copy.
#include "coordinator/service/plans_service.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "coordinator/service/pull_stream.h"
#include "coordinator/service/unary.h"

namespace trireme {
namespace {

class ProgramStream : public grpc::ServerWriteReactor<v1::ProgramChunk> {
 public:
  explicit ProgramStream(std::shared_ptr<const std::string> program)
      : program_(std::move(program)) {
    Continue();
  }
  void OnWriteDone(bool ok) override {
    if (!ok) return Finish(grpc::Status::CANCELLED);
    Continue();
  }
  void OnDone() override { delete this; }

 private:
  void Continue() {
    const auto total = static_cast<int64_t>(program_->size());
    if (offset_ == total) return Finish(grpc::Status::OK);
    const int64_t bytes = std::min(kProgramChunkBytes, total - offset_);
    chunk_.set_total_bytes(total);
    chunk_.set_offset(offset_);
    chunk_.set_data(program_->substr(offset_, bytes));
    offset_ += bytes;
    StartWrite(&chunk_);
  }

  const std::shared_ptr<const std::string> program_;
  v1::ProgramChunk chunk_;
  int64_t offset_ = 0;
};

}  // namespace

grpc::ServerUnaryReactor* PlansService::PlanJob(grpc::CallbackServerContext* context,
                                                const v1::PlanJobRequest* request,
                                                v1::PlanJobResponse* response) {
  return AnswerLater(context, plan_thread_, response,
                     [this, request] { return coordinator_.PlanJob(*request); });
}

grpc::ServerWriteReactor<v1::ProgramChunk>* PlansService::GetProgram(
    grpc::CallbackServerContext* context, const v1::GetProgramRequest* request) {
  StatusOr<std::shared_ptr<const std::string>> program = coordinator_.GetProgram(request->sha256());
  if (!program.ok()) return new RefusedStream<v1::ProgramChunk>(ToGrpc(program.status()));
  return new ProgramStream(*std::move(program));
}

grpc::ServerUnaryReactor* PlansService::GetSchedule(grpc::CallbackServerContext* context,
                                                    const v1::GetScheduleRequest* request,
                                                    v1::GetScheduleResponse* response) {
  return Answer(context, coordinator_.GetSchedule(request->name()), response);
}

}  // namespace trireme
