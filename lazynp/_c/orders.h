/* The stable order of the elements of rows, by their bits: for `primitives/sorting.py`. See core.h.

   NumPy's stable argsort merges, and takes two to ten times as long as its other one. Here an element
   becomes an integer, its key, whose order is the element's. Numbers that hold a key in their high bits
   and its place in the low ones are sorted by NumPy's vectors, in a third of the time of its argsort. If a
   key does not fit, what has lost bits is put in order afterwards. */

#pragma once

#include "core.h"

typedef struct {
    uint64_t key;
    npy_intp place;
} Placed;

enum {
    DIGIT = 11,       /* bits */
    LONG_ROW = 1024,  /* elements, which make up for the digits to count */
    SHORT_RUN = 32    /* elements that are sorted by insertion */
};

/* Integers: their order is that of the bits, with the sign's turned. */
#define KEYS_OF_INTEGERS(name, type, sign)                                                         \
    static void name(const type *x, npy_intp n, Placed *out)                                       \
    {                                                                                              \
        for (npy_intp i = 0; i < n; i++)                                                           \
            out[i] = (Placed){(uint64_t)(int64_t)x[i] ^ (sign), i};                                \
    }

/* Floats: those below zero the other way round. Zeros are equal, and so are NaNs, which come last. */
#define KEYS_OF_FLOATS(name, type, word)                                                           \
    static void name(const type *x, npy_intp n, Placed *out)                                       \
    {                                                                                              \
        const word top = (word)1 << (8 * sizeof(word) - 1);                                        \
        for (npy_intp i = 0; i < n; i++) {                                                         \
            type value = x[i] == 0 ? 0 : x[i];                                                     \
            word bits;                                                                             \
            memcpy(&bits, &value, sizeof bits);                                                    \
            bits = bits & top ? ~bits : bits | top;                                                \
            out[i] = (Placed){value != value ? (word)-1 : bits, i};                                \
        }                                                                                          \
    }

static const uint64_t SIGN = (uint64_t)1 << 63;
KEYS_OF_INTEGERS(keys_of_int32, int32_t, SIGN)
KEYS_OF_INTEGERS(keys_of_int64, int64_t, SIGN)
KEYS_OF_INTEGERS(keys_of_uint32, uint32_t, 0)
KEYS_OF_INTEGERS(keys_of_uint64, uint64_t, 0)
KEYS_OF_FLOATS(keys_of_float, float, uint32_t)
KEYS_OF_FLOATS(keys_of_double, double, uint64_t)

static inline int has_keys(int type)
{
    return type == NPY_FLOAT || type == NPY_DOUBLE || type == NPY_INT32 || type == NPY_INT64 ||
           type == NPY_UINT32 || type == NPY_UINT64;
}

static void keys_of(int type, const void *x, npy_intp n, Placed *out)
{
    switch (type) {
    case NPY_FLOAT: keys_of_float(x, n, out); break;
    case NPY_DOUBLE: keys_of_double(x, n, out); break;
    case NPY_INT32: keys_of_int32(x, n, out); break;
    case NPY_INT64: keys_of_int64(x, n, out); break;
    case NPY_UINT32: keys_of_uint32(x, n, out); break;
    default: keys_of_uint64(x, n, out);
    }
}

/* Sort `n` elements, with as many of scratch. Returns where the result is. */
static Placed *sort_by_digits(Placed *x, npy_intp n, Placed *other, uint64_t least, uint64_t most)
{
    for (int shift = 0; shift < 64 && (most - least) >> shift; shift += DIGIT) {
        npy_intp starts[1 << DIGIT] = {0}, start = 0;
        for (npy_intp i = 0; i < n; i++)
            starts[(x[i].key - least) >> shift & ((1 << DIGIT) - 1)]++;
        if (starts[(x[0].key - least) >> shift & ((1 << DIGIT) - 1)] == n)
            continue;
        for (int digit = 0; digit < 1 << DIGIT; digit++) {
            npy_intp count = starts[digit];
            starts[digit] = start;
            start += count;
        }
        for (npy_intp i = 0; i < n; i++)
            other[starts[(x[i].key - least) >> shift & ((1 << DIGIT) - 1)]++] = x[i];
        Placed *swap = x;
        x = other, other = swap;
    }
    return x;
}

/* The order of integers that lie close together, by counting them: whether they do. Elements from the
   beginning and from the end take turns, as one that equals the last one waits for its counter. */
