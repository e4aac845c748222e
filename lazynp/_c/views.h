/* Fronts: functions that show an array in another form. See core.h. */

#pragma once

#include "indexing.h"

/* NumPy's array after one more step, new: a view, or a copy where NumPy makes one. `dims`: the axes
   of a transpose, the shape of a reshape, the name of an attribute, or what makes the view; None
   for other steps, which Python takes. */
static PyObject *after_step(PyObject *memory, PyObject *step, PyObject *dims)
{
    PyTypeObject *kind = Py_TYPE(step);
    npy_intp numbers[NPY_MAXDIMS];
    PyArray_Dims them = {numbers, 0};
    PyArrayObject *whole = (PyArrayObject *)memory;
    Look look;
    if (dims == Py_None)
        return PyObject_CallMethodOneArg(step, the.layout, memory);
    if (PyUnicode_Check(dims)) /* "real", "imag" */
        return look_at_parts(&look, whole, PyUnicode_READ_CHAR(dims, 0) == 'i')
                   ? seen_as(whole, &look)
                   : PyObject_GetAttr(memory, dims);
    if (PyLong_Check(dims)) { /* a diagonal; the handle decides whether it is writable */
        PyObject *out = PyArray_Diagonal(whole, (int)PyLong_AsLong(dims), -2, -1);
        if (out && PyArray_ISWRITEABLE(whole))
            PyArray_ENABLEFLAGS((PyArrayObject *)out, NPY_ARRAY_WRITEABLE);
        return out;
    }
    if (PyArray_DescrCheck(dims))
        return PyArray_View(whole, (PyArray_Descr *)Py_NewRef(dims), NULL);
    if (!PyTuple_CheckExact(dims))
        return PyObject_CallOneArg(dims, memory);
    for (; them.len < PyTuple_GET_SIZE(dims); them.len++)
        numbers[them.len] = PyLong_AsSsize_t(PyTuple_GET_ITEM(dims, them.len));
    if (PyErr_Occurred())
        return NULL;
    if (kind == (PyTypeObject *)the.Transpose)
        return look_turned(&look, whole, numbers, them.len) ? seen_as(whole, &look)
                                                            : PyArray_Transpose(whole, &them);
    return look_reshaped(&look, whole, numbers, them.len)
               ? seen_as(whole, &look)
               : PyArray_Newshape(whole, &them, NPY_CORDER);
}

/* Whether NumPy's array is another view of the same memory. */
static int is_view_of(PyObject *view, PyObject *memory)
{
    if (!is_memory(view) || view == memory)
        return 0;
    PyObject *below = PyArray_BASE((PyArrayObject *)view);
    return below && (below == memory || below == PyArray_BASE((PyArrayObject *)memory));
}

/* What the arguments of a call are known by, new: the array's aval and the others, which are ints,
   tuples of ints, None, or what names a dtype. NULL: forward, or an error. */
static PyObject *key_of_call(Front *front, PyObject *const *args, Py_ssize_t n)
{
    PyObject *aval = lasting_aval(args[0]), *key;
    if (!aval)
        return NULL;
    for (Py_ssize_t i = 1; i < n; i++) {
        int tuple = PyTuple_CheckExact(args[i]);
        if (!tuple && !PyLong_CheckExact(args[i]) && args[i] != Py_None &&
            !PyArray_DescrCheck(args[i]) && Py_TYPE(args[i]) != &PyType_Type &&
            !(front->named && PyUnicode_CheckExact(args[i])))
            return NULL;
        for (Py_ssize_t k = 0; tuple && k < PyTuple_GET_SIZE(args[i]); k++)
            if (!PyLong_CheckExact(PyTuple_GET_ITEM(args[i], k)))
                return NULL;
    }
    Py_INCREF(aval); /* because the next line may run code */
    key = PyTuple_New(n);
    for (Py_ssize_t i = 0; key && i < n; i++)
        PyTuple_SET_ITEM(key, i, Py_NewRef(i ? args[i] : aval));
    Py_DECREF(aval);
    return key;
}

/* What `entries` holds for a call, borrowed. NULL: forward, or an error. */
static PyObject *entry_of_call(Front *front, PyObject *const *args, Py_ssize_t n)
{
    /* an argument that always is the same object, or none */
    int alone = n == 1 || (n == 2 && args[1] == Py_None);
    PyObject *second = n == 1 ? NULL : args[1];
    PyObject *aval = lasting_aval(args[0]), *entry = NULL, *key;
    if (aval && alone && (entry = recent_entry(front, aval, second)))
        return entry;
    key = key_of_call(front, args, n);
    entry = key ? PyDict_GetItemWithError(front->entries, key) : NULL;
    if (entry && alone) {
        aval = PyTuple_GET_ITEM(key, 0); /* the table holds it too */
        *place_of(front, aval, second) = (Recent){
            .known = {aval, second}, .entry = entry, .version = version(front->entries)};
    }
    Py_XDECREF(key);
    return entry;
}

