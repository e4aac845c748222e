/* Kernels in place of NumPy's that are slow, with NumPy's results bit for bit. See core.h.

   NumPy selects by masks with a branch for each element, calls an inner loop for each row of a
   reduction, however short the row, and waits for memory between two steps of a cumulative sum. The
   kernels here take numbers in C order, and leave everything else to NumPy. */

#pragma once

#include "at_once.h"
#include "loops.h"
#include "loops_of_rules.h"

/* Faster on newer processors, where the loader of the system can choose. */
#if defined(__x86_64__) && defined(__gnu_linux__) && defined(__GNUC__) && !defined(__clang__)
#define FOR_WIDE __attribute__((target_clones("avx2", "default")))
#else
#define FOR_WIDE
#endif

/* The same code for what the compiler knows, and for the rest. */
#ifdef __GNUC__
#define INLINED inline __attribute__((always_inline))
#else
#define INLINED inline
#endif

enum { WHOLE = NPY_SIZEOF_LONG == 8 ? NPY_LONG : NPY_NOTYPE }; /* int64, in which NumPy adds up */
/* Elements: of a row whose extremes NumPy finds slowly; of the longest one that it does not add up by
   halves; of the smallest array that a kernel takes; of a part of a mask. */
enum { SHORT_ROW = 16, ROW = 128, FEWEST = 32, BLOCK = 8 };

/* Numbers in C order, of a size that the kernels know. */
static int is_plain_memory(PyObject *x)
{
    PyArrayObject *memory = (PyArrayObject *)x;
    return is_memory(x) && PyArray_ISCARRAY_RO(memory) && PyArray_NDIM(memory) &&
           is_number_type(PyArray_TYPE(memory)) && PyArray_ITEMSIZE(memory) <= 8 &&
           PyArray_ISNBO(PyArray_DESCR(memory)->byteorder);
}

static int is_mask(PyObject *x)
{
    return is_plain_memory(x) && PyArray_TYPE((PyArrayObject *)x) == NPY_BOOL;
}

