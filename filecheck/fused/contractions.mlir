// RUN: tx-opt %s --print-unbroken -p tx-insert-evals,tx-fuse | filecheck %s

// What follows a contraction and ends in one value becomes its epilogue, though it is used twice on the way.

// CHECK: @epilogue
// CHECK: kernel.generic {{.*}} order chain<512, fma> {{.*}}%a[{{.*}}%b[
// CHECK-NOT: kernel.generic
// CHECK: func.return
func.func @epilogue(%a: tensor<?x?xf32, #tx.dims<"m, k">>, %b: tensor<?x?xf32, #tx.dims<"k, n">>) -> tensor<?x?xf32, #tx.dims<"m, n">> {
  %h = tx.contract %a, %b {pairs = [[1, 0]], batch = [], order = #tx.order<"chain<512, fma>">} : (tensor<?x?xf32, #tx.dims<"m, k">>, tensor<?x?xf32, #tx.dims<"k, n">>) -> tensor<?x?xf32, #tx.dims<"m, n">>
  %t = tx.tanh %h : (tensor<?x?xf32, #tx.dims<"m, n">>) -> tensor<?x?xf32, #tx.dims<"m, n">>
  %y = tx.mul %h, %t : (tensor<?x?xf32, #tx.dims<"m, n">>, tensor<?x?xf32, #tx.dims<"m, n">>) -> tensor<?x?xf32, #tx.dims<"m, n">>
  func.return %y : tensor<?x?xf32, #tx.dims<"m, n">>
}

// Two values leave: the contraction is materialized for both.

// CHECK: @two_values
// CHECK: order chain<512, fma>
// CHECK: kernel.generic
// CHECK: func.return
func.func @two_values(%a: tensor<?x?xf32, #tx.dims<"m, k">>, %b: tensor<?x?xf32, #tx.dims<"k, n">>) -> (tensor<?x?xf32, #tx.dims<"m, n">>, tensor<?x?xf32, #tx.dims<"m, n">>) {
  %h = tx.contract %a, %b {pairs = [[1, 0]], batch = [], order = #tx.order<"chain<512, fma>">} : (tensor<?x?xf32, #tx.dims<"m, k">>, tensor<?x?xf32, #tx.dims<"k, n">>) -> tensor<?x?xf32, #tx.dims<"m, n">>
  %t = tx.tanh %h : (tensor<?x?xf32, #tx.dims<"m, n">>) -> tensor<?x?xf32, #tx.dims<"m, n">>
  func.return %h, %t : tensor<?x?xf32, #tx.dims<"m, n">>, tensor<?x?xf32, #tx.dims<"m, n">>
}

// A contraction stands alone: it does not become part of a row.

// CHECK: @no_row
// CHECK-NOT: kernel.row_group
// CHECK: func.return
func.func @no_row(%a: tensor<?x?xf32, #tx.dims<"m, k">>, %b: tensor<?x?xf32, #tx.dims<"k, n">>) -> tensor<?xf32, #tx.dims<"m">> {
  %h = tx.contract %a, %b {pairs = [[1, 0]], batch = [], order = #tx.order<"chain<512, fma>">} : (tensor<?x?xf32, #tx.dims<"m, k">>, tensor<?x?xf32, #tx.dims<"k, n">>) -> tensor<?x?xf32, #tx.dims<"m, n">>
  %s = tx.sum %h {dims = [1], order = #tx.order<"tree<1024, 64>">} : (tensor<?x?xf32, #tx.dims<"m, n">>) -> tensor<?xf32, #tx.dims<"m">>
  func.return %s : tensor<?xf32, #tx.dims<"m">>
}

// A product whose columns lie together is that of the transposes: its factors change places, and columns run first.

// CHECK-LABEL: @by_columns
// CHECK: kernel.generic over (d0: n, d1: m) reduce (d2: k)
// CHECK-SAME: in (%[[A:[0-9]+]] = %a[d1, d2], %[[B:[0-9]+]] = %b[d2, d0]) -> (f32[m, n] at [d1, d0])
// CHECK-NEXT: kernel.yield %[[B]], %[[A]]
// CHECK-LABEL: @by_rows
// CHECK: kernel.generic over (d0: m, d1: n) reduce (d2: k) {{.*}} in (%[[A:[0-9]+]] = %a[{{.*}}, %[[B:[0-9]+]] = %b[
// CHECK-NEXT: kernel.yield %[[A]], %[[B]]
func.func @by_columns(%a: tensor<?x?xf32, #tx.dims<"m, k">>, %b: tensor<?x?xf32, #tx.dims<"k, n">>) -> tensor<?x?xf32, #tx.dims<"m, n">> {
  %0 = tx.contract %a, %b {pairs = [[1, 0]], batch = [], order = #tx.order<"chain<512, fma>">, layout = [1, 0]} : (tensor<?x?xf32, #tx.dims<"m, k">>, tensor<?x?xf32, #tx.dims<"k, n">>) -> tensor<?x?xf32, #tx.dims<"m, n">>
  func.return %0 : tensor<?x?xf32, #tx.dims<"m, n">>
}
func.func @by_rows(%a: tensor<?x?xf32, #tx.dims<"m, k">>, %b: tensor<?x?xf32, #tx.dims<"k, n">>) -> tensor<?x?xf32, #tx.dims<"m, n">> {
  %0 = tx.contract %a, %b {pairs = [[1, 0]], batch = [], order = #tx.order<"chain<512, fma>">, layout = [0, 1]} : (tensor<?x?xf32, #tx.dims<"m, k">>, tensor<?x?xf32, #tx.dims<"k, n">>) -> tensor<?x?xf32, #tx.dims<"m, n">>
  func.return %0 : tensor<?x?xf32, #tx.dims<"m, n">>
}
