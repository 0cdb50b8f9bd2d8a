// The programs of programs.py for Eigen: row-major tensors, results written into the caller's buffers.
// Each is exported as NAME_DTYPE_RANKS(pointers to arguments, then to results, sizes of all dims of the arguments).

#define EIGEN_USE_THREADS
#include <Eigen/Dense>
#include <memory>
#include <unsupported/Eigen/CXX11/Tensor>

namespace {
std::unique_ptr<Eigen::ThreadPool> pool;
std::unique_ptr<Eigen::ThreadPoolDevice> threads;

template <class T, int R> using In = Eigen::TensorMap<const Eigen::Tensor<const T, R, Eigen::RowMajor, long>>;
template <class T, int R> using Out = Eigen::TensorMap<Eigen::Tensor<T, R, Eigen::RowMajor, long>>;
// What `convolve` and `fft` read: they declare variables of the element type, which must not be constant.
template <class T, int R> using Own = Out<T, R>;
template <class T> using Matrix = Eigen::Map<Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>>;
using At1 = Eigen::array<long, 1>;
using At2 = Eigen::array<long, 2>;

// Assign on all threads, or without the pool where there is one.
template <class Target, class Source> void put(Target target, const Source& source) {
  if (threads) target.device(*threads) = source;
  else target = source;
}
template <class T, class X> auto gelu_of(const X& x) {
  return x * T(0.5) * ((x + x * x * x * T(0.044715)) * T(0.7978845608028654)).tanh() + x * T(0.5);
}
template <class T> void contract(const T* a, const T* b, T* y, long m, long k, long n, bool at, bool bt) {
  In<T, 2> left(a, at ? k : m, at ? m : k), right(b, bt ? n : k, bt ? k : n);
  Eigen::array<Eigen::IndexPair<long>, 1> pair{Eigen::IndexPair<long>(at ? 0 : 1, bt ? 1 : 0)};
  put(Out<T, 2>(y, m, n), left.contract(right, pair));
}
template <class T> void softmax(const T* x, T* y, long n, long m, int axis) {
  In<T, 2> in(x, n, m);
  At1 dim{axis};
  At2 keep{axis == 1 ? n : 1, axis == 1 ? 1 : m}, spread{axis == 1 ? 1 : n, axis == 1 ? m : 1};
  put(Out<T, 2>(y, n, m), (in - in.maximum(dim).eval().reshape(keep).broadcast(spread)).exp());
  Out<T, 2> e(y, n, m);
  put(e, e * e.sum(dim).inverse().eval().reshape(keep).broadcast(spread));
}
}  // namespace

extern "C" void set_threads(int n) {
  threads.reset();
  pool.reset();
  if (n < 2) return;
  pool = std::make_unique<Eigen::ThreadPool>(n);
  threads = std::make_unique<Eigen::ThreadPoolDevice>(pool.get(), n);
}

