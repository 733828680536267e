// ReportPicture.cpp - the arena over the launches, as an SVG element: launches
// to the right, offsets upwards. Coordinates are whole numbers, so that the
// same report gives the same bytes on any machine.
#include "tools/driver/Report.h"

#include "tools/driver/Html.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/raw_ostream.h"

namespace pascaline {
namespace {

constexpr int64_t kLeft = 10, kTop = 24, kWidth = 1000, kHeight = 380;

/// part / whole of a length; parts are bytes of a device, well below 2^50.
int64_t scaled(uint64_t part, uint64_t whole, int64_t length) {
  return whole ? int64_t(part * uint64_t(length) / whole) : 0;
}

} // namespace

std::string arenaPicture(const Report::Program &r) {
  std::string result;
  llvm::raw_string_ostream os(result);
  uint64_t steps = std::max<size_t>(r.launches.size(), 1);
  uint64_t arena = r.memory.arena;
  auto x = [&](uint64_t launch) {
    return kLeft + scaled(launch, steps, kWidth);
  };
  auto y = [&](uint64_t bytes) {
    return kTop + kHeight - scaled(bytes, arena, kHeight);
  };
  os << "<svg viewBox=\"0 0 " << kLeft * 2 + kWidth << ' '
     << kTop + kHeight + 24
     << "\" role=\"img\" aria-label=\"the arena over the "
     << "launches\">\n";
  os << "<text x=\"" << kLeft << "\" y=\"" << kTop - 8 << "\">"
     << sizeText(arena) << " of arena</text>\n";
  os << "<text x=\"" << kLeft << "\" y=\"" << kTop + kHeight + 18
     << "\">launch 0 to " << (r.launches.empty() ? 0 : r.launches.size() - 1)
     << "</text>\n";
  for (auto [i, buffer] : llvm::enumerate(r.buffers)) {
    if (buffer.kind != "arena" || buffer.first == Report::kNone ||
        buffer.bytes == 0)
      continue;
    int64_t left = x(buffer.first), right = x(buffer.last + 1);
    int64_t top = y(buffer.offset + buffer.bytes), bottom = y(buffer.offset);
    os << "<rect x=\"" << left << "\" y=\"" << top << "\" width=\""
       << std::max<int64_t>(right - left, 1) << "\" height=\""
       << std::max<int64_t>(bottom - top, 1) << "\"><title>buffer " << i << ", "
       << sizeText(buffer.bytes) << " at " << buffer.offset << ", launches "
       << buffer.first << " to " << buffer.last;
    if (!buffer.nodes.empty())
      os << ": "
         << html::escape(llvm::StringRef(buffer.nodes.front()).take_front(80));
    os << "</title></rect>\n";
  }
  os << "<polyline class=\"live\" points=\"";
  for (auto [i, launch] : llvm::enumerate(r.launches))
    os << (i ? " " : "") << x(i) << ',' << y(launch.liveBytes) << ' '
       << x(i + 1) << ',' << y(launch.liveBytes);
  os << "\"/>\n</svg>\n";
  return result;
}

} // namespace pascaline
