// Injection.h - failures on request, to test programs that use the driver.
//
// PASCALINE_EMULATOR_FAIL="cuMemAlloc:2,cuLaunchKernel:5=700,*:9=lost": the
// second cuMemAlloc fails, the fifth launch fails with error 700, and from the
// ninth call of any kind on the device is lost. Calls are counted in the whole
// process, from 1, as they come in; a name stands for all its versions.
// Test: test/emulator/DriverInjectionTest.cpp.
#pragma once

#include "runtime/driver/cuda_driver.h"

namespace pascaline::emulator {

// Counts the call; its error, explained by pascalineEmulatorLastError, or
// CUDA_SUCCESS.
CUresult injectedFailure(const char *call);
// What is wrong with PASCALINE_EMULATOR_FAIL; null when nothing is.
const char *injectionProblem();
// Errors that a context keeps, as CUDA documents: "this leaves the process in
// an inconsistent state and any further CUDA work will return the same error".
bool isSticky(CUresult error);

} // namespace pascaline::emulator
