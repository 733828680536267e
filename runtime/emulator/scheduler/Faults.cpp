// siglongjmp goes from one stack to another here, which the fortified version
// takes for an error.
#undef _FORTIFY_SOURCE
#include "runtime/emulator/scheduler/Faults.h"
#include "runtime/emulator/scheduler/Fibers.h"

#include <csignal>
#include <cstddef>
#include <mutex>
#include <sys/mman.h>

namespace pascaline::emulator {
namespace {

constexpr int kSignals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, kInterruptSignal};
constexpr size_t kAlternateStackBytes = 64 * 1024;

struct sigaction previousActions[NSIG];

// initial-exec: a signal handler may not allocate thread-local storage.
__attribute__((
    tls_model("initial-exec"))) thread_local FaultFrame *currentFrame = nullptr;

void handleFault(int signal, siginfo_t *info, void *context) {
  if (FaultFrame *frame = currentFrame) {
    currentFrame = nullptr;
    frame->signal = signal;
    frame->code = info->si_code;
    frame->address = reinterpret_cast<uint64_t>(info->si_addr);
    if (frame->fromFiber)
      announceSwitch(nullptr);
    siglongjmp(frame->back, 1);
  }
  if (signal == kInterruptSignal)
    return; // between two blocks
  const struct sigaction &previous = previousActions[signal];
  if (previous.sa_flags & SA_SIGINFO) {
    previous.sa_sigaction(signal, info, context);
  } else if (previous.sa_handler == SIG_DFL) {
    // The instruction runs again, or the signal that somebody sent comes
    // again, and the process ends as it would have.
    sigaction(signal, &previous, nullptr);
    if (info->si_code <= 0)
      raise(signal);
  } else if (previous.sa_handler != SIG_IGN) {
    previous.sa_handler(signal);
  }
}

} // namespace

void installFaultHandlers() {
  static std::once_flag once;
  std::call_once(once, [] {
    for (int signal : kSignals) {
      struct sigaction action = {};
      action.sa_sigaction = handleFault;
      // SA_NODEFER: we leave by a jump, which would leave the signal blocked.
      action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
      sigemptyset(&action.sa_mask);
      sigaction(signal, &action, &previousActions[signal]);
    }
  });
}

void useAlternateStack() {
  void *memory = mmap(nullptr, kAlternateStackBytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED)
    return;
  stack_t stack = {};
  stack.ss_sp = memory;
  stack.ss_size = kAlternateStackBytes;
  sigaltstack(&stack, nullptr);
}

void setFaultFrame(FaultFrame *frame) { currentFrame = frame; }

} // namespace pascaline::emulator
