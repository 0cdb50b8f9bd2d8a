// RUN: tx-opt %s --print-unbroken -p 'tx-topological-order,tx-fuse,tx-fuse-siblings,tx-fuse-rows' | filecheck %s

// Statements about x and about y, written in turns: what is alike comes together, and each pair is one nest.
// CHECK-LABEL: @in_turns
// CHECK-COUNT-2: kernel.generic
// CHECK-NOT: kernel.generic
// CHECK: func.return
func.func @in_turns(%x: tensor<?xf32, #tx.dims<"n">>, %y: tensor<?xf32, #tx.dims<"m">>) -> (tensor<?xf32, #tx.dims<"n">>, tensor<?xf32, #tx.dims<"m">>, tensor<?xf32, #tx.dims<"n">>, tensor<?xf32, #tx.dims<"m">>) {
  %0 = tx.exp %x : (tensor<?xf32, #tx.dims<"n">>) -> tensor<?xf32, #tx.dims<"n">>
  %1 = tx.exp %y : (tensor<?xf32, #tx.dims<"m">>) -> tensor<?xf32, #tx.dims<"m">>
  %2 = tx.sqrt %x : (tensor<?xf32, #tx.dims<"n">>) -> tensor<?xf32, #tx.dims<"n">>
  %3 = tx.sqrt %y : (tensor<?xf32, #tx.dims<"m">>) -> tensor<?xf32, #tx.dims<"m">>
  func.return %0, %1, %2, %3 : tensor<?xf32, #tx.dims<"n">>, tensor<?xf32, #tx.dims<"m">>, tensor<?xf32, #tx.dims<"n">>, tensor<?xf32, #tx.dims<"m">>
}

// The sum reads x as it was before the store, which is written in its place: the store stays behind the sum, although
// its result is demanded first.
// CHECK-LABEL: @before_the_store
// CHECK: order tree<1024, 64>
// CHECK: kernel.generic{{.*}}%v[{{.*}}%x[
func.func @before_the_store(%x: tensor<?xf32, #tx.dims<"n">>, %v: tensor<f32>) -> (tensor<?xf32, #tx.dims<"n">>, tensor<f32>) attributes {tx.aliases = [0, -1]} {
  %0 = tx.sum %x {dims = [0], order = #tx.order<"tree<1024, 64>">} : (tensor<?xf32, #tx.dims<"n">>) -> tensor<f32>
  %1 = tx.insert %x, %v {map = #tx.map<"() -> (0)">} : (tensor<?xf32, #tx.dims<"n">>, tensor<f32>) -> tensor<?xf32, #tx.dims<"n">>
  func.return %1, %0 : tensor<?xf32, #tx.dims<"n">>, tensor<f32>
}
