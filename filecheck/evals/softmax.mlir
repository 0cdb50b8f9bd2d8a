// RUN: tx-opt %s --print-unbroken -p tx-insert-evals | filecheck %s

// The maximum is broadcast back over its rows: it is materialized.  The subtraction is cheaper than the memory; the
// exponential, read twice, is dearer.

// CHECK-LABEL: @softmax
// CHECK: %[[M:.*]] = tx.maximum
// CHECK-NEXT: %[[E:.*]] = tx.eval %[[M]] {{.*}}recompute = {{.*}}traffic = {{.*}}uses = 1, reason = "reduction read by other ops"
// CHECK: tx.view %[[E]]
// CHECK: %[[D:.*]] = tx.sub
// CHECK-NOT: tx.eval %[[D]]
// CHECK: %[[X:.*]] = tx.exp %[[D]]
// CHECK: %[[S:.*]] = tx.sum
// CHECK-NEXT: tx.eval %[[S]]
// CHECK: tx.div
// CHECK-NEXT: func.return
func.func @softmax(%x: tensor<?x?xf32, #tx.dims<"n, m">>) -> tensor<?x?xf32, #tx.dims<"n, m">> {
  %0 = tx.maximum %x {dims = [1], order = #tx.order<"free">} : (tensor<?x?xf32, #tx.dims<"n, m">>) -> tensor<?xf32, #tx.dims<"n">>
  %1 = tx.view %0 {map = #tx.map<"(d0: n, d1: m) -> (d0)">} : (tensor<?xf32, #tx.dims<"n">>) -> tensor<?x?xf32, #tx.dims<"n, m">>
  %2 = tx.sub %x, %1 : (tensor<?x?xf32, #tx.dims<"n, m">>, tensor<?x?xf32, #tx.dims<"n, m">>) -> tensor<?x?xf32, #tx.dims<"n, m">>
  %3 = tx.exp %2 : (tensor<?x?xf32, #tx.dims<"n, m">>) -> tensor<?x?xf32, #tx.dims<"n, m">>
  %4 = tx.sum %3 {dims = [1], order = #tx.order<"tree<1024, 64>">} : (tensor<?x?xf32, #tx.dims<"n, m">>) -> tensor<?xf32, #tx.dims<"n">>
  %5 = tx.view %4 {map = #tx.map<"(d0: n, d1: m) -> (d0)">} : (tensor<?xf32, #tx.dims<"n">>) -> tensor<?x?xf32, #tx.dims<"n, m">>
  %6 = tx.div %3, %5 : (tensor<?x?xf32, #tx.dims<"n, m">>, tensor<?x?xf32, #tx.dims<"n, m">>) -> tensor<?x?xf32, #tx.dims<"n, m">>
  func.return %6 : tensor<?x?xf32, #tx.dims<"n, m">>
}
