#include "runtime/emulator/scheduler/Scheduler.h"

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <system_error>
#include <thread>

namespace pascaline::emulator {
namespace {

// Enough chunks a worker that the last ones even out, few enough that small
// blocks do not queue for the counter.
constexpr uint64_t kChunksPerWorker = 16;
constexpr uint64_t kMaxChunk = 64;

unsigned readWorkerCount() {
  unsigned count = std::thread::hardware_concurrency();
  if (const char *text = std::getenv("PASCALINE_EMULATOR_THREADS"))
    if (int given = std::atoi(text); given > 0)
      count = given;
  return std::clamp(count, 1u, kMaxWorkers);
}

// Long enough for any kernel that is meant to end, so that a hostile one does
// not hang its program for ever.
constexpr double kDefaultTimeout = 600;

double readTimeout() {
  const char *text = std::getenv("PASCALINE_EMULATOR_TIMEOUT");
  double seconds = text && *text ? std::atof(text) : kDefaultTimeout;
  return seconds > 0 && seconds < 1e6 ? seconds : 0;
}

} // namespace

Scheduler &Scheduler::get() {
  static Scheduler *scheduler = new Scheduler;
  return *scheduler;
}

Scheduler::Scheduler()
    : workerCount(readWorkerCount()), timeoutSeconds(readTimeout()) {}

bool Scheduler::startWorkers() {
  if (!pool.empty())
    return true;
  installFaultHandlers();
  // The application's signals are for the application's threads.
  sigset_t blocked, old;
  sigfillset(&blocked);
  for (int signal :
       {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, kInterruptSignal})
    sigdelset(&blocked, signal);
  pthread_sigmask(SIG_SETMASK, &blocked, &old);
  try {
    for (unsigned i = 0; i < workerCount; ++i) {
      std::thread worker([this, i] { work(i); });
      pool.push_back(worker.native_handle());
      worker.detach();
    }
  } catch (const std::system_error &) {
    // Fewer workers than wanted run the same grids, more slowly.
  }
  pthread_sigmask(SIG_SETMASK, &old, nullptr);
  workerCount = std::max<unsigned>(pool.size(), 1);
  return !pool.empty();
}

LaunchFailure Scheduler::run(const Launch &newLaunch) {
  std::lock_guard<std::mutex> one(launching);
  std::unique_lock<std::mutex> lock(mutex);
  if (!startWorkers())
    return {FailureKind::OutOfMemory,
            "the host gave the emulator no thread to run kernels on"};
  launch = &newLaunch;
  if (launch->kernel->sanitized)
    Sanitizer::startLaunch();
  failure = {};
  failed = false;
  blocks = uint64_t(launch->grid[0]) * launch->grid[1] * launch->grid[2];
  wanted = std::min<uint64_t>(workerCount, blocks);
  chunk =
      std::clamp<uint64_t>(blocks / (wanted * kChunksPerWorker), 1, kMaxChunk);
  nextBlock = 0;
  running = wanted;
  ++generation;
  started.notify_all();
  auto done = [this] { return running == 0; };
  if (!timeoutSeconds) {
    finished.wait(lock, done);
  } else if (!finished.wait_for(
                 lock, std::chrono::duration<double>(timeoutSeconds), done)) {
    // Who is between two blocks sees `failed`, the others are interrupted.
    failed = true;
    failure = {FailureKind::Timeout,
               "kernel " + launch->kernel->name + ": not done after " +
                   std::to_string(timeoutSeconds) +
                   " seconds (PASCALINE_EMULATOR_TIMEOUT)"};
    // Again and again: a worker may just have been about to enter a block.
    do {
      for (unsigned i = 0; i < wanted; ++i)
        interrupt(pool[i]);
    } while (!finished.wait_for(lock, std::chrono::milliseconds(50), done));
  }
  launch = nullptr;
  return std::move(failure);
}

void Scheduler::work(unsigned index) {
  useAlternateStack();
  auto runner = std::make_unique<BlockRunner>(index);
  uint64_t seen = 0;
  std::unique_lock<std::mutex> lock(mutex);
  for (;;) {
    started.wait(lock, [&] { return generation != seen; });
    seen = generation;
    if (index >= wanted)
      continue;
    const Launch &mine = *launch;
    lock.unlock();

    bool good = runner->prepare(mine);
    while (good && !failed.load(std::memory_order_relaxed)) {
      uint64_t block = nextBlock.fetch_add(chunk, std::memory_order_relaxed);
      uint64_t end = std::min(block + chunk, blocks);
      if (block >= blocks)
        break;
      while (good && block < end && !failed.load(std::memory_order_relaxed))
        good = runner->run(block++);
    }

    lock.lock();
    if (!good && !failed.exchange(true))
      failure = runner->failure();
    if (good && mine.counts)
      mine.counts->add(runner->counter()->result());
    if (--running == 0)
      finished.notify_one();
  }
}

} // namespace pascaline::emulator
