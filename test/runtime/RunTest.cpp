// Device, model and session on a fake driver: what is called, with what, and
// that a failure of any call is a status, a sentence and no leak.
#include "runtime/src/Error.h"
#include "test/runtime/RunFixture.h"

#include <cstring>

using namespace pascaline;
using namespace pascaline::testing;

namespace {

// A real driver has no counters.
TEST_F(RunTest, CountsOnTheEmulatorOnly) {
  openAll();
  pascaline_counters counters;
  EXPECT_EQ(pascaline_session_run_counted(session, in.data(), 2, out.data(), 2,
                                          &counters),
            PASCALINE_UNSUPPORTED);
  EXPECT_STREQ(pascaline_last_error(),
               "device Fake 1080 was opened without counting; set `counting` "
               "in its options");
  pascaline_device_options options = {};
  options.counting = 1;
  EXPECT_EQ(runtime::guarded([&] { fakeDevice(fake, false, 0, options); }),
            PASCALINE_UNSUPPORTED);
  EXPECT_STREQ(pascaline_last_error(),
               "counters are the emulator's, the device is gpu 0, Fake 1080 "
               "(compute capability 6.1); open the emulator");
}

TEST_F(RunTest, GivesTheSum) {
  openAll();
  ASSERT_EQ(run(session), PASCALINE_OK) << pascaline_last_error();
  EXPECT_EQ(y[0], 5);
  EXPECT_EQ(y[299], 304);
  EXPECT_EQ(constant[299], 299);
}

TEST_F(RunTest, LaunchesInOrderWithThePlansNumbers) {
  openAll();
  ASSERT_EQ(run(session), PASCALINE_OK);
  ASSERT_EQ(fake.launches.size(), 2u);
  const FakeLaunch &first = fake.launches[0], &second = fake.launches[1];
  EXPECT_EQ(first.kernel, "add");
  EXPECT_EQ(first.grid[0], 3u);
  EXPECT_EQ(first.block[0], 128u);
  EXPECT_EQ(uint32_t(first.parameters[3]), kCount);
  EXPECT_EQ(first.parameters[2], second.parameters[0]);
  EXPECT_NE(first.stream, nullptr);
  // Nothing was waited for but the weights and the run's end.
  EXPECT_EQ(fake.images, std::vector<std::string>{sample.contents.ptx});
}

// A run's calls: this order is the contract with a driver.
TEST_F(RunTest, MakesTheseCalls) {
  openAll();
  fake.calls.clear();
  ASSERT_EQ(run(session), PASCALINE_OK);
  EXPECT_EQ(fake.calls,
            (std::vector<std::string>{
                "ctxPushCurrent", "memsetD8Async", "memcpyHtoDAsync",
                "memcpyHtoDAsync", "launchKernel", "launchKernel",
                "memcpyDtoHAsync", "memcpyDtoHAsync", "eventRecord",
                "streamSynchronize", "ctxPopCurrent"}));
  fake.calls.clear();
  ASSERT_EQ(run(session), PASCALINE_OK);
  EXPECT_EQ(fake.count("memsetD8Async"), 0u) << "counters are clean already";
}

TEST_F(RunTest, KernelsWithMoreParametersThanThePlanReadZeros) {
  openAll();
  fake.onLaunch = nullptr;
  fake.parameterCount = 4096;
  ASSERT_EQ(run(session), PASCALINE_OK);
  for (size_t i = 4; i < 4096; ++i)
    ASSERT_EQ(fake.launches[0].parameters[i], 0u);
}

TEST_F(RunTest, UsesAlignedDeviceMemoryItself) {
  openAll();
  runtime::ContextScope scope(*device->device);
  runtime::DeviceMemory memory(*device->device, 3 * 4096, "the test");
  auto place = [&](pascaline_buffer &buffer, uint64_t offset) {
    uintptr_t address = uintptr_t(memory.address() + offset);
    buffer.data = reinterpret_cast<void *>(address);
    buffer.place = PASCALINE_ON_DEVICE;
    return address;
  };
  uintptr_t inA = place(in[0], 0);
  uintptr_t inB = place(in[1], 4096 + 4); // not aligned: copied
  uintptr_t outY = place(out[0], 8192);
  memcpy(reinterpret_cast<void *>(inA), a.data(), kBytes);
  memcpy(reinterpret_cast<void *>(inB), b.data(), kBytes);
  fake.calls.clear();
  ASSERT_EQ(run(session), PASCALINE_OK) << pascaline_last_error();
  EXPECT_EQ(fake.count("memcpyHtoDAsync"), 0u);
  EXPECT_EQ(fake.count("memcpyDtoDAsync"), 1u);
  EXPECT_EQ(fake.count("memcpyDtoHAsync"), 1u); // the constant
  EXPECT_EQ(fake.launches[0].parameters[0], inA);
  EXPECT_NE(fake.launches[0].parameters[1], inB);
  EXPECT_EQ(fake.launches[1].parameters[2], outY);
  EXPECT_EQ(reinterpret_cast<float *>(outY)[299], 304);
}

TEST_F(RunTest, OnACallersStreamWaitsForTheLastRunOnly) {
  openAll();
  CUstream stream = reinterpret_cast<CUstream>(uintptr_t(77));
  fake.calls.clear();
  for (int i = 0; i < 2; ++i)
    ASSERT_EQ(pascaline_session_run_async(session, in.data(), 2, out.data(), 2,
                                          stream),
              PASCALINE_OK);
  EXPECT_EQ(fake.launches[0].stream, stream);
  EXPECT_EQ(fake.count("streamSynchronize"), 0u);
  EXPECT_EQ(fake.count("streamWaitEvent"), 1u);
  ASSERT_EQ(run(session), PASCALINE_OK);
  EXPECT_EQ(fake.count("streamWaitEvent"), 2u);
}

TEST_F(RunTest, TimesEachLaunch) {
  openAll();
  double total = 0, times[2] = {};
  ASSERT_EQ(pascaline_session_run_timed(session, in.data(), 2, out.data(), 2,
                                        &total, times, 2),
            PASCALINE_OK);
  EXPECT_EQ(total, 250);
  EXPECT_EQ(times[1], 250);
  EXPECT_EQ(pascaline_session_run_timed(session, in.data(), 2, out.data(), 2,
                                        &total, times, 3),
            PASCALINE_INVALID_ARGUMENT);
  EXPECT_STREQ(pascaline_last_error(),
               "the model has 2 launches, there is room for 3 times");
}

TEST_F(RunTest, ClosesInAnyOrder) {
  openAll();
  pascaline_model_close(model);
  model = nullptr;
  device.reset();
  EXPECT_EQ(run(session), PASCALINE_OK) << pascaline_last_error();
  EXPECT_EQ(y[299], 304);
}

TEST_F(RunTest, KeepsTwoDevicesApart) {
  fake.deviceCount = 2;
  openAll();
  std::unique_ptr<pascaline_device> second = fakeDevice(fake, false, 1);
  pascaline_model *otherModel;
  pascaline_session *other;
  ASSERT_EQ(open(second.get(), &otherModel), PASCALINE_OK);
  ASSERT_EQ(pascaline_session_open(otherModel, &other), PASCALINE_OK);
  EXPECT_EQ(fake.contexts, 2);
  for (int i = 0; i < 3; ++i)
    for (pascaline_session *each : {session, other}) {
      // The fake refuses memory of a context that is not current.
      ASSERT_EQ(run(each), PASCALINE_OK) << pascaline_last_error();
      EXPECT_EQ(y[299], 304);
      EXPECT_EQ(fake.launches.back().context, each == other
                                                  ? second->device->context
                                                  : device->device->context);
    }
  EXPECT_NE(second->device->context, device->device->context);
  pascaline_session_close(other);
  pascaline_model_close(otherModel);
}

TEST_F(RunTest, SharesAModelAmongSessions) {
  openAll();
  pascaline_session *other;
  ASSERT_EQ(pascaline_session_open(model, &other), PASCALINE_OK);
  EXPECT_EQ(fake.modules, 1);
  EXPECT_EQ(run(other), PASCALINE_OK);
  EXPECT_EQ(run(session), PASCALINE_OK);
  EXPECT_NE(fake.launches[0].parameters[2], fake.launches[2].parameters[2]);
  EXPECT_EQ(fake.launches[1].parameters[1], fake.launches[3].parameters[1]);
  pascaline_session_close(other);
}

TEST_F(RunTest, SaysWhatIsWrongWithArguments) {
  openAll();
  auto expect = [&](const char *sentence) {
    EXPECT_EQ(run(session), PASCALINE_INVALID_ARGUMENT);
    EXPECT_STREQ(pascaline_last_error(), sentence);
  };
  EXPECT_EQ(pascaline_session_run(session, in.data(), 1, out.data(), 2),
            PASCALINE_INVALID_ARGUMENT);
  EXPECT_STREQ(pascaline_last_error(), "model add has 2 inputs, 1 were given");
  EXPECT_EQ(pascaline_session_run(session, nullptr, 2, out.data(), 2),
            PASCALINE_INVALID_ARGUMENT);
  EXPECT_STREQ(pascaline_last_error(), "inputs is NULL");
  in[1].bytes = 8;
  expect("input \"b\" of model add has 1200 bytes, 8 were given");
  in[1].bytes = kBytes;
  out[0].data = nullptr;
  expect("output \"y\" of model add is NULL");
  out[0].data = y.data();
  int place = 5; // as C may write it
  std::memcpy(&out[0].place, &place, sizeof(place));
  expect("output \"y\" of model add is in place 5, which is none");
}

TEST_F(RunTest, SaysBothNumbersWhenMemoryIsShort) {
  device = fakeDevice(fake);
  fake.freeBytes = 1000;
  EXPECT_EQ(open(device.get(), &model), PASCALINE_OUT_OF_DEVICE_MEMORY);
  EXPECT_STREQ(pascaline_last_error(),
               "model add needs 1.2 KiB (1200 bytes) on the device, Fake 1080 "
               "has 1000 bytes free of 1000 bytes");
  EXPECT_EQ(fake.count("memAlloc"), 0u);
  fake.freeBytes = 2000;
  ASSERT_EQ(open(device.get(), &model), PASCALINE_OK);
  EXPECT_EQ(pascaline_session_open(model, &session),
            PASCALINE_OUT_OF_DEVICE_MEMORY);
  EXPECT_NE(strstr(pascaline_last_error(), "a session of model add needs"),
            nullptr);
  EXPECT_EQ(session, nullptr);
}

TEST_F(RunTest, SaysWhatTheDriverDislikesInThePtx) {
  device = fakeDevice(fake);
  fake.calls.clear();
  fake.jitLog = "line 7: unknown\ninstruction";
  for (fake.failAt = 0; model == nullptr; ++fake.failAt) {
    fake.calls.clear();
    if (open(device.get(), &model) != PASCALINE_OK &&
        fake.calls[size_t(fake.failAt)] == "moduleLoadDataEx")
      break;
  }
  EXPECT_STREQ(pascaline_last_error(),
               "device Fake 1080: loading the PTX of add.pasc (line 7: unknown "
               "instruction) gives CUDA_ERROR_FAKE (made to fail)");
}

TEST_F(RunTest, NamesTheLaunchThatIsRefused) {
  openAll();
  fake.calls.clear();
  fake.failAt = 5;
  EXPECT_EQ(run(session), PASCALINE_DRIVER_ERROR);
  EXPECT_STREQ(pascaline_last_error(),
               "device Fake 1080: launch 1 of model add, kernel add for node "
               "second gives CUDA_ERROR_FAKE (made to fail)");
  // What did get onto the stream is waited for; the next run starts clean.
  EXPECT_EQ(fake.calls[6], "streamSynchronize");
  fake.calls.clear();
  fake.failAt = -1;
  EXPECT_EQ(run(session), PASCALINE_OK);
  EXPECT_EQ(fake.count("memsetD8Async"), 1u);
}

TEST_F(RunTest, RefusesABlockThatThePtxDoesNotAllow) {
  fake.mostThreads = 64;
  device = fakeDevice(fake);
  EXPECT_EQ(open(device.get(), &model), PASCALINE_INVALID_ARTIFACT);
  EXPECT_NE(strstr(pascaline_last_error(),
                   "kernel add is launched with 128 "
                   "threads a block, its PTX allows 64"),
            nullptr);
}

TEST_F(RunTest, PrefersACubinOfItsOwnArchitecture) {
  sample.contents.cubin = tinyElf();
  bytes = sample.bytes();
  openAll();
  EXPECT_EQ(fake.images[0].substr(0, 4), "\x7f"
                                         "ELF");
}

TEST_F(RunTest, ACubinThatIsRefusedGivesWayToThePtx) {
  sample.contents.cubin = tinyElf();
  bytes = sample.bytes();
  fake.refusesCubins = true;
  openAll();
  EXPECT_EQ(fake.images, std::vector<std::string>{sample.contents.ptx});
  EXPECT_EQ(log[0], "add.pasc: the cubin is refused with CUDA_ERROR_FAKE (made "
                    "to fail); its PTX is used");
  EXPECT_NE(log[1].find("1 kernels from its PTX"), std::string::npos);
  EXPECT_EQ(run(session), PASCALINE_OK);
}

TEST_F(RunTest, TakesThePtxOnTheEmulatorAndOnOtherArchitectures) {
  sample.contents.cubin = tinyElf();
  bytes = sample.bytes();
  device = fakeDevice(fake, /*emulator=*/true);
  ASSERT_EQ(open(device.get(), &model), PASCALINE_OK);
  EXPECT_EQ(fake.images[0], sample.contents.ptx);
  pascaline_model_close(model);
  fake.capability = 70;
  device = fakeDevice(fake);
  ASSERT_EQ(open(device.get(), &model), PASCALINE_OK);
  EXPECT_EQ(fake.images[1], sample.contents.ptx);
}

TEST_F(RunTest, RunsInitLaunchesOnceAtLoad) {
  // The second half of the weights is made on the device: w + w.
  sample.contents.weightsBytes = 4096 + kBytes;
  sample.contents.buffers.push_back(
      {artifact::BufferKind::weights, 4096, kBytes});
  artifact::Launch init = sample.contents.launches[0];
  init.arguments[0] = init.arguments[1] = artifact::Argument::ofBuffer(4);
  init.arguments[2] = artifact::Argument::ofBuffer(6);
  sample.contents.init = {init};
  sample.contents.launches[1].arguments[1] = artifact::Argument::ofBuffer(6);
  bytes = sample.bytes();
  openAll();
  ASSERT_EQ(fake.launches.size(), 1u);
  for (int i = 0; i < 2; ++i)
    ASSERT_EQ(run(session), PASCALINE_OK);
  EXPECT_EQ(fake.launches.size(), 5u);
  EXPECT_EQ(y[299], 5 + 2 * 299);
}

TEST(Api, SaysWhatIsNull) {
  EXPECT_EQ(pascaline_artifact_open("x", nullptr), PASCALINE_INVALID_ARGUMENT);
  pascaline_artifact *artifact;
  EXPECT_EQ(pascaline_artifact_open(nullptr, &artifact),
            PASCALINE_INVALID_ARGUMENT);
  EXPECT_STREQ(pascaline_last_error(), "path is NULL");
  EXPECT_EQ(artifact, nullptr);
  pascaline_session *session;
  EXPECT_EQ(pascaline_session_open(nullptr, &session),
            PASCALINE_INVALID_ARGUMENT);
  EXPECT_STREQ(pascaline_last_error(), "model is NULL");
  pascaline_artifact_close(nullptr);
  pascaline_device_close(nullptr);
  pascaline_model_close(nullptr);
  pascaline_session_close(nullptr);
}

TEST(Api, TellsWhatIsInAnArtifactWithoutADevice) {
  Fixture fixture;
  pascaline_artifact *artifact;
  ASSERT_EQ(pascaline_artifact_open_bytes(fixture.bytes.data(),
                                          fixture.bytes.size(), "add.pasc",
                                          &artifact),
            PASCALINE_OK);
  pascaline_artifact_info info;
  ASSERT_EQ(pascaline_artifact_get_info(artifact, &info), PASCALINE_OK);
  EXPECT_STREQ(info.model, "add");
  EXPECT_EQ(info.launch_count, 2u);
  EXPECT_EQ(info.target_sm, 61u);
  EXPECT_EQ(info.ptx, std::string(fixture.sample.contents.ptx));
  pascaline_tensor_info tensor;
  ASSERT_EQ(pascaline_artifact_input(artifact, 1, &tensor), PASCALINE_OK);
  EXPECT_STREQ(tensor.name, "b");
  EXPECT_EQ(tensor.type, PASCALINE_F32);
  EXPECT_EQ(tensor.shape[1], 300);
  EXPECT_EQ(pascaline_artifact_input(artifact, 2, &tensor),
            PASCALINE_INVALID_ARGUMENT);
  EXPECT_STREQ(pascaline_last_error(), "input 2: there are 2, counted from 0");
  pascaline_launch_info launch;
  ASSERT_EQ(pascaline_artifact_launch(artifact, 1, &launch), PASCALINE_OK);
  EXPECT_STREQ(launch.nodes[0], "second");
  EXPECT_STREQ(launch.limit, "dram");
  pascaline_memory memory;
  ASSERT_EQ(pascaline_artifact_memory(artifact, &memory), PASCALINE_OK);
  EXPECT_EQ(memory.weights, 1200u);
  EXPECT_EQ(memory.arena, 5296u);
  EXPECT_EQ(memory.staging, 3 * 1280u);
  EXPECT_EQ(memory.session_total, 256 + 5376 + 3 * 1280u);
  pascaline_artifact_close(artifact);
}

TEST(Api, NamesElementTypes) {
  EXPECT_STREQ(pascaline_element_type_name(PASCALINE_BF16), "bf16");
  EXPECT_STREQ(pascaline_element_type_name(PASCALINE_BOOL), "bool");
  EXPECT_STREQ(pascaline_element_type_name(pascaline_element_type(99)), "?");
  EXPECT_EQ(pascaline_element_type_bytes(PASCALINE_I64), 8u);
  EXPECT_EQ(pascaline_element_type_bytes(pascaline_element_type(99)), 0u);
}

} // namespace
