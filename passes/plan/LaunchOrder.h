// LaunchOrder.h - an order of launches in which little memory lives at once.
//
// A beam search: from the start, a few partial orders are kept, those with the
// smallest peak so far and then the least that lives, and each is extended by
// every launch that waits for nothing. Two that have run the same launches
// hold the same memory, so the one with the smaller peak stands for both. A
// launch that lifts no peak and leaves no more behind than there was is run at
// once: nothing is gained by waiting (Ahn et al., "Ordering Chaos: Memory-Aware
// Scheduling of Irregularly Wired Neural Networks for Edge Devices", 2020,
// finds such orders by dynamic programming over the same states; a beam bounds
// it).
//
// Test: test/compiler/LaunchOrderTest.cpp
#pragma once

#include "passes/plan/MemoryModel.h"

namespace pascaline {

/// An order that may run and whose largest sum of live bytes is no more than
/// the model's own order has; that one where nothing less was found. The same
/// model gives the same order.
std::vector<unsigned> findLaunchOrder(const MemoryModel &model);

} // namespace pascaline
