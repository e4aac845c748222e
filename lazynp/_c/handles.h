/* How handles, and the steps of views, are allocated and freed. See core.h.

   Every operation makes a handle, every slice a step, and most of them die soon. Python frees an
   object of a class with slots by a walk over its classes; these functions know the slots. They
   keep a few dead objects for the next ones, as Python does with its lists. */

#pragma once

#include "core.h"
#include "shells.h"

enum { KEPT = 32, OF_SCALARS = 1, POOLS = 3 }; /* dead objects of each class; classes */
static struct Pool {
    PyTypeObject *type;
    Py_ssize_t items; /* of each object, for a class of tuples */
    int count;
    PyObject *dead[KEPT]; /* their slots, and items, are NULL */
} pools[POOLS];

static inline struct Pool *pool_of(PyTypeObject *type)
{
    for (int i = 0; i < POOLS; i++)
        if (pools[i].type == type)
            return &pools[i];
    return NULL; /* a class of the user's */
}

static PyObject *allocate(PyTypeObject *type, Py_ssize_t items)
{
    struct Pool *pool = pool_of(type);
    if (!pool || !pool->count || pool->items != items)
        return PyType_GenericAlloc(type, items);
    PyObject *self = pool->dead[--pool->count];
    if (items)
        PyObject_InitVar((PyVarObject *)self, type, items);
    else
        PyObject_Init(self, type);
    PyObject_GC_Track(self);
    return self;
}

/* A dead Scalar as a new one that the collector does not see, with empty slots. NULL: there is none. */
static inline PyObject *dead_scalar(void)
{
    struct Pool *pool = &pools[OF_SCALARS];
    return pool->count ? PyObject_Init(pool->dead[--pool->count], pool->type) : NULL;
}

/* Keep an object whose slots or items are NULL by now, or free its memory. */
static inline void bury(PyObject *self, Py_ssize_t items)
{
    PyTypeObject *type = Py_TYPE(self);
    struct Pool *pool = pool_of(type);
    if (pool && pool->items == items && pool->count < KEPT)
        pool->dead[pool->count++] = self;
    else
        type->tp_free(self);
    Py_DECREF(type);
}

/* Dead paths by their length. The last item is a `Basic`, which refers to nothing, as the path does
   otherwise. The collector does not see a `Basic` from here, whose index consists of ints, so that it
   is in no cycle. */
enum { LONGEST = 3 };
static struct {
    int count;
    PyObject *dead[KEPT];
} paths[LONGEST + 1];

static inline int is_path(PyObject *path)
{
    Py_ssize_t n = path && PyTuple_CheckExact(path) ? PyTuple_GET_SIZE(path) : 0;
    if (!n || n > LONGEST || Py_REFCNT(path) != 1 || paths[n].count == KEPT)
        return 0;
    PyObject *step = PyTuple_GET_ITEM(path, n - 1);
    return Py_TYPE(step) == (PyTypeObject *)the.Basic && Py_REFCNT(step) == 1;
}

/* Give up a handle's reference to its path. */
static inline void drop_path(PyObject *path)
{
    PyObject *dropped[LONGEST + 1];
    if (!is_path(path)) {
        Py_XDECREF(path);
        return;
    }
    Py_ssize_t n = PyTuple_GET_SIZE(path);
    PyObject *step = PyTuple_GET_ITEM(path, n - 1);
    PyObject_GC_UnTrack(path);
    PyObject_GC_UnTrack(step);
    for (Py_ssize_t i = 0; i < n - 1; i++) {
        dropped[i] = PyTuple_GET_ITEM(path, i);
        PyTuple_SET_ITEM(path, i, NULL);
    }
    for (Py_ssize_t i = 0; i < 2; i++) {
        dropped[n - 1 + i] = PyTuple_GET_ITEM(step, i);
        PyTuple_SET_ITEM(step, i, NULL);
    }
    paths[n].dead[paths[n].count++] = path;
    for (Py_ssize_t i = 0; i <= n; i++)
        Py_XDECREF(dropped[i]); /* may run Python code */
}

/* A path that ends by a `Basic`, new; both without their other items. */
static PyObject *empty_path(Py_ssize_t n)
{
    PyTypeObject *basic = (PyTypeObject *)the.Basic; /* the tuple (index, aval) */
    if (n <= LONGEST && paths[n].count)
        return paths[n].dead[--paths[n].count];
    PyObject *path = PyTuple_New(n), *step = path ? basic->tp_alloc(basic, 2) : NULL;
    if (!step) {
        Py_XDECREF(path);
        return NULL;
    }
    PyTuple_SET_ITEM(path, n - 1, step);
    PyObject_GC_UnTrack(path);
    PyObject_GC_UnTrack(step);
    return path;
}

