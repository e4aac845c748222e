/* Front: a call of a jitted function on arrays that lie elsewhere, all on the same devices. See
   core.h.

   `_quick.operands_of`, `_on_devices.at_once` and `_placed.delivered` define it. A call
   that has always run by itself, and runs now, needs nothing but its operands' buffers. Devices that
   share the processor with this thread push Python's code and data out of its caches, so that a
   microsecond of Python takes five. */

#pragma once

#include "calls.h"

/* The placed value that an array or Scalar holds, borrowed; NULL: forward. */
static PyObject *placed_value(PyObject *x)
{
    if ((!is_array(x) && !is_scalar(x)) || OF(x, Array, _base) != Py_None ||
        OF(x, Array, _flags) != Py_None)
        return NULL;
    PyObject *node = node_of(x), *value = node ? PyList_GET_ITEM(node, VALUE) : Py_None;
    return Py_TYPE(value) == (PyTypeObject *)calls.Placed && PyList_GET_ITEM(node, OP) == Py_None
               ? value
               : NULL;
}

/* The placed values of the arguments: arrays, then Scalars; borrowed. 0: forward. */
static int placed_values(PyObject *const *args, Py_ssize_t n, PyObject **values)
{
    Py_ssize_t at = 0;
    for (Py_ssize_t i = 0; i < n; i++)
        for (Py_ssize_t j = 0; j < i; j++)
            if (args[j] == args[i])
                return 0;
    for (int scalars = 0; scalars < 2; scalars++)
        for (Py_ssize_t i = 0; i < n; i++)
            if (is_scalar(args[i]) == scalars && !(values[at++] = placed_value(args[i])))
                return 0;
    for (Py_ssize_t i = 1; i < n; i++)
        if (OF_CALL(values[i], Placed, place) != OF_CALL(values[0], Placed, place) ||
            OF_CALL(values[i], Placed, committed) != OF_CALL(values[0], Placed, committed))
            return 0;
    return 1;
}

/* The key of arguments that have such values, new: as `_quick._of_leaves` makes it. */
static PyObject *key_of_placed(PyObject *const *args, Py_ssize_t n, PyObject *like)
{
    PyObject *parts[2 + 3 * MOST_ARGS];
    Py_ssize_t k = 0;
    parts[k++] = OF_CALL(like, Placed, place);
    parts[k++] = OF_CALL(like, Placed, committed);
    for (Py_ssize_t i = 0; i < n; i++) {
        if (is_scalar(args[i]))
            parts[k++] = the.Scalar;
        parts[k++] = OF_CALL(PyList_GET_ITEM(OF(args[i], Array, _node), VALUE), Placed, aval);
        if (OF(args[i], Array, _order) != Py_None)
            parts[k++] = OF(args[i], Array, _order);
    }
    return tuple_of(parts, k);
}

/* Whether nothing of this thread's waits for devices of a place. */
static int none_pending(PyObject *place)
{
    PyObject *recorders = PyObject_GetAttr(the.local, calls.placed), *found = NULL;
    if (recorders && PyDict_CheckExact(recorders))
        found = PyDict_GetItemWithError(recorders, place);
    int none = found && Py_TYPE(found) == (PyTypeObject *)calls.PlacedRecorder &&
               is_list(OF(found, Recorder, pending)) &&
               !PyList_GET_SIZE(OF(found, Recorder, pending)) &&
               !PyDict_GET_SIZE(OF_CALL(found, PlacedRecorder, sources));
    Py_XDECREF(recorders);
    return none;
}

/* How such a call ran before, new; NULL: forward. As `_on_devices.at_once`. */
static PyObject *alone_of(PyObject *place, PyObject *op)
{
    PyObject *key = PyTuple_Pack(2, place, op);
    PyObject *alone = key ? Py_XNewRef(PyDict_GetItemWithError(calls.alone, key)) : NULL;
    Py_XDECREF(key);
    if (!alone)
        return NULL;
    PyObject *prepared = OF_CALL(alone, Alone, prepared);
    PyObject *current = OF_CALL(OF_CALL(alone, Alone, plan), Plan, current);
    if (OF_CALL(place, Place, asked) != Py_True || PyList_GET_SIZE(calls.observers) ||
        PyLong_AsSsize_t(OF_CALL(alone, Alone, times)) < calls.times || prepared == Py_None ||
        current == Py_None || OF_CALL(prepared, Prepared, program) != current ||
        PyList_GET_SIZE(OF_CALL(prepared, Prepared, slots)) || !none_pending(place))
        Py_CLEAR(alone);
    return alone;
}

/* Note that no value was asked for since this run, and what it has moved. */
static int count_moves(PyObject *like, PyObject *plan, PyObject *prepared)
{
    PyObject *place = OF_CALL(like, Placed, place), *done;
    Py_SETREF(OF_CALL(place, Place, asked), Py_NewRef(Py_False));
    if (OF_CALL(prepared, Prepared, moves) != Py_True)
        return 0;
    done = PyObject_CallOneArg(calls.count, plan);
    Py_XDECREF(done);
    return done ? 0 : -1;
}

