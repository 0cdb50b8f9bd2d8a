// RUN: tx-opt %s --print-unbroken -p tx-canonicalize | filecheck %s

// CHECK-LABEL: @cancel
// CHECK-NEXT: func.return %x
func.func @cancel(%x: tensor<4x6xf32>) -> tensor<4x6xf32> {
  %0 = tx.shuffle %x {permutation = [1, 0]} : (tensor<4x6xf32>) -> tensor<6x4xf32>
  %1 = tx.shuffle %0 {permutation = [1, 0]} : (tensor<6x4xf32>) -> tensor<4x6xf32>
  func.return %1 : tensor<4x6xf32>
}

// CHECK-LABEL: @compose
// CHECK-NEXT: tx.view %x {map = #tx.map<(d0: 2, d1: 4) -> (d1, d0 + 3)>
// CHECK-NEXT: func.return
func.func @compose(%x: tensor<4x6xf32>) -> tensor<2x4xf32> {
  %0 = tx.shuffle %x {permutation = [1, 0]} : (tensor<4x6xf32>) -> tensor<6x4xf32>
  %1 = tx.slice %0 {offsets = #tx.dims<"3, 0">, extents = #tx.dims<"2, 4">} : (tensor<6x4xf32>) -> tensor<2x4xf32>
  func.return %1 : tensor<2x4xf32>
}

// CHECK-LABEL: @split_and_merge
// CHECK-NEXT: func.return %x
func.func @split_and_merge(%x: tensor<?xf32, #tx.dims<"n*m">>) -> tensor<?xf32, #tx.dims<"n*m">> {
  %0 = tx.reshape %x {dims = #tx.dims<"n, m">} : (tensor<?xf32, #tx.dims<"n*m">>) -> tensor<?x?xf32, #tx.dims<"n, m">>
  %1 = tx.reshape %0 {dims = #tx.dims<"n*m">} : (tensor<?x?xf32, #tx.dims<"n, m">>) -> tensor<?xf32, #tx.dims<"n*m">>
  func.return %1 : tensor<?xf32, #tx.dims<"n*m">>
}

// Guards with different fills cannot be one view: 0.0 and -0.0 are different.
// CHECK-LABEL: @two_fills
// CHECK-COUNT-2: tx.view
func.func @two_fills(%x: tensor<4xf32>) -> tensor<6xf32> {
  %0 = tx.view %x {map = #tx.map<"(d0: 5) -> (d0) where (-d0 + 3)">, fill = 0.0 : f64} : (tensor<4xf32>) -> tensor<5xf32>
  %1 = tx.view %0 {map = #tx.map<"(d0: 6) -> (d0) where (-d0 + 4)">, fill = -0.0 : f64} : (tensor<5xf32>) -> tensor<6xf32>
  func.return %1 : tensor<6xf32>
}

// CHECK-LABEL: @one_fill
// CHECK-NEXT: tx.view %x {{.*}} where (
// CHECK-NEXT: func.return
func.func @one_fill(%x: tensor<4xf32>) -> tensor<6xf32> {
  %0 = tx.view %x {map = #tx.map<"(d0: 5) -> (d0) where (-d0 + 3)">, fill = 0.0 : f64} : (tensor<4xf32>) -> tensor<5xf32>
  %1 = tx.view %0 {map = #tx.map<"(d0: 6) -> (d0) where (-d0 + 4)">, fill = 0.0 : f64} : (tensor<5xf32>) -> tensor<6xf32>
  func.return %1 : tensor<6xf32>
}

// CHECK-LABEL: @joined
// CHECK-NEXT: %[[E:.*]] = tx.empty {dtype = #tx.dtype<f32>, dims = #tx.dims<6>}
// CHECK-NEXT: %[[A:.*]] = tx.insert %[[E]], %x {map = #tx.map<(d0: 4) -> (d0)>}
// CHECK-NEXT: %[[B:.*]] = tx.insert %[[A]], %y {map = #tx.map<(d0: 2) -> (d0 + 4)>}
// CHECK-NEXT: func.return %[[B]]
func.func @joined(%x: tensor<4xf32>, %y: tensor<2xf32>) -> tensor<6xf32> {
  %0 = tx.concatenate %x, %y {axis = 0} : (tensor<4xf32>, tensor<2xf32>) -> tensor<6xf32>
  func.return %0 : tensor<6xf32>
}

// What is put together and given out under other dims is stored where it ends up.
// CHECK-LABEL: @joined_flat
// CHECK-NEXT: %[[E:.*]] = tx.empty {dtype = #tx.dtype<f32>, dims = #tx.dims<2*m + 2*n>}
// CHECK-NEXT: %[[A:.*]] = tx.insert %[[E]], %x {map = #tx.map<(d0: n, d1: 2) -> (2*d0 + d1)>}
// CHECK-NEXT: %[[B:.*]] = tx.insert %[[A]], %y {map = #tx.map<(d0: m, d1: 2) -> (2*d0 + d1 + 2*n)>}
// CHECK-NEXT: func.return %[[B]]
func.func @joined_flat(%x: tensor<?x2xf32, #tx.dims<"n, 2">>, %y: tensor<?x2xf32, #tx.dims<"m, 2">>) -> tensor<?xf32, #tx.dims<"2*n + 2*m">> {
  %0 = tx.concatenate %x, %y {axis = 0} : (tensor<?x2xf32, #tx.dims<"n, 2">>, tensor<?x2xf32, #tx.dims<"m, 2">>) -> tensor<?x2xf32, #tx.dims<"n + m, 2">>
  %1 = tx.reshape %0 {dims = #tx.dims<"2*n + 2*m">} : (tensor<?x2xf32, #tx.dims<"n + m, 2">>) -> tensor<?xf32, #tx.dims<"2*n + 2*m">>
  func.return %1 : tensor<?xf32, #tx.dims<"2*n + 2*m">>
}

// Not where its other form is wanted too, nor where a map reads it, for which a reshape is an index map.
// CHECK-LABEL: @joined_twice
// CHECK: tx.insert {{.*}} -> (d0)
// CHECK: tx.insert {{.*}} -> (d0 + 4)
// CHECK: tx.reshape
func.func @joined_twice(%x: tensor<4xf32>, %y: tensor<2xf32>) -> (tensor<6xf32>, tensor<2x3xf32>) {
  %0 = tx.concatenate %x, %y {axis = 0} : (tensor<4xf32>, tensor<2xf32>) -> tensor<6xf32>
  %1 = tx.reshape %0 {dims = #tx.dims<"2, 3">} : (tensor<6xf32>) -> tensor<2x3xf32>
  func.return %0, %1 : tensor<6xf32>, tensor<2x3xf32>
}

// CHECK-LABEL: @joined_read
// CHECK: tx.insert {{.*}} -> (d0)
// CHECK: tx.insert {{.*}} -> (d0 + 4)
// CHECK: tx.reshape
func.func @joined_read(%x: tensor<4xf32>, %y: tensor<2xf32>) -> tensor<2x3xf32> {
  %0 = tx.concatenate %x, %y {axis = 0} : (tensor<4xf32>, tensor<2xf32>) -> tensor<6xf32>
  %1 = tx.reshape %0 {dims = #tx.dims<"2, 3">} : (tensor<6xf32>) -> tensor<2x3xf32>
  %2 = tx.exp %1 : (tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return %2 : tensor<2x3xf32>
}

// What is stored into all of a tensor of the program's own is that tensor, whatever stood there.
// CHECK-LABEL: @stored_everywhere
// CHECK-NEXT: %[[T:.*]] = tx.shuffle %x
// CHECK-NEXT: func.return %[[T]]
func.func @stored_everywhere(%x: tensor<?x?xf32, #tx.dims<"n, m">>) -> tensor<?x?xf32, #tx.dims<"m, n">> {
  %0 = tx.constant {value = 0.0 : f32, dtype = #tx.dtype<"f32">} : () -> tensor<f32>
  %1 = tx.expand %0 {dims = #tx.dims<"m, n">} : (tensor<f32>) -> tensor<?x?xf32, #tx.dims<"m, n">>
  %2 = tx.shuffle %x {permutation = [1 : i64, 0 : i64]} : (tensor<?x?xf32, #tx.dims<"n, m">>) -> tensor<?x?xf32, #tx.dims<"m, n">>
  %3 = tx.insert %1, %2 {map = #tx.map<"(d0: m, d1: n) -> (d0, d1)">} : (tensor<?x?xf32, #tx.dims<"m, n">>, tensor<?x?xf32, #tx.dims<"m, n">>) -> tensor<?x?xf32, #tx.dims<"m, n">>
  func.return %3 : tensor<?x?xf32, #tx.dims<"m, n">>
}

// What is put together of parts that are put together is stored part by part, into one tensor.
// CHECK-LABEL: @blocks
// CHECK-COUNT-1: tx.empty
// CHECK: tx.insert {{.*}} %a {{.*}} -> (d0, d1)
// CHECK: tx.insert {{.*}} %b {{.*}} -> (d0, d1 + 3)
// CHECK: tx.insert {{.*}} %a {{.*}} -> (d0 + 2, d1)
// CHECK: tx.insert {{.*}} %b {{.*}} -> (d0 + 2, d1 + 3)
// CHECK-NEXT: func.return
func.func @blocks(%a: tensor<2x3xf32>, %b: tensor<2x4xf32>) -> tensor<4x7xf32> {
  %0 = tx.concatenate %a, %b {axis = 1} : (tensor<2x3xf32>, tensor<2x4xf32>) -> tensor<2x7xf32>
  %1 = tx.concatenate %a, %b {axis = 1} : (tensor<2x3xf32>, tensor<2x4xf32>) -> tensor<2x7xf32>
  %2 = tx.concatenate %0, %1 {axis = 0} : (tensor<2x7xf32>, tensor<2x7xf32>) -> tensor<4x7xf32>
  func.return %2 : tensor<4x7xf32>
}

// Not where the inner one is read by others too, nor into what holds elements already.
// CHECK-LABEL: @block_read_twice
// CHECK-COUNT-2: tx.empty
func.func @block_read_twice(%a: tensor<2xf32>, %b: tensor<2xf32>) -> (tensor<4xf32>, tensor<6xf32>) {
  %0 = tx.concatenate %a, %b {axis = 0} : (tensor<2xf32>, tensor<2xf32>) -> tensor<4xf32>
  %1 = tx.concatenate %0, %a {axis = 0} : (tensor<4xf32>, tensor<2xf32>) -> tensor<6xf32>
  func.return %0, %1 : tensor<4xf32>, tensor<6xf32>
}

// CHECK-LABEL: @block_into_elements
// CHECK-COUNT-1: tx.empty
// CHECK: tx.insert %x, {{.*}} -> (d0 + 1)
func.func @block_into_elements(%x: tensor<9xf32>, %a: tensor<2xf32>) -> tensor<9xf32> {
  %0 = tx.concatenate %a, %a {axis = 0} : (tensor<2xf32>, tensor<2xf32>) -> tensor<4xf32>
  %1 = tx.insert %x, %0 {map = #tx.map<"(d0: 4) -> (d0 + 1)">} : (tensor<9xf32>, tensor<4xf32>) -> tensor<9xf32>
  func.return %1 : tensor<9xf32>
}
