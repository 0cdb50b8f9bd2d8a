// RUN: tx-opt %s --print-unbroken --verify-diagnostics --split-input-file --parsing-diagnostics | filecheck %s

// Types must be what inference gives: dims, dtypes, orders, yields.

// CHECK: tx.add: add needs operands of equal shape
func.func @dims(%x: tensor<4xf32>, %y: tensor<5xf32>) {
  %0 = tx.add %x, %y : (tensor<4xf32>, tensor<5xf32>) -> tensor<4xf32>
  func.return
}
// -----
// CHECK: tx.exp gives (f32[n]), not (f64[n])
func.func @dtype(%x: tensor<?xf32, #tx.dims<"n">>) {
  %0 = tx.exp %x : (tensor<?xf32, #tx.dims<"n">>) -> tensor<?xf64, #tx.dims<"n">>
  func.return
}
// -----
// CHECK: tx.exp gives (f32[n]), not (f32[m])
func.func @symbol(%x: tensor<?xf32, #tx.dims<"n">>) {
  %0 = tx.exp %x : (tensor<?xf32, #tx.dims<"n">>) -> tensor<?xf32, #tx.dims<"m">>
  func.return
}
// -----
// CHECK: tx.sum needs its order of arithmetic
func.func @order(%x: tensor<4xf32>) {
  %0 = tx.sum %x {dims = [0]} : (tensor<4xf32>) -> tensor<f32>
  func.return
}
// -----
// CHECK: tx.cast needs the attribute 'dtype'
func.func @required(%x: tensor<4xf32>) {
  %0 = tx.cast %x : (tensor<4xf32>) -> tensor<4xf32>
  func.return
}
// -----
// CHECK: a dim of unknown size and no #tx.dims
func.func @nameless(%x: tensor<?xf32>) {
  %0 = tx.exp %x : (tensor<?xf32>) -> tensor<?xf32>
  func.return
}
// -----
// CHECK: the body of tx.for must yield (tensor<4xf32>), not ()
func.func @yields(%x: tensor<4xf32>) {
  %0 = "tx.for"(%x) ({
  ^bb0(%c: tensor<4xf32>):
    tx.yield
  }) {iv = "i", lower = #tx.dim<"0">, upper = #tx.dim<"3">, step = #tx.dim<"1">} : (tensor<4xf32>) -> tensor<4xf32>
  func.return
}
// -----
// CHECK: tx.if takes one rank-0 bool
func.func @condition(%c: tensor<4xi1>) {
  "tx.if"(%c) ({
    tx.yield
  }, {
    tx.yield
  }) : (tensor<4xi1>) -> ()
  func.return
}
