// Text.h - putting a sentence together from its parts.
#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/raw_ostream.h"

#include <string>

namespace pascaline::importer {

/// cat("has ", 3, " inputs"): the parts one after the other.
template <typename... Parts> std::string cat(const Parts &...parts) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  (stream << ... << parts);
  return text;
}

/// "1x3x224", or "scalar" for no dims.
inline std::string dimsText(llvm::ArrayRef<int64_t> dims) {
  if (dims.empty())
    return "scalar";
  std::string text;
  for (int64_t dim : dims)
    text += (text.empty() ? "" : "x") + std::to_string(dim);
  return text;
}

/// "[1, -2]", for lists of axes, pads and the like.
inline std::string listText(llvm::ArrayRef<int64_t> values) {
  std::string text = "[";
  for (size_t i = 0; i < values.size(); ++i) {
    if (i == 16)
      return text + ", ...]";
    text += (i ? ", " : "") + std::to_string(values[i]);
  }
  return text + "]";
}

} // namespace pascaline::importer
