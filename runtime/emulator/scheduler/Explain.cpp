// Explain.cpp - the sentences behind a failed launch.
#include "runtime/emulator/scheduler/Block.h"

#include <csignal>
#include <cstdio>

namespace pascaline::emulator {
namespace {

std::string coordinates(const uint32_t (&at)[3]) {
  return "(" + std::to_string(at[0]) + "," + std::to_string(at[1]) + "," +
         std::to_string(at[2]) + ")";
}

} // namespace

std::string BlockRunner::where(const BlockThread *thread) const {
  return "kernel " + launch->kernel->name + ", block " +
         coordinates(thread->state.ctaid) + ", thread " +
         coordinates(thread->state.tid) + ": ";
}

void BlockRunner::explain(const BlockThread *thread, std::string what) {
  setFaultFrame(nullptr); // an interrupt may not cut an allocation short
  lastFailure = {FailureKind::LaunchFailed, where(thread) + std::move(what)};
}

void BlockRunner::explainFault() {
  char hex[24];
  std::snprintf(hex, sizeof hex, "0x%llx",
                static_cast<unsigned long long>(frame.address));
  std::string at = where(current);
  switch (frame.signal) {
  case SIGILL:
    lastFailure = {FailureKind::IllegalInstruction, at + "illegal instruction"};
    return;
  case kInterruptSignal:
    lastFailure = {FailureKind::Timeout, at + "was still running"};
    return;
  case SIGFPE:
    lastFailure = {FailureKind::LaunchFailed, at + "arithmetic exception"};
    return;
  }
  // Every address lies in the window, so a general protection fault can only
  // come from a vector access that is not aligned.
  if (frame.signal == SIGSEGV && frame.code == SI_KERNEL && !frame.address) {
    lastFailure = {FailureKind::MisalignedAddress,
                   at + "access to a misaligned address"};
    return;
  }
  lastFailure = {FailureKind::IllegalAddress,
                 at + "access to " + hex + ", " +
                     DeviceMemory::get().describe(frame.address)};
}

// "deadlock, 96 of 128 threads wait at barrier 0; 1 waits at a shuffle ..."
void BlockRunner::explainDeadlock() {
  setFaultFrame(nullptr); // as in explain
  std::string text;
  auto add = [&](unsigned waiting, const BlockThread &first,
                 const std::string &at) {
    if (!text.empty())
      text += "; ";
    text += std::to_string(waiting) + " of " + std::to_string(threadCount) +
            " threads wait at " + at + ", one is " +
            coordinates(first.state.tid);
  };
  for (unsigned id = 0; id < 16; ++id) {
    const Barrier &barrier = barriers[id];
    unsigned waiting = 0;
    for (BlockThread *t = barrier.first; t; t = t->next)
      ++waiting;
    if (waiting)
      add(waiting, *barrier.first, "barrier " + std::to_string(id));
  }
  constexpr size_t kEnough = 400; // a thousand lanes may wait at as many
  for (unsigned w = 0; w * 32 < threadCount; ++w)
    for (uint32_t left = warps[w].active; left && text.size() < kEnough;
         left &= left - 1) {
      const Group &group = warps[w].groups[__builtin_ctz(left)];
      char at[64];
      std::snprintf(at, sizeof at, "a %s of lanes 0x%x",
                    group.kind == Collective::Shuffle ? "shuffle"
                    : group.kind == Collective::Vote  ? "vote"
                                                      : "warp barrier",
                    group.mask);
      add(__builtin_popcount(group.arrived),
          threads[w * 32 + __builtin_ctz(group.arrived)], at);
    }
  if (alive < threadCount)
    text += "; " + std::to_string(threadCount - alive) + " have exited";
  lastFailure = {FailureKind::LaunchFailed,
                 "kernel " + launch->kernel->name + ", block " +
                     coordinates(threads[0].state.ctaid) + ": deadlock, " +
                     text};
}

} // namespace pascaline::emulator
