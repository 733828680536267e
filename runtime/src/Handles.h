// Handles.h - what the opaque handles of pascaline.h hold. Tests make a
// pascaline_device over a fake driver from it.
#pragma once

#include "runtime/src/Artifact.h"
#include "runtime/src/Device.h"
#include "runtime/src/Model.h"
#include "runtime/src/Session.h"

struct pascaline_artifact {
  std::shared_ptr<const pascaline::runtime::Artifact> artifact;
};
struct pascaline_device {
  std::shared_ptr<const pascaline::runtime::Device> device;
};
struct pascaline_model {
  std::shared_ptr<const pascaline::runtime::Model> model;
  pascaline_artifact artifact;
};
struct pascaline_session {
  std::unique_ptr<pascaline::runtime::Session> session;
};
