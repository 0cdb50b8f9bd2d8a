// RUN: tx-opt %s --print-unbroken -p tx-topological-order | filecheck %s

// Each op stands where it is first needed; what nobody needs is dropped.
// CHECK-LABEL: @in_turns
// CHECK: tx.exp %x
// CHECK-NEXT: tx.sqrt %x
// CHECK-NEXT: tx.exp %y
// CHECK-NEXT: tx.sqrt %y
// CHECK-NEXT: func.return
func.func @in_turns(%x: f32[n], %y: f32[m]) -> (f32[n], f32[n], f32[m], f32[m]) {
  %0 = tx.exp %x : f32[n]
  %1 = tx.exp %y : f32[m]
  %2 = tx.sqrt %x : f32[n]
  %3 = tx.sqrt %y : f32[m]
  %4 = tx.tanh %y : f32[m]
  func.return %0, %2, %1, %3 : f32[n], f32[n], f32[m], f32[m]
}

// Not in front of a store that was written before it: the store may write what it reads.
// CHECK-LABEL: @behind_the_store
// CHECK: tx.insert
// CHECK: tx.exp
// CHECK-NEXT: tx.insert
func.func @behind_the_store(%x: f32[n], %v: f32[]) -> f32[n] {
  %0 = tx.insert %x, %v {map = #tx.map<"() -> (0)">} : f32[n]
  %1 = tx.exp %v : f32[]
  %2 = tx.insert %0, %1 {map = #tx.map<"() -> (1)">} : f32[n]
  func.return %2 : f32[n]
}
