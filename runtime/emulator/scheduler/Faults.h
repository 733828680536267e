// Faults.h - turns a CPU exception in generated code into a failed launch.
//
// Kernels are untrusted: a wild address reaches an inaccessible page of the
// window and the CPU raises SIGSEGV. The handler runs on the worker's own
// alternate stack, records what happened and jumps back to where the worker
// started the block; the block's fibers are abandoned (generated code owns
// nothing that needs unwinding). A signal anywhere else goes to the handler
// that was there before ours.
//
// Test: test/emulator/SchedulerFaultTest.cpp.
#pragma once

#include <csetjmp>
#include <cstdint>

namespace pascaline::emulator {

struct FaultFrame {
  sigjmp_buf back;
  int signal = 0; // 0: left by leaveBlock
  int code = 0;
  uint64_t address = 0;
};

// Installs the handlers, once a process.
void installFaultHandlers();

// Gives the calling thread an alternate signal stack.
void useAlternateStack();

// While a frame is set on a thread, faults there jump to frame->back.
void setFaultFrame(FaultFrame *frame);

} // namespace pascaline::emulator
