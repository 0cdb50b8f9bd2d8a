/* Made by txc for wasm32; do not edit. */
#ifndef TXC_SOFTMAX_H
#define TXC_SOFTMAX_H

#ifndef TXC_EXPORT_H
#define TXC_EXPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
#define TXC_RESTRICT __restrict
#else
#define TXC_RESTRICT restrict
#endif

/* The bits of a half-width float: IEEE binary16, and the upper half of a binary32. */
typedef uint16_t txc_f16;
typedef uint16_t txc_bf16;

/* What an exported function returns. */
enum {
  TXC_OK = 0, /* the results are written */
  TXC_ERROR_NULL = 1, /* a pointer to an array with elements is NULL */
  TXC_ERROR_WORKSPACE = 2, /* the workspace is NULL, and the function needs one */
  TXC_ERROR_CPU = 3, /* the processor is older than any that the code was compiled for */
  TXC_ERROR_THREADS = 4, /* txc_threads asks for less than one thread, or for several without a function */
  TXC_ERROR_SIZE = 16, /* this or more: the sizes do not meet a condition, which the function's comment numbers */
};

/* A part of a parallel loop; parts are independent and may run at the same time. */
typedef void txc_task(void *context, int64_t part, int64_t worker);

/* Threads of the program that calls: `parallel` runs task(context, part, worker) once for each part from 0 to
   parts - 1, in any order, and returns when all have run.  `worker` is from 0 to threads - 1, and no two parts that
   run at the same time have the same.  `pool` is handed through.  Where NULL is passed for a txc_threads, the function
   runs on the calling thread alone.  Results are the same bits for any number of threads. */
typedef struct txc_threads {
  void (*parallel)(void *pool, txc_task *task, void *context, int64_t parts, int64_t threads);
  void *pool;
  int64_t threads;
} txc_threads;

#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Each row of `x` as probabilities.
     x: float[n][m]
     out: float[n][m], a result
     workspace: memory for temporaries, of the size that the next function gives; may be NULL for 0
     threads: NULL, or the threads to use
   Arrays are packed and must not overlap one another. Returns TXC_OK, or an error without writing:
     16 unless n >= 0
     17 unless m >= 0
     18 unless m > 0 */
int softmax(const float *TXC_RESTRICT x, float beta, float *TXC_RESTRICT out, int64_t n, int64_t m,
    void *workspace, const txc_threads *threads);

/* Bytes that the workspace must have, at any address; 0 where a condition on sizes does not hold. */
size_t softmax_workspace(int64_t n, int64_t m, const txc_threads *threads);

#ifdef __cplusplus
}
#endif

#endif
