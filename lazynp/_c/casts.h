/* Loops on operands of two dtypes, one of which NumPy casts to float64 or complex128. See loops.h.

   NumPy copies such operands through a buffer by its iterator, which takes longer than the loop. Here
   a block at a time is cast, where the processor's cache has it. */

#pragma once

#include "loops.h"

enum { CAST_BLOCK = 1024 }; /* elements */

/* The dtypes that NumPy casts to float64 safely, where the other operand asks for that. */
#define CAST_TYPES(X)                                                                              \
    X(NPY_BOOL, npy_bool) X(NPY_BYTE, npy_byte) X(NPY_UBYTE, npy_ubyte) X(NPY_SHORT, npy_short)    \
    X(NPY_USHORT, npy_ushort) X(NPY_INT, npy_int) X(NPY_UINT, npy_uint) X(NPY_LONG, npy_long)      \
    X(NPY_ULONG, npy_ulong) X(NPY_FLOAT, npy_float)

/* Whether NumPy casts this type safely to another, float64 or complex128. */
static inline int is_cast_type(int type, int to)
{
    switch (type) {
    case NPY_DOUBLE: return to == NPY_CDOUBLE;
#define X(number, type) case number:
        CAST_TYPES(X) return to == NPY_DOUBLE || to == NPY_CDOUBLE;
#undef X
    default: return 0;
    }
}

/* The type to which NumPy casts operands known by these; -1: this file does not know. */
static int cast_type(PyObject *first, PyObject *second)
{
    PyObject *python = is_known_python(first) ? first : is_known_python(second) ? second : NULL;
    PyObject *array = python == first ? second : first;
    if (!array || python == (PyObject *)&PyLong_Type)
        return -1;
    int type = type_of(array, NULL), other = python == (PyObject *)&PyFloat_Type ? NPY_DOUBLE
                                             : python                            ? NPY_CDOUBLE
                                                                                 : type_of(second, NULL);
    if (python && type == NPY_FLOAT)
        return -1; /* the number becomes single */
    return is_cast_type(other, type) ? type : is_cast_type(type, other) ? other : -1;
}

/* All that such a loop depends on, of an operand known by this: see `kind_of`. */
static inline int kind_to_cast(PyObject *known)
{
    return is_known_python(known) ? kind_of_python(known) : type_of(known, NULL) + 1;
}

/* Cast `n` elements to doubles, `width` of them apart; what is between them is 0. */
static inline void cast_apart(int type, const char *from, double *to, npy_intp n, int width)
{
    switch (type) {
#define X(number, type)                                                                            \
    case number:                                                                                   \
        for (npy_intp i = 0; i < n; i++)                                                           \
            to[width * i] = (double)((const type *)from)[i];                                       \
        break;
        CAST_TYPES(X)
        X(NPY_DOUBLE, npy_double)
#undef X
    }
    for (npy_intp i = 0; width == 2 && i < n; i++)
        to[2 * i + 1] = 0.0;
}

static void cast_block(int type, const char *from, int target, double *to, npy_intp n)
{
    if (target == NPY_CDOUBLE)
        cast_apart(type, from, to, n, 2);
    else
        cast_apart(type, from, to, n, 1);
}

/* An operand of such a loop. */
typedef struct {
    const char *at;
    npy_intp step; /* bytes; 0: a number */
    int type;
    Number number; /* of the type that the loop takes */
} Cast;

/* Take an operand for a loop of this type; whether it is one that these loops take. */
static int take_cast(PyObject *x, int target, Cast *it, PyArrayObject **like)
{
    PyArrayObject *memory = (PyArrayObject *)x;
    if (!is_memory(x)) {
        it->type = target;
        if (is_number_of(x, target))
            return take_number(x, target, &it->number);
        if (target == NPY_DOUBLE || !is_number_of(x, NPY_DOUBLE))
            return 0;
        double pair[2] = {PyFloat_AS_DOUBLE(x), 0.0}; /* float64s are floats */
        memcpy(&it->number.pair, pair, sizeof pair);
        return 1;
    }
    it->type = PyArray_TYPE(memory);
    it->at = PyArray_BYTES(memory);
    it->step = PyArray_ITEMSIZE(memory);
    if (!PyArray_ISCARRAY_RO(memory) || !PyArray_NDIM(memory) || !PyArray_SIZE(memory) ||
        !(it->type == target || is_cast_type(it->type, target)) ||
        (*like && !PyArray_SAMESHAPE(*like, memory)))
        return 0;
    *like = memory;
    return 1;
}

/* NumPy's result for two operands, of which it casts one or both, new. `into`: as in `by_loop`. NULL
   without an error: the ufunc must do it. */
static PyArrayObject *by_cast_loop(const Loop *found, PyObject *const *values, PyArrayObject *into)
{
    const Loop it = *found; /* see `run_loop` */
    Cast them[2] = {{NULL}};
    PyArrayObject *like = NULL;
    if (!take_cast(values[0], it.type, &them[0], &like) ||
        !take_cast(values[1], it.type, &them[1], &like) || !like)
        return NULL;
    npy_intp n = PyArray_SIZE(like), width = it.type == NPY_CDOUBLE ? 2 : 1;
    if (n > (it.rounded ? LOOPED : CAST_BLOCK)) /* one block is one loop, as in NumPy */
        return NULL;
    PyArrayObject *out = memory_of_result(it.rounded ? into : NULL, &it, PyArray_NDIM(like),
                                          PyArray_DIMS(like), 1);
    if (!out)
        return NULL;
    char *to = PyArray_BYTES(out);
    npy_intp size = PyArray_ITEMSIZE(out);
    BEGIN_LONG(n)
    before_loop(&it);
    for (npy_intp i = 0; i < n; i += CAST_BLOCK) {
        double blocks[2][2 * CAST_BLOCK];
        npy_intp count = n - i < CAST_BLOCK ? n - i : CAST_BLOCK, item = width * sizeof(double);
        npy_intp strides[OPERANDS] = {item, item, size};
        char *at[OPERANDS] = {NULL, NULL, to + i * size};
        for (int k = 0; k < 2; k++) {
            at[k] = !them[k].step ? (char *)&them[k].number : (char *)them[k].at + i * them[k].step;
            strides[k] = them[k].step ? strides[k] : 0;
            if (them[k].type != it.type) {
                cast_block(them[k].type, at[k], it.type, blocks[k], count);
                at[k] = (char *)blocks[k];
            }
        }
        it.loop(at, &count, strides, it.data);
    }
    END_LONG
    if (after_loop(&it) < 0)
        Py_CLEAR(out);
    return out;
}
