/* Fronts: x[i], x[i] = v and x op= v of arrays whose values carry tangents. See tangents.h.

   What Python does for them is in `_getset._get_traced`, `_getset._recorded_store` and
   `_array.Array._write`. C does it for basic indices that were met before. */

#pragma once

#include "storing.h"

/* Whether a transformation remembers that this array holds one of its tracers: `_array.noted`. */
static int is_noted(PyObject *outer, PyObject *array)
{
    PyObject *written = TANGENT(outer, JVPTrace, written), *key = PyLong_FromVoidPtr(array);
    PyObject *found = key && written && PyDict_CheckExact(written)
                          ? PyDict_GetItemWithError(written, key)
                          : NULL;
    Py_XDECREF(key);
    PyErr_Clear();
    return found && PyTuple_CheckExact(found) && PyTuple_GET_SIZE(found) == 2 &&
           PyWeakref_CheckRef(PyTuple_GET_ITEM(found, 0)) &&
           PyWeakref_GET_OBJECT(PyTuple_GET_ITEM(found, 0)) == array;
}

/* (node, second, *starts), or without `second`; new. */
static PyObject *with_starts(PyObject *node, PyObject *second, PyObject *starts)
{
    Py_ssize_t n = PyTuple_GET_SIZE(starts), k = 0;
    PyObject *new = PyTuple_New(n + 1 + (second != NULL));
    if (!new)
        return NULL;
    PyTuple_SET_ITEM(new, k++, Py_NewRef(node));
    if (second)
        PyTuple_SET_ITEM(new, k++, Py_NewRef(second));
    for (Py_ssize_t i = 0; i < n; i++)
        PyTuple_SET_ITEM(new, k++, Py_NewRef(PyTuple_GET_ITEM(starts, i)));
    return new;
}

/* The result of a primitive for these operands, at the user's position: its node, new. NULL without
   an error: forward. */
static PyObject *replayed_here(PyObject *primitive, PyObject *params, PyObject *operands,
                               PyObject *now, PyObject *sole)
{
    PyObject *outer = NULL, *code, *offset, *out = NULL;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(operands); i++) {
        PyObject *x = PyTuple_GET_ITEM(operands, i);
        if (PyList_CheckExact(x) && PyList_GET_SIZE(x) == NODE_SIZE && tracer_in(x))
            outer = TANGENT(tracer_in(x), JVPTracer, trace);
    }
    if (!outer)
        return NULL;
    Py_INCREF(outer);
    if (PyDict_CheckExact(params) && users_position(&code, &offset)) {
        out = replay(outer, primitive, PyDict_GET_SIZE(params) ? params : NULL,
                     ((PyTupleObject *)operands)->ob_item, PyTuple_GET_SIZE(operands), now, code,
                     offset, sole);
        Py_DECREF(code);
        Py_DECREF(offset);
    }
    Py_DECREF(outer);
    return out;
}

/* `x[i]`, new. NULL without an error: forward. */
static PyObject *traced_item(PyObject *self, PyObject *index, PyObject *now)
{
    PyObject *node = node_of(self), *tracer = node && tangents.rules ? tracer_in(node) : NULL;
    if (!tracer || !is_basic(index) || !may_go_on(now) ||
        !is_a(TANGENT(tracer, JVPTracer, aval), the.Aval))
        return NULL;
    PyObject *aval = Py_NewRef(TANGENT(tracer, JVPTracer, aval)), *seen = Py_NewRef(seen_by(self));
    PyObject *key, *entry = NULL, *params = NULL, *operands = NULL, *got = NULL, *out = NULL;
    Py_INCREF(node);
    key = key_of_index(index);
    if (key)
        entry = Py_XNewRef(PyDict_GetItemWithError(OF(aval, Aval, get_memo), key));
    if (!entry || !PyTuple_CheckExact(entry) || PyTuple_GET_SIZE(entry) != 3)
        goto end;
    PyObject *op = PyTuple_GET_ITEM(entry, 0), *step = PyTuple_GET_ITEM(entry, 2);
    if (OF(op, Op, host) != Py_False || !(params = PyObject_GetAttr(step, the.params)))
        goto end;
    operands = with_starts(node, NULL, PyTuple_GET_ITEM(entry, 1));
    got = operands ? replayed_here(tangents.slice, params, operands, now, NULL) : NULL;
    if (got && OF(op, Op, scalar) == Py_True && is_true(step, the.scalar_of))
        out = owner(the.Scalar, Py_NewRef(got));
    else if (got)
        out = view_of(self, Py_NewRef(step), Py_NewRef(got), seen);
end:
    Py_DECREF(aval);
    Py_DECREF(seen);
    Py_DECREF(node);
    Py_XDECREF(key);
    Py_XDECREF(entry);
    Py_XDECREF(params);
    Py_XDECREF(operands);
    Py_XDECREF(got);
    return out;
}

