#include "tools/driver/Diagnostics.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Location.h"

#include "llvm/Support/raw_ostream.h"

using namespace mlir;

namespace pascaline {

DiagnosticCollector::DiagnosticCollector(MLIRContext &context,
                                         std::string model)
    : model(std::move(model)),
      handler(&context, [this](Diagnostic &d) { collect(d); }) {}

void DiagnosticCollector::collect(Diagnostic &diagnostic) {
  std::lock_guard<std::mutex> lock(mutex);
  if (diagnostic.getSeverity() == DiagnosticSeverity::Remark)
    remarks.push_back(model + ": " + diagnostic.str());
  if (diagnostic.getSeverity() != DiagnosticSeverity::Error)
    return;
  if (++count > 1)
    return;
  llvm::raw_string_ostream os(first);
  os << model << ": ";
  diagnostic.getLocation()->walk([&](Location part) {
    auto name = dyn_cast<NameLoc>(part);
    if (!name)
      return WalkResult::advance();
    os << "node \"" << name.getName().getValue() << "\": ";
    return WalkResult::interrupt();
  });
  os << diagnostic.str();
}

std::string DiagnosticCollector::sentence() const {
  if (count == 0)
    return model + ": a pass stopped without saying why";
  if (count == 1)
    return first;
  return first + " (and " + std::to_string(count - 1) + " more)";
}

} // namespace pascaline
