/* Fronts: recognising a form. See core.h. */

#pragma once

#include "core.h"

/* -- recognising a form: `_graph._matched` ----------------------------------------------------- */

static PyObject *items_at(PyObject *flat, PyObject *places)
{
    Py_ssize_t n = PyList_GET_SIZE(places);
    PyObject *items = PyList_New(n);
    for (Py_ssize_t i = 0; items && i < n; i++) {
        Py_ssize_t k = PyLong_AsSsize_t(PyList_GET_ITEM(places, i));
        PyList_SET_ITEM(items, i, Py_NewRef(PyList_GET_ITEM(flat, k)));
    }
    return items;
}

/* The operands of all nodes, in order, new. NULL if an op differs or a node has a value. */
static PyObject *flattened(PyObject *nodes, PyObject *ops)
{
    Py_ssize_t count = PyList_GET_SIZE(nodes), total = 0, k = 0;
    if (count != PyList_GET_SIZE(ops))
        return NULL;
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *node = PyList_GET_ITEM(nodes, i);
        if (PyList_GET_ITEM(node, OP) != PyList_GET_ITEM(ops, i) ||
            PyList_GET_ITEM(node, VALUE) != Py_None ||
            !PyTuple_CheckExact(PyList_GET_ITEM(node, ARGS)))
            return NULL;
        total += PyTuple_GET_SIZE(PyList_GET_ITEM(node, ARGS));
    }
    PyObject *flat = PyList_New(total);
    for (Py_ssize_t i = 0; flat && i < count; i++) {
        PyObject *args = PyList_GET_ITEM(PyList_GET_ITEM(nodes, i), ARGS);
        if (!PyTuple_CheckExact(args) || k + PyTuple_GET_SIZE(args) > total)
            break; /* a destructor has computed the node meanwhile */
        for (Py_ssize_t j = 0; j < PyTuple_GET_SIZE(args); j++)
            PyList_SET_ITEM(flat, k++, Py_NewRef(PyTuple_GET_ITEM(args, j)));
    }
    if (flat && k < total)
        Py_CLEAR(flat);
    return flat;
}

/* Whether operands that share a node or a leaf in the form share one here too. */
static int is_wired(PyObject *pairs, PyObject *flat, PyObject *nodes, PyObject *leaves)
{
    PyObject *wired = PyTuple_GET_ITEM(pairs, 0), *sources = PyTuple_GET_ITEM(pairs, 1);
    Py_ssize_t count = PyList_GET_SIZE(nodes);
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(wired); i++) {
        Py_ssize_t k = PyLong_AsSsize_t(PyList_GET_ITEM(wired, i));
        Py_ssize_t source = PyLong_AsSsize_t(PyList_GET_ITEM(sources, i));
        PyObject *wanted = source < count ? PyList_GET_ITEM(nodes, source)
                                          : PyList_GET_ITEM(leaves, source - count);
        if (PyList_GET_ITEM(flat, k) != wanted)
            return 0;
    }
    return 1;
}

/* Whether every leaf has a value, and none is a slot. `types`: the class of slots' values. */
static int are_leaves(PyObject *leaves, PyObject *types)
{
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(leaves); i++) {
        PyObject *leaf = PyList_GET_ITEM(leaves, i);
        PyObject *value = PyList_CheckExact(leaf) ? PyList_GET_ITEM(leaf, VALUE) : Py_None;
        if (value == Py_None || PyObject_IsInstance(value, types) != 0)
            return 0;
    }
    return 1;
}

/* Replace the nodes at the places `host` by their values. 0 if a value is not of class `types`. */
static int see_slots(PyObject *slots, PyObject *host, PyObject *types)
{
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(host); i++) {
        Py_ssize_t k = PyLong_AsSsize_t(PyList_GET_ITEM(host, i));
        PyObject *node = PyList_GET_ITEM(slots, k);
        PyObject *value = PyList_CheckExact(node) ? PyList_GET_ITEM(node, VALUE) : Py_None;
        if (PyObject_IsInstance(value, types) != 1)
            return 0;
        Py_INCREF(value);
        PyList_SetItem(slots, k, value);
    }
    return 1;
}

/* Whether each node has as many references as in the form. `base`: the result of `sys.getrefcount`
   for an object that only a list refers to, if called as it was for the form. An argument also
   refers to `asked`. */
