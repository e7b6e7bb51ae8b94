// A server stream that asks for its next message when the last one is out: nothing is queued, so a
// slow reader costs no memory. Sends a heartbeat when nothing was sent for a while. Header only;
// covered by service_test.
#ifndef TRIREME_COORDINATOR_SERVICE_PULL_STREAM_H_
#define TRIREME_COORDINATOR_SERVICE_PULL_STREAM_H_

#include <grpcpp/grpcpp.h>

#include <chrono>
#include <functional>
#include <mutex>
#include <string>
#include <utility>

#include "coordinator/service/coordinator.h"

namespace trireme {

inline constexpr std::chrono::seconds kHeartbeatInterval{15};

// Fills the message with the next thing to send, says to wait, or ends the stream with OK.
template <typename Response>
using Puller = std::function<Pull(Response&)>;

template <typename Response>
class PullStream : public grpc::ServerWriteReactor<Response>, public Wakeable {
 public:
  // Deletes itself when the stream is over. `notifier` must outlive the server.
  PullStream(Notifier& notifier, std::string job, Puller<Response> puller)
      : notifier_(notifier), job_(std::move(job)), puller_(std::move(puller)) {
    notifier_.Add(job_, this);
    Wake();
  }

  void Wake() override {
    const std::lock_guard lock(mutex_);
    Pump();
  }

  void OnWriteDone(bool ok) override {
    const std::lock_guard lock(mutex_);
    writing_ = false;
    cancelled_ = cancelled_ || !ok;
    Pump();
  }

  void OnCancel() override {
    const std::lock_guard lock(mutex_);
    cancelled_ = true;
    Pump();
  }

  void OnDone() override {
    notifier_.Remove(job_, this);
    delete this;
  }

 private:
  using Clock = std::chrono::steady_clock;

  // Under mutex_.
  void Pump() {
    if (writing_ || finished_) return;
    if (cancelled_) return End(grpc::Status::CANCELLED);
    response_.Clear();
    switch (puller_(response_)) {
      case Pull::kItem:
        break;
      case Pull::kEnd:
        return End(grpc::Status::OK);
      case Pull::kWait:
        if (Clock::now() - last_write_ < kHeartbeatInterval) return;
        response_.Clear();
        response_.mutable_heartbeat();
        break;
    }
    writing_ = true;
    last_write_ = Clock::now();
    this->StartWrite(&response_);
  }

  void End(const grpc::Status& status) {
    finished_ = true;
    this->Finish(status);
  }

  Notifier& notifier_;
  const std::string job_;
  const Puller<Response> puller_;
  std::mutex mutex_;
  Response response_;
  bool writing_ = false;
  bool cancelled_ = false;
  bool finished_ = false;
  Clock::time_point last_write_ = Clock::now();
};

// A stream that only says why there is none.
template <typename Response>
class RefusedStream : public grpc::ServerWriteReactor<Response> {
 public:
  explicit RefusedStream(const grpc::Status& status) { this->Finish(status); }
  void OnDone() override { delete this; }
};

}  // namespace trireme

#endif  // TRIREME_COORDINATOR_SERVICE_PULL_STREAM_H_
