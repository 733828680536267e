// Every call of the driver's table, made to fail on its first, its second and
// its last use in a whole life: device, model, session; runs that wait, that do
// not, as a graph, into a caller's graph, timed; host and device memory; close.
// Each time: a status, a sentence that says what was being done, a session that
// goes on or closes, and nothing left. On the fake driver and on the emulator.
//
// And the host's: every allocation of such a life, made to fail.
#include "runtime/src/Error.h"
#include "test/runtime/InjectedDriver.h"
#include "test/runtime/RunFixture.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <new>
#include <optional>
#include <set>
#include <utility>

using namespace pascaline;
using namespace pascaline::testing;

// Allocations that may still be made, while `limited`.
static thread_local bool limited;
static thread_local long allocationsLeft;
static thread_local bool allocationFailed;

static void *allocate(size_t bytes, size_t alignment) {
  if (limited && allocationsLeft-- <= 0) {
    allocationFailed = true;
    throw std::bad_alloc();
  }
  bytes = bytes ? bytes : 1;
  void *memory = alignment ? aligned_alloc(alignment, (bytes + alignment - 1) /
                                                          alignment * alignment)
                           : malloc(bytes);
  if (!memory)
    throw std::bad_alloc();
  return memory;
}
void *operator new(size_t bytes) { return allocate(bytes, 0); }
void *operator new[](size_t bytes) { return allocate(bytes, 0); }
void *operator new(size_t bytes, std::align_val_t alignment) {
  return allocate(bytes, size_t(alignment));
}
// std::stable_sort's, for one; all of a kind, or new and delete would not
// match.
void *operator new(size_t bytes, const std::nothrow_t &) noexcept {
  return malloc(bytes ? bytes : 1);
}
void *operator new[](size_t bytes, const std::nothrow_t &) noexcept {
  return malloc(bytes ? bytes : 1);
}
void operator delete(void *memory) noexcept { free(memory); }
void operator delete[](void *memory) noexcept { free(memory); }
void operator delete(void *memory, size_t) noexcept { free(memory); }
void operator delete[](void *memory, size_t) noexcept { free(memory); }
void operator delete(void *memory, std::align_val_t) noexcept { free(memory); }
void operator delete(void *memory, size_t, std::align_val_t) noexcept {
  free(memory);
}

namespace {

// What comes of a failure.
enum Outcome {
  kFails,   // a status, and the words in the sentence
  kUnheard, // only giving something back: nobody is told
  kLogged,  // the run goes another way, and the log has the words
};
struct Expected {
  Outcome outcome;
  const char *words;
};
const std::map<std::string, Expected> kExpected = {
    {"driverGetVersion", {kFails, "reading its driver's version"}},
    {"deviceGet", {kFails, "finding it"}},
    {"deviceGetName", {kFails, "reading its name"}},
    {"deviceGetAttribute", {kFails, "reading an attribute"}},
    {"devicePrimaryCtxRetain", {kFails, "opening its primary context"}},
    {"devicePrimaryCtxRelease", {kUnheard, ""}},
    {"ctxPushCurrent", {kFails, "making its context current"}},
    {"ctxPopCurrent", {kUnheard, ""}},
    {"memGetInfo", {kFails, "asking for free memory"}},
    {"memAlloc", {kFails, "but allocating gives"}},
    {"memFree", {kUnheard, ""}},
    {"memcpyHtoDAsync", {kFails, "copying an input|uploading weights"}},
    {"memcpyDtoHAsync", {kFails, "copying an output"}},
    {"memcpyDtoDAsync", {kFails, "copying an input|copying an output"}},
    {"memsetD8Async", {kFails, "clearing counters|clearing weights"}},
    {"moduleLoadDataEx", {kFails, "loading the PTX of add.pasc"}},
    {"moduleUnload", {kUnheard, ""}},
    {"moduleGetFunction",
     {kFails, "finding kernel add in the PTX of add.pasc"}},
    {"funcGetAttribute", {kFails, "reading a kernel's block limit"}},
    {"launchKernel",
     {kFails, "launch 0 of model add, kernel add for node"
              "|launch 1 of model add, kernel add for node"}},
    {"streamCreate", {kFails, "making a stream"}},
    {"streamDestroy", {kUnheard, ""}},
    {"streamSynchronize", {kFails, "loading weights|running model add"}},
    {"streamWaitEvent", {kFails, "waiting for the last run"}},
    {"eventCreate", {kFails, "making an event"}},
    {"eventDestroy", {kUnheard, ""}},
    {"eventRecord", {kFails, "recording an event"}},
    {"eventSynchronize", {kFails, "waiting for the last run"}},
    {"eventElapsedTime", {kFails, "reading an event's time"}},
    {"streamBeginCapture", {kLogged, "beginning a capture"}},
    {"streamEndCapture", {kLogged, "ending a capture"}},
    {"streamIsCapturing", {kFails, "asking whether the stream captures"}},
    {"threadExchangeCaptureMode", {kUnheard, ""}},
    {"graphInstantiate", {kLogged, "instantiating a graph"}},
    {"graphLaunch", {kFails, "launching the graph of model add"}},
    {"graphDestroy", {kUnheard, ""}},
    {"graphExecDestroy", {kUnheard, ""}}};
// Made before there is a device: test/runtime/DevicesTest.cpp has their
// failures; the last two only by what has failed already.
const char *const kElsewhere[] = {"init", "deviceGetCount", "getErrorName",
                                  "getErrorString"};

bool mentions(const std::string &text, const std::string &words) {
  for (size_t start = 0; start <= words.size();) {
    size_t end = std::min(words.find('|', start), words.size());
    if (text.find(words.substr(start, end - start)) != std::string::npos)
      return true;
    start = end + 1;
  }
  return false;
}

// A life over a driver's table; calls of the test itself go to the table below
// the injected layer.
struct Life : Fixture {
  explicit Life(std::shared_ptr<const runtime::Driver> below)
      : below(std::move(below)), injected(this->below->call) {}
  ~Life() { close(); }

