// Run.cpp - `pascaline run`: .npy in, one run, .npy out. All that can be
// refused without a device is refused before one is opened, and files appear
// only after the run.
#include "tools/pascaline/Counters.h"
#include "tools/pascaline/Npy.h"
#include "tools/pascaline/Summary.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <map>

namespace pascaline::cli {
namespace {

using Tensors = std::vector<pascaline_tensor_info>;

// NAME=FILE for each --input. The name may hold a '=', the file may not.
std::map<std::string, std::string> inputFiles(const Options &options,
                                              const Tensors &inputs) {
  std::map<std::string, std::string> result;
  for (const std::string &option : options.values("--input")) {
    size_t equals = option.rfind('=');
    if (equals == std::string::npos || equals + 1 == option.size())
      throw WrongUsage(
          format("--input takes NAME=FILE.npy, not \"%s\"", option.c_str()));
    std::string name = option.substr(0, equals);
    std::string known;
    bool found = false;
    for (const pascaline_tensor_info &input : inputs) {
      found = found || name == input.name;
      known += (known.empty() ? "" : ", ") + printable(input.name);
    }
    if (!found)
      throw Failure(format("the model has no input \"%s\"; it has %s",
                           printable(name.c_str()).c_str(),
                           known.empty() ? "none" : known.c_str()));
    if (!result.emplace(name, option.substr(equals + 1)).second)
      throw Failure(format("input \"%s\" is given twice", name.c_str()));
  }
  return result;
}

bool hasShape(const pascaline_tensor_info &tensor,
              const std::vector<int64_t> &shape) {
  return std::equal(tensor.shape, tensor.shape + tensor.rank, shape.begin(),
                    shape.end());
}

// fixed: `inputs` has the only shapes that there are.
std::vector<NpyArray> readInputs(const Options &options, const Tensors &inputs,
                                 bool fixed) {
  auto files = inputFiles(options, inputs);
  for (const pascaline_tensor_info &input : inputs)
    if (!files.count(input.name))
      throw Failure(format("no --input for \"%s\", %s; add --input %s=FILE.npy",
                           input.name, typeText(input).c_str(), input.name));
  std::vector<NpyArray> result;
  for (const pascaline_tensor_info &input : inputs) {
    const std::string &path = files[input.name];
    result.push_back(readNpy(path));
    const NpyArray &array = result.back();
    if (array.type != input.type || (fixed && !hasShape(input, array.shape)))
      throw Failure(
          format("input \"%s\" takes %s, %s holds %s %s", input.name,
                 typeText(input).c_str(), path.c_str(),
                 pascaline_element_type_name(array.type),
                 shapeText(array.shape.data(), array.shape.size()).c_str()));
  }
  return result;
}

// The shape set that the arrays' shapes make.
size_t shapeSetFor(const ArtifactHandle &artifact,
                   const std::vector<NpyArray> &arrays) {
  std::vector<pascaline_shape> shapes;
  for (const NpyArray &array : arrays)
    shapes.push_back({array.shape.data(), array.shape.size()});
  size_t set;
  check(pascaline_shape_set_find(artifact.get(), shapes.data(), shapes.size(),
                                 &set));
  return set;
}

std::vector<std::string> outputNames(const Tensors &outputs) {
  std::map<std::string, size_t> taken;
  std::vector<std::string> result;
  for (size_t i = 0; i < outputs.size(); ++i) {
    result.push_back(fileName(outputs[i].name, "output", i));
    auto [other, isNew] = taken.emplace(result.back(), i);
    if (!isNew)
      throw Failure(format("outputs \"%s\" and \"%s\" would both be written as "
                           "%s; rename one in the model",
                           outputs[other->second].name, outputs[i].name,
                           result.back().c_str()));
  }
  return result;
}

} // namespace

int runCommand(int argc, char **argv) {
  Options options(argc, argv,
                  {{"--input", true, true},
                   {"--output-dir", true},
                   {"--device", true},
                   {"--sanitize", false},
                   {"--counters", false},
                   {"--json", true}},
                  "MODEL.pasc");
  if (options.has("--json") && !options.has("--counters"))
    throw WrongUsage("--json takes what --counters counts; add --counters");
  const std::string *directory = options.value("--output-dir");
  if (!directory)
    throw WrongUsage("no --output-dir is given");
  ArtifactHandle artifact = openArtifact(options.positional());
  std::vector<NpyArray> arrays = readInputs(
      options, inputsOf(artifact, 0), infoOf(artifact).shape_set_count == 1);
  size_t set = shapeSetFor(artifact, arrays);
  Tensors outputs = outputsOf(artifact, set);
  std::vector<std::string> names = outputNames(outputs);

  DeviceHandle device = openDevice(options);
  ModelHandle model = openModel(artifact, device);
  SessionHandle session = openSession(model);
  check(pascaline_session_use_shape_set(session.get(), set));
  HostBuffers buffers(arrays, outputs);
  PendingFiles files(options.positional());
  if (options.has("--counters"))
    countRun(options, artifact, set, session, buffers.in, buffers.out, files);
  else
    check(pascaline_session_run(session.get(), buffers.in.data(),
                                buffers.in.size(), buffers.out.data(),
                                buffers.out.size()));

  std::error_code error;
  std::filesystem::create_directories(*directory, error);
  if (error)
    throw Failure(format("%s: cannot be created: %s", directory->c_str(),
                         error.message().c_str()));
  for (size_t i = 0; i < outputs.size(); ++i)
    files.add(*directory + "/" + names[i], buffers.results[i].data(),
              buffers.results[i].size(),
              npyHeader(outputs[i].type, outputs[i].shape, outputs[i].rank));
  files.commit();
  return 0;
}

} // namespace pascaline::cli
