// RUN: tx-opt %s -p tx-fuse | filecheck %s
// RUN: tx-opt %s -p 'tx-fuse,tx-bufferize,tx-schedule-cpu' | filecheck %s --check-prefix=LOOPS

// The body binds where it stores; the value's arithmetic is fused into it; outside nothing is stored.
// CHECK: "kernel.scatter"(%v, %i, %x) ({
// CHECK: math.exp
// CHECK: loop.bind %{{[0-9]+}} {symbol = "..t0"}
// CHECK: kernel.yield
// CHECK: arith.addf
// CHECK: }) {{.*}}ordered = 1 : i64{{.*}}out_map = #tx.map<"(d0: m, d1: k) -> (..t0, d1) where (-..t0 + n - 1)">

// Threads divide the columns, each of which is stored in order.
// LOOPS: "loop.parallel"
// LOOPS: "loop.for"
// LOOPS: "loop.for"
// LOOPS: loop.bind
// LOOPS: loop.load {{.*}}guards
// LOOPS: loop.store {{.*}}guards
// LOOPS: upper = #tx.dim<"min({{.*}}k{{.*}})">{{.*}}vector = 8
// LOOPS: upper = #tx.dim<"m">{{.*}}vector = 1 : i64, unroll = 1
// LOOPS: upper = #tx.dim<"k">{{.*}}kind = "cpu_thread"
func.func @f(%x: tensor<?x?xf32, #tx.dims<"n, k">>, %v: tensor<?x?xf32, #tx.dims<"m, k">>, %i: tensor<?xi64, #tx.dims<"m">>) -> tensor<?x?xf32, #tx.dims<"n, k">> attributes {tx.symbols = #tx.dims<"n, k, m">, tx.aliases = [0]} {
  %e = tx.exp %v : (tensor<?x?xf32, #tx.dims<"m, k">>) -> tensor<?x?xf32, #tx.dims<"m, k">>
  %r = tx.scatter %x, %e, %i {map = #tx.map<"(d0: m, d1: k) -> (..x0, d1)">, limits = #tx.dims<"n">, combine = "add"} : (tensor<?x?xf32, #tx.dims<"n, k">>, tensor<?x?xf32, #tx.dims<"m, k">>, tensor<?xi64, #tx.dims<"m">>) -> tensor<?x?xf32, #tx.dims<"n, k">>
  func.return %r : tensor<?x?xf32, #tx.dims<"n, k">>
}
