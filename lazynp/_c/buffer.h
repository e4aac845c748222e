/* The buffer protocol on Python 3.11, which asks types for it and not classes. See core.h. */

#pragma once

#include "core.h"

/* What `__buffer__` returns, as Python 3.12 and later call it; the consumer holds its memoryview. */
static int get_buffer(PyObject *self, Py_buffer *view, int flags)
{
    view->obj = NULL;
    PyObject *shown = PyObject_CallMethod(self, "__buffer__", "i", flags);
    int failed = shown ? PyObject_GetBuffer(shown, view, flags) : -1;
    Py_XDECREF(shown);
    return failed;
}

static PyBufferProcs BUFFER = {.bf_getbuffer = get_buffer};

static PyTypeObject BufferedType = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "lazynp._fastpath.Buffered",
    .tp_doc = "The base of a class whose `__buffer__` answers the buffer protocol.",
    .tp_basicsize = sizeof(PyObject),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
    .tp_as_buffer = &BUFFER,
};
