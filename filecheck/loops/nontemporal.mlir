// RUN: tx-opt %s --print-unbroken -p tx-schedule-cpu | filecheck %s
// RUN: tx-opt %s --print-unbroken -p 'tx-schedule-cpu{nontemporal=false}' | filecheck %s --check-prefix=NONE

// What a nest only writes may be stored non-temporally; what it updates in place is in them already.

// CHECK: @only_written
// CHECK: loop.store {{.*}} %y[i0] nontemporal 8388608
// NONE: @only_written
// NONE-NOT: nontemporal
// NONE: return
func.func @only_written(%x: !loop.buffer<"f32[n] by [1]">, %y: !loop.buffer<"f32[n] by [1]">) attributes {tx.symbols = #tx.dims<"n">, tx.arena = #tx.dim<"0">,
tx.thread_arena = #tx.dim<"0">} {

"kernel.generic"(%x, %y) ({ ^bb0(%a: f32):
%b = arith.addf %a, %a : f32
kernel.yield %b : f32 }, {  }, {  }) {extents = #tx.dims<"n">,
parallel = 1 : i64, epilogue_inputs = 0 : i64, in_maps = [#tx.map<"(d0: n) -> (d0)">], out_maps = [#tx.map<"(d0: n) -> (d0)">],
operandSegmentSizes = array<i32: 1, 1>} : (!loop.buffer<"f32[n] by [1]">, !loop.buffer<"f32[n] by [1]">) -> ()
func.return }

// CHECK: @in_place
// CHECK: loop.store
// CHECK-NOT: nontemporal
// CHECK: return
func.func @in_place(%y: !loop.buffer<"f32[n] by [1]">) attributes {tx.symbols = #tx.dims<"n">, tx.arena = #tx.dim<"0">,
tx.thread_arena = #tx.dim<"0">} {

"kernel.generic"(%y, %y) ({ ^bb0(%a: f32):
%b = arith.addf %a, %a : f32
kernel.yield %b : f32 }, {  }, {  }) {extents = #tx.dims<"n">,
parallel = 1 : i64, epilogue_inputs = 0 : i64, in_maps = [#tx.map<"(d0: n) -> (d0)">], out_maps = [#tx.map<"(d0: n) -> (d0)">],
operandSegmentSizes = array<i32: 1, 1>} : (!loop.buffer<"f32[n] by [1]">, !loop.buffer<"f32[n] by [1]">) -> ()
func.return }

// Two results take turns: neither is stored non-temporally.
// CHECK: @two_results
// CHECK-COUNT-2: loop.store
// CHECK-NOT: nontemporal
// CHECK: return
func.func @two_results(%x: !loop.buffer<"f32[n] by [1]">, %y: !loop.buffer<"f32[n] by [1]">, %z: !loop.buffer<"f32[n] by [1]">) attributes {tx.symbols = #tx.dims<"n">, tx.arena = #tx.dim<"0">,
tx.thread_arena = #tx.dim<"0">} {

"kernel.generic"(%x, %y, %z) ({ ^bb0(%a: f32):
%b = arith.addf %a, %a : f32
kernel.yield %b, %a : f32, f32 }, {  }, {  }) {extents = #tx.dims<"n">,
parallel = 1 : i64, epilogue_inputs = 0 : i64, in_maps = [#tx.map<"(d0: n) -> (d0)">], out_maps = [#tx.map<"(d0: n) -> (d0)">, #tx.map<"(d0: n) -> (d0)">],
operandSegmentSizes = array<i32: 1, 2>} : (!loop.buffer<"f32[n] by [1]">, !loop.buffer<"f32[n] by [1]">, !loop.buffer<"f32[n] by [1]">) -> ()
func.return }

// Arithmetic between the stores would leave lines in pieces.
// CHECK: @heavy
// CHECK: loop.store
// CHECK-NOT: nontemporal
// CHECK: return
func.func @heavy(%x: !loop.buffer<"f32[n] by [1]">, %y: !loop.buffer<"f32[n] by [1]">) attributes {tx.symbols = #tx.dims<"n">, tx.arena = #tx.dim<"0">,
tx.thread_arena = #tx.dim<"0">} {

"kernel.generic"(%x, %y) ({ ^bb0(%a: f32):
%b = math.exp %a : f32
kernel.yield %b : f32 }, {  }, {  }) {extents = #tx.dims<"n">,
parallel = 1 : i64, epilogue_inputs = 0 : i64, in_maps = [#tx.map<"(d0: n) -> (d0)">], out_maps = [#tx.map<"(d0: n) -> (d0)">],
operandSegmentSizes = array<i32: 1, 1>} : (!loop.buffer<"f32[n] by [1]">, !loop.buffer<"f32[n] by [1]">) -> ()
func.return }

// Rows that are no whole lines share one: up to the first whole line of each they have a loop of their own.
// CHECK: @rows
// CHECK: = 0 to [[START:min.*]] vector 8 {
// CHECK: = [[START]] to m vector 8 unroll 4
func.func @rows(%x: !loop.buffer<"f32[m] by [1]">, %y: !loop.buffer<"f32[n, m] by [m, 1]">) attributes {tx.symbols = #tx.dims<"n, m">, tx.arena = #tx.dim<"0">,
tx.thread_arena = #tx.dim<"0">} {

"kernel.generic"(%x, %y) ({ ^bb0(%a: f32):
kernel.yield %a : f32 }, {  }, {  }) {extents = #tx.dims<"n, m">,
parallel = 2 : i64, epilogue_inputs = 0 : i64, in_maps = [#tx.map<"(d0: n, d1: m) -> (d1)">], out_maps = [#tx.map<"(d0: n, d1: m) -> (d0, d1)">],
operandSegmentSizes = array<i32: 1, 1>} : (!loop.buffer<"f32[m] by [1]">, !loop.buffer<"f32[n, m] by [m, 1]">) -> ()
func.return }

// Rows of whole lines have none, nor have results that a cache holds.
// CHECK: @lines
// CHECK-COUNT-1: loop.load
// CHECK-NOT: loop.load
// CHECK: return
func.func @lines(%x: !loop.buffer<"f32[1600] by [1]">, %y: !loop.buffer<"f32[n, 1600] by [1600, 1]">) attributes {tx.symbols = #tx.dims<"n">, tx.arena = #tx.dim<"0">,
tx.thread_arena = #tx.dim<"0">} {

"kernel.generic"(%x, %y) ({ ^bb0(%a: f32):
kernel.yield %a : f32 }, {  }, {  }) {extents = #tx.dims<"n, 1600">,
parallel = 2 : i64, epilogue_inputs = 0 : i64, in_maps = [#tx.map<"(d0: n, d1: 1600) -> (d1)">], out_maps = [#tx.map<"(d0: n, d1: 1600) -> (d0, d1)">],
operandSegmentSizes = array<i32: 1, 1>} : (!loop.buffer<"f32[1600] by [1]">, !loop.buffer<"f32[n, 1600] by [1600, 1]">) -> ()
func.return }

// CHECK: @held
// CHECK-COUNT-1: loop.load
// CHECK-NOT: loop.load
// CHECK: return
func.func @held(%x: !loop.buffer<"f32[1500] by [1]">, %y: !loop.buffer<"f32[100, 1500] by [1500, 1]">) attributes {tx.symbols = #tx.dims<"">, tx.arena = #tx.dim<"0">,
tx.thread_arena = #tx.dim<"0">} {

"kernel.generic"(%x, %y) ({ ^bb0(%a: f32):
kernel.yield %a : f32 }, {  }, {  }) {extents = #tx.dims<"100, 1500">,
parallel = 2 : i64, epilogue_inputs = 0 : i64, in_maps = [#tx.map<"(d0: 100, d1: 1500) -> (d1)">], out_maps = [#tx.map<"(d0: 100, d1: 1500) -> (d0, d1)">],
operandSegmentSizes = array<i32: 1, 1>} : (!loop.buffer<"f32[1500] by [1]">, !loop.buffer<"f32[100, 1500] by [1500, 1]">) -> ()
func.return }