  std::shared_ptr<const runtime::Driver> below;
  InjectedDriver injected;
  std::unique_ptr<pascaline_device> device;
  pascaline_model *model = nullptr;
  pascaline_session *session = nullptr;
  pascaline_status status = PASCALINE_OK;
  std::string sentence, log;
  bool wrong = false;  // a run that went well gave a wrong result
  bool limits = false; // allocations of the runtime's are limited

  // Makes one call of the runtime.
  template <class Call> bool does(Call call) {
    limited = limits;
    status = call();
    limited = false;
    if (status != PASCALINE_OK)
      sentence = pascaline_last_error();
    return status == PASCALINE_OK;
  }
  bool runs() {
    return does([&] { return run(session); });
  }
  bool runsAsync(CUstream stream) {
    return does([&] { return runAsync(session, stream); });
  }

  // Until something fails.
  void live() {
    // The test's own memory and stream come first, so that it is the runtime
    // alone that works under injected failures.
    OwnThings own(*below);
    openDevice() && runAll(own);
    close();
  }

  bool openDevice() {
    pascaline_device_options options = {};
    options.log_user = &log;
    options.log = [](void *user, const char *message) {
      bool was = std::exchange(limited, false);
      static_cast<std::string *>(user)->append(message).append("\n");
      limited = was;
    };
    auto driver = injected.driver();
    return does([&] {
      return runtime::guarded([&] {
        device.reset(
            new pascaline_device{std::make_shared<const runtime::Device>(
                driver, 0, false, options)});
      });
    });
  }

  struct OwnThings {
    explicit OwnThings(const runtime::Driver &driver) : call(driver.call) {
      CUcontext context;
      call.devicePrimaryCtxRetain(&context, 0);
      call.ctxPushCurrent(context);
      call.memAlloc(&memory, 4 * 4096);
      call.streamCreate(&stream, CU_STREAM_NON_BLOCKING);
    }
    ~OwnThings() {
      CUcontext context;
      call.streamDestroy(stream);
      call.memFree(memory);
      call.ctxPopCurrent(&context);
      call.devicePrimaryCtxRelease(0);
    }
    const runtime::DriverTable &call;
    CUdeviceptr memory = 0;
    CUstream stream = nullptr;
  };

  bool right() {
    bool good = y[0] == 5 && y[299] == 304 && constant[299] == 299;
    wrong |= !good;
    y.assign(kCount, 0);
    return good;
  }

  bool runAll(OwnThings &own) {
    pascaline_device_info info;
    if (!does([&] { return pascaline_device_get_info(device.get(), &info); }) ||
        !does([&] { return open(device.get(), &model); }) ||
        !does([&] { return pascaline_session_open(model, &session); }))
      return false;
    // As launches, captured, as a graph.
    for (int i = 0; i < 3; ++i)
      if (!runs() || !right())
        return false;
    for (int i = 0; i < 2; ++i)
      if (!runsAsync(own.stream))
        return false;
    return runIntoGraph(own) && runTimed() && runOnDevice(own);
  }

