// Answers of unary calls. Header only; covered by service_test.
#ifndef TRIREME_COORDINATOR_SERVICE_UNARY_H_
#define TRIREME_COORDINATOR_SERVICE_UNARY_H_

#include <grpcpp/grpcpp.h>

#include <utility>

#include "coordinator/service/grpc_status.h"
#include "coordinator/service/plan_thread.h"

namespace trireme {

template <typename Response>
void FinishWith(grpc::ServerUnaryReactor* reactor, StatusOr<Response> result, Response* response) {
  if (result.ok()) *response = *std::move(result);
  reactor->Finish(ToGrpc(result.status()));
}

template <typename Response>
grpc::ServerUnaryReactor* Answer(grpc::CallbackServerContext* context, StatusOr<Response> result,
                                 Response* response) {
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  FinishWith(reactor, std::move(result), response);
  return reactor;
}

// Answers from the plan thread with what `work` returns.
template <typename Response, typename Work>
grpc::ServerUnaryReactor* AnswerLater(grpc::CallbackServerContext* context, PlanThread& thread,
                                      Response* response, Work work) {
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  const bool accepted = thread.TryRun([reactor, response, work = std::move(work)] {
    FinishWith<Response>(reactor, work(), response);
  });
  if (!accepted) {
    reactor->Finish(ToGrpc(ResourceExhausted("too many plans are waiting; try again")));
  }
  return reactor;
}

}  // namespace trireme

#endif  // TRIREME_COORDINATOR_SERVICE_UNARY_H_