static int are_counts(PyObject *nodes, PyObject *counts, int base, PyObject *asked)
{
    if (PyList_GET_SIZE(nodes) != PyList_GET_SIZE(counts))
        return 0;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(nodes); i++) {
        PyObject *node = PyList_GET_ITEM(nodes, i);
        Py_ssize_t others = Py_REFCNT(node) - 1 - (node == asked);
        if (others != PyLong_AsSsize_t(PyList_GET_ITEM(counts, i)) - base)
            return 0;
    }
    return 1;
}

static PyObject *matched(PyObject *self_, PyObject *const *args, size_t nargsf, PyObject *names)
{
    Front *front = (Front *)self_;
    PyObject *like, *nodes, *asked, *flat, *leaves = NULL, *slots = NULL, *out = NULL;
    if (PyVectorcall_NARGS(nargsf) != 3 || names || Py_TYPE(args[0]) != the.Likeness)
        return hand_on(front, args, nargsf, names);
    like = args[0];
    nodes = args[1];
    asked = args[2];
    flat = flattened(nodes, OF(like, Likeness, _ops));
    if (!flat)
        return hand_on(front, args, nargsf, names); /* another thread may have computed some */
    Py_ssize_t place = PyLong_AsSsize_t(OF(like, Likeness, _asked));
    if (asked == (place < 0 ? Py_None : PyList_GET_ITEM(nodes, place))) {
        leaves = items_at(flat, OF(like, Likeness, _leaves));
        slots = items_at(flat, OF(like, Likeness, _slots));
    }
    int same = leaves && slots && are_leaves(leaves, front->slot_type) &&
               is_wired(OF(like, Likeness, _pairs), flat, nodes, leaves) &&
               see_slots(slots, OF(like, Likeness, _host), front->slot_type);
    Py_DECREF(flat);
    if (same && are_counts(nodes, OF(like, Likeness, counts), front->counted, asked) &&
        are_counts(leaves, OF(like, Likeness, leaf_counts), front->counted, asked))
        out = PyTuple_Pack(2, leaves, slots);
    Py_XDECREF(leaves);
    Py_XDECREF(slots);
    return out || PyErr_Occurred() ? out : Py_NewRef(Py_None);
}

/* The leaves of the round after that with these nodes and leaves, new. */
static PyObject *carried_on(PyObject *places, PyObject *before, PyObject *leaves)
{
    Py_ssize_t n = PyList_GET_SIZE(places), count = PyList_GET_SIZE(before);
    PyObject *next = PyList_New(n);
    for (Py_ssize_t i = 0; next && i < n; i++) {
        Py_ssize_t k = PyLong_AsSsize_t(PyList_GET_ITEM(places, i));
        PyObject *item = k < count ? PyList_GET_ITEM(before, k)
                                   : PyList_GET_ITEM(leaves, k - count);
        PyList_SET_ITEM(next, i, Py_NewRef(item));
    }
    return next;
}

/* `_unit.matched_round_in_python` */
static PyObject *matched_round(PyObject *self_, PyObject *const *args, size_t nargsf,
                               PyObject *names)
{
    Front *front = (Front *)self_;
    PyObject *unit, *nodes, *flat, *leaves, *slots = NULL, *out = NULL;
    if (PyVectorcall_NARGS(nargsf) != 4 || names || Py_TYPE(args[0]) != the.Unit)
        return hand_on(front, args, nargsf, names);
    unit = args[0];
    nodes = args[1];
    flat = flattened(nodes, OF(unit, Unit, ops));
    if (!flat)
        return hand_on(front, args, nargsf, names);
    leaves = args[3] == Py_None ? items_at(flat, OF(unit, Unit, _firsts))
                                : carried_on(OF(unit, Unit, _carried), args[2], args[3]);
    if (leaves && is_wired(OF(unit, Unit, _pairs), flat, nodes, leaves))
        slots = items_at(flat, OF(unit, Unit, _slots));
    if (slots && see_slots(slots, OF(unit, Unit, _host), front->slot_type))
        out = PyTuple_Pack(2, leaves, slots);
    Py_DECREF(flat);
    Py_XDECREF(leaves);
    Py_XDECREF(slots);
    return out || PyErr_Occurred() ? out : Py_NewRef(Py_None);
}
