/* Loops of primitives' reference rules that NumPy lacks, or runs slowly. */

#pragma once

#include "core.h"

/* -- linear recurrences ------------------------------------------------------------------------

   out[i] = factors[i] * out[i - 1] + out[i] along one axis, in place: `primitives/_cumulative.py`.
   A loop in Python takes a microsecond for each place. Each product is rounded before it is added,
   as NumPy would do it, whatever the compiler. What it adds up are tangents: zero times infinity is
   zero. */

/* The axes before the one, its own, and those behind it; `step` is -1 for backwards. */
typedef struct {
    npy_intp outer, count, inner, step;
} Lanes;

/* Contraction would add the product unrounded. clang obeys the pragma, gcc only the attribute. */
#if defined(__clang__)
#define NO_CONTRACTION _Pragma("STDC FP_CONTRACT OFF")
#define NOT_CONTRACTED
#elif defined(__GNUC__)
#define NO_CONTRACTION
#define NOT_CONTRACTED __attribute__((optimize("fp-contract=off")))
#else
#define NO_CONTRACTION
#define NOT_CONTRACTED
#endif

#define RECURRENCE(name, type)                                                                     \
    NOT_CONTRACTED static void name(const type *factors, type *out, Lanes w)                       \
    {                                                                                              \
        NO_CONTRACTION                                                                             \
        npy_intp first = w.step > 0 ? 0 : w.count - 1, row = w.inner * w.step;                     \
        for (npy_intp k = 0; k < w.outer; k++) {                                                   \
            npy_intp at = (k * w.count + first) * w.inner;                                         \
            const type *f = factors + at;                                                          \
            type *y = out + at;                                                                    \
            if (w.inner == 1) {                                                                    \
                type last = *y;                                                                    \
                for (npy_intp i = 1; i < w.count; i++) {                                           \
                    f += row;                                                                      \
                    y += row;                                                                      \
                    type product = *f * last;                                                      \
                    if (product != product && (*f == 0 || last == 0))                              \
                        product = 0;                                                               \
                    *y = last = product + *y;                                                      \
                }                                                                                  \
                continue;                                                                          \
            }                                                                                      \
            for (npy_intp i = 1; i < w.count; i++) {                                               \
                f += row;                                                                          \
                y += row;                                                                          \
                for (npy_intp j = 0; j < w.inner; j++) {                                           \
                    type product = f[j] * y[j - row];                                              \
                    int lost = (product != product) & ((f[j] == 0) | (y[j - row] == 0));           \
                    product = lost ? 0 : product;                                                  \
                    y[j] = product + y[j];                                                         \
                }                                                                                  \
            }                                                                                      \
        }                                                                                          \
    }

#define COMPLEX_RECURRENCE(name, type)                                                             \
    NOT_CONTRACTED static void name(const type *factors, type *out, Lanes w)                       \
    {                                                                                              \
        NO_CONTRACTION                                                                             \
        npy_intp first = w.step > 0 ? 0 : w.count - 1, row = 2 * w.inner * w.step;                 \
        for (npy_intp k = 0; k < w.outer; k++) {                                                   \
            npy_intp at = 2 * (k * w.count + first) * w.inner;                                     \
            const type *f = factors + at;                                                          \
            type *y = out + at;                                                                    \
            for (npy_intp i = 1; i < w.count; i++) {                                               \
                f += row;                                                                          \
                y += row;                                                                          \
                for (npy_intp j = 0; j < 2 * w.inner; j += 2) {                                    \
                    type re = y[j - row], im = y[j + 1 - row];                                     \
                    type rr = f[j] * re, ii = f[j + 1] * im;                                       \
                    type ri = f[j] * im, ir = f[j + 1] * re;                                       \
                    int zero = (f[j] == 0 && f[j + 1] == 0) || (re == 0 && im == 0);               \
                    type real = rr - ii, imag = ri + ir;                                           \
                    y[j] = (zero && real != real ? 0 : real) + y[j];                               \
                    y[j + 1] = (zero && imag != imag ? 0 : imag) + y[j + 1];                       \
                }                                                                                  \
            }                                                                                      \
        }                                                                                          \
    }

RECURRENCE(recur_double, double)
RECURRENCE(recur_float, float)
COMPLEX_RECURRENCE(recur_cdouble, double)
COMPLEX_RECURRENCE(recur_cfloat, float)

/* linear_recurrence(factors, out, axis, backwards): False, with nothing done, unless both are arrays
   in C order of one shape and one of the dtypes above. */