#define ORDER_BY_COUNTS(name, type, wide)                                                          \
    static int name(const type *x, npy_intp n, npy_uint64 *out)                                    \
    {                                                                                              \
        type least = x[0], most = x[0];                                                            \
        for (npy_intp i = 1; i < n; i++) {                                                         \
            least = x[i] < least ? x[i] : least;                                                   \
            most = x[i] > most ? x[i] : most;                                                      \
        }                                                                                          \
        if (((wide)most - (wide)least) >> DIGIT)                                                   \
            return 0;                                                                              \
        npy_intp starts[1 << DIGIT], ends[1 << DIGIT], start = 0, half = n / 2;                    \
        npy_intp digits = (npy_intp)((wide)most - (wide)least) + 1;                                \
        memset(starts, 0, digits * sizeof *starts);                                                \
        memset(ends, 0, digits * sizeof *ends);                                                    \
        for (npy_intp i = 0; i < half; i++) {                                                      \
            starts[(wide)x[i] - (wide)least]++;                                                    \
            ends[(wide)x[n - 1 - i] - (wide)least]++;                                              \
        }                                                                                          \
        if (n & 1)                                                                                 \
            starts[(wide)x[half] - (wide)least]++;                                                 \
        for (npy_intp digit = 0; digit < digits; digit++) {                                        \
            npy_intp count = starts[digit] + ends[digit];                                          \
            starts[digit] = start;                                                                 \
            start += count;                                                                        \
            ends[digit] = start;                                                                   \
        }                                                                                          \
        for (npy_intp i = 0; i < half; i++) {                                                      \
            out[starts[(wide)x[i] - (wide)least]++] = (npy_uint64)i;                               \
            out[--ends[(wide)x[n - 1 - i] - (wide)least]] = (npy_uint64)(n - 1 - i);               \
        }                                                                                          \
        if (n & 1)                                                                                 \
            out[starts[(wide)x[half] - (wide)least]] = (npy_uint64)half;                           \
        return 1;                                                                                  \
    }

ORDER_BY_COUNTS(counted_int32, int32_t, uint32_t)
ORDER_BY_COUNTS(counted_int64, int64_t, uint64_t)
ORDER_BY_COUNTS(counted_uint32, uint32_t, uint32_t)
ORDER_BY_COUNTS(counted_uint64, uint64_t, uint64_t)

static int order_by_counts(int type, const void *x, npy_intp n, npy_uint64 *out)
{
    if (n <= LONG_ROW)
        return 0;
    switch (type) {
    case NPY_INT32: return counted_int32(x, n, out);
    case NPY_INT64: return counted_int64(x, n, out);
    case NPY_UINT32: return counted_uint32(x, n, out);
    case NPY_UINT64: return counted_uint64(x, n, out);
    default: return 0;
    }
}

/* How rows are sorted; one alone by either. */
typedef enum { BY_DIGITS, BY_VECTORS, BY_EITHER } By;

/* A row of keys: its order if that is quickly found, else the numbers to sort. Returns how many bits
   of the keys these have lost; -1: the order was found. */
static int prepare_row(Placed *x, npy_intp n, Placed *other, int bits, By by, npy_uint64 *out)
{
    uint64_t least = x[0].key, most = x[0].key;
    int falls = 0, above = 0; /* whether an element is smaller than the one before */
    for (npy_intp i = 1; i < n; i++) {
        falls |= x[i].key < x[i - 1].key;
        least = x[i].key < least ? x[i].key : least;
        most = x[i].key > most ? x[i].key : most;
    }
    int one_digit = n > LONG_ROW && !((most - least) >> DIGIT);
    if (!falls || by == BY_DIGITS || (by == BY_EITHER && one_digit)) {
        const Placed *sorted = falls ? sort_by_digits(x, n, other, least, most) : x;
        for (npy_intp i = 0; i < n; i++)
            out[i] = (npy_uint64)sorted[i].place;
        return -1;
    }
    while (above < 63 && (most - least) >> (above + 1))
        above++;
    int lost = above + 1 + bits > 64 ? above + 1 + bits - 64 : 0;
    for (npy_intp i = 0; i < n; i++)
        out[i] = (x[i].key - least) >> lost << bits | (npy_uint64)i;
    return lost;
}