/* Run a call with these values now. NULL without an error: forward. */
static PyObject *run_prepared(PyObject *quick, PyObject *alone, PyObject **values, Py_ssize_t n)
{
    PyObject *plan = Py_NewRef(OF_CALL(alone, Alone, plan)), *code, *offset, *out = NULL;
    PyObject *prepared = Py_NewRef(OF_CALL(alone, Alone, prepared));
    PyObject *nodes[MOST_ARGS];
    for (Py_ssize_t i = 0; i < n; i++)
        nodes[i] = OF_CALL(values[i], Placed, node);
    PyObject *buffers = buffers_of_call(prepared, nodes, n, PLACED);
    if (buffers && users_position(&code, &offset)) {
        PyObject *given[3] = {buffers, Py_None, Py_True};
        PyObject *found = PyObject_Vectorcall(OF_CALL(prepared, Prepared, run), given, 3, NULL);
        if (found && count_run(plan) == 0 && count_moves(values[0], plan, prepared) == 0)
            out = tree_of_results(quick, plan, found, values[0], code, offset);
        Py_XDECREF(found);
        Py_DECREF(code);
        Py_DECREF(offset);
    }
    Py_XDECREF(buffers);
    Py_DECREF(prepared);
    Py_DECREF(plan);
    return out;
}

/* The same for these arguments. */
static PyObject *call_elsewhere(PyObject *table, PyObject *const *args, Py_ssize_t n)
{
    PyObject *values[MOST_ARGS] = {NULL}, *key, *quick = NULL, *alone = NULL, *out = NULL;
    if (!placed_values(args, n, values))
        return NULL;
    for (Py_ssize_t i = 0; i < n; i++)
        Py_INCREF(values[i]);
    key = key_of_placed(args, n, values[0]);
    if (key)
        quick = Py_XNewRef(PyDict_GetItemWithError(table, key));
    if (quick)
        alone = alone_of(OF_CALL(values[0], Placed, place), OF_CALL(quick, Quick, op));
    if (alone)
        out = run_prepared(quick, alone, values, n);
    Py_XDECREF(key);
    Py_XDECREF(quick);
    Py_XDECREF(alone);
    for (Py_ssize_t i = 0; i < n; i++)
        Py_DECREF(values[i]);
    return out;
}

/* Begin a run, as `_spread._Queue.run`: in turn, and not with too many others under way. `function`
   begins it, `queue` is the queue's lock, its list of tokens, their number, and an error that its
   results tell of. */
static PyObject *queued(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *names)
{
    static PyObject *with_tokens, *consume_token, *wait;
    Front *front = (Front *)self;
    PyObject *lock = PyTuple_GET_ITEM(front->first, 0), *tokens = PyTuple_GET_ITEM(front->first, 1);
    PyObject *oldest = NULL, *error[3], *done;
    Py_ssize_t most = PyLong_AsSsize_t(PyTuple_GET_ITEM(front->first, 2));
    if (PyVectorcall_NARGS(nargsf) != 1 || names)
        return hand_on(front, args, nargsf, names);
    if (!with_tokens) {
        PyObject *name = PyUnicode_InternFromString("with_tokens");
        consume_token = PyUnicode_InternFromString("consume_token");
        wait = PyUnicode_InternFromString("block_until_ready");
        with_tokens = name && consume_token && wait ? PyTuple_Pack(1, name) : NULL;
        Py_XDECREF(name);
        if (!with_tokens)
            return NULL;
    }
    done = PyObject_CallMethodNoArgs(lock, the.acquire);
    if (!done)
        return NULL;
    Py_DECREF(done);
    PyObject *given[2] = {args[0], Py_True};
    PyObject *results = PyObject_Vectorcall(front->function, given, 1, with_tokens);
    PyObject *token = results ? PyObject_CallMethodNoArgs(results, consume_token) : NULL;
    if (token && PyList_Append(tokens, token) == 0 && PyList_GET_SIZE(tokens) > most) {
        oldest = PyList_GetSlice(tokens, 0, most / 2);
        if (oldest && PyList_SetSlice(tokens, 0, most / 2, NULL) < 0)
            Py_CLEAR(oldest);
    }
    Py_XDECREF(token);
    PyErr_Fetch(&error[0], &error[1], &error[2]);
    done = PyObject_CallMethodNoArgs(lock, the.release);
    Py_XDECREF(done);
    if (error[0])
        PyErr_Restore(error[0], error[1], error[2]);
    for (Py_ssize_t i = 0; oldest && i < PyList_GET_SIZE(oldest) && !PyErr_Occurred(); i++) {
        done = PyObject_CallMethodNoArgs(PyList_GET_ITEM(oldest, i), wait);
        if (!done && PyErr_ExceptionMatches(PyTuple_GET_ITEM(front->first, 3)))
            PyErr_Clear(); /* its results tell */
        Py_XDECREF(done);
    }
    Py_XDECREF(oldest);
    if (PyErr_Occurred())
        Py_CLEAR(results);
    return results;
}

