// RUN: tx-opt %s --print-unbroken -p 'tx-fuse,tx-fuse-rows' | filecheck %s
// RUN: tx-opt %s --print-unbroken -p 'tx-fuse,tx-fuse-rows{enabled=false}' | filecheck %s --check-prefix=APART
// RUN: tx-opt %s --print-unbroken -p 'tx-fuse,tx-fuse-rows{column-major=false}' | filecheck %s --check-prefix=ALONG

// A row's sum is used in that row only: both nests go row by row.
// CHECK-LABEL: @normalise
// CHECK: kernel.row_group shared 1 ->
// CHECK: %[[S:.*]] = kernel.generic{{.*}}%x[
// CHECK: kernel.generic{{.*}}%x[{{.*}}%[[S]][
// CHECK: kernel.yield
// APART-LABEL: @normalise
// APART-NOT: kernel.row_group
// APART: func.return
func.func @normalise(%x: tensor<?x?xf32, #tx.dims<"n, m">>) -> tensor<?x?xf32, #tx.dims<"n, m">> {
  %0 = tx.sum %x {dims = [1], order = #tx.order<"tree<1024, 64>">} : (tensor<?x?xf32, #tx.dims<"n, m">>) -> tensor<?xf32, #tx.dims<"n">>
  %1 = tx.eval %0 : (tensor<?xf32, #tx.dims<"n">>) -> tensor<?xf32, #tx.dims<"n">>
  %2 = tx.view %1 {map = #tx.map<"(d0: n, d1: m) -> (d0)">} : (tensor<?xf32, #tx.dims<"n">>) -> tensor<?x?xf32, #tx.dims<"n, m">>
  %3 = tx.div %x, %2 : (tensor<?x?xf32, #tx.dims<"n, m">>, tensor<?x?xf32, #tx.dims<"n, m">>) -> tensor<?x?xf32, #tx.dims<"n, m">>
  func.return %3 : tensor<?x?xf32, #tx.dims<"n, m">>
}

// The map counts columns first, as the sums of columns do, and both go column by column.
// CHECK-LABEL: @columns
// CHECK: kernel.row_group shared 1 ->
// CHECK: %[[S:.*]] = kernel.generic{{.*}}%x[
// CHECK: kernel.generic over (d0: m, d1: n) in ({{.*}} = %x[d1, d0], {{.*}} = %[[S]][d0]) -> (f32[n, m] at [d1, d0])
// ALONG-LABEL: @columns
// ALONG-NOT: kernel.row_group
// ALONG: kernel.generic over (d0: n, d1: m) in ({{.*}} = %x[d0, d1], {{.*}} = %{{[0-9]+}}[d1])
// ALONG: func.return
func.func @columns(%x: tensor<?x?xf32, #tx.dims<"n, m">>) -> tensor<?x?xf32, #tx.dims<"n, m">> {
  %0 = tx.sum %x {dims = [0], order = #tx.order<"tree<1024, 1>">} : (tensor<?x?xf32, #tx.dims<"n, m">>) -> tensor<?xf32, #tx.dims<"m">>
  %1 = tx.eval %0 : (tensor<?xf32, #tx.dims<"m">>) -> tensor<?xf32, #tx.dims<"m">>
  %2 = tx.view %1 {map = #tx.map<"(d0: n, d1: m) -> (d1)">} : (tensor<?xf32, #tx.dims<"m">>) -> tensor<?x?xf32, #tx.dims<"n, m">>
  %3 = tx.div %x, %2 : (tensor<?x?xf32, #tx.dims<"n, m">>, tensor<?x?xf32, #tx.dims<"n, m">>) -> tensor<?x?xf32, #tx.dims<"n, m">>
  func.return %3 : tensor<?x?xf32, #tx.dims<"n, m">>
}

// A map that is there before its columns' reduction is interchanged too.
// CHECK-LABEL: @made_first
// CHECK: kernel.row_group shared 1 ->
// CHECK: kernel.generic over (d0: m, d1: n) in
// CHECK: math.exp
func.func @made_first(%x: tensor<?x?xf32, #tx.dims<"n, m">>) -> tensor<?x?xf32, #tx.dims<"n, m">> {
  %e = tx.exp %x : (tensor<?x?xf32, #tx.dims<"n, m">>) -> tensor<?x?xf32, #tx.dims<"n, m">>
  %k = tx.eval %e : (tensor<?x?xf32, #tx.dims<"n, m">>) -> tensor<?x?xf32, #tx.dims<"n, m">>
  %0 = tx.sum %k {dims = [0], order = #tx.order<"tree<1024, 1>">} : (tensor<?x?xf32, #tx.dims<"n, m">>) -> tensor<?xf32, #tx.dims<"m">>
  %1 = tx.eval %0 : (tensor<?xf32, #tx.dims<"m">>) -> tensor<?xf32, #tx.dims<"m">>
  %2 = tx.view %1 {map = #tx.map<"(d0: n, d1: m) -> (d1)">} : (tensor<?xf32, #tx.dims<"m">>) -> tensor<?x?xf32, #tx.dims<"n, m">>
  %3 = tx.div %k, %2 : (tensor<?x?xf32, #tx.dims<"n, m">>, tensor<?x?xf32, #tx.dims<"n, m">>) -> tensor<?x?xf32, #tx.dims<"n, m">>
  func.return %3 : tensor<?x?xf32, #tx.dims<"n, m">>
}

// Every row needs the sum of all elements: nothing goes row by row.
// CHECK-LABEL: @all
// CHECK-NOT: kernel.row_group
// CHECK: func.return
func.func @all(%x: tensor<?x?xf32, #tx.dims<"n, m">>) -> tensor<?x?xf32, #tx.dims<"n, m">> {
  %0 = tx.sum %x {dims = [0, 1], order = #tx.order<"tree<1024, 64>">} : (tensor<?x?xf32, #tx.dims<"n, m">>) -> tensor<f32, #tx.dims<"">>
  %1 = tx.eval %0 : (tensor<f32, #tx.dims<"">>) -> tensor<f32, #tx.dims<"">>
  %2 = tx.view %1 {map = #tx.map<"(d0: n, d1: m) -> ()">} : (tensor<f32, #tx.dims<"">>) -> tensor<?x?xf32, #tx.dims<"n, m">>
  %3 = tx.div %x, %2 : (tensor<?x?xf32, #tx.dims<"n, m">>, tensor<?x?xf32, #tx.dims<"n, m">>) -> tensor<?x?xf32, #tx.dims<"n, m">>
  func.return %3 : tensor<?x?xf32, #tx.dims<"n, m">>
}

// Maps only: there is no reduction in a row, and nothing to gain.
// CHECK-LABEL: @maps
// CHECK-NOT: kernel.row_group
// CHECK: func.return
func.func @maps(%x: tensor<?x?xf32, #tx.dims<"n, m">>, %y: tensor<?x?xf32, #tx.dims<"n, m">>) -> (tensor<?x?xf32, #tx.dims<"n, m">>, tensor<?x?xf32, #tx.dims<"n, m">>) {
  %0 = tx.exp %x : (tensor<?x?xf32, #tx.dims<"n, m">>) -> tensor<?x?xf32, #tx.dims<"n, m">>
  %1 = tx.exp %y : (tensor<?x?xf32, #tx.dims<"n, m">>) -> tensor<?x?xf32, #tx.dims<"n, m">>
  func.return %0, %1 : tensor<?x?xf32, #tx.dims<"n, m">>, tensor<?x?xf32, #tx.dims<"n, m">>
}

// The order says that rows lie across memory: a schedule takes many of them side by side, or whole tensors are passed
// over along memory.
// CHECK-LABEL: @across_memory
// CHECK: kernel.row_group
// CHECK: func.return
// ALONG-LABEL: @across_memory
// ALONG-NOT: kernel.row_group
// ALONG: func.return
func.func @across_memory(%x: tensor<?x?xf32, #tx.dims<"n, m">>) -> tensor<?x?xf32, #tx.dims<"n, m">> {
  %0 = tx.sum %x {dims = [1], order = #tx.order<"tree<1024, 1>">} : (tensor<?x?xf32, #tx.dims<"n, m">>) -> tensor<?xf32, #tx.dims<"n">>
  %1 = tx.eval %0 : (tensor<?xf32, #tx.dims<"n">>) -> tensor<?xf32, #tx.dims<"n">>
  %2 = tx.view %1 {map = #tx.map<"(d0: n, d1: m) -> (d0)">} : (tensor<?xf32, #tx.dims<"n">>) -> tensor<?x?xf32, #tx.dims<"n, m">>
  %3 = tx.div %x, %2 : (tensor<?x?xf32, #tx.dims<"n, m">>, tensor<?x?xf32, #tx.dims<"n, m">>) -> tensor<?x?xf32, #tx.dims<"n, m">>
  func.return %3 : tensor<?x?xf32, #tx.dims<"n, m">>
}

// Reductions alone go along many such rows at a time, side by side in memory.
// CHECK-LABEL: @folds_across_memory
// CHECK: kernel.row_group
// CHECK: func.return
func.func @folds_across_memory(%x: tensor<?x?xf32, #tx.dims<"n, m">>) -> tensor<?xf32, #tx.dims<"n">> {
  %0 = tx.sum %x {dims = [1], order = #tx.order<"tree<1024, 1>">} : (tensor<?x?xf32, #tx.dims<"n, m">>) -> tensor<?xf32, #tx.dims<"n">>
  %1 = tx.eval %0 : (tensor<?xf32, #tx.dims<"n">>) -> tensor<?xf32, #tx.dims<"n">>
  %2 = tx.view %1 {map = #tx.map<"(d0: n, d1: m) -> (d0)">} : (tensor<?xf32, #tx.dims<"n">>) -> tensor<?x?xf32, #tx.dims<"n, m">>
  %3 = tx.sub %x, %2 : (tensor<?x?xf32, #tx.dims<"n, m">>, tensor<?x?xf32, #tx.dims<"n, m">>) -> tensor<?x?xf32, #tx.dims<"n, m">>
  %4 = tx.sum %3 {dims = [1], order = #tx.order<"tree<1024, 1>">} : (tensor<?x?xf32, #tx.dims<"n, m">>) -> tensor<?xf32, #tx.dims<"n">>
  func.return %4 : tensor<?xf32, #tx.dims<"n">>
}
