// GraphOrder.cpp - Kahn's algorithm with a heap, so that the smallest index
// that is ready comes next. Nothing here recurses: chains may be long.
#include "compiler/import/GraphOrder.h"
#include "compiler/import/Text.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

#include <algorithm>
#include <queue>

using llvm::StringRef;

namespace pascaline::importer {
namespace {

class Orderer {
public:
  Orderer(llvm::ArrayRef<Node> nodes,
          llvm::function_ref<const char *(StringRef)> outside,
          std::string &error)
      : nodes(nodes), outside(outside), error(error) {}

  bool run(llvm::SmallVectorImpl<unsigned> &order) {
    return collectMakers() && collectReads() && sort(order);
  }

private:
  bool definedTwice(StringRef name, const std::string &first,
                    const std::string &second) {
    error = cat("value ", quoted(name), " is defined twice, by ", first,
                " and by ", second);
    return false;
  }

  bool collectMakers() {
    for (unsigned i = 0; i < nodes.size(); ++i)
      for (StringRef name : nodes[i].outputs) {
        if (name.empty())
          continue;
        if (const char *other = outside(name))
          return definedTwice(name, other, nodeLabel(nodes[i], i));
        auto [it, isNew] = makers.try_emplace(name, i);
        if (!isNew)
          return definedTwice(name, nodeLabel(nodes[it->second], it->second),
                              nodeLabel(nodes[i], i));
      }
    // A subgraph sees the names around it and may not make them again.
    for (unsigned i = 0; i < nodes.size(); ++i)
      for (StringRef name : nodes[i].innerMakes) {
        if (name.empty())
          continue;
        std::string inner = "a subgraph of " + nodeLabel(nodes[i], i);
        if (const char *other = outside(name))
          return definedTwice(name, other, inner);
        auto it = makers.find(name);
        if (it != makers.end())
          return definedTwice(name, nodeLabel(nodes[it->second], it->second),
                              inner);
      }
    return true;
  }

  bool collectReads() {
    readers.resize(nodes.size());
    waits.assign(nodes.size(), 0);
    for (unsigned i = 0; i < nodes.size(); ++i) {
      for (StringRef name : nodes[i].inputs) {
        if (name.empty() || outside(name))
          continue;
        auto it = makers.find(name);
        if (it == makers.end()) {
          error = cat(nodeLabel(nodes[i], i), " reads ", quoted(name),
                      ", which no node, input or initializer defines");
          return false;
        }
        addRead(it->second, i);
      }
      // What a subgraph reads and nobody here makes is its own affair.
      for (StringRef name : nodes[i].innerReads) {
        auto it = makers.find(name);
        if (it != makers.end())
          addRead(it->second, i);
      }
    }
    return true;
  }

  void addRead(unsigned maker, unsigned reader) {
    readers[maker].push_back(reader);
    ++waits[reader];
  }

  bool sort(llvm::SmallVectorImpl<unsigned> &order) {
    std::priority_queue<unsigned, std::vector<unsigned>, std::greater<>> ready;
    for (unsigned i = 0; i < nodes.size(); ++i)
      if (waits[i] == 0)
        ready.push(i);
    while (!ready.empty()) {
      unsigned node = ready.top();
      ready.pop();
      order.push_back(node);
      for (unsigned reader : readers[node])
        if (--waits[reader] == 0)
          ready.push(reader);
    }
    if (order.size() == nodes.size())
      return true;
    nameCycle();
    return false;
  }

  // A node that still waits reads from another that does; following these
  // reads must come back to a node already seen, and there the cycle closes.
  void nameCycle() {
    std::vector<unsigned> from(nodes.size(), ~0u);
    for (unsigned i = 0; i < nodes.size(); ++i)
      if (waits[i])
        for (unsigned reader : readers[i])
          if (waits[reader])
            from[reader] = i;
    unsigned at = 0;
    while (from[at] == ~0u)
      ++at;
    llvm::DenseMap<unsigned, size_t> seen;
    std::vector<unsigned> path;
    while (seen.try_emplace(at, path.size()).second) {
      path.push_back(at);
      at = from[at];
    }
    path.erase(path.begin(), path.begin() + seen[at]);
    std::reverse(path.begin(), path.end());
    std::rotate(path.begin(), std::min_element(path.begin(), path.end()),
                path.end());
    constexpr size_t kShown = 8;
    error = "the graph has a cycle: ";
    for (size_t i = 0; i < std::min(path.size(), kShown); ++i)
      error += (i ? ", " : "") + nodeLabel(nodes[path[i]], path[i]);
    if (path.size() > kShown)
      error += cat(" and ", path.size() - kShown, " more");
    error += path.size() == 1 ? " reads its own output"
                              : " wait for each other's outputs";
  }

  llvm::ArrayRef<Node> nodes;
  llvm::function_ref<const char *(StringRef)> outside;
  std::string &error;
  llvm::DenseMap<StringRef, unsigned> makers;
  std::vector<std::vector<unsigned>> readers;
  std::vector<unsigned> waits;
};

} // namespace

std::string nodeLabel(const Node &node, size_t index) {
  std::string op = printable(node.op);
  if (!node.domain.empty())
    op = printable(node.domain) + "." + op;
  return (node.name.empty() ? "node #" + std::to_string(index)
                            : "node " + quoted(node.name)) +
         " (" + op + ")";
}

bool orderNodes(llvm::ArrayRef<Node> nodes,
                llvm::function_ref<const char *(StringRef)> outside,
                llvm::SmallVectorImpl<unsigned> &order, std::string &error) {
  return Orderer(nodes, outside, error).run(order);
}

} // namespace pascaline::importer
