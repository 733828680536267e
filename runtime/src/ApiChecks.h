// ApiChecks.h - what the C functions do with their arguments first.
#pragma once

#include "runtime/src/Error.h"
#include "runtime/src/Handles.h"

namespace pascaline::runtime {

inline void require(const void *pointer, const char *what) {
  if (!pointer)
    fail(PASCALINE_INVALID_ARGUMENT, "%s is NULL", what);
}

inline void requireIndex(size_t index, size_t count, const char *what) {
  if (index >= count)
    fail(PASCALINE_INVALID_ARGUMENT, "%s %zu: there are %zu, counted from 0",
         what, index, count);
}

inline const Plan &planOf(const pascaline_artifact *handle) {
  require(handle, "artifact");
  return handle->artifact->plan;
}

// What a model and a session take on the device, where `layout` is a session's.
inline pascaline_memory memoryOf(const Plan &plan,
                                 const SessionLayout &layout) {
  return {plan.weightsBytes,   layout.arenaBytes,      layout.counterBytes,
          layout.stagingBytes, layout.lowerBoundBytes, plan.weightsBytes,
          layout.total(),      layout.onnxOrderBytes};
}

} // namespace pascaline::runtime
