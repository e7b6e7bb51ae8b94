// absl::Status -> grpc::Status: the codes have the same numbers. Header only; covered by
// service_test.
#ifndef TRIREME_COORDINATOR_SERVICE_GRPC_STATUS_H_
#define TRIREME_COORDINATOR_SERVICE_GRPC_STATUS_H_

#include <grpcpp/grpcpp.h>

#include <string>

#include "common/base/status.h"

namespace trireme {

inline grpc::Status ToGrpc(const Status& status) {
  if (status.ok()) return grpc::Status::OK;
  return grpc::Status(static_cast<grpc::StatusCode>(status.code()),
                      std::string(ToStd(status.message())));
}

}  // namespace trireme

#endif  // TRIREME_COORDINATOR_SERVICE_GRPC_STATUS_H_
