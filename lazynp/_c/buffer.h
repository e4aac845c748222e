/* The buffer protocol: of Scalars, by NumPy's numbers; and on Python 3.11, which looks for it in a C
   type, not for `__buffer__` in a class. See core.h. */

#pragma once

#include "core.h"
#include "scalars.h"

/* NumPy's number of a Scalar shows the same memory, and nobody writes into it. NULL: forward. */
static inline PyObject *shown_by_number(PyObject *self)
{
    return the.staged && is_scalar(self) ? value_of_scalar(self) : NULL;
}

/* Call `__buffer__`, as Python 3.12 and later do. The consumer holds the memoryview it returns. */
static int get_buffer(PyObject *self, Py_buffer *view, int flags)
{
    view->obj = NULL;
    PyObject *number = shown_by_number(self);
    if (number)
        return PyObject_GetBuffer(number, view, flags);
    PyObject *shown = PyObject_CallMethod(self, "__buffer__", "i", flags);
    int failed = shown ? PyObject_GetBuffer(shown, view, flags) : -1;
    Py_XDECREF(shown);
    return failed;
}

/* Nothing is released. But of a type that releases nothing, `numpy.frombuffer` keeps the object
   alone, and lets go of the buffer: the object's memory may be another by then. */
static void keep_buffer(PyObject *Py_UNUSED(self), Py_buffer *Py_UNUSED(view)) {}

static PyBufferProcs BUFFER = {.bf_getbuffer = get_buffer, .bf_releasebuffer = keep_buffer};

static PyTypeObject BufferedType = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "lazynp._fastpath.Buffered",
    .tp_doc = "Base class: `__buffer__` of a subclass implements the buffer protocol.",
    .tp_basicsize = sizeof(PyObject),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
    .tp_as_buffer = &BUFFER,
};
