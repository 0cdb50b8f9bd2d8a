// RUN: tx-opt %s --print-unbroken -p 'tx-insert-evals,tx-topological-order,tx-fuse,tx-fuse-siblings,tx-fuse-rows' | filecheck %s

// A permutation of a reduction's result is the order in which its nest runs, and the maps after it are still its epilogue.
// CHECK-LABEL: @turned
// CHECK: kernel.generic over (d0: m, d1: n) reduce (d2: k) {{.*}} in ({{.*}} = %x[d1, d0, d2])
// CHECK-NOT: kernel.generic
// CHECK: math.sqrt
func.func @turned(%x: tensor<?x?x?xf32, #tx.dims<"n, m, k">>) -> tensor<?x?xf32, #tx.dims<"m, n">> {
  %0 = tx.sum %x {dims = [2], order = #tx.order<"tree<1024, 64>">} : (tensor<?x?x?xf32, #tx.dims<"n, m, k">>) -> tensor<?x?xf32, #tx.dims<"n, m">>
  %1 = tx.view %0 {map = #tx.map<"(d0: m, d1: n) -> (d1, d0)">} : (tensor<?x?xf32, #tx.dims<"n, m">>) -> tensor<?x?xf32, #tx.dims<"m, n">>
  %2 = tx.sqrt %1 : (tensor<?x?xf32, #tx.dims<"m, n">>) -> tensor<?x?xf32, #tx.dims<"m, n">>
  func.return %2 : tensor<?x?xf32, #tx.dims<"m, n">>
}

// A reversal is no permutation of dims: the sum is materialized and read by the other nest.
// CHECK-LABEL: @reversed
// CHECK: %[[S:.*]] = kernel.generic{{.*}}%x[
// CHECK: kernel.generic{{.*}}%[[S]][
func.func @reversed(%x: tensor<?x?xf32, #tx.dims<"n, k">>) -> tensor<?xf32, #tx.dims<"n">> {
  %0 = tx.sum %x {dims = [1], order = #tx.order<"tree<1024, 64>">} : (tensor<?x?xf32, #tx.dims<"n, k">>) -> tensor<?xf32, #tx.dims<"n">>
  %1 = tx.view %0 {map = #tx.map<"(d0: n) -> (n - 1 - d0)">} : (tensor<?xf32, #tx.dims<"n">>) -> tensor<?xf32, #tx.dims<"n">>
  func.return %1 : tensor<?xf32, #tx.dims<"n">>
}

// Rows by columns of a product are tiles: these do not run in another order.
// CHECK-LABEL: @tiles
// CHECK: %[[P:.*]] = kernel.generic{{.*}}%a[{{.*}}%b[
// CHECK: kernel.generic{{.*}}%[[P]][
func.func @tiles(%a: tensor<?x?xf32, #tx.dims<"m, k">>, %b: tensor<?x?xf32, #tx.dims<"k, n">>) -> tensor<?x?xf32, #tx.dims<"n, m">> {
  %0 = tx.contract %a, %b {pairs = [[1, 0]], batch = [], order = #tx.order<"chain<512, fma>">} : (tensor<?x?xf32, #tx.dims<"m, k">>, tensor<?x?xf32, #tx.dims<"k, n">>) -> tensor<?x?xf32, #tx.dims<"m, n">>
  %1 = tx.view %0 {map = #tx.map<"(d0: n, d1: m) -> (d1, d0)">} : (tensor<?x?xf32, #tx.dims<"m, n">>) -> tensor<?x?xf32, #tx.dims<"n, m">>
  func.return %1 : tensor<?x?xf32, #tx.dims<"n, m">>
}