/* A function for the elements of each size, and a call of one of them. */
#define OF_SIZES(define, name)                                                                     \
    define(name##_8, uint64_t) define(name##_4, uint32_t) define(name##_2, uint16_t)               \
        define(name##_1, uint8_t)
#define BY_SIZE(size, name, ...)                                                                   \
    switch (size) {                                                                                \
    case 8: name##_8(__VA_ARGS__); break;                                                          \
    case 4: name##_4(__VA_ARGS__); break;                                                          \
    case 2: name##_2(__VA_ARGS__); break;                                                          \
    default: name##_1(__VA_ARGS__);                                                                \
    }

/* -- masks ------------------------------------------------------------------------------------- */

static inline uint64_t eight_bools(const npy_bool *at)
{
    uint64_t eight;
    memcpy(&eight, at, sizeof eight);
    return eight;
}

enum { LANES = 32 };

/* How many of them are true. */
FOR_WIDE static npy_intp count_true(const npy_bool *mask, npy_intp n)
{
    npy_intp count = 0, i = 0;
    while (i + LANES <= n) {
        uint8_t sums[LANES] = {0}; /* which count to 255 */
        for (int k = 0; k < 255 && i + LANES <= n; k++, i += LANES)
            for (int lane = 0; lane < LANES; lane++)
                sums[lane] += mask[i + lane] != 0;
        for (int lane = 0; lane < LANES; lane++)
            count += sums[lane];
    }
    for (; i < n; i++)
        count += mask[i] != 0;
    return count;
}

/* The next place, from a multiple of eight on, with a true one among the eight there; or near the end. */
static inline npy_intp next_true(const npy_bool *mask, npy_intp i, npy_intp n)
{
    while (i + 4 * BLOCK <= n && !(eight_bools(mask + i) | eight_bools(mask + i + BLOCK) |
                                   eight_bools(mask + i + 2 * BLOCK) | eight_bools(mask + i + 3 * BLOCK)))
        i += 4 * BLOCK;
    while (i + BLOCK <= n && !eight_bools(mask + i))
        i += BLOCK;
    return i;
}

static const uint64_t ALL_TRUE = 0x0101010101010101u;

/* Where the eights of true ones end that begin here, at `most` at the latest. */
static inline npy_intp end_of_true(const npy_bool *mask, npy_intp i, npy_intp most)
{
    while (i + BLOCK <= most && eight_bools(mask + i) == ALL_TRUE)
        i += BLOCK;
    return i;
}

/* The elements where the mask is true; there are `count`. */
#define TAKE_TRUE(name, type)                                                                      \
    static void name(const type *x, const npy_bool *mask, npy_intp n, type *out, npy_intp count)   \
    {                                                                                              \
        int is_regular = count < n / 16 || count > n - n / 16; /* most branches are foreseen */    \
        npy_intp i = next_true(mask, 0, n), j = 0;                                                 \
        for (; j + BLOCK <= count && i + BLOCK <= n; i = next_true(mask, i + BLOCK, n)) {          \
            npy_intp end = end_of_true(mask, i, n - i < count - j ? n : i + count - j);            \
            if (end > i) {                                                                         \
                memcpy(out + j, x + i, (end - i) * sizeof *out);                                   \
                j += end - i;                                                                      \
                i = end - BLOCK;                                                                   \
            }                                                                                      \
            else if (is_regular) {                                                                  \
                for (int k = 0; k < BLOCK; k++)                                                    \
                    if (mask[i + k])                                                               \
                        out[j++] = x[i + k];                                                       \
            }                                                                                      \
            else                                                                                   \
                for (int k = 0; k < BLOCK; k++) { /* without branches: eight fit */                \
                    out[j] = x[i + k];                                                             \
                    j += mask[i + k] != 0;                                                         \
                }                                                                                  \
        }                                                                                          \
        while (j < count && i < n) {                                                               \
            if (mask[i])                                                                           \
                out[j++] = x[i];                                                                   \
            if (++i % BLOCK == 0)                                                                  \
                i = next_true(mask, i, n);                                                         \
        }                                                                                          \
    }

OF_SIZES(TAKE_TRUE, take_true)

/* Write where the mask is true, and nowhere else, as other threads may write there: one value, or,
   with a step of 1, `many` values, one after the other. */
#define PUT_TRUE(name, type)                                                                       \
    static INLINED void name##_by(int step, type *x, const npy_bool *mask, npy_intp n,             \
                                  const type *values, npy_intp many)                               \
    {                                                                                              \
        const type *end = values + many; /* another thread may change the mask meanwhile */        \
        type one = *values;                                                                        \
        npy_intp i = next_true(mask, 0, n);                                                        \
        for (; i + BLOCK <= n && (!step || end - values >= BLOCK);                                 \
             i = next_true(mask, i + BLOCK, n)) {                                                  \
            npy_intp stop = end_of_true(mask, i, step && end - values < n - i ? i + (end - values) : n); \
            if (stop > i) {                                                                        \
                if (step)                                                                          \
                    memcpy(x + i, values, (stop - i) * sizeof *x);                                 \
                for (npy_intp k = i; k < stop && !step; k++)                                       \
                    x[k] = one;                                                                    \
                values += step * (stop - i);                                                       \
                i = stop - BLOCK;                                                                  \
                continue;                                                                          \
            }                                                                                      \
            for (int k = 0; k < BLOCK; k++)                                                        \
                if (mask[i + k]) {                                                                 \
                    x[i + k] = step ? *values : one;                                               \
                    values += step;                                                                \
                }                                                                                  \
        }                                                                                          \
        while (i < n && (!step || values < end)) {                                                 \
            if (mask[i]) {                                                                         \
                x[i] = step ? *values : one;                                                       \
                values += step;                                                                    \
            }                                                                                      \
            if (++i % BLOCK == 0)                                                                  \
                i = next_true(mask, i, n);                                                         \
        }                                                                                          \
    }                                                                                              \
    static void name(type *x, const npy_bool *mask, npy_intp n, const type *values, npy_intp many) \
    {                                                                                              \
        if (many)                                                                                  \
            name##_by(1, x, mask, n, values, many);                                                \
        else                                                                                       \
            name##_by(0, x, mask, n, values, 0);                                                   \
    }

OF_SIZES(PUT_TRUE, put_true)

/* `x[mask]` of one shape, new; NULL without an error: NumPy must do it. */
static PyObject *taken(PyArrayObject *x, PyArrayObject *mask)
{
    npy_intp n = PyArray_SIZE(mask);
    if (n < FEWEST)
        return NULL;
    const npy_bool *bools = PyArray_DATA(mask);
    npy_intp count = count_true(bools, n);
    PyObject *out = new_memory(PyArray_TYPE(x), 1, &count);
    if (!out)
        return NULL;
    void *from = PyArray_DATA(x), *to = PyArray_DATA((PyArrayObject *)out);
    BEGIN_LONG(n)
    BY_SIZE(PyArray_ITEMSIZE(x), take_true, from, bools, n, to, count)
    END_LONG
    return out;
}

/* The bytes of a number that an array of this type takes as it is; whether it is one. */
static int bytes_of_number(PyObject *x, int type, Number *number)
{
    int overflow = 0;
    if (PyBool_Check(x)) {
        *(npy_bool *)number = x == Py_True;
        return type == NPY_BOOL;
    }
    if (type == NPY_UBYTE && PyLong_CheckExact(x)) {
        long value = PyLong_AsLongAndOverflow(x, &overflow);
        *(npy_ubyte *)number = (npy_ubyte)value;
        return !overflow && value >= 0 && value <= 255;
    }
    if (type == NPY_FLOAT && PyFloat_CheckExact(x) && isinf((float)PyFloat_AS_DOUBLE(x)) &&
        !isinf(PyFloat_AS_DOUBLE(x)))
        return 0; /* NumPy warns of it */
    return is_number_of(x, type) && take_number(x, type, number);
}

/* `x[mask] = value` of one shape; whether that was done. */
static int put_true(PyArrayObject *x, PyArrayObject *mask, PyObject *value)
{
    PyArrayObject *given = (PyArrayObject *)value;
    Number number;
    const npy_bool *bools = PyArray_DATA(mask);
    npy_intp n = PyArray_SIZE(mask);
    if (n < FEWEST || mask == x || !may_be_written(x, mask))
        return 0;
    npy_intp many = is_plain_memory(value) && PyArray_NDIM(given) == 1 &&
                            PyArray_TYPE(given) == PyArray_TYPE(x) && may_be_written(x, given)
                        ? PyArray_SIZE(given)
                        : 0;
    if (many ? many != count_true(bools, n)
             : is_memory(value) || !bytes_of_number(value, PyArray_TYPE(x), &number))
        return 0;
    void *values = many ? PyArray_DATA(given) : &number, *to = PyArray_DATA(x);
    BEGIN_LONG(n)
    BY_SIZE(PyArray_ITEMSIZE(x), put_true, to, bools, n, values, many)
    END_LONG
    return 1;
}

/* -- where ------------------------------------------------------------------------------------- */

#define SELECT(name, type)                                                                         \
    FOR_WIDE static void name(const npy_bool *mask, const type *a, const type *b, type *out,       \
                              npy_intp n, int steps)                                               \
    {                                                                                              \
        type one = *a, other = *b;                                                                 \
        if (steps == 3)                                                                            \
            for (npy_intp i = 0; i < n; i++)                                                       \
                out[i] = mask[i] ? a[i] : b[i];                                                    \
        else if (steps == 1)                                                                       \
            for (npy_intp i = 0; i < n; i++)                                                       \
                out[i] = mask[i] ? a[i] : other;                                                   \
        else if (steps == 2)                                                                       \
            for (npy_intp i = 0; i < n; i++)                                                       \
                out[i] = mask[i] ? one : b[i];                                                     \
        else                                                                                       \
            for (npy_intp i = 0; i < n; i++)                                                       \
                out[i] = mask[i] ? one : other;                                                    \
    }

OF_SIZES(SELECT, select)

/* The type of a result that a number alone has; -1: it has none here. */
static int type_of_number(PyObject *x)
{
    if (PyFloat_CheckExact(x))
        return NPY_DOUBLE;
    return PyLong_CheckExact(x) ? WHOLE : PyBool_Check(x) ? NPY_BOOL : -1;
}

/* numpy.where(mask, a, b). */
static PyObject *where_kernel(PyObject *const *args, Py_ssize_t n, PyObject *names)
{
    Number numbers[2];
    void *at[2];
    int steps = 0, type = -1;
    if (n != 3 || names || !is_mask(args[0]))
        return NULL;
    PyArrayObject *mask = (PyArrayObject *)args[0];
    for (int i = 0; i < 2; i++) {
        PyObject *x = args[1 + i];
        if (!is_memory(x))
            continue;
        if (!is_plain_memory(x) || !PyArray_SAMESHAPE(mask, (PyArrayObject *)x) ||
            (type >= 0 && PyArray_TYPE((PyArrayObject *)x) != type))
            return NULL;
        type = PyArray_TYPE((PyArrayObject *)x);
        at[i] = PyArray_DATA((PyArrayObject *)x);
        steps |= 1 << i;
    }
    if (type < 0 && (type = type_of_number(args[1])) != type_of_number(args[2]))
        return NULL;
    for (int i = 0; i < 2; i++)
        if (!(steps >> i & 1)) {
            if (type < 0 || !bytes_of_number(args[1 + i], type, &numbers[i]))
                return NULL;
            at[i] = &numbers[i];
        }
    PyObject *out = PyArray_SIZE(mask) ? new_memory(type, PyArray_NDIM(mask), PyArray_DIMS(mask)) : NULL;
    if (!out)
        return NULL;
    const npy_bool *bools = PyArray_DATA(mask);
    void *to = PyArray_DATA((PyArrayObject *)out);
    BEGIN_LONG(PyArray_SIZE(mask))
    BY_SIZE(PyArray_ITEMSIZE((PyArrayObject *)out), select, bools, at[0], at[1], to, PyArray_SIZE(mask), steps)
    END_LONG
    return out;
}

/* -- sums of short rows, and of few columns ---------------------------------------------------- */

#define BY_WIDTH(width, function, x, out, rows, extra)                                             \
    switch (width) {                                                                               \
    case 2: function(x, out, rows, 2, extra); break;                                               \
    case 3: function(x, out, rows, 3, extra); break;                                               \
    case 4: function(x, out, rows, 4, extra); break;                                               \
    default: function(x, out, rows, width, extra);                                                 \
    }

/* NumPy adds up a row of less than eight from left to right, and longer ones by eight lanes; to a
   zero, which turns -0.0 into 0.0 where NumPy does that. */
#define ROW_SUMS(which, type)                                                                      \
    NOT_CONTRACTED static INLINED type row_sum_##which(const type *x, int width)                    \
    {                                                                                              \
        NO_CONTRACTION                                                                             \
        int j = 1;                                                                                 \
        type sum = x[0];                                                                           \
        if (width >= 8) {                                                                          \
            type r[8];                                                                             \
            memcpy(r, x, sizeof r);                                                                \
            for (j = 8; j + 8 <= width; j += 8)                                                    \
                for (int k = 0; k < 8; k++)                                                        \
                    r[k] += x[j + k];                                                              \
            sum = ((r[0] + r[1]) + (r[2] + r[3])) + ((r[4] + r[5]) + (r[6] + r[7]));               \
        }                                                                                          \
        for (; j < width; j++)                                                                     \
            sum += x[j];                                                                           \
        return sum;                                                                                \
    }                                                                                              \
    NOT_CONTRACTED static INLINED void all_row_sums_##which(const type *x, type *out,              \
                                                            npy_intp rows, int width, type zero)   \
    {                                                                                              \
        NO_CONTRACTION                                                                             \
        for (npy_intp i = 0; i < rows; i++)                                                        \
            out[i] = zero + row_sum_##which(x + i * width, width);                                 \
    }                                                                                              \
    NOT_CONTRACTED static void row_sums_##which(const type *x, type *out, npy_intp rows, int width, \
                                                type zero)                                         \
    {                                                                                              \
        BY_WIDTH(width, all_row_sums_##which, x, out, rows, zero)                                  \
    }

#define ROW_NORMS(which, type, root)                                                               \
    NOT_CONTRACTED static void row_norms_##which(const type *x, type *out, npy_intp rows,          \
                                                 int width, type zero)                             \
    {                                                                                              \
        NO_CONTRACTION                                                                             \
        type squares[ROW];                                                                         \
        for (npy_intp i = 0; i < rows; i++, x += width) {                                          \
            for (int j = 0; j < width; j++)                                                        \
                squares[j] = x[j] * x[j];                                                          \
            out[i] = root(zero + row_sum_##which(squares, width));                                 \
        }                                                                                          \
    }

ROW_SUMS(double, double)
ROW_SUMS(float, float)
ROW_SUMS(long, npy_ulong) /* wraps as NumPy's */
ROW_NORMS(double, double, sqrt)
ROW_NORMS(float, float, sqrtf)

#define COLUMN_SUMS(which, type)                                                                   \
    NOT_CONTRACTED static INLINED void all_column_sums_##which(const type *x, type *out,           \
                                                               npy_intp rows, int width, type zero) \
    {                                                                                              \
        NO_CONTRACTION                                                                             \
        type sums[SHORT_ROW];                                                                      \
        for (int j = 0; j < width; j++)                                                            \
            sums[j] = zero + x[j];                                                                 \
        for (npy_intp i = 1; i < rows; i++)                                                        \
            for (int j = 0; j < width; j++)                                                        \
                sums[j] += x[i * width + j];                                                       \
        memcpy(out, sums, width * sizeof *out);                                                    \
    }                                                                                              \
    NOT_CONTRACTED static void column_sums_##which(const type *x, type *out, npy_intp rows,        \
                                                   int width, type zero)                           \
    {                                                                                              \
        BY_WIDTH(width, all_column_sums_##which, x, out, rows, zero)                               \
    }

COLUMN_SUMS(double, double)
COLUMN_SUMS(float, float)
COLUMN_SUMS(long, npy_ulong)

/* A small integer of Python's. */
static int is_place(PyObject *x, npy_intp *place)
{
    int overflow = 0;
    *place = PyLong_CheckExact(x) ? PyLong_AsLongAndOverflow(x, &overflow) : NPY_MAX_INT32;
    return !overflow && *place < NPY_MAX_INT32 && *place > -NPY_MAX_INT32;
}

/* The axis of a reduction: 1: the last, 0: the first of two; -1: none of these. */
static int which_axis(PyArrayObject *x, PyObject *axis)
{
    npy_intp place;
    int ndim = PyArray_NDIM(x);
    if (ndim < 2 || !is_place(axis, &place))
        return -1;
    if (place == -1 || place == ndim - 1)
        return 1;
    return ndim == 2 && (place == 0 || place == -2) ? 0 : -1;
}

/* Whether the last axis of numbers is short, and there are many rows. */
static int has_short_rows(PyObject *x, int most)
{
    PyArrayObject *memory = (PyArrayObject *)x;
    npy_intp width = is_plain_memory(x) && PyArray_NDIM(memory) > 1
                         ? PyArray_DIM(memory, PyArray_NDIM(memory) - 1)
                         : 0; /* a single column is one long row to NumPy */
    return width > 1 && width <= most && PyArray_SIZE(memory) >= FEWEST;
}

/* A new array for a reduction along this axis. */
static PyObject *reduced_memory(PyArrayObject *x, int last, int keeps)
{
    npy_intp dims[NPY_MAXDIMS];
    int ndim = PyArray_NDIM(x), axis = last ? ndim - 1 : 0, n = 0;
    for (int i = 0; i < ndim; i++)
        if (i != axis)
            dims[n++] = PyArray_DIM(x, i);
        else if (keeps)
            dims[n++] = 1;
    return new_memory(PyArray_TYPE(x), n, dims);
}

/* What NumPy's sum of negative zeros is. */
static double numpys_zero(void)
{
    static double zero;
    static int is_known;
    if (!is_known) {
        npy_intp dims[2] = {1, 2};
        PyObject *pair = new_memory(NPY_DOUBLE, 2, dims);
        double *at = pair ? PyArray_DATA((PyArrayObject *)pair) : NULL;
        if (at)
            at[0] = at[1] = -0.0;
        PyObject *sum = pair ? PyArray_Sum((PyArrayObject *)pair, 1, NPY_NOTYPE, NULL) : NULL;
        if (sum && is_memory(sum)) {
            zero = *(double *)PyArray_DATA((PyArrayObject *)sum);
            is_known = 1;
        }
        Py_XDECREF(pair);
        Py_XDECREF(sum);
    }
    return zero;
}

enum { SUMS, MEANS, NORMS };

static void reduce_doubles(int kind, int last, const double *x, double *out, npy_intp rows, int width,
                           double zero)
{
    (kind == NORMS ? row_norms_double : last ? row_sums_double : column_sums_double)(
        x, out, rows, width, zero);
    npy_intp count = last ? width : rows, n = kind == MEANS ? (last ? rows : width) : 0;
    for (npy_intp i = 0; i < n; i++)
        out[i] /= (double)count;
}

static void reduce_floats(int kind, int last, const float *x, float *out, npy_intp rows, int width,
                           float zero)
{
    (kind == NORMS ? row_norms_float : last ? row_sums_float : column_sums_float)(
        x, out, rows, width, zero);
    npy_intp count = last ? width : rows, n = kind == MEANS ? (last ? rows : width) : 0;
    for (npy_intp i = 0; i < n; i++)
        out[i] = (float)((double)out[i] / (double)count);
}

/* numpy.add.reduce(x, axis, keepdims=keeps) of numbers whose sum has their dtype, new; or means, or
   norms. NULL: NumPy must do it, also where it warns; or an error. */
static PyObject *short_sums(int kind, PyObject *given, PyObject *axis, int keeps)
{
    PyArrayObject *x = (PyArrayObject *)given;
    if (!has_short_rows(given, ROW))
        return NULL;
    int last = which_axis(x, axis), type = PyArray_TYPE(x);
    int is_known = type == NPY_DOUBLE || type == NPY_FLOAT || (type == WHOLE && kind == SUMS);
    if (last < 0 || !is_known || (!last && (kind == NORMS || !has_short_rows(given, SHORT_ROW))))
        return NULL;
    double zero = numpys_zero();
    PyObject *out = PyErr_Occurred() ? NULL : reduced_memory(x, last, keeps);
    if (!out)
        return NULL;
    int width = (int)PyArray_DIM(x, PyArray_NDIM(x) - 1);
    npy_intp rows = PyArray_SIZE(x) / width;
    void *from = PyArray_DATA(x), *to = PyArray_DATA((PyArrayObject *)out);
    BEGIN_LONG(PyArray_SIZE(x))
    forget_flags();
    if (type == NPY_DOUBLE)
        reduce_doubles(kind, last, from, to, rows, width, zero);
    else if (type == NPY_FLOAT)
        reduce_floats(kind, last, from, to, rows, width, (float)zero);
    else
        (last ? row_sums_long : column_sums_long)(from, to, rows, width, 0);
    if (has_errors())
        kind = -1;
    forget_flags();
    END_LONG
    if (kind < 0)
        Py_CLEAR(out);
    return out;
}

/* The extremes of rows, and whether none depends on the order: zeros of both signs are equal. A NaN
   is the result wherever it is. */
#define ROW_EXTREMES(which, type, before)                                                          \
    static INLINED int all_##which(const type *x, type *out, npy_intp rows, int width, int sure)   \
    {                                                                                              \
        for (npy_intp i = 0; i < rows; i++, x += width) {                                          \
            type most = x[0];                                                                      \
            for (int j = 1; j < width; j++) {                                                      \
                sure &= !(x[j] == most && x[j] == 0) || !memcmp(&x[j], &most, sizeof most);        \
                most = x[j] before most || x[j] != x[j] ? x[j] : most;                             \
            }                                                                                      \
            out[i] = most;                                                                         \
        }                                                                                          \
        return sure;                                                                               \
    }                                                                                              \
    static int which(const type *x, type *out, npy_intp rows, int width)                           \
    {                                                                                              \
        int sure = 1;                                                                              \
        BY_WIDTH(width, sure = all_##which, x, out, rows, 1)                                       \
        return sure;                                                                               \
    }

ROW_EXTREMES(row_max_double, double, >)
ROW_EXTREMES(row_min_double, double, <)
ROW_EXTREMES(row_max_float, float, >)
ROW_EXTREMES(row_min_float, float, <)
ROW_EXTREMES(row_max_long, npy_long, >)
ROW_EXTREMES(row_min_long, npy_long, <)
ROW_EXTREMES(row_max_byte, npy_ubyte, >) /* also of bools: whether any is true */
ROW_EXTREMES(row_min_byte, npy_ubyte, <)

/* numpy.maximum.reduce(x, -1, keepdims=keeps), or the minimum; of bools also logical_or, logical_and.
   NULL: NumPy must do it, or an error. */
static PyObject *short_extremes(int is_max, int of_bools, PyObject *given, PyObject *axis, int keeps)
{
    PyArrayObject *x = (PyArrayObject *)given;
    if (!has_short_rows(given, SHORT_ROW) || which_axis(x, axis) != 1)
        return NULL;
    int type = PyArray_TYPE(x), sure;
    if (of_bools ? type != NPY_BOOL
                 : type != NPY_DOUBLE && type != NPY_FLOAT && type != WHOLE && type != NPY_UBYTE)
        return NULL;
    PyObject *out = reduced_memory(x, 1, keeps);
    if (!out)
        return NULL;
    int width = (int)PyArray_DIM(x, PyArray_NDIM(x) - 1);
    npy_intp rows = PyArray_SIZE(x) / width;
    void *from = PyArray_DATA(x), *to = PyArray_DATA((PyArrayObject *)out);
    BEGIN_LONG(PyArray_SIZE(x))
    forget_flags();
    if (type == NPY_DOUBLE)
        sure = (is_max ? row_max_double : row_min_double)(from, to, rows, width);
    else if (type == NPY_FLOAT)
        sure = (is_max ? row_max_float : row_min_float)(from, to, rows, width);
    else if (type == WHOLE)
        sure = (is_max ? row_max_long : row_min_long)(from, to, rows, width);
    else
        sure = (is_max ? row_max_byte : row_min_byte)(from, to, rows, width);
    forget_flags();
    END_LONG
    if (!sure)
        Py_CLEAR(out);
    return out;
}

/* NumPy's ufuncs whose reductions have kernels. */
enum { ADD, MAXIMUM, MINIMUM, LOGICAL_OR, LOGICAL_AND, REDUCED };
static PyObject *reduced[REDUCED];

/* numpy.add.reduce(mask, None), new. */
static PyObject *number_true(PyArrayObject *mask)
{
    PyObject *number = PyArrayScalar_New(Long);
    npy_intp n = PyArray_SIZE(mask);
    BEGIN_LONG(n)
    npy_intp count = count_true(PyArray_DATA(mask), n);
    END_LONG
    if (number)
        PyArrayScalar_ASSIGN(number, Long, (npy_long)count);
    return number;
}

/* A reduction by NumPy's function, if there is a kernel for it, new. */
static PyObject *reduced_by_kernel(PyObject *function, PyObject *x, PyObject *axis, PyObject *dtype,
                                   PyObject *keeps)
{
    int which = ADD;
    if (dtype == Py_None && axis == Py_None && keeps == Py_False && PyCFunction_Check(function) &&
        PyCFunction_GET_SELF(function) == reduced[ADD] && (int)WHOLE != NPY_NOTYPE && is_mask(x))
        return number_true((PyArrayObject *)x);
    if (dtype != Py_None || axis == Py_None || !PyCFunction_Check(function) || !is_memory(x))
        return NULL;
    while (which < REDUCED && PyCFunction_GET_SELF(function) != reduced[which])
        which++;
    if (which == ADD)
        return short_sums(SUMS, x, axis, keeps == Py_True);
    return which == REDUCED ? NULL
                            : short_extremes(which == MAXIMUM || which == LOGICAL_OR,
                                             which >= LOGICAL_OR, x, axis, keeps == Py_True);
}

/* -- cumulative sums --------------------------------------------------------------------------- */

#define RUNNING_SUMS(name, type)                                                                   \
    NOT_CONTRACTED static void name(const type *x, type *out, Lanes w)                             \
    {                                                                                              \
        NO_CONTRACTION                                                                             \
        for (npy_intp k = 0; k < w.outer; k++) {                                                   \
            if (w.inner == 1) {                                                                    \
                type sum = *out++ = *x++;                                                          \
                for (npy_intp i = 1; i < w.count; i++)                                             \
                    *out++ = sum = sum + *x++;                                                     \
                continue;                                                                          \
            }                                                                                      \
            memcpy(out, x, w.inner * sizeof *out);                                                 \
            for (npy_intp i = w.inner; i < w.count * w.inner; i++)                                 \
                out[i] = out[i - w.inner] + x[i];                                                  \
            out += w.count * w.inner;                                                              \
            x += w.count * w.inner;                                                                \
        }                                                                                          \
    }

RUNNING_SUMS(running_sums_double, double)
RUNNING_SUMS(running_sums_float, float)
RUNNING_SUMS(running_sums_long, npy_ulong)

/* The axis that a call of a method names, if it names nothing else; NULL: it does. Borrowed. */
static PyObject *only_axis(PyObject *const *args, Py_ssize_t n, PyObject *names)
{
    Py_ssize_t named = names ? PyTuple_GET_SIZE(names) : 0;
    if (n + named > 2 || n < 1)
        return NULL;
    if (named && PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(names, 0), "axis"))
        return NULL;
    return n + named == 2 ? args[1] : Py_None;
}

/* x.cumsum(axis). */
static PyObject *cumsum_kernel(PyObject *const *args, Py_ssize_t n, PyObject *names)
{
    PyObject *axis = only_axis(args, n, names);
    npy_intp place = 0;
    if (!axis || !is_plain_memory(args[0]) || PyArray_SIZE((PyArrayObject *)args[0]) < FEWEST)
        return NULL;
    PyArrayObject *x = (PyArrayObject *)args[0];
    int type = PyArray_TYPE(x), ndim = PyArray_NDIM(x);
    if (axis != Py_None && !is_place(axis, &place))
        return NULL;
    place += place < 0 ? ndim : 0;
    if (place < 0 || place >= ndim || !(type == NPY_DOUBLE || type == NPY_FLOAT || type == WHOLE))
        return NULL;
    npy_intp size = PyArray_SIZE(x);
    Lanes lanes = {1, axis == Py_None ? size : PyArray_DIM(x, place), 1, 1};
    for (int i = 0; axis != Py_None && i < ndim; i++)
        *(i < place ? &lanes.outer : &lanes.inner) *= i == place ? 1 : PyArray_DIM(x, i);
    PyObject *out = axis == Py_None ? new_memory(type, 1, &size)
                                    : new_memory(type, ndim, PyArray_DIMS(x));
    if (!out)
        return NULL;
    void *from = PyArray_DATA(x), *to = PyArray_DATA((PyArrayObject *)out);
    BEGIN_LONG(size)
    forget_flags();
    if (type == NPY_DOUBLE)
        running_sums_double(from, to, lanes);
    else if (type == NPY_FLOAT)
        running_sums_float(from, to, lanes);
    else
        running_sums_long(from, to, lanes);
    int errors = has_errors();
    forget_flags();
    END_LONG
    if (errors) /* NumPy warns of it */
        Py_CLEAR(out);
    return out;
}

/* -- NumPy's functions that have kernels ------------------------------------------------------- */

/* x.mean(axis). */
static PyObject *mean_kernel(PyObject *const *args, Py_ssize_t n, PyObject *names)
{
    PyObject *axis = only_axis(args, n, names);
    return axis ? short_sums(MEANS, args[0], axis, 0) : NULL;
}

/* numpy.linalg.norm(x, axis=axis). */
static PyObject *norm_kernel(PyObject *const *args, Py_ssize_t n, PyObject *names)
{
    PyObject *axis = n == 1 && names ? only_axis(args, n, names) : NULL;
    return axis ? short_sums(NORMS, args[0], axis, 0) : NULL;
}

static PyObject *(*const KERNELS[])(PyObject *const *, Py_ssize_t, PyObject *) = {
    where_kernel, cumsum_kernel, mean_kernel, norm_kernel};
enum { WITH_KERNELS = sizeof KERNELS / sizeof KERNELS[0] };
static PyObject *with_kernels[WITH_KERNELS]; /* NumPy's functions */

/* NumPy's result, new; NULL without an error: NumPy must make it. */
static PyObject *by_kernel(PyObject *function, PyObject *const *args, Py_ssize_t n, PyObject *names)
{
    for (int i = 0; i < WITH_KERNELS; i++)
        if (function == with_kernels[i])
            return KERNELS[i](args, n, names);
    return NULL;
}

/* take_kernels(ufuncs, functions): NumPy's, in the orders above; functions as the fronts call them. */
static PyObject *take_kernels(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *ufuncs, *functions;
    if (!PyArg_ParseTuple(args, "O!O!", &PyTuple_Type, &ufuncs, &PyTuple_Type, &functions))
        return NULL;
    if (PyTuple_GET_SIZE(ufuncs) != REDUCED || PyTuple_GET_SIZE(functions) != WITH_KERNELS) {
        PyErr_SetString(PyExc_TypeError, "take_kernels: one for each kernel");
        return NULL;
    }
    for (int i = 0; i < REDUCED; i++)
        Py_XSETREF(reduced[i], Py_NewRef(PyTuple_GET_ITEM(ufuncs, i)));
    for (int i = 0; i < WITH_KERNELS; i++)
        Py_XSETREF(with_kernels[i], Py_NewRef(PyTuple_GET_ITEM(functions, i)));
    Py_RETURN_NONE;
}
