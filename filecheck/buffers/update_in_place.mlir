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
