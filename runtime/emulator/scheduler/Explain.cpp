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

const char *verb(const Access &access) {
  return access.atomic ? "updates" : access.stores ? "writes" : "reads";
}

// ", 8 bytes past the end of ..." for addresses of device memory.
std::string allocation(uint64_t address) {
  const DeviceMemory &memory = DeviceMemory::get();
  if (address - memory.windowBase() >= kGlobalWindowBytes)
    return "";
  return ", " + memory.describe(address);
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

void BlockRunner::report(BlockThread *thread, FailureKind kind,
                         const Access &access, const char *what,
                         uint64_t address, uint64_t bytes) {
  setFaultFrame(nullptr); // as in explain
  {
    char text[256];
    std::snprintf(text, sizeof text, "line %u %s %u bytes %s, at 0x%llx",
                  access.line, verb(access), access.bytes, what,
                  static_cast<unsigned long long>(address));
    std::string size = bytes == kNoBytes
                           ? allocation(address)
                           : " of its " + std::to_string(bytes) + " bytes";
    lastFailure = {kind, where(thread) + text + size};
  }
  leave();
}

void BlockRunner::reportRace(BlockThread *thread, const Access &access,
                             uint64_t address, uint32_t otherThread,
                             uint32_t otherLine, bool otherStored,
                             int64_t otherBlock) {
  setFaultFrame(nullptr); // as in explain
  {
    const ThreadState &other = threads[otherThread].state;
    std::string who = "thread " + coordinates(other.tid);
    if (otherBlock >= 0) {
      uint32_t x = otherBlock % launch->grid[0];
      uint64_t rest = otherBlock / launch->grid[0];
      uint32_t at[3] = {x, uint32_t(rest % launch->grid[1]),
                        uint32_t(rest / launch->grid[1])};
      who = "block " + coordinates(at) + ", " + who;
    }
    char text[256];
    std::snprintf(text, sizeof text,
                  "race in %s memory at 0x%llx%s: line %u %s %u bytes, which ",
                  otherBlock < 0 ? "shared" : "device",
                  static_cast<unsigned long long>(address),
                  allocation(address).c_str(), access.line, verb(access),
                  access.bytes);
    lastFailure = {FailureKind::LaunchFailed,
                   where(thread) + text + who +
                       (otherStored ? " has written" : " has read") +
                       " at line " + std::to_string(otherLine) +
                       (otherBlock < 0 ? ", with no barrier between"
                                       : ", with no fence and atomic between")};
  }
  leave();
}

void BlockRunner::reportBarrier(BlockThread *thread, uint32_t id, uint32_t line,
                                uint32_t otherLine) {
  setFaultFrame(nullptr); // as in explain
  lastFailure = {FailureKind::LaunchFailed,
                 where(thread) + "line " + std::to_string(line) +
                     " waits at barrier " + std::to_string(id) +
                     ", where other lanes of the warp wait at line " +
                     std::to_string(otherLine)};
  leave();
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
            coordinates(first.state.tid) + " at line " +
            std::to_string(first.state.line);
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
