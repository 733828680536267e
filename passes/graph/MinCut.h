// MinCut.h - the cheapest way to give every node one of two labels.
//
// Nodes are numbered from 0. Each edge charges its cost where the node at its
// start has label 1 and the one at its end label 0; kOne and kZero stand for
// the two labels themselves. The choice with the smallest sum is a minimum cut
// (Ford and Fulkerson; found with Dinic's algorithm). Of several, the one with
// the fewest ones, so that what need not change does not.
//
//   MinCut cut(2);
//   cut.addEdge(0, 1, 5);              // 5 where 0 has label 1 and 1 has 0
//   cut.addEdge(MinCut::kOne, 0, 3);   // 3 where 0 has label 0
//   std::vector<bool> labels = cut.solve();
//
// Test: test/passes/graph/absorb-transposes.mlir
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

namespace pascaline {

class MinCut {
public:
  static constexpr int kOne = -1, kZero = -2;
  /// A cost that is never paid if it can be avoided.
  static constexpr int64_t kNever = std::numeric_limits<int64_t>::max() / 4;

  explicit MinCut(int nodes) : edgesOf(nodes + 2) {}

  int addNode();
  void addEdge(int from, int to, int64_t cost);
  /// The label of every node; call it once.
  std::vector<bool> solve();

private:
  struct Edge {
    int to;
    int64_t left;
  };
  /// The labels' own nodes come first.
  static int place(int node) { return node + 2; }
  static constexpr int kSource = 1, kSink = 0;

  bool rank();
  int64_t push(int node, int64_t limit);

  std::vector<Edge> edges; // number i goes back along number i ^ 1
  std::vector<std::vector<int>> edgesOf;
  std::vector<int> level;
  std::vector<size_t> next;
};

} // namespace pascaline
