// The switch itself is assembly: ucontext would make two system calls a switch.
#include "kernels/testing/simt/fiber.h"

#include <sys/mman.h>

#include <cstdint>

#include "common/base/check.h"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/common_interface_defs.h>
#endif
#if defined(__SANITIZE_THREAD__)
#include <sanitizer/tsan_interface.h>
#endif

#if !defined(__x86_64__)
#error "fibers are written for x86-64"
#endif

// Saves where the caller stands in *save and goes on where `to` stands.
extern "C" void trireme_simt_switch(void** save, void* to);
asm(R"(
.text
.globl trireme_simt_switch
.type trireme_simt_switch, @function
trireme_simt_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size trireme_simt_switch, .-trireme_simt_switch
)");

// A fiber's own members are handed from its caller to itself by the switch; the thread sanitizer is
// not asked about them, only about what the kernels touch.
#if defined(__SANITIZE_THREAD__)
#define TRIREME_UNSEEN __attribute__((no_sanitize_thread))
#else
#define TRIREME_UNSEEN
#endif

namespace trireme::simt {
namespace {

// The thread sanitizer's frames are large.
#if defined(__SANITIZE_THREAD__)
constexpr size_t kStackBytes = size_t{1} << 20;
#else
constexpr size_t kStackBytes = size_t{64} << 10;
#endif
constexpr int kSavedRegisters = 6;

}  // namespace

Fiber::~Fiber() {
  if (stack_ != nullptr) munmap(stack_, kStackBytes);
#if defined(__SANITIZE_THREAD__)
  if (thread_ != nullptr) __tsan_destroy_fiber(thread_);
#endif
}

TRIREME_UNSEEN void Fiber::Start(Entry entry) {
  if (stack_ == nullptr) {
    void* stack = mmap(nullptr, kStackBytes, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    CHECK(stack != MAP_FAILED) << "no memory for a stack of " << kStackBytes << " bytes";
    stack_ = static_cast<char*>(stack);
  }
#if defined(__SANITIZE_THREAD__)
  if (thread_ == nullptr) thread_ = __tsan_create_fiber(0);
#endif
  // A return address of 0 ends back traces, and leaves the stack as a call would: 8 past 16 bytes.
  auto** top = reinterpret_cast<void**>(stack_ + kStackBytes) - 1;
  *top = nullptr;
  *--top = reinterpret_cast<void*>(entry);
  for (int i = 0; i < kSavedRegisters; ++i) *--top = nullptr;
  stack_pointer_ = top;
  fake_stack_ = nullptr;
}

TRIREME_UNSEEN void Fiber::Entered() {
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_finish_switch_fiber(nullptr, &caller_stack_, &caller_stack_size_);
#endif
}

TRIREME_UNSEEN void Fiber::Resume() {
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_start_switch_fiber(&caller_fake_stack_, stack_, kStackBytes);
#endif
#if defined(__SANITIZE_THREAD__)
  caller_thread_ = __tsan_get_current_fiber();
  __tsan_switch_to_fiber(thread_, __tsan_switch_to_fiber_no_sync);
#endif
  trireme_simt_switch(&caller_pointer_, stack_pointer_);
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_finish_switch_fiber(caller_fake_stack_, nullptr, nullptr);
#endif
}

TRIREME_UNSEEN void Fiber::Yield([[maybe_unused]] bool done) {
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_start_switch_fiber(done ? nullptr : &fake_stack_, caller_stack_, caller_stack_size_);
#endif
#if defined(__SANITIZE_THREAD__)
  __tsan_switch_to_fiber(caller_thread_, __tsan_switch_to_fiber_no_sync);
#endif
  trireme_simt_switch(&stack_pointer_, caller_pointer_);
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_finish_switch_fiber(fake_stack_, &caller_stack_, &caller_stack_size_);
#endif
}

void Release([[maybe_unused]] void* p) {
#if defined(__SANITIZE_THREAD__)
  __tsan_release(p);
#endif
}

void Acquire([[maybe_unused]] void* p) {
#if defined(__SANITIZE_THREAD__)
  __tsan_acquire(p);
#endif
}

}  // namespace trireme::simt
