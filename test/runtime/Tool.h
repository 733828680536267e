// Tool.h - runs the `pascaline` program as a user does, in a folder that goes
// with the test.
#pragma once

#include "test/runtime/Samples.h"

#include "pascaline/pascaline.h"

#include <gtest/gtest.h>

#include <filesystem>

namespace pascaline::testing {

struct ToolResult {
  int code; // 128 + the signal, if one ended it
  std::string out, err;
};

// The folder holds add.pasc, of `sample`; a.npy (300 floats of 2) and b.npy
// (1x300 of 3) for it; and long.npy (1x300 of i64).
class ToolTest : public ::testing::Test {
protected:
  ToolTest();
  ~ToolTest() override;

  // Arguments as for a shell.
  ToolResult run(const std::string &arguments) const;
  void write(const std::string &name, const std::string &content) const;
  std::string read(const std::string &name) const;

  AddSample sample{300};
  std::filesystem::path folder;
  std::string emulator; // $PASCALINE_EMULATOR; empty: unset
};

// Runs add.pasc twenty times on 300 values of `a` and expects the sums.
void runMany(pascaline_session *session, float a);

} // namespace pascaline::testing
