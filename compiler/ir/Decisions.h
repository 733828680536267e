// Decisions.h - what was decided about each ONNX node, and why.
//
// A pass that chooses, or refuses, says so in one line where it does:
//
//   recordDecision(conv, Topic::Layout, "NHWC", "its input comes that way");
//   recordDecision(op, Topic::Precision, "f32", "a statistic");
//   recordDecision(pad, Topic::Fate, "folded", "its zeros are a conv's pads");
//   recordRefusal(reader, value, "others read its result too");
//
// The choice is a word or two, the reason a phrase without a full stop, written
// for the model's author: he knows node names, not ops. The op's location gives
// the nodes: all those of a group. What is said last about a node and a topic
// (for a refusal: about a pair of nodes) stands, so a pass that comes later
// corrects an earlier one by speaking again. Fates matter for nodes that are in
// no kernel at the end, refusals for pairs that end in different kernels: the
// report drops the rest, and passes need not foresee. A model compiled for
// several shape sets has a function for each, and decisions for each.
//
// Where nobody listens all of this is the test of a pointer. A DecisionLog
// listens to one context. Record from passes over a module or a function, which
// run one at a time, and not from kernel generators, which run side by side:
// the last word would then be chance.
//
// pascaline-opt --decisions prints the log; pascaline-compile --report makes
// its page of it.
//
// Test: test/passes/graph/decisions.mlir
#pragma once

#include "mlir/IR/Value.h"

#include "llvm/ADT/Twine.h"

#include <map>
#include <mutex>
#include <string>
#include <tuple>
#include <vector>

namespace llvm {
class raw_ostream;
} // namespace llvm

namespace mlir {
class DialectRegistry;
} // namespace mlir

namespace pascaline {

enum class Topic {
  Fate,      ///< "folded" or "eliminated": why no kernel computes the node
  Fusion,    ///< "not fused" with another node
  Precision, ///< "f16", "f32": how the node's result is stored
  Layout, ///< how the node's result lies in memory, or a conversion that stays
  Memory, ///< "in place", "copied": where the result lies
};

/// "fate", "fusion", ...
llvm::StringRef topicName(Topic topic);

struct Decision {
  std::string choice, reason;
};

/// A node of the model as the importer names it in locations, in the order of
/// the model; nodes of functions that were inlined come where they stand.
struct OnnxNode {
  std::string name; ///< no two have the same
  std::string op;   ///< "Conv"; "com.microsoft.Gelu" outside ai.onnx
};

class DecisionLog {
public:
  /// A function or the program that it became, by name; a node; for a refusal,
  /// the other node.
  struct Key {
    std::string function;
    Topic topic;
    std::string node, other;
    bool operator<(const Key &b) const {
      return std::tie(function, topic, node, other) <
             std::tie(b.function, b.topic, b.node, b.other);
    }
  };

  /// In the contexts that are made with the registry and do not outlive the
  /// log.
  void listenTo(mlir::DialectRegistry &registry);
  /// The log that listens to a context, or null.
  static DecisionLog *of(mlir::MLIRContext *context);

  void record(Key key, Decision decision);
  void addNode(llvm::StringRef function, OnnxNode node) {
    nodes[function.str()].push_back(std::move(node));
  }

  /// Of a function; empty where none was imported.
  const std::vector<OnnxNode> &getNodes(llvm::StringRef function) const;
  const std::map<Key, Decision> &getDecisions() const { return decisions; }
  /// Null where nothing was said.
  const Decision *find(llvm::StringRef function, Topic topic,
                       llvm::StringRef node) const;

  /// One line a decision: `fusion: "a" with "b": not fused: reason`.
  void print(llvm::raw_ostream &os) const;

private:
  std::map<std::string, std::vector<OnnxNode>> nodes;
  std::map<Key, Decision> decisions;
  std::mutex mutex;
};

/// Says something about the nodes of an op.
void recordDecision(mlir::Operation *op, Topic topic, const llvm::Twine &choice,
                    const llvm::Twine &reason);

/// Says why `reader`, an op or a group, does not compute `value` itself but
/// reads it from memory. Of a group that makes the value it is the op that
/// yields it which is named, of one that reads it the op that does.
void recordRefusal(mlir::Operation *reader, mlir::Value value,
                   const llvm::Twine &reason);

} // namespace pascaline
