// The worker's stream to the coordinator: opened again for ever, with growing, jittered pauses.
// What it hears it hands to callbacks; what is to be sent waits in a bounded queue.
#ifndef TRIREME_WORKER_AGENT_CONNECTION_H_
#define TRIREME_WORKER_AGENT_CONNECTION_H_

#include <grpcpp/grpcpp.h>

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "common/base/status.h"
#include "trireme/v1/plans.grpc.pb.h"
#include "trireme/v1/workers.grpc.pb.h"

namespace trireme {

// Milliseconds to wait before try number `failures` (1 = the second try): uniform in [0, min(30 s,
// 250 ms * 2^failures)]. `random` is in [0, 1). Source: "full jitter", AWS architecture blog 2015.
int64_t BackoffMs(int failures, double random);

// A channel with our keepalive and limits. `address` is "host:port" or "unix:path".
std::shared_ptr<grpc::Channel> MakeChannel(const std::string& address);

// Blocks. Errors: the coordinator's, kDeadlineExceeded after two minutes, kUnavailable for missing
// chunks.
StatusOr<std::string> FetchProgramBytes(const std::shared_ptr<grpc::Channel>& channel,
                                        const std::string& sha256);

class Connection {
 public:
  // Called on the connection's threads; must not block long.
  struct Callbacks {
    std::function<v1::Register()> opening;  // the first message of a stream
    std::function<void(const v1::WorkerDown&)> heard;
    std::function<void(const Status&)> closed;  // the stream is gone; it will be opened again
  };

  Connection(const std::string& address, Callbacks callbacks);
  ~Connection();  // sends what waits, for at most two seconds, and closes

  // Sends on the open stream, in order. Dropped when none is open.
  void Send(const v1::WorkerUp& message);
  const std::shared_ptr<grpc::Channel>& channel() const { return channel_; }

 private:
  using Stream = grpc::ClientReaderWriter<v1::WorkerUp, v1::WorkerDown>;

  void Loop();
  Status RunStream(bool& registered);
  void WriteLoop(Stream& stream);
  bool Pause(int64_t ms);  // false: stopping

  const std::shared_ptr<grpc::Channel> channel_;
  const Callbacks callbacks_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<v1::WorkerUp> waiting_ ABSL_GUARDED_BY(mutex_);
  grpc::ClientContext* context_ ABSL_GUARDED_BY(mutex_) = nullptr;  // of the open stream
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  bool finishing_ ABSL_GUARDED_BY(mutex_) = false;  // no more is sent after what waits
  bool stream_over_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace trireme

#endif  // TRIREME_WORKER_AGENT_CONNECTION_H_
