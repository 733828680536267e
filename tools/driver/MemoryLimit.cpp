// MemoryLimit.cpp - a number of bytes in words and back, and why a plan needs
// more than a limit.
#include "compiler/import/Model.h"
#include "tools/driver/Compile.h"
#include "tools/driver/Report.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/raw_ostream.h"

#include <limits>

namespace pascaline {

std::optional<uint64_t> parseBytes(llvm::StringRef text) {
  constexpr std::pair<const char *, uint64_t> kUnits[] = {
      {"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}};
  uint64_t unit = 1, count = 0;
  for (auto [suffix, bytes] : kUnits)
    if (text.consume_back(suffix)) {
      unit = bytes;
      break;
    }
  if (text.empty() || text.getAsInteger(10, count) || count == 0 ||
      count > std::numeric_limits<int64_t>::max() / unit)
    return std::nullopt;
  return count * unit;
}

/// A launch's first node, for a sentence.
static std::string firstNode(const std::vector<std::string> &nodes) {
  return "node " + importer::quoted(nodes.front());
}

std::string overLimitText(const Report::Program &r, uint64_t limit) {
  const Report::Memory &m = r.memory;
  std::string text;
  llvm::raw_string_ostream os(text);
  os << "needs " << m.total << " bytes of device memory, more than the "
     << "--memory-limit of " << limit << ": weights " << m.weights + m.init
     << ", arena " << m.arena << ", counters " << m.counters << ", staging "
     << m.staging;
  if (m.peakLaunch != Report::kNone && r.launches[m.peakLaunch].liveBytes > 0) {
    const Report::Launch &peak = r.launches[m.peakLaunch];
    os << "; most of the arena lives at launch " << m.peakLaunch;
    if (!peak.nodes.empty())
      os << " (" << firstNode(peak.nodes) << ')';
    std::vector<size_t> alive;
    for (auto [i, buffer] : llvm::enumerate(r.buffers))
      if (buffer.kind == "arena" && buffer.first != Report::kNone &&
          buffer.first <= m.peakLaunch && m.peakLaunch <= buffer.last)
        alive.push_back(i);
    llvm::stable_sort(alive, [&](size_t a, size_t b) {
      return r.buffers[a].bytes > r.buffers[b].bytes;
    });
    os << ", where";
    for (size_t i = 0; i < std::min<size_t>(alive.size(), 3); ++i) {
      const Report::Buffer &buffer = r.buffers[alive[i]];
      os << (i ? ", " : " ")
         << (buffer.nodes.empty()
                 ? "scratch memory"
                 : "what " + firstNode(buffer.nodes) + " makes")
         << " takes " << buffer.bytes;
    }
  }
  os << "; give smaller shapes, --precision fp16 or a card with more memory";
  return text;
}

} // namespace pascaline