  bool runIntoGraph(OwnThings &own) {
    CUgraph graph = nullptr;
    bool good = true;
    for (int i = 0; good && i < 2; ++i) {
      own.call.streamBeginCapture(own.stream, CU_STREAM_CAPTURE_MODE_GLOBAL);
      good = runsAsync(own.stream);
      own.call.streamEndCapture(own.stream, &graph);
      own.call.graphDestroy(graph);
      // Work under way again, for the next one to wait for.
      good = good && runsAsync(own.stream);
    }
    return good && runs() && right();
  }

  bool runTimed() {
    double total, each[2];
    for (double *times : {static_cast<double *>(nullptr), each})
      if (!does([&] {
            return pascaline_session_run_timed(session, in.data(), 2,
                                               out.data(), 2, &total, times,
                                               times ? 2 : 0);
          }) ||
          !right())
        return false;
    return true;
  }

  // One input aligned, the other and the output not.
  bool runOnDevice(OwnThings &own) {
    CUdeviceptr places[] = {own.memory, own.memory + 4096 + 4,
                            own.memory + 8192 + 4};
    own.call.memcpyHtoDAsync(places[0], a.data(), kBytes, own.stream);
    own.call.memcpyHtoDAsync(places[1], b.data(), kBytes, own.stream);
    own.call.streamSynchronize(own.stream);
    pascaline_buffer *buffers[] = {&in[0], &in[1], &out[0]};
    std::vector<pascaline_buffer> hostIn = in, hostOut = out;
    for (int i = 0; i < 3; ++i)
      *buffers[i] = {reinterpret_cast<void *>(uintptr_t(places[i])), kBytes,
                     PASCALINE_ON_DEVICE};
    bool good = true;
    for (int i = 0; good && i < 2; ++i)
      good = runs();
    in = hostIn, out = hostOut;
    own.call.memcpyDtoHAsync(y.data(), places[2], kBytes, own.stream);
    own.call.streamSynchronize(own.stream);
    return good && right();
  }

