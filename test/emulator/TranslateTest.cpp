#include "test/emulator/TranslateTest.h"

#include <gtest/gtest.h>
#include <numeric>
#include <sys/mman.h>

extern "C" {
using pascaline::emulator::ThreadState;
using pascaline::emulator::test::hookCalls;

static void note(std::string text, std::initializer_list<uint32_t> values) {
  for (uint32_t value : values)
    text += " " + std::to_string(value);
  hookCalls.push_back(text);
}

void pascalineEmulatorBarrier(ThreadState *, uint32_t id, uint32_t count) {
  note("barrier", {id, count});
}
void pascalineEmulatorBarrierArrive(ThreadState *, uint32_t id,
                                    uint32_t count) {
  note("arrive", {id, count});
}
uint32_t pascalineEmulatorBarrierReduce(ThreadState *, uint32_t id,
                                        uint32_t count, uint32_t op,
                                        uint32_t predicate) {
  note("reduce", {id, count, op, predicate});
  return predicate;
}
uint64_t pascalineEmulatorShuffle(ThreadState *, uint32_t mode, uint32_t value,
                                  uint32_t lane, uint32_t clampAndMask,
                                  uint32_t mask) {
  note("shuffle", {mode, value, lane, clampAndMask, mask});
  return uint64_t(lane == 0) << 32 | (value + 1);
}
uint32_t pascalineEmulatorVote(ThreadState *, uint32_t op, uint32_t predicate,
                               uint32_t mask) {
  note("vote", {op, predicate, mask});
  return predicate;
}
void pascalineEmulatorWarpSync(ThreadState *, uint32_t mask) {
  note("warpsync", {mask});
}
void pascalineEmulatorTrap(ThreadState *) { note("trap", {}); }
void pascalineEmulatorTexture(ThreadState *, uint64_t handle, int32_t x,
                              uint32_t line, uint32_t *result) {
  note("texture", {uint32_t(handle), uint32_t(x), line});
  std::iota(result, result + 4, 1);
}
void pascalineEmulatorCheckGlobal(ThreadState *, uint64_t,
                                  const pascaline::emulator::CheckedAccess *,
                                  uint32_t count) {
  note("check global", {count});
}
void pascalineEmulatorCheckShared(ThreadState *, uint64_t base,
                                  const pascaline::emulator::CheckedAccess *,
                                  uint32_t count) {
  note("check shared", {uint32_t(base), count});
}
void pascalineEmulatorBadLocal(ThreadState *, uint64_t offset, uint64_t limit,
                               uint64_t access) {
  note("bad local",
       {uint32_t(offset), uint32_t(limit), uint32_t(access >> 32)});
}
void pascalineEmulatorBadParam(ThreadState *, uint64_t offset, uint64_t limit,
                               uint64_t access) {
  note("bad param",
       {uint32_t(offset), uint32_t(limit), uint32_t(access >> 32)});
}
void pascalineEmulatorCheckBarrier(ThreadState *, uint32_t id, uint32_t count,
                                   uint32_t line, uint32_t waits) {
  note("check barrier", {id, count, line, waits});
}
void pascalineEmulatorCheckFence(ThreadState *, uint32_t beyondBlock) {
  note("check fence", {beyondBlock});
}
uint64_t *pascalineEmulatorCountEnter(ThreadState *, uint32_t) {
  return nullptr;
}
void pascalineEmulatorCountBlock(ThreadState *, uint32_t) {}
void pascalineEmulatorCountReturn(ThreadState *) {}
void pascalineEmulatorCountExit(ThreadState *) {}
}