#define KERNELS(T, NAME)                                                                                             \
  extern "C" {                                                                                                       \
  void copy_##NAME##_1(const T* x, T* y, const long* s) { put(Out<T, 1>(y, s[0]), In<T, 1>(x, s[0])); }              \
  void add_##NAME##_11(const T* a, const T* b, T* y, const long* s) {                                                 \
    put(Out<T, 1>(y, s[0]), In<T, 1>(a, s[0]) + In<T, 1>(b, s[0]));                                                  \
  }                                                                                                                  \
  void add_three_##NAME##_111(const T* a, const T* b, const T* c, T* y, const long* s) {                               \
    put(Out<T, 1>(y, s[0]), In<T, 1>(a, s[0]) + In<T, 1>(b, s[0]) + In<T, 1>(c, s[0]));                              \
  }                                                                                                                  \
  void chain_##NAME##_11(const T* p, const T* q, T* y, const long* s) {                                               \
    In<T, 1> a(p, s[0]), b(q, s[0]);                                                                                 \
    put(Out<T, 1>(y, s[0]), (((a * b + T(1.5)) * a - b) * T(0.5) + a).abs().sqrt() / (b + T(2)));                    \
  }                                                                                                                  \
  void exp_chain_##NAME##_1(const T* x, T* y, const long* s) {                                                       \
    put(Out<T, 1>(y, s[0]), (-(-(-In<T, 1>(x, s[0])).exp()).exp()).exp());                                           \
  }                                                                                                                  \
  void gelu_##NAME##_1(const T* x, T* y, const long* s) { put(Out<T, 1>(y, s[0]), gelu_of<T>(In<T, 1>(x, s[0]))); }  \
  void broadcast_add_##NAME##_222(const T* x, const T* r, const T* c, T* y, const long* s) {                           \
    put(Out<T, 2>(y, s[0], s[1]), In<T, 2>(x, s[0], s[1]) + In<T, 2>(r, 1, s[1]).broadcast(At2{s[0], 1}) +           \
                                      In<T, 2>(c, s[0], 1).broadcast(At2{1, s[1]}));                                 \
  }                                                                                                                  \
  void total_##NAME##_2(const T* x, T* y, const long* s) { put(Out<T, 0>(y), In<T, 2>(x, s[0], s[1]).sum()); }       \
  void row_sum_##NAME##_2(const T* x, T* y, const long* s) {                                                         \
    put(Out<T, 1>(y, s[0]), In<T, 2>(x, s[0], s[1]).sum(At1{1}));                                                    \
  }                                                                                                                  \
  void column_sum_##NAME##_2(const T* x, T* y, const long* s) {                                                      \
    put(Out<T, 1>(y, s[1]), In<T, 2>(x, s[0], s[1]).sum(At1{0}));                                                    \
  }                                                                                                                  \
  void row_argmax_##NAME##_2(const T* x, long* y, const long* s) {                                                   \
    put(Out<long, 1>(y, s[0]), In<T, 2>(x, s[0], s[1]).argmax(1));                                                   \
  }                                                                                                                  \
  void column_argmax_##NAME##_2(const T* x, long* y, const long* s) {                                                \
    put(Out<long, 1>(y, s[1]), In<T, 2>(x, s[0], s[1]).argmax(0));                                                   \
  }                                                                                                                  \
  void softmax_rows_##NAME##_2(const T* x, T* y, const long* s) { softmax(x, y, s[0], s[1], 1); }                    \
  void softmax_columns_##NAME##_2(const T* x, T* y, const long* s) { softmax(x, y, s[0], s[1], 0); }                 \
  void transpose_##NAME##_2(const T* x, T* y, const long* s) {                                                       \
    put(Out<T, 2>(y, s[1], s[0]), In<T, 2>(x, s[0], s[1]).shuffle(At2{1, 0}));                                       \
  }                                                                                                                  \
  void swap_last_##NAME##_3(const T* x, T* y, const long* s) {                                                       \
    put(Out<T, 3>(y, s[0], s[2], s[1]), In<T, 3>(x, s[0], s[1], s[2]).shuffle(Eigen::array<long, 3>{0, 2, 1}));      \
  }                                                                                                                  \
  void channels_first_##NAME##_4(const T* x, T* y, const long* s) {                                                  \
    put(Out<T, 4>(y, s[0], s[3], s[1], s[2]),                                                                        \
        In<T, 4>(x, s[0], s[1], s[2], s[3]).shuffle(Eigen::array<long, 4>{0, 3, 1, 2}));                             \
  }                                                                                                                  \
  void pad_##NAME##_2(const T* x, T* y, const long* s) {                                                             \
    Eigen::array<std::pair<long, long>, 2> by{std::make_pair(1L, 1L), std::make_pair(1L, 1L)};                       \
    put(Out<T, 2>(y, s[0] + 2, s[1] + 2), In<T, 2>(x, s[0], s[1]).pad(by));                                          \
  }                                                                                                                  \
  void concatenate_##NAME##_22(const T* a, const T* b, T* y, const long* s) {                                         \
    put(Out<T, 2>(y, s[0], s[1] + s[3]), In<T, 2>(a, s[0], s[1]).concatenate(In<T, 2>(b, s[2], s[3]), 1));           \
  }                                                                                                                  \
  void every_other_##NAME##_2(const T* x, T* y, const long* s) {                                                     \
    put(Out<T, 2>(y, (s[0] + 1) / 2, (s[1] + 1) / 2), In<T, 2>(x, s[0], s[1]).stride(At2{2, 2}));                    \
  }                                                                                                                  \
  void column_chip_##NAME##_2(const T* x, T* y, const long* s) {                                                     \
    put(Out<T, 1>(y, s[0]), In<T, 2>(x, s[0], s[1]).chip(3, 1) * T(2));                                              \
  }                                                                                                                  \
  void cumsum_##NAME##_2(const T* x, T* y, const long* s) {                                                          \
    put(Out<T, 2>(y, s[0], s[1]), In<T, 2>(x, s[0], s[1]).cumsum(1));                                                \
  }                                                                                                                  \
  void cumsum_columns_##NAME##_2(const T* x, T* y, const long* s) {                                                  \
    put(Out<T, 2>(y, s[0], s[1]), In<T, 2>(x, s[0], s[1]).cumsum(0));                                                \
  }                                                                                                                  \
  void convolve_plane_##NAME##_22(const T* x, const T* k, T* y, const long* s) {                                      \
    put(Out<T, 2>(y, s[0] - s[2] + 1, s[1] - s[3] + 1),                                                              \
        Own<T, 2>((T*)x, s[0], s[1]).convolve(Own<T, 2>((T*)k, s[2], s[3]), At2{0, 1}));                             \
  }                                                                                                                  \
  void random_uniform_##NAME##_1(const T*, T* y, const long* s) {                                                    \
    Out<T, 1> out(y, s[0]);                                                                                          \
    put(out, out.random(Eigen::internal::UniformRandomGenerator<T>(1)));                                             \
  }                                                                                                                  \
  void random_normal_##NAME##_1(const T*, T* y, const long* s) {                                                     \
    Out<T, 1> out(y, s[0]);                                                                                          \
    put(out, out.random(Eigen::internal::NormalRandomGenerator<T>(1)));                                              \
  }                                                                                                                  \
  void stencil_##NAME##_2(const T* p, T* y, const long* s) {                                                         \
    In<T, 2> x(p, s[0], s[1]);                                                                                       \
    At2 size{s[0] - 2, s[1] - 2};                                                                                    \
    auto at = [&](long i, long j) { return x.slice(At2{i, j}, size); };                                              \
    put(Out<T, 2>(y, size[0], size[1]), (at(1, 0) + at(1, 2) + at(0, 1) + at(2, 1)) * T(0.25) - at(1, 1));           \
  }                                                                                                                  \
  void matmul_right_transposed_##NAME##_22(const T* a, const T* b, T* y, const long* s) {                             \
    contract(a, b, y, s[0], s[1], s[2], false, true);                                                                \
  }                                                                                                                  \
  void matmul_left_transposed_##NAME##_22(const T* a, const T* b, T* y, const long* s) {                              \
    contract(a, b, y, s[1], s[0], s[3], true, false);                                                                \
  }                                                                                                                  \
  void dense_gelu_##NAME##_221(const T* a, const T* b, const T* c, T* y, const long* s) {                              \
    contract(a, b, y, s[0], s[1], s[3], false, false);                                                               \
    Out<T, 2> h(y, s[0], s[3]);                                                                                      \
    put(h, h + In<T, 2>(c, 1, s[3]).broadcast(At2{s[0], 1}));                                                        \
    put(h, gelu_of<T>(h));                                                                                           \
  }                                                                                                                  \
  }

