// RUN: tx-opt %s --print-unbroken -p tx-bufferize | filecheck %s
// RUN: tx-opt %s --print-unbroken -p 'tx-bufferize{in-place=false}' | filecheck %s --check-prefix=COPY

// One transform after another: all in the output.
// CHECK-LABEL: @plane
// CHECK-NOT: loop.alloc
// CHECK: kernel.custom {{\w+}}(%x){{.*}} into (%[[Y:[0-9]+]])
// CHECK-NEXT: kernel.custom {{\w+}}(%[[Y]]){{.*}} into (%[[Y]])
// CHECK-NEXT: func.return
// COPY-LABEL: @plane
// COPY: kernel.custom {{\w+}}(%x){{.*}} into (%[[Y:[0-9]+]])
// COPY-NEXT: %[[T:[0-9]+]] = loop.alloc
// COPY-NEXT: kernel.custom {{\w+}}(%[[Y]]){{.*}} into (%[[T]])
func.func @plane(%x: tensor<?xcomplex<f32>, #tx.dims<"n">>) -> tensor<?xcomplex<f32>, #tx.dims<"n">> attributes {tx.symbols = #tx.dims<"n">} {
  %z = "kernel.custom"(%x) {fn = "fft", in_place, parameters = {axis = 0 : i64, sign = "minus", has_fma = true}, operandSegmentSizes = array<i32: 1, 0>} : (tensor<?xcomplex<f32>, #tx.dims<"n">>) -> tensor<?xcomplex<f32>, #tx.dims<"n">>
  %r = "kernel.custom"(%z) {fn = "fft", in_place, parameters = {axis = 0 : i64, sign = "minus", has_fma = true}, operandSegmentSizes = array<i32: 1, 0>} : (tensor<?xcomplex<f32>, #tx.dims<"n">>) -> tensor<?xcomplex<f32>, #tx.dims<"n">>
  func.return %r : tensor<?xcomplex<f32>, #tx.dims<"n">>
}

// The operand is a result, too: it stays what it is.
// CHECK-LABEL: @needed
// CHECK-NOT: loop.alloc
// CHECK: kernel.custom {{\w+}}(%x){{.*}} into (%[[Z:[0-9]+]])
// CHECK-NEXT: kernel.custom {{\w+}}(%[[Z]]){{.*}} into (%{{[0-9]+}})
// CHECK-NOT: kernel.generic
// CHECK: func.return
func.func @needed(%x: tensor<?xcomplex<f32>, #tx.dims<"n">>) -> (tensor<?xcomplex<f32>, #tx.dims<"n">>, tensor<?xcomplex<f32>, #tx.dims<"n">>) attributes {tx.symbols = #tx.dims<"n">} {
  %z = "kernel.custom"(%x) {fn = "fft", in_place, parameters = {axis = 0 : i64, sign = "minus", has_fma = true}, operandSegmentSizes = array<i32: 1, 0>} : (tensor<?xcomplex<f32>, #tx.dims<"n">>) -> tensor<?xcomplex<f32>, #tx.dims<"n">>
  %r = "kernel.custom"(%z) {fn = "fft", in_place, parameters = {axis = 0 : i64, sign = "minus", has_fma = true}, operandSegmentSizes = array<i32: 1, 0>} : (tensor<?xcomplex<f32>, #tx.dims<"n">>) -> tensor<?xcomplex<f32>, #tx.dims<"n">>
  func.return %r, %z : tensor<?xcomplex<f32>, #tx.dims<"n">>, tensor<?xcomplex<f32>, #tx.dims<"n">>
}

// What does not say so has other memory for its result.
// CHECK-LABEL: @fresh
// CHECK: %[[A:[0-9]+]] = loop.alloc
// CHECK-NEXT: kernel.custom {{\w+}}(%x){{.*}} into (%[[A]])
// CHECK-NEXT: kernel.custom {{\w+}}(%[[A]]){{.*}} into (%[[R:[0-9]+]])
// CHECK-NEXT: func.return
func.func @fresh(%x: tensor<?xf32, #tx.dims<"n">>) -> tensor<?xf32, #tx.dims<"n">> attributes {tx.symbols = #tx.dims<"n">} {
  %z = "kernel.custom"(%x) {fn = "sort", parameters = {}, operandSegmentSizes = array<i32: 1, 0>} : (tensor<?xf32, #tx.dims<"n">>) -> tensor<?xf32, #tx.dims<"n">>
  %r = "kernel.custom"(%z) {fn = "sort", parameters = {}, operandSegmentSizes = array<i32: 1, 0>} : (tensor<?xf32, #tx.dims<"n">>) -> tensor<?xf32, #tx.dims<"n">>
  func.return %r : tensor<?xf32, #tx.dims<"n">>
}

// A temporary that nothing else needs is the memory of what comes of it.
// CHECK-LABEL: @temporary
// CHECK-COUNT-1: loop.alloc
// CHECK-NOT: loop.alloc
// CHECK: func.return
// COPY-LABEL: @temporary
// COPY-COUNT-2: loop.alloc
func.func @temporary(%x: tensor<?xcomplex<f32>, #tx.dims<"n">>) -> tensor<?xf32, #tx.dims<"n">> attributes {tx.symbols = #tx.dims<"n">} {
  %z = "kernel.custom"(%x) {fn = "fft", in_place, parameters = {axis = 0 : i64, sign = "minus", has_fma = true}, operandSegmentSizes = array<i32: 1, 0>} : (tensor<?xcomplex<f32>, #tx.dims<"n">>) -> tensor<?xcomplex<f32>, #tx.dims<"n">>
  %w = "kernel.custom"(%z) {fn = "fft", in_place, parameters = {axis = 0 : i64, sign = "minus", has_fma = true}, operandSegmentSizes = array<i32: 1, 0>} : (tensor<?xcomplex<f32>, #tx.dims<"n">>) -> tensor<?xcomplex<f32>, #tx.dims<"n">>
  %r = "kernel.generic"(%w) ({
  ^bb0(%a: complex<f32>):
    %s = complex.re %a : complex<f32>
    kernel.yield %s : f32
  }, {}, {}) {extents = #tx.dims<"n">, parallel = 1 : i64, epilogue_inputs = 0 : i64, in_maps = [#tx.map<"(d0: n) -> (d0)">], out_maps = [#tx.map<"(d0: n) -> (d0)">], operandSegmentSizes = array<i32: 1, 0>} : (tensor<?xcomplex<f32>, #tx.dims<"n">>) -> tensor<?xf32, #tx.dims<"n">>
  func.return %r : tensor<?xf32, #tx.dims<"n">>
}
