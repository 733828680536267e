// Faults.h - turns a CPU exception in generated code into a failed launch.
//
// Kernels are untrusted: a wild address reaches an inaccessible page of the
// window and the CPU raises SIGSEGV. The handler runs on the worker's own
// alternate stack, records what happened and jumps back to where the worker
// started the block; the block's fibers are abandoned (generated code owns
// nothing that needs unwinding). A signal anywhere else goes to the handler
// that was there before ours.
//
// The same way out ends a kernel that runs for too long: interrupt() sends a
// worker a signal of our own.
//
// Test: test/emulator/SchedulerFaultTest.cpp.
#pragma once

#include <csetjmp>
#include <csignal>
#include <cstdint>
#include <pthread.h>

namespace pascaline::emulator {

struct FaultFrame {
  sigjmp_buf back;
  int signal = 0; // 0: left by leaveBlock
  int code = 0;
  uint64_t address = 0;
  bool fromFiber = false; // the block's threads run on fibers
};

// Installs the handlers, once a process.
void installFaultHandlers();

// Gives the calling thread an alternate signal stack.
void useAlternateStack();

// Makes a worker leave the block that it runs, if it runs one.
inline constexpr int kInterruptSignal = SIGSTKFLT; // used by nothing on Linux
inline void interrupt(pthread_t worker) {
  pthread_kill(worker, kInterruptSignal);
}

// While a frame is set on a thread, faults there jump to frame->back.
void setFaultFrame(FaultFrame *frame);

} // namespace pascaline::emulator
