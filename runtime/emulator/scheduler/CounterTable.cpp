#include "runtime/emulator/scheduler/CounterTable.h"

#include <string>

namespace pascaline::emulator {
namespace {

using Class = InstructionClass;

struct PerClass {
  uint64_t threads = 0, warps = 0;
};

// What runs a class of instructions on sm_61, by how many lanes of it an SM
// ends in a clock (CUDA C++ Programming Guide, "Throughput of Native Arithmetic
// Instructions", compute capability 6.1).
enum class Pipe { Core, Half, Quarter, Fp64, Fp16, Memory, Control };

Pipe pipeOf(Class kind) {
  switch (kind) {
  case Class::int_shift:
    return Pipe::Half;
  case Class::fp32_div:
  case Class::sfu:
  case Class::int_bits:
  case Class::convert:
  case Class::shuffle:
    return Pipe::Quarter;
  case Class::fp64:
    return Pipe::Fp64;
  case Class::fp16:
    return Pipe::Fp16;
  case Class::branch:
  case Class::control:
  case Class::barrier:
  case Class::fence:
    return Pipe::Control;
  default:
    return kind >= Class::load_global ? Pipe::Memory : Pipe::Core;
  }
}

class Table {
public:
  void add(std::string name, uint64_t value) {
    names.push_back(std::move(name));
    values.push_back(value);
  }
  std::vector<std::string> names;
  std::vector<uint64_t> values;
};

void addInstructions(Table &table, const CountPlan &plan,
                     const LaunchCounts &counts) {
  PerClass classes[kInstructionClasses];
  uint64_t warps = 0, partial = 0, lanes = 0, threads = 0;
  uint64_t branches = 0, diverged = 0;
  for (size_t b = 0; b < plan.blocks.size(); ++b) {
    const CountedBlock &block = plan.blocks[b];
    const LaunchCounts::Block &done = counts.blocks[b];
    for (size_t c = 0; c < kInstructionClasses; ++c) {
      classes[c].warps += block.issued[c] * done.executions;
      classes[c].threads += block.unguarded[c] * done.lanes;
      partial += block.issued[c] * done.partial;
      lanes += block.issued[c] * done.lanes;
    }
    branches += block.branches ? done.executions : 0;
    diverged += done.diverged;
  }
  for (size_t s = 0; s < plan.slots.size(); ++s)
    classes[size_t(plan.slots[s].instruction)].threads += counts.slots[s];
  uint64_t pipes[7] = {};
  for (size_t c = 0; c < kInstructionClasses; ++c) {
    warps += classes[c].warps;
    threads += classes[c].threads;
    pipes[size_t(pipeOf(Class(c)))] += classes[c].warps;
  }
  table.add("warp_instructions", warps);
  table.add("warp_instructions_partial", partial);
  table.add("thread_instructions", threads);
  table.add("thread_instructions_off", lanes - threads);
  table.add("branches", branches);
  table.add("branches_divergent", diverged);
  const char *const pipeNames[] = {"core", "half",   "quarter", "fp64",
                                   "fp16", "memory", "control"};
  for (size_t p = 0; p < std::size(pipes); ++p)
    table.add(std::string("issue_") + pipeNames[p], pipes[p]);
  size_t c = 0;
#define PASCALINE_ADD(name)                                                    \
  table.add("warp_" #name, classes[c].warps);                                  \
  table.add("thread_" #name, classes[c].threads);                              \
  ++c;
  PASCALINE_INSTRUCTION_CLASSES(PASCALINE_ADD)
#undef PASCALINE_ADD
}

void addAccesses(Table &table, const LaunchCounts &counts) {
  const char *const kinds[] = {"load", "store", "atomic"};
  struct {
    const char *name, *unit;
    size_t kinds; // that the space has
  } spaces[] = {{"global", "sectors", 3},
                {"shared", "wavefronts", 3},
                {"local", "sectors", 2},
                {"const", "words", 1}};
  for (size_t s = 0; s < std::size(spaces); ++s)
    for (size_t k = 0; k < spaces[s].kinds; ++k) {
      const AccessCounts &sum = counts.accesses[s][k];
      std::string name = std::string(spaces[s].name) + "_" + kinds[k] + "_";
      table.add(name + "requests", sum.requests);
      table.add(name + spaces[s].unit, sum.units);
      table.add(name + "bytes", sum.bytes);
    }
}

Table tableOf(const Launch &launch, const CountPlan &plan,
              const LaunchCounts &counts) {
  uint64_t blocks = 1, threads = 1;
  for (int d = 0; d < 3; ++d) {
    blocks *= launch.grid[d];
    threads *= launch.block[d];
  }
  Table table;
  table.add("launches", 1);
  table.add("blocks", blocks);
  table.add("warps", blocks * ((threads + kWarpLanes - 1) / kWarpLanes));
  table.add("threads", blocks * threads);
  addInstructions(table, plan, counts);
  table.add("barriers_completed", counts.barriers);
  addAccesses(table, counts);
  return table;
}

} // namespace

const std::vector<const char *> &counterNames() {
  static const Table table = tableOf({}, {}, {});
  static const std::vector<const char *> names = [] {
    std::vector<const char *> result;
    for (const std::string &name : table.names)
      result.push_back(name.c_str());
    return result;
  }();
  return names;
}

std::vector<uint64_t> counterValues(const Launch &launch,
                                    const LaunchCounts &counts) {
  return tableOf(launch, *launch.kernel->counted, counts).values;
}

} // namespace pascaline::emulator