/* Whether a view of this large array may be made without looking at its memory, by a step that takes
   any memory order: its owner's memory is there. Such a view belongs to the program that reads it:
   see `view_at_once`. */
static int is_viewed_later(PyObject *self, PyObject *now)
{
    PyObject *base = OF(self, Array, _base), *aval = lasting_aval(self);
    if (!aval || are_small(now, PyLong_AsDouble(OF(aval, Aval, nbytes))))
        return 0;
    PyObject *node = node_of(base && base != Py_None ? base : self);
    PyObject *value = node ? PyList_GET_ITEM(node, VALUE) : Py_None;
    return is_memory(value) && is_of_numbers((PyArrayObject *)value);
}

/* A new view, one step further than `self`. `path`: of the step alone. Steals the node. */
static PyObject *view_after(PyObject *self, PyObject *step, PyObject *path, PyObject *node,
                            PyObject *seen)
{
    if (OF(self, Array, _base) != Py_None)
        return view_of(self, Py_NewRef(step), node, seen);
    PyObject *out = owner(the.NDArray, node);
    if (!out)
        return NULL;
    OF(out, Array, _path) = Py_NewRef(path);
    Py_SETREF(OF(out, Array, _base), Py_NewRef(self));
    Py_SETREF(OF(out, Array, _seen), Py_NewRef(seen));
    return out;
}

/* The view by one more step. `entry`: (step, aval, dims, whether it may take the step in any memory
   order, whether it turns axes, the view's flags, the path of the step alone). Sets `*again` if
   Python must make it. */
static PyObject *view_by(Front *front, PyObject *self, PyObject *entry, PyObject *now, int *again)
{
    PyObject *step = PyTuple_GET_ITEM(entry, 0), *aval = PyTuple_GET_ITEM(entry, 1);
    int goes_on = is_eager(now) && may_go_on(now);
    PyObject *node = goes_on ? node_of(self) : NULL, *out = NULL;
    PyObject *value = node ? PyList_GET_ITEM(node, VALUE) : Py_None, *seen = NULL, *view = NULL;
    PyArrayObject *memory = (PyArrayObject *)value;
    int in_any_order = PyTuple_GET_ITEM(entry, 3) == Py_True;
    *again = 1;
    if (goes_on && in_any_order && is_viewed_later(self, now)) {
        *again = 0;
        out = view_after(self, step, PyTuple_GET_ITEM(entry, 6), leaf(Py_None, aval), Py_None);
        goto made;
    }
    if (!is_memory(value) || !is_of_numbers(memory) || !is_small(now, memory) ||
        !is_in_owner(self, memory))
        return NULL;
    if (!in_any_order && OF(self, Array, _order) != Py_None && !is_laid_out(self, memory))
        return NULL;
    if (front->contiguous && !PyArray_IS_C_CONTIGUOUS(memory))
        return NULL;
    seen = Py_NewRef(seen_by(self));
    Py_INCREF(value);
    view = after_step(value, step, PyTuple_GET_ITEM(entry, 2));
    if (!view)
        PyErr_Clear(); /* Python reports it */
    if (view && is_view_of(view, value)) {
        *again = 0;
        PyObject *base = OF(self, Array, _base) == Py_None ? self : OF(self, Array, _base);
        int viewed = OF(base, Array, _seen) == the.viewed;
        out = view_after(self, step, PyTuple_GET_ITEM(entry, 6),
                         leaf(viewed ? Py_None : view, aval), viewed ? Py_None : seen);
    }
    Py_DECREF(value);
made:
    if (out && (PyTuple_GET_ITEM(entry, 4) == Py_True || OF(self, Array, _order) != Py_None))
        Py_SETREF(OF(out, Array, _order), Py_NewRef(Py_True));
    if (out && PyTuple_GET_ITEM(entry, 5) != Py_None) {
        PyObject *flags = PyDict_Copy(PyTuple_GET_ITEM(entry, 5));
        if (flags)
            Py_SETREF(OF(out, Array, _flags), flags);
        else
            Py_CLEAR(out);
    }
    if (out && seen && is_large(seen)) {
        PyObject *noted = PyObject_CallOneArg(the.note, out);
        if (!noted)
            Py_CLEAR(out);
        Py_XDECREF(noted);
    }
    Py_XDECREF(view);
    Py_XDECREF(seen);
    return out;
}

