// RUN: tx-opt %s --print-unbroken -p tx-canonicalize | filecheck %s

// What looks like one of the rules and is none.

// Only negations and complements undo themselves.
// CHECK-LABEL: @twice
// CHECK-COUNT-2: tx.exp
func.func @twice(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = tx.exp %x : (tensor<4xf32>) -> tensor<4xf32>
  %1 = tx.exp %0 : (tensor<4xf32>) -> tensor<4xf32>
  func.return %1 : tensor<4xf32>
}

// The larger of a value and itself is the value; a sum of the two is not.
// CHECK-LABEL: @with_itself
// CHECK-NEXT: %[[S:.*]] = tx.add %x, %x
// CHECK-NEXT: func.return %x, %[[S]]
func.func @with_itself(%x: tensor<4xi32>) -> (tensor<4xi32>, tensor<4xi32>) {
  %0 = tx.cwise_max %x, %x : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>
  %1 = tx.add %x, %x : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>
  func.return %0, %1 : tensor<4xi32>, tensor<4xi32>
}

// 1 / x is not x; x / 1 is.
// CHECK-LABEL: @on_the_left
// CHECK: %[[D:.*]] = tx.div
// CHECK-NEXT: func.return %[[D]], %x
func.func @on_the_left(%x: tensor<f32>) -> (tensor<f32>, tensor<f32>) {
  %c = tx.constant {value = 1.0 : f64, dtype = #tx.dtype<"f32">} : () -> tensor<f32>
  %0 = tx.div %c, %x : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %1 = tx.div %x, %c : (tensor<f32>, tensor<f32>) -> tensor<f32>
  func.return %0, %1 : tensor<f32>, tensor<f32>
}

// A cast to the type that is there already goes; one there and back rounds.
// CHECK-LABEL: @casts
// CHECK-NEXT: %[[H:.*]] = tx.cast %x
// CHECK-NEXT: %[[B:.*]] = tx.cast %[[H]]
// CHECK-NEXT: func.return %x, %[[B]]
func.func @casts(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = tx.cast %x {dtype = #tx.dtype<"f32">} : (tensor<4xf32>) -> tensor<4xf32>
  %1 = tx.cast %x {dtype = #tx.dtype<"f16">} : (tensor<4xf32>) -> tensor<4xf16>
  %2 = tx.cast %1 {dtype = #tx.dtype<"f32">} : (tensor<4xf16>) -> tensor<4xf32>
  func.return %0, %2 : tensor<4xf32>, tensor<4xf32>
}

// A view of the same type is nothing only where it takes each element from its own place.
// CHECK-LABEL: @reversed
// CHECK-NEXT: %[[V:.*]] = tx.view %x {map = #tx.map<(d0: 4) -> (-d0 + 3)>
// CHECK-NEXT: func.return %x, %[[V]]
func.func @reversed(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = tx.view %x {map = #tx.map<"(d0: 4) -> (d0)">} : (tensor<4xf32>) -> tensor<4xf32>
  %1 = tx.view %x {map = #tx.map<"(d0: 4) -> (3 - d0)">} : (tensor<4xf32>) -> tensor<4xf32>
  func.return %0, %1 : tensor<4xf32>, tensor<4xf32>
}

// An argument is in memory and an eval's value too; the exponential is materialized, once.
// CHECK-LABEL: @kept_once
// CHECK-NEXT: %[[E:.*]] = tx.exp %x
// CHECK-NEXT: %[[K:.*]] = tx.eval %[[E]]
// CHECK-NEXT: func.return %x, %[[K]]
func.func @kept_once(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = tx.eval %x : (tensor<4xf32>) -> tensor<4xf32>
  %1 = tx.exp %x : (tensor<4xf32>) -> tensor<4xf32>
  %2 = tx.eval %1 : (tensor<4xf32>) -> tensor<4xf32>
  %3 = tx.eval %2 : (tensor<4xf32>) -> tensor<4xf32>
  func.return %0, %3 : tensor<4xf32>, tensor<4xf32>
}

// Two memories to be stored into stay two, though the ops are equal.
// CHECK-LABEL: @memories
// CHECK-COUNT-2: tx.empty
func.func @memories() -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = tx.empty {dtype = #tx.dtype<"f32">, dims = #tx.dims<"4">} : () -> tensor<4xf32>
  %1 = tx.empty {dtype = #tx.dtype<"f32">, dims = #tx.dims<"4">} : () -> tensor<4xf32>
  func.return %0, %1 : tensor<4xf32>, tensor<4xf32>
}

// A caller's array is stored into, not replaced; and a store elsewhere, or in another order, is not one of all there is.
// CHECK-LABEL: @stored_into_an_argument
// CHECK-NEXT: tx.insert %x, %y
func.func @stored_into_an_argument(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> attributes {tx.aliases = [0 : i64]} {
  %0 = tx.insert %x, %y {map = #tx.map<"(d0: 4) -> (d0)">} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}

// CHECK-LABEL: @stored_turned_and_in_part
// CHECK: tx.insert {{.*}} -> (-d0 + 3)
// CHECK: tx.insert {{.*}} -> (d0)
func.func @stored_turned_and_in_part(%x: tensor<4xf32>, %y: tensor<3xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = tx.exp %x : (tensor<4xf32>) -> tensor<4xf32>
  %1 = tx.insert %0, %x {map = #tx.map<"(d0: 4) -> (3 - d0)">} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %2 = tx.insert %0, %y {map = #tx.map<"(d0: 3) -> (d0)">} : (tensor<4xf32>, tensor<3xf32>) -> tensor<4xf32>
  func.return %1, %2 : tensor<4xf32>, tensor<4xf32>
}
