/* Fronts: functions of NumPy's that write into an array. See core.h. */

#pragma once

#include "storing.h"
#include "whole.h"

/* Whether another argument than `target` may show what is written: whoever holds that memory is
   counted, but a view that is out of date holds none. */
static int may_show(PyObject *target, PyObject *x)
{
    PyObject *base = OF(target, Array, _base);
    return is_array(x) && (x == target || OF(x, Array, _base) == target ||
                           (base != Py_None && (x == base || OF(x, Array, _base) == base)));
}

/* `_written.by_writing`: its first argument is an array, which NumPy's function writes, and which is
   all that it changes. */
static PyObject *by_writing(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *names)
{
    Front *front = (Front *)self;
    Py_ssize_t n = PyVectorcall_NARGS(nargsf), named = names ? PyTuple_GET_SIZE(names) : 0;
    Py_ssize_t all = n + named, made = 1;
    PyObject *values[MOST_ARGUMENTS], *now, *result = NULL;
    PyArrayObject *target = NULL;
    int met = 0, again = 1, locked = 0;
    if (n == 0 || n > front->operands || all > MOST_ARGUMENTS || !nothing_staged() ||
        !is_array(args[0]) || OF(args[0], Array, _flags) != Py_None || watched())
        return hand_on(front, args, nargsf, names);
    for (Py_ssize_t i = 1; i < all; i++)
        if (may_show(args[0], args[i]))
            return hand_on(front, args, nargsf, names);
    now = recorder();
    if (!now)
        return NULL;
    while (is_eager(now) && made < all &&
           (values[made] = argument(args[made], now, &met, DEEPEST)))
        made++;
    if (is_eager(now) && made == all && may_store(locked = lock(args[0])))
        target = target_of(args[0], now);
    if (target) {
        values[0] = (PyObject *)target;
        result = quiet_named(OF(now, Recorder, quiet), front->function, values, n, names, &again);
        if (!result && !again)
            again = forget(); /* none of them reads what it has written */
        if (!PyErr_Occurred())
            spend(now, values[0]);
        Py_DECREF(target);
    }
    unlock(locked);
    while (--made > 0)
        Py_DECREF(values[made]);
    Py_DECREF(now);
    if (result) /* None */
        return result;
    return again && !PyErr_Occurred() ? hand_on(front, args, nargsf, names) : NULL;
}
