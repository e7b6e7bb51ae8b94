// Keepalive: workers ping every 20 s even on quiet streams; the server allows a ping each 10 s. The
// application's beats remain the real test of life.
#include "coordinator/service/server.h"

#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/health_check_service_interface.h>

#include <chrono>

namespace trireme {
namespace {

constexpr int kMaxMessageBytes = 16 << 20;

void SetLimits(grpc::ServerBuilder& builder) {
  builder.SetMaxReceiveMessageSize(kMaxMessageBytes);
  builder.SetMaxSendMessageSize(256 << 20);  // plans of large meshes as JSON
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, 60000);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 20000);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 0);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, 10000);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  builder.AddChannelArgument(GRPC_ARG_MAX_METADATA_SIZE, 8192);
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);  // two coordinators on a port: an error
}

}  // namespace

Status CheckListenAddress(const std::string& address) {
  if (address.rfind("unix:", 0) == 0) return absl::OkStatus();
  const size_t colon = address.rfind(':');
  if (colon == std::string::npos) {
    return InvalidArgument("listen address '" + address + "' has no port; write 127.0.0.1:PORT");
  }
  const std::string host = address.substr(0, colon);
  const bool dotted_loopback =
      host.rfind("127.", 0) == 0 && host.find_first_not_of("0123456789.") == std::string::npos;
  if (dotted_loopback || host == "localhost" || host == "[::1]") return absl::OkStatus();
  return InvalidArgument(
      "listen address '" + address +
      "' is not loopback, and without TLS anybody who reaches it could run jobs; "
      "use 127.0.0.1:PORT (and, from elsewhere, an SSH tunnel to it)");
}

StatusOr<std::unique_ptr<CoordinatorServer>> CoordinatorServer::Start(Coordinator& coordinator,
                                                                      const std::string& address) {
  RETURN_IF_ERROR(CheckListenAddress(address));
  std::unique_ptr<CoordinatorServer> server(new CoordinatorServer(coordinator));
  grpc::EnableDefaultHealthCheckService(true);
  grpc::reflection::InitProtoReflectionServerBuilderPlugin();
  grpc::ServerBuilder builder;
  SetLimits(builder);
  int port = 0;
  builder.AddListeningPort(address, grpc::InsecureServerCredentials(), &port);
  builder.RegisterService(&server->jobs_);
  builder.RegisterService(&server->plans_);
  builder.RegisterService(&server->workers_);
  builder.RegisterService(&server->nodes_);
  server->server_ = builder.BuildAndStart();
  if (server->server_ == nullptr) {
    return Unavailable("cannot listen on " + address +
                       "; is the port in use? Port 0 takes a free one");
  }
  const bool is_unix = address.rfind("unix:", 0) == 0;
  server->address_ =
      is_unix ? address : address.substr(0, address.rfind(':')) + ":" + std::to_string(port);
  server->server_->GetHealthCheckService()->SetServingStatus(true);
  return server;
}

CoordinatorServer::~CoordinatorServer() {
  if (server_ == nullptr) return;
  server_->Shutdown(std::chrono::system_clock::now() + std::chrono::seconds(2));
  server_->Wait();
}

}  // namespace trireme
