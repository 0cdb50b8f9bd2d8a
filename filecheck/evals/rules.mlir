// RUN: tx-opt %s --print-unbroken -p tx-insert-evals | filecheck %s

// A chain of maps after a reduction is its epilogue: nothing is materialized.
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

// Reductions of windows of a padded operand would ask of each element where the operand ends: the padded one is materialized.
// CHECK-LABEL: @windows
// CHECK: %[[P:.*]] = tx.view %x {map = #tx.map<(d0: k + n + 6) -> (d0 - 3) where (d0 - 3, -d0 + n + 2)>, fill = 0.0}
// CHECK-NEXT: %[[E:.*]] = tx.eval %[[P]]
// CHECK-NEXT: tx.view %[[E]] {map = #tx.map<(d0: n + 7, d1: k) -> (d0 + d1)>
// CHECK: tx.sum
func.func @windows(%x: tensor<?xf32, #tx.dims<"n">>, %k: tensor<?xf32, #tx.dims<"k">>) -> tensor<?xf32, #tx.dims<"n + 7">> {
  %0 = tx.view %x {map = #tx.map<"(d0: n + 7, d1: k) -> (d0 + d1 - 3) where (d0 + d1 - 3, n - d0 - d1 + 2)">, fill = 0.0 : f64} : (tensor<?xf32, #tx.dims<"n">>) -> tensor<?x?xf32, #tx.dims<"n + 7, k">>
  %1 = tx.view %k {map = #tx.map<"(d0: n + 7, d1: k) -> (d1)">} : (tensor<?xf32, #tx.dims<"k">>) -> tensor<?x?xf32, #tx.dims<"n + 7, k">>
  %2 = tx.mul %0, %1 : (tensor<?x?xf32, #tx.dims<"n + 7, k">>, tensor<?x?xf32, #tx.dims<"n + 7, k">>) -> tensor<?x?xf32, #tx.dims<"n + 7, k">>
  %3 = tx.sum %2 {dims = [1], order = #tx.order<"tree<1024, 64>">} : (tensor<?x?xf32, #tx.dims<"n + 7, k">>) -> tensor<?xf32, #tx.dims<"n + 7">>
  func.return %3 : tensor<?xf32, #tx.dims<"n + 7">>
}

// Each element is read once, or a guard asks for two places: nothing is materialized.
// CHECK-LABEL: @padded
// CHECK-NOT: tx.eval
func.func @padded(%x: tensor<?x?xf32, #tx.dims<"n, m">>) -> (tensor<?xf32, #tx.dims<"n + 2">>, tensor<?xf32, #tx.dims<"n">>) {
  %0 = tx.view %x {map = #tx.map<"(d0: n + 2, d1: m) -> (d0 - 1, d1) where (d0 - 1, n - d0)">, fill = 0.0 : f64} : (tensor<?x?xf32, #tx.dims<"n, m">>) -> tensor<?x?xf32, #tx.dims<"n + 2, m">>
  %1 = tx.sum %0 {dims = [1], order = #tx.order<"tree<1024, 64>">} : (tensor<?x?xf32, #tx.dims<"n + 2, m">>) -> tensor<?xf32, #tx.dims<"n + 2">>
  %2 = tx.view %x {map = #tx.map<"(d0: n, d1: n, d2: m) -> (d0, d2) where (d2 - d1)">, fill = 0.0 : f64} : (tensor<?x?xf32, #tx.dims<"n, m">>) -> tensor<?x?x?xf32, #tx.dims<"n, n, m">>
  %3 = tx.sum %2 {dims = [1, 2], order = #tx.order<"tree<1024, 64>">} : (tensor<?x?x?xf32, #tx.dims<"n, n, m">>) -> tensor<?xf32, #tx.dims<"n">>
  func.return %1, %3 : tensor<?xf32, #tx.dims<"n + 2">>, tensor<?xf32, #tx.dims<"n">>
}
