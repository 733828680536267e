// GraphOrder.h - the order in which a list of nodes can be imported.
//
// Tests: test/import/graph.test.
#pragma once

#include "compiler/import/Model.h"

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"

namespace pascaline::importer {

/// `node "conv1" (Conv)`, or `node #3 (Conv)` when it has no name.
std::string nodeLabel(const Node &node, size_t index);

/// Indices of `nodes` such that every value is made before it is read; nodes
/// already in order stay where they are. `outside` says what defines a name
/// beyond the nodes ("an initializer"), or returns null. False and `error` when
/// a name is defined twice, read but never defined, or defined by way of
/// itself.
bool orderNodes(llvm::ArrayRef<Node> nodes,
                llvm::function_ref<const char *(llvm::StringRef)> outside,
                llvm::SmallVectorImpl<unsigned> &order, std::string &error);

} // namespace pascaline::importer
