/* Fronts: elementwise functions of numbers alone. See core.h. */

#pragma once

#include "core.h"

/* -- `_recording.unary`, `binary` with `numbers` ------------------------------------------------ */

/* Whether all are Python's or NumPy's own numbers: nothing is lazy then. */
static int are_numbers(PyObject *const *xs, Py_ssize_t n)
{
    for (Py_ssize_t i = 0; i < n; i++)
        if (!is_python_number(xs[i]) && !aval_of_number(xs[i]))
            return 0;
    return !PyErr_Occurred();
}

/* NumPy's result, if it is a number that programs support. Sets `*again` if Python must call. */
static PyObject *of_numbers(Front *front, PyObject *now, PyObject *const *xs, Py_ssize_t n,
                            int *again)
{
    *again = 1;
    if (watched())
        return NULL;
    PyObject *result = quiet(OF(now, Recorder, quiet), front->function, xs, n, again);
    if (result && !aval_of_number(result)) {
        *again = 1;
        Py_CLEAR(result);
    }
    return result;
}
