// Artifact.cpp - the file of a model.pasc: its header and its sections. What
// the plan section says is checked in Plan.cpp.
#include "runtime/src/Artifact.h"

#include "runtime/src/Error.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <elf.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace pascaline::runtime {

using namespace artifact;
using std::shared_ptr;

namespace {

const char *const kSectionNames[kSectionCount] = {"plan", "PTX", "cubin",
                                                  "weights"};

using Number = unsigned long long; // for printf

[[noreturn]] void damaged(const std::string &name, const std::string &what) {
  fail(PASCALINE_INVALID_ARTIFACT,
       "%s: %s; the file is damaged, compile the model again", name.c_str(),
       what.c_str());
}

void checkHeader(const Header &header, uint64_t bytes,
                 const std::string &name) {
  if (header.formatVersion != kFormatVersion)
    fail(PASCALINE_UNSUPPORTED,
         "%s: format version is %u, this runtime reads version %u; %s",
         name.c_str(), header.formatVersion, kFormatVersion,
         header.formatVersion > kFormatVersion ? "install a newer runtime"
                                               : "compile the model again");
  if (header.headerBytes != sizeof(Header))
    damaged(name, format("the header says it has %u bytes, it has %zu",
                         header.headerBytes, sizeof(Header)));
  uint64_t checksum = hash64(&header, offsetof(Header, checksum));
  if (checksum != header.checksum)
    damaged(name, format("the header's checksum is %016llx, its bytes give "
                         "%016llx",
                         (Number)header.checksum, (Number)checksum));
  if (header.fileBytes != bytes)
    damaged(name, format("the header says the file has %llu bytes, it has %llu",
                         (Number)header.fileBytes, (Number)bytes));
  if (header.targetSm != kTargetSm)
    fail(PASCALINE_UNSUPPORTED,
         "%s: compiled for sm_%u, this runtime runs sm_%u", name.c_str(),
         header.targetSm, kTargetSm);
  if (header.flags != 0)
    fail(PASCALINE_UNSUPPORTED,
         "%s: the header has flags %#x, this runtime knows none; use a newer "
         "runtime",
         name.c_str(), header.flags);
  if (std::any_of(std::begin(header.reserved), std::end(header.reserved),
                  [](uint8_t byte) { return byte != 0; }))
    damaged(name, "the header's reserved bytes are not zero");
}

void checkSections(const Header &header, const uint8_t *data, uint64_t bytes,
                   const std::string &name) {
  uint64_t end = sizeof(Header);
  for (int i = 0; i < kSectionCount; ++i) {
    const Section &section = header.sections[i];
    uint64_t alignment =
        i == kWeights && section.bytes ? kWeightsAlignment : kSectionAlignment;
    if (section.offset % alignment != 0)
      damaged(name, format("section %s is at %llu, no multiple of %llu",
                           kSectionNames[i], (Number)section.offset,
                           (Number)alignment));
    if (section.offset < end || section.offset > bytes ||
        section.bytes > bytes - section.offset)
      damaged(name,
              format("section %s has %llu bytes at %llu, outside the %llu to "
                     "%llu that are left for it",
                     kSectionNames[i], (Number)section.bytes,
                     (Number)section.offset, (Number)end, (Number)bytes));
    if (section.offset - end >= kWeightsAlignment)
      damaged(name,
              format("section %s is at %llu, too far behind the last one, "
                     "which ends at %llu",
                     kSectionNames[i], (Number)section.offset, (Number)end));
    for (uint64_t at = end; at < section.offset; ++at)
      if (data[at] != 0)
        damaged(name,
                format("byte %llu, between sections, is not zero", (Number)at));
    end = section.offset + section.bytes;
  }
  if (end != bytes)
    damaged(name, format("sections end at %llu, the file at %llu", (Number)end,
                         (Number)bytes));
  for (int i = 0; i < kSectionCount; ++i) {
    const Section &section = header.sections[i];
    uint64_t checksum = hash64(data + section.offset, section.bytes);
    if (checksum != section.checksum)
      damaged(name, format("the checksum of section %s is %016llx, its bytes "
                           "give %016llx",
                           kSectionNames[i], (Number)section.checksum,
                           (Number)checksum));
  }
}

// The driver takes a cubin without its length, so an ELF file that points
// outside itself would make it read there.
void checkCubin(const uint8_t *data, uint64_t bytes, const std::string &name) {
  Elf64_Ehdr header;
  if (bytes < sizeof header || memcmp(data, ELFMAG, SELFMAG) != 0 ||
      data[EI_CLASS] != ELFCLASS64 || data[EI_DATA] != ELFDATA2LSB)
    damaged(name, "section cubin is no 64-bit ELF file");
  memcpy(&header, data, sizeof header);
  // The flags' low byte is the architecture, as in every cubin of CUDA 8 to 12.
  constexpr unsigned kMachineCuda = 190; // EM_CUDA, which old elf.h lack
  if (header.e_machine != kMachineCuda || (header.e_flags & 0xff) != kTargetSm)
    damaged(name, format("section cubin is of machine %u and architecture %u, "
                         "not of %u and %u",
                         unsigned(header.e_machine), header.e_flags & 0xff,
                         kMachineCuda, kTargetSm));
  auto inside = [&](uint64_t offset, uint64_t size) {
    return offset <= bytes && size <= bytes - offset;
  };
  bool good =
      (header.e_shnum == 0 || header.e_shentsize == sizeof(Elf64_Shdr)) &&
      (header.e_phnum == 0 || header.e_phentsize == sizeof(Elf64_Phdr)) &&
      inside(header.e_shoff, header.e_shnum * sizeof(Elf64_Shdr)) &&
      inside(header.e_phoff, header.e_phnum * sizeof(Elf64_Phdr));
  for (unsigned i = 0; good && i < header.e_shnum; ++i) {
    Elf64_Shdr section;
    memcpy(&section, data + header.e_shoff + i * sizeof section,
           sizeof section);
    good = section.sh_type == SHT_NOBITS ||
           inside(section.sh_offset, section.sh_size);
  }
  for (unsigned i = 0; good && i < header.e_phnum; ++i) {
    Elf64_Phdr segment;
    memcpy(&segment, data + header.e_phoff + i * sizeof segment,
           sizeof segment);
    good = inside(segment.p_offset, segment.p_filesz);
  }
  if (!good)
    damaged(name, "section cubin is an ELF file that points outside itself");
}

} // namespace

