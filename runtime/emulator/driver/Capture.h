// Capture.h - streams that record instead of running, and what they recorded.
//
// While a stream captures, work given to it becomes nodes of a graph, and
// events and waits move edges between streams, as the CUDA documentation says
// under "Creating a Graph Using Stream Capture". A graph runs its nodes in the
// order of recording, which respects every edge; edges are kept to tell a
// stream that was never joined. Whatever is not allowed while a stream captures
// is an error and invalidates the capture.
//
// State lies under Driver::objects; each function locks it.
// Test: test/emulator/DriverGraphTest.cpp.
#pragma once

#include "runtime/emulator/driver/Objects.h"

namespace pascaline::emulator {

// Checks a stream that is to get work. *captures: give it to record().
CUresult beginWork(CUstream stream, const ContextRef &context, bool *captures);
CUresult record(CUstream stream, const ContextRef &context, GraphWork work);

// For calls that wait for a stream, an event, or all of the context.
CUresult checkWait(CUstream stream, const ContextRef &context);
CUresult checkWait(const CUevent_st &event);
CUresult checkWait(const ContextRef &context);
// For calls that CUDA calls potentially unsafe during captures, as those that
// allocate: allowed as cuThreadExchangeStreamCaptureMode says.
CUresult checkUnsafe();

// An event recorded in, or waited for by, a stream. *captures: that is all.
CUresult captureRecord(CUevent_st &event, CUstream stream,
                       const ContextRef &context, bool *captures);
CUresult captureWait(CUstream stream, const CUevent_st &event,
                     const ContextRef &context);

// The stream is being destroyed; Driver::objects is held.
void forgetCapture(CUstream_st &stream);

} // namespace pascaline::emulator
