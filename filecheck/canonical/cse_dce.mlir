// RUN: tx-opt %s --print-unbroken --print-locations -p tx-canonicalize | filecheck %s
// RUN: tx-opt %s --print-unbroken -p 'tx-canonicalize{cse=false}' | filecheck %s --check-prefix=KEEP

// Equal ops on different lines of the user's program are one; the dead one goes; the loop keeps its yield.

// CHECK-LABEL: @f
// CHECK-NEXT: %[[E:.*]] = tx.exp %x : f32[4] loc("f.py:1:0")
// CHECK-NOT: tx.exp
// CHECK-NOT: tx.sqrt
// CHECK: %[[S:.*]] = tx.add %[[E]], %[[E]]
// CHECK: tx.yield
// KEEP-LABEL: @f
// KEEP-COUNT-2: tx.exp
func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = tx.exp %x {loc = "f.py:1:0"} : (tensor<4xf32>) -> tensor<4xf32>
  %1 = tx.exp %x {loc = "f.py:2:0"} : (tensor<4xf32>) -> tensor<4xf32>
  %dead = tx.sqrt %x : (tensor<4xf32>) -> tensor<4xf32>
  %2 = tx.add %0, %1 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %3 = "tx.for"(%2) ({
  ^bb0(%c: tensor<4xf32>):
    %4 = tx.add %c, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    tx.yield %4 : tensor<4xf32>
  }) {iv = "i", lower = #tx.dim<"0">, upper = #tx.dim<"3">, step = #tx.dim<"1">} : (tensor<4xf32>) -> tensor<4xf32>
  func.return %3 : tensor<4xf32>
}

// Literals that differ by the sign of zero are different.
// CHECK-LABEL: @zeros
// CHECK-COUNT-2: tx.constant
func.func @zeros() -> (tensor<f32>, tensor<f32>) {
  %a = tx.constant {value = 0.0 : f64, dtype = #tx.dtype<"f32">} : () -> tensor<f32>
  %b = tx.constant {value = -0.0 : f64, dtype = #tx.dtype<"f32">} : () -> tensor<f32>
  func.return %a, %b : tensor<f32>, tensor<f32>
}