static PyObject *linear_recurrence(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyArrayObject *factors, *out;
    int axis, backwards;
    if (!PyArg_ParseTuple(args, "O!O!ip", &PyArray_Type, &factors, &PyArray_Type, &out, &axis,
                          &backwards))
        return NULL;
    int type = PyArray_TYPE(out);
    if (PyArray_TYPE(factors) != type || !PyArray_SAMESHAPE(factors, out) ||
        !PyArray_ISCARRAY_RO(factors) || !PyArray_ISCARRAY(out) || axis < 0 ||
        axis >= PyArray_NDIM(out) ||
        !(type == NPY_DOUBLE || type == NPY_FLOAT || type == NPY_CDOUBLE || type == NPY_CFLOAT))
        Py_RETURN_FALSE;
    Lanes lanes = {1, PyArray_DIM(out, axis), 1, backwards ? -1 : 1};
    for (int i = 0; i < axis; i++)
        lanes.outer *= PyArray_DIM(out, i);
    for (int i = axis + 1; i < PyArray_NDIM(out); i++)
        lanes.inner *= PyArray_DIM(out, i);
    if (!PyArray_SIZE(out))
        Py_RETURN_TRUE;
    const void *f = PyArray_DATA(factors);
    void *y = PyArray_DATA(out);
    NPY_BEGIN_ALLOW_THREADS
    switch (type) {
    case NPY_DOUBLE: recur_double(f, y, lanes); break;
    case NPY_FLOAT: recur_float(f, y, lanes); break;
    case NPY_CDOUBLE: recur_cdouble(f, y, lanes); break;
    default: recur_cfloat(f, y, lanes);
    }
    NPY_END_ALLOW_THREADS
    Py_RETURN_TRUE;
}

/* -- sums of rows ------------------------------------------------------------------------------ */

#define ADD_ROWS(name, type)                                                                       \
    static void name(type *out, const npy_intp *rows, const type *values, npy_intp count,          \
                     npy_intp width)                                                               \
    {                                                                                              \
        for (npy_intp k = 0; k < count; k++) {                                                     \
            type *row = out + rows[k] * width;                                                     \
            const type *added = values + k * width;                                                \
            for (npy_intp j = 0; j < width; j++)                                                   \
                row[j] += added[j];                                                                \
        }                                                                                          \
    }

ADD_ROWS(add_double_rows, double)
ADD_ROWS(add_float_rows, float)

/* add_rows(out, rows, values): out[rows[k]] += values[k], in order, for arrays in C order of two,
   one and two axes. False, with nothing done, for arrays of another kind. IndexError for a row that
   there is not. */
static PyObject *add_rows(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyArrayObject *out, *rows, *values;
    if (!PyArg_ParseTuple(args, "O!O!O!", &PyArray_Type, &out, &PyArray_Type, &rows, &PyArray_Type,
                          &values))
        return NULL;
    int type = PyArray_TYPE(out);
    if (PyArray_TYPE(values) != type || PyArray_TYPE(rows) != NPY_INTP ||
        PyArray_NDIM(out) != 2 || PyArray_NDIM(rows) != 1 || PyArray_NDIM(values) != 2 ||
        !PyArray_ISCARRAY(out) || !PyArray_ISCARRAY_RO(rows) || !PyArray_ISCARRAY_RO(values) ||
        PyArray_DIM(values, 0) != PyArray_DIM(rows, 0) ||
        PyArray_DIM(values, 1) != PyArray_DIM(out, 1) ||
        !(type == NPY_DOUBLE || type == NPY_FLOAT || type == NPY_CDOUBLE || type == NPY_CFLOAT))
        Py_RETURN_FALSE;
    const npy_intp *at = PyArray_DATA(rows);
    npy_intp count = PyArray_DIM(rows, 0), size = PyArray_DIM(out, 0), width = PyArray_DIM(out, 1);
    for (npy_intp k = 0; k < count; k++)
        if (at[k] < 0 || at[k] >= size) {
            PyErr_SetString(PyExc_IndexError, "add_rows: no such row");
            return NULL;
        }
    void *y = PyArray_DATA(out);
    const void *v = PyArray_DATA(values);
    NPY_BEGIN_ALLOW_THREADS
    if (type == NPY_CDOUBLE || type == NPY_CFLOAT)
        width *= 2;
    if (type == NPY_DOUBLE || type == NPY_CDOUBLE)
        add_double_rows(y, at, v, count, width);
    else
        add_float_rows(y, at, v, count, width);
    NPY_END_ALLOW_THREADS
    Py_RETURN_TRUE;
}
