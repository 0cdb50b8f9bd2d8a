// RUN: tx-opt %s -p tx-insert-evals,tx-fuse | filecheck %s

// What follows a contraction and ends in one value becomes its epilogue, though it is used twice on the way.

// CHECK: @epilogue
// CHECK: "kernel.generic"(%a, %b) ({
// CHECK: order = #tx.order<"chain<512, fma>">
// CHECK-NOT: kernel.generic
// CHECK: func.return
func.func @epilogue(%a: tensor<?x?xf32, #tx.dims<"m, k">>, %b: tensor<?x?xf32, #tx.dims<"k, n">>) -> tensor<?x?xf32, #tx.dims<"m, n">> {
  %h = tx.contract %a, %b {pairs = [[1, 0]], batch = [], order = #tx.order<"chain<512, fma>">} : (tensor<?x?xf32, #tx.dims<"m, k">>, tensor<?x?xf32, #tx.dims<"k, n">>) -> tensor<?x?xf32, #tx.dims<"m, n">>
  %t = tx.tanh %h : (tensor<?x?xf32, #tx.dims<"m, n">>) -> tensor<?x?xf32, #tx.dims<"m, n">>
  %y = tx.mul %h, %t : (tensor<?x?xf32, #tx.dims<"m, n">>, tensor<?x?xf32, #tx.dims<"m, n">>) -> tensor<?x?xf32, #tx.dims<"m, n">>
  func.return %y : tensor<?x?xf32, #tx.dims<"m, n">>
}

// Two values leave: the contraction is kept for both.

// CHECK: @two_values
// CHECK: order = #tx.order<"chain<512, fma>">
// CHECK: "kernel.generic"
// CHECK: func.return
func.func @two_values(%a: tensor<?x?xf32, #tx.dims<"m, k">>, %b: tensor<?x?xf32, #tx.dims<"k, n">>) -> (tensor<?x?xf32, #tx.dims<"m, n">>, tensor<?x?xf32, #tx.dims<"m, n">>) {
  %h = tx.contract %a, %b {pairs = [[1, 0]], batch = [], order = #tx.order<"chain<512, fma>">} : (tensor<?x?xf32, #tx.dims<"m, k">>, tensor<?x?xf32, #tx.dims<"k, n">>) -> tensor<?x?xf32, #tx.dims<"m, n">>
  %t = tx.tanh %h : (tensor<?x?xf32, #tx.dims<"m, n">>) -> tensor<?x?xf32, #tx.dims<"m, n">>
  func.return %h, %t : tensor<?x?xf32, #tx.dims<"m, n">>, tensor<?x?xf32, #tx.dims<"m, n">>
}

// A contraction stands alone: it does not become part of a row.

// CHECK: @no_row
// CHECK-NOT: kernel.rows
// CHECK: func.return
func.func @no_row(%a: tensor<?x?xf32, #tx.dims<"m, k">>, %b: tensor<?x?xf32, #tx.dims<"k, n">>) -> tensor<?xf32, #tx.dims<"m">> {
  %h = tx.contract %a, %b {pairs = [[1, 0]], batch = [], order = #tx.order<"chain<512, fma>">} : (tensor<?x?xf32, #tx.dims<"m, k">>, tensor<?x?xf32, #tx.dims<"k, n">>) -> tensor<?x?xf32, #tx.dims<"m, n">>
  %s = tx.sum %h {dims = [1], order = #tx.order<"tree<1024, 64>">} : (tensor<?x?xf32, #tx.dims<"m, n">>) -> tensor<?xf32, #tx.dims<"m">>
  func.return %s : tensor<?xf32, #tx.dims<"m">>
}

// A product whose columns lie together is that of the transposes: its factors change places, and columns run first.

// CHECK-LABEL: @by_columns
// CHECK: ^bb0(%[[A:.*]]: f32, %[[B:.*]]: f32):
// CHECK-NEXT: kernel.yield %[[B]], %[[A]]
// CHECK: extents = #tx.dims<"n, m, k">
// CHECK-SAME: in_maps = [#tx.map<"(d0: n, d1: m, d2: k) -> (d1, d2)">, #tx.map<"(d0: n, d1: m, d2: k) -> (d2, d0)">]
// CHECK-SAME: out_maps = [#tx.map<"(d0: n, d1: m, d2: k) -> (d1, d0)">]
// CHECK-LABEL: @by_rows
// CHECK: ^bb0(%[[A:.*]]: f32, %[[B:.*]]: f32):
// CHECK-NEXT: kernel.yield %[[A]], %[[B]]
// CHECK: extents = #tx.dims<"m, n, k">
func.func @by_columns(%a: tensor<?x?xf32, #tx.dims<"m, k">>, %b: tensor<?x?xf32, #tx.dims<"k, n">>) -> tensor<?x?xf32, #tx.dims<"m, n">> {
  %0 = tx.contract %a, %b {pairs = [[1, 0]], batch = [], order = #tx.order<"chain<512, fma>">, layout = [1, 0]} : (tensor<?x?xf32, #tx.dims<"m, k">>, tensor<?x?xf32, #tx.dims<"k, n">>) -> tensor<?x?xf32, #tx.dims<"m, n">>
  func.return %0 : tensor<?x?xf32, #tx.dims<"m, n">>
}
func.func @by_rows(%a: tensor<?x?xf32, #tx.dims<"m, k">>, %b: tensor<?x?xf32, #tx.dims<"k, n">>) -> tensor<?x?xf32, #tx.dims<"m, n">> {
  %0 = tx.contract %a, %b {pairs = [[1, 0]], batch = [], order = #tx.order<"chain<512, fma>">, layout = [0, 1]} : (tensor<?x?xf32, #tx.dims<"m, k">>, tensor<?x?xf32, #tx.dims<"k, n">>) -> tensor<?x?xf32, #tx.dims<"m, n">>
  func.return %0 : tensor<?x?xf32, #tx.dims<"m, n">>
}
