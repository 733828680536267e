// Fibers.h - a worker's stacks to suspend threads of a block on.
//
// Every barrier switches once a thread, so the switch is a few instructions
// expanded in place: a call would leave the CPU's return predictor one off on
// every return after it, which costs more than the switch (measured on Zen 5:
// a barrier of 256 threads takes 2.4 us like this and 9 us with boost.context's
// jump_fcontext, which remains for other CPUs than x86-64).
//
// Stacks are mapped when a block first needs so many and then kept, so running
// a block allocates nothing. Their tops are staggered by a few cache lines: at
// equal offsets in a page the hot tops of 256 stacks would fight for the same
// few cache sets.
//
// ASan and TSan (PASCALINE_SANITIZE) must be told of every switch: announce*.
//
// Threads: a pool belongs to one worker.
// Test: test/emulator/SchedulerBlockTest.cpp.
#pragma once

#include <cstdint>
#include <vector>

#ifndef __x86_64__
#include <boost/context/detail/fcontext.hpp>
#endif

namespace pascaline::emulator {

// Where a suspended fiber goes on. Valid for one switch to it.
using FiberContext = void *;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
// The calling thread goes on at `to`, null for where it called
// FiberPool::reserve(); and it has arrived.
void announceSwitch(FiberContext to);
void announceArrival();
#else
inline void announceSwitch(FiberContext) {}
inline void announceArrival() {}
#endif

// Suspends the caller, leaving its context in *from, and goes on at `to`.
inline void switchFiber(FiberContext *from, FiberContext to) {
  announceSwitch(to);
#ifdef __x86_64__
  // A context is a stack pointer, with the address to go on at on top. Who
  // uses this is compiled with -mno-red-zone: nothing lives below the stack
  // pointer, where we push.
  asm volatile("pushq %%rbp\n\t"
               "leaq 1f(%%rip), %%rax\n\t"
               "pushq %%rax\n\t"
               "movq %%rsp, (%%rdi)\n\t"
               "movq %%rsi, %%rsp\n\t"
               "popq %%rax\n\t"
               "jmp *%%rax\n"
               "1:\n\t"
               "popq %%rbp"
               : "+D"(from), "+S"(to)
               :
               : "rax", "rbx", "rcx", "rdx", "r8", "r9", "r10", "r11", "r12",
                 "r13", "r14", "r15", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4",
                 "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11",
                 "xmm12", "xmm13", "xmm14", "xmm15", "memory", "cc");
#else
  // Whoever runs at `to` stores the context that we have left.
  auto back = boost::context::detail::jump_fcontext(to, from);
  *static_cast<FiberContext *>(back.data) = back.fctx;
#endif
  announceArrival();
}

class FiberPool {
public:
  ~FiberPool();
  // Maps stacks until `count` exist. False when there is no memory for them.
  bool reserve(unsigned count);
  // All stacks are free again, whatever was left suspended on them.
  void reset();
  // A context that calls entry(argument, stack) on a free stack; `entry` never
  // returns, but gives the stack back and switches away.
  FiberContext start(void (*entry)(void *argument, void *stack),
                     void *argument);
  void release(void *stack) { freeStacks.push_back(stack); }

private:
  std::vector<void *> stacks;     // their tops
  std::vector<void *> freeStacks; // the last one is warm
  std::vector<void *> mappings;
};

} // namespace pascaline::emulator
