// A whole agent against a coordinator made by hand over real gRPC; the shell stands in for ranks.
#include "worker/agent/agent.h"

#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>

#include "common/formats/sha256.h"

namespace trireme {
namespace {

using ::testing::HasSubstr;

// Serves one program, and hands each worker stream to the test, which speaks on it as it likes.
class HandCoordinator : public v1::Workers::Service, public v1::Plans::Service {
 public:
  using Stream = grpc::ServerReaderWriter<v1::WorkerDown, v1::WorkerUp>;
  using Script = std::function<grpc::Status(Stream&, const v1::Register&)>;

  explicit HandCoordinator(std::vector<Script> scripts) : scripts_(std::move(scripts)) {
    grpc::ServerBuilder builder;
    int port = 0;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
    builder.RegisterService(static_cast<v1::Workers::Service*>(this));
    builder.RegisterService(static_cast<v1::Plans::Service*>(this));
    server_ = builder.BuildAndStart();
    address_ = "127.0.0.1:" + std::to_string(port);
  }

  grpc::Status Connect(grpc::ServerContext* context, Stream* stream) override {
    v1::WorkerUp up;
    if (!stream->Read(&up)) return grpc::Status(grpc::StatusCode::INTERNAL, "no registration");
    const size_t index = next_++;
    if (index >= scripts_.size()) return grpc::Status(grpc::StatusCode::UNAVAILABLE, "over");
    return scripts_[index](*stream, up.registration());
  }

  grpc::Status GetProgram(grpc::ServerContext* context, const v1::GetProgramRequest* request,
                          grpc::ServerWriter<v1::ProgramChunk>* writer) override {
    for (size_t i = 0; i < program_.size(); i += 2) {
      v1::ProgramChunk chunk;
      chunk.set_total_bytes(static_cast<int64_t>(program_.size()));
      chunk.set_offset(static_cast<int64_t>(i));
      chunk.set_data(program_.substr(i, 2));
      writer->Write(chunk);
    }
    return grpc::Status::OK;
  }

  const std::string& address() const { return address_; }
  std::string sha256() const { return Sha256Hex(program_); }

 private:
  const std::string program_ = std::string("\x08\x01\x08\x01", 4);  // parses as a message
  std::vector<Script> scripts_;
  std::atomic<size_t> next_{0};
  std::unique_ptr<grpc::Server> server_;
  std::string address_;
};

void SayRegistered(HandCoordinator::Stream& stream) {
  v1::WorkerDown down;
  down.mutable_registered()->set_lease_ms(60000);
  down.mutable_registered()->set_beat_interval_ms(50);
  stream.Write(down);
}

v1::WorkerDown AssignOne(const std::string& sha256) {
  v1::WorkerDown down;
  v1::Assign& assign = *down.mutable_assign();
  assign.set_job("jobs/t-1");
  assign.set_attempt(1);
  assign.set_num_ranks(1);
  assign.add_ranks()->set_program_sha256(sha256);
  return down;
}

// Reads until `wanted` says yes.
v1::WorkerUp ReadUntil(HandCoordinator::Stream& stream,
                       const std::function<bool(const v1::WorkerUp&)>& wanted) {
  v1::WorkerUp up;
  while (stream.Read(&up)) {
    if (wanted(up)) return up;
  }
  ADD_FAILURE() << "the stream ended first";
  return {};
}

class AgentTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "trireme_agent_XXXXXX");
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  AgentOptions Options(const std::string& address, const std::string& rank_script) {
    AgentOptions options;
    options.coordinator = address;
    options.name = "a";
    options.work_folder = folder_;
    options.incarnation = 42;
    options.rank_command = {"/bin/sh", "-c", rank_script, "sh", "{fd}"};
    options.commit_checkpoint = [](const v1::CommitCheckpoint& commit) {
      return commit.step() == 10 ? absl::OkStatus() : Internal("no space");
    };
    return options;
  }

  std::string folder_;
};

// RankEvent {listening {address: "x"}}: field 1, length 3, field 1, length 1.
constexpr char kSayListening[] = R"(printf '\005\000\000\000\012\003\012\001x' >&3; )";

