/* emulator.h - what the emulator exports beside the driver API. A real driver
 * has none of it: look the functions up with dlsym or cuGetProcAddress.
 */
#ifndef PASCALINE_EMULATOR_H
#define PASCALINE_EMULATOR_H

#include "runtime/driver/cuda_driver.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The sentence behind this thread's last failed call ("kernel k, block (0,0,0),
 * thread (3,0,0): access to ..."), valid until its next failed call; "" when
 * there was none. */
typedef const char *pascalineEmulatorLastErrorFunction(void);

/* Modules that the calling thread loads from now on count what their kernels do
 * (1), or do not (0, unless PASCALINE_EMULATOR_COUNTERS is set). */
typedef void pascalineEmulatorSetCountingFunction(int on);

/* How many counters there are, and their names (docs/emulator.md): the same in
 * every call. *values: one a name, of the last kernel that the calling thread
 * has launched, valid until it launches another; null when that one failed or
 * does not count, or there was none. */
typedef size_t pascalineEmulatorCountersFunction(const char *const **names,
                                                 const uint64_t **values);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* PASCALINE_EMULATOR_H */
