// Samples.cpp - see Samples.h.
#include "test/runtime/Samples.h"

#include <cstdlib>
#include <cstring>
#include <elf.h>
#include <fstream>
#include <stdexcept>
#include <unistd.h>

namespace pascaline::testing {

static const char *const addPtx = R"(.version 6.0
.target sm_61
.address_size 64

.visible .entry add(
	.param .u64 p0,
	.param .u64 p1,
	.param .u64 p2,
	.param .u32 p3
)
.maxntid 128, 1, 1
{
	.reg .pred %p<2>;
	.reg .f32 %f<4>;
	.reg .b32 %r<6>;
	.reg .b64 %rd<8>;

	ld.param.u64 %rd1, [p0];
	ld.param.u64 %rd2, [p1];
	ld.param.u64 %rd3, [p2];
	ld.param.u32 %r1, [p3];
	mov.u32 %r2, %ctaid.x;
	mov.u32 %r3, %ntid.x;
	mov.u32 %r4, %tid.x;
	mad.lo.s32 %r5, %r2, %r3, %r4;
	setp.ge.u32 %p1, %r5, %r1;
	@%p1 bra $done;
	mul.wide.u32 %rd4, %r5, 4;
	add.s64 %rd5, %rd1, %rd4;
	add.s64 %rd6, %rd2, %rd4;
	add.s64 %rd7, %rd3, %rd4;
	ld.global.f32 %f1, [%rd5];
	ld.global.f32 %f2, [%rd6];
	add.f32 %f3, %f1, %f2;
	st.global.f32 [%rd7], %f3;
$done:
	ret;
}
)";

AddSample::AddSample(uint32_t count) {
  using namespace artifact;
  uint64_t bytes = uint64_t(count) * 4;
  for (uint32_t i = 0; i < count; ++i)
    weights.push_back(float(i));
  contents.model = "add";
  contents.producer = "test";
  contents.chip = "gtx1080ti";
  contents.ptx = addPtx;
  contents.weights = weights.data();
  contents.weightsSectionBytes = bytes;
  contents.weightsBytes = bytes;
  contents.arenaBytes = 4096 + bytes;
  contents.counterBytes = 64;
  contents.lowerBoundBytes = bytes;
  contents.onnxOrderBytes = 2 * bytes;
  contents.buffers = {
      {BufferKind::input, 0, bytes},    // 0: a
      {BufferKind::input, 0, bytes},    // 1: b
      {BufferKind::output, 0, bytes},   // 2: y
      {BufferKind::arena, 4096, bytes}, // 3: t
      {BufferKind::weights, 0, bytes},  // 4: w
      {BufferKind::counters, 32, 32},   // 5
  };
  int64_t extent = count;
  contents.inputs = {{"a", ElementType::f32, {extent}, 0},
                     {"b", ElementType::f32, {1, extent}, 1}};
  contents.outputs = {{"y", ElementType::f32, {extent}, 2},
                      {"constant", ElementType::f32, {extent}, 4}};
  contents.kernels = {{"add", {128, 1, 1}, 0, 0, 20}};
  auto launch = [&](uint32_t a, uint32_t b, uint32_t to, const char *node) {
    Launch result;
    result.kernel = 0;
    result.grid[0] = (count + 127) / 128;
    result.arguments = {Argument::ofBuffer(a), Argument::ofBuffer(b),
                        Argument::ofBuffer(to), Argument::ofScalar32(count)};
    result.nodes = {node};
    result.flops = count;
    result.bytes = 3 * bytes;
    result.limit = Limit::dram;
    contents.launches.push_back(result);
  };
  launch(0, 1, 3, "first");
  launch(3, 4, 2, "second");
}

std::string AddSample::bytes() const {
  std::string result, error;
  if (!serializeArtifact(contents, result, error))
    throw std::runtime_error(error);
  return result;
}

std::string tinyElf() {
  Elf64_Ehdr header = {};
  memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_machine = 190; // EM_CUDA
  header.e_flags = 61;
  header.e_shoff = sizeof header;
  header.e_shentsize = sizeof(Elf64_Shdr);
  header.e_shnum = 1;
  Elf64_Shdr section = {};
  section.sh_type = SHT_PROGBITS;
  std::string bytes(reinterpret_cast<char *>(&header), sizeof header);
  return bytes.append(reinterpret_cast<char *>(&section), sizeof section);
}

void rehash(std::string &bytes) {
  artifact::Header header;
  memcpy(&header, bytes.data(), sizeof header);
  for (artifact::Section &section : header.sections)
    if (section.offset <= bytes.size() &&
        section.bytes <= bytes.size() - section.offset)
      section.checksum =
          artifact::hash64(bytes.data() + section.offset, section.bytes);
  header.checksum =
      artifact::hash64(&header, offsetof(artifact::Header, checksum));
  memcpy(&bytes[0], &header, sizeof header);
}

TemporaryFile::TemporaryFile(const std::string &content) {
  char name[] = "/tmp/pascaline-test-XXXXXX";
  int file = mkstemp(name);
  if (file < 0)
    throw std::runtime_error("no temporary file");
  close(file);
  path = name;
  std::ofstream(path, std::ios::binary) << content;
}

TemporaryFile::~TemporaryFile() { unlink(path.c_str()); }

} // namespace pascaline::testing
