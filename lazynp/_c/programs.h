/* Kept programs that run now: a list of operations on values, run by NumPy one after the other. See
   `_kept._Program`. */

#pragma once

#include "at_once.h"
#include "guarded.h"

/* The items of a step. */
enum { STEP_OP, STEP_PLACES, STEP_DEAD, STEP_ENDS, STEP_SIZE };

/* Memory that only the list of values holds, and that may be written; else NULL. */
static PyArrayObject *memory_of_dead(PyObject *value)
{
    PyObject *base = is_memory(value) ? PyArray_BASE((PyArrayObject *)value) : NULL;
    if (!is_memory(value) || Py_REFCNT(value) != 1 || !PyArray_ISWRITEABLE((PyArrayObject *)value))
        return NULL;
    if (base && (!is_memory(base) || Py_REFCNT(base) != 1 || PyArray_BASE((PyArrayObject *)base)))
        return NULL;
    return (PyArrayObject *)value;
}

/* `part += u` of doubles, one after the other or along one axis; whether that was done. */
static int added_doubles(PyObject *part, PyObject *u)
{
    PyArrayObject *to = (PyArrayObject *)part, *from = (PyArrayObject *)u;
    if (!is_memory(part) || !is_memory(u) || !is_of(to, NPY_DOUBLE) || !is_of(from, NPY_DOUBLE) ||
        !PyArray_ISWRITEABLE(to) || !PyArray_SAMESHAPE(to, from) || PyArray_SIZE(to) > HELD)
        return 0;
    int flat = PyArray_NDIM(to) != 1;
    if ((flat && !(PyArray_IS_C_CONTIGUOUS(to) && PyArray_IS_C_CONTIGUOUS(from))) ||
        !may_be_written(to, from))
        return 0;
    npy_intp step = flat ? (npy_intp)sizeof(double) : PyArray_STRIDE(to, 0);
    npy_intp other = flat ? (npy_intp)sizeof(double) : PyArray_STRIDE(from, 0);
    char *at = PyArray_BYTES(to), *add = PyArray_BYTES(from);
    for (npy_intp i = 0, n = PyArray_SIZE(to); i < n; i++)
        *(double *)(at + i * step) += *(double *)(add + i * other);
    return 1;
}

/* `x[part] += u`, where `inplace` tells the part: x, new. */
static PyObject *added_to_part(PyObject *op, PyObject *const *values, Py_ssize_t n)
{
    PyObject *both = PyObject_Vectorcall(OF(op, Op, inplace), values, n, NULL), *out = NULL;
    if (both && PyTuple_CheckExact(both) && PyTuple_GET_SIZE(both) == 2) {
        PyObject *part = PyTuple_GET_ITEM(both, 0);
        PyObject *u = PyTuple_GET_ITEM(both, 1);
        out = added_doubles(part, u) ? Py_NewRef(part) : PyNumber_InPlaceAdd(part, u);
    }
    if (out)
        Py_SETREF(out, Py_NewRef(values[0]));
    Py_XDECREF(both);
    return out;
}

/* NumPy's function into the memory of an operand that dies here, new. NULL without an error: none
   fits. */
static PyObject *computed_into(PyObject *op, const Way *way, PyObject *const *values, Py_ssize_t n,
                               Py_ssize_t ends)
{
    PyObject *given[3] = {values[0], n > 1 ? values[1] : NULL, NULL};
    int type = way->guards ? NPY_DOUBLE : way->loop.out;
    PyObject *shape = OF(OF(op, Op, aval), Aval, shape);
    for (Py_ssize_t i = 0; i < n; i++) {
        PyArrayObject *memory = ends >> i & 1 ? memory_of_dead(values[i]) : NULL;
        if (!memory || PyArray_TYPE(memory) != type || (PyArray_SIZE(memory) <= HELD && !way->guards) ||
            !PyArray_IS_C_CONTIGUOUS(memory) || PyArray_NDIM(memory) != PyTuple_GET_SIZE(shape))
            continue;
        int fits = PyArray_ISNBO(PyArray_DESCR(memory)->byteorder);
        for (int axis = 0; axis < PyArray_NDIM(memory); axis++)
            fits = fits && PyArray_DIM(memory, axis) == PyLong_AsSsize_t(PyTuple_GET_ITEM(shape, axis));
        if (!fits)
            continue;
        PyArrayObject *out = way->loop.loop && suit_loop(&way->loop, values, n)
                                 ? by_loop(&way->loop, values, n, memory)
                                 : NULL;
        if (out || PyErr_Occurred())
            return (PyObject *)out;
        given[n] = (PyObject *)memory;
        return PyObject_Vectorcall(OF(op, Op, reference), given, n + 1, NULL);
    }
    return NULL;
}

