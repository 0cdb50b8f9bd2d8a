// RUN: tx-opt %s --print-unbroken --print-locations -p tx-reduction-order --split-input-file | filecheck %s
// RUN: tx-opt %s --print-unbroken -p 'tx-reduction-order{follow-layout=false}' --split-input-file | filecheck %s --check-prefix=KEPT

// Reductions go along memory, as the strides of arguments say: several dims as they lie there, lanes along the fastest.

// KEPT-LABEL: func.func @all
// KEPT-NOT: tx.shuffle
// KEPT: func.return
// CHECK-LABEL: func.func @all
// CHECK-NEXT: %[[T:.*]] = tx.shuffle %x {permutation = [1, 0]} : f32[{{.*}}] loc("f.py:1:1")
// CHECK-NEXT: tx.sum %[[T]] {dims = [0, 1], order = #tx.order<tree<1024, 64>>} : f32[] loc("f.py:1:1")
func.func @all(%x: tensor<4x6xf32>) -> tensor<f32> attributes {tx.strides = [#tx.dims<"1, 4">]} {
  %0 = tx.sum %x {dims = [0, 1], order = #tx.order<"tree<1024, 64>">, loc = "f.py:1:1"} : (tensor<4x6xf32>) -> tensor<f32>
  func.return %0 : tensor<f32>
}
// -----
// KEPT-LABEL: func.func @one_dim
// KEPT-NEXT: tx.sum %x {dims = [0], order = #tx.order<tree<1024, 1>>}
// KEPT-NEXT: tx.sum %x {dims = [1], order = #tx.order<tree<1024, 64>>}
// CHECK-LABEL: func.func @one_dim
// CHECK-NEXT: tx.sum %x {dims = [0], order = #tx.order<tree<1024, 64>>}
// CHECK-NEXT: tx.sum %x {dims = [1], order = #tx.order<tree<1024, 1>>}
// CHECK-NEXT: tx.cumsum %x {axis = 1, exclusive = false, order = #tx.order<serial>}
// CHECK-NEXT: tx.contract %x, %v {pairs = {{.*}}, order = #tx.order<tree<1024, 1, fma>>}
func.func @one_dim(%x: tensor<4x6xf32>, %v: tensor<6xf32>) -> (tensor<6xf32>, tensor<4xf32>, tensor<4x6xf32>, tensor<4xf32>) attributes {tx.strides = [#tx.dims<"1, 4">, #tx.dims<"1">]} {
  %0 = tx.sum %x {dims = [0], order = #tx.order<"tree<1024, 1>">} : (tensor<4x6xf32>) -> tensor<6xf32>
  %1 = tx.sum %x {dims = [1], order = #tx.order<"tree<1024, 64>">} : (tensor<4x6xf32>) -> tensor<4xf32>
  %2 = tx.cumsum %x {axis = 1, exclusive = false, order = #tx.order<"prefix<1024, 8>">} : (tensor<4x6xf32>) -> tensor<4x6xf32>
  %3 = tx.contract %x, %v {pairs = [[1, 0]], batch = [], order = #tx.order<"tree<1024, 64, fma>">} : (tensor<4x6xf32>, tensor<6xf32>) -> tensor<4xf32>
  func.return %0, %1, %2, %3 : tensor<6xf32>, tensor<4xf32>, tensor<4x6xf32>, tensor<4xf32>
}
// -----
// Through views of the same dims and maps whose operands agree; of three dims two are reduced, in memory's order.
// CHECK-LABEL: func.func @through
// CHECK: %[[M:.*]] = tx.mul %
// CHECK-NEXT: %[[T:.*]] = tx.shuffle %[[M]] {permutation = [1, 0, 2]}
// CHECK-NEXT: tx.sum %[[T]] {dims = [0, 1], order = #tx.order<tree<1024, 64>>}
func.func @through(%x: tensor<4x6x8xf32>) -> tensor<4xf32> {
  %0 = tx.shuffle %x {permutation = [2, 1, 0]} : (tensor<4x6x8xf32>) -> tensor<8x6x4xf32>
  %1 = tx.mul %0, %0 : (tensor<8x6x4xf32>, tensor<8x6x4xf32>) -> tensor<8x6x4xf32>
  %2 = tx.sum %1 {dims = [0, 1], order = #tx.order<"tree<1024, 1>">} : (tensor<8x6x4xf32>) -> tensor<4xf32>
  func.return %2 : tensor<4xf32>
}
// -----
// Not so reductions whose operands' orders differ, of what strides do not pack, of row-major arguments, places, products of
// matrices, and reductions by a function of the user's, which has one order.
// CHECK-LABEL: func.func @others
// CHECK-NOT: tx.shuffle
// CHECK: tx.sum %{{.*}} {dims = [1], order = #tx.order<tree<1024, 64>>}
// CHECK: tx.sum %y {dims = [0, 1], order = #tx.order<tree<1024, 64>>}
// CHECK: tx.sum %z {dims = [1], order = #tx.order<tree<1024, 64>>}
// CHECK: tx.argmax %x {dims = [0, 1], order = #tx.order<free>}
// CHECK: tx.contract %x, %w {{.*}} order = #tx.order<chain<512, fma>>
// CHECK: tx.sum %x {dims = [1], order = #tx.order<serial>}
// CHECK: func.return
func.func @others(%x: tensor<4x6xf32>, %y: tensor<4x6xf32>, %z: tensor<4x6xf32>, %w: tensor<6x5xf32>) -> (tensor<4xf32>, tensor<f32>, tensor<4xf32>, tensor<i64>, tensor<4x5xf32>, tensor<4xf32>) attributes {tx.strides = [#tx.dims<"1, 4">, #tx.dims<"6, 1">, #tx.dims<"1, 5">, #tx.dims<"1, 6">]} {
  %0 = tx.add %x, %y : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
  %1 = tx.sum %0 {dims = [1], order = #tx.order<"tree<1024, 64>">} : (tensor<4x6xf32>) -> tensor<4xf32>
  %2 = tx.sum %y {dims = [0, 1], order = #tx.order<"tree<1024, 64>">} : (tensor<4x6xf32>) -> tensor<f32>
  %3 = tx.sum %z {dims = [1], order = #tx.order<"tree<1024, 64>">} : (tensor<4x6xf32>) -> tensor<4xf32>
  %4 = tx.argmax %x {dims = [0, 1], order = #tx.order<"free">} : (tensor<4x6xf32>) -> tensor<i64>
  %5 = tx.contract %x, %w {pairs = [[1, 0]], batch = [], order = #tx.order<"chain<512, fma>">} : (tensor<4x6xf32>, tensor<6x5xf32>) -> tensor<4x5xf32>
  %6 = tx.sum %x {dims = [1], order = #tx.order<"serial">} : (tensor<4x6xf32>) -> tensor<4xf32>
  func.return %1, %2, %3, %4, %5, %6 : tensor<4xf32>, tensor<f32>, tensor<4xf32>, tensor<i64>, tensor<4x5xf32>, tensor<4xf32>
}
