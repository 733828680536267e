// Html.h - any bytes as text of an HTML page or an SVG in it.
//
// Test: test/e2e/report.py
#pragma once

#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <string>

namespace pascaline::html {

/// Safe between tags and inside quoted attributes. What is no UTF-8, no
/// character of XML or a control that turns text around becomes U+FFFD.
std::string escape(llvm::StringRef bytes);

/// A name from a model, cut to what a cell holds and kept from turning the text
/// beside it around.
std::string name(llvm::StringRef bytes);

/// "8 x 1 x 1"
std::string join(const uint32_t (&extents)[3]);

/// value / (1000 * unit) with three digits, without floating point.
std::string thousandths(uint64_t value, uint64_t unit);

} // namespace pascaline::html
