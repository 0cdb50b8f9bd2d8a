// RUN: tx-opt %s --print-unbroken -p tx-bufferize | filecheck %s

// A stencil in a loop updates its carried buffer; what it reads of its own target is staged first.

// CHECK-LABEL: @heat
// CHECK-SAME: tx.outputs = [1]
// CHECK: kernel.generic{{.*}}%u[{{.*}}%[[OUT:[0-9]+]][
// CHECK: kernel.for
// CHECK-NEXT: %[[TMP:[0-9]+]] = loop.alloc {{.*}} in arena at 0
// CHECK-NEXT: kernel.generic{{.*}}%[[OUT]][{{.*}}%[[OUT]][{{.*}}%[[TMP]][
// CHECK: kernel.generic{{.*}}%[[TMP]][{{.*}}%[[OUT]][
// CHECK-NOT: kernel.generic
func.func @heat(%u: tensor<?xf32, #tx.dims<"n">>) -> tensor<?xf32, #tx.dims<"n">> attributes {tx.symbols = #tx.dims<"n, $steps">} {
  %r = "kernel.for"(%u) ({
  ^bb0(%c: tensor<?xf32, #tx.dims<"n">>):
    %v = "kernel.generic"(%c, %c, %c) ({
    ^bb0(%a: f32, %b: f32):
      %s = arith.addf %a, %b : f32
      kernel.yield %s : f32
    }, {}, {}) {extents = #tx.dims<"n - 2">, parallel = 1 : i64, epilogue_inputs = 0 : i64, in_maps = [#tx.map<"(d0: n - 2) -> (d0)">, #tx.map<"(d0: n - 2) -> (d0 + 2)">], out_maps = [#tx.map<"(d0: n - 2) -> (d0 + 1)">], operandSegmentSizes = array<i32: 2, 1>} : (tensor<?xf32, #tx.dims<"n">>, tensor<?xf32, #tx.dims<"n">>, tensor<?xf32, #tx.dims<"n">>) -> tensor<?xf32, #tx.dims<"n">>
    kernel.yield %v : tensor<?xf32, #tx.dims<"n">>
  }) {iv = "t", lower = #tx.dim<"0">, upper = #tx.dim<"$steps">, step = #tx.dim<"1">} : (tensor<?xf32, #tx.dims<"n">>) -> tensor<?xf32, #tx.dims<"n">>
  func.return %r : tensor<?xf32, #tx.dims<"n">>
}

// An update of a value that is needed later, in the memory of an argument that the update reads: that is copied over only in a
// temporary.

// CHECK-LABEL: @shifted
// CHECK-SAME: tx.outputs = [1, 0]
// CHECK: %[[OLD:[0-9]+]] = loop.alloc
// CHECK: kernel.generic{{.*}}%y[{{.*}}%[[OLD]][
// CHECK: %[[NEW:[0-9]+]] = loop.alloc
// CHECK-NEXT: kernel.generic{{.*}}%[[OLD]][{{.*}}%[[NEW]][
// CHECK: kernel.generic{{.*}}%y[d0]{{.*}}%[[NEW]][d0 + 1]
// CHECK: kernel.generic{{.*}}%[[NEW]][{{.*}}%y[
func.func @shifted(%y: tensor<?xf64, #tx.dims<"n">>) -> (tensor<f64>, tensor<?xf64, #tx.dims<"n">>) attributes {tx.symbols = #tx.dims<"n">, tx.aliases = [-1 : i64, 0 : i64]} {
  %0 = "kernel.generic"(%y) ({
  ^bb0(%a: f64):
    %s = arith.addf %a, %a : f64
    kernel.yield %s : f64
  }, {}, {}) {extents = #tx.dims<"n">, parallel = 1 : i64, epilogue_inputs = 0 : i64, in_maps = [#tx.map<"(d0: n) -> (d0)">], out_maps = [#tx.map<"(d0: n) -> (d0)">], operandSegmentSizes = array<i32: 1, 0>} : (tensor<?xf64, #tx.dims<"n">>) -> tensor<?xf64, #tx.dims<"n">>
  %1 = "kernel.generic"(%y, %0) ({
  ^bb0(%a: f64):
    %s = arith.addf %a, %a : f64
    kernel.yield %s : f64
  }, {}, {}) {extents = #tx.dims<"n - 1">, parallel = 1 : i64, epilogue_inputs = 0 : i64, in_maps = [#tx.map<"(d0: n - 1) -> (d0)">], out_maps = [#tx.map<"(d0: n - 1) -> (d0 + 1)">], operandSegmentSizes = array<i32: 1, 1>} : (tensor<?xf64, #tx.dims<"n">>, tensor<?xf64, #tx.dims<"n">>) -> tensor<?xf64, #tx.dims<"n">>
  %2 = "kernel.generic"(%0) ({
  ^bb0(%a: f64):
    kernel.yield %a : f64
  }, {}, {}) {extents = #tx.dims<"">, parallel = 0 : i64, epilogue_inputs = 0 : i64, in_maps = [#tx.map<"() -> (0)">], out_maps = [#tx.map<"() -> ()">], operandSegmentSizes = array<i32: 1, 0>} : (tensor<?xf64, #tx.dims<"n">>) -> tensor<f64>
  func.return %2, %1 : tensor<f64>, tensor<?xf64, #tx.dims<"n">>
}
