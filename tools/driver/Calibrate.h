// Calibrate.h - how large the activations of a model get on sample inputs.
//
// The folder of samples holds .npy files named as the inputs of the model:
// FOLDER/NAME.npy are one sample, FOLDER/<anything>/NAME.npy one for each
// subfolder. An input whose name is no plain file name is input_<i>.npy, as
// `pascaline run` writes outputs. Other files are left alone.
//
// A sample runs on the device that `auto` takes: a usable GPU, else the
// emulator.
//
// Test: test/e2e/calibrate.py
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace pascaline {

/// Runs a compiled model on the samples whose shapes it takes and gives the
/// largest magnitude (infinity for an infinity; NaN does not count) of each
/// output behind the first `ownOutputs`, which are floats. Samples of other
/// shapes are passed over: `largest` stays empty where that were all of them.
/// False and a sentence in `error` for a folder that holds no sample, one that
/// lacks an input, has one too many or of a wrong type, and for a device that
/// fails.
bool measureRanges(const std::string &artifact, const std::string &folder,
                   size_t ownOutputs, std::vector<double> &largest,
                   std::string &error);

} // namespace pascaline
