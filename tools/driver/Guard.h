// Guard.h - work whose fatal errors inside LLVM do not end the process.
//
// report_fatal_error must not return, and unwinding past it would leave locks
// held and objects half changed. So the thread that meets one is halted for
// good, and the work with it; its memory is leaked, which is the price of the
// caller's process going on.
//
// Test: test/driver/CompileApiTest.cpp
#pragma once

#include <functional>
#include <string>

namespace llvm {
class ThreadPoolInterface;
}

namespace pascaline {

/// Runs `work` on a thread of its own, with a pool whose threads are guarded
/// too, and waits. False and a sentence in `error` when the work threw or met
/// a fatal error. After a fatal error what `work` owns lives on for ever, so it
/// must own (share) all that it touches.
bool runGuarded(std::function<void(llvm::ThreadPoolInterface &)> work,
                std::string &error);

} // namespace pascaline
