// CounterTable.h - the counters by name: what a launch's counts come to.
//
// Names, their order and meaning are documented in docs/emulator.md. All
// counters are sums, so those of several launches may be added.
// Test: test/emulator/CounterInstructionTest.cpp.
#pragma once

#include "runtime/emulator/scheduler/Block.h"

#include <vector>

namespace pascaline::emulator {

const std::vector<const char *> &counterNames();

// One value a name. `counts` is of this launch, whose kernel counts.
std::vector<uint64_t> counterValues(const Launch &launch,
                                    const LaunchCounts &counts);

} // namespace pascaline::emulator
