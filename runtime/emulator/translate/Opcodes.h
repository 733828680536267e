// Opcodes.h - the names in the table of instructions, so that a test can ask
// for a value test of each. Test: test/emulator/TranslateOpcodeTest.cpp.
#pragma once

#include <string_view>
#include <vector>

namespace pascaline::emulator {

// Sorted; without those that the table names only to refuse them.
std::vector<std::string_view> supportedOpcodes();

} // namespace pascaline::emulator
