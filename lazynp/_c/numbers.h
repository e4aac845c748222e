/* Fronts: elementwise functions of numbers alone, and those that NumPy is asked for. See core.h. */

#pragma once

#include "at_once.h"
#include "core.h"
#include "scalars.h"

static PyTypeObject FrontType;

/* -- `_recording.unary`, `binary` with `numbers` ------------------------------------------------ */

/* Whether all are Python's or NumPy's own numbers: nothing is lazy then. */
static int are_numbers(PyObject *const *xs, Py_ssize_t n)
{
    for (Py_ssize_t i = 0; i < n; i++)
        if (!is_python_number(xs[i]) && !aval_of_number(xs[i]))
            return 0;
    return !PyErr_Occurred();
}

/* NumPy's float64 for float64s and Python's floats, by its inner loop, new. NULL without an error: the
   ufunc must do it. */
static PyObject *by_doubles(Front *front, PyObject *const *xs, Py_ssize_t n)
{
    double number;
    for (Py_ssize_t i = 0; i < n; i++)
        if (!as_double(xs[i], &number))
            return NULL;
    if (!front->doubles.kinds[0]) {
        find_loop(&front->doubles, front->function, (int)n, NPY_DOUBLE, NPY_DOUBLE);
        front->doubles.kinds[0] = 1;
    }
    return front->doubles.loop ? double_by_loop(&front->doubles, xs, n) : NULL;
}

/* NumPy's result, if it is a number that programs support, or several. Sets `*again` if Python must
   call. */
static PyObject *of_numbers(Front *front, PyObject *now, PyObject *const *xs, Py_ssize_t n,
                            int *again)
{
    *again = 1;
    if (watched())
        return NULL;
    PyObject *result = by_doubles(front, xs, n);
    if (result || PyErr_Occurred()) {
        *again = 0;
        return result;
    }
    result = quiet(OF(now, Recorder, quiet), front->function, xs, n, again);
    if (result && !PyTuple_CheckExact(result) && !aval_of_number(result)) {
        *again = 1;
        Py_CLEAR(result);
    }
    return result;
}

/* -- `numpy.f(x)`, `numpy.float64(2) * x`: `_protocols.array_ufunc` ------------------------------ */

/* What NumPy has made an array of, without axes, as a number again: new. */
static PyObject *number_again(PyObject *x)
{
    PyArrayObject *memory = (PyArrayObject *)x;
    if (is_memory(x) && PyArray_NDIM(memory) == 0 && is_of_numbers(memory))
        return PyArray_ToScalar(PyArray_DATA(memory), memory);
    return Py_NewRef(x);
}

/* The operator on a Scalar and a number of NumPy's, as it is by itself or in an array without axes,
   new. NULL, without an error: forward. */
static PyObject *by_operator(Front *front, PyObject *ufunc, PyObject *x, PyObject *y)
{
    int reflected = !is_scalar(x);
    PyObject *self = reflected ? y : x, *other = reflected ? x : y, *number, *out = NULL;
    if (!is_scalar(self) || !PyDict_Check(front->second) || !nothing_staged() || watched() ||
        !value_of_scalar(self))
        return NULL;
    PyObject *both = PyDict_GetItemWithError(front->second, ufunc);
    if (!both || !PyTuple_CheckExact(both) || is_array(other))
        return NULL;
    Py_INCREF(both);
    number = number_again(other);
    if (number && (is_scalar(number) ? value_of_scalar(number) : aval_of_number(number))) {
        PyObject *args[2] = {self, number};
        out = PyObject_Vectorcall(PyTuple_GET_ITEM(both, reflected), args, 2, NULL);
    }
    if (out == Py_NotImplemented)
        Py_CLEAR(out);
    else if (!out && PyErr_Occurred() && PyErr_ExceptionMatches(PyExc_TypeError))
        PyErr_Clear(); /* the ufunc's text is another */
    Py_XDECREF(number);
    Py_DECREF(both);
    return out;
}

/* `entries`: NumPy's ufuncs -> what calls ours; `operators`: those of operators -> the Scalars'
   methods, the second for a Scalar on the right. The arguments: the array that NumPy asks, NumPy's
   ufunc, the name of its method, and the operands. */
