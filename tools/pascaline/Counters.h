// Counters.h - what the emulator counted in a run (docs/emulator.md), for
// `run --counters` and `bench --counters`.
//
// Test: test/runtime/CliTest.cpp
#pragma once

#include "tools/pascaline/Cli.h"

namespace pascaline::cli {

// The options that go with --counters are complete and no others are given.
void checkCounterOptions(const Options &options);

// Runs once, prints a table a kernel on stdout, and adds the file that --json
// names to `files`.
void countRun(const Options &options, const ArtifactHandle &artifact,
              size_t set, const SessionHandle &session,
              const std::vector<pascaline_buffer> &inputs,
              const std::vector<pascaline_buffer> &outputs,
              PendingFiles &files);

} // namespace pascaline::cli
