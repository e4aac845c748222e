/* Calls of jitted functions that run at once: what those here (here.h) and those elsewhere
   (elsewhere.h) have in common. See core.h. */

#pragma once

#include "core.h"
#include "tangents.h"

/* The slots: class, name. */
#define OF_CALLS(X)                                                                                \
    X(Jitted, _placed) X(Jitted, _here) X(Jitted, _ints) X(Quick, op) X(Quick, projections)        \
    X(Quick, tree) X(Quick, classes)                                                               \
    X(Plan, lean) X(Plan, watch) X(Plan, constants) X(Plan, zero_slots)                            \
    X(Placed, trace) X(Placed, aval) X(Placed, code) X(Placed, offset) X(Placed, node)             \
    X(Placed, place) X(Placed, committed) X(Placed, declared) X(Placed, _host) X(Place, asked)     \
    X(PlacedRecorder, sources) X(Alone, times) X(Alone, plan) X(Alone, prepared) X(Plan, current)  \
    X(Plan, runs) X(Prepared, program) X(Prepared, run) X(Prepared, leaves) X(Prepared, slots)     \
    X(Prepared, moves) X(Prepared, executable) X(Prepared, stages) X(Prepared, vectors)        \
    X(Prepared, fixed) X(Plan, tied) X(Alone, sequence) X(Alone, left)                   \
    X(Sequence, constants) X(Sequence, steps) X(Sequence, outs)

/* What the front gets as `function` and as `known`, in this order. */
#define CLASSES_OF_CALLS(X) X(Jitted) X(Quick) X(Placed) X(Place) X(PlacedRecorder) X(Alone) X(Plan) X(Prepared) \
    X(Sequence)
#define KNOWN_OF_CALLS(X) X(disabled) X(alone) X(observers) X(count) X(stats) X(calls) X(unflatten) X(trace) X(traced_of) \
    X(alone_here) X(elsewhere) X(watched) X(lock) X(buffer_of) X(watched_enough) X(borrowed) X(patience) X(host)

static struct {
#define X(name) PyObject *name;
    CLASSES_OF_CALLS(X) KNOWN_OF_CALLS(X)
#undef X
#define X(class, name) Py_ssize_t class##_##name;
    OF_CALLS(X)
#undef X
    PyObject *placed, *aval, *compiled_runs, *reference_runs, *cuts, *calls_of, *array; /* strings */
    Py_ssize_t times; /* see `_alone.TIMES` */
} calls;

#define OF_CALL(object, class, name) SLOT(object, calls.class##_##name)

static int find_slot(PyObject *class, const char *name, Py_ssize_t *offset);

static inline int is_list(PyObject *x)
{
    return x && PyList_CheckExact(x);
}

/* A tuple of these, new. */
static PyObject *tuple_of(PyObject **parts, Py_ssize_t n)
{
    for (Py_ssize_t i = 0; i < n; i++)
        Py_INCREF(parts[i]); /* a new tuple may collect garbage, which may run code */
    PyObject *made = PyTuple_New(n);
    for (Py_ssize_t i = 0; i < n; i++)
        if (made)
            PyTuple_SET_ITEM(made, i, parts[i]);
        else
            Py_DECREF(parts[i]);
    return made;
}

/* Copy an operand to memory that is a buffer: see `_alone._stage`. That buffer, borrowed; NULL: there
   is none. */
static PyObject *staged_operand(PyObject *prepared, Py_ssize_t i, PyArrayObject *from)
{
    PyObject *stage = PyList_GET_ITEM(OF_CALL(prepared, Prepared, stages), i);
    PyArrayObject *to = stage == Py_None ? NULL : (PyArrayObject *)PyTuple_GET_ITEM(stage, 0);
    if (!to || PyArray_TYPE(to) != PyArray_TYPE(from) || !PyArray_SAMESHAPE(to, from) ||
        !PyArray_ISNBO(PyArray_DESCR(from)->byteorder) || !PyArray_IS_C_CONTIGUOUS(from))
        return NULL;
    memcpy(PyArray_DATA(to), PyArray_DATA(from), PyArray_NBYTES(to));
    return PyTuple_GET_ITEM(stage, 1);
}

