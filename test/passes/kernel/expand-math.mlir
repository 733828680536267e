// Functions become arithmetic; what LLVM has an instruction for, an intrinsic.
//
// RUN: pascaline-opt %s --pascaline-expand-math --split-input-file --verify-diagnostics | FileCheck %s

// CHECK-LABEL: llvm.func @exp
// CHECK-NOT: math.exp
// CHECK-COUNT-3: llvm.intr.fma
// CHECK: arith.shli
llvm.func @exp(%x: f32) -> f32 {
  %y = math.exp %x : f32
  llvm.return %y : f32
}

// -----

// CHECK-LABEL: llvm.func @native
// CHECK: llvm.intr.sqrt(%{{.*}}) : (f64) -> f64
// CHECK: llvm.intr.floor
// CHECK: llvm.intr.rint
// CHECK-NOT: math.
llvm.func @native(%x: f64) -> f64 {
  %0 = math.sqrt %x : f64
  %1 = math.floor %0 : f64
  %2 = math.roundeven %1 : f64
  llvm.return %2 : f64
}

// -----

// Integer arithmetic and plain float arithmetic stay as they are, in order.
// CHECK-LABEL: llvm.func @others
// CHECK-NEXT: arith.addf
// CHECK-NEXT: arith.addi
// CHECK-NEXT: arith.addf
// CHECK-NEXT: llvm.return
llvm.func @others(%x: f32, %i: i32) -> f32 {
  %0 = arith.addf %x, %x : f32
  %1 = arith.addi %i, %i : i32
  %2 = arith.addf %0, %x : f32
  llvm.return %2 : f32
}

// -----

llvm.func @half(%x: f16) -> f16 {
  // expected-error @below {{computes on 'f16', but kernels compute on f32 and f64 scalars}}
  %0 = math.exp %x : f16
  llvm.return %0 : f16
}
