#include "runtime/emulator/scheduler/Fibers.h"

#include <sys/mman.h>

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#include <pthread.h>
#include <sanitizer/common_interface_defs.h>
#include <unordered_map>
#endif
#ifdef __SANITIZE_THREAD__
#include <sanitizer/tsan_interface.h>
#endif

namespace pascaline::emulator {
namespace {

// Generated code keeps PTX's local memory elsewhere: its frames hold spilled
// registers and calls between .func only.
constexpr size_t kStackBytes = 60 * 1024;
constexpr size_t kGuardPage = 4096;
constexpr size_t kStride = kStackBytes + kGuardPage;
constexpr unsigned kStacksPerMapping = 32;
// An odd number of lines walks through every set before one repeats.
constexpr size_t kStagger = 11 * 64;
constexpr size_t kStaggerWindow = 4096;

} // namespace

FiberPool::~FiberPool() {
  for (void *mapping : mappings)
    munmap(mapping, kStride * kStacksPerMapping);
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)

namespace {

// Of the calling worker. A stack's number in the pool is its place in `fibers`.
struct Announcer {
  const std::vector<void *> *mappings = nullptr;
  void *mainStack = nullptr;
  size_t mainBytes = 0;
  void *mainFiber = nullptr;
  std::unordered_map<void *, void *> fibers; // TSan's, by the stack's bottom

  void start(const std::vector<void *> &pool) {
    mappings = &pool;
    pthread_attr_t attributes;
    if (mainStack || pthread_getattr_np(pthread_self(), &attributes))
      return;
    pthread_attr_getstack(&attributes, &mainStack, &mainBytes);
    pthread_attr_destroy(&attributes);
#ifdef __SANITIZE_THREAD__
    mainFiber = __tsan_get_current_fiber();
#endif
  }
};
thread_local Announcer announcer;

} // namespace

void announceSwitch(FiberContext to) {
  void *bottom = announcer.mainStack;
  size_t bytes = announcer.mainBytes;
  for (void *mapping : *announcer.mappings) {
    size_t offset = static_cast<char *>(to) - static_cast<char *>(mapping);
    if (offset < kStride * kStacksPerMapping) {
      bottom = static_cast<char *>(mapping) + offset / kStride * kStride +
               kGuardPage;
      bytes = kStackBytes;
    }
  }
#ifdef __SANITIZE_ADDRESS__
  __sanitizer_start_switch_fiber(nullptr, bottom, bytes);
#else
  void *&fiber = announcer.fibers[bottom];
  if (!fiber)
    fiber = bottom == announcer.mainStack ? announcer.mainFiber
                                          : __tsan_create_fiber(0);
  __tsan_switch_to_fiber(fiber, 0);
#endif
}

void announceArrival() {
#ifdef __SANITIZE_ADDRESS__
  __sanitizer_finish_switch_fiber(nullptr, nullptr, nullptr);
#endif
}

#endif

void FiberPool::reset() {
  freeStacks = stacks;
#ifdef __SANITIZE_ADDRESS__
  // Frames that nobody returned from have left their redzones.
  for (void *mapping : mappings)
    __asan_unpoison_memory_region(mapping, kStride * kStacksPerMapping);
#endif
}

bool FiberPool::reserve(unsigned count) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  announcer.start(mappings);
#endif
  while (stacks.size() < count) {
    void *memory =
        mmap(nullptr, kStride * kStacksPerMapping, PROT_READ | PROT_WRITE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED)
      return false;
    mappings.push_back(memory);
    for (unsigned i = 0; i < kStacksPerMapping; ++i) {
      char *bottom = static_cast<char *>(memory) + i * kStride;
      if (mprotect(bottom, kGuardPage, PROT_NONE))
        return false;
      size_t shift = stacks.size() * kStagger % kStaggerWindow;
      stacks.push_back(bottom + kStride - shift);
      freeStacks.push_back(stacks.back());
    }
  }
  return true;
}

#ifdef __x86_64__

// The first code of a fiber; see start() for what lies on the stack. A jump and
// no call: nobody will return here, and the return predictor counts.
asm(".text\n"
    ".type pascalineEmulatorFiberEntry, @function\n"
    "pascalineEmulatorFiberEntry:\n\t"
    "popq %rdi\n\t"
    "popq %rsi\n\t"
    "popq %rax\n\t"
    "xorl %ebp, %ebp\n\t"
    "pushq $0\n\t"
    "jmp *%rax\n"
    ".size pascalineEmulatorFiberEntry, .-pascalineEmulatorFiberEntry");
extern "C" void pascalineEmulatorFiberEntry();

FiberContext FiberPool::start(void (*entry)(void *, void *), void *argument) {
  void *stack = freeStacks.back();
  freeStacks.pop_back();
  // Four words: the call finds the stack pointer at a multiple of 16.
  void **top = static_cast<void **>(stack) - 4;
  top[0] = reinterpret_cast<void *>(&pascalineEmulatorFiberEntry);
  top[1] = argument;
  top[2] = stack;
  top[3] = reinterpret_cast<void *>(entry);
  return top;
}

#else

namespace {

struct Start {
  void (*entry)(void *, void *);
  void *argument;
  void *stack;
};

// start() enters once to hand the arguments over.
void fiberEntry(boost::context::detail::transfer_t transfer) {
  Start start = *static_cast<Start *>(transfer.data);
  transfer = boost::context::detail::jump_fcontext(transfer.fctx, nullptr);
  *static_cast<FiberContext *>(transfer.data) = transfer.fctx;
  start.entry(start.argument, start.stack);
}

} // namespace

FiberContext FiberPool::start(void (*entry)(void *, void *), void *argument) {
  Start start{entry, argument, freeStacks.back()};
  freeStacks.pop_back();
  FiberContext fiber = boost::context::detail::make_fcontext(
      start.stack, kStackBytes - kStaggerWindow, fiberEntry);
  return boost::context::detail::jump_fcontext(fiber, &start).fctx;
}

#endif

} // namespace pascaline::emulator
