/* Fronts: the reference rules of one slice at known places. See core.h.

   `_slicing` defines them. The table maps start indices to NumPy's index. */

#pragma once

#include "core.h"

enum { MOST_STARTS = 16 };

/* The part of x at these starts, in the shape of the part; new. NULL without an error: forward. */
static PyObject *part_at(Front *front, PyObject *x, PyObject *const *starts, Py_ssize_t n)
{
    PyObject *key, *index, *part = NULL;
    if (!is_memory(x) || n > MOST_STARTS)
        return NULL;
    key = PyTuple_New(n);
    if (!key)
        return NULL;
    for (Py_ssize_t i = 0; i < n; i++)
        PyTuple_SET_ITEM(key, i, Py_NewRef(starts[i]));
    index = PyDict_GetItemWithError(front->first, key); /* not `__missing__` */
    if (index)
        part = PyObject_GetItem(x, index);
    else
        PyErr_Clear(); /* a 0-d array has no hash: Python converts it */
    Py_DECREF(key);
    if (part && !is_memory(part))
        Py_CLEAR(part);
    return part;
}

/* Whether an array has this shape. */
static int has_shape(PyObject *x, PyObject *shape)
{
    PyArrayObject *memory = (PyArrayObject *)x;
    if (PyTuple_GET_SIZE(shape) != PyArray_NDIM(memory))
        return 0;
    for (int axis = 0; axis < PyArray_NDIM(memory); axis++)
        if (PyLong_AsSsize_t(PyTuple_GET_ITEM(shape, axis)) != PyArray_DIM(memory, axis))
            return 0;
    return 1;
}

/* u as elements of a part: shaped like it, or one number; new. NULL without an error: forward. */
static PyObject *fitting(PyObject *u, PyArrayObject *part)
{
    if (!is_memory(u)) {
        PyObject *aval = is_python_number(u) ? NULL : aval_of_number(u);
        int fits = aval ? OF(aval, Aval, dtype) == (PyObject *)PyArray_DESCR(part) : is_python_number(u);
        return fits ? Py_NewRef(u) : NULL;
    }
    PyArrayObject *memory = (PyArrayObject *)u;
    if (PyArray_DESCR(memory) != PyArray_DESCR(part))
        return NULL;
    if (PyArray_SAMESHAPE(memory, part))
        return Py_NewRef(u);
    PyArray_Dims shape = {PyArray_DIMS(part), PyArray_NDIM(part)};
    if (PyArray_SIZE(memory) != PyArray_SIZE(part) || PyArray_NDIM(memory) == 0)
        return NULL;
    return PyArray_Newshape(memory, &shape, NPY_CORDER);
}

/* Symbols: `s`: the slice; `u`: x with u in its place, in x's memory; `a`: the part, and u to add. */
static PyObject *part(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *names)
{
    Front *front = (Front *)self;
    Py_ssize_t n = PyVectorcall_NARGS(nargsf), first = front->symbol == 's' ? 1 : 2;
    PyObject *found = NULL, *u, *out = NULL;
    if (!names && n >= first && PyDict_Check(front->first) && PyTuple_CheckExact(front->second))
        found = part_at(front, args[0], args + first, n - first);
    if (!found)
        return PyErr_Occurred() ? NULL : hand_on(front, args, nargsf, names);
    if (front->symbol == 's') {
        PyArray_Dims shape;
        npy_intp dims[NPY_MAXDIMS];
        if (has_shape(found, front->second))
            return found;
        shape.ptr = dims;
        shape.len = (int)PyTuple_GET_SIZE(front->second);
        for (int axis = 0; axis < shape.len; axis++)
            dims[axis] = PyLong_AsSsize_t(PyTuple_GET_ITEM(front->second, axis));
        out = PyArray_Newshape((PyArrayObject *)found, &shape, NPY_CORDER);
        Py_DECREF(found);
        return out;
    }
    /* what broadcasts to another number of axes is Python's */
    u = !is_memory(args[1]) || has_shape(args[1], front->second)
            ? fitting(args[1], (PyArrayObject *)found)
            : NULL;
    if (!u) {
        Py_DECREF(found);
        return PyErr_Occurred() ? NULL : hand_on(front, args, nargsf, names);
    }
    if (front->symbol == 'a' && is_memory(u))
        out = PyTuple_Pack(2, found, u);
    else if (front->symbol == 'u' && PyObject_SetItem(found, Py_Ellipsis, u) == 0)
        out = Py_NewRef(args[0]);
    Py_DECREF(found);
    Py_DECREF(u);
    return out || PyErr_Occurred() ? out : hand_on(front, args, nargsf, names);
}

/* -- reshapes and broadcasts: `_layout` -------------------------------------------------------- */

/* The sizes of a tuple, or -1. */
static int sizes_of(PyObject *shape, npy_intp *sizes)
{
    Py_ssize_t n = PyTuple_CheckExact(shape) ? PyTuple_GET_SIZE(shape) : NPY_MAXDIMS + 1;
    for (Py_ssize_t i = 0; i < n && n <= NPY_MAXDIMS; i++)
        sizes[i] = PyLong_AsSsize_t(PyTuple_GET_ITEM(shape, i));
    return n <= NPY_MAXDIMS ? (int)n : -1;
}

/* `second`: the shape. For a broadcast, `first` is the operand's shape with ones for the other axes,
   and the result is new memory. */
static PyObject *shaped(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *names)
{
    Front *front = (Front *)self;
    npy_intp sizes[NPY_MAXDIMS], aligned[NPY_MAXDIMS];
    PyArray_Dims shape = {sizes, sizes_of(front->second, sizes)}, ones = {aligned, 0};
    PyObject *x = NULL, *out = NULL;
    if (PyVectorcall_NARGS(nargsf) == 1 && !names && shape.len >= 0 &&
        (is_memory(args[0]) || (the.avals && aval_of_number(args[0]))))
        x = PyArray_FROM_O(args[0]);
    PyArrayObject *memory = (PyArrayObject *)x;
    if (!x)
        return PyErr_Occurred() ? NULL : hand_on(front, args, nargsf, names);
    if (front->symbol == 'r') {
        int last = PyArray_NDIM(memory) - 1; /* Python copies what NumPy copies slowly */
        if (last < 0 || PyArray_STRIDE(memory, last) || PyArray_SIZE(memory) <= 1)
            out = PyArray_Newshape(memory, &shape, NPY_CORDER);
    }
    else if ((ones.len = sizes_of(front->first, aligned)) >= 0) {
        Py_SETREF(x, PyArray_Newshape(memory, &ones, NPY_CORDER));
        memory = (PyArrayObject *)x;
        if (x) {
            Py_INCREF(PyArray_DESCR(memory));
            out = PyArray_NewFromDescr(&PyArray_Type, PyArray_DESCR(memory), shape.len, sizes, NULL,
                                       NULL, 0, NULL);
        }
        if (out && PyArray_CopyInto((PyArrayObject *)out, memory) < 0)
            Py_CLEAR(out);
    }
    Py_XDECREF(x);
    return out || PyErr_Occurred() ? out : hand_on(front, args, nargsf, names);
}
