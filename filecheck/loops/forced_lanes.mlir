// RUN: tx-opt %s --print-unbroken -p 'tx-schedule-cpu{lanes=4 unroll=2}' | filecheck %s

// Tests force a vector width and a number of copies.

// CHECK: vector 4 unroll 2
func.func @f(%x: !loop.buffer<"f32[n, m] by [m, 1]">, %y: !loop.buffer<"f32[n, m] by [m, 1]">) attributes {tx.symbols = #tx.dims<"n, m">, tx.arena = #tx.dim<"0">,
tx.thread_arena = #tx.dim<"0">} {

"kernel.generic"(%x, %y) ({ ^bb0(%a: f32):
%b = arith.addf %a, %a : f32
kernel.yield %b : f32 }, {  }, {  }) {extents = #tx.dims<"n, m">,
parallel = 2 : i64, epilogue_inputs = 0 : i64, in_maps = [#tx.map<"(d0: n, d1: m) -> (d0, d1)">], out_maps = [#tx.map<"(d0: n, d1: m) -> (d0, d1)">],
operandSegmentSizes = array<i32: 1, 1>} : (!loop.buffer<"f32[n, m] by [m, 1]">, !loop.buffer<"f32[n, m] by [m, 1]">) -> ()
func.return }
