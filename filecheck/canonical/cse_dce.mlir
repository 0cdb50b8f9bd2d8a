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

// Of what a loop carries, values that iterations only hand on and nobody reads go; the others are counted anew.
// CHECK-LABEL: @handed_on
// CHECK:      tx.for i = 0 to 3 break 1 carry (%[[X:.*]] = %x, %[[STOP:.*]] = %stop) {
// CHECK-NEXT:   %[[NEXT:.*]] = tx.sqrt %[[X]]
// CHECK-NEXT:   %[[END:.*]] = tx.isnan %[[NEXT]]
// CHECK-NEXT:   tx.yield %[[NEXT]], %[[END]] : f32[], bool[]
func.func @handed_on(%x: tensor<f32>, %flag: tensor<i1>, %stop: tensor<i1>) -> tensor<f32> {
  %0, %1, %2, %3 = "tx.for"(%flag, %x, %flag, %stop) ({
  ^bb0(%old: tensor<i1>, %c: tensor<f32>, %older: tensor<i1>, %ends: tensor<i1>):
    %4 = tx.sqrt %c : (tensor<f32>) -> tensor<f32>
    %5 = tx.isnan %4 : (tensor<f32>) -> tensor<i1>
    tx.yield %stop, %4, %old, %5 : tensor<i1>, tensor<f32>, tensor<i1>, tensor<i1>
  }) {iv = "i", lower = #tx.dim<"0">, upper = #tx.dim<"3">, step = #tx.dim<"1">, until = 3} : (tensor<i1>, tensor<f32>, tensor<i1>, tensor<i1>) -> (tensor<i1>, tensor<f32>, tensor<i1>, tensor<i1>)
  func.return %1 : tensor<f32>
}

// What an iteration computes may be checked: it stays, although nobody reads it.
// CHECK-LABEL: @computed
// CHECK: tx.for i = 0 to 3 carry (%{{.*}} = %x, %{{.*}} = %y) {
func.func @computed(%x: tensor<f32>, %y: tensor<f32>) -> tensor<f32> {
  %0, %1 = "tx.for"(%x, %y) ({
  ^bb0(%c: tensor<f32>, %d: tensor<f32>):
    %2 = tx.sqrt %c : (tensor<f32>) -> tensor<f32>
    %3 = tx.sqrt %d : (tensor<f32>) -> tensor<f32>
    tx.yield %2, %3 : tensor<f32>, tensor<f32>
  }) {iv = "i", lower = #tx.dim<"0">, upper = #tx.dim<"3">, step = #tx.dim<"1">} : (tensor<f32>, tensor<f32>) -> (tensor<f32>, tensor<f32>)
  func.return %0 : tensor<f32>
}