/* Whether a step may have to copy, in this memory order or in the one that the owner has now. */
static int may_need_copy(PyObject *self, PyObject *entry)
{
    if (Py_TYPE(PyTuple_GET_ITEM(entry, 0)) != (PyTypeObject *)the.Reshape ||
        (OF(self, Array, _base) == Py_None && OF(self, Array, _order) == Py_None))
        return 0;
    PyObject *node = node_of(self), *value = node ? PyList_GET_ITEM(node, VALUE) : NULL;
    return !value || (is_memory(value) && !PyArray_IS_C_CONTIGUOUS((PyArrayObject *)value));
}

/* The copy that NumPy makes where no view has the new shape, in a new owner. NULL, without an error:
   it is a view, or forward. */
static PyObject *copy_by(Front *front, PyObject *self, PyObject *entry, PyObject *now)
{
    if (!is_eager(now) || !may_go_on(now) || watched())
        return NULL;
    PyObject *shown = is_stale(self) ? present(self) : Py_NewRef(self), *out = NULL, *copy = NULL;
    PyObject *node = shown ? node_of(shown) : NULL, *value = NULL;
    if (node && is_memory(PyList_GET_ITEM(node, VALUE)))
        value = Py_NewRef(PyList_GET_ITEM(node, VALUE));
    PyArrayObject *memory = (PyArrayObject *)value;
    if (value && is_of_numbers(memory) && is_small(now, memory) &&
        !PyArray_IS_C_CONTIGUOUS(memory) && is_laid_out(shown, memory)) {
        copy = front->contiguous ? PyArray_Flatten(memory, NPY_CORDER)
                                 : after_step(value, PyTuple_GET_ITEM(entry, 0),
                                              PyTuple_GET_ITEM(entry, 2));
        if (!copy)
            drop_error(self); /* Python reports it */
        else if (is_memory(copy) && !is_view_of(copy, value))
            out = fresh_owner((PyArrayObject *)copy);
    }
    Py_XDECREF(copy);
    Py_XDECREF(value);
    Py_XDECREF(shown);
    return out;
}

/* `_views.showing`: a function of an array, and of arguments that determine how it shows it.
   `entries`: what the arguments are known by -> see `view_by`; None if the array is the result. */
static PyObject *shown(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *names)
{
    Front *front = (Front *)self;
    Py_ssize_t n = PyVectorcall_NARGS(nargsf);
    PyObject *entry, *now, *out = NULL;
    int again = 1;
    if (n == 0 || names || !nothing_staged() ||
        !(front->kin ? is_handle(args[0]) : is_array(args[0])) ||
        OF(args[0], Array, _flags) != Py_None)
        return hand_on(front, args, nargsf, names);
    entry = Py_XNewRef(entry_of_call(front, args, n));
    if (PyErr_Occurred())
        return NULL;
    if (entry == Py_None) {
        Py_DECREF(entry);
        return Py_NewRef(args[0]);
    }
    now = entry ? recorder() : NULL;
    if (now && may_need_copy(args[0], entry))
        out = copy_by(front, args[0], entry, now);
    if (out)
        again = 0;
    else if (now && !PyErr_Occurred()) {
        /* of a view that holds no memory: a further view holds none either */
        PyObject *there = is_eager(now) && is_stale(args[0]) ? present(args[0]) : NULL;
        if (!PyErr_Occurred())
            out = view_by(front, there ? there : args[0], entry, now, &again);
        Py_XDECREF(there);
    }
    Py_XDECREF(now);
    Py_XDECREF(entry);
    return again && !PyErr_Occurred() ? hand_on(front, args, nargsf, names) : out;
}

/* strided(memory, shape, strides): NumPy's view of this memory, whose base it has. Nothing is checked. */
static PyObject *strided(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyArrayObject *memory;
    PyArray_Dims shape = {NULL, 0}, strides = {NULL, 0};
    PyObject *out = NULL;
    if (!PyArg_ParseTuple(args, "O!O&O&", &PyArray_Type, &memory, PyArray_IntpConverter, &shape,
                          PyArray_IntpConverter, &strides))
        return NULL;
    if (shape.len != strides.len)
        PyErr_SetString(PyExc_ValueError, "strided: one stride for each axis");
    else {
        Py_INCREF(PyArray_DESCR(memory));
        out = PyArray_NewFromDescr(&PyArray_Type, PyArray_DESCR(memory), shape.len, shape.ptr,
                                   strides.ptr, PyArray_DATA(memory),
                                   PyArray_FLAGS(memory) & NPY_ARRAY_WRITEABLE, NULL);
    }
    if (out && PyArray_SetBaseObject((PyArrayObject *)out, Py_NewRef(memory)) < 0)
        Py_CLEAR(out);
    if (out)
        PyArray_UpdateFlags((PyArrayObject *)out, NPY_ARRAY_UPDATE_ALL);
    PyDimMem_FREE(shape.ptr);
    PyDimMem_FREE(strides.ptr);
    return out;
}