/* Whether a guarded product takes these with memory for its result. */
static int are_doubles(PyObject *const *values, Py_ssize_t n)
{
    Doubles unused;
    double room;
    PyObject *like = n == 2 && is_memory(values[0]) ? values[0] : values[n - 1];
    return n == 2 && is_memory(like) && as_doubles(values[0], (PyArrayObject *)like, &room, &unused) &&
           as_doubles(values[1], (PyArrayObject *)like, &room, &unused);
}

/* The result of one step, new. */
static PyObject *result_of_step(PyObject *step, PyObject *const *values, Py_ssize_t n)
{
    PyObject *op = PyTuple_GET_ITEM(step, STEP_OP), *out = NULL;
    Py_ssize_t ends = PyLong_AsSsize_t(PyTuple_GET_ITEM(step, STEP_ENDS));
    Way *way = way_of(op);
    if (way->updates && ends & 1 && PyCallable_Check(OF(op, Op, inplace)) &&
        memory_of_dead(values[0]))
        return way->adds ? added_to_part(op, values, n)
                         : PyObject_Vectorcall(OF(op, Op, inplace), values, n, NULL);
    if ((way->loop.loop || (way->guards && are_doubles(values, n))) && ends && OF(op, Op, scalar) != Py_True)
        out = computed_into(op, way, values, n, ends);
    return out || PyErr_Occurred() ? out : computed(op, values, n, NULL);
}

/* Put the values of nodes in their places; 0: one is not there, or an error. */
static int take_values(PyObject *list)
{
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(list); i++) {
        PyObject *x = PyList_GET_ITEM(list, i);
        if (!PyList_CheckExact(x))
            continue;
        PyObject *value = operand_there(x);
        if (!value)
            return 0;
        PyList_SET_ITEM(list, i, value);
        Py_DECREF(x);
    }
    return 1;
}

/* The values in this list, and after them the results of the steps. It steals the list. Values may be
   nodes; None: one has no value that is there. A step is a tuple (op, places of operands, places that
   nothing reads after it, a bit for each operand that is one of them). */
static PyObject *steps_run_on(PyObject *steps, PyObject *list)
{
    PyObject *few[MOST_ARGS], **values = few;
    Py_ssize_t room = MOST_ARGS;
    if (!take_values(list)) {
        Py_DECREF(list);
        return PyErr_Occurred() ? NULL : Py_NewRef(Py_None);
    }
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(steps); i++) {
        PyObject *step = PyTuple_GET_ITEM(steps, i);
        PyObject *places = PyTuple_GET_ITEM(step, STEP_PLACES);
        PyObject *dead = PyTuple_GET_ITEM(step, STEP_DEAD);
        Py_ssize_t n = PyTuple_GET_SIZE(places);
        if (n > room) { /* what is joined may be many */
            PyObject **more = PyMem_Realloc(values == few ? NULL : values, n * sizeof(*values));
            if (!more) {
                PyErr_NoMemory();
                goto failed;
            }
            values = more;
            room = n;
        }
        for (Py_ssize_t k = 0; k < n; k++)
            values[k] = PyList_GET_ITEM(list, PyLong_AsSsize_t(PyTuple_GET_ITEM(places, k)));
        PyObject *out = result_of_step(step, values, n);
        if (!out || PyList_Append(list, out) < 0) {
            Py_XDECREF(out);
            goto failed;
        }
        Py_DECREF(out);
        for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(dead); k++) {
            Py_ssize_t place = PyLong_AsSsize_t(PyTuple_GET_ITEM(dead, k));
            PyObject *before = PyList_GET_ITEM(list, place);
            PyList_SET_ITEM(list, place, Py_NewRef(Py_None));
            Py_DECREF(before);
        }
    }
    goto end;
failed:
    Py_CLEAR(list);
end:
    if (values != few)
        PyMem_Free(values);
    return list;
}

/* `run_steps(steps, values)`: the same for any sequence of values. */
static PyObject *run_steps(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *steps, *given, *list;
    if (!PyArg_ParseTuple(args, "O!O", &PyTuple_Type, &steps, &given))
        return NULL;
    list = PySequence_List(given);
    return list ? steps_run_on(steps, list) : NULL;
}
