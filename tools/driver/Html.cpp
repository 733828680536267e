// Html.cpp - see Html.h.
#include "tools/driver/Html.h"

#include "llvm/Support/ConvertUTF.h"
#include "llvm/Support/JSON.h"

namespace pascaline::html {
namespace {

constexpr size_t kMostNameBytes = 200;
constexpr const char *kReplacement = "\xef\xbf\xbd";

/// Controls of XML and HTML, and the marks and overrides of bidirectional text
/// (Unicode Standard Annex 9, section 2).
bool isControl(uint32_t c) {
  return c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0x61c ||
         (c >= 0x200e && c <= 0x200f) || (c >= 0x2028 && c <= 0x202e) ||
         (c >= 0x2066 && c <= 0x2069) || c == 0xfeff || c == 0xfffe ||
         c == 0xffff;
}

} // namespace

std::string escape(llvm::StringRef bytes) {
  std::string valid = llvm::json::fixUTF8(bytes), result;
  auto *at = reinterpret_cast<const llvm::UTF8 *>(valid.data());
  auto *end = at + valid.size();
  while (at != end) {
    auto *start = at;
    llvm::UTF32 c = 0;
    if (llvm::convertUTF8Sequence(&at, end, &c, llvm::strictConversion) !=
        llvm::conversionOK)
      break; // not after fixUTF8
    switch (c) {
    case '&':
      result += "&amp;";
      break;
    case '<':
      result += "&lt;";
      break;
    case '>':
      result += "&gt;";
      break;
    case '"':
      result += "&quot;";
      break;
    case '\'':
      result += "&#39;";
      break;
    default:
      if (isControl(c))
        result += kReplacement;
      else
        result.append(reinterpret_cast<const char *>(start), at - start);
    }
  }
  return result;
}

std::string name(llvm::StringRef bytes) {
  bool isLong = bytes.size() > kMostNameBytes;
  return "<bdi>" + escape(bytes.take_front(kMostNameBytes)) +
         (isLong ? "\xe2\x80\xa6" : "") + "</bdi>";
}

std::string join(const uint32_t (&extents)[3]) {
  return std::to_string(extents[0]) + " x " + std::to_string(extents[1]) +
         " x " + std::to_string(extents[2]);
}

std::string thousandths(uint64_t value, uint64_t unit) {
  uint64_t rounded = (value + unit / 2) / unit;
  std::string digits = std::to_string(rounded % 1000);
  return std::to_string(rounded / 1000) + "." +
         std::string(3 - digits.size(), '0') + digits;
}

} // namespace pascaline::html
