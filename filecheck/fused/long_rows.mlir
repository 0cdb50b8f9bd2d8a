// RUN: tx-opt %s --print-unbroken -p 'tx-fuse,tx-fuse-rows' | filecheck %s

// Twice five powers and the sum of a row: one kernel.
// CHECK-LABEL: @short
// CHECK: kernel.row_group shared 1 ->
// CHECK-COUNT-5: kernel.generic
// CHECK-NOT: kernel.{{[^y]}}
// CHECK: func.return
func.func @short(%x: tensor<?x?xf32, #tx.dims<"n, m">>, %y: tensor<?x?xf32, #tx.dims<"n, m">>) -> tensor<?x?xf32, #tx.dims<"n, m">> {
  %0 = tx.pow %x, %y : (tensor<?x?xf32, #tx.dims<"n, m">>, tensor<?x?xf32, #tx.dims<"n, m">>) -> tensor<?x?xf32, #tx.dims<"n, m">>
  %1 = tx.pow %0, %y : (tensor<?x?xf32, #tx.dims<"n, m">>, tensor<?x?xf32, #tx.dims<"n, m">>) -> tensor<?x?xf32, #tx.dims<"n, m">>
  %2 = tx.pow %1, %y : (tensor<?x?xf32, #tx.dims<"n, m">>, tensor<?x?xf32, #tx.dims<"n, m">>) -> tensor<?x?xf32, #tx.dims<"n, m">>
  %3 = tx.pow %2, %y : (tensor<?x?xf32, #tx.dims<"n, m">>, tensor<?x?xf32, #tx.dims<"n, m">>) -> tensor<?x?xf32, #tx.dims<"n, m">>
  %4 = tx.pow %3, %y : (tensor<?x?xf32, #tx.dims<"n, m">>, tensor<?x?xf32, #tx.dims<"n, m">>) -> tensor<?x?xf32, #tx.dims<"n, m">>
  %5 = tx.eval %4 : (tensor<?x?xf32, #tx.dims<"n, m">>) -> tensor<?x?xf32, #tx.dims<"n, m">>
  %6 = tx.sum %5 {dims = [1], order = #tx.order<"tree<1024, 64>">} : (tensor<?x?xf32, #tx.dims<"n, m">>) -> tensor<?xf32, #tx.dims<"n">>
  %7 = tx.eval %6 : (tensor<?xf32, #tx.dims<"n">>) -> tensor<?xf32, #tx.dims<"n">>
  %8 = tx.view %7 {map = #tx.map<"(d0: n, d1: m) -> (d0)">} : (tensor<?xf32, #tx.dims<"n">>) -> tensor<?x?xf32, #tx.dims<"n, m">>
  %9 = tx.div %5, %8 : (tensor<?x?xf32, #tx.dims<"n, m">>, tensor<?x?xf32, #tx.dims<"n, m">>) -> tensor<?x?xf32, #tx.dims<"n, m">>
  %10 = tx.pow %9, %y : (tensor<?x?xf32, #tx.dims<"n, m">>, tensor<?x?xf32, #tx.dims<"n, m">>) -> tensor<?x?xf32, #tx.dims<"n, m">>
  %11 = tx.pow %10, %y : (tensor<?x?xf32, #tx.dims<"n, m">>, tensor<?x?xf32, #tx.dims<"n, m">>) -> tensor<?x?xf32, #tx.dims<"n, m">>
  %12 = tx.pow %11, %y : (tensor<?x?xf32, #tx.dims<"n, m">>, tensor<?x?xf32, #tx.dims<"n, m">>) -> tensor<?x?xf32, #tx.dims<"n, m">>
  %13 = tx.pow %12, %y : (tensor<?x?xf32, #tx.dims<"n, m">>, tensor<?x?xf32, #tx.dims<"n, m">>) -> tensor<?x?xf32, #tx.dims<"n, m">>
  %14 = tx.pow %13, %y : (tensor<?x?xf32, #tx.dims<"n, m">>, tensor<?x?xf32, #tx.dims<"n, m">>) -> tensor<?x?xf32, #tx.dims<"n, m">>
  %15 = tx.eval %14 : (tensor<?x?xf32, #tx.dims<"n, m">>) -> tensor<?x?xf32, #tx.dims<"n, m">>
  %16 = tx.sum %15 {dims = [1], order = #tx.order<"tree<1024, 64>">} : (tensor<?x?xf32, #tx.dims<"n, m">>) -> tensor<?xf32, #tx.dims<"n">>
  %17 = tx.eval %16 : (tensor<?xf32, #tx.dims<"n">>) -> tensor<?xf32, #tx.dims<"n">>
  %18 = tx.view %17 {map = #tx.map<"(d0: n, d1: m) -> (d0)">} : (tensor<?xf32, #tx.dims<"n">>) -> tensor<?x?xf32, #tx.dims<"n, m">>
  %19 = tx.div %15, %18 : (tensor<?x?xf32, #tx.dims<"n, m">>, tensor<?x?xf32, #tx.dims<"n, m">>) -> tensor<?x?xf32, #tx.dims<"n, m">>
  func.return %19 : tensor<?x?xf32, #tx.dims<"n, m">>
}

// Twice six would make too long a kernel: what is left makes another one.
// CHECK-LABEL: @long
// CHECK: kernel.row_group shared 1 ->
// CHECK-COUNT-3: kernel.generic
// CHECK: kernel.row_group shared 1 ->
// CHECK-COUNT-2: kernel.generic
// CHECK-NOT: kernel.{{[^y]}}
// CHECK: func.return
func.func @long(%x: tensor<?x?xf32, #tx.dims<"n, m">>, %y: tensor<?x?xf32, #tx.dims<"n, m">>) -> tensor<?x?xf32, #tx.dims<"n, m">> {
  %0 = tx.pow %x, %y : (tensor<?x?xf32, #tx.dims<"n, m">>, tensor<?x?xf32, #tx.dims<"n, m">>) -> tensor<?x?xf32, #tx.dims<"n, m">>
  %1 = tx.pow %0, %y : (tensor<?x?xf32, #tx.dims<"n, m">>, tensor<?x?xf32, #tx.dims<"n, m">>) -> tensor<?x?xf32, #tx.dims<"n, m">>
  %2 = tx.pow %1, %y : (tensor<?x?xf32, #tx.dims<"n, m">>, tensor<?x?xf32, #tx.dims<"n, m">>) -> tensor<?x?xf32, #tx.dims<"n, m">>
  %3 = tx.pow %2, %y : (tensor<?x?xf32, #tx.dims<"n, m">>, tensor<?x?xf32, #tx.dims<"n, m">>) -> tensor<?x?xf32, #tx.dims<"n, m">>
  %4 = tx.pow %3, %y : (tensor<?x?xf32, #tx.dims<"n, m">>, tensor<?x?xf32, #tx.dims<"n, m">>) -> tensor<?x?xf32, #tx.dims<"n, m">>
  %5 = tx.pow %4, %y : (tensor<?x?xf32, #tx.dims<"n, m">>, tensor<?x?xf32, #tx.dims<"n, m">>) -> tensor<?x?xf32, #tx.dims<"n, m">>
  %6 = tx.eval %5 : (tensor<?x?xf32, #tx.dims<"n, m">>) -> tensor<?x?xf32, #tx.dims<"n, m">>
  %7 = tx.sum %6 {dims = [1], order = #tx.order<"tree<1024, 64>">} : (tensor<?x?xf32, #tx.dims<"n, m">>) -> tensor<?xf32, #tx.dims<"n">>
  %8 = tx.eval %7 : (tensor<?xf32, #tx.dims<"n">>) -> tensor<?xf32, #tx.dims<"n">>
  %9 = tx.view %8 {map = #tx.map<"(d0: n, d1: m) -> (d0)">} : (tensor<?xf32, #tx.dims<"n">>) -> tensor<?x?xf32, #tx.dims<"n, m">>
  %10 = tx.div %6, %9 : (tensor<?x?xf32, #tx.dims<"n, m">>, tensor<?x?xf32, #tx.dims<"n, m">>) -> tensor<?x?xf32, #tx.dims<"n, m">>
  %11 = tx.pow %10, %y : (tensor<?x?xf32, #tx.dims<"n, m">>, tensor<?x?xf32, #tx.dims<"n, m">>) -> tensor<?x?xf32, #tx.dims<"n, m">>
  %12 = tx.pow %11, %y : (tensor<?x?xf32, #tx.dims<"n, m">>, tensor<?x?xf32, #tx.dims<"n, m">>) -> tensor<?x?xf32, #tx.dims<"n, m">>
  %13 = tx.pow %12, %y : (tensor<?x?xf32, #tx.dims<"n, m">>, tensor<?x?xf32, #tx.dims<"n, m">>) -> tensor<?x?xf32, #tx.dims<"n, m">>
  %14 = tx.pow %13, %y : (tensor<?x?xf32, #tx.dims<"n, m">>, tensor<?x?xf32, #tx.dims<"n, m">>) -> tensor<?x?xf32, #tx.dims<"n, m">>
  %15 = tx.pow %14, %y : (tensor<?x?xf32, #tx.dims<"n, m">>, tensor<?x?xf32, #tx.dims<"n, m">>) -> tensor<?x?xf32, #tx.dims<"n, m">>
  %16 = tx.pow %15, %y : (tensor<?x?xf32, #tx.dims<"n, m">>, tensor<?x?xf32, #tx.dims<"n, m">>) -> tensor<?x?xf32, #tx.dims<"n, m">>
  %17 = tx.eval %16 : (tensor<?x?xf32, #tx.dims<"n, m">>) -> tensor<?x?xf32, #tx.dims<"n, m">>
  %18 = tx.sum %17 {dims = [1], order = #tx.order<"tree<1024, 64>">} : (tensor<?x?xf32, #tx.dims<"n, m">>) -> tensor<?xf32, #tx.dims<"n">>
  %19 = tx.eval %18 : (tensor<?xf32, #tx.dims<"n">>) -> tensor<?xf32, #tx.dims<"n">>
  %20 = tx.view %19 {map = #tx.map<"(d0: n, d1: m) -> (d0)">} : (tensor<?xf32, #tx.dims<"n">>) -> tensor<?x?xf32, #tx.dims<"n, m">>
  %21 = tx.div %17, %20 : (tensor<?x?xf32, #tx.dims<"n, m">>, tensor<?x?xf32, #tx.dims<"n, m">>) -> tensor<?x?xf32, #tx.dims<"n, m">>
  func.return %21 : tensor<?x?xf32, #tx.dims<"n, m">>
}
