// RUN: tx-opt %s --print-unbroken -p tx-fuse | filecheck %s

// The map before a reduction is in its body, the chain of maps after it in its epilogue.
// CHECK-LABEL: @norm
// CHECK: kernel.generic over (d0: n) reduce (d1: m) order tree<1024, 64> {{.*}} in ({{.*}} = %x[d0, d1]) epilogue_inputs ({{.*}} = %b[
// CHECK-NOT: kernel.generic
// CHECK: arith.mulf
// CHECK: kernel.yield
// CHECK: arith.addf
// CHECK: kernel.yield
// CHECK: math.sqrt
// CHECK-NEXT: arith.addf
func.func @norm(%x: tensor<?x?xf32, #tx.dims<"n, m">>, %b: tensor<?xf32, #tx.dims<"n">>) -> tensor<?xf32, #tx.dims<"n">> {
  %0 = tx.mul %x, %x : (tensor<?x?xf32, #tx.dims<"n, m">>, tensor<?x?xf32, #tx.dims<"n, m">>) -> tensor<?x?xf32, #tx.dims<"n, m">>
  %1 = tx.sum %0 {dims = [1], order = #tx.order<"tree<1024, 64>">} : (tensor<?x?xf32, #tx.dims<"n, m">>) -> tensor<?xf32, #tx.dims<"n">>
  %2 = tx.sqrt %1 : (tensor<?xf32, #tx.dims<"n">>) -> tensor<?xf32, #tx.dims<"n">>
  %3 = tx.add %2, %b : (tensor<?xf32, #tx.dims<"n">>, tensor<?xf32, #tx.dims<"n">>) -> tensor<?xf32, #tx.dims<"n">>
  func.return %3 : tensor<?xf32, #tx.dims<"n">>
}

// A sum that is a result itself is materialized: the map after it is no epilogue.
// CHECK-LABEL: @kept
// CHECK: %[[S:.*]] = kernel.generic {{.*}} order tree<1024, 64> {{.*}}%x[
// CHECK-NOT: math.sqrt
// CHECK: kernel.generic{{.*}}%[[S]][
// CHECK: math.sqrt
func.func @kept(%x: tensor<?x?xf32, #tx.dims<"n, m">>) -> (tensor<?xf32, #tx.dims<"n">>, tensor<?xf32, #tx.dims<"n">>) {
  %0 = tx.sum %x {dims = [1], order = #tx.order<"tree<1024, 64>">} : (tensor<?x?xf32, #tx.dims<"n, m">>) -> tensor<?xf32, #tx.dims<"n">>
  %1 = tx.sqrt %0 : (tensor<?xf32, #tx.dims<"n">>) -> tensor<?xf32, #tx.dims<"n">>
  func.return %0, %1 : tensor<?xf32, #tx.dims<"n">>, tensor<?xf32, #tx.dims<"n">>
}
