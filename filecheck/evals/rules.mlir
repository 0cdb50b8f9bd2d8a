// RUN: tx-opt %s -p tx-insert-evals | filecheck %s

// A chain of maps after a fold is its epilogue: nothing is kept.
// CHECK-LABEL: @epilogue
// CHECK-NOT: tx.eval
func.func @epilogue(%x: tensor<?x?xf32, #tx.dims<"n, m">>) -> tensor<?xf32, #tx.dims<"n">> {
  %0 = tx.sum %x {dims = [1], order = #tx.order<"tree<1024, 64>">} : (tensor<?x?xf32, #tx.dims<"n, m">>) -> tensor<?xf32, #tx.dims<"n">>
  %1 = tx.sqrt %0 : (tensor<?xf32, #tx.dims<"n">>) -> tensor<?xf32, #tx.dims<"n">>
  func.return %1 : tensor<?xf32, #tx.dims<"n">>
}

// Cheap arithmetic used twice is done twice.
// CHECK-LABEL: @cheap
// CHECK-NOT: tx.eval
func.func @cheap(%x: tensor<?x?xf32, #tx.dims<"n, m">>) -> (tensor<?x?xf32, #tx.dims<"n, m">>, tensor<?xf32, #tx.dims<"n">>) {
  %0 = tx.add %x, %x : (tensor<?x?xf32, #tx.dims<"n, m">>, tensor<?x?xf32, #tx.dims<"n, m">>) -> tensor<?x?xf32, #tx.dims<"n, m">>
  %1 = tx.sqrt %0 : (tensor<?x?xf32, #tx.dims<"n, m">>) -> tensor<?x?xf32, #tx.dims<"n, m">>
  %2 = tx.sum %0 {dims = [1], order = #tx.order<"tree<1024, 64>">} : (tensor<?x?xf32, #tx.dims<"n, m">>) -> tensor<?xf32, #tx.dims<"n">>
  func.return %1, %2 : tensor<?x?xf32, #tx.dims<"n, m">>, tensor<?xf32, #tx.dims<"n">>
}

// An exponential broadcast along a long dim would be recomputed for each of its elements.
// CHECK-LABEL: @broadcast
// CHECK: %[[X:.*]] = tx.exp
// CHECK-NEXT: tx.eval %[[X]]
// CHECK-NOT: tx.eval
func.func @broadcast(%x: tensor<?x?xf32, #tx.dims<"n, m">>, %b: tensor<?xf32, #tx.dims<"n">>) -> tensor<?x?xf32, #tx.dims<"n, m">> {
  %0 = tx.exp %b : (tensor<?xf32, #tx.dims<"n">>) -> tensor<?xf32, #tx.dims<"n">>
  %1 = tx.view %0 {map = #tx.map<"(d0: n, d1: m) -> (d0)">} : (tensor<?xf32, #tx.dims<"n">>) -> tensor<?x?xf32, #tx.dims<"n, m">>
  %2 = tx.add %x, %1 : (tensor<?x?xf32, #tx.dims<"n, m">>, tensor<?x?xf32, #tx.dims<"n, m">>) -> tensor<?x?xf32, #tx.dims<"n, m">>
  func.return %2 : tensor<?x?xf32, #tx.dims<"n, m">>
}

// The user's own eval stays, and is not doubled.
// CHECK-LABEL: @own
// CHECK: tx.add
// CHECK-NEXT: tx.eval
// CHECK-NEXT: tx.sqrt
func.func @own(%x: tensor<?x?xf32, #tx.dims<"n, m">>) -> tensor<?x?xf32, #tx.dims<"n, m">> {
  %0 = tx.add %x, %x : (tensor<?x?xf32, #tx.dims<"n, m">>, tensor<?x?xf32, #tx.dims<"n, m">>) -> tensor<?x?xf32, #tx.dims<"n, m">>
  %1 = tx.eval %0 : (tensor<?x?xf32, #tx.dims<"n, m">>) -> tensor<?x?xf32, #tx.dims<"n, m">>
  %2 = tx.sqrt %1 : (tensor<?x?xf32, #tx.dims<"n, m">>) -> tensor<?x?xf32, #tx.dims<"n, m">>
  func.return %2 : tensor<?x?xf32, #tx.dims<"n, m">>
}
