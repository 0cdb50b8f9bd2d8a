// RUN: tx-opt %s --print-unbroken -p tx-bufferize | filecheck %s
// RUN: tx-opt %s --print-unbroken -p 'tx-bufferize,tx-schedule-cpu' | filecheck %s --check-prefix=LOOPS

// The flag that ends the loop is carried in memory; the body yields what it is at its end.
// CHECK: kernel.for i = 0 to n break 0 {
// CHECK: %[[FLAG:[0-9]+]] = loop.load %{{[0-9]+}}[]
// CHECK-NEXT: kernel.yield %[[FLAG]] : i1
// LOOPS: loop.for i = 0 to n break {
// LOOPS: loop.yield %{{[0-9]+}} : i1
func.func @f(%x: tensor<?xf32, #tx.dims<"n">>, %limit: tensor<f32>, %off: tensor<i1>) -> tensor<i1> attributes {tx.symbols = #tx.dims<"n">} {
  %r = "kernel.for"(%off) ({
  ^bb0(%flag: tensor<i1>):
    %over = "kernel.generic"(%x, %limit) ({
    ^bb1(%a: f32, %b: f32):
      %c = arith.cmpf ogt, %a, %b : f32
      kernel.yield %c : i1
    }, {}, {}) {extents = #tx.dims<"">, parallel = 0 : i64, epilogue_inputs = 0 : i64, in_maps = [#tx.map<"() -> (i)">, #tx.map<"() -> ()">], out_maps = [#tx.map<"() -> ()">], operandSegmentSizes = array<i32: 2, 0>} : (tensor<?xf32, #tx.dims<"n">>, tensor<f32>) -> tensor<i1>
    kernel.yield %over : tensor<i1>
  }) {iv = "i", lower = #tx.dim<"0">, upper = #tx.dim<"n">, step = #tx.dim<"1">, break = 0 : i64} : (tensor<i1>) -> tensor<i1>
  func.return %r : tensor<i1>
}