Artifact::~Artifact() {
  if (mapping)
    munmap(mapping, mappingBytes);
}

shared_ptr<const Artifact> Artifact::open(const char *path) {
  auto result = std::make_shared<Artifact>();
  result->name = path;
  // Not blocking: a pipe would make open() wait for a writer.
  int file = ::open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0)
    fail(PASCALINE_FILE_ERROR, "%s: cannot be opened: %s", path,
         strerror(errno));
  struct stat status;
  std::string problem;
  if (fstat(file, &status) != 0) {
    problem = strerror(errno);
  } else if (!S_ISREG(status.st_mode)) {
    problem = "not a regular file";
  } else if (status.st_size > 0) {
    void *memory =
        mmap(nullptr, size_t(status.st_size), PROT_READ, MAP_PRIVATE, file, 0);
    if (memory == MAP_FAILED) {
      problem = strerror(errno);
    } else {
      result->mapping = memory;
      result->mappingBytes = uint64_t(status.st_size);
    }
  }
  close(file);
  if (!problem.empty())
    fail(PASCALINE_FILE_ERROR, "%s: cannot be read: %s", path, problem.c_str());
  result->read(static_cast<const uint8_t *>(result->mapping),
               result->mappingBytes);
  return result;
}

shared_ptr<const Artifact> Artifact::openBytes(const void *data, uint64_t bytes,
                                               const char *name) {
  auto result = std::make_shared<Artifact>();
  result->name = name;
  result->read(static_cast<const uint8_t *>(data), bytes);
  return result;
}

void Artifact::read(const uint8_t *data, uint64_t bytes) {
  if (bytes >= sizeof kMagic && memcmp(data, kMagic, sizeof kMagic) != 0)
    fail(PASCALINE_INVALID_ARTIFACT,
         "%s: not a pascaline artifact: starts with bytes %02x %02x %02x %02x; "
         "make one with pascaline-compile MODEL.onnx -o OUT.pasc",
         name.c_str(), data[0], data[1], data[2], data[3]);
  if (bytes < sizeof(Header))
    fail(PASCALINE_INVALID_ARTIFACT,
         "%s: not a pascaline artifact: has %llu bytes, less than the %zu of "
         "its header; make one with pascaline-compile MODEL.onnx -o OUT.pasc",
         name.c_str(), (Number)bytes, sizeof(Header));
  memcpy(&header, data, sizeof header);
  checkHeader(header, bytes, name);

  checkSections(header, data, bytes, name);

  // The plan is checked in our own copy, which nobody can change any more.
  const Section &planSection = header.sections[kPlan];
  if (planSection.bytes > kMaxPlanBytes)
    damaged(name, format("section plan has %llu bytes, more than %llu",
                         (Number)planSection.bytes, (Number)kMaxPlanBytes));
  planBytes.reset(new uint8_t[planSection.bytes]);
  memcpy(planBytes.get(), data + planSection.offset, planSection.bytes);

  const Section &ptxSection = header.sections[kPtx];
  ptx.assign(reinterpret_cast<const char *>(data + ptxSection.offset),
             ptxSection.bytes);
  if (ptx.find('\0') != ptx.size() - 1 || ptx.empty())
    damaged(name, "section PTX is not text with one zero byte at its end");
  ptx.pop_back();

  const Section &cubinSection = header.sections[kCubin];
  cubinCopy.assign(data + cubinSection.offset,
                   data + cubinSection.offset + cubinSection.bytes);
  if (!cubinCopy.empty())
    checkCubin(cubinCopy.data(), cubinCopy.size(), name);
  cubin = cubinCopy.data();
  cubinBytes = cubinCopy.size();
  weights = data + header.sections[kWeights].offset;
  weightsBytes = header.sections[kWeights].bytes;
  plan = readPlan(planBytes.get(), planSection.bytes, weightsBytes, name);
}

} // namespace pascaline::runtime
