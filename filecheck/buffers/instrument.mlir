// RUN: tx-opt %s --print-unbroken -p tx-instrument | filecheck %s

// A clock before each outermost kernel and one behind the last, into a buffer that comes behind the others.

// CHECK: func.func @f(%x: {{.*}}, %y: {{.*}}, %times: buffer i64[3])
// CHECK-NEXT: loop.timestamp %times[0]
// CHECK-NEXT: kernel.generic{{.*}}%x[{{.*}}%y[
// CHECK: loop.timestamp %times[1]
// CHECK-NEXT: kernel.for
// CHECK-NEXT: kernel.generic{{.*}}%y[{{.*}}%y[
// CHECK: loop.timestamp %times[2]
// CHECK-NEXT: func.return
func.func @f(%x: !loop.buffer<"f32[n] by [1]">, %y: !loop.buffer<"f32[n] by [1]">) attributes {tx.symbols = #tx.dims<"n">} {

"kernel.generic"(%x, %y) ({ ^bb0(%a: f32):
kernel.yield %a : f32 }, {  }, {  }) {extents = #tx.dims<"n">,
parallel = 1 : i64, epilogue_inputs = 0 : i64, in_maps = [#tx.map<"(d0: n) -> (d0)">], out_maps = [#tx.map<"(d0: n) -> (d0)">],
operandSegmentSizes = array<i32: 1, 1>} : (!loop.buffer<"f32[n] by [1]">, !loop.buffer<"f32[n] by [1]">) -> ()
"kernel.for"() ({
"kernel.generic"(%y, %y) ({ ^bb0(%a: f32):
%b = arith.addf %a, %a : f32
kernel.yield %b : f32 }, {  }, {  }) {extents = #tx.dims<"n">,
parallel = 1 : i64, epilogue_inputs = 0 : i64, in_maps = [#tx.map<"(d0: n) -> (d0)">], out_maps = [#tx.map<"(d0: n) -> (d0)">],
operandSegmentSizes = array<i32: 1, 1>} : (!loop.buffer<"f32[n] by [1]">, !loop.buffer<"f32[n] by [1]">) -> ()
kernel.yield
}) {iv = "k", lower = #tx.dim<"0">, upper = #tx.dim<"n">, step = #tx.dim<"1">} : () -> ()
func.return }
