// RUN: tx-opt %s --print-unbroken -p tx-swap-layout | filecheck %s
// RUN: tx-opt %s --print-unbroken -p 'tx-swap-layout{row-major-results=true}' | filecheck %s --check-prefix=KEEP
// RUN: tx-opt %s --print-unbroken -p "tx-swap-layout{swap=false}" | filecheck %s --check-prefix=KEEP

// A map of transposed operands is stored transposed.
// CHECK-LABEL: @both
// CHECK: tx.add {{.*}} {layout = [1, 0], saved =
// KEEP-LABEL: @both
// KEEP-NOT: layout =
func.func @both(%x: tensor<?x?xf32, #tx.dims<"n, m">>, %y: tensor<?x?xf32, #tx.dims<"n, m">>) -> tensor<?x?xf32, #tx.dims<"m, n">> {
  %0 = tx.shuffle %x {permutation = [1, 0]} : (tensor<?x?xf32, #tx.dims<"n, m">>) -> tensor<?x?xf32, #tx.dims<"m, n">>
  %1 = tx.shuffle %y {permutation = [1, 0]} : (tensor<?x?xf32, #tx.dims<"n, m">>) -> tensor<?x?xf32, #tx.dims<"m, n">>
  %2 = tx.add %0, %1 : (tensor<?x?xf32, #tx.dims<"m, n">>, tensor<?x?xf32, #tx.dims<"m, n">>) -> tensor<?x?xf32, #tx.dims<"m, n">>
  func.return %2 : tensor<?x?xf32, #tx.dims<"m, n">>
}

// One of each: row-major wins.
// CHECK-LABEL: @mixed
// CHECK-NOT: layout =
func.func @mixed(%x: tensor<?x?xf32, #tx.dims<"n, n">>) -> tensor<?x?xf32, #tx.dims<"n, n">> {
  %0 = tx.shuffle %x {permutation = [1, 0]} : (tensor<?x?xf32, #tx.dims<"n, n">>) -> tensor<?x?xf32, #tx.dims<"n, n">>
  %1 = tx.add %0, %x : (tensor<?x?xf32, #tx.dims<"n, n">>, tensor<?x?xf32, #tx.dims<"n, n">>) -> tensor<?x?xf32, #tx.dims<"n, n">>
  func.return %1 : tensor<?x?xf32, #tx.dims<"n, n">>
}

// A result written into an argument is stored as that is.
// CHECK-LABEL: @into_argument
// CHECK-NOT: layout =
func.func @into_argument(%x: tensor<4x4xf32>) -> tensor<4x4xf32> attributes {tx.aliases = [0]} {
  %0 = tx.shuffle %x {permutation = [1, 0]} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %1 = tx.exp %0 : (tensor<4x4xf32>) -> tensor<4x4xf32>
  func.return %1 : tensor<4x4xf32>
}

// A permutation and its inverse, a map between them: nothing is left to mark.
// CHECK-LABEL: @there_and_back
// CHECK-NOT: layout =
func.func @there_and_back(%x: tensor<4x6xf32>) -> tensor<4x6xf32> {
  %0 = tx.shuffle %x {permutation = [1, 0]} : (tensor<4x6xf32>) -> tensor<6x4xf32>
  %1 = tx.exp %0 : (tensor<6x4xf32>) -> tensor<6x4xf32>
  %2 = tx.shuffle %1 {permutation = [1, 0]} : (tensor<6x4xf32>) -> tensor<4x6xf32>
  func.return %2 : tensor<4x6xf32>
}

// A slice keeps the order of what it is taken from; a reshape has none to keep.
// CHECK-LABEL: @slices
// CHECK: tx.exp {{.*}} {layout = [1, 0], saved =
func.func @slices(%x: tensor<6x4xf32>) -> tensor<5x4xf32> attributes {tx.strides = [#tx.dims<"1, 6">]} {
  %0 = tx.view %x {map = #tx.map<"(d0: 5, d1: 4) -> (d0 + 1, d1)">} : (tensor<6x4xf32>) -> tensor<5x4xf32>
  %1 = tx.exp %0 : (tensor<5x4xf32>) -> tensor<5x4xf32>
  func.return %1 : tensor<5x4xf32>
}

// CHECK-LABEL: @reshaped
// CHECK-NOT: layout =
func.func @reshaped(%x: tensor<6x4xf32>) -> tensor<4x6xf32> attributes {tx.strides = [#tx.dims<"1, 6">]} {
  %0 = tx.reshape %x {dims = #tx.dims<"4, 6">} : (tensor<6x4xf32>) -> tensor<4x6xf32>
  %1 = tx.exp %0 : (tensor<4x6xf32>) -> tensor<4x6xf32>
  func.return %1 : tensor<4x6xf32>
}

// A scan's results lie as its elements do.
// CHECK-LABEL: @scanned
// CHECK: tx.cumsum {{.*}}layout = [1, 0]
// KEEP-LABEL: @scanned
// KEEP-NOT: layout =
func.func @scanned(%x: tensor<6x4xf32>) -> tensor<6x4xf32> attributes {tx.strides = [#tx.dims<"1, 6">]} {
  %0 = tx.cumsum %x {axis = 1, exclusive = false, order = #tx.order<"prefix<1024, 8>">} : (tensor<6x4xf32>) -> tensor<6x4xf32>
  func.return %0 : tensor<6x4xf32>
}

// What reductions and maps read more than once may be materialized, and lies as its operand does; what else reads it decides for itself.
// CHECK-LABEL: @read_twice
// KEEP-LABEL: @read_twice
// CHECK: tx.exp {{.*}}layout = [1, 0]
// CHECK-LABEL: @read_by_a_product
// CHECK-NOT: layout =
func.func @read_twice(%x: tensor<6x4xf32>) -> (tensor<6xf32>, tensor<6xf32>) attributes {tx.strides = [#tx.dims<"1, 6">]} {
  %0 = tx.exp %x : (tensor<6x4xf32>) -> tensor<6x4xf32>
  %1 = tx.sum %0 {dims = [1], order = #tx.order<"tree<1024, 64>">} : (tensor<6x4xf32>) -> tensor<6xf32>
  %2 = tx.maximum %0 {dims = [1], order = #tx.order<"tree<1024, 64>">} : (tensor<6x4xf32>) -> tensor<6xf32>
  func.return %1, %2 : tensor<6xf32>, tensor<6xf32>
}
func.func @read_by_a_product(%x: tensor<6x4xf32>, %y: tensor<4x5xf32>) -> (tensor<6xf32>, tensor<6x5xf32>) attributes {tx.strides = [#tx.dims<"1, 6">, #tx.dims<"5, 1">]} {
  %0 = tx.exp %x : (tensor<6x4xf32>) -> tensor<6x4xf32>
  %1 = tx.sum %0 {dims = [1], order = #tx.order<"tree<1024, 64>">} : (tensor<6x4xf32>) -> tensor<6xf32>
  %2 = tx.contract %0, %y {batch = [], order = #tx.order<"chain<512, fma>">, pairs = [[1, 0]]} : (tensor<6x4xf32>, tensor<4x5xf32>) -> tensor<6x5xf32>
  func.return %1, %2 : tensor<6xf32>, tensor<6x5xf32>
}

// Columns of a product lie together where those of both operands do; not where rows of one do, nor vectors.
// CHECK-LABEL: @product_of_columns
// CHECK: tx.contract %a, %b {{.*}}layout = [1, 0]
// CHECK-LABEL: @other_products
// CHECK-NOT: layout =
// CHECK: func.return
// KEEP-LABEL: @product_of_columns
// KEEP-NOT: layout =
func.func @product_of_columns(%a: tensor<6x4xf32>, %b: tensor<4x5xf32>) -> tensor<6x5xf32> attributes {tx.strides = [#tx.dims<"1, 6">, #tx.dims<"1, 4">]} {
  %0 = tx.contract %a, %b {batch = [], order = #tx.order<"chain<512, fma>">, pairs = [[1, 0]]} : (tensor<6x4xf32>, tensor<4x5xf32>) -> tensor<6x5xf32>
  func.return %0 : tensor<6x5xf32>
}
func.func @other_products(%a: tensor<6x4xf32>, %b: tensor<4x5xf32>, %c: tensor<4x5xf32>, %d: tensor<6x4xf32>, %v: tensor<4xf32>) -> (tensor<6x5xf32>, tensor<6x5xf32>, tensor<6xf32>) attributes {tx.strides = [#tx.dims<"1, 6">, #tx.dims<"1, 4">, #tx.dims<"5, 1">, #tx.dims<"4, 1">, #tx.dims<"1">]} {
  %0 = tx.contract %a, %c {batch = [], order = #tx.order<"chain<512, fma>">, pairs = [[1, 0]]} : (tensor<6x4xf32>, tensor<4x5xf32>) -> tensor<6x5xf32>
  %1 = tx.contract %d, %b {batch = [], order = #tx.order<"chain<512, fma>">, pairs = [[1, 0]]} : (tensor<6x4xf32>, tensor<4x5xf32>) -> tensor<6x5xf32>
  %2 = tx.contract %a, %v {batch = [], order = #tx.order<"tree<1024, 1, fma>">, pairs = [[1, 0]]} : (tensor<6x4xf32>, tensor<4xf32>) -> tensor<6xf32>
  func.return %0, %1, %2 : tensor<6x5xf32>, tensor<6x5xf32>, tensor<6xf32>
}
