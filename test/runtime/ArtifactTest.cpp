// The artifact's reader: what the writer writes is read back, and everything
// that is wrong is refused with a sentence of its own.
#include "runtime/src/Artifact.h"
#include "runtime/src/Error.h"
#include "test/runtime/Samples.h"

#include "pascaline/artifact_generated.h"

#include <gtest/gtest.h>

#include <elf.h>
#include <functional>
#include <random>

using namespace pascaline;
using namespace pascaline::testing;
using runtime::Artifact;

namespace {

// The sentence that the bytes are refused with, "" if they are taken.
std::string refusal(const std::string &bytes) {
  // Of exactly the size, so that a sanitizer sees a read past the end.
  std::unique_ptr<char[]> copy(new char[bytes.size()]);
  memcpy(copy.get(), bytes.data(), bytes.size());
  try {
    Artifact::openBytes(copy.get(), bytes.size(), "x.pasc");
    return {};
  } catch (const runtime::Error &error) {
    EXPECT_NE(error.status(), PASCALINE_OK);
    return error.what();
  }
}

#define EXPECT_REFUSED(bytes, sentence)                                        \
  EXPECT_NE(refusal(bytes).find(sentence), std::string::npos) << refusal(bytes)

artifact::Header headerOf(const std::string &bytes) {
  artifact::Header header;
  memcpy(&header, bytes.data(), sizeof header);
  return header;
}

// The sample with its header changed and its header's checksum right again.
std::string withHeader(const std::function<void(artifact::Header &)> &change) {
  std::string bytes = AddSample().bytes();
  artifact::Header header = headerOf(bytes);
  change(header);
  header.checksum =
      artifact::hash64(&header, offsetof(artifact::Header, checksum));
  memcpy(&bytes[0], &header, sizeof header);
  return bytes;
}

std::string
withContents(const std::function<void(ArtifactContents &)> &change) {
  AddSample sample;
  change(sample.contents);
  return sample.bytes();
}

TEST(Hash, GivesThePublishedValues) {
  EXPECT_EQ(artifact::hash64("", 0), 0xEF46DB3751D8E999u);
  EXPECT_EQ(artifact::hash64("a", 1), 0xD24EC4F1A98C6E5Bu);
  EXPECT_EQ(artifact::hash64("abc", 3), 0x44BC2CF5AD770999u);
  const char *text = "The quick brown fox jumps over the lazy dog";
  EXPECT_EQ(artifact::hash64(text, strlen(text)), 0x0B242D361FDA71BCu);
}

TEST(Artifact, IsReadAsItWasWritten) {
  AddSample sample;
  sample.contents.launches[1].role = artifact::Role::secondary;
  std::string bytes = sample.bytes();
  auto read = Artifact::openBytes(bytes.data(), bytes.size(), "x.pasc");
  const runtime::Plan &plan = read->plan;
  EXPECT_STREQ(plan.model, "add");
  EXPECT_STREQ(plan.chip, "gtx1080ti");
  ASSERT_EQ(plan.inputs.size(), 2u);
  EXPECT_STREQ(plan.inputs[1].name, "b");
  EXPECT_EQ(plan.inputs[1].rank, 2u);
  EXPECT_EQ(plan.inputs[1].shape[1], 300);
  EXPECT_EQ(plan.inputs[1].bytes, 1200u);
  ASSERT_EQ(plan.launches.size(), 2u);
  EXPECT_EQ(plan.launches[0].role, artifact::Role::primary);
  EXPECT_EQ(plan.launches[1].role, artifact::Role::secondary);
  EXPECT_EQ(plan.launches[1].limit, artifact::Limit::dram);
  EXPECT_EQ(plan.launches[1].grid[0], 3u);
  EXPECT_STREQ(plan.launches[1].nodes[0], "second");
  ASSERT_EQ(plan.launches[1].arguments.size(), 4u);
  EXPECT_EQ(plan.launches[1].arguments[1].buffer, 4u);
  EXPECT_EQ(plan.launches[1].arguments[3].value, 300u);
  EXPECT_EQ(read->ptx, sample.contents.ptx);
  EXPECT_EQ(read->weightsBytes, 1200u);
  EXPECT_EQ(memcmp(read->weights, sample.weights.data(), 1200), 0);
}

TEST(Artifact, HasItsWeightsOnAPage) {
  artifact::Header header = headerOf(AddSample().bytes());
  EXPECT_EQ(header.sections[artifact::kWeights].offset % 4096, 0u);
}

TEST(Artifact, IsTheSameEachTime) {
  EXPECT_EQ(AddSample().bytes(), AddSample().bytes());
}

TEST(Artifact, IsWrittenAndReadAsAFile) {
  AddSample sample;
  TemporaryFile file("something older");
  std::string error;
  ASSERT_TRUE(writeArtifact(sample.contents, file.path, error)) << error;
  auto read = Artifact::open(file.path.c_str());
  EXPECT_EQ(memcmp(read->weights, sample.weights.data(), 1200), 0);
  std::string bytes = sample.bytes();
  EXPECT_EQ(read->header.checksum, headerOf(bytes).checksum);
  EXPECT_FALSE(writeArtifact(sample.contents, "/no/such/folder/x", error));
  EXPECT_NE(error.find("/no/such/folder/x: cannot be created"),
            std::string::npos);
}

TEST(Artifact, OfNothingButInputsIsAccepted) {
  EXPECT_EQ(refusal(withContents([](ArtifactContents &c) {
              c.launches.clear();
              c.kernels.clear();
              c.outputs = {{"y", artifact::ElementType::f32, {300}, 0}};
              c.buffers.erase(c.buffers.begin() + 2, c.buffers.end());
              c.weightsSectionBytes = c.weightsBytes = 0;
            })),
            "");
}

// The plan's offsets move with the names' lengths, so a scalar's shape, an
// empty vector of 64-bit numbers, meets every alignment.
TEST(Artifact, OfScalarsIsAccepted) {
  for (size_t length = 1; length <= 8; ++length)
    EXPECT_EQ(refusal(withContents([&](ArtifactContents &contents) {
                for (artifact::Tensor &input : contents.inputs) {
                  input.name += std::string(length, 'x');
                  input.shape.clear();
                  contents.buffers[input.buffer].bytes = sizeof(float);
                }
              })),
              "");
}

TEST(Artifact, WriterRefusesWhatTheFormatCannotSay) {
  AddSample sample;
  std::string bytes, error;
  sample.contents.ptx = std::string("a\0b", 3);
  EXPECT_FALSE(serializeArtifact(sample.contents, bytes, error));
  EXPECT_EQ(error, "PTX holds a zero byte at 1; it must be text");
  sample.contents.ptx = "";
  sample.contents.weightsBytes = 8;
  EXPECT_FALSE(serializeArtifact(sample.contents, bytes, error));
  EXPECT_NE(error.find("weights of 1200 bytes do not fit the 8"),
            std::string::npos);
}

TEST(ArtifactRefuses, WhatIsNoArtifact) {
  EXPECT_REFUSED("", "x.pasc: not a pascaline artifact: has 0 bytes");
  EXPECT_REFUSED("PASCALIN", "has 8 bytes, less than the 256 of its header");
  EXPECT_REFUSED("hello, I am some text",
                 "starts with bytes 68 65 6c 6c; make one with "
                 "pascaline-compile");
  for (const char *path : {"/no/such/file", "/tmp"})
    EXPECT_THROW(Artifact::open(path), runtime::Error) << path;
}

TEST(ArtifactRefuses, EachHeaderField) {
  using artifact::Header;
  std::string other = AddSample().bytes();
  // Whatever else another version changed: nothing behind it is looked at.
  other[8] = 2;
  other[12] = 77;
  EXPECT_REFUSED(other, "format version is 2, this runtime reads version 1; "
                        "install a newer runtime");
  other[8] = 0;
  EXPECT_REFUSED(other, "format version is 0, this runtime reads version 1; "
                        "compile the model again");
  EXPECT_REFUSED(withHeader([](Header &h) { h.headerBytes = 128; }),
                 "the header says it has 128 bytes, it has 256");
  EXPECT_REFUSED(withHeader([](Header &h) { h.targetSm = 70; }),
                 "compiled for sm_70, this runtime runs sm_61");
  EXPECT_REFUSED(withHeader([](Header &h) { h.flags = 4; }),
                 "the header has flags 0x4");
  EXPECT_REFUSED(withHeader([](Header &h) { h.reserved[9] = 1; }),
                 "reserved bytes are not zero");
  EXPECT_REFUSED(withHeader([](Header &h) { ++h.fileBytes; }),
                 "the header says the file has ");
  std::string flipped = AddSample().bytes();
  flipped[200] ^= 1;
  EXPECT_REFUSED(flipped, "the header's checksum is ");
}

TEST(ArtifactRefuses, EachSectionField) {
  using artifact::Header;
  auto change = [](int index, auto edit) {
    return withHeader([&](Header &h) { edit(h.sections[index]); });
  };
  EXPECT_REFUSED(change(0, [](auto &s) { s.offset += 8; }),
                 "section plan is at 264, no multiple of 64");
  EXPECT_REFUSED(change(3, [](auto &s) { s.offset += 64; }),
                 "no multiple of 4096");
  EXPECT_REFUSED(change(0, [](auto &s) { s.offset = 0; }), "section plan has ");
  EXPECT_REFUSED(change(1, [](auto &s) { s.bytes = ~uint64_t(0); }),
                 "section PTX has 18446744073709551615 bytes at ");
  EXPECT_REFUSED(change(3, [](auto &s) { s.offset = uint64_t(1) << 63; }),
                 "section weights has 1200 bytes at 9223372036854775808, "
                 "outside the ");
  EXPECT_REFUSED(change(3, [](auto &s) { s.bytes -= 4; }), "sections end at ");
  for (int i = 0; i < artifact::kSectionCount; ++i)
    EXPECT_REFUSED(change(i, [](auto &s) { s.checksum ^= 1; }),
                   "the checksum of section ");
  std::string padding = AddSample().bytes();
  padding[headerOf(padding).sections[3].offset - 1] = 1;
  EXPECT_REFUSED(padding, "between sections, is not zero");
}

TEST(ArtifactRefuses, PtxThatIsNoText) {
  std::string bytes = AddSample().bytes();
  artifact::Section ptx = headerOf(bytes).sections[artifact::kPtx];
  std::string inside = bytes, unended = bytes;
  inside[ptx.offset + 5] = 0;
  unended[ptx.offset + ptx.bytes - 1] = ' ';
  rehash(inside);
  rehash(unended);
  EXPECT_REFUSED(inside, "section PTX is not text");
  EXPECT_REFUSED(unended, "section PTX is not text");
}

TEST(ArtifactRefuses, ACubinThatPointsOutsideItself) {
  auto withCubin = [](const std::string &cubin) {
    return withContents([&](ArtifactContents &c) { c.cubin = cubin; });
  };
  EXPECT_EQ(refusal(withCubin(tinyElf())), "");
  EXPECT_REFUSED(withCubin("text"), "section cubin is no 64-bit ELF file");
  EXPECT_REFUSED(withCubin([] {
                   std::string cubin = tinyElf();
                   cubin[offsetof(Elf64_Ehdr, e_flags)] = 70;
                   return cubin;
                 }()),
                 "section cubin is of machine 190 and architecture 70, not of "
                 "190 and 61");
  auto changed = [](size_t at, uint16_t value) {
    std::string cubin = tinyElf();
    memcpy(&cubin[at], &value, sizeof value);
    return cubin;
  };
  for (const std::string &cubin :
       {changed(offsetof(Elf64_Ehdr, e_shoff), 65),
        changed(offsetof(Elf64_Ehdr, e_shentsize), 0),
        changed(offsetof(Elf64_Ehdr, e_phnum), 1),
        changed(sizeof(Elf64_Ehdr) + offsetof(Elf64_Shdr, sh_offset), 129),
        changed(sizeof(Elf64_Ehdr) + offsetof(Elf64_Shdr, sh_size) + 6, 1)})
    EXPECT_REFUSED(withCubin(cubin),
                   "section cubin is an ELF file that points outside itself");
}

TEST(ArtifactRefuses, EachLengthButItsOwn) {
  std::string bytes = AddSample().bytes();
  for (size_t length = 0; length < bytes.size(); ++length)
    ASSERT_NE(refusal(bytes.substr(0, length)), "") << length;
  EXPECT_REFUSED(bytes + '\0', "the header says the file has ");
}

TEST(ArtifactRefuses, EachFlippedByte) {
  std::string bytes = AddSample(20).bytes();
  for (size_t i = 0; i < bytes.size(); ++i) {
    std::string flipped = bytes;
    flipped[i] ^= 0x10;
    ASSERT_NE(refusal(flipped), "") << i;
  }
}

// With its checksums right, so that the verifier and the checks meet it.
TEST(ArtifactSurvives, TwoThousandMutationsOfItsPlan) {
  std::string bytes = AddSample(20).bytes();
  artifact::Section plan = headerOf(bytes).sections[artifact::kPlan];
  std::mt19937 random(7);
  int refused = 0;
  for (int round = 0; round < 2000; ++round) {
    std::string mutated = bytes;
    for (unsigned edits = 1 + random() % 4; edits > 0; --edits)
      mutated[plan.offset + random() % plan.bytes] = char(random());
    rehash(mutated);
    refused += !refusal(mutated).empty();
  }
  EXPECT_GT(refused, 1000);
}

TEST(ArtifactSurvives, TwoThousandMutationsOfItsHeader) {
  std::string bytes = AddSample(20).bytes();
  std::mt19937 random(8);
  for (int round = 0; round < 2000; ++round) {
    std::string mutated = bytes;
    for (unsigned edits = 1 + random() % 4; edits > 0; --edits)
      mutated[random() % sizeof(artifact::Header)] = char(random());
    rehash(mutated);
    refusal(mutated);
  }
}

// What version 1 has room for, and nothing writes yet.
TEST(ArtifactRefuses, RegionsAndExtentsOfLaterVersions) {
  namespace fb = artifact::fb;
  auto refusalOf = [](bool region, bool extents) -> std::string {
    flatbuffers::FlatBufferBuilder builder;
    auto text = builder.CreateString("m");
    std::vector<fb::Buffer> buffers = {{0, 4, fb::BufferKind_input}};
    auto bufferVector = builder.CreateVectorOfStructs(buffers);
    std::vector<int64_t> shape = {1};
    std::vector<int32_t> extent(extents ? 1 : 0, 0);
    auto shapeVector = builder.CreateVector(shape);
    auto extentVector = builder.CreateVector(extent);
    std::vector<flatbuffers::Offset<fb::Tensor>> inputs = {fb::CreateTensor(
        builder, text, fb::ElementType_f32, shapeVector, 0, extentVector)};
    auto inputVector = builder.CreateVector(inputs);
    std::vector<flatbuffers::Offset<fb::Tensor>> none;
    auto outputVector = builder.CreateVector(none);
    std::vector<flatbuffers::Offset<fb::Kernel>> noKernels;
    auto kernelVector = builder.CreateVector(noKernels);
    std::vector<flatbuffers::Offset<fb::Launch>> noLaunches;
    auto launchVector = builder.CreateVector(noLaunches);
    std::vector<flatbuffers::Offset<fb::Region>> regions;
    if (region)
      regions.push_back(fb::CreateRegion(builder, fb::RegionKind_loop));
    auto regionVector = builder.CreateVector(regions);
    builder.Finish(fb::CreatePlan(builder, text, text, text, inputVector,
                                  outputVector, bufferVector, kernelVector,
                                  launchVector, 0, 0, 0, 0, 0, 0, regionVector),
                   fb::PlanIdentifier());
    try {
      runtime::readPlan(builder.GetBufferPointer(), builder.GetSize(), 0,
                        "x.pasc");
      return {};
    } catch (const runtime::Error &error) {
      EXPECT_EQ(error.status(), PASCALINE_UNSUPPORTED);
      return error.what();
    }
  };
  EXPECT_EQ(refusalOf(false, false), "");
  EXPECT_NE(refusalOf(true, false).find("the plan has regions"),
            std::string::npos);
  EXPECT_NE(refusalOf(false, true).find("input \"m\" has extents known only"),
            std::string::npos);
}

TEST(ArtifactRefuses, APlanThatIsNoFlatBuffer) {
  std::string bytes = AddSample().bytes();
  artifact::Section plan = headerOf(bytes).sections[artifact::kPlan];
  std::string root = bytes, identifier = bytes;
  memset(&root[plan.offset], 0xff, 4);
  identifier[plan.offset + 4] = 'X';
  rehash(root);
  rehash(identifier);
  EXPECT_REFUSED(root, "section plan is no valid FlatBuffer of version 1");
  EXPECT_REFUSED(identifier, "section plan is no valid FlatBuffer");
}

struct Wrong {
  const char *sentence;
  std::function<void(ArtifactContents &)> change;
};

class PlanRefuses : public ::testing::TestWithParam<Wrong> {};

TEST_P(PlanRefuses, WithItsOwnSentence) {
  EXPECT_REFUSED(withContents(GetParam().change), GetParam().sentence);
}

using C = ArtifactContents;
using namespace artifact;
INSTANTIATE_TEST_SUITE_P(
    Artifact, PlanRefuses,
    ::testing::Values(
        Wrong{"the plan has 562949953421312 bytes of "
              "arena, more than",
              [](C &c) { c.arenaBytes = uint64_t(1) << 49; }},
        Wrong{"bytes of counters, more than",
              [](C &c) { c.counterBytes = ~uint64_t(0); }},
        Wrong{"buffer 3 has 1200 bytes at 4096, outside "
              "its memory of 4100",
              [](C &c) { c.arenaBytes = 4100; }},
        Wrong{"buffer 3 has 18446744073709551615 bytes at "
              "4096",
              [](C &c) { c.buffers[3].bytes = ~uint64_t(0); }},
        Wrong{"buffer 4 has 1200 bytes at "
              "18446744073709551360",
              [](C &c) { c.buffers[4].offset = ~uint64_t(255); }},
        Wrong{"buffer 5 has 32 bytes at 32, outside its "
              "memory of 63",
              [](C &c) { c.counterBytes = 63; }},
        Wrong{"buffer 0, an input or output, has offset 4",
              [](C &c) { c.buffers[0].offset = 4; }},
        Wrong{"buffer 3 has kind 0",
              [](C &c) { c.buffers[3].kind = BufferKind::none; }},
        Wrong{"buffer 3 has kind 6",
              [](C &c) { c.buffers[3].kind = BufferKind(6); }},
        Wrong{"buffer 6 is of kind input or output, but "
              "no input or output",
              [](C &c) {
                c.buffers.push_back({BufferKind::input, 0, 4});
              }},
        Wrong{"input \"a\" has element type 0",
              [](C &c) { c.inputs[0].type = ElementType::none; }},
        Wrong{"output \"y\" has element type 14",
              [](C &c) { c.outputs[0].type = ElementType(14); }},
        Wrong{"input \"a\" has rank 33, more than 32",
              [](C &c) { c.inputs[0].shape.assign(33, 1); }},
        Wrong{"input \"a\" has the negative extent -300",
              [](C &c) { c.inputs[0].shape[0] = -300; }},
        Wrong{"input \"a\" has more than 281474976710656 "
              "bytes",
              [](C &c) { c.inputs[0].shape.assign(3, int64_t(1) << 40); }},
        Wrong{"input \"a\" has more than 281474976710656 "
              "bytes",
              [](C &c) {
                c.inputs[0].shape = {0, int64_t(1) << 62, int64_t(1) << 62};
              }},
        Wrong{"input \"a\" is in buffer 6 of 6",
              [](C &c) { c.inputs[0].buffer = 6; }},
        Wrong{"input \"a\" has 1200 bytes, its buffer 1196",
              [](C &c) { c.buffers[0].bytes = 1196; }},
        Wrong{"input \"a\" has 1200 bytes, its buffer 1204",
              [](C &c) { c.buffers[0].bytes = 1204; }},
        Wrong{"output \"y\" has 1200 bytes, its buffer 4000",
              [](C &c) { c.buffers[2].bytes = 4000; }},
        Wrong{"output \"constant\" has 1200 bytes, its "
              "buffer 600",
              [](C &c) { c.buffers[4].bytes = 600; }},
        Wrong{"input \"a\" is in a buffer of another kind",
              [](C &c) { c.inputs[0].buffer = 4; }},
        Wrong{"inputs \"a\" and \"b\" are in one buffer",
              [](C &c) { c.inputs[1].buffer = 0; }},
        Wrong{"two inputs have the name \"a\"",
              [](C &c) { c.inputs[1].name = "a"; }},
        Wrong{"output 0 has no name", [](C &c) { c.outputs[0].name = ""; }},
        Wrong{"the model's name has a zero byte inside",
              [](C &c) { c.model = std::string("a\0b", 3); }},
        Wrong{"the chip's name has 65537 bytes, more than "
              "65536",
              [](C &c) { c.chip.assign(artifact::kMaxNameBytes + 1, 'x'); }},
        Wrong{"kernel 0 has no name", [](C &c) { c.kernels[0].entry = ""; }},
        Wrong{"kernel 0 has a name that is no PTX "
              "identifier",
              [](C &c) { c.kernels[0].entry = "a b"; }},
        Wrong{"kernel \"add\" has a block of 0 x 1 x 1 "
              "threads",
              [](C &c) { c.kernels[0].block[0] = 0; }},
        Wrong{"kernel \"add\" has a block of 1024 x 2 x 1 "
              "threads",
              [](C &c) {
                c.kernels[0].block[0] = 1024;
                c.kernels[0].block[1] = 2;
              }},
        Wrong{"kernel \"add\" has a block of 1 x 1 x 65 "
              "threads",
              [](C &c) {
                c.kernels[0].block[0] = 1;
                c.kernels[0].block[2] = 65;
              }},
        Wrong{"kernel \"add\" needs 49153 bytes of shared "
              "memory a block",
              [](C &c) {
                c.kernels[0].staticSharedBytes = 1;
                c.kernels[0].dynamicSharedBytes = 49152;
              }},
        Wrong{"launch 1 is of kernel 1 of 1",
              [](C &c) { c.launches[1].kernel = 1; }},
        Wrong{"launch 0 has a grid of 3 x 0 x 1 blocks",
              [](C &c) { c.launches[0].grid[1] = 0; }},
        Wrong{"launch 0 has a grid of 3 x 1 x 65536 blocks",
              [](C &c) { c.launches[0].grid[2] = 65536; }},
        Wrong{"launch 0 has role 2",
              [](C &c) { c.launches[0].role = Role(2); }},
        Wrong{"limit 5, which are none",
              [](C &c) { c.launches[0].limit = Limit(5); }},
        Wrong{"argument 1 of launch 0 is buffer 6 of 6",
              [](C &c) { c.launches[0].arguments[1].buffer = 6; }},
        Wrong{"argument 1 of launch 0 has value 1201, "
              "more than 1200",
              [](C &c) { c.launches[0].arguments[1].value = 1201; }},
        Wrong{
            "argument 3 of launch 0 has value 4294967296",
            [](C &c) { c.launches[0].arguments[3].value = uint64_t(1) << 32; }},
        Wrong{"argument 3 of launch 0 has kind 4",
              [](C &c) { c.launches[0].arguments[3].kind = ArgumentKind(4); }},
        Wrong{"the plan has 513 arguments of a launch, "
              "more than 512",
              [](C &c) {
                c.launches[0].arguments.assign(513, Argument::ofScalar32(1));
              }},
        Wrong{"init launch 0 uses an input or output",
              [](C &c) { c.init = {c.launches[0]}; }},
        Wrong{"a node's name has 65537 bytes", [](C &c) {
                c.launches[0].nodes = {
                    std::string(artifact::kMaxNameBytes + 1, 'n')};
              }}));

} // namespace
