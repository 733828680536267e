// InjectedDriver.h - a driver's table with a layer over every entry: counts the
// calls, lets one of them fail without reaching the driver, and keeps account
// of what was made and given back.
//
// Giving back counts as done when it was asked for: where the driver refuses
// that, a program can do no more.
#pragma once

#include "runtime/src/Driver.h"

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace pascaline::testing {

// One at a time, as for FakeDriver.
class InjectedDriver {
public:
  explicit InjectedDriver(const runtime::DriverTable &real);
  ~InjectedDriver();
  InjectedDriver(const InjectedDriver &) = delete;

  std::shared_ptr<const runtime::Driver> driver() const { return over; }

  // Names of all entries of the table: of both lists of cuda_driver.h.
  static std::vector<std::string> entries();

  // The `number`th call of `name`, from 1, fails with `error`.
  void failOn(const std::string &name, int number, CUresult error);
  // The same, and every call after it, as of a device that is lost.
  void loseAt(int numberOfAnyCall);
  void failNothing() { name.clear(); }
  bool isLost() const { return lostAt && calls >= lostAt; }
  bool failed() const { return hit; }
  int count(const std::string &of) const;

  // "memory 1, streams -1": made more or less often than given back.
  std::string unbalanced() const;

  // Called with true before and with false after each call, if there is one.
  void (*around)(bool before) = nullptr;

  // For the layer itself: the error to give instead of calling.
  CUresult enter(const char *call);
  void account(const char *call, bool succeeded);

private:
  std::shared_ptr<const runtime::Driver> over;
  std::map<std::string, int> counts;
  std::map<std::string, int> balance;
  std::string name;
  int number = 0;
  int calls = 0, lostAt = 0; // 0: never
  CUresult error = CUDA_ERROR_UNKNOWN;
  bool hit = false;
};

} // namespace pascaline::testing