namespace pascaline::emulator::test {

Memory &Memory::instance() {
  static Memory memory;
  return memory;
}

Memory::Memory() {
  void *reserved =
      mmap(nullptr, 2 * kGlobalWindowBytes + 2 * kGuardBytes, PROT_NONE,
           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (reserved == MAP_FAILED)
    abort();
  uint64_t start = reinterpret_cast<uint64_t>(reserved) + kGuardBytes;
  globalBase = (start + kGlobalWindowBytes - 1) & ~(kGlobalWindowBytes - 1);
  // Shared and local windows in the upper half, 4 GiB apart.
  sharedBase = globalBase + kGlobalWindowBytes / 2;
  localBase = sharedBase + 2 * kGuardBytes;
  for (uint64_t window : {globalBase, sharedBase, localBase})
    if (mprotect(reinterpret_cast<void *>(window), 1 << 20,
                 PROT_READ | PROT_WRITE))
      abort();
  top = globalBase;
}

uint64_t Memory::allocate(uint64_t bytes) {
  uint64_t address = top;
  top += (bytes + 255) / 256 * 256;
  if (top > globalBase + (1 << 20))
    abort();
  return address;
}

std::string withHeader(const std::string &text) {
  return ".version 6.3 .target sm_61 .address_size 64\n" + text;
}

// The first part of each dotted word, "add" of "add.s32"; some are no opcodes.
static std::set<std::string> firstWords(const std::string &ptx) {
  std::set<std::string> words;
  auto isPart = [](char c) {
    return std::isalnum(c) || std::strchr("._%$", c);
  };
  for (auto at = ptx.begin(); at != ptx.end();) {
    at = std::find_if(at, ptx.end(), isPart);
    auto end = std::find_if_not(at, ptx.end(), isPart);
    words.insert(std::string(at, std::find(at, end, '.')));
    at = end;
  }
  return words;
}

Program::Program(const std::string &ptx) : opcodes(firstWords(ptx)) {
  module = TranslatedModule::create(ptx, &log, &kind);
  if (!module)
    return;
  Memory &memory = Memory::instance();
  for (const ModuleVariable &variable : module->variables())
    addresses.push_back(memory.allocate(variable.bytes));
  linked = module->link(addresses, &log);
  for (size_t i = 0; i < addresses.size(); ++i) {
    const ModuleVariable &variable = module->variables()[i];
    auto *to = reinterpret_cast<uint8_t *>(addresses[i]);
    std::memset(to, 0, variable.bytes);
    std::copy(variable.initial.begin(), variable.initial.end(), to);
  }
}

void Program::run(const void *params, size_t kernelNumber) const {
  ThreadState state{};
  for (int i = 0; i < 3; ++i)
    state.ntid[i] = state.nctaid[i] = 1;
  run(state, params, kernelNumber);
}

void Program::run(ThreadState state, const void *params,
                  size_t kernelNumber) const {
  Memory &memory = Memory::instance();
  state.globalBase = memory.base();
  state.sharedBase = memory.shared();
  state.localBase = memory.local();
  state.params = params;
  executedOpcodes.insert(opcodes.begin(), opcodes.end());
  kernel(kernelNumber).function(&state);
}

std::string refusal(const std::string &ptx, ErrorKind *kind) {
  std::string log;
  ErrorKind found = ErrorKind::None;
  auto module = TranslatedModule::create(ptx, &log, &found);
  if (kind)
    *kind = found;
  EXPECT_EQ(module == nullptr, found != ErrorKind::None);
  return log;
}

std::string instructionRefusal(const std::string &instruction) {
  return refusal(withHeader(".visible .entry k(.param .u64 p) {"
                            ".reg .pred %p<9>; .reg .b16 %h<9>;"
                            ".reg .b32 %r<9>; .reg .b64 %rd<9>;"
                            ".reg .f32 %f<9>; .reg .f64 %fd<9>;\n" +
                            instruction + "\nret; }"));
}

static std::string load(const char *type, const std::string &name, int slot) {
  std::string at = "[%in+" + std::to_string(8 * slot) + "];\n";
  if (type == std::string("pred"))
    return "ld.global.u8 %byte, " + at + "setp.ne.u32 " + name +
           ", %byte, 0;\n";
  return "ld.global." + std::string(type) + " " + name + ", " + at;
}

void evaluateBits(const std::string &instruction, const char *resultType,
                  const std::vector<const char *> &types,
                  const std::vector<uint64_t> &values, uint64_t &result) {
  std::string text = ".visible .entry k(.param .u64 in, .param .u64 out) {\n"
                     ".reg .b64 %in, %out; .reg .b32 %byte;\n"
                     ".reg .pred %p, %q;\n"
                     ".reg ." +
                     std::string(resultType) + " %d;\n";
  for (size_t i = 0; i < types.size(); ++i)
    text += ".reg ." + std::string(types[i]) + " %" + char('a' + i) + ";\n";
  text += "ld.param.u64 %in, [in]; ld.param.u64 %out, [out];\n";
  for (size_t i = 0; i < types.size(); ++i)
    text += load(types[i], std::string("%") + char('a' + i), int(i));
  text += instruction + "\n";
  if (resultType == std::string("pred"))
    text += "selp.b32 %byte, 1, 0, %d; st.global.u32 [%out], %byte;\n";
  else
    text += "st.global." + std::string(resultType) + " [%out], %d;\n";
  text += "ret; }";
  static std::map<std::string, std::unique_ptr<Program>> programs;
  std::unique_ptr<Program> &program = programs[text];
  if (!program)
    program = std::make_unique<Program>(withHeader(text));
  ASSERT_TRUE(program->ok()) << program->log << "\n" << text;
  static uint64_t in = Memory::instance().allocate(64);
  static uint64_t out = Memory::instance().allocate(64);
  std::memset(reinterpret_cast<void *>(out), 0xa5, 8);
  std::memcpy(reinterpret_cast<void *>(in), values.data(), 8 * values.size());
  struct {
    uint64_t in, out;
  } params{in, out};
  program->run(&params);
  result = *reinterpret_cast<uint64_t *>(out);
}

} // namespace pascaline::emulator::test
