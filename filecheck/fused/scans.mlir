// RUN: tx-opt %s --print-unbroken -p 'tx-fuse,tx-fuse-rows' | filecheck %s

// A scan is a reduction that finishes at every element: maps before it are in its body, maps after it in its epilogue,
// which may read other tensors at the same element.
// CHECK-LABEL: @scan
// CHECK: kernel.generic over (d0: m) scan inclusive (d1: n) order serial init -0.0 : f32
// CHECK-SAME: in ({{.*}} = %x[{{.*}} epilogue_inputs ({{.*}} = %y[{{.*}} -> (f32[n, m] at [d1, d0])
// CHECK-NOT: kernel.generic
// CHECK: math.exp
// CHECK-NEXT: kernel.yield
// CHECK: arith.addf
// CHECK-NEXT: kernel.yield
// CHECK: arith.mulf
// CHECK-NEXT: kernel.yield
// CHECK-SAME: : f32
func.func @scan(%x: tensor<?x?xf32, #tx.dims<"n, m">>, %y: tensor<?x?xf32, #tx.dims<"n, m">>) -> tensor<?x?xf32, #tx.dims<"n, m">> {
  %0 = tx.exp %x : (tensor<?x?xf32, #tx.dims<"n, m">>) -> tensor<?x?xf32, #tx.dims<"n, m">>
  %1 = tx.cumsum %0 {axis = 0 : i64, exclusive = false, order = #tx.order<"serial">} : (tensor<?x?xf32, #tx.dims<"n, m">>) -> tensor<?x?xf32, #tx.dims<"n, m">>
  %2 = tx.mul %1, %y : (tensor<?x?xf32, #tx.dims<"n, m">>, tensor<?x?xf32, #tx.dims<"n, m">>) -> tensor<?x?xf32, #tx.dims<"n, m">>
  func.return %2 : tensor<?x?xf32, #tx.dims<"n, m">>
}

// Along a row it is one of the row's nests: what the softmax gives is never a whole tensor.
// CHECK-LABEL: @rows
// CHECK: kernel.row_group shared 1 ->
// CHECK: order tree<1024, 64>
// CHECK: scan exclusive (d1: m) order prefix<1024, 8>
func.func @rows(%x: tensor<?x?xf32, #tx.dims<"n, m">>) -> tensor<?x?xf32, #tx.dims<"n, m">> {
  %0 = tx.exp %x : (tensor<?x?xf32, #tx.dims<"n, m">>) -> tensor<?x?xf32, #tx.dims<"n, m">>
  %e = tx.eval %0 : (tensor<?x?xf32, #tx.dims<"n, m">>) -> tensor<?x?xf32, #tx.dims<"n, m">>
  %1 = tx.sum %e {dims = [1], order = #tx.order<"tree<1024, 64>">} : (tensor<?x?xf32, #tx.dims<"n, m">>) -> tensor<?xf32, #tx.dims<"n">>
  %f = tx.eval %1 : (tensor<?xf32, #tx.dims<"n">>) -> tensor<?xf32, #tx.dims<"n">>
  %2 = tx.reshape %f {dims = #tx.dims<"n, 1">} : (tensor<?xf32, #tx.dims<"n">>) -> tensor<?x1xf32, #tx.dims<"n, 1">>
  %3 = tx.expand %2 {dims = #tx.dims<"n, m">} : (tensor<?x1xf32, #tx.dims<"n, 1">>) -> tensor<?x?xf32, #tx.dims<"n, m">>
  %4 = tx.div %e, %3 : (tensor<?x?xf32, #tx.dims<"n, m">>, tensor<?x?xf32, #tx.dims<"n, m">>) -> tensor<?x?xf32, #tx.dims<"n, m">>
  %5 = tx.cumsum %4 {axis = 1 : i64, exclusive = true, order = #tx.order<"prefix<1024, 8>">} : (tensor<?x?xf32, #tx.dims<"n, m">>) -> tensor<?x?xf32, #tx.dims<"n, m">>
  func.return %5 : tensor<?x?xf32, #tx.dims<"n, m">>
}
