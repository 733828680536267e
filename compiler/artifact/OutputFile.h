// OutputFile.h - a result of the compiler, written as a whole or not at all.
//
// A regular file is made new beside its place and renamed there, so that it is
// never half written. What is no regular file (/dev/null, a pipe) is written
// where it is: a rename would put a file in the device's place.
//
// Tests: test/runtime/OutputFileTest.cpp, test/e2e/refusals.py
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

namespace pascaline {

// Writes the pieces, one after another. False with one sentence in `error`;
// then nothing is left behind.
bool writeOutputFile(const std::string &path,
                     std::initializer_list<std::string_view> pieces,
                     std::string &error);

} // namespace pascaline