/* The buffers that a prepared call takes, new. NULL without an error: one lies otherwise. */
enum { PLACED, /* what lies on the host does not become one */ LENT, STAGED /* or is copied to one */ };
static PyObject *buffers_of_call(PyObject *prepared, PyObject **nodes, Py_ssize_t n, int host)
{
    PyObject *wanted = OF_CALL(prepared, Prepared, leaves);
    PyObject *buffers = PyList_New(PyList_GET_SIZE(wanted));
    for (Py_ssize_t i = 0; buffers && i < PyList_GET_SIZE(buffers); i++) {
        PyObject *pair = PyList_GET_ITEM(wanted, i), *value = NULL, *aval = NULL;
        Py_ssize_t at = PyLong_AsSsize_t(PyTuple_GET_ITEM(pair, 0));
        if (at >= 0 && at < n && is_list(nodes[at]))
            value = Py_NewRef(PyList_GET_ITEM(nodes[at], VALUE));
        PyObject *staged = value && host == STAGED && PyArray_CheckExact(value)
                               ? staged_operand(prepared, i, (PyArrayObject *)value)
                               : NULL;
        if (staged) {
            PyList_SET_ITEM(buffers, i, Py_NewRef(staged));
            Py_DECREF(value);
            continue;
        }
        if (value && host != PLACED && PyArray_CheckExact(value))
            Py_SETREF(value, PyObject_CallFunctionObjArgs(calls.buffer_of, nodes[at],
                                                          OF_CALL(prepared, Prepared, executable), NULL));
        if (value && value != Py_None)
            aval = PyObject_GetAttr(value, calls.aval);
        if (aval && aval == PyTuple_GET_ITEM(pair, 1))
            PyList_SET_ITEM(buffers, i, Py_NewRef(value));
        else {
            if (PyErr_Occurred() && PyErr_ExceptionMatches(PyExc_AttributeError))
                PyErr_Clear(); /* a value that was not computed yet */
            Py_CLEAR(buffers);
        }
        Py_XDECREF(aval);
        Py_XDECREF(value);
    }
    return buffers;
}

/* Write the numbers among the operands that a program takes as such; 0: forward. */
static int write_numbers(PyObject *to, PyObject *places, PyObject **operands, Py_ssize_t n)
{
    int doubles = PyArray_TYPE((PyArrayObject *)to) == NPY_DOUBLE;
    char *memory = PyArray_DATA((PyArrayObject *)to);
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(places); i++) {
        Py_ssize_t at = PyLong_AsSsize_t(PyList_GET_ITEM(places, i));
        PyObject *x = at >= 0 && at < n ? operands[at] : Py_None;
        if (is_list(x))
            x = PyList_GET_ITEM(x, VALUE);
        if (doubles && PyFloat_Check(x)) /* NumPy's are of that class */
            ((double *)memory)[i] = PyFloat_AS_DOUBLE(x);
        else if (!doubles && PyArray_IsScalar(x, Int64))
            ((npy_int64 *)memory)[i] = PyArrayScalar_VAL(x, Int64);
        else if (!doubles && PyLong_CheckExact(x)) {
            int over;
            ((npy_int64 *)memory)[i] = PyLong_AsLongLongAndOverflow(x, &over);
            if (over)
                return 0;
        } else
            return 0;
    }
    return 1;
}

/* Add the vectors of numbers to the buffers; whether that was done. */
static int add_vectors(PyObject *prepared, PyObject *buffers, PyObject **operands, Py_ssize_t n)
{
    PyObject *vectors = OF_CALL(prepared, Prepared, vectors);
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(vectors); i++) {
        PyObject *vector = PyList_GET_ITEM(vectors, i);
        if (!write_numbers(PyTuple_GET_ITEM(vector, 0), PyTuple_GET_ITEM(vector, 2), operands, n) ||
            PyList_Append(buffers, PyTuple_GET_ITEM(vector, 1)) < 0)
            return 0;
    }
    return 1;
}

/* A handle of one result, new. like: an operand elsewhere; NULL: the result is here. */
static PyObject *delivered(PyObject *quick, Py_ssize_t i, PyObject *plan, PyObject *value,
                           PyObject *like, PyObject *code, PyObject *offset)
{
    PyTypeObject *type = (PyTypeObject *)calls.Placed;
    PyObject *op = PyList_GET_ITEM(OF_CALL(quick, Quick, projections), i);
    PyObject *aval = OF(op, Op, aval), *class = PyTuple_GET_ITEM(OF_CALL(quick, Quick, classes), i);
    PyObject *inner = node(op, plan, value, code, offset);
    if (!like)
        return owner(class, inner);
    PyObject *new = inner ? type->tp_alloc(type, 0) : NULL, *outer = NULL;
    PyObject *traced = Py_NewRef(OF(aval, Aval, traced));
    if (traced == Py_None)
        Py_SETREF(traced, PyObject_CallOneArg(calls.traced_of, aval));
    if (new && traced) {
        OF_CALL(new, Placed, trace) = Py_NewRef(calls.trace);
        OF_CALL(new, Placed, aval) = Py_NewRef(aval);
        OF_CALL(new, Placed, code) = Py_NewRef(code);
        OF_CALL(new, Placed, offset) = Py_NewRef(offset);
        OF_CALL(new, Placed, node) = Py_NewRef(inner);
        OF_CALL(new, Placed, place) = Py_NewRef(OF_CALL(like, Placed, place));
        OF_CALL(new, Placed, committed) = Py_NewRef(OF_CALL(like, Placed, committed));
        OF_CALL(new, Placed, declared) = Py_NewRef(Py_None);
        OF_CALL(new, Placed, _host) = Py_NewRef(Py_None);
        outer = leaf(new, traced); /* `tracer_node` */
    }
    Py_XDECREF(traced);
    Py_XDECREF(inner);
    Py_XDECREF(new);
    return owner(class, outer);
}