#define PRODUCTS(T, NAME)                                                                                            \
  extern "C" void matmul_##NAME##_22(const T* a, const T* b, T* y, const long* s) {                                   \
    contract(a, b, y, s[0], s[1], s[3], false, false);                                                               \
  }                                                                                                                  \
  extern "C" void matmul_##NAME##_21(const T* a, const T* b, T* y, const long* s) {                                   \
    Eigen::Map<Eigen::Matrix<T, Eigen::Dynamic, 1>>(y, s[0]).noalias() =                                             \
        Matrix<T>((T*)a, s[0], s[1]) * Eigen::Map<Eigen::Matrix<T, Eigen::Dynamic, 1>>((T*)b, s[1]);                 \
  }                                                                                                                  \
  extern "C" void matmul_##NAME##_33(const T* a, const T* b, T* y, const long* s) {                                   \
    long m = s[1], k = s[2], n = s[5];                                                                               \
    auto some = [=](long from, long to) {                                                                            \
      for (long i = from; i < to; ++i)                                                                               \
        Matrix<T>(y + i * m * n, m, n).noalias() =                                                                   \
            Matrix<T>((T*)a + i * m * k, m, k).lazyProduct(Matrix<T>((T*)b + i * k * n, k, n));                      \
    };                                                                                                               \
    if (threads) threads->parallelFor(s[0], Eigen::TensorOpCost(0, 0, 2.0 * m * k * n), some);                       \
    else some(0, s[0]);                                                                                              \
  }

#define TRANSFORMS(C, NAME)                                                                                          \
  extern "C" {                                                                                                       \
  void fft_rows_##NAME##_2(const C* x, C* y, const long* s) {                                                        \
    put(Out<C, 2>(y, s[0], s[1]), Own<C, 2>((C*)x, s[0], s[1]).fft<Eigen::BothParts, Eigen::FFT_FORWARD>(At1{1}));   \
  }                                                                                                                  \
  void fft_plane_##NAME##_2(const C* x, C* y, const long* s) {                                                       \
    put(Out<C, 2>(y, s[0], s[1]), Own<C, 2>((C*)x, s[0], s[1]).fft<Eigen::BothParts, Eigen::FFT_FORWARD>(At2{0, 1}));\
  }                                                                                                                  \
  }

KERNELS(float, f4)
KERNELS(double, f8)
PRODUCTS(float, f4)
PRODUCTS(double, f8)
PRODUCTS(int, i4)
TRANSFORMS(std::complex<float>, c8)
TRANSFORMS(std::complex<double>, c16)
