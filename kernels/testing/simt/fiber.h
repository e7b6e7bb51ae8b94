// Stacks that take turns in one thread: one for each thread of a GPU block that is run on the CPU.
// Switching saves the callee-saved registers of the x86-64 System V ABI and nothing else. Address
// and thread sanitizer are told of every switch; to the latter each fiber is a thread of its own
// whose order with the others is only what Release and Acquire say, so that it finds races between
// threads of a block.
#ifndef TRIREME_KERNELS_TESTING_SIMT_FIBER_H_
#define TRIREME_KERNELS_TESTING_SIMT_FIBER_H_

#include <cstddef>

namespace trireme::simt {

class Fiber {
 public:
  using Entry = void (*)();

  Fiber() = default;
  ~Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  // Makes the next Resume begin `entry`, which calls Entered first and must not return but end in
  // Yield(done).
  void Start(Entry entry);
  void Entered();
  // Runs this fiber until it yields. Called by the thread that owns all fibers.
  void Resume();
  // Back to where Resume was called. `done`: this fiber will not be resumed, only started again.
  void Yield(bool done = false);

 private:
  char* stack_ = nullptr;
  void* stack_pointer_ = nullptr;
  void* caller_pointer_ = nullptr;
  // Of the sanitizers.
  void* fake_stack_ = nullptr;
  void* caller_fake_stack_ = nullptr;
  const void* caller_stack_ = nullptr;
  size_t caller_stack_size_ = 0;
  void* thread_ = nullptr;
  void* caller_thread_ = nullptr;
};

// For the thread sanitizer: what came before Release(p) in one fiber comes before what follows
// Acquire(p) in another. Nothing otherwise.
void Release(void* p);
void Acquire(void* p);

}  // namespace trireme::simt

#endif  // TRIREME_KERNELS_TESTING_SIMT_FIBER_H_