static PyObject *asked(PyObject *self_, PyObject *const *args, size_t nargsf, PyObject *names)
{
    Front *front = (Front *)self_;
    Py_ssize_t n = PyVectorcall_NARGS(nargsf);
    if (n < 4 || n > 5 || names || !PyUnicode_CheckExact(args[2]) ||
        PyUnicode_CompareWithASCIIString(args[2], "__call__"))
        return hand_on(front, args, nargsf, names);
    PyObject *done = n == 5 ? by_operator(front, args[1], args[3], args[4]) : NULL;
    if (done || PyErr_Occurred())
        return done;
    PyObject *call = PyDict_GetItemWithError(front->entries, args[1]);
    for (Py_ssize_t i = 3; call && i < n; i++)
        if (!is_array(args[i]) && !is_scalar(args[i]) && !are_numbers(args + i, 1) &&
            !(is_memory(args[i]) && is_of_numbers((PyArrayObject *)args[i])))
            call = NULL;
    if (!call || Py_TYPE(call) != &FrontType || ((Front *)call)->operands != n - 3) {
        PyErr_Clear(); /* it has no hash, so it is no ufunc: Python says so */
        return hand_on(front, args, nargsf, names);
    }
    Py_INCREF(call);
    PyObject *operands[2] = {number_again(args[3]), n == 5 ? number_again(args[4]) : NULL}, *out = NULL;
    if (operands[0] && (n == 4 || operands[1]))
        out = PyObject_Vectorcall(call, operands, n - 3, NULL);
    Py_XDECREF(operands[0]);
    Py_XDECREF(operands[1]);
    Py_DECREF(call);
    return out;
}

/* -- `numpy.f(x)`: `_protocols.array_function` --------------------------------------------------- */

/* Whether these mean to our functions what they mean to NumPy's: nothing in them overrides. */
static int are_plain(PyObject *const *xs, Py_ssize_t n, int depth)
{
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *x = xs[i];
        if (PyList_CheckExact(x) || PyTuple_CheckExact(x)) {
            if (depth == 0 || PySequence_Fast_GET_SIZE(x) > the.few ||
                !are_plain(PySequence_Fast_ITEMS(x), PySequence_Fast_GET_SIZE(x), depth - 1))
                return 0;
        }
        else if (!is_array(x) && !is_scalar(x) && x != Py_None && !PyUnicode_CheckExact(x) &&
                 !PyArray_DescrCheck(x) && !are_numbers(&x, 1))
            return 0;
    }
    return 1;
}

/* Whether the function that calls may want memory of its own, or memory to write: one of SciPy's, or
   one of pandas' that make a Series. Python's code finds out: `_memory.asks_for_copy`. */
static int may_want_memory(void)
{
    PyObject *globals = PyEval_GetGlobals();
    PyObject *name = globals ? PyDict_GetItemWithError(globals, the.name) : NULL;
    PyErr_Clear();
    return name && (!PyUnicode_Check(name) ||
                    PyUnicode_Tailmatch(name, the.scipy, 0, PY_SSIZE_T_MAX, -1) != 0 ||
                    PyUnicode_Tailmatch(name, the.pandas, 0, PY_SSIZE_T_MAX, -1) != 0);
}

/* `entries`: NumPy's functions -> ours. The arguments: the array that NumPy asks, NumPy's function,
   the types of its arguments, and its arguments. */
static PyObject *asked_function(PyObject *self_, PyObject *const *args, size_t nargsf,
                                PyObject *names)
{
    Front *front = (Front *)self_;
    PyObject *ours = NULL, *key, *value;
    if (PyVectorcall_NARGS(nargsf) == 5 && !names && nothing_staged() &&
        PyTuple_CheckExact(args[3]) && PyDict_CheckExact(args[4]) &&
        are_plain(&PyTuple_GET_ITEM(args[3], 0), PyTuple_GET_SIZE(args[3]), 2) &&
        !may_want_memory())
        ours = PyDict_GetItemWithError(front->entries, args[1]);
    for (Py_ssize_t at = 0; ours && PyDict_Next(args[4], &at, &key, &value);)
        if (!are_plain(&value, 1, 2))
            ours = NULL;
    if (!ours) {
        PyErr_Clear();
        return hand_on(front, args, nargsf, names);
    }
    Py_INCREF(ours);
    PyObject *out = PyObject_Call(ours, args[3], args[4]);
    Py_DECREF(ours);
    return out;
}

/* A function of `math` or `cmath`, for numbers that are there; see `interop._numbers_of`. */
static PyObject *of_floats(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *names)
{
    Front *front = (Front *)self;
    Py_ssize_t n = PyVectorcall_NARGS(nargsf);
    for (Py_ssize_t i = 0; i < n; i++)
        if (!PyFloat_CheckExact(args[i]) && !PyLong_CheckExact(args[i]) &&
            (is_scalar(args[i]) ? is_staged() || !value_of_scalar(args[i])
                                : !aval_of_number(args[i])))
            return hand_on(front, args, nargsf, names);
    if (!n || names)
        return hand_on(front, args, nargsf, names);
    return PyObject_Vectorcall(front->function, args, n, NULL);
}
