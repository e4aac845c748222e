/* How handles are allocated and freed. See core.h.

   Every operation makes a handle, and most handles die soon. Python frees an object of a class with
   slots by a walk over its classes; these functions know the slots. They keep a few dead handles
   for the next ones, as Python does with its lists. */

#pragma once

#include "core.h"

enum { KEPT = 32 }; /* of each class */
static struct {
    PyTypeObject *type;
    Py_ssize_t weak; /* the offset of the list of weak references */
    int count;
    PyObject *dead[KEPT]; /* their slots are NULL */
} handles[2];

static inline int kind_of_handle(PyTypeObject *type)
{
    return type == handles[0].type ? 0 : type == handles[1].type ? 1 : -1;
}

static PyObject *new_handle(PyTypeObject *type, Py_ssize_t items)
{
    int kind = kind_of_handle(type);
    if (kind < 0 || !handles[kind].count)
        return PyType_GenericAlloc(type, items);
    PyObject *self = PyObject_Init(handles[kind].dead[--handles[kind].count], type);
    PyObject_GC_Track(self);
    return self;
}

/* A destructor may run at each of these, and see no more of this handle than is left. */
static void clear_slots(PyObject *self)
{
    Py_CLEAR(OF(self, Array, _node));
    Py_CLEAR(OF(self, Array, _base));
    Py_CLEAR(OF(self, Array, _path));
    Py_CLEAR(OF(self, Array, _seen));
    Py_CLEAR(OF(self, Array, _flags));
    Py_CLEAR(OF(self, Array, _order));
}

/* What is left of a handle when its class has no more use for it. */
static inline void bury(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    int kind = kind_of_handle(type);
    if (SLOT(self, handles[0].weak))
        PyObject_ClearWeakRefs(self);
    clear_slots(self);
    if (kind >= 0 && handles[kind].count < KEPT)
        handles[kind].dead[handles[kind].count++] = self;
    else
        type->tp_free(self);
    Py_DECREF(type);
}

/* Free a handle. For one of a subclass, Python has freed what that adds. */
static void free_handle(PyObject *self)
{
    PyObject_GC_UnTrack(self);
    if (OF(self, Array, _base) == Py_None) { /* else it may be the last to hold another handle */
        bury(self);
        return;
    }
    Py_TRASHCAN_BEGIN(self, free_handle)
    bury(self);
    Py_TRASHCAN_END
}

/* The same for `Basic`, a tuple of two: each view that a slice makes has one. */
static struct {
    int count;
    PyObject *dead[KEPT];
} steps;

static PyObject *new_step(PyTypeObject *type, Py_ssize_t items)
{
    if (items != 2 || (PyObject *)type != the.Basic || !steps.count)
        return PyType_GenericAlloc(type, items);
    PyObject *self = (PyObject *)PyObject_InitVar((PyVarObject *)steps.dead[--steps.count], type, 2);
    PyObject_GC_Track(self);
    return self;
}

static void free_step(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    for (Py_ssize_t i = PyTuple_GET_SIZE(self); i-- > 0;) {
        PyObject *item = PyTuple_GET_ITEM(self, i);
        PyTuple_SET_ITEM(self, i, NULL);
        Py_XDECREF(item);
    }
    if ((PyObject *)type == the.Basic && PyTuple_GET_SIZE(self) == 2 && steps.count < KEPT)
        steps.dead[steps.count++] = self;
    else
        type->tp_free(self);
    Py_DECREF(type);
}

/* Let these functions make and free the handles, and the steps, of lazynp's own classes. */
static int take_handles(void)
{
    PyObject *classes[2] = {the.NDArray, the.Scalar};
    PyTypeObject *step = (PyTypeObject *)the.Basic;
    if (step->tp_basicsize != PyTuple_Type.tp_basicsize || step->tp_finalize) {
        PyErr_Format(PyExc_TypeError, "%R has more than the items of a tuple", step);
        return -1;
    }
    step->tp_alloc = new_step;
    step->tp_dealloc = free_step;
    for (int kind = 0; kind < 2; kind++) {
        PyTypeObject *type = (PyTypeObject *)classes[kind];
        if (type->tp_basicsize != ((PyTypeObject *)the.Array)->tp_basicsize ||
            !type->tp_weaklistoffset || type->tp_dictoffset || type->tp_finalize ||
            type->tp_itemsize || !PyType_IS_GC(type)) {
            PyErr_Format(PyExc_TypeError, "%R has more than the slots of Array", type);
            return -1;
        }
        handles[kind].type = (PyTypeObject *)Py_NewRef((PyObject *)type);
        handles[kind].weak = type->tp_weaklistoffset;
        type->tp_alloc = new_handle;
        type->tp_dealloc = free_handle;
    }
    return 0;
}
