/* NumPy's arrays of short lists of numbers. See core.h.

   NumPy asks each item twice what it is, and gets a list without Scalars only after each was exchanged
   for its number. What most lists hold, `[x, y, 1.0]`, is known at a look. */

#pragma once

#include "loops.h"
#include "scalars.h"

enum { SHORT_LIST = 64 }; /* numbers */

typedef struct {
    int count, floats, scalars; /* whether there are any of these */
    double doubles[SHORT_LIST];
    npy_long longs[SHORT_LIST];
} Listed;

/* Take a float64 or an int64 of NumPy's, a Scalar of one, or Python's; whether it is one. */
static int take_listed(PyObject *x, Listed *them)
{
    int overflow = 0;
    if (them->count == SHORT_LIST)
        return 0;
    if (is_scalar(x)) {
        them->scalars = 1;
        x = value_of_scalar(x);
    }
    double *real = &them->doubles[them->count];
    npy_long *integer = &them->longs[them->count++];
    if (!x)
        return 0;
    if (as_double(x, real)) {
        them->floats = 1;
        return 1;
    }
    int numpys = Py_TYPE(x) == &PyLongArrType_Type;
    if (sizeof(npy_long) != 8 || (!numpys && !PyLong_CheckExact(x)))
        return 0;
    *integer = numpys ? PyArrayScalar_VAL(x, Long) : PyLong_AsLongAndOverflow(x, &overflow);
    *real = (double)*integer;
    return !overflow;
}

static inline int is_row(PyObject *x)
{
    return PyList_CheckExact(x) || PyTuple_CheckExact(x);
}

/* NumPy's array of a short list or tuple of such numbers, or of rows of them, new. Sets `*scalars` if
   one of them is a Scalar. NULL without an error: NumPy must make it. */
static PyArrayObject *array_of_list(PyObject *x, int *scalars)
{
    Listed them;
    them.count = them.floats = them.scalars = 0;
    npy_intp dims[2] = {0, 0};
    if (!is_row(x) || !(dims[0] = PySequence_Fast_GET_SIZE(x)) || dims[0] > SHORT_LIST)
        return NULL;
    PyObject *const *rows = PySequence_Fast_ITEMS(x);
    int ndim = is_row(rows[0]) ? 2 : 1;
    if (ndim == 2 && !(dims[1] = PySequence_Fast_GET_SIZE(rows[0])))
        return NULL;
    for (npy_intp i = 0; i < dims[0]; i++) {
        if (ndim == 1) {
            if (!take_listed(rows[i], &them))
                return NULL;
            continue;
        }
        if (!is_row(rows[i]) || PySequence_Fast_GET_SIZE(rows[i]) != dims[1])
            return NULL;
        for (npy_intp k = 0; k < dims[1]; k++)
            if (!take_listed(PySequence_Fast_GET_ITEM(rows[i], k), &them))
                return NULL;
    }
    *scalars = them.scalars;
    PyArrayObject *out = (PyArrayObject *)new_memory(them.floats ? NPY_DOUBLE : NPY_LONG, ndim, dims);
    if (out)
        memcpy(PyArray_DATA(out), them.floats ? (void *)them.doubles : them.longs, 8 * them.count);
    return out;
}

/* NumPy's array of a list of arrays of one shape and type, new. NULL without an error: as above. */
static PyArrayObject *array_of_arrays(PyObject *x)
{
    npy_intp dims[AXES];
    if (!is_row(x) || !PySequence_Fast_GET_SIZE(x))
        return NULL;
    PyArrayObject *const *them = (PyArrayObject *const *)PySequence_Fast_ITEMS(x);
    Py_ssize_t n = PySequence_Fast_GET_SIZE(x);
    for (Py_ssize_t i = 0; i < n; i++)
        if (!is_memory((PyObject *)them[i]) || PyArray_NDIM(them[i]) >= AXES ||
            !is_number_type(PyArray_TYPE(them[i])) || !PyArray_NDIM(them[i]) ||
            !PyArray_ISCARRAY_RO(them[i]) || PyArray_TYPE(them[i]) != PyArray_TYPE(them[0]) ||
            !PyArray_SAMESHAPE(them[i], them[0]))
            return NULL;
    int ndim = PyArray_NDIM(them[0]);
    dims[0] = n;
    memcpy(dims + 1, PyArray_DIMS(them[0]), ndim * sizeof(npy_intp));
    PyArrayObject *out = (PyArrayObject *)new_memory(PyArray_TYPE(them[0]), ndim + 1, dims);
    npy_intp bytes = PyArray_NBYTES(them[0]);
    for (Py_ssize_t i = 0; out && i < n; i++)
        memcpy(PyArray_BYTES(out) + i * bytes, PyArray_DATA(them[i]), bytes);
    return out;
}

/* Whether a function of NumPy's, called with one argument, makes an array of its items. */
static int makes_arrays(PyObject *function)
{
    static PyObject *makers[2];
    if (!makers[0]) {
        PyObject *numpy = PyImport_ImportModule("numpy");
        makers[1] = numpy ? PyObject_GetAttrString(numpy, "asarray") : NULL;
        makers[0] = makers[1] ? PyObject_GetAttrString(numpy, "array") : NULL;
        Py_XDECREF(numpy);
        PyErr_Clear();
    }
    return function == makers[0] || function == makers[1];
}