enum { ANY_FLOATS = 2048 }; /* ints up to this are numbers of every floating dtype */

/* What is stored, as an operand of a part of this shape and dtype, new. NULL: Python checks it. */
static PyObject *operand_of_store(PyObject *value, PyObject *dtype, PyObject *shape)
{
    if (!PyArray_DescrCheck(dtype))
        return NULL;
    long long whole;
    if (PyFloat_CheckExact(value))
        return ((PyArray_Descr *)dtype)->kind == 'f' ? Py_NewRef(value) : NULL;
    if (PyLong_CheckExact(value)) /* `_assigned.assigned_scalar` */
        return ((PyArray_Descr *)dtype)->kind == 'f' && as_integer(value, &whole) &&
                       -ANY_FLOATS <= whole && whole <= ANY_FLOATS
                   ? PyFloat_FromDouble((double)whole)
                   : NULL;
    PyObject *node = is_array(value) || is_scalar(value) ? node_of(value) : NULL;
    PyObject *aval = node ? type_behind(node) : NULL;
    if (!aval || OF(aval, Aval, dtype) != dtype || OF(aval, Aval, weak) != Py_False)
        return NULL;
    PyObject *its = OF(aval, Aval, shape);
    return !PyTuple_GET_SIZE(its) || PyObject_RichCompareBool(its, shape, Py_EQ) == 1
               ? Py_NewRef(node)
               : NULL;
}

/* A new version of an array's value with another part: its node, new. The caller holds `node` once.
   NULL without an error: forward. If nothing else holds the value, it is written in place. `other`:
   what the caller stores or combines; a view of the array remembers which value it was read from. */
static PyObject *traced_update(PyObject *node, PyObject *operand, PyObject *step, PyObject *other,
                               PyObject *now)
{
    PyObject *starts = PyObject_GetAttr(step, the.starts), *operands = NULL, *new = NULL;
    PyObject *params = starts ? PyObject_GetAttr(step, the.params) : NULL;
    PyObject *tracer = tracer_in(node), *primal = TANGENT(tracer, JVPTracer, primal);
    int seen = is_array(other) && OF(other, Array, _base) != Py_None && OF(other, Array, _seen) == node;
    int is_sole = Py_REFCNT(node) == 2 + seen && Py_REFCNT(tracer) == 1 && Py_REFCNT(primal) == 1;
    if (params && PyTuple_CheckExact(starts))
        operands = with_starts(node, operand, starts);
    if (operands)
        new = replayed_here(tangents.update_slice, params, operands, now,
                            is_sole ? primal : NULL);
    Py_XDECREF(starts);
    Py_XDECREF(params);
    Py_XDECREF(operands);
    return new;
}

