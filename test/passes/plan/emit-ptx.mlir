// RUN: pascaline-opt %s -verify-diagnostics --pass-pipeline='builtin.module(plan.kernel(pascaline-emit-ptx))' | FileCheck %s

// CHECK-LABEL: plan.kernel @nothing
// CHECK-SAME:    ptx = "
// CHECK-SAME:    .visible .entry nothing(
// CHECK-SAME:    .maxntid 64, 1, 1
plan.kernel @nothing attributes {block = array<i64: 64, 1, 1>, configuration = "", shared_bytes = 0 : i64} {
  builtin.module {
    llvm.func @nothing() attributes {nvvm.kernel, nvvm.maxntid = array<i32: 64>} {
      llvm.return
    }
  }
}

// A kernel that already has PTX of other contents gets that of its IR.
// CHECK-LABEL: plan.kernel @again
// CHECK-SAME:    .visible .entry again(
plan.kernel @again attributes {block = array<i64: 32, 1, 1>, configuration = "", ptx = "stale", shared_bytes = 0 : i64} {
  builtin.module {
    llvm.func @again() attributes {nvvm.kernel} {
      llvm.return
    }
  }
}
