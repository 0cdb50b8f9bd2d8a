// RUN: tx-opt %s --print-unbroken -p 'tx-fuse,tx-bufferize,tx-schedule-cpu' | filecheck %s

// A loop of a scalar body stays one op, whose condition is each lane's own; the loop around it keeps its lanes.
// CHECK-LABEL: @divisors
// CHECK: loop.for
// CHECK: vector {{[0-9]+}}
// CHECK: scf.while
// CHECK: scf.condition
// CHECK: arith.remsi
// CHECK: scf.yield
// CHECK: loop.store
func.func @divisors(%x: tensor<?xi32, #tx.dims<"n">>, %y: tensor<?xi32, #tx.dims<"n">>) -> tensor<?xi32, #tx.dims<"n">> {
  %0 = tx.gcd %x, %y : (tensor<?xi32, #tx.dims<"n">>, tensor<?xi32, #tx.dims<"n">>) -> tensor<?xi32, #tx.dims<"n">>
  func.return %0 : tensor<?xi32, #tx.dims<"n">>
}
