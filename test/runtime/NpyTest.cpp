// The .npy reader on what NumPy writes and on what it does not.
#include "tools/pascaline/Npy.h"

#include "test/runtime/Samples.h"
#include "tools/pascaline/Cli.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>

using namespace pascaline::cli;
using pascaline::testing::TemporaryFile;

namespace {

std::string npy(const std::string &dict, const std::string &data) {
  std::string text = dict + '\n';
  std::string result("\x93NUMPY\x01\x00", 8);
  result += char(text.size() & 0xff);
  result += char(text.size() >> 8);
  return result + text + data;
}

std::string refusal(const std::string &bytes) {
  TemporaryFile file(bytes);
  try {
    readNpy(file.path);
    return {};
  } catch (const Failure &error) {
    return error.what();
  }
}

#define EXPECT_REFUSED(bytes, sentence)                                        \
  EXPECT_NE(refusal(bytes).find(sentence), std::string::npos) << refusal(bytes)

TEST(Npy, ReadsWhatItWrites) {
  int64_t shape[] = {2, 3};
  std::string data("abcdefghijkl", 12);
  std::string header = npyHeader(PASCALINE_U16, shape, 2);
  EXPECT_EQ(header.size() % 64, 0u);
  TemporaryFile file(header + data);
  NpyArray array = readNpy(file.path);
  EXPECT_EQ(array.type, PASCALINE_U16);
  EXPECT_EQ(array.shape, (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(memcmp(array.data.data(), data.data(), 12), 0);
}

TEST(Npy, WritesEachTypeAndRank) {
  int64_t shape[] = {1, 2, 3};
  for (int type = PASCALINE_F32; type <= PASCALINE_BOOL; ++type)
    for (size_t rank : {0, 1, 3}) {
      pascaline_element_type element = pascaline_element_type(type);
      size_t count = rank == 3 ? 6 : 1;
      TemporaryFile file(
          npyHeader(element, shape, rank) +
          std::string(count * pascaline_element_type_bytes(element), 'x'));
      NpyArray array = readNpy(file.path);
      EXPECT_EQ(array.type, element);
      EXPECT_EQ(array.shape, std::vector<int64_t>(shape, shape + rank));
    }
}

TEST(Npy, ReordersFortranOrder) {
  std::string dict =
      "{'descr': '|u1', 'fortran_order': True, 'shape': (2, 3), }";
  TemporaryFile file(npy(dict, std::string("\0\3\1\4\2\5", 6)));
  EXPECT_EQ(readNpy(file.path).data, (std::vector<uint8_t>{0, 1, 2, 3, 4, 5}));
}

TEST(Npy, ReadsEmptyArraysAndKeysInAnyOrder) {
  TemporaryFile file(
      npy("{'shape': (0, 7), 'fortran_order': False, 'descr': '<f4'}", ""));
  EXPECT_EQ(readNpy(file.path).shape, (std::vector<int64_t>{0, 7}));
}

TEST(Npy, RefusesWithASentence) {
  const std::string good =
      "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }";
  EXPECT_EQ(refusal(npy(good, "12345678")), "");
  EXPECT_REFUSED("", "not a .npy file: it has 0 bytes");
  EXPECT_REFUSED("PK\3\4 is how an npz starts", "make one with numpy.save");
  EXPECT_REFUSED(npy(good, "1234567"),
                 "has 7 bytes of elements, its header says 8");
  EXPECT_REFUSED(npy(good, "123456789"), "has 9 bytes of elements");
  std::string version = npy(good, "12345678");
  version[6] = 9;
  EXPECT_REFUSED(version, ".npy version is 9");
  EXPECT_REFUSED(npy(good, "12345678").substr(0, 40),
                 "ends in the middle of its .npy header");
  auto dict = [](const std::string &text) { return npy(text, "12345678"); };
  EXPECT_REFUSED(
      dict("{'descr': '>f4', 'fortran_order': False, 'shape': (2,), }"),
      "is big-endian (>f4)");
  EXPECT_REFUSED(
      dict("{'descr': '|O', 'fortran_order': False, 'shape': (2,), }"),
      "has elements of type |O");
  EXPECT_REFUSED(
      dict("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (2,)}"),
      "holds a structured array");
  EXPECT_REFUSED(dict("{'descr': '<f4', 'fortran_order': False, 'shape': "
                      "(99999999999, 99999999999), }"),
                 "shape in its .npy header is too large");
  EXPECT_REFUSED(dict("{'descr': '<f4', 'fortran_order': False, 'shape': (0, "
                      "999999999999999, 999999999999999), }"),
                 "shape in its .npy header is too large");
  for (const char *bad :
       {"", "{", "{}", "[1]", "{'descr': '<f4'}",
        "{'descr': '<f4', 'descr': "
        "'<f4', 'fortran_order': False, 'shape': (2,), }",
        "{'descr': '<f4', 'fortran_order': 0, 'shape': (2,), }",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (-2,), }",
        "{'descr': '<f4', 'fortran_order': False, 'shape': 2, }",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), } x",
        "{'descr': '<f4, 'fortran_order': False, 'shape': (2,), }"})
    EXPECT_NE(refusal(dict(bad)), "") << bad;
}

TEST(Npy, SurvivesMutations) {
  std::string bytes = npy(
      "{'descr': '<f4', 'fortran_order': True, 'shape': (2, 1), }", "12345678");
  std::mt19937 random(9);
  TemporaryFile file;
  for (int round = 0; round < 300; ++round) {
    std::string mutated = bytes;
    for (unsigned edits = 1 + random() % 3; edits > 0; --edits)
      mutated[random() % mutated.size()] = char(random());
    mutated.resize(random() % 4 ? mutated.size() : random() % mutated.size());
    refusal(mutated);
  }
}

} // namespace
