#include "runtime/emulator/translate/TileVectorizer.h"

#include "llvm/ADT/PostOrderIterator.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/IntrinsicInst.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <vector>

namespace pascaline::emulator {

using llvm::BasicBlock;
using llvm::Value;

namespace {

constexpr size_t kLanes = 8;
// No StringRef: GCC under UBSan takes its test for null as no constant.
constexpr llvm::StringLiteral kDotProduct(kDotProductPrefix);

using Values = std::vector<Value *>;

// fma k+1 adds to what fma k gave; all in one block.
using Chain = std::vector<llvm::CallInst *>;

// fma, or a dot product of bytes: adds a product of operands 0 and 1 to
// operand 2.
llvm::CallInst *asMultiplyAdd(Value *value) {
  auto *call = llvm::dyn_cast<llvm::CallInst>(value);
  llvm::Function *callee = call ? call->getCalledFunction() : nullptr;
  if (!callee)
    return nullptr;
  bool is = callee->getIntrinsicID() == llvm::Intrinsic::fma
                ? call->getType()->isFloatTy()
                : callee->getName().starts_with(kDotProduct);
  return is ? call : nullptr;
}

// Byte i of each 32-bit lane, extended.
Value *byteOf(llvm::IRBuilder<> &builder, Value *value, unsigned i,
              bool isSigned) {
  value = builder.CreateShl(value, 24 - 8 * i);
  return isSigned ? builder.CreateAShr(value, 24)
                  : builder.CreateLShr(value, 24);
}

// The last two letters of a dot product's name: the signs of its factors.
bool isSignedFactor(const llvm::Function &callee, unsigned factor) {
  return callee.getName()[kDotProduct.size() + factor] == 's';
}

// What a dot product that is no lane of a tile becomes.
void expandDotProduct(llvm::CallInst *call) {
  llvm::IRBuilder<> builder(call);
  llvm::Type *bytes = llvm::FixedVectorType::get(builder.getInt8Ty(), 4);
  llvm::Type *words = llvm::FixedVectorType::get(builder.getInt32Ty(), 4);
  Value *factors[2];
  for (unsigned i = 0; i < 2; ++i) {
    Value *value = builder.CreateBitCast(call->getArgOperand(i), bytes);
    factors[i] = isSignedFactor(*call->getCalledFunction(), i)
                     ? builder.CreateSExt(value, words)
                     : builder.CreateZExt(value, words);
  }
  Value *sum =
      builder.CreateAddReduce(builder.CreateMul(factors[0], factors[1]));
  call->replaceAllUsesWith(builder.CreateAdd(sum, call->getArgOperand(2)));
  call->eraseFromParent();
}

// The only user, if it is an fma of the same block that adds to `fma`.
llvm::CallInst *nextInChain(llvm::CallInst *fma) {
  if (!fma->hasOneUse())
    return nullptr;
  llvm::CallInst *user = asMultiplyAdd(*fma->user_begin());
  bool follows = user && user->getParent() == fma->getParent() &&
                 user->getCalledFunction() == fma->getCalledFunction() &&
                 user->getArgOperand(2) == fma &&
                 user->getArgOperand(0) != fma && user->getArgOperand(1) != fma;
  return follows ? user : nullptr;
}

class BlockTiles {
public:
  explicit BlockTiles(BasicBlock &block) : block(block) {}
  unsigned run();

private:
  void collectChains();
  std::map<Values, std::vector<Chain>> groupBy(unsigned shared) const;
  bool vectorize(const std::vector<Chain> &chains, unsigned shared);
  bool canMove(const std::vector<Chain> &chains) const;
  Value *lanesOf(const Values &scalars);
  Value *splatOf(Value *scalar);
  const std::array<Value *, 4> &bytesOf(Value *vector, bool isSigned);
  Value *multiplyAdd(llvm::CallInst *scalar, llvm::Instruction *before,
                     Value *splat, Value *vector, Value *sum, unsigned shared);
  Value *accumulator(const std::vector<Chain> &chains,
                     llvm::Instruction *before, llvm::PHINode *&phi);
  llvm::Instruction *afterAll(const Values &scalars) const;

