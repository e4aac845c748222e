/* Loops on operands of two dtypes, one of which NumPy casts to float64. See loops.h.

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

static inline int is_cast_type(int type)
{
    switch (type) {
#define X(number, type) case number:
        CAST_TYPES(X) return 1;
#undef X
    default: return 0;
    }
}

/* The type to which NumPy casts operands known by these; -1: this file does not know. */
static int cast_type(PyObject *first, PyObject *second)
{
    int is_float = second == (PyObject *)&PyFloat_Type || first == (PyObject *)&PyFloat_Type;
    PyObject *array = first == (PyObject *)&PyFloat_Type ? second : first;
    if (!array)
        return -1;
    int type = type_of(array, NULL), other = is_float ? NPY_DOUBLE : type_of(second, NULL);
    if (is_float && type == NPY_FLOAT)
        return -1; /* the number is a float32 */
    if ((type == NPY_DOUBLE && is_cast_type(other)) || (other == NPY_DOUBLE && is_cast_type(type)))
        return NPY_DOUBLE;
    return -1;
}

/* All that such a loop depends on, of an operand known by this: see `kind_of`. */
static inline int kind_to_cast(PyObject *known)
{
    return known == (PyObject *)&PyFloat_Type ? OF_FLOAT : type_of(known, NULL) + 1;
}

static void cast_block(int type, const char *from, double *to, npy_intp n)
{
    switch (type) {
#define X(number, type)                                                                            \
    case number:                                                                                   \
        for (npy_intp i = 0; i < n; i++)                                                           \
            to[i] = (double)((const type *)from)[i];                                               \
        break;
        CAST_TYPES(X)
#undef X
    }
}

/* An operand of such a loop. */
typedef struct {
    const char *at;
    npy_intp step; /* bytes; 0: a number */
    int type;
    double number;
} Cast;

/* Take an operand; whether it is one that these loops take. */
static int take_cast(PyObject *x, Cast *it, PyArrayObject **like)
{
    Number number;
    PyArrayObject *memory = (PyArrayObject *)x;
    if (!is_memory(x)) {
        if (!is_number_of(x, NPY_DOUBLE) || !take_number(x, NPY_DOUBLE, &number))
            return 0;
        *it = (Cast){.type = NPY_DOUBLE, .number = number.real};
        return 1;
    }
    it->type = PyArray_TYPE(memory);
    it->at = PyArray_BYTES(memory);
    it->step = PyArray_ITEMSIZE(memory);
    if (!PyArray_ISCARRAY_RO(memory) || !PyArray_NDIM(memory) || !PyArray_SIZE(memory) ||
        !(it->type == NPY_DOUBLE || is_cast_type(it->type)) ||
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
    if (!it.rounded || !take_cast(values[0], &them[0], &like) || !take_cast(values[1], &them[1], &like) ||
        !like || PyArray_SIZE(like) > LOOPED)
        return NULL;
    npy_intp n = PyArray_SIZE(like);
    PyArrayObject *out = memory_of_result(into, &it, PyArray_NDIM(like), PyArray_DIMS(like), 1);
    if (!out)
        return NULL;
    char *to = PyArray_BYTES(out);
    npy_intp size = PyArray_ITEMSIZE(out);
    BEGIN_LONG(n)
    before_loop(&it);
    for (npy_intp i = 0; i < n; i += CAST_BLOCK) {
        double blocks[2][CAST_BLOCK];
        npy_intp count = n - i < CAST_BLOCK ? n - i : CAST_BLOCK;
        npy_intp strides[OPERANDS] = {sizeof(double), sizeof(double), size};
        char *at[OPERANDS] = {NULL, NULL, to + i * size};
        for (int k = 0; k < 2; k++) {
            at[k] = !them[k].step ? (char *)&them[k].number : (char *)them[k].at + i * them[k].step;
            strides[k] = them[k].step ? strides[k] : 0;
            if (them[k].type != NPY_DOUBLE) {
                cast_block(them[k].type, at[k], blocks[k], count);
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
