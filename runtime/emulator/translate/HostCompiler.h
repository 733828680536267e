// HostCompiler.h - LLVM IR to machine code of this host, and its linking.
//
// compile() optimises and may run on several threads at once, each with its own
// context. link() and find() are for one thread. Objects name variables as
// undefined symbols, so they hold no address of this process, and compile()
// takes them from an earlier process where it can (ObjectCache.h).
// Tests: test/emulator/TranslateTest.cpp, ObjectCacheTest.cpp.
#pragma once

#include "llvm/IR/DataLayout.h"
#include "llvm/Support/MemoryBuffer.h"

#include <memory>
#include <string>
#include <vector>

namespace llvm {
class Module;
namespace orc {
class LLJIT;
}
} // namespace llvm

namespace pascaline::emulator {

class HostCompiler {
public:
  static std::unique_ptr<HostCompiler> create(std::string &problem);
  ~HostCompiler();

  const llvm::DataLayout &dataLayout() const;

  // Null: `problem` says why.
  std::unique_ptr<llvm::MemoryBuffer> compile(llvm::Module &module,
                                              std::string &problem) const;
  bool define(const std::vector<std::pair<std::string, uint64_t>> &symbols,
              std::string &problem);
  bool add(std::unique_ptr<llvm::MemoryBuffer> object, std::string &problem);
  void *find(const std::string &name, std::string &problem);

private:
  struct Implementation;
  explicit HostCompiler(std::unique_ptr<Implementation> implementation);
  std::unique_ptr<Implementation> implementation;
};

} // namespace pascaline::emulator
