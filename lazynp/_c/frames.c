/* The variables of a running frame, its function, the iterators of its loops, and when it comes to a
 * line: see `_iterated.py`, `_conditional.py`, `_variables.py` and `_sampling.py` in `_promotion`.
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

/* The place that an item of `places` tells: a number, or the cell of a variable. */
static PyObject **place_of(PyObject *frame, PyObject *item)
{
    if (PyCell_Check(item))
        return &((PyCellObject *)item)->ob_ref;
    Py_ssize_t at = PyLong_AsSsize_t(item);
    return at == -1 && PyErr_Occurred() ? NULL : place(frame, at);
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
        if (!place_of(frame, PyTuple_GET_ITEM(places, i)))
            return NULL;
    }
    for (Py_ssize_t i = 0; i < count; i++) { /* swapped: nothing is destroyed here */
        PyObject **found = place_of(frame, PyTuple_GET_ITEM(places, i));
        PyObject *before = *found ? *found : Py_NewRef(Py_None);
        *found = PyList_GET_ITEM(values, i);
        PyList_SET_ITEM(values, i, before);
    }
    Py_RETURN_NONE;
}

/* The function that runs in a frame; None if there is none. */
PyObject *frame_function(PyObject *Py_UNUSED(module), PyObject *frame)
{
    if (!PyFrame_Check(frame)) {
        PyErr_SetString(PyExc_TypeError, "a frame is required");
        return NULL;
    }
#if PY_VERSION_HEX < 0x030C0000
    PyObject *found = (PyObject *)((PyFrameObject *)frame)->f_frame->f_func;
#else
    PyObject *found = ((PyFrameObject *)frame)->f_frame->f_funcobj;
#endif
    return Py_NewRef(found && PyFunction_Check(found) ? found : Py_None);
}

#else

PyObject *frame_function(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(frame))
{
    PyErr_SetString(PyExc_NotImplementedError, "the frames of this Python are not known");
    return NULL;
}

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

/* A frame is waited for by a trace function of CPython's: it is called at each line, in this thread,
 * until the frame comes to the line, leaves the lines around it, or ends. `sys.gettrace` gives None,
 * as no Python code traces. */
#ifdef _MSC_VER
#define OF_THREAD static __declspec(thread)
#else
#define OF_THREAD static _Thread_local
#endif

typedef struct {
    PyObject *frame, *callback; /* NULL: nothing is waited for */
    int line, first, last;
} Waiting;

OF_THREAD Waiting waiting;

static void wait_no_longer(void)
{
    PyEval_SetTrace(NULL, NULL);
    Py_CLEAR(waiting.frame);
    Py_CLEAR(waiting.callback);
}

static int traced(PyObject *Py_UNUSED(self), PyFrameObject *frame, int what,
                  PyObject *Py_UNUSED(arg))
{
    if ((PyObject *)frame != waiting.frame || (what != PyTrace_LINE && what != PyTrace_RETURN))
        return 0;
    int line = what == PyTrace_LINE ? PyFrame_GetLineNumber(frame) : 0;
    int comes = line == waiting.line;
    if (!comes && line >= waiting.first && line <= waiting.last)
        return 0;
    PyObject *callback = Py_NewRef(waiting.callback), *held = Py_NewRef(waiting.frame);
    PyObject *type, *value, *place; /* an exception may be on its way */
    PyErr_Fetch(&type, &value, &place);
    wait_no_longer();
    PyObject *result = PyObject_CallOneArg(callback, comes ? held : Py_None);
    Py_DECREF(callback);
    Py_DECREF(held);
    Py_XDECREF(result);
    if (result == NULL && type == NULL)
        return -1;
    PyErr_Restore(type, value, place);
    return 0;
}

PyObject *wait_for_line(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *frame, *callback;
    int line, first, last;
    if (!PyArg_ParseTuple(args, "O!iiiO", &PyFrame_Type, &frame, &line, &first, &last, &callback))
        return NULL;
    PyThreadState *state = PyThreadState_Get();
    if (state->c_tracefunc != NULL && state->c_tracefunc != traced)
        Py_RETURN_FALSE; /* somebody else traces */
    Py_XSETREF(waiting.frame, Py_NewRef(frame));
    Py_XSETREF(waiting.callback, Py_NewRef(callback));
    waiting.line = line, waiting.first = first, waiting.last = last;
    PyEval_SetTrace(traced, NULL);
    Py_RETURN_TRUE;
}