/* The path `before`, if not NULL, and then along a basic index of ints from an array of this aval,
   new. */
static PyObject *path_along(PyObject *before, PyObject *index, PyObject *aval)
{
    Py_ssize_t taken = before ? PyTuple_GET_SIZE(before) : 0;
    PyObject *path = empty_path(taken + 1), *step;
    if (!path)
        return NULL;
    step = PyTuple_GET_ITEM(path, taken);
    PyTuple_SET_ITEM(step, 0, Py_NewRef(index));
    PyTuple_SET_ITEM(step, 1, Py_NewRef(aval));
    for (Py_ssize_t i = 0; i < taken; i++)
        PyTuple_SET_ITEM(path, i, Py_NewRef(PyTuple_GET_ITEM(before, i)));
    if (taken)
        PyObject_GC_Track(path); /* other steps may be anything */
    return path;
}

/* A destructor may run at each line, and sees no more of this handle than is left. */
static void clear_handle(PyObject *self)
{
    if (SLOT(self, ((PyTypeObject *)the.Array)->tp_weaklistoffset))
        PyObject_ClearWeakRefs(self);
    PyObject *node = OF(self, Array, _node);
    OF(self, Array, _node) = NULL;
    drop_node(node);
    Py_CLEAR(OF(self, Array, _base));
    PyObject *path = OF(self, Array, _path);
    OF(self, Array, _path) = NULL;
    drop_path(path);
    Py_CLEAR(OF(self, Array, _seen));
    Py_CLEAR(OF(self, Array, _flags));
    Py_CLEAR(OF(self, Array, _order));
    bury(self, 0);
}

/* Free a handle. For one of a subclass, Python has freed what that adds. */
static void free_handle(PyObject *self)
{
    if (is_kept(self))
        return;
    PyObject *base = OF(self, Array, _base);
    untrack(self);
    if (!base || base == Py_None || Py_REFCNT(base) > 1) { /* else it may end a chain of handles */
        clear_handle(self);
        return;
    }
    Py_TRASHCAN_BEGIN(self, free_handle)
    clear_handle(self);
    Py_TRASHCAN_END
}

/* Free a `Basic`, which is a tuple. */
static void free_step(PyObject *self)
{
    Py_ssize_t items = PyTuple_GET_SIZE(self);
    PyObject_GC_UnTrack(self);
    for (Py_ssize_t i = items; i-- > 0;) {
        PyObject *item = PyTuple_GET_ITEM(self, i);
        PyTuple_SET_ITEM(self, i, NULL);
        Py_XDECREF(item);
    }
    bury(self, items);
}

/* Whether objects of the class have no more than those of the class below it, and its slots. */
static int is_as_small_as(PyTypeObject *type, PyTypeObject *below)
{
    if (type->tp_basicsize == below->tp_basicsize && !type->tp_finalize && PyType_IS_GC(type) &&
        type->tp_dictoffset == below->tp_dictoffset && type->tp_itemsize == below->tp_itemsize &&
        type->tp_weaklistoffset == below->tp_weaklistoffset)
        return 1;
    PyErr_Format(PyExc_TypeError, "%R has more than %R", type, below);
    return 0;
}

/* Whether the collector's head of an object is where `untrack` looks. */
static int has_heads(void)
{
    PyObject *list = PyList_New(0);
    if (!list)
        return 0;
    int tracked = ((const uintptr_t *)list)[-2] != 0;
    PyObject_GC_UnTrack(list);
    int found = tracked && PyObject_IS_GC(list) && ((const uintptr_t *)list)[-2] == 0;
    PyObject_GC_Track(list);
    found = found && ((const uintptr_t *)list)[-2] != 0;
    Py_DECREF(list);
    return found;
}

/* Let these functions make and free the objects of lazynp's own classes. */
static int take_pools(void)
{
    the.heads = has_heads();
    PyTypeObject *array = (PyTypeObject *)the.Array;
    struct {
        PyObject *type;
        PyTypeObject *below;
        Py_ssize_t items;
        destructor free;
    } all[POOLS] = {{the.NDArray, array, 0, free_handle},
                    {the.Scalar, array, 0, free_handle},
                    {the.Basic, &PyTuple_Type, 2, free_step}};
    for (int i = 0; i < POOLS; i++) {
        PyTypeObject *type = (PyTypeObject *)all[i].type;
        if (!is_as_small_as(type, all[i].below))
            return -1;
        pools[i].type = (PyTypeObject *)Py_NewRef(all[i].type);
        pools[i].items = all[i].items;
        type->tp_alloc = allocate;
        type->tp_dealloc = all[i].free;
    }
    return 0;
}
