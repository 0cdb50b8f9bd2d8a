// RUN: tx-opt %s --print-unbroken -p tx-bufferize | filecheck %s
// RUN: tx-opt %s --print-unbroken -p 'tx-bufferize{in-place=false}' | filecheck %s --check-prefix=COPY

// The result is computed in the output; there is no temporary.
// CHECK-LABEL: @straight
// CHECK-NOT: loop.alloc
// CHECK: kernel.generic{{.*}}%x[{{.*}}%{{[0-9]+}}[
// CHECK-NOT: loop.alloc
// CHECK: func.return
func.func @straight(%x: tensor<?xf32, #tx.dims<"n">>) -> tensor<?xf32, #tx.dims<"n">> attributes {tx.symbols = #tx.dims<"n">} {
  %r = "kernel.generic"(%x) ({
  ^bb0(%a: f32):
    %s = arith.addf %a, %a : f32
    kernel.yield %s : f32
  }, {}, {}) {extents = #tx.dims<"n">, parallel = 1 : i64, epilogue_inputs = 0 : i64, in_maps = [#tx.map<"(d0: n) -> (d0)">], out_maps = [#tx.map<"(d0: n) -> (d0)">], operandSegmentSizes = array<i32: 1, 0>} : (tensor<?xf32, #tx.dims<"n">>) -> tensor<?xf32, #tx.dims<"n">>
  func.return %r : tensor<?xf32, #tx.dims<"n">>
}

// A store into an argument that the result replaces: one nest, in place.
// CHECK-LABEL: @argument
// CHECK-SAME: tx.outputs = [0]
// CHECK-COUNT-1: kernel.generic
// CHECK-NOT: kernel.generic
// CHECK: func.return
// COPY-LABEL: @argument
// COPY: loop.alloc
func.func @argument(%x: tensor<?xf32, #tx.dims<"n">>, %v: tensor<f32>) -> tensor<?xf32, #tx.dims<"n">> attributes {tx.symbols = #tx.dims<"n">, tx.aliases = [0]} {
  %r = "kernel.generic"(%v, %x) ({
  ^bb0(%a: f32):
    kernel.yield %a : f32
  }, {}, {}) {extents = #tx.dims<"n">, parallel = 1 : i64, epilogue_inputs = 0 : i64, in_maps = [#tx.map<"(d0: n) -> ()">], out_maps = [#tx.map<"(d0: n) -> (d0)">], operandSegmentSizes = array<i32: 1, 1>} : (tensor<f32>, tensor<?xf32, #tx.dims<"n">>) -> tensor<?xf32, #tx.dims<"n">>
  func.return %r : tensor<?xf32, #tx.dims<"n">>
}

// The argument is read again after the store: the store goes into a copy.
// CHECK-LABEL: @read_again
// CHECK: kernel.generic{{.*}}%x[{{.*}}%[[OUT:[0-9]+]][
// CHECK: kernel.generic{{.*}}%v[{{.*}}%[[OUT]][
// CHECK: kernel.generic{{.*}}%x[{{.*}}%{{[0-9]+}}[
func.func @read_again(%x: tensor<?xf32, #tx.dims<"n">>, %v: tensor<f32>) -> (tensor<?xf32, #tx.dims<"n">>, tensor<?xf32, #tx.dims<"n">>) attributes {tx.symbols = #tx.dims<"n">} {
  %r = "kernel.generic"(%v, %x) ({
  ^bb0(%a: f32):
    kernel.yield %a : f32
  }, {}, {}) {extents = #tx.dims<"n - 1">, parallel = 1 : i64, epilogue_inputs = 0 : i64, in_maps = [#tx.map<"(d0: n - 1) -> ()">], out_maps = [#tx.map<"(d0: n - 1) -> (d0)">], operandSegmentSizes = array<i32: 1, 1>} : (tensor<f32>, tensor<?xf32, #tx.dims<"n">>) -> tensor<?xf32, #tx.dims<"n">>
  %s = "kernel.generic"(%x) ({
  ^bb0(%a: f32):
    %t = arith.addf %a, %a : f32
    kernel.yield %t : f32
  }, {}, {}) {extents = #tx.dims<"n">, parallel = 1 : i64, epilogue_inputs = 0 : i64, in_maps = [#tx.map<"(d0: n) -> (d0)">], out_maps = [#tx.map<"(d0: n) -> (d0)">], operandSegmentSizes = array<i32: 1, 0>} : (tensor<?xf32, #tx.dims<"n">>) -> tensor<?xf32, #tx.dims<"n">>
  func.return %r, %s : tensor<?xf32, #tx.dims<"n">>, tensor<?xf32, #tx.dims<"n">>
}

// What a while carries keeps its memory while its condition is asked: the flag lies elsewhere.
// CHECK-LABEL: @carried
// CHECK: %[[K:.*]] = loop.alloc i64[] in arena at 0
// CHECK: kernel.while
// CHECK-NEXT: loop.alloc bool[] in arena at {{(64|128)}}
func.func @carried(%zero: tensor<i64>, %n: tensor<i64>) -> tensor<i64> attributes {tx.symbols = #tx.dims<"">} {
  %c, %d = "kernel.while"(%zero, %n) ({
  ^bb0(%a: tensor<i64>, %b: tensor<i64>):
    %f = "kernel.generic"(%b, %zero) ({
    ^bb0(%p: i64, %q: i64):
      %g = arith.cmpi sgt, %p, %q : i64
      kernel.yield %g : i1
    }, {}, {}) {extents = #tx.dims<"">, parallel = 0 : i64, epilogue_inputs = 0 : i64, in_maps = [#tx.map<"() -> ()">, #tx.map<"() -> ()">], out_maps = [#tx.map<"() -> ()">], operandSegmentSizes = array<i32: 2, 0>} : (tensor<i64>, tensor<i64>) -> tensor<i1>
    kernel.yield %f : tensor<i1>
  }, {
  ^bb0(%a: tensor<i64>, %b: tensor<i64>):
    %e = "kernel.generic"(%b, %a) ({
    ^bb0(%p: i64, %q: i64):
      %g = arith.addi %p, %q : i64
      kernel.yield %g : i64
    }, {}, {}) {extents = #tx.dims<"">, parallel = 0 : i64, epilogue_inputs = 0 : i64, in_maps = [#tx.map<"() -> ()">, #tx.map<"() -> ()">], out_maps = [#tx.map<"() -> ()">], operandSegmentSizes = array<i32: 2, 0>} : (tensor<i64>, tensor<i64>) -> tensor<i64>
    %h = "kernel.generic"(%b) ({
    ^bb0(%p: i64):
      %o = arith.constant 1 : i64
      %g = arith.subi %p, %o : i64
      kernel.yield %g : i64
    }, {}, {}) {extents = #tx.dims<"">, parallel = 0 : i64, epilogue_inputs = 0 : i64, in_maps = [#tx.map<"() -> ()">], out_maps = [#tx.map<"() -> ()">], operandSegmentSizes = array<i32: 1, 0>} : (tensor<i64>) -> tensor<i64>
    kernel.yield %e, %h : tensor<i64>, tensor<i64>
  }) : (tensor<i64>, tensor<i64>) -> (tensor<i64>, tensor<i64>)
  func.return %d : tensor<i64>
}
