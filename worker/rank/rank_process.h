// The process of one rank: receives its program over a socket pair, connects to its peers, trains
// to the end, and says on the way how it goes (proto/trireme/v1/rank.proto). It dies with its
// daemon and speaks no gRPC.
#ifndef TRIREME_WORKER_RANK_RANK_PROCESS_H_
#define TRIREME_WORKER_RANK_RANK_PROCESS_H_

namespace trireme {

// Serves one attempt on `fd` and returns the exit code: 0 done or stopped, 1 failed (RankFailed was
// sent), 3 the daemon is gone.
int RunRank(int fd);

}  // namespace trireme

#endif  // TRIREME_WORKER_RANK_RANK_PROCESS_H_