  BasicBlock &block;
  std::vector<Chain> chains;
  std::map<Values, Value *> vectors; // built in this block
  std::map<std::pair<Value *, bool>, std::array<Value *, 4>> bytes;
  // Erased at the end: `vectors` knows values by their addresses.
  std::vector<llvm::Instruction *> dead;
  llvm::Type *type = nullptr; // of the vectors of the lanes at work
};

void BlockTiles::collectChains() {
  for (llvm::Instruction &instruction : block) {
    llvm::CallInst *fma = asMultiplyAdd(&instruction);
    if (!fma)
      continue;
    llvm::CallInst *before = asMultiplyAdd(fma->getArgOperand(2));
    if (before && before->getParent() == &block && nextInChain(before) == fma)
      continue; // inside a chain
    Chain chain;
    for (; fma; fma = nextInChain(fma))
      chain.push_back(fma);
    chains.push_back(std::move(chain));
  }
}

// Chains by the sequence of one of their factors.
std::map<Values, std::vector<Chain>>
BlockTiles::groupBy(unsigned shared) const {
  std::map<Values, std::vector<Chain>> groups;
  for (const Chain &chain : chains) {
    Values key{chain.front()->getCalledFunction()};
    for (llvm::CallInst *fma : chain)
      key.push_back(fma->getArgOperand(shared));
    groups[key].push_back(chain);
  }
  return groups;
}

// Where a value that needs all `scalars` may stand, so that it dominates
// whatever any of them dominates in this block.
llvm::Instruction *BlockTiles::afterAll(const Values &scalars) const {
  llvm::Instruction *last = nullptr;
  for (Value *scalar : scalars) {
    auto *made = llvm::dyn_cast<llvm::Instruction>(scalar);
    if (made && made->getParent() == &block &&
        !llvm::isa<llvm::PHINode>(made) && (!last || last->comesBefore(made)))
      last = made;
  }
  return last ? last->getNextNode() : &*block.getFirstInsertionPt();
}

// A vector that is already there, seen through its extracted lanes.
Value *wholeVector(const Values &scalars, llvm::Type *type) {
  Value *whole = nullptr;
  for (size_t i = 0; i < scalars.size(); ++i) {
    Value *scalar = scalars[i];
    while (auto *phi = llvm::dyn_cast<llvm::PHINode>(scalar)) {
      if (phi->getNumIncomingValues() != 1)
        break;
      scalar = phi->getIncomingValue(0);
    }
    auto *extract = llvm::dyn_cast<llvm::ExtractElementInst>(scalar);
    auto *lane =
        extract ? llvm::dyn_cast<llvm::ConstantInt>(extract->getIndexOperand())
                : nullptr;
    if (!lane || lane->getZExtValue() != i ||
        extract->getVectorOperandType() != type ||
        (whole && whole != extract->getVectorOperand()))
      return nullptr;
    whole = extract->getVectorOperand();
  }
  return whole;
}

Value *buildVector(const Values &scalars, llvm::Type *type,
                   llvm::Instruction *before) {
  if (Value *whole = wholeVector(scalars, type))
    return whole;
  llvm::IRBuilder<> builder(before);
  Value *vector = llvm::PoisonValue::get(type);
  for (size_t i = 0; i < scalars.size(); ++i)
    vector = builder.CreateInsertElement(vector, scalars[i], uint64_t(i));
  return vector;
}

Value *BlockTiles::lanesOf(const Values &scalars) {
  Value *&vector = vectors[scalars];
  if (!vector)
    vector = buildVector(scalars, type, afterAll(scalars));
  return vector;
}

Value *BlockTiles::splatOf(Value *scalar) {
  Value *&vector = vectors[{scalar}];
  if (!vector)
    vector =
        llvm::IRBuilder<>(afterAll({scalar})).CreateVectorSplat(kLanes, scalar);
  return vector;
}

// What the chains start from. Where that is a loop's phi of each chain's own
// end, a phi of vectors, whose edges vectorize() fills in.
Value *BlockTiles::accumulator(const std::vector<Chain> &lanes,
                               llvm::Instruction *before, llvm::PHINode *&phi) {
  Values starts;
  bool loops = true;
  BasicBlock *header = nullptr;
  std::set<Value *> distinct;
  for (const Chain &chain : lanes) {
    starts.push_back(chain.front()->getArgOperand(2));
    auto *start = llvm::dyn_cast<llvm::PHINode>(starts.back());
    loops = loops && start && distinct.insert(start).second &&
            (!header || header == start->getParent()) &&
            llvm::is_contained(start->incoming_values(), chain.back());
    header = loops ? start->getParent() : nullptr;
  }
  if (!loops)
    return buildVector(starts, type, before);
  phi = llvm::PHINode::Create(type, 2, "", header->begin());
  return phi;
}

// Lanes move down to the last of them; nobody may want one before that.
bool BlockTiles::canMove(const std::vector<Chain> &lanes) const {
  llvm::Instruction *last = lanes[0].back();
  for (const Chain &chain : lanes)
    if (last->comesBefore(chain.back()))
      last = chain.back();
  for (const Chain &chain : lanes)
    for (llvm::User *user : chain.back()->users()) {
      auto *instruction = llvm::cast<llvm::Instruction>(user);
      if (instruction->getParent() == &block &&
          !llvm::isa<llvm::PHINode>(instruction) &&
          !last->comesBefore(instruction))
        return false;
    }
  return true;
}

// The four bytes of each lane, made once and next to the vector.
const std::array<Value *, 4> &BlockTiles::bytesOf(Value *vector,
                                                  bool isSigned) {
  std::array<Value *, 4> &all = bytes[{vector, isSigned}];
  if (all[0])
    return all;
  auto *made = llvm::dyn_cast<llvm::Instruction>(vector);
  llvm::Instruction *at = !made ? &*block.getFirstInsertionPt()
                          : llvm::isa<llvm::PHINode>(made)
                              ? &*made->getParent()->getFirstInsertionPt()
                              : made->getNextNode();
  llvm::IRBuilder<> builder(at);
  for (unsigned i = 0; i < 4; ++i)
    all[i] = byteOf(builder, vector, i, isSigned);
  return all;
}

Value *BlockTiles::multiplyAdd(llvm::CallInst *scalar,
                               llvm::Instruction *before, Value *splat,
                               Value *vector, Value *sum, unsigned shared) {
  llvm::IRBuilder<> builder(before);
  llvm::Function &callee = *scalar->getCalledFunction();
  if (callee.isIntrinsic())
    return builder.CreateIntrinsic(llvm::Intrinsic::fma, {type},
                                   {splat, vector, sum});
  const auto &left = bytesOf(splat, isSignedFactor(callee, shared));
  const auto &right = bytesOf(vector, isSignedFactor(callee, 1 - shared));
  for (unsigned i = 0; i < 4; ++i)
    sum = builder.CreateAdd(sum, builder.CreateMul(left[i], right[i]));
  return sum;
}

bool BlockTiles::vectorize(const std::vector<Chain> &lanes, unsigned shared) {
  if (!canMove(lanes))
    return false;
  type = llvm::FixedVectorType::get(lanes[0][0]->getType(), kLanes);
  size_t length = lanes[0].size();
  std::vector<llvm::Instruction *> places; // of step k
  for (size_t k = 0; k < length; ++k) {
    llvm::Instruction *place = lanes[0][k];
    for (const Chain &chain : lanes)
      if (place->comesBefore(chain[k]))
        place = chain[k];
    places.push_back(place);
  }
  llvm::PHINode *phi = nullptr;
  Value *sum = accumulator(lanes, places[0], phi);
  for (size_t k = 0; k < length; ++k) {
    Values factors;
    for (const Chain &chain : lanes)
      factors.push_back(chain[k]->getArgOperand(1 - shared));
    Value *vector = lanesOf(factors);
    Value *splat = splatOf(lanes[0][k]->getArgOperand(shared));
    sum = multiplyAdd(lanes[0][k], places[k], splat, vector, sum, shared);
  }
  if (phi) {
    auto *model = llvm::cast<llvm::PHINode>(lanes[0].front()->getArgOperand(2));
    std::map<BasicBlock *, Value *> edges; // a switch may have several
    for (BasicBlock *from : model->blocks()) {
      Value *&edge = edges[from];
      if (edge) {
        phi->addIncoming(edge, from);
        continue;
      }
      Values incoming;
      bool ends = true;
      for (const Chain &chain : lanes) {
        auto *start =
            llvm::cast<llvm::PHINode>(chain.front()->getArgOperand(2));
        incoming.push_back(start->getIncomingValueForBlock(from));
        ends = ends && incoming.back() == chain.back();
      }
      edge = ends ? sum : buildVector(incoming, type, from->getTerminator());
      phi->addIncoming(edge, from);
    }
    llvm::IRBuilder<> builder(&*phi->getParent()->getFirstInsertionPt());
    for (size_t i = 0; i < kLanes; ++i) {
      auto *start =
          llvm::cast<llvm::PHINode>(lanes[i].front()->getArgOperand(2));
      lanes[i].front()->setArgOperand(2,
                                      llvm::PoisonValue::get(start->getType()));
      start->replaceAllUsesWith(builder.CreateExtractElement(phi, uint64_t(i)));
      dead.push_back(start);
    }
  }
  llvm::IRBuilder<> builder(llvm::cast<llvm::Instruction>(sum)->getNextNode());
  for (size_t i = 0; i < kLanes; ++i) {
    const Chain &chain = lanes[i];
    chain.back()->replaceAllUsesWith(
        builder.CreateExtractElement(sum, uint64_t(i)));
    dead.insert(dead.end(), chain.begin(), chain.end());
  }
  return true;
}

// Factors that were loaded side by side stand side by side.
int64_t offsetOf(const Chain &chain, unsigned factor) {
  auto *load =
      llvm::dyn_cast<llvm::LoadInst>(chain.front()->getArgOperand(factor));
  if (!load)
    return 0;
  llvm::APInt offset(64, 0);
  load->getPointerOperand()->stripAndAccumulateConstantOffsets(
      load->getModule()->getDataLayout(), offset, /*AllowNonInbounds=*/true);
  return offset.getSExtValue();
}

unsigned BlockTiles::run() {
  collectChains();
  if (chains.size() < kLanes)
    return 0;
  type = llvm::FixedVectorType::get(llvm::Type::getFloatTy(block.getContext()),
                                    kLanes);
  // The factor that more chains share in whole vectors.
  size_t best = 0;
  unsigned shared = 0;
  std::map<Values, std::vector<Chain>> groups;
  for (unsigned factor = 0; factor < 2; ++factor) {
    auto grouped = groupBy(factor);
    size_t covered = 0;
    for (const auto &[key, group] : grouped)
      covered += group.size() / kLanes * kLanes;
    if (covered > best) {
      best = covered;
      shared = factor;
      groups = std::move(grouped);
    }
  }
  unsigned replaced = 0;
  for (auto &[key, group] : groups) {
    std::stable_sort(group.begin(), group.end(),
                     [&](const Chain &a, const Chain &b) {
                       return offsetOf(a, 1 - shared) < offsetOf(b, 1 - shared);
                     });
    for (size_t i = 0; i + kLanes <= group.size(); i += kLanes) {
      std::vector<Chain> lanes(group.begin() + i, group.begin() + i + kLanes);
      if (vectorize(lanes, shared))
        replaced += kLanes * lanes[0].size();
    }
  }
  for (llvm::Instruction *instruction : dead)
    instruction->dropAllReferences();
  for (llvm::Instruction *instruction : dead)
    instruction->eraseFromParent();
  return replaced;
}

} // namespace

unsigned vectorizeTiles(llvm::Function &function) {
  unsigned replaced = 0;
  llvm::ReversePostOrderTraversal<llvm::Function *> order(&function);
  for (BasicBlock *block : order)
    replaced += BlockTiles(*block).run();
  for (BasicBlock &block : function)
    for (llvm::Instruction &instruction : llvm::make_early_inc_range(block)) {
      llvm::CallInst *call = asMultiplyAdd(&instruction);
      if (call && !call->getCalledFunction()->isIntrinsic())
        expandDotProduct(call);
    }
  return replaced;
}

llvm::PreservedAnalyses TileVectorizer::run(llvm::Function &function,
                                            llvm::FunctionAnalysisManager &) {
  vectorizeTiles(function);
  llvm::PreservedAnalyses preserved;
  preserved.preserveSet<llvm::CFGAnalyses>();
  return preserved;
}

} // namespace pascaline::emulator