  void close() {
    // What failed once must leave a session that works.
    if (session && status != PASCALINE_OK && !injected.isLost()) {
      injected.failNothing();
      EXPECT_EQ(run(session), PASCALINE_OK) << pascaline_last_error();
      EXPECT_TRUE(right());
    }
    limited = limits;
    pascaline_session_close(session);
    pascaline_model_close(model);
    device.reset();
    limited = false;
    session = nullptr, model = nullptr;
  }
};

void checkFailure(Life &life, const std::string &call, int number) {
  std::string what = call + ", use " + std::to_string(number);
  ASSERT_TRUE(life.injected.failed()) << what;
  EXPECT_FALSE(life.wrong) << what;
  EXPECT_EQ(life.injected.unbalanced(), "") << what;
  Expected expected = kExpected.at(call);
  bool failed = life.status != PASCALINE_OK;
  // A destructor may wait and make a context current too, and go on without;
  // what a capture is made of may fail, and the run is made without.
  bool tolerant = call == "ctxPushCurrent" || call == "streamSynchronize" ||
                  call == "eventSynchronize";
  bool inCapture = call == "launchKernel" || call == "streamCreate";
  if (expected.outcome == kFails && failed) {
    EXPECT_EQ(life.status, call == "memAlloc" ? PASCALINE_OUT_OF_DEVICE_MEMORY
                                              : PASCALINE_DRIVER_ERROR)
        << what << ": " << life.sentence;
    EXPECT_TRUE(
        mentions(life.sentence, call == "memAlloc" ? "needs" : expected.words))
        << what << ": " << life.sentence;
  } else if (expected.outcome == kFails) {
    bool logged =
        inCapture && life.log.find("without a graph") != std::string::npos;
    EXPECT_TRUE(tolerant || logged) << what << " is not heard of";
  } else {
    EXPECT_FALSE(failed) << what << ": " << life.sentence;
    EXPECT_TRUE(mentions(life.log, expected.words)) << what << ": " << life.log;
  }
}

void failEachCall(const std::shared_ptr<const runtime::Driver> &below,
                  const std::function<std::string()> &held) {
  std::map<std::string, int> uses;
  {
    Life life(below);
    life.live();
    ASSERT_EQ(life.status, PASCALINE_OK) << life.sentence;
    ASSERT_FALSE(life.wrong);
    EXPECT_EQ(life.injected.unbalanced(), "");
    for (const std::string &call : InjectedDriver::entries())
      uses[call] = life.injected.count(call);
  }
  EXPECT_EQ(held(), "");
  size_t failures = 0;
  for (auto &[call, count] : uses) {
    bool elsewhere = std::find(std::begin(kElsewhere), std::end(kElsewhere),
                               call) != std::end(kElsewhere);
    ASSERT_EQ(kExpected.count(call), elsewhere ? 0u : 1u) << call;
    if (elsewhere)
      continue;
    ASSERT_GE(count, 1) << call << " is never called";
    for (int number : std::set<int>{1, std::min(2, count), count}) {
      Life life(below);
      life.injected.failOn(call, number,
                           call == "memAlloc" ? CUDA_ERROR_OUT_OF_MEMORY
                                              : CUDA_ERROR_UNKNOWN);
      life.live();
      checkFailure(life, call, number);
      ++failures;
    }
  }
  ::testing::Test::RecordProperty("failures", int(failures));
  printf("%zu failures of %zu calls\n", failures, kExpected.size());
}

TEST(Injection, EachCallOfTheFakeDriver) {
  FakeDriver fake;
  fake.parameterCount = 4;
  fake.onLaunch = add;
  failEachCall(fake.driver(), [&] { return fake.held(); });
}

#ifdef PASCALINE_TEST_EMULATOR
TEST(Injection, EachCallOfTheEmulator) {
  failEachCall(runtime::Driver::load(PASCALINE_TEST_EMULATOR),
               [] { return std::string(); });
}
#endif

// Nothing works any more from some call on: closing is still whole.
TEST(Injection, ADeviceThatIsLostAtAnyCall) {
  FakeDriver fake;
  fake.parameterCount = 4;
  fake.onLaunch = add;
  int calls = 0;
  for (int at = 1;; ++at, ++calls) {
    Life life(fake.driver());
    life.injected.loseAt(at);
    life.live();
    if (!life.injected.isLost())
      break;
    EXPECT_FALSE(life.wrong) << "call " << at;
    // A context that cannot be made current needs no popping, and what a
    // capture was to give is not there.
    EXPECT_EQ(life.injected.unbalanced(), "") << "call " << at;
    if (life.status != PASCALINE_OK) {
      EXPECT_EQ(life.status, PASCALINE_DRIVER_ERROR) << "call " << at;
      EXPECT_FALSE(life.sentence.empty());
    }
  }
  EXPECT_GT(calls, 150);
  printf("lost at each of %d calls\n", calls);
}

// The names of errors, when they cannot be had either.
TEST(Injection, AnErrorWithoutANameIsANumber) {
  FakeDriver fake;
  for (auto [call, sentence] :
       {std::pair("getErrorName",
                  "device gpu 0: finding it gives error 999 of the CUDA "
                  "driver"),
        std::pair("getErrorString", "device gpu 0: finding it gives "
                                    "CUDA_ERROR_FAKE")}) {
    auto table = fake.driver()->call;
    table.deviceGet = [](CUdevice *, int) { return CUDA_ERROR_UNKNOWN; };
    InjectedDriver injected(table);
    injected.failOn(call, 1, CUDA_ERROR_INVALID_VALUE);
    pascaline_status status = runtime::guarded([&] {
      runtime::Device(injected.driver(), 0, false, pascaline_device_options{});
    });
    EXPECT_EQ(status, PASCALINE_DRIVER_ERROR);
    EXPECT_STREQ(pascaline_last_error(), sentence);
  }
}

TEST(Injection, EachAllocationOnTheHost) {
  FakeDriver fake;
  fake.deviceName = "Fake card of a name that takes an allocation";
  fake.parameterCount = 4;
  fake.onLaunch = add;
  long failures = 0;
  for (long most = 0;; ++most) {
    Life life(fake.driver());
    allocationsLeft = most;
    allocationFailed = false;
    // What the driver allocates is its own matter.
    life.injected.around = [](bool before) {
      static bool was;
      if (before)
        was = std::exchange(limited, false);
      else
        limited = was;
    };
    life.limits = true;
    life.live();
    if (!allocationFailed)
      break;
    ++failures;
    EXPECT_FALSE(life.wrong);
    EXPECT_EQ(life.injected.unbalanced(), "") << "allocation " << most;
    if (life.status != PASCALINE_OK) {
      EXPECT_EQ(life.status, PASCALINE_OUT_OF_HOST_MEMORY) << life.sentence;
      EXPECT_EQ(life.sentence, "the host is out of memory");
    }
  }
  EXPECT_GT(failures, 40);
  EXPECT_EQ(fake.held(), "");
  printf("%ld failed allocations\n", failures);
}

} // namespace
