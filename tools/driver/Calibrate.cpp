#include "tools/driver/Calibrate.h"

#include "tools/pascaline/Cli.h"
#include "tools/pascaline/Npy.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <limits>

namespace fs = std::filesystem;

namespace pascaline {
namespace {

using namespace cli;

constexpr size_t kMostSamples = 10000;

/// The folders that hold a sample: the folder itself and those in it, by name.
std::vector<fs::path> sampleFolders(const std::string &folder) {
  auto hasArrays = [](const fs::path &path) {
    for (const fs::directory_entry &entry : fs::directory_iterator(path))
      if (entry.path().extension() == ".npy")
        return true;
    return false;
  };
  if (!fs::is_directory(folder))
    throw Failure("calibrate " + folder + ": is no folder");
  std::vector<fs::path> samples;
  for (const fs::directory_entry &entry : fs::directory_iterator(folder))
    if (entry.is_directory() && hasArrays(entry.path()))
      samples.push_back(entry.path());
  std::sort(samples.begin(), samples.end());
  if (hasArrays(folder))
    samples.insert(samples.begin(), folder);
  if (samples.empty())
    throw Failure("calibrate " + folder +
                  ": holds no sample; put the inputs there as NAME.npy, or in "
                  "a subfolder for each sample");
  if (samples.size() > kMostSamples)
    throw Failure(format("calibrate %s: holds %zu samples; at most %zu are "
                         "taken",
                         folder.c_str(), samples.size(), kMostSamples));
  return samples;
}

/// A sample's inputs in the model's order.
std::vector<NpyArray>
readSample(const fs::path &folder,
           const std::vector<pascaline_tensor_info> &inputs) {
  std::vector<std::string> files;
  for (size_t i = 0; i < inputs.size(); ++i)
    files.push_back(fileName(inputs[i].name, "input", i));
  for (const fs::directory_entry &entry : fs::directory_iterator(folder)) {
    std::string name = entry.path().filename().string();
    if (entry.path().extension() != ".npy" ||
        std::find(files.begin(), files.end(), name) != files.end())
      continue;
    std::string known;
    for (const std::string &file : files)
      known += (known.empty() ? "" : ", ") + file;
    throw Failure(entry.path().string() +
                  ": is no input of the model, whose samples are made of " +
                  (known.empty() ? "nothing" : known));
  }
  std::vector<NpyArray> arrays;
  for (size_t i = 0; i < inputs.size(); ++i) {
    std::string path = (folder / files[i]).string();
    arrays.push_back(readNpy(path));
    if (arrays.back().type != inputs[i].type)
      throw Failure(format("%s: holds %s, and the input takes %s", path.c_str(),
                           pascaline_element_type_name(arrays.back().type),
                           typeText(inputs[i]).c_str()));
  }
  return arrays;
}

bool haveShapes(const std::vector<NpyArray> &arrays,
                const std::vector<pascaline_tensor_info> &inputs) {
  for (size_t i = 0; i < arrays.size(); ++i)
    if (!std::equal(arrays[i].shape.begin(), arrays[i].shape.end(),
                    inputs[i].shape, inputs[i].shape + inputs[i].rank))
      return false;
  return true;
}

double largestMagnitude(const std::vector<uint8_t> &bytes) {
  double largest = 0;
  for (size_t at = 0; at + sizeof(float) <= bytes.size(); at += sizeof(float)) {
    float value;
    memcpy(&value, &bytes[at], sizeof value);
    if (std::abs(value) > largest) // false for NaN
      largest = std::abs(value);
  }
  return largest;
}

void measure(const std::string &bytes, const std::string &folder,
             size_t ownOutputs, std::vector<double> &largest) {
  pascaline_artifact *opened = nullptr;
  check(pascaline_artifact_open_bytes(bytes.data(), bytes.size(), "calibration",
                                      &opened));
  ArtifactHandle artifact(opened);
  std::vector<pascaline_tensor_info> inputs = inputsOf(artifact, 0);
  std::vector<pascaline_tensor_info> outputs = outputsOf(artifact, 0);
  pascaline_device *found = nullptr;
  DeviceHandle device;
  ModelHandle model;
  SessionHandle session;
  for (const fs::path &sample : sampleFolders(folder)) {
    std::vector<NpyArray> arrays = readSample(sample, inputs);
    if (!haveShapes(arrays, inputs))
      continue;
    if (!session) {
      check(pascaline_device_open("auto", nullptr, &found));
      device.reset(found);
      model = openModel(artifact, device);
      session = openSession(model);
      largest.assign(outputs.size() - ownOutputs, 0);
    }
    HostBuffers buffers(arrays, outputs);
    check(pascaline_session_run(session.get(), buffers.in.data(),
                                buffers.in.size(), buffers.out.data(),
                                buffers.out.size()));
    for (size_t i = 0; i < largest.size(); ++i)
      largest[i] = std::max(largest[i],
                            largestMagnitude(buffers.results[ownOutputs + i]));
  }
}

} // namespace

bool measureRanges(const std::string &artifact, const std::string &folder,
                   size_t ownOutputs, std::vector<double> &largest,
                   std::string &error) {
  try {
    measure(artifact, folder, ownOutputs, largest);
    return true;
  } catch (const std::exception &failure) { // the file system's and ours
    error = failure.what();
    return false;
  }
}

} // namespace pascaline
