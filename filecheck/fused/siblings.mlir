// RUN: tx-opt %s --print-unbroken -p 'tx-fuse,tx-fuse-siblings' | filecheck %s
// RUN: tx-opt %s --print-unbroken -p 'tx-fuse,tx-fuse-siblings{enabled=false}' | filecheck %s --check-prefix=APART

// Two results over one iteration space that share an input: one nest, one pass over memory.
// CHECK-LABEL: @shared
// CHECK: %{{.*}}, %{{.*}} = kernel.generic{{.*}}%x[
// CHECK: math.exp
// CHECK: math.sqrt
// CHECK-NOT: kernel.generic
// CHECK: func.return
// APART-LABEL: @shared
// APART-COUNT-2: kernel.generic
func.func @shared(%x: tensor<?xf32, #tx.dims<"n">>) -> (tensor<?xf32, #tx.dims<"n">>, tensor<?xf32, #tx.dims<"n">>) {
  %0 = tx.exp %x : (tensor<?xf32, #tx.dims<"n">>) -> tensor<?xf32, #tx.dims<"n">>
  %1 = tx.sqrt %x : (tensor<?xf32, #tx.dims<"n">>) -> tensor<?xf32, #tx.dims<"n">>
  func.return %0, %1 : tensor<?xf32, #tx.dims<"n">>, tensor<?xf32, #tx.dims<"n">>
}

// Nothing in common but the size.
// CHECK-LABEL: @strangers
// CHECK-COUNT-2: kernel.generic
func.func @strangers(%x: tensor<?xf32, #tx.dims<"n">>, %y: tensor<?xf32, #tx.dims<"n">>) -> (tensor<?xf32, #tx.dims<"n">>, tensor<?xf32, #tx.dims<"n">>) {
  %0 = tx.exp %x : (tensor<?xf32, #tx.dims<"n">>) -> tensor<?xf32, #tx.dims<"n">>
  %1 = tx.sqrt %y : (tensor<?xf32, #tx.dims<"n">>) -> tensor<?xf32, #tx.dims<"n">>
  func.return %0, %1 : tensor<?xf32, #tx.dims<"n">>, tensor<?xf32, #tx.dims<"n">>
}

// The second needs the first's values from other points: it needs them all.
// CHECK-LABEL: @elsewhere
// CHECK-COUNT-2: kernel.generic
func.func @elsewhere(%x: tensor<?xf32, #tx.dims<"n">>) -> (tensor<?xf32, #tx.dims<"n">>, tensor<?xf32, #tx.dims<"n">>) {
  %0 = tx.exp %x : (tensor<?xf32, #tx.dims<"n">>) -> tensor<?xf32, #tx.dims<"n">>
  %1 = tx.eval %0 : (tensor<?xf32, #tx.dims<"n">>) -> tensor<?xf32, #tx.dims<"n">>
  %2 = tx.view %1 {map = #tx.map<"(d0: n) -> (n - 1 - d0)">} : (tensor<?xf32, #tx.dims<"n">>) -> tensor<?xf32, #tx.dims<"n">>
  %3 = tx.add %2, %x : (tensor<?xf32, #tx.dims<"n">>, tensor<?xf32, #tx.dims<"n">>) -> tensor<?xf32, #tx.dims<"n">>
  func.return %1, %3 : tensor<?xf32, #tx.dims<"n">>, tensor<?xf32, #tx.dims<"n">>
}

// What both nests compute is computed once; the root of something else is another one.
// CHECK-LABEL: @common_root
// CHECK: kernel.generic over (d0: n) in (%[[X:.*]] = %x[d0], %[[Y:.*]] = %y[d0])
// CHECK-NEXT: %[[R:.*]] = math.sqrt %[[X]]
// CHECK-NEXT: arith.addf %[[R]], %[[Y]]
// CHECK-NEXT: %[[S:.*]] = math.sqrt %[[Y]]
// CHECK-NEXT: arith.mulf %[[R]], %[[S]]
// CHECK-NEXT: kernel.yield
func.func @common_root(%x: tensor<?xf32, #tx.dims<"n">>, %y: tensor<?xf32, #tx.dims<"n">>) -> (tensor<?xf32, #tx.dims<"n">>, tensor<?xf32, #tx.dims<"n">>) {
  %0 = tx.sqrt %x : (tensor<?xf32, #tx.dims<"n">>) -> tensor<?xf32, #tx.dims<"n">>
  %1 = tx.add %0, %y : (tensor<?xf32, #tx.dims<"n">>, tensor<?xf32, #tx.dims<"n">>) -> tensor<?xf32, #tx.dims<"n">>
  %2 = tx.sqrt %y : (tensor<?xf32, #tx.dims<"n">>) -> tensor<?xf32, #tx.dims<"n">>
  %3 = tx.mul %0, %2 : (tensor<?xf32, #tx.dims<"n">>, tensor<?xf32, #tx.dims<"n">>) -> tensor<?xf32, #tx.dims<"n">>
  func.return %1, %3 : tensor<?xf32, #tx.dims<"n">>, tensor<?xf32, #tx.dims<"n">>
}

// Two reductions of the same elements in one order: one nest with the states of both, older ones first.
// CHECK-LABEL: @folds
// CHECK: %{{.*}}, %{{.*}} = kernel.generic {{.*}} init 0.0 : f32, -inf : f32 in (%[[E:.*]] = %x[
// CHECK-NEXT: kernel.yield %[[E]], %[[E]] : f32, f32
// CHECK: combine (%[[A:.*]], %[[B:.*]], %[[C:.*]], %[[D:.*]]) {
// CHECK: arith.addf %[[A]], %[[C]]
// CHECK: arith.cmpf ogt, %[[B]], %[[D]]
// CHECK-NOT: kernel.generic
// CHECK: func.return
// APART-LABEL: @folds
// APART-COUNT-2: kernel.generic
func.func @folds(%x: tensor<?x?xf32, #tx.dims<"n, m">>) -> (tensor<?xf32, #tx.dims<"n">>, tensor<?xf32, #tx.dims<"n">>) {
  %0 = tx.sum %x {dims = [1], order = #tx.order<"tree<1024, 64>">} : (tensor<?x?xf32, #tx.dims<"n, m">>) -> tensor<?xf32, #tx.dims<"n">>
  %1 = tx.maximum %x {dims = [1], order = #tx.order<"tree<1024, 64>">} : (tensor<?x?xf32, #tx.dims<"n, m">>) -> tensor<?xf32, #tx.dims<"n">>
  func.return %0, %1 : tensor<?xf32, #tx.dims<"n">>, tensor<?xf32, #tx.dims<"n">>
}

// What is exact in any order takes the other's.
// CHECK-LABEL: @any_order
// CHECK: %{{.*}}, %{{.*}} = kernel.generic {{.*}} order tree<1024, 64> init false, 0.0 : f32 in ({{.*}} = %x[
// CHECK-NOT: kernel.generic
// CHECK: func.return
func.func @any_order(%x: tensor<?x?xf32, #tx.dims<"n, m">>) -> (tensor<?xi1, #tx.dims<"n">>, tensor<?xf32, #tx.dims<"n">>) {
  %0 = tx.less %x, %x : (tensor<?x?xf32, #tx.dims<"n, m">>, tensor<?x?xf32, #tx.dims<"n, m">>) -> tensor<?x?xi1, #tx.dims<"n, m">>
  %1 = tx.any %0 {dims = [1], order = #tx.order<"free">} : (tensor<?x?xi1, #tx.dims<"n, m">>) -> tensor<?xi1, #tx.dims<"n">>
  %2 = tx.sum %x {dims = [1], order = #tx.order<"tree<1024, 64>">} : (tensor<?x?xf32, #tx.dims<"n, m">>) -> tensor<?xf32, #tx.dims<"n">>
  func.return %1, %2 : tensor<?xi1, #tx.dims<"n">>, tensor<?xf32, #tx.dims<"n">>
}

// The map after both is where both are reduced; nobody else needs the first reduction's result.
// CHECK-LABEL: @epilogue
// CHECK: %[[R:.*]] = kernel.generic {{.*}} in ({{.*}} = %x[d0, d1]) -> (f32[n] at [d0]) {
// CHECK-NOT: kernel.generic
// CHECK: epilogue (%[[LOW:[0-9]+]], %[[HIGH:[0-9]+]]) {
// CHECK-NEXT: arith.subf %[[HIGH]], %[[LOW]]
// CHECK-NEXT: kernel.yield
// CHECK: func.return %[[R]]
func.func @epilogue(%x: tensor<?x?xf32, #tx.dims<"n, m">>) -> tensor<?xf32, #tx.dims<"n">> {
  %0 = tx.maximum %x {dims = [1], order = #tx.order<"tree<1024, 64>">} : (tensor<?x?xf32, #tx.dims<"n, m">>) -> tensor<?xf32, #tx.dims<"n">>
  %1 = tx.minimum %x {dims = [1], order = #tx.order<"tree<1024, 64>">} : (tensor<?x?xf32, #tx.dims<"n, m">>) -> tensor<?xf32, #tx.dims<"n">>
  %2 = tx.sub %0, %1 : (tensor<?xf32, #tx.dims<"n">>, tensor<?xf32, #tx.dims<"n">>) -> tensor<?xf32, #tx.dims<"n">>
  func.return %2 : tensor<?xf32, #tx.dims<"n">>
}

// Other orders would be other results.
// CHECK-LABEL: @orders
// CHECK-COUNT-2: kernel.generic
func.func @orders(%x: tensor<?x?xf32, #tx.dims<"n, m">>) -> (tensor<?xf32, #tx.dims<"n">>, tensor<?xf32, #tx.dims<"n">>) {
  %0 = tx.sum %x {dims = [1], order = #tx.order<"tree<1024, 64>">} : (tensor<?x?xf32, #tx.dims<"n, m">>) -> tensor<?xf32, #tx.dims<"n">>
  %1 = tx.maximum %x {dims = [1], order = #tx.order<"tree<1024, 1>">} : (tensor<?x?xf32, #tx.dims<"n, m">>) -> tensor<?xf32, #tx.dims<"n">>
  func.return %0, %1 : tensor<?xf32, #tx.dims<"n">>, tensor<?xf32, #tx.dims<"n">>
}

// Products are contractions', which have schedules of their own.
// CHECK-LABEL: @products
// CHECK-COUNT-2: kernel.generic
func.func @products(%x: tensor<?x?xf32, #tx.dims<"n, m">>, %y: tensor<?x?xf32, #tx.dims<"m, n">>) -> (tensor<?x?xf32, #tx.dims<"n, n">>, tensor<?x?xf32, #tx.dims<"n, n">>) {
  %0 = tx.contract %x, %y {pairs = [[1, 0]], batch = [], order = #tx.order<"chain<512, fma>">} : (tensor<?x?xf32, #tx.dims<"n, m">>, tensor<?x?xf32, #tx.dims<"m, n">>) -> tensor<?x?xf32, #tx.dims<"n, n">>
  %1 = tx.exp %y : (tensor<?x?xf32, #tx.dims<"m, n">>) -> tensor<?x?xf32, #tx.dims<"m, n">>
  %2 = tx.contract %x, %1 {pairs = [[1, 0]], batch = [], order = #tx.order<"chain<512, fma>">} : (tensor<?x?xf32, #tx.dims<"n, m">>, tensor<?x?xf32, #tx.dims<"m, n">>) -> tensor<?x?xf32, #tx.dims<"n, n">>
  func.return %0, %2 : tensor<?x?xf32, #tx.dims<"n, n">>, tensor<?x?xf32, #tx.dims<"n, n">>
}

// The second reduces what the first gives: it needs all of the row before.
// CHECK-LABEL: @after
// CHECK-COUNT-2: kernel.generic
func.func @after(%x: tensor<?x?xf32, #tx.dims<"n, m">>) -> tensor<?xf32, #tx.dims<"n">> {
  %0 = tx.maximum %x {dims = [1], order = #tx.order<"tree<1024, 64>">} : (tensor<?x?xf32, #tx.dims<"n, m">>) -> tensor<?xf32, #tx.dims<"n">>
  %1 = tx.view %0 {map = #tx.map<"(d0: n, d1: m) -> (d0)">} : (tensor<?xf32, #tx.dims<"n">>) -> tensor<?x?xf32, #tx.dims<"n, m">>
  %2 = tx.sub %x, %1 : (tensor<?x?xf32, #tx.dims<"n, m">>, tensor<?x?xf32, #tx.dims<"n, m">>) -> tensor<?x?xf32, #tx.dims<"n, m">>
  %3 = tx.sum %2 {dims = [1], order = #tx.order<"tree<1024, 64>">} : (tensor<?x?xf32, #tx.dims<"n, m">>) -> tensor<?xf32, #tx.dims<"n">>
  func.return %3 : tensor<?xf32, #tx.dims<"n">>
}

// Four states have registers, five not.
// CHECK-LABEL: @five
// CHECK: %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} = kernel.generic{{.*}}%x[
// CHECK: kernel.generic{{.*}}%x[
func.func @five(%x: tensor<?x?xf32, #tx.dims<"n, m">>) -> (tensor<?xf32, #tx.dims<"n">>, tensor<?xf32, #tx.dims<"n">>, tensor<?xf32, #tx.dims<"n">>, tensor<?xf32, #tx.dims<"n">>, tensor<?xf32, #tx.dims<"n">>) {
  %0 = tx.abs %x : (tensor<?x?xf32, #tx.dims<"n, m">>) -> tensor<?x?xf32, #tx.dims<"n, m">>
  %1 = tx.sum %x {dims = [1], order = #tx.order<"tree<1024, 64>">} : (tensor<?x?xf32, #tx.dims<"n, m">>) -> tensor<?xf32, #tx.dims<"n">>
  %2 = tx.minimum %x {dims = [1], order = #tx.order<"tree<1024, 64>">} : (tensor<?x?xf32, #tx.dims<"n, m">>) -> tensor<?xf32, #tx.dims<"n">>
  %3 = tx.maximum %x {dims = [1], order = #tx.order<"tree<1024, 64>">} : (tensor<?x?xf32, #tx.dims<"n, m">>) -> tensor<?xf32, #tx.dims<"n">>
  %4 = tx.sum %0 {dims = [1], order = #tx.order<"tree<1024, 64>">} : (tensor<?x?xf32, #tx.dims<"n, m">>) -> tensor<?xf32, #tx.dims<"n">>
  %5 = tx.maximum %0 {dims = [1], order = #tx.order<"tree<1024, 64>">} : (tensor<?x?xf32, #tx.dims<"n, m">>) -> tensor<?xf32, #tx.dims<"n">>
  func.return %1, %2, %3, %4, %5 : tensor<?xf32, #tx.dims<"n">>, tensor<?xf32, #tx.dims<"n">>, tensor<?xf32, #tx.dims<"n">>, tensor<?xf32, #tx.dims<"n">>, tensor<?xf32, #tx.dims<"n">>
}
