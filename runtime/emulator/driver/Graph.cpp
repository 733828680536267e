// Graph.cpp - graphs made by stream capture: instantiated and launched.
#include "runtime/emulator/driver/Capture.h"

using namespace pascaline::emulator;

namespace {

CUresult instantiate(CUgraphExec *executable, CUgraph graph,
                     unsigned long long flags,
                     const char *call = __builtin_FUNCTION()) {
  ContextRef context;
  if (CUresult result = enter(&context, call))
    return result;
  // 1: allocations freed on launch, 2: upload, 4: launch from the device,
  // 8: node priorities.
  if (!executable || (flags & ~0xfull))
    return invalidValue("executable is null, or flags " +
                        std::to_string(flags) + " are not known");
  if (flags & 4)
    return fail(CUDA_ERROR_NOT_SUPPORTED,
                "the emulator launches no graphs from the device");
  Driver &driver = Driver::get();
  std::lock_guard<std::mutex> lock(driver.objects);
  auto found = driver.graphs.find(graph);
  if (found == driver.graphs.end())
    return invalidHandle("the graph");
  auto made = std::make_shared<CUgraphExec_st>();
  made->context = found->second->context;
  made->nodes = found->second->nodes;
  driver.executables[made.get()] = made;
  *executable = made.get();
  return CUDA_SUCCESS;
}

} // namespace

CUresult cuGraphInstantiateWithFlags(CUgraphExec *executable, CUgraph graph,
                                     unsigned long long flags) {
  return instantiate(executable, graph, flags);
}

CUresult cuGraphInstantiate_v2(CUgraphExec *executable, CUgraph graph,
                               CUgraphNode *errorNode, char *log,
                               size_t logBytes) {
  if (errorNode)
    *errorNode = nullptr;
  if (log && logBytes)
    *log = '\0';
  return instantiate(executable, graph, 0);
}

namespace {

CUresult enterWith(CUgraphExec executable, CUstream stream, ContextRef *context,
                   std::shared_ptr<CUgraphExec_st> *found, bool *captures,
                   const char *call = __builtin_FUNCTION()) {
  if (CUresult result = enter(context, call))
    return result;
  Driver &driver = Driver::get();
  *found = driver.find(driver.executables, executable);
  if (!*found || (*found)->context != context->get())
    return invalidHandle("the executable graph");
  return beginWork(stream, *context, captures);
}

CUresult runAll(const std::vector<GraphNode> &nodes,
                const ContextRef &context) {
  for (const GraphNode &node : nodes)
    if (CUresult result = node.work(context))
      return result;
  return CUDA_SUCCESS;
}

} // namespace

CUresult cuGraphLaunch(CUgraphExec executable, CUstream stream) {
  ContextRef context;
  std::shared_ptr<CUgraphExec_st> found;
  bool captures;
  if (CUresult result =
          enterWith(executable, stream, &context, &found, &captures))
    return result;
  if (captures)
    return record(stream, context,
                  [nodes = found->nodes](const ContextRef &running) {
                    return runAll(*nodes, running);
                  });
  return runAll(*found->nodes, context);
}

CUresult cuGraphUpload(CUgraphExec executable, CUstream stream) {
  ContextRef context;
  std::shared_ptr<CUgraphExec_st> found;
  bool captures;
  return enterWith(executable, stream, &context, &found, &captures);
}

namespace {

template <class T>
CUresult destroy(Table<T> &table, T *handle, const char *what,
                 const char *call = __builtin_FUNCTION()) {
  ContextRef context;
  if (CUresult result = enter(&context, call))
    return result;
  std::shared_ptr<T> last; // dies after the lock
  std::lock_guard<std::mutex> lock(Driver::get().objects);
  auto found = table.find(handle);
  if (found == table.end())
    return invalidHandle(what);
  last = std::move(found->second);
  table.erase(found);
  return CUDA_SUCCESS;
}

} // namespace

CUresult cuGraphDestroy(CUgraph graph) {
  return destroy(Driver::get().graphs, graph, "the graph");
}

CUresult cuGraphExecDestroy(CUgraphExec executable) {
  return destroy(Driver::get().executables, executable, "the executable graph");
}
