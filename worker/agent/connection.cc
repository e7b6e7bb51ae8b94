// One thread opens and reads, one writes while a stream is open. The queue holds at most
// kMaxWaiting messages: a coordinator that does not read for so long ends the stream.
#include "worker/agent/connection.h"

#include <algorithm>
#include <chrono>
#include <random>
#include <utility>

#include "common/base/log.h"

namespace trireme {
namespace {

constexpr size_t kMaxWaiting = 20000;

Status FromGrpc(const grpc::Status& status) {
  return Status(static_cast<absl::StatusCode>(status.error_code()), status.error_message());
}

}  // namespace

int64_t BackoffMs(int failures, double random) {
  const double limit = std::min(30000.0, 250.0 * static_cast<double>(1 << std::min(failures, 10)));
  return static_cast<int64_t>(limit * random);
}

std::shared_ptr<grpc::Channel> MakeChannel(const std::string& address) {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(64 << 20);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, 20000);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 20000);
  arguments.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 120000);  // also the connect timeout, see E.1
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 100);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 5000);
  return grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), arguments);
}

StatusOr<std::string> FetchProgramBytes(const std::shared_ptr<grpc::Channel>& channel,
                                        const std::string& sha256) {
  const auto stub = v1::Plans::NewStub(channel);
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::minutes(2));
  v1::GetProgramRequest request;
  request.set_sha256(sha256);
  const auto reader = stub->GetProgram(&context, request);
  v1::ProgramChunk chunk;
  std::string bytes;
  int64_t total = 0;
  while (reader->Read(&chunk)) {
    total = chunk.total_bytes();
    if (chunk.offset() != static_cast<int64_t>(bytes.size())) {
      context.TryCancel();
      return Unavailable("a piece of program " + sha256 + " is missing before byte " +
                         std::to_string(chunk.offset()));
    }
    bytes += chunk.data();
  }
  RETURN_IF_ERROR(FromGrpc(reader->Finish()));
  if (static_cast<int64_t>(bytes.size()) != total) {
    return Unavailable("program " + sha256 + " ended after " + std::to_string(bytes.size()) +
                       " of " + std::to_string(total) + " bytes");
  }
  return bytes;
}

Connection::Connection(const std::string& address, Callbacks callbacks)
    : channel_(MakeChannel(address)),
      callbacks_(std::move(callbacks)),
      thread_([this] { Loop(); }) {}

Connection::~Connection() {
  {
    std::unique_lock lock(mutex_);
    finishing_ = stopping_ = true;
    changed_.notify_all();
    changed_.wait_for(lock, std::chrono::seconds(2), [&] { return context_ == nullptr; });
    if (context_ != nullptr) context_->TryCancel();
  }
  thread_.join();
}

void Connection::Send(const v1::WorkerUp& message) {
  {
    const std::lock_guard lock(mutex_);
    if (context_ == nullptr || finishing_) return;
    waiting_.push_back(message);
    if (waiting_.size() > kMaxWaiting) context_->TryCancel();
  }
  changed_.notify_all();
}

bool Connection::Pause(int64_t ms) {
  std::unique_lock lock(mutex_);
  return !changed_.wait_for(lock, std::chrono::milliseconds(ms), [&] { return stopping_; });
}

void Connection::Loop() {
  std::mt19937_64 random(std::random_device{}());
  std::uniform_real_distribution<double> uniform(0.0, 1.0);
  int failures = 0;
  while (true) {
    bool registered = false;
    // Waits here and not in the call: a call fails at once while the channel itself waits for its
    // next try.
    const auto connect_deadline = std::chrono::system_clock::now() + std::chrono::seconds(1);
    const Status status = channel_->WaitForConnected(connect_deadline)
                              ? RunStream(registered)
                              : Unavailable("nothing answers there; is the coordinator running?");
    failures = registered ? 1 : failures + 1;
    callbacks_.closed(status);
    if (!Pause(BackoffMs(failures, uniform(random)))) return;
  }
}

Status Connection::RunStream(bool& registered) {
  grpc::ClientContext context;
  const auto stub = v1::Workers::NewStub(channel_);
  const std::unique_ptr<Stream> stream = stub->Connect(&context);
  {
    const std::lock_guard lock(mutex_);
    if (stopping_) context.TryCancel();
    context_ = &context;
    stream_over_ = false;
    waiting_.clear();
    *waiting_.emplace_back().mutable_registration() = callbacks_.opening();
  }
  std::thread writer([&] { WriteLoop(*stream); });
  v1::WorkerDown message;
  // Ends when the coordinator has answered the whole call, or the transport broke; either ends
  // pending writes too.
  while (stream->Read(&message)) {
    registered = registered || message.has_registered();
    callbacks_.heard(message);
  }
  {
    const std::lock_guard lock(mutex_);
    context_ = nullptr;
    stream_over_ = true;
  }
  changed_.notify_all();
  writer.join();
  return FromGrpc(stream->Finish());
}

void Connection::WriteLoop(Stream& stream) {
  while (true) {
    v1::WorkerUp message;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return stream_over_ || finishing_ || !waiting_.empty(); });
      if (stream_over_) return;
      if (waiting_.empty()) break;
      message = std::move(waiting_.front());
      waiting_.pop_front();
    }
    if (!stream.Write(message)) return;  // the reader learns why
  }
  stream.WritesDone();
}

}  // namespace trireme
