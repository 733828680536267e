// A model compiled for several shapes: what the reader checks of the programs,
// which one a session runs, and over which memory.
#include "test/runtime/RunFixture.h"

#include <functional>

using namespace pascaline;
using namespace pascaline::testing;

namespace {

// The sample with a second program, for 100 floats instead of 300, whose arena,
// counters and inputs lie elsewhere than the first's.
struct TwoSets : AddSample {
  TwoSets() : AddSample(kCount) {
    AddSample small(100);
    small.contents.arenaBytes = 64 * 1024;
    small.contents.buffers[3].offset = 32 * 1024;
    small.contents.counterBytes = 4096;
    contents.alternatives = {small.contents};
  }
  artifact::Program &second() { return contents.alternatives[0]; }
};

struct ShapeSets : ::testing::Test {
  TwoSets sample;
  pascaline_artifact *file = nullptr;

  void open(const std::string &bytes) {
    ASSERT_EQ(pascaline_artifact_open_bytes(bytes.data(), bytes.size(),
                                            "add.pasc", &file),
              PASCALINE_OK)
        << pascaline_last_error();
  }
  // The sentence that a changed sample is refused with.
  static std::string refusal(const std::function<void(TwoSets &)> &change) {
    TwoSets sample;
    change(sample);
    std::string bytes = sample.bytes();
    pascaline_artifact *none = nullptr;
    EXPECT_EQ(pascaline_artifact_open_bytes(bytes.data(), bytes.size(),
                                            "add.pasc", &none),
              PASCALINE_INVALID_ARTIFACT);
    return pascaline_last_error();
  }
  void TearDown() override { pascaline_artifact_close(file); }
};

TEST_F(ShapeSets, AreReadAsTheyWereWritten) {
  std::string bytes = sample.bytes();
  open(bytes);
  pascaline_artifact_info info;
  ASSERT_EQ(pascaline_artifact_get_info(file, &info), PASCALINE_OK);
  EXPECT_EQ(info.shape_set_count, 2u);
  pascaline_tensor_info tensor;
  ASSERT_EQ(pascaline_shape_set_input(file, 1, 1, &tensor), PASCALINE_OK);
  EXPECT_STREQ(tensor.name, "b");
  EXPECT_EQ(tensor.shape[1], 100);
  ASSERT_EQ(pascaline_shape_set_output(file, 1, 0, &tensor), PASCALINE_OK);
  EXPECT_EQ(tensor.bytes, 400u);
  ASSERT_EQ(pascaline_artifact_input(file, 1, &tensor), PASCALINE_OK);
  EXPECT_EQ(tensor.shape[1], 300);
  pascaline_launch_info launch;
  ASSERT_EQ(pascaline_shape_set_launch(file, 1, 1, &launch), PASCALINE_OK);
  EXPECT_EQ(launch.grid[0], 1u);
  EXPECT_EQ(pascaline_shape_set_input(file, 2, 0, &tensor),
            PASCALINE_INVALID_ARGUMENT);
  EXPECT_STREQ(pascaline_last_error(),
               "shape set 2: there are 2, counted from 0");
}

TEST_F(ShapeSets, TakeTheMostOfEachMemory) {
  std::string bytes = sample.bytes();
  open(bytes);
  pascaline_shape_set_info sets[2];
  for (size_t i = 0; i < 2; ++i)
    ASSERT_EQ(pascaline_shape_set_get_info(file, i, &sets[i]), PASCALINE_OK);
  EXPECT_EQ(sets[1].launch_count, 2u);
  EXPECT_EQ(sets[1].memory.arena, 64u * 1024);
  EXPECT_EQ(sets[1].memory.weights, sets[0].memory.weights);
  pascaline_memory memory;
  ASSERT_EQ(pascaline_artifact_memory(file, &memory), PASCALINE_OK);
  EXPECT_EQ(memory.arena, sets[1].memory.arena);
  EXPECT_EQ(memory.counters, sets[1].memory.counters);
  EXPECT_EQ(memory.staging, sets[0].memory.staging);
  EXPECT_EQ(memory.lower_bound, sets[0].memory.lower_bound);
  EXPECT_EQ(memory.session_total,
            memory.arena + memory.counters + memory.staging);
}

TEST_F(ShapeSets, AreFoundByTheInputsShapes) {
  std::string bytes = sample.bytes();
  open(bytes);
  int64_t a[] = {100}, b[] = {1, 100};
  pascaline_shape shapes[] = {{a, 1}, {b, 2}};
  size_t set = 7;
  ASSERT_EQ(pascaline_shape_set_find(file, shapes, 2, &set), PASCALINE_OK);
  EXPECT_EQ(set, 1u);
  a[0] = b[1] = 300;
  ASSERT_EQ(pascaline_shape_set_find(file, shapes, 2, &set), PASCALINE_OK);
  EXPECT_EQ(set, 0u);
  b[1] = 100; // as many bytes as one set's and the other's, together neither's
  EXPECT_EQ(pascaline_shape_set_find(file, shapes, 2, &set),
            PASCALINE_INVALID_ARGUMENT);
  EXPECT_STREQ(pascaline_last_error(),
               "model add is compiled for a 300 b 1x300; a 100 b 1x100, and "
               "not for a 300 b 1x100; compile it for these shapes too");
  shapes[1] = {a, 1};
  EXPECT_NE(pascaline_shape_set_find(file, shapes, 2, &set), PASCALINE_OK);
  shapes[1] = {nullptr, 0};
  EXPECT_NE(pascaline_shape_set_find(file, shapes, 2, &set), PASCALINE_OK);
  shapes[1] = {nullptr, 1};
  EXPECT_NE(pascaline_shape_set_find(file, shapes, 2, &set), PASCALINE_OK);
  EXPECT_STREQ(pascaline_last_error(), "a shape's dims is NULL");
  EXPECT_NE(pascaline_shape_set_find(file, shapes, 1, &set), PASCALINE_OK);
  EXPECT_STREQ(pascaline_last_error(),
               "model add has 2 inputs, 1 shapes were given");
}

TEST_F(ShapeSets, AreRefusedUnlessTheyAreTheFirstInOtherShapes) {
  auto expect = [](const char *sentence,
                   const std::function<void(TwoSets &)> &change) {
    EXPECT_NE(refusal(change).find(sentence), std::string::npos)
        << pascaline_last_error();
  };
  expect("shape sets 0 and 1 give every input the same shape",
         [](TwoSets &s) { s.second() = s.contents; });
  expect("shape sets 1 and 2 give every input the same shape",
         [](TwoSets &s) { s.contents.alternatives.push_back(s.second()); });
  expect("input 1 of shape set 1 is \"c\" of another name or type than the "
         "first's \"b\"",
         [](TwoSets &s) { s.second().inputs[1].name = "c"; });
  expect("output 0 of shape set 1", [](TwoSets &s) {
    s.second().outputs[0].type = artifact::ElementType::i32;
  });
  expect("shape set 1 has 1 outputs, the first has 2",
         [](TwoSets &s) { s.second().outputs.pop_back(); });
  expect("the plan has 64 alternative programs, more than 63",
         [](TwoSets &s) { s.contents.alternatives.resize(64, s.second()); });
  // Each is checked like the first.
  expect("launch 0 is of kernel 9 of 1",
         [](TwoSets &s) { s.second().launches[0].kernel = 9; });
  expect("buffer 3 has 400 bytes at 32768, outside its memory of 1024",
         [](TwoSets &s) { s.second().arenaBytes = 1024; });
  expect("bytes of counters",
         [](TwoSets &s) { s.second().counterBytes = ~uint64_t(0); });
  expect("the plan has 4194305 buffers", [](TwoSets &s) {
    s.second().buffers.resize(artifact::kMaxBuffers - 5, s.second().buffers[3]);
  });
}

// Runs the kernel of the sample with as many floats as the launch says.
void addCounted(const FakeLaunch &launch) {
  auto at = [&](int i) {
    return reinterpret_cast<float *>(uintptr_t(launch.parameters[i]));
  };
  for (uint32_t i = 0; i < uint32_t(launch.parameters[3]); ++i)
    at(2)[i] = at(0)[i] + at(1)[i];
}

struct ShapeSetRun : RunTest {
  ShapeSetRun() { bytes = TwoSets().bytes(); }
  // Fills in and out for `count` floats, runs, and expects the sums.
  void expectSums(uint32_t count) {
    for (auto *buffers : {&in, &out})
      for (pascaline_buffer &buffer : *buffers)
        buffer.bytes = count * 4;
    std::fill(y.begin(), y.end(), -1.0f);
    ASSERT_EQ(run(session), PASCALINE_OK) << pascaline_last_error();
    for (uint32_t i = 0; i < kCount; ++i)
      ASSERT_EQ(y[i], i < count ? 5 + float(i) : -1) << i;
  }
};

TEST_F(ShapeSetRun, IsOfTheSetThatTheSessionUses) {
  openAll();
  fake.onLaunch = addCounted;
  // More than twice each: a graph captured for one set must not run another.
  for (int round = 0; round < 4; ++round) {
    ASSERT_EQ(pascaline_session_use_shape_set(session, 0), PASCALINE_OK);
    expectSums(300);
    ASSERT_EQ(pascaline_session_use_shape_set(session, 1), PASCALINE_OK);
    expectSums(100);
  }
  in[0].bytes = 1200;
  EXPECT_EQ(run(session), PASCALINE_INVALID_ARGUMENT);
  EXPECT_STREQ(pascaline_last_error(),
               "input \"a\" of model add has 400 bytes, 1200 were given");
  EXPECT_EQ(pascaline_session_use_shape_set(session, 2),
            PASCALINE_INVALID_ARGUMENT);
  in[0].bytes = 400; // what was refused changes nothing
  expectSums(100);
}

// Both sets on the same device memory: what was captured of one must not run
// for the other.
TEST_F(ShapeSetRun, CapturesEachSetByItself) {
  openAll();
  fake.onLaunch = addCounted;
  runtime::ContextScope scope(*device->device);
  runtime::DeviceMemory memory(*device->device, 4 * 4096, "the test");
  int place = 0;
  for (pascaline_buffer *buffer : {&in[0], &in[1], &out[0], &out[1]}) {
    void *address =
        reinterpret_cast<void *>(uintptr_t(memory.address() + 4096 * place++));
    memcpy(address, buffer->data, kBytes);
    buffer->data = address;
    buffer->place = PASCALINE_ON_DEVICE;
  }
  for (int round = 0; round < 4; ++round)
    for (size_t set : {0, 1}) {
      ASSERT_EQ(pascaline_session_use_shape_set(session, set), PASCALINE_OK);
      for (auto *buffers : {&in, &out})
        for (pascaline_buffer &buffer : *buffers)
          buffer.bytes = set ? 400 : 1200;
      fake.launches.clear();
      ASSERT_EQ(run(session), PASCALINE_OK) << pascaline_last_error();
      ASSERT_EQ(fake.launches.size(), 2u);
      EXPECT_EQ(uint32_t(fake.launches[0].parameters[3]), set ? 100u : 300u);
    }
  EXPECT_GT(fake.count("graphLaunch"), 0u);
}

TEST_F(ShapeSetRun, LaysBuffersOutAsItsSetSays) {
  openAll();
  fake.onLaunch = addCounted;
  expectSums(300);
  ASSERT_EQ(pascaline_session_use_shape_set(session, 1), PASCALINE_OK);
  expectSums(100);
  EXPECT_EQ(fake.launches[2].parameters[2] - fake.launches[0].parameters[2],
            32u * 1024 - 4096);
}

TEST_F(ShapeSetRun, ClearsTheCountersOfAllSets) {
  openAll();
  fake.onLaunch = addCounted;
  pascaline_memory needed;
  ASSERT_EQ(pascaline_artifact_memory(pascaline_model_artifact(model), &needed),
            PASCALINE_OK);
  ASSERT_EQ(needed.counters, 4096u);
  for (auto [address, size] : fake.memory) {
    if (size != needed.session_total)
      continue;
    auto *bytes = reinterpret_cast<unsigned char *>(uintptr_t(address));
    std::fill(bytes, bytes + size, 0xff);
    expectSums(300);
    EXPECT_EQ(std::count(bytes, bytes + 4096, 0), 4096);
    EXPECT_EQ(bytes[4096], 0xff); // the arena, where nothing wrote
    return;
  }
  FAIL() << "no memory of a session's size is held";
}

TEST_F(ShapeSetRun, TimesTheLaunchesOfItsSet) {
  TwoSets sample;
  sample.second().launches.push_back(sample.second().launches[1]);
  bytes = sample.bytes();
  openAll();
  fake.onLaunch = addCounted;
  ASSERT_EQ(pascaline_session_use_shape_set(session, 1), PASCALINE_OK);
  for (auto *buffers : {&in, &out})
    for (pascaline_buffer &buffer : *buffers)
      buffer.bytes = 400;
  double total, times[3];
  EXPECT_EQ(pascaline_session_run_timed(session, in.data(), 2, out.data(), 2,
                                        &total, times, 2),
            PASCALINE_INVALID_ARGUMENT);
  EXPECT_EQ(pascaline_session_run_timed(session, in.data(), 2, out.data(), 2,
                                        &total, times, 3),
            PASCALINE_OK)
      << pascaline_last_error();
}

// Weights that init launches make are made for every set.
TEST_F(ShapeSetRun, PreparesTheWeightsOfAllSets) {
  TwoSets sample;
  using artifact::Argument;
  sample.contents.weightsBytes += 2048;
  for (artifact::Program *program :
       {static_cast<artifact::Program *>(&sample.contents), &sample.second()}) {
    // w + w, behind the weights of the file.
    uint64_t offset = program == &sample.second() ? 1536 : 2560;
    uint64_t count = program->buffers[4].bytes / 4;
    program->buffers.push_back(
        {artifact::BufferKind::weights, offset, count * 4});
    artifact::Launch launch = program->launches[0];
    launch.arguments = {Argument::ofBuffer(4), Argument::ofBuffer(4),
                        Argument::ofBuffer(6),
                        Argument::ofScalar32(uint32_t(count))};
    program->init = {launch};
  }
  sample.contents.weightsBytes = 4096;
  bytes = sample.bytes();
  std::vector<uint32_t> counts;
  fake.onLaunch = nullptr;
  device = fakeDevice(fake);
  fake.parameterCount = 4;
  fake.onLaunch = [&](const FakeLaunch &launch) {
    counts.push_back(uint32_t(launch.parameters[3]));
    addCounted(launch);
  };
  ASSERT_EQ(open(device.get(), &model), PASCALINE_OK) << pascaline_last_error();
  EXPECT_EQ(counts, (std::vector<uint32_t>{300, 100}));
}

} // namespace
