/* The variables of a running frame, and the iterators of its loops: see `_promotion/_running.py` and
 * `_promotion/_variables.py`.
 *
 * The values of a frame lie one after the other: its variables, its cells, then the stack. An open
 * `for` loop keeps its iterator on the stack, above those of the loops around it. CPython has no
 * public interface for this, so this file, and no other, reads an internal header.
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include "frames.h"

#if PY_VERSION_HEX < 0x030E0000 && defined(__has_include)
#if __has_include("internal/pycore_frame.h")
#define KNOWN 1
#define Py_BUILD_CORE 1
#include "internal/pycore_frame.h"
#endif
#endif

#ifdef KNOWN

/* The place of a value: of variables from 0, of the stack from -1 downwards. NULL: an error. */
static PyObject **place(PyObject *frame, Py_ssize_t at)
{
    if (!PyFrame_Check(frame)) {
        PyErr_SetString(PyExc_TypeError, "a frame is required");
        return NULL;
    }
    PyCodeObject *code = PyFrame_GetCode((PyFrameObject *)frame);
    Py_ssize_t variables = code->co_nlocalsplus, depth = code->co_stacksize;
    Py_DECREF(code);
    if (at >= 0 ? at >= variables : -at > depth) {
        PyErr_SetString(PyExc_IndexError, "the frame has no such value");
        return NULL;
    }
    return ((PyFrameObject *)frame)->f_frame->localsplus + (at >= 0 ? at : variables - 1 - at);
}

PyObject *frame_value(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *frame, *missing;
    Py_ssize_t at;
    if (!PyArg_ParseTuple(args, "OnO", &frame, &at, &missing))
        return NULL;
    PyObject **found = place(frame, at);
    return found ? Py_NewRef(*found ? *found : missing) : NULL;
}

PyObject *set_frame_values(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *frame, *places, *values;
    if (!PyArg_ParseTuple(args, "OO!O!", &frame, &PyTuple_Type, &places, &PyList_Type, &values))
        return NULL;
    Py_ssize_t count = PyTuple_GET_SIZE(places);
    if (PyList_GET_SIZE(values) != count) {
        PyErr_SetString(PyExc_ValueError, "as many values as places are required");
        return NULL;
    }
    for (Py_ssize_t i = 0; i < count; i++) { /* all or none */
        Py_ssize_t at = PyLong_AsSsize_t(PyTuple_GET_ITEM(places, i));
        if ((at == -1 && PyErr_Occurred()) || !place(frame, at))
            return NULL;
    }
    for (Py_ssize_t i = 0; i < count; i++) { /* swapped: nothing is destroyed here */
        PyObject **found = place(frame, PyLong_AsSsize_t(PyTuple_GET_ITEM(places, i)));
        PyObject *before = *found ? *found : Py_NewRef(Py_None);
        *found = PyList_GET_ITEM(values, i);
        PyList_SET_ITEM(values, i, before);
    }
    Py_RETURN_NONE;
}

#else

PyObject *frame_value(PyObject *module, PyObject *args)
{
    PyErr_SetString(PyExc_NotImplementedError, "the frames of this Python are not known");
    return NULL;
}

PyObject *set_frame_values(PyObject *module, PyObject *args)
{
    return frame_value(module, args);
}

#endif
