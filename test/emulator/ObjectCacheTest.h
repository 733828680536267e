// ObjectCacheTest.h - the cache that the tests of translation run with.
#pragma once

#include <gtest/gtest.h>
#include <string>

extern std::string cacheFolder; // PASCALINE_EMULATOR_CACHE
