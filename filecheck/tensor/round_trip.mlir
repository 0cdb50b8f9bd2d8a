// RUN: tx-opt %s --print-locations | tx-opt --print-locations | filecheck %s

// What is printed reads back as it was: dims, maps, orders, dtypes, regions, figures.

// CHECK-LABEL: func.func @f(%x: f32[n, 4], %k: u8[n])
// CHECK: tx.symbols = #tx.dims<n, $s>
func.func @f(%x: tensor<?x4xf32, #tx.dims<"n, 4">>, %k: tensor<?xui8, #tx.dims<"n">>) -> tensor<?xf32, #tx.dims<"n">> attributes {tx.symbols = #tx.dims<"n, $s">} {
  // CHECK-NEXT: %{{.*}} = tx.exp %x : f32[n, 4] loc("f.py:3:4")
  %0 = tx.exp %x {loc = "f.py:3:4"} : (tensor<?x4xf32, #tx.dims<"n, 4">>) -> tensor<?x4xf32, #tx.dims<"n, 4">>
  // CHECK-NEXT: tx.view %{{.*}} {map = #tx.map<(d0: n, d1: 6) -> (d0, d1 - 1) where (d1 - 1, -d1 + 4)>, fill = -0.0}
  %1 = tx.view %0 {map = #tx.map<"(d0: n, d1: 6) -> (d0, d1 - 1) where (d1 - 1, -d1 + 4)">, fill = -0.0 : f64} : (tensor<?x4xf32, #tx.dims<"n, 4">>) -> tensor<?x6xf32, #tx.dims<"n, 6">>
  // CHECK-NEXT: tx.sum %{{.*}} {dims = [1], order = #tx.order<tree<1024, 64>>}
  %2 = tx.sum %1 {dims = [1], order = #tx.order<"tree<1024, 64>">} : (tensor<?x6xf32, #tx.dims<"n, 6">>) -> tensor<?xf32, #tx.dims<"n">>
  // CHECK-NEXT: tx.cast %k {dtype = #tx.dtype<f32>} : f32[n]
  %3 = tx.cast %k {dtype = #tx.dtype<"f32">} : (tensor<?xui8, #tx.dims<"n">>) -> tensor<?xf32, #tx.dims<"n">>
  %4 = tx.add %2, %3 : (tensor<?xf32, #tx.dims<"n">>, tensor<?xf32, #tx.dims<"n">>) -> tensor<?xf32, #tx.dims<"n">>
  // CHECK: tx.for i = 0 to $s carry (%{{.*}} = %{{.*}}) {
  // CHECK: tx.yield %{{.*}} : f32[n]
  %5 = "tx.for"(%4) ({
  ^bb0(%c: tensor<?xf32, #tx.dims<"n">>):
    %6 = tx.sqrt %c : (tensor<?xf32, #tx.dims<"n">>) -> tensor<?xf32, #tx.dims<"n">>
    tx.yield %6 : tensor<?xf32, #tx.dims<"n">>
  }) {iv = "i", lower = #tx.dim<"0">, upper = #tx.dim<"$s">, step = #tx.dim<"1">} : (tensor<?xf32, #tx.dims<"n">>) -> tensor<?xf32, #tx.dims<"n">>
  func.return %5 : tensor<?xf32, #tx.dims<"n">>
}