/* The results of a call as its function returned them, new. */
static PyObject *tree_of_results(PyObject *quick, PyObject *plan, PyObject *values, PyObject *like,
                                 PyObject *code, PyObject *offset)
{
    PyObject *tree = OF_CALL(quick, Quick, tree);
    Py_ssize_t n = PyList_GET_SIZE(OF_CALL(quick, Quick, projections));
    if (!is_list(values) || PyList_GET_SIZE(values) != n) {
        PyErr_SetString(PyExc_SystemError, "a program has other results than its function");
        return NULL;
    }
    PyObject *leaves = PyList_New(n), *out = NULL;
    for (Py_ssize_t i = 0; leaves && i < n; i++) {
        PyObject *x = delivered(quick, i, plan, PyList_GET_ITEM(values, i), like, code, offset);
        if (x)
            PyList_SET_ITEM(leaves, i, x);
        else
            Py_CLEAR(leaves);
    }
    if (leaves && tree == Py_None)
        out = Py_NewRef(PyList_GET_ITEM(leaves, 0));
    else if (leaves)
        out = PyObject_CallFunctionObjArgs(calls.unflatten, tree, leaves, NULL);
    Py_XDECREF(leaves);
    return out;
}

static int add_one(PyObject *object, PyObject *name)
{
    PyObject *before = PyObject_GetAttr(object, name);
    PyObject *after = before ? PyLong_FromSsize_t(PyLong_AsSsize_t(before) + 1) : NULL;
    int failed = !after || PyObject_SetAttr(object, name, after) < 0;
    Py_XDECREF(before);
    Py_XDECREF(after);
    return failed ? -1 : 0;
}

/* Count a call that ran at once, by a program or by reference. */
static int count_call(PyObject *runs)
{
    int failed = add_one(calls.stats, runs) < 0 || add_one(calls.stats, calls.cuts) < 0;
    return failed || add_one(calls.calls, calls.calls_of) < 0 ? -1 : 0;
}

/* Add to a number in a slot. */
static int add_in_slot(PyObject **slot, Py_ssize_t more)
{
    PyObject *sum = PyLong_FromSsize_t(PyLong_AsSsize_t(*slot) + more);
    if (!sum)
        return -1;
    Py_SETREF(*slot, sum);
    return 0;
}

/* Count a run, as `at_once` does. */
static int count_run(PyObject *plan)
{
    return count_call(calls.compiled_runs) < 0 ? -1 : add_in_slot(&OF_CALL(plan, Plan, runs), 1);
}

/* Take the classes and tables of the front. -1: an error. */
static int take_calls_of(const Front *front)
{
    PyObject *all = PySequence_Concat(front->function, front->first), *taken;
    Py_ssize_t i = 0;
#define X(name)                                                                                    \
    if (!all || !(taken = PyTuple_GetItem(all, i++))) {                                            \
        Py_XDECREF(all);                                                                           \
        return -1;                                                                                 \
    }                                                                                              \
    Py_XSETREF(calls.name, Py_NewRef(taken));
    CLASSES_OF_CALLS(X)
    KNOWN_OF_CALLS(X)
#undef X
    Py_DECREF(all);
#define X(class, name)                                                                             \
    if (find_slot(calls.class, #name, &calls.class##_##name) < 0)                                  \
        return -1;
    OF_CALLS(X)
#undef X
    Py_XSETREF(the.host, Py_NewRef(calls.host));
    calls.times = PyLong_AsSsize_t(front->second);
    calls.placed = PyUnicode_InternFromString("placed");
    calls.aval = PyUnicode_InternFromString("aval");
    calls.compiled_runs = PyUnicode_InternFromString("compiled_runs");
    calls.reference_runs = PyUnicode_InternFromString("reference_runs");
    calls.array = PyUnicode_InternFromString("array");
    calls.cuts = PyUnicode_InternFromString("cuts");
    calls.calls_of = PyUnicode_InternFromString("calls");
    return PyErr_Occurred() ? -1 : 0;
}
