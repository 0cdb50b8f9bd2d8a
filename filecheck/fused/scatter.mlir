// RUN: tx-opt %s --print-unbroken -p tx-fuse | filecheck %s
// RUN: tx-opt %s --print-unbroken -p 'tx-fuse,tx-bufferize,tx-schedule-cpu' | filecheck %s --check-prefix=LOOPS

// The body binds where it stores; the value's arithmetic is fused into it; outside nothing is stored.
// CHECK: kernel.scatter over (d0: m, d1: k) ordered 1 in ({{.*}} = %v[{{.*}} = %i[
// CHECK-SAME: into (%x[..t0, d1] where (-..t0 + n - 1 >= 0)) {
// CHECK: math.exp
// CHECK: loop.bind %{{[0-9]+}} as ..t0
// CHECK: kernel.yield
// CHECK: arith.addf

// Threads divide the columns, each of which is stored in order.
// LOOPS: loop.parallel
// LOOPS: to k{{.*}} on cpu_thread
// LOOPS: loop.for
// LOOPS: to m {
// LOOPS: loop.for
// LOOPS: to min({{.*}}k{{.*}}){{.*}} vector 8
// LOOPS: loop.bind
// LOOPS: loop.load {{.*}} where (
// LOOPS: loop.store {{.*}} where (
func.func @f(%x: tensor<?x?xf32, #tx.dims<"n, k">>, %v: tensor<?x?xf32, #tx.dims<"m, k">>, %i: tensor<?xi64, #tx.dims<"m">>) -> tensor<?x?xf32, #tx.dims<"n, k">> attributes {tx.symbols = #tx.dims<"n, k, m">, tx.aliases = [0]} {
  %e = tx.exp %v : (tensor<?x?xf32, #tx.dims<"m, k">>) -> tensor<?x?xf32, #tx.dims<"m, k">>
  %r = tx.scatter %x, %e, %i {map = #tx.map<"(d0: m, d1: k) -> (..x0, d1)">, limits = #tx.dims<"n">, combine = "add"} : (tensor<?x?xf32, #tx.dims<"n, k">>, tensor<?x?xf32, #tx.dims<"m, k">>, tensor<?xi64, #tx.dims<"m">>) -> tensor<?x?xf32, #tx.dims<"n, k">>
  func.return %r : tensor<?x?xf32, #tx.dims<"n, k">>
}