/* `x[i] = v`. 1: done; 0: forward; -1: an error. */
static int traced_store(PyObject *self, PyObject *index, PyObject *value, PyObject *now)
{
    PyObject *node = node_of(self), *tracer = node && tangents.rules ? tracer_in(node) : NULL;
    if (!tracer || OF(self, Array, _base) != Py_None || !is_basic(index) || !may_go_on(now) ||
        watched() || !is_a(TANGENT(tracer, JVPTracer, aval), the.Aval) ||
        !is_noted(TANGENT(tracer, JVPTracer, trace), self))
        return 0;
    PyObject *aval = Py_NewRef(TANGENT(tracer, JVPTracer, aval)), *key, *step = NULL;
    PyObject *params = NULL, *operand = NULL, *shape, *new = NULL;
    int done = 0;
    Py_INCREF(node);
    key = key_of_index(index);
    if (key && is_there(self, aval, key, value)) {
        done = 1;
        goto end;
    }
    if (key)
        step = Py_XNewRef(PyDict_GetItemWithError(OF(aval, Aval, set_memo), key));
    params = step ? PyObject_GetAttr(step, the.params) : NULL;
    shape = params && PyDict_CheckExact(params) ? PyDict_GetItemString(params, "shape") : NULL;
    if (shape)
        operand = operand_of_store(value, OF(aval, Aval, dtype), shape);
    if (operand)
        new = traced_update(node, operand, step, value, now);
    if (new && OF(self, Array, _node) == node) { /* else, code that ran meanwhile has written it */
        Py_SETREF(OF(self, Array, _node), Py_NewRef(new));
        done = 1;
    }
end:
    Py_DECREF(aval);
    Py_DECREF(node);
    Py_XDECREF(key);
    Py_XDECREF(step);
    Py_XDECREF(params);
    Py_XDECREF(operand);
    Py_XDECREF(new);
    return !done && PyErr_Occurred() ? -1 : done;
}

/* The value of `x op v`, a handle, new, if it may replace that of x. NULL without an error: forward. */
static PyObject *traced_result(Front *front, PyObject *self, PyObject *other, PyObject *aval)
{
    PyObject *xs[2] = {self, other}, *node;
    if (Py_TYPE(front->operator) != &FrontType)
        return NULL;
    PyObject *out = PyObject_Vectorcall(front->operator, xs, 2, NULL);
    if (out && (!is_array(out) || OF(out, Array, _base) != Py_None || !(node = node_of(out)) ||
                !tracer_in(node) || type_behind(node) != aval))
        Py_CLEAR(out);
    return out;
}

/* Whether an array's value carries a tangent, and Python has noted the array before. */
static PyObject *noted_tracer(PyObject *array)
{
    PyObject *node = is_array(array) && OF(array, Array, _base) == Py_None ? node_of(array) : NULL;
    PyObject *tracer = node && tangents.rules ? tracer_in(node) : NULL;
    return tracer && OF(array, Array, _flags) == Py_None &&
                   is_noted(TANGENT(tracer, JVPTracer, trace), array)
               ? tracer
               : NULL;
}

/* `view op= v`: 1: done; 0: forward; -1: an error. */
static int traced_view_updated(Front *front, PyObject *self, PyObject *other, PyObject *now)
{
    PyObject *base = OF(self, Array, _base), *path = OF(self, Array, _path), *node = node_of(self);
    PyObject *tracer = node ? tracer_in(node) : NULL, *of_base = noted_tracer(base), *overlaps;
    if (!tracer || !of_base || TANGENT(tracer, JVPTracer, trace) != TANGENT(of_base, JVPTracer, trace) ||
        OF(base, Array, _seen) == the.viewed || !path || !PyTuple_CheckExact(path) ||
        PyTuple_GET_SIZE(path) != 1 || Py_TYPE(PyTuple_GET_ITEM(path, 0)) == (PyTypeObject *)the.Basic)
        return 0;
    PyObject *step = Py_NewRef(PyTuple_GET_ITEM(path, 0)), *aval = Py_NewRef(type_behind(node));
    PyObject *result = NULL, *before = NULL, *new = NULL, *found;
    int done = 0;
    Py_INCREF(base);
    overlaps = PyObject_GetAttr(step, the.overlaps);
    Py_XDECREF(overlaps);
    if (overlaps != Py_False || !PyObject_HasAttr(step, the.starts)) { /* `x.imag` has none */
        PyErr_Clear();
        goto end;
    }
    before = Py_NewRef(OF(base, Array, _node));
    result = traced_result(front, self, other, aval);
    if (!result || OF(base, Array, _node) != before)
        goto end;
    /* from here on the view is out of date, so that its memory does not prevent a write in place */
    Py_SETREF(OF(self, Array, _seen), Py_NewRef(Py_None));
    Py_SETREF(OF(self, Array, _node), Py_NewRef(OF(result, Array, _node)));
    new = traced_update(before, OF(result, Array, _node), step, other, now);
    if (new && OF(base, Array, _node) == before) {
        Py_SETREF(OF(base, Array, _node), Py_NewRef(new));
        Py_SETREF(OF(self, Array, _seen), Py_NewRef(new));
        done = 1;
    }
    else if (!PyErr_Occurred()) {
        found = PyObject_CallMethod(self, "_write", "O", OF(result, Array, _node));
        done = found ? 1 : -1;
        Py_XDECREF(found);
    }
end:
    Py_DECREF(base);
    Py_DECREF(step);
    Py_DECREF(aval);
    Py_XDECREF(before);
    Py_XDECREF(result);
    Py_XDECREF(new);
    return !done && PyErr_Occurred() ? -1 : done;
}

