// RUN: tx-opt %s -p tx-fuse | filecheck %s
// RUN: tx-opt %s -p 'tx-fuse{siblings=false}' | filecheck %s --check-prefix=APART

// Two results over one iteration space that share an input: one nest, one pass over memory.
// CHECK-LABEL: @shared
// CHECK: %{{.*}}, %{{.*}} = "kernel.generic"(%x)
// CHECK: math.exp
// CHECK: math.sqrt
// CHECK-NOT: kernel.generic
// CHECK: func.return
// APART-LABEL: @shared
// APART-COUNT-2: kernel.generic
func.func @shared(%x: tensor<?xf32, #tx.dims<"n">>) -> (tensor<?xf32, #tx.dims<"n">>, tensor<?xf32, #tx.dims<"n">>) {
  %0 = tx.exp %x : (tensor<?xf32, #tx.dims<"n">>) -> tensor<?xf32, #tx.dims<"n">>
  %1 = tx.sqrt %x : (tensor<?xf32, #tx.dims<"n">>) -> tensor<?xf32, #tx.dims<"n">>
  func.return %0, %1 : tensor<?xf32, #tx.dims<"n">>, tensor<?xf32, #tx.dims<"n">>
}

// Nothing in common but the size.
// CHECK-LABEL: @strangers
// CHECK-COUNT-2: kernel.generic
func.func @strangers(%x: tensor<?xf32, #tx.dims<"n">>, %y: tensor<?xf32, #tx.dims<"n">>) -> (tensor<?xf32, #tx.dims<"n">>, tensor<?xf32, #tx.dims<"n">>) {
  %0 = tx.exp %x : (tensor<?xf32, #tx.dims<"n">>) -> tensor<?xf32, #tx.dims<"n">>
  %1 = tx.sqrt %y : (tensor<?xf32, #tx.dims<"n">>) -> tensor<?xf32, #tx.dims<"n">>
  func.return %0, %1 : tensor<?xf32, #tx.dims<"n">>, tensor<?xf32, #tx.dims<"n">>
}

// The second needs the first's values from other points: it needs them all.
// CHECK-LABEL: @elsewhere
// CHECK-COUNT-2: kernel.generic
func.func @elsewhere(%x: tensor<?xf32, #tx.dims<"n">>) -> (tensor<?xf32, #tx.dims<"n">>, tensor<?xf32, #tx.dims<"n">>) {
  %0 = tx.exp %x : (tensor<?xf32, #tx.dims<"n">>) -> tensor<?xf32, #tx.dims<"n">>
  %1 = tx.eval %0 : (tensor<?xf32, #tx.dims<"n">>) -> tensor<?xf32, #tx.dims<"n">>
  %2 = tx.view %1 {map = #tx.map<"(d0: n) -> (n - 1 - d0)">} : (tensor<?xf32, #tx.dims<"n">>) -> tensor<?xf32, #tx.dims<"n">>
  %3 = tx.add %2, %x : (tensor<?xf32, #tx.dims<"n">>, tensor<?xf32, #tx.dims<"n">>) -> tensor<?xf32, #tx.dims<"n">>
  func.return %1, %3 : tensor<?xf32, #tx.dims<"n">>, tensor<?xf32, #tx.dims<"n">>
}

// What both nests compute is computed once; the root of something else is another one.
// CHECK-LABEL: @common_root
// CHECK: ^bb0(%[[X:.*]]: f32, %[[Y:.*]]: f32):
// CHECK-NEXT: %[[R:.*]] = math.sqrt %[[X]]
// CHECK-NEXT: arith.addf %[[R]], %[[Y]]
// CHECK-NEXT: %[[S:.*]] = math.sqrt %[[Y]]
// CHECK-NEXT: arith.mulf %[[R]], %[[S]]
// CHECK-NEXT: kernel.yield
func.func @common_root(%x: tensor<?xf32, #tx.dims<"n">>, %y: tensor<?xf32, #tx.dims<"n">>) -> (tensor<?xf32, #tx.dims<"n">>, tensor<?xf32, #tx.dims<"n">>) {
  %0 = tx.sqrt %x : (tensor<?xf32, #tx.dims<"n">>) -> tensor<?xf32, #tx.dims<"n">>
  %1 = tx.add %0, %y : (tensor<?xf32, #tx.dims<"n">>, tensor<?xf32, #tx.dims<"n">>) -> tensor<?xf32, #tx.dims<"n">>
  %2 = tx.sqrt %y : (tensor<?xf32, #tx.dims<"n">>) -> tensor<?xf32, #tx.dims<"n">>
  %3 = tx.mul %0, %2 : (tensor<?xf32, #tx.dims<"n">>, tensor<?xf32, #tx.dims<"n">>) -> tensor<?xf32, #tx.dims<"n">>
  func.return %1, %3 : tensor<?xf32, #tx.dims<"n">>, tensor<?xf32, #tx.dims<"n">>
}
