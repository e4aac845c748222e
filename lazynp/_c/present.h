/* What a view shows now, if its owner was written after the view was last read: see `Array._read`.

   Such a view holds no memory, so that the owner can be written in place. Each front that reads it
   takes its steps again, in the owner's memory, and drops the result when it returns. */

#pragma once

#include "core.h"
#include "shells.h"

/* Where the step lies that is a transpose or a reshape of this name: its axes, or its shape. 0: NumPy
   must find it. */
static int look_at_step(Look *look, PyArrayObject *memory, PyObject *step, PyObject *name)
{
    npy_intp numbers[SHELL_AXES];
    PyObject *dims = PyObject_GetAttr(step, name);
    Py_ssize_t n = dims && PyTuple_CheckExact(dims) ? PyTuple_GET_SIZE(dims) : SHELL_AXES + 1;
    int found = n && n <= SHELL_AXES;
    for (Py_ssize_t i = 0; found && i < n; i++) {
        PyObject *number = PyTuple_GET_ITEM(dims, i);
        found = PyLong_CheckExact(number);
        numbers[i] = found ? PyLong_AsSsize_t(number) : 0;
    }
    Py_XDECREF(dims);
    PyErr_Clear();
    if (found && name == the.shape && n == 1)
        numbers[0] = -1; /* see `Reshape.layout` */
    return found && (name == the.shape ? look_reshaped(look, memory, numbers, (int)n)
                                       : look_turned(look, memory, numbers, (int)n));
}

/* NumPy's array after one step of a view's path, new. NULL: forward, or an error. */
static PyObject *after_shown_step(PyObject *memory, PyObject *step)
{
    PyArrayObject *whole = (PyArrayObject *)memory;
    PyTypeObject *kind = Py_TYPE(step);
    Look look;
    if (kind == (PyTypeObject *)the.Basic)
        return look_at_index(&look, whole, PyTuple_GET_ITEM(step, 0))
                   ? seen_as(whole, &look)
                   : PyObject_GetItem(memory, PyTuple_GET_ITEM(step, 0));
    if (kind == (PyTypeObject *)the.Transpose || kind == (PyTypeObject *)the.Reshape)
        if (look_at_step(&look, whole, step, kind == (PyTypeObject *)the.Reshape ? the.shape
                                                                                 : the.permutation))
            return seen_as(whole, &look);
    PyObject *shows = PyObject_GetAttr(step, the.shows), *out = NULL;
    if (shows == Py_True)
        out = PyObject_CallMethodOneArg(step, the.layout, memory);
    Py_XDECREF(shows);
    return out;
}

/* Python comes to the same error, if it is one. */
static void drop_error(PyObject *where)
{
    if (PyErr_ExceptionMatches(PyExc_Exception))
        PyErr_Clear();
    else
        put_off(where);
}

/* The part of its owner's memory that a view shows, new. NULL, without an error: forward. */
static PyObject *shown_memory(PyObject *view)
{
    PyObject *base = OF(view, Array, _base), *path = OF(view, Array, _path), *node;
    if (!base || !is_handle(base) || OF(base, Array, _base) != Py_None || !path ||
        !PyTuple_CheckExact(path) || !(node = node_of(base)))
        return NULL;
    PyObject *memory = Py_NewRef(PyList_GET_ITEM(node, VALUE));
    Py_INCREF(path);
    for (Py_ssize_t i = 0; memory && i < PyTuple_GET_SIZE(path); i++) {
        PyObject *next = is_memory(memory) ? after_shown_step(memory, PyTuple_GET_ITEM(path, i))
                                           : NULL;
        drop_value(memory);
        memory = next;
    }
    Py_DECREF(path);
    if (!memory && PyErr_Occurred())
        drop_error(view); /* a reshape that copies: Python takes the step */
    if (memory && (!is_memory(memory) || !is_of_numbers((PyArrayObject *)memory)))
        Py_CLEAR(memory);
    return memory;
}

/* Whether a view is out of date. */
static inline int is_stale(PyObject *x)
{
    PyObject *base = OF(x, Array, _base);
    return base && base != Py_None && OF(x, Array, _seen) != OF(base, Array, _node);
}

/* A handle as the view would be if it were made now, new. NULL, without an error: forward. */
static PyObject *present(PyObject *view)
{
    if (!is_handle(view) || !is_stale(view))
        return NULL;
    PyObject *base = Py_NewRef(OF(view, Array, _base)), *seen = Py_XNewRef(node_of(base));
    PyObject *path = Py_XNewRef(OF(view, Array, _path)), *memory = seen ? shown_memory(view) : NULL;
    PyObject *aval = memory ? aval_of_memory((PyArrayObject *)memory) : NULL, *out = NULL;
    if (aval)
        out = owner(the.NDArray, leaf(memory, aval));
    if (out) {
        Py_SETREF(OF(out, Array, _base), Py_NewRef(base));
        Py_SETREF(OF(out, Array, _seen), Py_NewRef(seen));
        OF(out, Array, _path) = Py_NewRef(path);
        Py_SETREF(OF(out, Array, _flags), Py_XNewRef(OF(view, Array, _flags)));
        Py_SETREF(OF(out, Array, _order), Py_XNewRef(OF(view, Array, _order)));
    }
    if (!out && PyErr_Occurred())
        drop_error(view);
    Py_DECREF(base);
    Py_XDECREF(seen);
    Py_XDECREF(path);
    Py_XDECREF(memory);
    Py_XDECREF(aval);
    return out;
}

/* The aval of an array or scalar, borrowed; a view's, although it may be out of date: writing
   changes neither shape nor dtype. NULL: forward. */
static inline PyObject *lasting_aval(PyObject *x)
{
    PyObject *node = OF(x, Array, _node);
    PyObject *aval = node && PyList_CheckExact(node) && PyList_GET_SIZE(node) == NODE_SIZE
                         ? known(node)
                         : NULL;
    return aval && Py_TYPE(aval) == (PyTypeObject *)the.Aval ? aval : NULL;
}
