// RUN: tx-opt %s --print-unbroken -p tx-canonicalize | filecheck %s

// CHECK-LABEL: @involution
// CHECK-NEXT: func.return %x
func.func @involution(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = tx.negate %x : (tensor<4xf32>) -> tensor<4xf32>
  %1 = tx.negate %0 : (tensor<4xf32>) -> tensor<4xf32>
  func.return %1 : tensor<4xf32>
}

// CHECK-LABEL: @idempotent
// CHECK-NEXT: %[[A:.*]] = tx.abs %x
// CHECK-NEXT: func.return %[[A]]
func.func @idempotent(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = tx.abs %x : (tensor<4xf32>) -> tensor<4xf32>
  %1 = tx.abs %0 : (tensor<4xf32>) -> tensor<4xf32>
  func.return %1 : tensor<4xf32>
}

// CHECK-LABEL: @times_one
// CHECK-NEXT: func.return %x
func.func @times_one(%x: tensor<4xf32>) -> tensor<4xf32> {
  %c = tx.constant {value = 1.0 : f64, dtype = #tx.dtype<"f32">} : () -> tensor<f32>
  %e = tx.expand %c {dims = #tx.dims<"4">} : (tensor<f32>) -> tensor<4xf32>
  %0 = tx.mul %x, %e : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}

// CHECK-LABEL: @equal_choices
// CHECK-NEXT: func.return %x
func.func @equal_choices(%c: tensor<4xi1>, %x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = tx.select %c, %x, %x : (tensor<4xi1>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}

// -0.0 + 0.0 is 0.0, so adding 0.0 is not nothing.
// CHECK-LABEL: @plus_zero
// CHECK: tx.add
func.func @plus_zero(%x: tensor<f32>) -> tensor<f32> {
  %c = tx.constant {value = 0.0 : f64, dtype = #tx.dtype<"f32">} : () -> tensor<f32>
  %0 = tx.add %x, %c : (tensor<f32>, tensor<f32>) -> tensor<f32>
  func.return %0 : tensor<f32>
}

// CHECK-LABEL: @minus_zero
// CHECK-NEXT: func.return %x
func.func @minus_zero(%x: tensor<f32>) -> tensor<f32> {
  %c = tx.constant {value = -0.0 : f64, dtype = #tx.dtype<"f32">} : () -> tensor<f32>
  %0 = tx.add %x, %c : (tensor<f32>, tensor<f32>) -> tensor<f32>
  func.return %0 : tensor<f32>
}

// x - x is NaN for an infinite x, and 0 / x is NaN for 0.
// CHECK-LABEL: @not_algebra
// CHECK-NEXT: tx.sub
// CHECK-NEXT: tx.div
func.func @not_algebra(%x: tensor<f32>) -> tensor<f32> {
  %0 = tx.sub %x, %x : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %1 = tx.div %0, %x : (tensor<f32>, tensor<f32>) -> tensor<f32>
  func.return %1 : tensor<f32>
}

// Folded in f32: 0.1 + 0.2 rounded once.  exp is not exact, it stays.
// CHECK-LABEL: @folded
// CHECK-NEXT: %[[C:.*]] = tx.constant {value = 0.30000001192092896, dtype = #tx.dtype<f32>}
// CHECK-NEXT: tx.exp %[[C]]
func.func @folded() -> tensor<f32> {
  %a = tx.constant {value = 0.1 : f64, dtype = #tx.dtype<"f32">} : () -> tensor<f32>
  %b = tx.constant {value = 0.2 : f64, dtype = #tx.dtype<"f32">} : () -> tensor<f32>
  %0 = tx.add %a, %b : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %1 = tx.exp %0 : (tensor<f32>) -> tensor<f32>
  func.return %1 : tensor<f32>
}
