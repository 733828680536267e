#include "tools/driver/Guard.h"

#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/ThreadPool.h"

#include <condition_variable>
#include <memory>
#include <mutex>
#include <new>
#include <thread>
#include <unistd.h>

namespace pascaline {
namespace {

struct Job {
  std::mutex mutex;
  std::condition_variable finished;
  bool done = false;
  std::string problem;

  void finish(const std::string &sentence) {
    std::lock_guard<std::mutex> lock(mutex);
    if (done)
      return; // the first reason stands
    done = true;
    problem = sentence;
    finished.notify_all();
  }
};

// What the thread works on; null on threads that are not ours.
thread_local Job *current = nullptr;

void onFatalError(void *, const char *reason, bool) {
  if (!current)
    return; // LLVM goes on as if there were no handler
  current->finish(std::string("internal error in code generation: ") + reason);
  for (;;)
    pause();
}

// Threads that know their job.
class GuardedPool : public llvm::ThreadPoolInterface {
public:
  explicit GuardedPool(Job &job) : job(job) {}
  void wait() override { pool.wait(); }
  void wait(llvm::ThreadPoolTaskGroup &group) override { pool.wait(group); }
  unsigned getMaxConcurrency() const override {
    return pool.getMaxConcurrency();
  }

private:
  void asyncEnqueue(std::function<void()> task,
                    llvm::ThreadPoolTaskGroup *group) override {
    auto guarded = [task = std::move(task), job = &job] {
      current = job;
      task();
    };
    if (group)
      pool.async(*group, std::move(guarded));
    else
      pool.async(std::move(guarded));
  }

  Job &job;
  llvm::DefaultThreadPool pool;
};

// Exceptions end here: LLVM is built without them, but allocation throws.
void runJob(Job &job,
            const std::function<void(llvm::ThreadPoolInterface &)> &work) {
  current = &job;
  try {
    GuardedPool pool(job);
    work(pool);
  } catch (const std::bad_alloc &) {
    return job.finish("the host's memory is used up; compile a smaller model "
                      "or on a larger machine");
  } catch (const std::exception &exception) {
    return job.finish(std::string("internal error: ") + exception.what());
  }
  job.finish("");
}

} // namespace

bool runGuarded(std::function<void(llvm::ThreadPoolInterface &)> work,
                std::string &error) {
  static std::once_flag once;
  std::call_once(once, [] {
    llvm::install_fatal_error_handler(onFatalError);
    llvm::install_bad_alloc_error_handler(onFatalError);
  });
  auto job = std::make_shared<Job>();
  std::thread thread([job, work = std::move(work)] { runJob(*job, work); });
  std::unique_lock<std::mutex> lock(job->mutex);
  job->finished.wait(lock, [&] { return job->done; });
  error = job->problem;
  lock.unlock();
  // A halted thread never ends. After anything else the thread is about to.
  thread.detach();
  return error.empty();
}

} // namespace pascaline
