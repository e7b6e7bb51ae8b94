// The stream of one worker. Its lock is inside the coordinator's: sending may come from any thread
// that holds that one; reading calls the coordinator without holding ours.
#include "coordinator/service/workers_service.h"

#include <deque>
#include <mutex>
#include <utility>

#include "coordinator/service/unary.h"

namespace trireme {
namespace {

// More messages than any worker is sent while it reads at all.
constexpr size_t kMaxWaitingMessages = 10000;

class WorkerStream : public grpc::ServerBidiReactor<v1::WorkerUp, v1::WorkerDown>,
                     public WorkerLink {
 public:
  explicit WorkerStream(Coordinator& coordinator) : coordinator_(coordinator) { StartRead(&up_); }

  void Send(const v1::WorkerDown& message) override {
    const std::lock_guard lock(mutex_);
    if (closing_) return;
    waiting_.push_back(message);
    if (waiting_.size() > kMaxWaitingMessages) {
      return CloseLocked(Unavailable("the worker reads too slowly"));
    }
    Write();
  }

  void Close(const Status& status) override {
    const std::lock_guard lock(mutex_);
    CloseLocked(status);
  }

  void OnReadDone(bool ok) override {
    if (!ok)
      return Close(absl::OkStatus());  // the worker has said all it wanted, or the stream broke
    if (registered_) {
      coordinator_.Says(this, up_);
    } else {
      const Status admitted = Register();
      if (!admitted.ok()) return Close(admitted);
      registered_ = true;
    }
    StartRead(&up_);
  }

  void OnWriteDone(bool ok) override {
    const std::lock_guard lock(mutex_);
    writing_ = false;
    if (!ok) CloseLocked(Unavailable("the stream broke"));
    Write();
  }

  void OnCancel() override { Close(Unavailable("the stream was cancelled")); }

  void OnDone() override {
    coordinator_.Disconnect(this);
    delete this;
  }

 private:
  Status Register() {
    if (!up_.has_registration()) {
      return InvalidArgument("the first message of a worker must be Register");
    }
    return coordinator_.Connect(up_.registration(), this);
  }

  void CloseLocked(const Status& status) {
    if (closing_) return;
    closing_ = true;
    status_ = status;
    waiting_.clear();
    Write();
  }

  // Writes the next message, or ends the stream when that is wanted and nothing is being written.
  void Write() {
    if (writing_ || finished_) return;
    if (closing_) {
      finished_ = true;
      Finish(ToGrpc(status_));
      return;
    }
    if (waiting_.empty()) return;
    down_ = std::move(waiting_.front());
    waiting_.pop_front();
    writing_ = true;
    StartWrite(&down_);
  }

  Coordinator& coordinator_;
  v1::WorkerUp up_;          // of the one read at a time
  bool registered_ = false;  // reads only

  std::mutex mutex_;
  std::deque<v1::WorkerDown> waiting_ ABSL_GUARDED_BY(mutex_);
  v1::WorkerDown down_ ABSL_GUARDED_BY(mutex_);
  Status status_ ABSL_GUARDED_BY(mutex_);
  bool writing_ ABSL_GUARDED_BY(mutex_) = false;
  bool closing_ ABSL_GUARDED_BY(mutex_) = false;
  bool finished_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace

grpc::ServerBidiReactor<v1::WorkerUp, v1::WorkerDown>* WorkersService::Connect(
    grpc::CallbackServerContext* context) {
  return new WorkerStream(coordinator_);
}

grpc::ServerUnaryReactor* NodesService::ListNodes(grpc::CallbackServerContext* context,
                                                  const v1::ListNodesRequest* request,
                                                  v1::ListNodesResponse* response) {
  *response = coordinator_.ListNodes();
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  reactor->Finish(grpc::Status::OK);
  return reactor;
}

}  // namespace trireme
