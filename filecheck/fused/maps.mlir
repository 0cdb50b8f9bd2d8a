// RUN: tx-opt %s --print-unbroken -p tx-fuse | filecheck %s

// Maps and views between memory and memory are one nest: views become the index maps of what is read.
// CHECK-LABEL: @chain
// CHECK: kernel.generic over (d0: n, d1: m) in (%[[X:.*]] = %x[-d0 + n - 1, d1], %[[B:.*]] = %b[d0])
// CHECK-NEXT: %[[S:.*]] = arith.addf %[[X]], %[[B]]
// CHECK-NEXT: math.exp %[[S]]
// CHECK-NOT: kernel.generic
// CHECK: func.return
func.func @chain(%x: tensor<?x?xf32, #tx.dims<"n, m">>, %b: tensor<?xf32, #tx.dims<"n">>) -> tensor<?x?xf32, #tx.dims<"n, m">> {
  %0 = tx.view %x {map = #tx.map<"(d0: n, d1: m) -> (n - 1 - d0, d1)">} : (tensor<?x?xf32, #tx.dims<"n, m">>) -> tensor<?x?xf32, #tx.dims<"n, m">>
  %1 = tx.view %b {map = #tx.map<"(d0: n, d1: m) -> (d0)">} : (tensor<?xf32, #tx.dims<"n">>) -> tensor<?x?xf32, #tx.dims<"n, m">>
  %2 = tx.add %0, %1 : (tensor<?x?xf32, #tx.dims<"n, m">>, tensor<?x?xf32, #tx.dims<"n, m">>) -> tensor<?x?xf32, #tx.dims<"n, m">>
  %3 = tx.exp %2 : (tensor<?x?xf32, #tx.dims<"n, m">>) -> tensor<?x?xf32, #tx.dims<"n, m">>
  func.return %3 : tensor<?x?xf32, #tx.dims<"n, m">>
}

// What is marked is materialised: fusion does not look through an eval.
// CHECK-LABEL: @marked
// CHECK: %[[E:.*]] = kernel.generic{{.*}}%x[
// CHECK: math.exp
// CHECK: kernel.generic{{.*}}%[[E]][
// CHECK-NOT: math.exp
// CHECK: math.sqrt
func.func @marked(%x: tensor<?xf32, #tx.dims<"n">>) -> tensor<?xf32, #tx.dims<"n">> {
  %0 = tx.exp %x : (tensor<?xf32, #tx.dims<"n">>) -> tensor<?xf32, #tx.dims<"n">>
  %1 = tx.eval %0 : (tensor<?xf32, #tx.dims<"n">>) -> tensor<?xf32, #tx.dims<"n">>
  %2 = tx.view %1 {map = #tx.map<"(d0: n) -> (n - 1 - d0)">} : (tensor<?xf32, #tx.dims<"n">>) -> tensor<?xf32, #tx.dims<"n">>
  %3 = tx.sqrt %2 : (tensor<?xf32, #tx.dims<"n">>) -> tensor<?xf32, #tx.dims<"n">>
  func.return %3 : tensor<?xf32, #tx.dims<"n">>
}