/* Put the places from `begin` to `end` in order, whose keys were equal but for lost bits. */
static void repair_run(const Placed *x, npy_uint64 *out, npy_intp begin, npy_intp end, Placed *other)
{
    npy_intp n = end - begin;
    if (n <= SHORT_RUN) {
        for (npy_intp i = begin + 1; i < end; i++) {
            npy_uint64 place = out[i];
            npy_intp to = i;
            for (; to > begin && x[out[to - 1]].key > x[place].key; to--)
                out[to] = out[to - 1];
            out[to] = place;
        }
        return;
    }
    uint64_t least = x[out[begin]].key, most = least;
    for (npy_intp i = 0; i < n; i++) {
        other[i] = x[out[begin + i]];
        least = other[i].key < least ? other[i].key : least;
        most = other[i].key > most ? other[i].key : most;
    }
    Placed *sorted = sort_by_digits(other, n, other + n, least, most);
    for (npy_intp i = 0; i < n; i++)
        out[begin + i] = (npy_uint64)sorted[i].place;
}

/* From sorted numbers to places, in place. */
static void finish_row(const Placed *x, npy_intp n, int bits, int lost, npy_uint64 *out, Placed *other)
{
    const npy_uint64 mask = ((npy_uint64)1 << bits) - 1;
    npy_intp begin = 0;
    npy_uint64 before = out[0] >> bits;
    for (npy_intp i = 0; i < n; i++) {
        npy_uint64 high = out[i] >> bits;
        out[i] &= mask;
        if (lost && high != before) {
            if (i > begin + 1)
                repair_run(x, out, begin, i, other);
            begin = i;
            before = high;
        }
    }
    if (lost && n > begin + 1)
        repair_run(x, out, begin, n, other);
}

/* stable_order(x, wide): the stable order of each row of an array in C order. None for other arrays.
   wide: NumPy sorts integers by vectors. */
static PyObject *stable_order(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyArrayObject *x;
    int wide, bits = 0, sorts = 0;
    if (!PyArg_ParseTuple(args, "O!p", &PyArray_Type, &x, &wide))
        return NULL;
    int ndim = PyArray_NDIM(x), type = PyArray_TYPE(x);
    if (!ndim || !PyArray_ISCARRAY_RO(x) || !PyArray_SIZE(x) || !has_keys(type))
        Py_RETURN_NONE;
    npy_intp n = PyArray_DIM(x, ndim - 1), rows = PyArray_SIZE(x) / n;
    while ((n - 1) >> bits)
        bits++;
    Placed *keys = PyMem_RawMalloc((PyArray_SIZE(x) + 2 * n) * sizeof *keys);
    signed char *lost = PyMem_RawMalloc(rows);
    By by = !wide ? BY_DIGITS : rows > 1 ? BY_VECTORS : BY_EITHER;
    PyObject *order = NULL, *out = NULL;
    if (!keys || !lost)
        PyErr_NoMemory();
    else if ((order = PyArray_SimpleNew(ndim, PyArray_DIMS(x), NPY_INTP)))
        out = PyArray_View((PyArrayObject *)order, PyArray_DescrFromType(NPY_UINT64), NULL);
    if (out) {
        const char *from = PyArray_BYTES(x);
        npy_uint64 *to = PyArray_DATA((PyArrayObject *)out);
        Placed *other = keys + PyArray_SIZE(x);
        NPY_BEGIN_ALLOW_THREADS
        npy_intp counted = 0;
        while (counted < rows && order_by_counts(type, from + counted * n * PyArray_ITEMSIZE(x), n,
                                                 to + counted * n))
            lost[counted++] = -1;
        for (npy_intp row = counted == rows ? rows : 0; row < rows; row++) {
            const char *first = from + row * n * PyArray_ITEMSIZE(x);
            keys_of(type, first, n, keys + row * n);
            lost[row] = (signed char)prepare_row(keys + row * n, n, other, bits, by, to + row * n);
            sorts |= lost[row] >= 0;
        }
        NPY_END_ALLOW_THREADS
        if (sorts && PyArray_Sort((PyArrayObject *)out, ndim - 1, NPY_QUICKSORT) < 0)
            Py_CLEAR(order);
        NPY_BEGIN_ALLOW_THREADS
        for (npy_intp row = 0; order && row < rows; row++)
            if (lost[row] >= 0)
                finish_row(keys + row * n, n, bits, lost[row], to + row * n, other);
        NPY_END_ALLOW_THREADS
    }
    PyMem_RawFree(keys);
    PyMem_RawFree(lost);
    if (!out)
        Py_CLEAR(order);
    Py_XDECREF(out);
    return order;
}
