// ApiShapeSets.cpp - the C functions of pascaline.h about shape sets.
//
// Test: test/runtime/ShapeSetTest.cpp
#include "runtime/src/ApiChecks.h"

using namespace pascaline;
using namespace pascaline::runtime;

namespace {

const Program &programOf(const pascaline_artifact *artifact, size_t set) {
  const Plan &plan = planOf(artifact);
  requireIndex(set, plan.programCount(), "shape set");
  return plan.program(set);
}

void describe(const std::vector<Tensor> &tensors, size_t index,
              const char *what, pascaline_tensor_info *info) {
  require(info, "info");
  requireIndex(index, tensors.size(), what);
  const Tensor &tensor = tensors[index];
  *info = {tensor.name, pascaline_element_type(tensor.type), tensor.rank,
           tensor.shape, tensor.bytes};
}

bool hasShapes(const Program &program, const pascaline_shape *shapes) {
  for (size_t i = 0; i < program.inputs.size(); ++i)
    if (!std::equal(program.inputs[i].shape,
                    program.inputs[i].shape + program.inputs[i].rank,
                    shapes[i].dims, shapes[i].dims + shapes[i].rank))
      return false;
  return true;
}

// "x 1x3 y 4", as far as a sentence goes.
template <class ShapeOf>
std::string shapesText(const Plan &plan, const ShapeOf &shapeOf) {
  constexpr size_t kMost = 8;
  std::string text;
  for (size_t i = 0; i < plan.inputs.size() && i < kMost; ++i) {
    pascaline_shape shape = shapeOf(i);
    text += format("%s%.64s ", i ? " " : "", plan.inputs[i].name);
    for (size_t d = 0; d < shape.rank && d < kMost; ++d)
      text += format("%s%lld", d ? "x" : "", (long long)shape.dims[d]);
    text += shape.rank > kMost ? "..." : shape.rank ? "" : "scalar";
  }
  return text + (plan.inputs.size() > kMost ? " ..." : "");
}

} // namespace

pascaline_status
pascaline_shape_set_get_info(const pascaline_artifact *artifact, size_t set,
                             pascaline_shape_set_info *info) {
  return guarded([&] {
    const Program &program = programOf(artifact, set);
    require(info, "info");
    *info = {program.launches.size(), program.init.size(),
             memoryOf(planOf(artifact), layoutOf(program))};
  });
}

pascaline_status pascaline_shape_set_input(const pascaline_artifact *artifact,
                                           size_t set, size_t index,
                                           pascaline_tensor_info *info) {
  return guarded(
      [&] { describe(programOf(artifact, set).inputs, index, "input", info); });
}

pascaline_status pascaline_shape_set_output(const pascaline_artifact *artifact,
                                            size_t set, size_t index,
                                            pascaline_tensor_info *info) {
  return guarded([&] {
    describe(programOf(artifact, set).outputs, index, "output", info);
  });
}

pascaline_status pascaline_shape_set_launch(const pascaline_artifact *artifact,
                                            size_t set, size_t index,
                                            pascaline_launch_info *info) {
  return guarded([&] {
    static const char *const limits[] = {"unknown", "fma", "dram", "shared",
                                         "latency"};
    const Program &program = programOf(artifact, set);
    require(info, "info");
    requireIndex(index, program.launches.size(), "launch");
    const Launch &launch = program.launches[index];
    *info = {launch.kernel,
             {launch.grid[0], launch.grid[1], launch.grid[2]},
             launch.nodes.size(),
             launch.nodes.data(),
             launch.flops,
             launch.bytes,
             launch.role == artifact::Role::secondary,
             limits[size_t(launch.limit)]};
  });
}

pascaline_status pascaline_shape_set_find(const pascaline_artifact *artifact,
                                          const pascaline_shape *shapes,
                                          size_t shape_count, size_t *set) {
  return guarded([&] {
    const Plan &plan = planOf(artifact);
    require(set, "set");
    if (shape_count)
      require(shapes, "shapes");
    if (shape_count != plan.inputs.size())
      fail(PASCALINE_INVALID_ARGUMENT,
           "model %s has %zu inputs, %zu shapes were given", plan.model,
           plan.inputs.size(), shape_count);
    for (size_t i = 0; i < shape_count; ++i)
      if (shapes[i].rank)
        require(shapes[i].dims, "a shape's dims");
    for (size_t i = 0; i < plan.programCount(); ++i)
      if (hasShapes(plan.program(i), shapes)) {
        *set = i;
        return;
      }
    std::string known;
    for (size_t i = 0; i < plan.programCount(); ++i) {
      const Program &program = plan.program(i);
      known += (i ? "; " : "") + shapesText(plan, [&](size_t input) {
                 return pascaline_shape{program.inputs[input].shape,
                                        program.inputs[input].rank};
               });
    }
    fail(PASCALINE_INVALID_ARGUMENT,
         "model %s is compiled for %s, and not for %s; compile it for these "
         "shapes too",
         plan.model, known.c_str(),
         shapesText(plan, [&](size_t input) { return shapes[input]; }).c_str());
  });
}
