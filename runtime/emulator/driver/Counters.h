// Counters.h - who wants counters, and where they go: to the thread that
// launched (pascalineEmulatorCounters), and summed over equal launches to the
// file that PASCALINE_EMULATOR_COUNTERS names, when the process ends.
//
// Test: test/emulator/CounterReportTest.cpp.
#pragma once

#include "runtime/emulator/scheduler/Block.h"

namespace pascaline::emulator {

// Are modules that the calling thread loads now to count?
bool countingWanted();
// What is wrong with PASCALINE_EMULATOR_COUNTERS; null when nothing is.
const char *counterFileProblem();
// The calling thread's last launch is this one, whose kernel counts.
void noteCounters(const Launch &launch, const LaunchCounts &counts);
// The calling thread's last launch has no counters.
void noteNoCounters();

} // namespace pascaline::emulator
