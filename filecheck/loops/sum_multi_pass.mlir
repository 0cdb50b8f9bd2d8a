// RUN: tx-opt %s --print-unbroken -p tx-schedule-cpu | filecheck %s

// Sums of columns of what a quarter of the second cache does not hold: eight rows at a time, along a column tile,
// into what waits for each block of 1024 rows; rows left over one by one; then the blocks' values.  A column tile is 4096
// columns for a thread that is alone, of several a quarter of a thread's share where that is less, and 1024 at least.
// What the cache holds is reduced in registers.
// CHECK-LABEL: @sums
// CHECK: loop.index (min(4*m*n - 131072, min(4*m - 1024, n - 32)))
// CHECK: loop.if
// CHECK: loop.bind %{{[0-9]+}} as [[THREADS:[.a-z0-9]+]]
// CHECK-NEXT: loop.index (max(1024, min(((((n + 1023) // 1024)*m) // (max(1, 4*[[THREADS]]*min([[THREADS]] - 1, 1)))), 4096)))
// CHECK-NEXT: loop.bind %{{[0-9]+}} as [[MOST:[.a-z0-9]+]]
// CHECK: loop.bind %{{[0-9]+}} as [[THREADS:[.a-z0-9]+]]
// CHECK-NEXT: loop.index (((max({{.*}})) // (16*max({{.*}}[[THREADS]]{{.*}}))) + 1)
// CHECK-NEXT: loop.bind %{{[0-9]+}} as [[LINES:[.a-z0-9]+]]
// CHECK-NEXT: loop.index (min([[MOST]], 16*[[LINES]]))
// CHECK-NEXT: loop.bind %{{[0-9]+}} as [[LONGEST:[.a-z0-9]+]]
// CHECK-NEXT: loop.index (((max(0, m - 1)) // [[LONGEST]]) + 1)
// CHECK-NEXT: loop.bind %{{[0-9]+}} as [[BANDS:[.a-z0-9]+]]
// CHECK-NEXT: loop.index (min([[LONGEST]], 16*((max(0, m - 1)) // (16*[[BANDS]])) + 16))
// CHECK-NEXT: loop.bind %{{[0-9]+}} as [[SIDE:[.a-z0-9]+]]
// CHECK: %[[SOFAR:[0-9]+]] = loop.alloc f32[m, ((n + 1023) // 1024)] by [1, m]{{.*}} in arena
// CHECK: loop.store %{{[0-9]+}}, %[[SOFAR]]
// CHECK: step 8
// CHECK: to min([[SIDE]] + {{i[0-9]+}}, m){{.*}} vector 8 unroll 4
// CHECK: %[[OLD:[0-9]+]] = loop.load %[[SOFAR]]
// CHECK-NEXT: %[[A:[0-9]+]] = loop.load %x{{\[}}[[ROW:i[0-9]+]], i0]
// CHECK-NEXT: %[[B:[0-9]+]] = arith.addf %[[OLD]], %[[A]] : f32
// CHECK-NEXT: %[[C:[0-9]+]] = loop.load %x{{\[}}[[ROW]] + 1, i0]
// CHECK-NEXT: arith.addf %[[B]], %[[C]] : f32
// CHECK: loop.load %x{{\[}}[[ROW]] + 7, i0]
// CHECK-NOT: loop.load %x
// CHECK: loop.store %{{[0-9]+}}, %[[SOFAR]]
// CHECK: loop.load %x{{\[}}[[ROW]], i0]
// CHECK-NOT: loop.load %x
// CHECK: order tree<1, 1>
// CHECK: to min({{.*}}, m){{.*}} vector 8 unroll 16
// CHECK: order tree<1024, 1>
func.func @sums(%x: !loop.buffer<"f32[n, m] by [m, 1]">, %y: !loop.buffer<"f32[m] by [1]">) attributes {tx.symbols = #tx.dims<"n, m">, tx.arena = #tx.dim<"0">,
tx.thread_arena = #tx.dim<"0">} {

"kernel.generic"(%x, %y) ({ ^bb0(%a: f32):
kernel.yield %a : f32 }, { ^bb0(%a: f32, %b: f32):
%c = arith.addf %a, %b : f32
kernel.yield %c : f32 }, { ^bb0(%a: f32):
kernel.yield %a : f32 }) {extents = #tx.dims<"m, n">,
parallel = 1 : i64, epilogue_inputs = 0 : i64, in_maps = [#tx.map<"(d0: m, d1: n) -> (d1, d0)">], out_maps = [#tx.map<"(d0: m, d1: n) -> (d0)">],
operandSegmentSizes = array<i32: 1, 1>, order = #tx.order<"tree<1024, 1>">, identity = [-0.0 : f32]} : (!loop.buffer<"f32[n, m] by [m, 1]">, !loop.buffer<"f32[m] by [1]">) -> ()
func.return }

// An exact reduction goes the same way, in blocks of its own.
// CHECK-LABEL: @most
// CHECK: loop.alloc f32[m, ((n + 1023) // 1024)] by [1, m]{{.*}} in arena
// CHECK: arith.maximumf
// CHECK: order free
// CHECK: order free
// CHECK: arith.maximumf
func.func @most(%x: !loop.buffer<"f32[n, m] by [m, 1]">, %y: !loop.buffer<"f32[m] by [1]">) attributes {tx.symbols = #tx.dims<"n, m">, tx.arena = #tx.dim<"0">,
tx.thread_arena = #tx.dim<"0">} {

"kernel.generic"(%x, %y) ({ ^bb0(%a: f32):
kernel.yield %a : f32 }, { ^bb0(%a: f32, %b: f32):
%c = arith.maximumf %a, %b : f32
kernel.yield %c : f32 }, { ^bb0(%a: f32):
kernel.yield %a : f32 }) {extents = #tx.dims<"m, n">,
parallel = 1 : i64, epilogue_inputs = 0 : i64, in_maps = [#tx.map<"(d0: m, d1: n) -> (d1, d0)">], out_maps = [#tx.map<"(d0: m, d1: n) -> (d0)">],
operandSegmentSizes = array<i32: 1, 1>, order = #tx.order<"free">, identity = [0xff800000 : f32]} : (!loop.buffer<"f32[n, m] by [m, 1]">, !loop.buffer<"f32[m] by [1]">) -> ()
func.return }

// A sum of exponentials waits for arithmetic, not for memory.
// CHECK-LABEL: @exponentials
// CHECK-NOT: loop.if
func.func @exponentials(%x: !loop.buffer<"f32[n, m] by [m, 1]">, %y: !loop.buffer<"f32[m] by [1]">) attributes {tx.symbols = #tx.dims<"n, m">, tx.arena = #tx.dim<"0">,
tx.thread_arena = #tx.dim<"0">} {

"kernel.generic"(%x, %y) ({ ^bb0(%a: f32):
%e = math.exp %a : f32
kernel.yield %e : f32 }, { ^bb0(%a: f32, %b: f32):
%c = arith.addf %a, %b : f32
kernel.yield %c : f32 }, { ^bb0(%a: f32):
kernel.yield %a : f32 }) {extents = #tx.dims<"m, n">,
parallel = 1 : i64, epilogue_inputs = 0 : i64, in_maps = [#tx.map<"(d0: m, d1: n) -> (d1, d0)">], out_maps = [#tx.map<"(d0: m, d1: n) -> (d0)">],
operandSegmentSizes = array<i32: 1, 1>, order = #tx.order<"tree<1024, 1>">, identity = [-0.0 : f32]} : (!loop.buffer<"f32[n, m] by [m, 1]">, !loop.buffer<"f32[m] by [1]">) -> ()
func.return }

// Each result has virtual lanes of its own: of a block four lanes, which are combined first, are reduced for 1024 results,
// and so on.  What they come to waits in a worker's own memory until it is combined by halves.
// CHECK-LABEL: @lanes
// CHECK: loop.index (min(4*m*n - 32768, min(4*m - 1024, n - 128)))
// CHECK: loop.if
// CHECK: %[[VALUES:[0-9]+]] = loop.alloc f32[16, 1024] in thread
// CHECK: to 16
// CHECK: %[[A:[0-9]+]] = loop.reduce
// CHECK: to ((-[[LANE:i[0-9]+]] + {{.*}} + 63) // 64) - 16*[[BLOCK:i[0-9]+]]{{.*}} order serial
// CHECK: loop.load %x[1024*[[BLOCK]] + [[LANE]] + 64*i{{[0-9]+}}, i0]
// CHECK: %[[B:[0-9]+]] = loop.reduce
// CHECK: loop.load %x[{{.*}} + 16, i0]
// CHECK: %[[C:[0-9]+]] = loop.reduce
// CHECK: loop.load %x[{{.*}} + 32, i0]
// CHECK: %[[D:[0-9]+]] = loop.reduce
// CHECK: loop.load %x[{{.*}} + 48, i0]
// CHECK: %[[AC:[0-9]+]] = arith.addf %[[A]], %[[C]] : f32
// CHECK-NEXT: %[[BD:[0-9]+]] = arith.addf %[[B]], %[[D]] : f32
// CHECK-NEXT: %[[SUM:[0-9]+]] = arith.addf %[[AC]], %[[BD]] : f32
// CHECK-NEXT: loop.store %[[SUM]], %[[VALUES]][{{.*}}8*([[LANE]] % 2), i0 - [[BAND:i[0-9]+]]]
// CHECK: to 16{{.*}} order tree<1, 1>
// CHECK: loop.load %[[VALUES]][i{{[0-9]+}}, i0 - [[BAND]]]
// CHECK: loop.store %{{[0-9]+}}, %{{[0-9]+}}[i0, [[BLOCK]]]
// CHECK: order tree<1, 1>
// CHECK: order tree<1024, 64>
func.func @lanes(%x: !loop.buffer<"f32[n, m] by [m, 1]">, %y: !loop.buffer<"f32[m] by [1]">) attributes {tx.symbols = #tx.dims<"n, m">, tx.arena = #tx.dim<"0">,
tx.thread_arena = #tx.dim<"0">} {

"kernel.generic"(%x, %y) ({ ^bb0(%a: f32):
kernel.yield %a : f32 }, { ^bb0(%a: f32, %b: f32):
%c = arith.addf %a, %b : f32
kernel.yield %c : f32 }, { ^bb0(%a: f32):
kernel.yield %a : f32 }) {extents = #tx.dims<"m, n">,
parallel = 1 : i64, epilogue_inputs = 0 : i64, in_maps = [#tx.map<"(d0: m, d1: n) -> (d1, d0)">], out_maps = [#tx.map<"(d0: m, d1: n) -> (d0)">],
operandSegmentSizes = array<i32: 1, 1>, order = #tx.order<"tree<1024, 64>">, identity = [-0.0 : f32]} : (!loop.buffer<"f32[n, m] by [m, 1]">, !loop.buffer<"f32[m] by [1]">) -> ()
func.return }

// A matrix times a vector goes the same way.
// CHECK-LABEL: @products
// CHECK: loop.index (min({{.*}} - 32768, min(4*m - 1024, n - 128)))
// CHECK: loop.alloc f32[16, 1024] in
// CHECK: order chain<1024, fma>
// CHECK: order chain<1024, fma>
// CHECK: order tree<1024, 64, fma>
func.func @products(%x: !loop.buffer<"f32[n, m] by [m, 1]">, %v: !loop.buffer<"f32[n] by [1]">, %y: !loop.buffer<"f32[m] by [1]">) attributes {tx.symbols = #tx.dims<"n, m">, tx.arena = #tx.dim<"0">,
tx.thread_arena = #tx.dim<"0">} {

"kernel.generic"(%x, %v, %y) ({ ^bb0(%a: f32, %b: f32):
kernel.yield %a, %b : f32, f32 }, { ^bb0(%a: f32, %b: f32):
%c = arith.addf %a, %b : f32
kernel.yield %c : f32 }, { ^bb0(%a: f32):
kernel.yield %a : f32 }) {extents = #tx.dims<"m, n">,
parallel = 1 : i64, epilogue_inputs = 0 : i64, in_maps = [#tx.map<"(d0: m, d1: n) -> (d1, d0)">, #tx.map<"(d0: m, d1: n) -> (d1)">], out_maps = [#tx.map<"(d0: m, d1: n) -> (d0)">],
operandSegmentSizes = array<i32: 2, 1>, order = #tx.order<"tree<1024, 64, fma>">, identity = [0.0 : f32]} : (!loop.buffer<"f32[n, m] by [m, 1]">, !loop.buffer<"f32[n] by [1]">, !loop.buffer<"f32[m] by [1]">) -> ()
func.return }

// With more operations one lane comes after another, for what a quarter of the second cache does not hold.
// CHECK-LABEL: @lanes_of_more
// CHECK: loop.index (min(4*m*n - 131072, min(4*m - 1024, n - 512)))
// CHECK: loop.alloc f32[64, 1024] in
func.func @lanes_of_more(%x: !loop.buffer<"f32[n, m] by [m, 1]">, %y: !loop.buffer<"f32[m] by [1]">) attributes {tx.symbols = #tx.dims<"n, m">, tx.arena = #tx.dim<"0">,
tx.thread_arena = #tx.dim<"0">} {

"kernel.generic"(%x, %y) ({ ^bb0(%a: f32):
%p = arith.mulf %a, %a : f32
%q = arith.addf %p, %a : f32
%r = arith.mulf %q, %p : f32
kernel.yield %r : f32 }, { ^bb0(%a: f32, %b: f32):
%c = arith.addf %a, %b : f32
kernel.yield %c : f32 }, { ^bb0(%a: f32):
kernel.yield %a : f32 }) {extents = #tx.dims<"m, n">,
parallel = 1 : i64, epilogue_inputs = 0 : i64, in_maps = [#tx.map<"(d0: m, d1: n) -> (d1, d0)">], out_maps = [#tx.map<"(d0: m, d1: n) -> (d0)">],
operandSegmentSizes = array<i32: 1, 1>, order = #tx.order<"tree<1024, 64>">, identity = [-0.0 : f32]} : (!loop.buffer<"f32[n, m] by [m, 1]">, !loop.buffer<"f32[m] by [1]">) -> ()
func.return }

// Contiguous along the reduction: tiles are transposed in registers.
// CHECK-LABEL: @columns
// CHECK-NOT: loop.if
func.func @columns(%x: !loop.buffer<"f32[n, m] by [1, n]">, %y: !loop.buffer<"f32[m] by [1]">) attributes {tx.symbols = #tx.dims<"n, m">, tx.arena = #tx.dim<"0">,
tx.thread_arena = #tx.dim<"0">} {

"kernel.generic"(%x, %y) ({ ^bb0(%a: f32):
kernel.yield %a : f32 }, { ^bb0(%a: f32, %b: f32):
%c = arith.addf %a, %b : f32
kernel.yield %c : f32 }, { ^bb0(%a: f32):
kernel.yield %a : f32 }) {extents = #tx.dims<"m, n">,
parallel = 1 : i64, epilogue_inputs = 0 : i64, in_maps = [#tx.map<"(d0: m, d1: n) -> (d1, d0)">], out_maps = [#tx.map<"(d0: m, d1: n) -> (d0)">],
operandSegmentSizes = array<i32: 1, 1>, order = #tx.order<"tree<1024, 1>">, identity = [-0.0 : f32]} : (!loop.buffer<"f32[n, m] by [1, n]">, !loop.buffer<"f32[m] by [1]">) -> ()
func.return }

// Of sizes that are known only one way is written: in registers,
// CHECK-LABEL: @small
// CHECK-NOT: loop.if
// CHECK-NOT: loop.alloc
// CHECK: loop.for {{.*}} vector 8
// CHECK-NOT: loop.alloc
// CHECK: arith.addf
// CHECK-NOT: loop.alloc
// CHECK: loop.store %{{[0-9]+}}, %y
func.func @small(%x: !loop.buffer<"f32[100, 300] by [300, 1]">, %y: !loop.buffer<"f32[300] by [1]">) attributes {tx.symbols = #tx.dims<"n, m">, tx.arena = #tx.dim<"0">,
tx.thread_arena = #tx.dim<"0">} {

"kernel.generic"(%x, %y) ({ ^bb0(%a: f32):
kernel.yield %a : f32 }, { ^bb0(%a: f32, %b: f32):
%c = arith.addf %a, %b : f32
kernel.yield %c : f32 }, { ^bb0(%a: f32):
kernel.yield %a : f32 }) {extents = #tx.dims<"300, 100">,
parallel = 1 : i64, epilogue_inputs = 0 : i64, in_maps = [#tx.map<"(d0: 300, d1: 100) -> (d1, d0)">], out_maps = [#tx.map<"(d0: 300, d1: 100) -> (d0)">],
operandSegmentSizes = array<i32: 1, 1>, order = #tx.order<"tree<1024, 1>">, identity = [-0.0 : f32]} : (!loop.buffer<"f32[100, 300] by [300, 1]">, !loop.buffer<"f32[300] by [1]">) -> ()
func.return }

// in sweeps, of one block,
// CHECK-LABEL: @one_block
// CHECK-NOT: loop.if
// CHECK-NOT: in thread at
// CHECK: loop.alloc f32[300, 1] by [1, 300]{{.*}} in arena
// CHECK: loop.store %{{[0-9]+}}, %y
func.func @one_block(%x: !loop.buffer<"f32[400, 300] by [300, 1]">, %y: !loop.buffer<"f32[300] by [1]">) attributes {tx.symbols = #tx.dims<"n, m">, tx.arena = #tx.dim<"0">,
tx.thread_arena = #tx.dim<"0">} {

"kernel.generic"(%x, %y) ({ ^bb0(%a: f32):
kernel.yield %a : f32 }, { ^bb0(%a: f32, %b: f32):
%c = arith.addf %a, %b : f32
kernel.yield %c : f32 }, { ^bb0(%a: f32):
kernel.yield %a : f32 }) {extents = #tx.dims<"300, 400">,
parallel = 1 : i64, epilogue_inputs = 0 : i64, in_maps = [#tx.map<"(d0: 300, d1: 400) -> (d1, d0)">], out_maps = [#tx.map<"(d0: 300, d1: 400) -> (d0)">],
operandSegmentSizes = array<i32: 1, 1>, order = #tx.order<"tree<1024, 1>">, identity = [-0.0 : f32]} : (!loop.buffer<"f32[400, 300] by [300, 1]">, !loop.buffer<"f32[300] by [1]">) -> ()
func.return }

// or of several.
// CHECK-LABEL: @blocks
// CHECK-NOT: loop.if
// CHECK-NOT: in thread at
// CHECK: loop.alloc f32[300, 2] by [1, 300]{{.*}} in arena
// CHECK: to 2{{.*}} order tree<1, 1>
func.func @blocks(%x: !loop.buffer<"f32[1100, 300] by [300, 1]">, %y: !loop.buffer<"f32[300] by [1]">) attributes {tx.symbols = #tx.dims<"n, m">, tx.arena = #tx.dim<"0">,
tx.thread_arena = #tx.dim<"0">} {

"kernel.generic"(%x, %y) ({ ^bb0(%a: f32):
kernel.yield %a : f32 }, { ^bb0(%a: f32, %b: f32):
%c = arith.addf %a, %b : f32
kernel.yield %c : f32 }, { ^bb0(%a: f32):
kernel.yield %a : f32 }) {extents = #tx.dims<"300, 1100">,
parallel = 1 : i64, epilogue_inputs = 0 : i64, in_maps = [#tx.map<"(d0: 300, d1: 1100) -> (d1, d0)">], out_maps = [#tx.map<"(d0: 300, d1: 1100) -> (d0)">],
operandSegmentSizes = array<i32: 1, 1>, order = #tx.order<"tree<1024, 1>">, identity = [-0.0 : f32]} : (!loop.buffer<"f32[1100, 300] by [300, 1]">, !loop.buffer<"f32[300] by [1]">) -> ()
func.return }
