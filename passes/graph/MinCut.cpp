// MinCut.cpp - see the header.
#include "passes/graph/MinCut.h"

#include <algorithm>

namespace pascaline {

int MinCut::addNode() {
  edgesOf.emplace_back();
  return static_cast<int>(edgesOf.size()) - 3;
}

void MinCut::addEdge(int from, int to, int64_t cost) {
  if (cost == 0 || from == to)
    return;
  edgesOf[place(from)].push_back(static_cast<int>(edges.size()));
  edges.push_back({place(to), cost});
  edgesOf[place(to)].push_back(static_cast<int>(edges.size()));
  edges.push_back({place(from), 0});
}

/// Numbers nodes by their distance from the source; whether the sink has one.
bool MinCut::rank() {
  level.assign(edgesOf.size(), -1);
  level[kSource] = 0;
  std::vector<int> reached = {kSource};
  for (size_t i = 0; i < reached.size(); ++i)
    for (int e : edgesOf[reached[i]])
      if (edges[e].left > 0 && level[edges[e].to] < 0) {
        level[edges[e].to] = level[reached[i]] + 1;
        reached.push_back(edges[e].to);
      }
  return level[kSink] >= 0;
}

/// Pushes flow along one path of increasing levels. The path is kept here and
/// not on the stack: it may be as long as the graph.
int64_t MinCut::push(int node, int64_t limit) {
  std::vector<int> path;
  while (node != kSink) {
    if (next[node] == edgesOf[node].size()) {
      if (path.empty())
        return 0;
      node = edges[path.back() ^ 1].to;
      path.pop_back();
      ++next[node];
      continue;
    }
    int e = edgesOf[node][next[node]];
    if (edges[e].left == 0 || level[edges[e].to] != level[node] + 1) {
      ++next[node];
      continue;
    }
    path.push_back(e);
    node = edges[e].to;
  }
  for (int e : path)
    limit = std::min(limit, edges[e].left);
  for (int e : path) {
    edges[e].left -= limit;
    edges[e ^ 1].left += limit;
  }
  return limit;
}

std::vector<bool> MinCut::solve() {
  while (rank()) {
    next.assign(edgesOf.size(), 0);
    while (push(kSource, kNever) > 0) {
    }
  }
  std::vector<bool> labels(edgesOf.size() - 2);
  for (size_t i = 0; i < labels.size(); ++i)
    labels[i] = level[i + 2] >= 0;
  return labels;
}

} // namespace pascaline
