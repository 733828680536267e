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

} // namespace

Scheduler &Scheduler::get() {
  static Scheduler *scheduler = new Scheduler;
  return *scheduler;
}

Scheduler::Scheduler() : workerCount(readWorkerCount()) {}

bool Scheduler::startWorkers() {
  if (poolStarted)
    return true;
  installFaultHandlers();
  // The application's signals are for the application's threads.
  sigset_t blocked, old;
  sigfillset(&blocked);
  for (int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT})
    sigdelset(&blocked, signal);
  pthread_sigmask(SIG_SETMASK, &blocked, &old);
  unsigned count = 0;
  try {
    for (; count < workerCount; ++count)
      std::thread([this, count] { work(count); }).detach();
  } catch (const std::system_error &) {
    // Fewer workers than wanted run the same grids, more slowly.
  }
  pthread_sigmask(SIG_SETMASK, &old, nullptr);
  workerCount = std::max(count, 1u);
  poolStarted = count > 0;
  return poolStarted;
}

LaunchFailure Scheduler::run(const Launch &newLaunch) {
  std::lock_guard<std::mutex> one(launching);
  std::unique_lock<std::mutex> lock(mutex);
  if (!startWorkers())
    return {FailureKind::OutOfMemory,
            "the host gave the emulator no thread to run kernels on"};
  launch = &newLaunch;
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
  finished.wait(lock, [this] { return running == 0; });
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
      while (good && block < end)
        good = runner->run(block++);
    }

    lock.lock();
    if (!good && !failed.exchange(true))
      failure = runner->failure();
    if (--running == 0)
      finished.notify_one();
  }
}

} // namespace pascaline::emulator
