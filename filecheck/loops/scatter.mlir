// RUN: tx-opt %s --print-unbroken -p 'tx-fuse,tx-bufferize,tx-schedule-cpu' | filecheck %s

// What one thread will add to, place after place, is written in chunks as large as its cache, and not past it.
// CHECK: loop.parallel
// CHECK: step 32768 on cpu_thread grain 4
// CHECK: to min({{.*}} + 32768, n)
// CHECK: arith.negf
// CHECK-NOT: nontemporal

// A place outside is a branch that is not taken, not a store elsewhere.
// CHECK: to m{{.*}}
// CHECK: loop.bind
// CHECK-NOT: where
// CHECK: loop.if
// CHECK: loop.load
// CHECK: arith.addf
// CHECK: loop.store

// The others sleep meanwhile, so what it reads of that is its own, too, in chunks as large as the last cache.
// CHECK: loop.reduce
// CHECK: to min({{.*}} + 4194304, m)
func.func @f(%x: tensor<?xf32, #tx.dims<"n">>, %v: tensor<?xf32, #tx.dims<"m">>, %i: tensor<?xi64, #tx.dims<"m">>) -> (tensor<?xf32, #tx.dims<"n">>, tensor<i64>) attributes {tx.symbols = #tx.dims<"n, m">} {
  %e = tx.negate %x : (tensor<?xf32, #tx.dims<"n">>) -> tensor<?xf32, #tx.dims<"n">>
  %r = tx.scatter %e, %v, %i {map = #tx.map<"(d0: m) -> (..x0)">, limits = #tx.dims<"n">, combine = "add"} : (tensor<?xf32, #tx.dims<"n">>, tensor<?xf32, #tx.dims<"m">>, tensor<?xi64, #tx.dims<"m">>) -> tensor<?xf32, #tx.dims<"n">>
  %m = tx.maximum %i {dims = [0], order = #tx.order<"free">} : (tensor<?xi64, #tx.dims<"m">>) -> tensor<i64>
  func.return %r, %m : tensor<?xf32, #tx.dims<"n">>, tensor<i64>
}
