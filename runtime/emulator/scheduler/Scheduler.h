// Scheduler.h - runs a grid over the host's cores.
//
// A pool of workers, one a core (PASCALINE_EMULATOR_THREADS overrides), takes
// blocks of the grid in order, a few at a time, from one atomic counter. In
// order matters: a block may wait for one with a lower number, as stream-K and
// look-back kernels do, and that one has been started. One grid runs at a
// time; other launches wait. The first failure stops the grid. So does
// PASCALINE_EMULATOR_TIMEOUT, seconds that a grid may take (600 by default; 0:
// for ever, as a GPU without a display).
//
// The pool starts with the first launch and is never stopped: a program may
// exit while workers sleep, and the library is linked with nodelete. A child
// made by fork has no workers: fork is not supported.
//
// Test: test/emulator/SchedulerGridTest.cpp.
#pragma once

#include "runtime/emulator/scheduler/Block.h"

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <vector>

namespace pascaline::emulator {

class Scheduler {
public:
  static Scheduler &get();

  // Runs the whole grid; extents are positive and within the device's limits.
  LaunchFailure run(const Launch &launch);
  unsigned workers() const { return workerCount; }

private:
  Scheduler();
  bool startWorkers();
  void work(unsigned index);

  unsigned workerCount;
  double timeoutSeconds; // 0: none
  std::mutex launching;  // held for a whole grid

  std::mutex mutex; // guards what follows
  std::condition_variable started, finished;
  uint64_t generation = 0;
  unsigned wanted = 0;         // workers that take part
  unsigned running = 0;        // of those, not yet done
  std::vector<pthread_t> pool; // empty until the first launch
  const Launch *launch = nullptr;
  LaunchFailure failure;

  uint64_t blocks = 0;
  uint64_t chunk = 1;
  std::atomic<uint64_t> nextBlock{0};
  std::atomic<bool> failed{false};
};

} // namespace pascaline::emulator