TEST_F(AgentTest, RunsARankAndReportsItsDeathInFull) {
  std::string sha256;
  Agent* running = nullptr;
  v1::RankFailed failed;
  bool listening = false;
  HandCoordinator coordinator({[&](HandCoordinator::Stream& stream, const v1::Register& request) {
    EXPECT_EQ(request.worker(), "a");
    EXPECT_EQ(request.incarnation(), 42);
    SayRegistered(stream);
    stream.Write(AssignOne(sha256));
    failed = ReadUntil(stream,
                       [&](const v1::WorkerUp& up) {
                         listening = listening || up.rank().listening().address() == "x";
                         return up.rank().has_failed();
                       })
                 .rank()
                 .failed();
    ReadUntil(stream, [](const v1::WorkerUp& up) { return up.has_ended(); });
    v1::WorkerDown release;
    release.mutable_release()->set_job("jobs/t-1");
    release.mutable_release()->set_attempt(1);
    stream.Write(release);
    ReadUntil(stream,
              [](const v1::WorkerUp& up) { return up.has_beat() && up.beat().ranks().empty(); });
    running->Stop();
    return grpc::Status::OK;
  }});
  sha256 = coordinator.sha256();
  Agent agent(Options(coordinator.address(), std::string(kSayListening) + "echo oops >&2; exit 7"));
  running = &agent;
  EXPECT_TRUE(agent.Run().ok());
  EXPECT_TRUE(listening);
  EXPECT_EQ(failed.message(), "its process exited with code 7; last lines: oops");
}

TEST_F(AgentTest, ReconnectsAndSaysAgainWhatIs) {
  std::string sha256;
  Agent* running = nullptr;
  HandCoordinator coordinator(
      {[&](HandCoordinator::Stream& stream, const v1::Register& request) {
         SayRegistered(stream);
         stream.Write(AssignOne(sha256));
         ReadUntil(stream, [](const v1::WorkerUp& up) { return up.rank().has_listening(); });
         return grpc::Status(grpc::StatusCode::UNAVAILABLE, "cut");
       },
       [&](HandCoordinator::Stream& stream, const v1::Register& request) {
         EXPECT_EQ(request.running_size(), 1);
         SayRegistered(stream);
         stream.Write(AssignOne(sha256));  // repeated: must not start it again
         ReadUntil(stream, [](const v1::WorkerUp& up) { return up.rank().has_listening(); });
         v1::WorkerDown commit;
         for (int64_t step : {10, 11}) {
           commit.mutable_commit()->set_step(step);
           stream.Write(commit);
           const v1::CommitResult result =
               ReadUntil(stream, [](const v1::WorkerUp& up) { return up.has_commit(); }).commit();
           EXPECT_EQ(result.step(), step);
           EXPECT_EQ(result.message(), step == 10 ? "" : "no space");
         }
         v1::WorkerDown stop;
         stop.mutable_stop()->set_job("jobs/t-1");
         stop.mutable_stop()->set_attempt(1);
         stop.mutable_stop()->set_kill(true);
         stream.Write(stop);
         ReadUntil(stream, [](const v1::WorkerUp& up) { return up.has_ended(); });
         running->Stop();
         return grpc::Status::OK;
       }});
  sha256 = coordinator.sha256();
  Agent agent(Options(coordinator.address(), std::string(kSayListening) + "exec sleep 1000"));
  running = &agent;
  EXPECT_TRUE(agent.Run().ok());
}

TEST_F(AgentTest, EndsWhenItIsRefusedAtFirst) {
  HandCoordinator coordinator({[&](HandCoordinator::Stream& stream, const v1::Register& request) {
    return grpc::Status(grpc::StatusCode::FAILED_PRECONDITION, "run the same build on both");
  }});
  Agent agent(Options(coordinator.address(), "exit 0"));
  const Status status = agent.Run();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(ToStd(status.message())), HasSubstr("same build"));
}

}  // namespace
}  // namespace trireme