/* `x op= v`: 1: done; 0: forward; -1: an error. */
static int traced_in_place(Front *front, PyObject *self, PyObject *other, PyObject *now)
{
    if (!may_go_on(now))
        return 0;
    if (OF(self, Array, _base) != Py_None)
        return traced_view_updated(front, self, other, now);
    PyObject *tracer = noted_tracer(self), *before = OF(self, Array, _node);
    PyObject *result = tracer ? traced_result(front, self, other, TANGENT(tracer, JVPTracer, aval)) : NULL;
    int done = result && OF(self, Array, _node) == before;
    if (done)
        Py_SETREF(OF(self, Array, _node), Py_NewRef(OF(result, Array, _node)));
    Py_XDECREF(result);
    return !done && PyErr_Occurred() ? -1 : done;
}

/* -- `_trace.record`, `_array.bind` ------------------------------------------------------------ */

/* Whether operations may be replayed now. */
static int may_replay(PyObject *const *args, size_t nargsf, PyObject *names)
{
    return PyVectorcall_NARGS(nargsf) == 3 && !names && tangents.rules && PyTuple_CheckExact(args[1]) &&
           PyTuple_GET_SIZE(args[1]) <= MOST_OPERANDS && PyDict_CheckExact(args[2]) && nothing_staged();
}

/* `record(primitive, operands, params)`, the operands nodes and numbers. */
static PyObject *record_traced(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *names)
{
    Front *front = (Front *)self;
    PyObject *now = may_replay(args, nargsf, names) ? recorder() : NULL, *out = NULL;
    if (now)
        out = replayed_here(args[0], args[2], args[1], now, NULL);
    Py_XDECREF(now);
    return out || PyErr_Occurred() ? out : hand_on(front, args, nargsf, names);
}

/* `bind(primitive, operands, params)`, the operands handles and numbers: a new array. */
static PyObject *bound(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *names)
{
    Front *front = (Front *)self;
    PyObject *now = NULL, *nodes = NULL, *out = NULL, *node;
    int traced = 0;
    if (may_replay(args, nargsf, names))
        for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(args[1]); i++)
            traced = traced || carries_tangent(PyTuple_GET_ITEM(args[1], i));
    now = traced ? recorder() : NULL;
    nodes = now && may_go_on(now) ? PyTuple_New(PyTuple_GET_SIZE(args[1])) : NULL;
    for (Py_ssize_t i = 0; nodes && i < PyTuple_GET_SIZE(nodes); i++) {
        PyObject *x = PyTuple_GET_ITEM(args[1], i);
        node = is_array(x) || is_scalar(x) ? node_of(x) : is_python_number(x) ? x : NULL;
        if (node)
            PyTuple_SET_ITEM(nodes, i, Py_NewRef(node));
        else
            Py_CLEAR(nodes);
    }
    node = nodes ? replayed_here(args[0], args[2], nodes, now, NULL) : NULL;
    if (node)
        out = owner(the.NDArray, node);
    Py_XDECREF(now);
    Py_XDECREF(nodes);
    return out || PyErr_Occurred() ? out : hand_on(front, args, nargsf, names);
}
