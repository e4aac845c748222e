/* Calls of small jitted functions, as sequences of operations that NumPy runs. See core.h.

   `_alone.at_once` and `_sequences.OpSequence.run` define them. */

#pragma once

#include "calls.h"
#include "programs.h"

/* A Python number as the NumPy scalar that a program gets, new; NULL: forward. */
static PyObject *scalar_operand(PyObject *x)
{
    PyObject *made = NULL;
    int over = 0;
    if (PyBool_Check(x))
        PyArrayScalar_RETURN_BOOL_FROM_LONG(x == Py_True);
    if (PyFloat_CheckExact(x)) {
        if ((made = PyArrayScalar_New(Double)))
            PyArrayScalar_ASSIGN(made, Double, PyFloat_AS_DOUBLE(x));
    } else if (PyLong_CheckExact(x)) {
        long long value = PyLong_AsLongLongAndOverflow(x, &over);
        if (!over && (made = PyArrayScalar_New(Int64)))
            PyArrayScalar_ASSIGN(made, Int64, value);
    }
    return made;
}

/* A result in memory of its own, new. The list of values refers to it. */
static PyObject *own_result(PyObject *value)
{
    PyArrayObject *memory = (PyArrayObject *)value;
    if (!is_memory(value))
        return Py_NewRef(value);
    if (!PyArray_NDIM(memory))
        return PyArray_Return((PyArrayObject *)Py_NewRef(value));
    int flags = NPY_ARRAY_OWNDATA | NPY_ARRAY_C_CONTIGUOUS | NPY_ARRAY_WRITEABLE;
    if (Py_REFCNT(value) == 1 && PyArray_CHKFLAGS(memory, flags))
        return Py_NewRef(value);
    return PyArray_NewCopy(memory, NPY_CORDER);
}

static PyObject *own_results(PyObject *outs, PyObject *values)
{
    PyObject *made = PyList_New(PyList_GET_SIZE(outs));
    for (Py_ssize_t i = 0; made && i < PyList_GET_SIZE(outs); i++) {
        Py_ssize_t at = PyLong_AsSsize_t(PyList_GET_ITEM(outs, i));
        PyObject *own = own_result(PyList_GET_ITEM(values, at));
        if (own)
            PyList_SET_ITEM(made, i, own);
        else
            Py_CLEAR(made);
    }
    return made;
}

/* The results of a sequence for these operands, new. NULL without an error: forward. */
static PyObject *run_sequence(PyObject *recorder, PyObject *sequence, PyObject **operands, Py_ssize_t n)
{
    PyObject *constants = OF_CALL(sequence, Sequence, constants), *values, *results = NULL, *context;
    PyObject *list = PyList_New(n + PyList_GET_SIZE(constants));
    for (Py_ssize_t i = 0; list && i < PyList_GET_SIZE(list); i++) {
        PyObject *x = i < n ? operands[i] : PyList_GET_ITEM(constants, i - n);
        x = i < n && !is_list(x) ? scalar_operand(x) : Py_NewRef(x);
        if (x)
            PyList_SET_ITEM(list, i, x);
        else
            Py_CLEAR(list);
    }
    if (!list || !(context = enter_quiet(OF(recorder, Recorder, quiet)))) {
        Py_XDECREF(list);
        return NULL;
    }
    values = steps_run_on(OF_CALL(sequence, Sequence, steps), list);
    leave_quiet(context);
    the.deaf++; /* as in a program, nobody is told */
    told();
    the.deaf--;
    if (values && values != Py_None)
        results = own_results(OF_CALL(sequence, Sequence, outs), values);
    Py_XDECREF(values);
    if (!results && PyErr_Occurred() && PyErr_ExceptionMatches(PyExc_Exception))
        PyErr_Clear(); /* it is raised where the value is asked for */
    return results;
}

/* Run a call with these operands now. NULL without an error: forward. */
static PyObject *call_sequence(PyObject *recorder, PyObject *quick, PyObject *alone,
                               PyObject **operands, Py_ssize_t n)
{
    PyObject *sequence = Py_NewRef(OF_CALL(alone, Alone, sequence)), *code, *offset;
    PyObject *results = NULL, *out = NULL;
    /* the last run before a program pays is Python's */
    int collects = policy_is("adaptive") && PyLong_AsSsize_t(OF_CALL(alone, Alone, left)) > 1
                       ? begin_turn()
                       : -1;
    if (collects >= 0) {
        results = run_sequence(recorder, sequence, operands, n);
        end_turn(collects);
    }
    if (results && users_position(&code, &offset)) {
        the.countdown -= PyTuple_GET_SIZE(OF_CALL(sequence, Sequence, steps));
        if (count_call(calls.reference_runs) == 0 && add_in_slot(&OF_CALL(alone, Alone, left), -1) == 0 &&
            add_in_slot(&OF(recorder, Recorder, unasked), 1) == 0)
            out = tree_of_results(quick, Py_None, results, NULL, code, offset);
        Py_DECREF(code);
        Py_DECREF(offset);
    }
    Py_XDECREF(results);
    Py_DECREF(sequence);
    return out;
}
