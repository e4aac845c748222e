/* Fronts: positions and keys of indices, x[i]. See core.h. */

#pragma once

#include "gather.h"
#include "handles.h"
#include "hosts.h"
#include "records.h"
#include "present.h"
#include "scalars.h"
#include "tangents.h"

/* -- indices ----------------------------------------------------------------------------------- */

/* Convert an index to a C integer. 0 if it is not an integer, or pending, or too large. */
static inline int as_place(PyObject *item, npy_intp *place)
{
    if (is_scalar(item)) {
        item = value_of_scalar(item);
        if (!item)
            return 0;
    }
    long long value;
    if (!as_integer(item, &value))
        return 0;
    *place = (npy_intp)value;
    return *place == value;
}

/* The number of a 0-d array of integers, borrowed; other items are returned as they are. */
static inline PyObject *number_of_single(PyObject *item)
{
    PyObject *node = is_array(item) ? node_of(item) : NULL;
    PyObject *value = node ? PyList_GET_ITEM(node, VALUE) : item;
    return PyArray_IsScalar(value, Integer) ? value : item;
}

static inline int is_no_place(PyObject *item)
{
    return PySlice_Check(item) || item == Py_None || item == Py_Ellipsis;
}

/* The address of the one element that the index selects, which may not be aligned. NULL: forward. */
static char *place_at(PyArrayObject *memory, PyObject *index)
{
    int ndim = PyArray_NDIM(memory);
    PyObject *const *items = &index;
    if (PyTuple_CheckExact(index)) {
        if (PyTuple_GET_SIZE(index) != ndim)
            return NULL;
        items = &PyTuple_GET_ITEM(index, 0);
    }
    else if (ndim != 1)
        return NULL;
    if (ndim == 0 || !PyArray_ISNOTSWAPPED(memory))
        return NULL;
    char *at = PyArray_BYTES(memory);
    for (int axis = 0; axis < ndim; axis++) {
        npy_intp place, length = PyArray_DIM(memory, axis);
        if (is_no_place(items[axis]) || !as_place(number_of_single(items[axis]), &place))
            return NULL;
        place += place < 0 ? length : 0;
        if (place < 0 || place >= length)
            return NULL;
        at += place * PyArray_STRIDE(memory, axis);
    }
    return at;
}

/* The same of an element that is aligned. */
static inline char *element_at(PyArrayObject *memory, PyObject *index)
{
    return PyArray_ISBEHAVED_RO(memory) ? place_at(memory, index) : NULL;
}

/* Whether this may be an integer that is no int of Python's. */
static inline int may_be_place(PyObject *item)
{
    if (PyLong_CheckExact(item) || PySlice_Check(item))
        return 0;
    return is_scalar(item) || PyArray_IsScalar(item, Integer);
}

/* The index with the integers that are there as ints, new: `_index_keys.known_places`. NULL: forward,
   or an error. */
static PyObject *with_known_places(PyObject *index)
{
    npy_intp place;
    if (may_be_place(index))
        return as_place(index, &place) ? PyLong_FromSsize_t(place) : NULL;
    Py_ssize_t n = PyTuple_CheckExact(index) ? PyTuple_GET_SIZE(index) : 0, i = 0;
    while (i < n && !may_be_place(PyTuple_GET_ITEM(index, i)))
        i++;
    if (i == n)
        return Py_NewRef(index);
    PyObject *new = PyTuple_New(n);
    for (i = 0; new && i < n; i++) {
        PyObject *item = PyTuple_GET_ITEM(index, i);
        item = may_be_place(item) ? with_known_places(item) : Py_NewRef(item);
        if (item)
            PyTuple_SET_ITEM(new, i, item);
        else
            Py_CLEAR(new);
    }
    return new;
}

/* Whether these are one index, or made of the same ints and objects. */
static int is_same_index(PyObject *a, PyObject *b)
{
    if (a == b)
        return 1;
    if (PyLong_CheckExact(a) && PyLong_CheckExact(b))
        return PyObject_RichCompareBool(a, b, Py_EQ) == 1;
    if (!PyTuple_CheckExact(a) || !PyTuple_CheckExact(b) ||
        PyTuple_GET_SIZE(a) != PyTuple_GET_SIZE(b))
        return 0;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(a); i++) {
        PyObject *item = PyTuple_GET_ITEM(a, i), *other = PyTuple_GET_ITEM(b, i);
        if (item != other && (PyTuple_CheckExact(item) || !is_same_index(item, other)))
            return 0;
    }
    return 1;
}

/* Whether the index certainly gives a view. */
static int is_basic(PyObject *index)
{
    if (PySlice_Check(index) || PyLong_CheckExact(index) || index == Py_None ||
        index == Py_Ellipsis)
        return 1;
    if (!PyTuple_CheckExact(index))
        return 0;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(index); i++) {
        PyObject *item = PyTuple_GET_ITEM(index, i);
        if (!PySlice_Check(item) && !PyLong_CheckExact(item) && item != Py_None &&
            item != Py_Ellipsis)
            return 0;
    }
    return 1;
}

/* `_index_keys.index_key` for one item made of Python integers, new; NULL for other items. */
static PyObject *key_of_item(PyObject *item)
{
    if (PyLong_CheckExact(item) || item == Py_None || item == Py_Ellipsis)
        return Py_NewRef(item);
    if (!PySlice_Check(item))
        return NULL;
    PySliceObject *s = (PySliceObject *)item;
    PyObject *bounds[3] = {s->start, s->stop, s->step};
    for (int i = 0; i < 3; i++)
        if (bounds[i] != Py_None && !PyLong_CheckExact(bounds[i]))
            return NULL;
    return PyTuple_Pack(4, (PyObject *)&PySlice_Type, s->start, s->stop, s->step);
}

static PyObject *key_of_index(PyObject *index)
{
    if (!PyTuple_CheckExact(index))
        return key_of_item(index);
    Py_ssize_t n = PyTuple_GET_SIZE(index);
    PyObject *key = PyTuple_New(n);
    for (Py_ssize_t i = 0; key && i < n; i++) {
        PyObject *item = key_of_item(PyTuple_GET_ITEM(index, i));
        if (!item)
            Py_CLEAR(key);
        else
            PyTuple_SET_ITEM(key, i, item);
    }
    return key;
}

/* -- x[i]: `_getset.getitem` ------------------------------------------------------------------- */

static inline int is_of_records(PyObject *value)
{
    return is_memory(value) && PyDataType_HASFIELDS(PyArray_DESCR((PyArrayObject *)value));
}

/* Whether the index gives a view of memory that no program holds. An object may be an array itself. */
static int gives_host_view(PyObject *value, PyObject *index)
{
    if (PyUnicode_CheckExact(index))
        return is_of_records(value);
    Py_ssize_t n = PyTuple_CheckExact(index) ? PyTuple_GET_SIZE(index) : 1, ints = 0;
    for (Py_ssize_t i = 0; i < n; i++)
        ints += PyLong_CheckExact(PyTuple_CheckExact(index) ? PyTuple_GET_ITEM(index, i) : index);
    return is_basic(index) && ints < PyArray_NDIM((PyArrayObject *)value);
}

/* The owner's node, borrowed. The value of `self`, which is up to date, was read from it. */
static inline PyObject *seen_by(PyObject *self)
{
    return OF(self, Array, _base) == Py_None ? OF(self, Array, _node) : OF(self, Array, _seen);
}

/* A new view, one step further than `self`, which is an owner or a view without flags. Steals
   `node` and `step`. Either may be NULL after an error. */
static PyObject *view_of(PyObject *self, PyObject *step, PyObject *node, PyObject *seen)
{
    PyObject *base = Py_NewRef(OF(self, Array, _base)), *path = NULL, *out = NULL;
    PyObject *before = base == Py_None ? NULL : Py_XNewRef(OF(self, Array, _path));
    if (!step || !node)
        goto end;
    Py_ssize_t taken = before ? PyTuple_GET_SIZE(before) : 0;
    path = PyTuple_New(taken + 1);
    if (!path)
        goto end;
    for (Py_ssize_t i = 0; i < taken; i++)
        PyTuple_SET_ITEM(path, i, Py_NewRef(PyTuple_GET_ITEM(before, i)));
    PyTuple_SET_ITEM(path, taken, Py_NewRef(step));
    out = owner(the.NDArray, Py_NewRef(node));
    if (!out)
        goto end;
    Py_SETREF(OF(out, Array, _base), Py_NewRef(base == Py_None ? self : base));
    Py_SETREF(OF(out, Array, _seen), Py_NewRef(seen));
    OF(out, Array, _path) = Py_NewRef(path);
    if (OF(self, Array, _order) != Py_None)
        Py_SETREF(OF(out, Array, _order), Py_NewRef(Py_True));
end:
    Py_DECREF(base);
    Py_XDECREF(before);
    Py_XDECREF(path);
    Py_XDECREF(step);
    Py_XDECREF(node);
    return out;
}

/* A view by an index of ints from an array of this aval, with this value, which it steals; without
   one, it is read later. New. */
static PyObject *view_along(PyObject *self, PyObject *index, PyObject *aval, PyObject *part,
                            PyObject *value, PyObject *seen)
{
    PyObject *base = OF(self, Array, _base), *before = NULL;
    if (base == Py_None)
        base = self;
    else
        before = Py_XNewRef(OF(self, Array, _path));
    Py_INCREF(base);
    PyObject *path = path_along(before, index, aval), *node = path ? leaf(value, part) : NULL;
    PyObject *out = owner(the.NDArray, node);
    Py_XDECREF(before);
    Py_DECREF(value);
    if (!out) {
        Py_XDECREF(path);
        Py_DECREF(base);
        return NULL;
    }
    OF(out, Array, _path) = path;
    Py_SETREF(OF(out, Array, _base), base);
    Py_SETREF(OF(out, Array, _seen), Py_NewRef(seen));
    if (OF(self, Array, _order) != Py_None)
        Py_SETREF(OF(out, Array, _order), Py_NewRef(Py_True));
    return out;
}

/* The step to a field of this name, new; the memo keeps it. */
static PyObject *step_to_field(PyObject *aval, PyObject *name)
{
    PyObject *memo = OF(aval, Aval, get_memo), *step = PyDict_GetItemWithError(memo, name);
    if (step || PyErr_Occurred())
        return Py_XNewRef(step);
    step = PyObject_CallOneArg(the.Field, name);
    if (step && PyDict_SetItem(memo, name, step) < 0)
        Py_CLEAR(step);
    return step;
}

/* A view of an available value, for eager mode. It holds NumPy's view, but neither a large one, which
   is part of the program that reads it, nor one of an array whose other views prevented a store. */
static PyObject *view_at_once(PyObject *self, PyObject *index, PyObject *now, PyObject *aval,
                              PyObject *value, int *again)
{
    PyObject *base, *out = NULL, *part = NULL, *step;
    PyObject *seen = Py_NewRef(seen_by(self)), *shown;
    Look look;
    int later, quick = look_at_index(&look, (PyArrayObject *)value, index);
    Py_INCREF(value);
    shown = quick ? seen_as((PyArrayObject *)value, &look)
                  : PyObject_GetItem(value, index); /* a slice's bounds may run code */
    Py_DECREF(value);
    if (!shown) {
        Py_DECREF(seen);
        return NULL;
    }
    *again = 1;
    if (!is_memory(shown) || PyArray_NDIM((PyArrayObject *)shown) == 0)
        goto end;
    part = aval_of_memory((PyArrayObject *)shown);
    if (!part && !PyErr_Occurred())
        part = aval_of_any((PyArrayObject *)shown);
    if (!part)
        goto end;
    *again = 0;
    base = OF(self, Array, _base) == Py_None ? self : OF(self, Array, _base);
    later = OF(base, Array, _seen) == the.viewed || !is_small(now, (PyArrayObject *)shown);
    if (quick) {
        out = view_along(self, index, aval, part, Py_NewRef(later ? Py_None : shown),
                         later ? Py_None : seen);
        goto end;
    }
    PyTypeObject *basic = (PyTypeObject *)the.Basic; /* the tuple (index, aval) */
    step = PyUnicode_CheckExact(index) ? step_to_field(aval, index) : basic->tp_alloc(basic, 2);
    if (!step)
        goto end;
    if (Py_TYPE(step) == basic) {
        PyTuple_SET_ITEM(step, 0, Py_NewRef(index));
        PyTuple_SET_ITEM(step, 1, Py_NewRef(aval));
    }
    out = view_of(self, step, leaf(later ? Py_None : shown, part), later ? Py_None : seen);
end:
    Py_XDECREF(part);
    Py_DECREF(seen);
    Py_DECREF(shown);
    return out;
}

/* The memo entry of a basic index: (op, starts, step), new. NULL: forward, or an error. */
static PyObject *entry_of(PyObject *aval, PyObject *index)
{
    PyObject *key = key_of_index(index);
    PyObject *entry = key ? PyDict_GetItemWithError(OF(aval, Aval, get_memo), key) : NULL;
    Py_XINCREF(entry);
    Py_XDECREF(key);
    if (entry && PyTuple_CheckExact(entry) && PyTuple_GET_SIZE(entry) == 3) {
        PyObject *op = PyTuple_GET_ITEM(entry, 0);
        if (OF(op, Op, host) == Py_False && OF(op, Op, scalar) == Py_False)
            return entry;
    }
    Py_XDECREF(entry);
    return NULL;
}

/* Whether `_stale` lists the views of a node's value. */
static int is_large(PyObject *node)
{
    Py_ssize_t nbytes = PyLong_AsSsize_t(OF(known(node), Aval, nbytes));
    if (nbytes == -1 && PyErr_Occurred())
        PyErr_Clear(); /* `nbytes` of a broadcast array may overflow */
    return nbytes >= the.large || nbytes == -1;
}

/* Record a slice that was seen before. Owns all that it uses: any allocation may run code. */
static PyObject *view_recorded(Front *front, PyObject *self, PyObject *index, PyObject *now,
                               PyObject *node, PyObject *aval, int *again)
{
    PyObject *seen = Py_NewRef(seen_by(self)), *out = NULL, *args = NULL;
    Py_INCREF(node);
    PyObject *entry = entry_of(aval, index);
    *again = !entry;
    if (!entry)
        goto end;
    PyObject *starts = PyTuple_GET_ITEM(entry, 1);
    Py_ssize_t n = PyTuple_GET_SIZE(starts);
    args = PyTuple_New(n + 1);
    if (!args)
        goto end;
    PyTuple_SET_ITEM(args, 0, Py_NewRef(node));
    for (Py_ssize_t i = 0; i < n; i++)
        PyTuple_SET_ITEM(args, i + 1, Py_NewRef(PyTuple_GET_ITEM(starts, i)));
    PyObject *new = recorded(PyTuple_GET_ITEM(entry, 0), args, front->depth, now);
    out = view_of(self, Py_NewRef(PyTuple_GET_ITEM(entry, 2)), new, seen);
    if (out && is_large(seen)) {
        PyObject *noted = PyObject_CallOneArg(the.note, out);
        if (!noted)
            Py_CLEAR(out);
        Py_XDECREF(noted);
    }
end:
    Py_XDECREF(args);
    Py_XDECREF(entry);
    Py_DECREF(node);
    Py_DECREF(seen);
    return out;
}

/* A mask of a list of bools, new. NULL: forward, or an error. */
static PyObject *mask_of_list(PyObject *index)
{
    npy_intp n = PyList_GET_SIZE(index);
    PyObject *mask = PyArray_SimpleNew(1, &n, NPY_BOOL);
    npy_bool *data = mask ? PyArray_DATA((PyArrayObject *)mask) : NULL;
    for (npy_intp i = 0; mask && i < n; i++) {
        PyObject *item = i < PyList_GET_SIZE(index) ? PyList_GET_ITEM(index, i) : NULL;
        if (item == Py_True || item == Py_False)
            data[i] = item == Py_True;
        else
            Py_CLEAR(mask);
    }
    return mask;
}

/* NumPy's form of an index that is a list of integers or bools, new. NULL: forward, or an error. */
static PyObject *index_list(PyObject *index)
{
    Py_ssize_t n = PyList_GET_SIZE(index), i = 0;
    npy_intp place;
    if (!n || n > the.few)
        return NULL;
    if (PyBool_Check(PyList_GET_ITEM(index, 0)))
        return mask_of_list(index);
    while (i < n && PyLong_CheckExact(PyList_GET_ITEM(index, i)))
        i++;
    if (i == n)
        return Py_NewRef(index);
    PyObject *new = PyList_New(n);
    for (i = 0; new && i < n; i++) {
        PyObject *item = i < PyList_GET_SIZE(index) && as_place(PyList_GET_ITEM(index, i), &place)
                             ? PyLong_FromSsize_t(place)
                             : NULL;
        if (item)
            PyList_SET_ITEM(new, i, item);
        else
            Py_CLEAR(new);
    }
    return new;
}

/* The numbers of a range as an array, new. NULL: forward, or an error. */
static PyObject *index_range(PyObject *index)
{
    PyObject *first = PyObject_GetAttrString(index, "start"), *out = NULL;
    PyObject *by = PyObject_GetAttrString(index, "step");
    Py_ssize_t n = PyObject_Size(index);
    long long value, step, last;
    if (first && by && n > 0 && as_integer(first, &value) && as_integer(by, &step) &&
        !OVERFLOWS(mul, n - 1, step, &last) && !OVERFLOWS(add, last, value, &last))
        out = PyArray_SimpleNew(1, &n, NPY_INTP);
    else
        PyErr_Clear(); /* a range may have more numbers than `Py_ssize_t` */
    npy_intp *data = out ? PyArray_DATA((PyArrayObject *)out) : NULL;
    for (Py_ssize_t i = 0; out && i < n; i++)
        data[i] = (npy_intp)(value + i * step);
    Py_XDECREF(first);
    Py_XDECREF(by);
    return out;
}

/* NumPy's form of an index that is an array of numbers, a list of integers or a range, new. NULL:
   forward, or an error. */
static PyObject *index_array(PyObject *index)
{
    if (PyList_CheckExact(index))
        return index_list(index);
    if (PyRange_Check(index))
        return index_range(index);
    PyObject *node = is_array(index) ? node_of(index) : NULL;
    PyObject *value = node ? PyList_GET_ITEM(node, VALUE) : index;
    if (!is_memory(value) || PyArray_NDIM((PyArrayObject *)value) == 0)
        return NULL;
    return is_of_numbers((PyArrayObject *)value) ? Py_NewRef(value) : NULL;
}

/* NumPy's form of an index that contains arrays, new. NULL: forward, or an error. */
static PyObject *host_index(PyObject *index)
{
    if (!PyTuple_CheckExact(index))
        return index_array(index);
    Py_ssize_t n = PyTuple_GET_SIZE(index);
    PyObject *new = PyTuple_New(n);
    for (Py_ssize_t i = 0; new && i < n; i++) {
        PyObject *item = PyTuple_GET_ITEM(index, i);
        if (!PySlice_Check(item) && !PyLong_CheckExact(item) && item != Py_None &&
            item != Py_Ellipsis)
            item = index_array(item);
        else
            Py_INCREF(item);
        if (!item)
            Py_CLEAR(new);
        else
            PyTuple_SET_ITEM(new, i, item);
    }
    return new;
}

/* A new owner for NumPy's new array, if it has C order and programs support its dtype. NULL:
   forward, or an error. */
static PyObject *fresh_owner(PyArrayObject *memory)
{
    if (PyArray_NDIM(memory) == 0 || !PyArray_IS_C_CONTIGUOUS(memory))
        return NULL;
    PyObject *aval = aval_of_memory(memory);
    PyObject *out = aval ? owner(the.NDArray, leaf((PyObject *)memory, aval)) : NULL;
    Py_XDECREF(aval);
    return out;
}

/* A new owner for NumPy's new array, in any memory order. NULL: forward, or an error. */
static PyObject *new_owner(PyArrayObject *memory)
{
    PyObject *order = NULL, *out = NULL, *aval = aval_of_memory(memory);
    if (aval && !PyArray_IS_C_CONTIGUOUS(memory)) {
        order = PyArray_IS_F_CONTIGUOUS(memory)
                    ? fortran_order(PyArray_NDIM(memory))
                    : PyObject_CallOneArg(the.order_of_strides, (PyObject *)memory);
        if (!order)
            Py_CLEAR(aval);
    }
    if (aval)
        out = owner(the.NDArray, leaf((PyObject *)memory, aval));
    if (out && order)
        Py_SETREF(OF(out, Array, _order), Py_NewRef(order));
    Py_XDECREF(order);
    Py_XDECREF(aval);
    return out;
}

/* NumPy's selection by available arrays: `_getset._chosen`. */
static PyObject *chosen(PyObject *self, PyObject *value, PyObject *index, int *again)
{
    PyObject *where = NULL, *got, *out = NULL;
    *again = 1;
    Py_INCREF(value);
    int plain = OF(self, Array, _order) == Py_None &&
                PyArray_IS_C_CONTIGUOUS((PyArrayObject *)value);
    if ((plain || is_laid_out(self, (PyArrayObject *)value)) && !watched())
        where = host_index(index);
    got = where ? item_of(value, where) : NULL;
    *again = got != NULL || !where;
    Py_DECREF(value);
    Py_XDECREF(where);
    if (got && is_memory(got)) { /* NumPy may have turned the axes of a new array */
        out = PyArray_NDIM((PyArrayObject *)got) ? new_owner((PyArrayObject *)got) : NULL;
        *again = !out;
    }
    Py_XDECREF(got);
    return out;
}

/* Whether NumPy may have to copy this memory, which Python does once and keeps; -1: an error. */
static int may_copy(PyObject *op, PyObject *memory)
{
    if (PyArray_IS_C_CONTIGUOUS((PyArrayObject *)memory))
        return 0;
    PyObject *copies = PyObject_GetAttr(OF(op, Op, primitive), the.copies);
    int may = copies ? copies == Py_True : -1;
    Py_XDECREF(copies);
    return may;
}

/* NumPy's view of memory that a parked node shows, new. NULL, without an error: forward. It is not
   kept with the node, so that the memory can be written in place. */
static PyArrayObject *parked_memory(PyObject *node)
{
    PyObject *op = PyList_GET_ITEM(node, OP), *args = PyList_GET_ITEM(node, ARGS), *out, *given[8];
    if (Py_TYPE(op) != (PyTypeObject *)the.Op || OF(op, Op, free) != Py_True || !PyTuple_CheckExact(args))
        return NULL;
    Py_ssize_t count = PyTuple_GET_SIZE(args);
    if (!count || count > 8)
        return NULL;
    for (Py_ssize_t i = 1; i < count; i++)
        if (PyList_CheckExact(given[i] = PyTuple_GET_ITEM(args, i)))
            return NULL;
    PyObject *base = PyTuple_GET_ITEM(args, 0);
    if (!PyList_CheckExact(base) || PyList_GET_SIZE(base) != NODE_SIZE)
        return NULL;
    Py_INCREF(args);
    PyObject *memory = PyList_GET_ITEM(base, VALUE);
    if (memory == Py_None)
        memory = (PyObject *)parked_memory(base);
    else
        memory = is_memory(memory) ? Py_NewRef(memory) : NULL;
    given[0] = memory;
    out = memory && !may_copy(op, memory) ? PyObject_Vectorcall(OF(op, Op, reference), given, count, NULL) : NULL;
    Py_DECREF(args);
    Py_XDECREF(memory);
    if (!out && PyErr_Occurred())
        drop_error(node);
    if (out && (!is_memory(out) || PyArray_CHKFLAGS((PyArrayObject *)out, NPY_ARRAY_OWNDATA)))
        Py_CLEAR(out);
    return (PyArrayObject *)out;
}

/* Whether the index may be that of one element. */
static int is_of_element(PyObject *index, PyObject *aval)
{
    Py_ssize_t ndim = PyLong_AsSsize_t(OF(aval, Aval, ndim));
    return PyTuple_CheckExact(index) ? PyTuple_GET_SIZE(index) == ndim
                                     : ndim == 1 && !PySlice_Check(index);
}

/* One element: a Scalar, or what NumPy has where no program holds it, new. NULL, without an error:
   forward. */
static PyObject *element(PyArrayObject *memory, PyObject *index)
{
    int number = is_of_numbers(memory);
    char *at = number                      ? place_at(memory, index)
               : is_of_numpys_own(memory) ? element_at(memory, index)
                                          : NULL;
    if (number)
        return at ? scalar_at(at, memory) : NULL;
    PyObject *value = at ? PyArray_Scalar(at, PyArray_DESCR(memory), (PyObject *)memory) : NULL;
    if (value && PyArray_TYPE(memory) == NPY_OBJECT && PyArray_CheckScalar(value))
        Py_CLEAR(value); /* Python makes it a Scalar */
    return value;
}

/* The same of an array of a class of the user's, new. NULL, without an error: forward. */
static PyObject *element_of_derived(PyObject *x, PyObject *index)
{
    if (is_no_place(index) || !PyType_IsSubtype(Py_TYPE(x), (PyTypeObject *)the.NDArray))
        return NULL;
    PyObject *node = node_of(x), *value = node ? PyList_GET_ITEM(node, VALUE) : Py_None;
    return is_memory(value) ? element((PyArrayObject *)value, index) : NULL;
}

static PyObject *getitem(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *names);

/* One element of a view that is out of date, new. NULL, without an error: forward. */
static PyObject *element_shown(PyObject *view, PyObject *index)
{
    PyObject *aval = lasting_aval(view);
    int may = aval && is_handle(view) && is_stale(view) && !is_no_place(index) &&
              is_of_element(index, aval);
    PyObject *memory = may ? shown_memory(view) : NULL;
    PyObject *out = memory ? element((PyArrayObject *)memory, index) : NULL;
    if (memory)
        drop_value(memory);
    return out;
}

/* `x[i]` of a view that is out of date. */
static PyObject *getitem_of_present(Front *front, PyObject *const *args, size_t nargsf,
                                    PyObject *names)
{
    PyObject *out = element_shown(args[0], args[1]);
    if (out || PyErr_Occurred())
        return out;
    PyObject *now = recorder(), *shown = now && is_eager(now) ? present(args[0]) : NULL;
    if (shown && node_of(shown)) {
        PyObject *again[2] = {shown, args[1]};
        out = getitem((PyObject *)front, again, 2, NULL);
    }
    else if (!PyErr_Occurred())
        out = hand_on(front, args, nargsf, names);
    Py_XDECREF(now);
    Py_XDECREF(shown);
    return out;
}

static PyObject *getitem(PyObject *self_, PyObject *const *args, size_t nargsf, PyObject *names)
{
    Front *front = (Front *)self_;
    PyObject *self, *index, *now, *node, *value, *aval, *out = NULL;
    int again = 1;
    if (PyVectorcall_NARGS(nargsf) != 2 || names || !nothing_staged())
        return hand_on(front, args, nargsf, names);
    self = args[0];
    index = args[1];
    if (!is_array(self)) {
        out = is_scalar(self) ? NULL : element_of_derived(self, index);
        return out || PyErr_Occurred() ? out : hand_on(front, args, nargsf, names);
    }
    node = node_of(self);
    if (!node)
        return getitem_of_present(front, args, nargsf, names);
    value = PyList_GET_ITEM(node, VALUE);
    if (is_memory(value))
        out = is_no_place(index) ? NULL : element((PyArrayObject *)value, index);
    else if (PyTuple_CheckExact(index) && !PyTuple_GET_SIZE(index) && number_behind(self))
        out = scalar(value, known(node));
    else if (value == Py_None && (aval = known(node)) && Py_TYPE(aval) == (PyTypeObject *)the.Aval &&
             is_of_element(index, aval)) {
        PyArrayObject *memory = parked_memory(Py_NewRef(node));
        Py_DECREF(node);
        out = memory ? element(memory, index) : NULL;
        Py_XDECREF(memory);
    }
    if (out || PyErr_Occurred())
        return out;
    if (OF(self, Array, _flags) != Py_None)
        return hand_on(front, args, nargsf, names);
    index = with_known_places(index);
    now = index ? recorder() : NULL;
    if (!now) {
        Py_XDECREF(index);
        return PyErr_Occurred() ? NULL : hand_on(front, args, nargsf, names);
    }
    node = node_of(self); /* again: `recorder` may have run Python code */
    value = node ? PyList_GET_ITEM(node, VALUE) : NULL;
    aval = node ? known(node) : NULL;
    if (aval && Py_TYPE(aval) == (PyTypeObject *)the.Aval && may_go_on(now)) {
        int basic = is_basic(index);
        if (!is_eager(now)) {
            if (basic)
                out = view_recorded(front, self, index, now, node, aval, &again);
        }
        else if (is_memory(value) && OF(aval, Aval, device) == Py_True) {
            again = 0;
            out = basic ? view_at_once(self, index, now, aval, value, &again)
                        : chosen(self, value, index, &again);
        }
        else if (is_memory(value) && gives_host_view(value, index)) {
            again = 0;
            out = view_at_once(self, index, now, aval, value, &again);
        }
        else if (record_memory(self) &&
                 (out = record_item(self, (PyArrayObject *)value, index)))
            again = 0;
        else if (host_memory(self) ||
                 ((is_array(index) || is_memory(index)) && record_memory(self)))
            again = !(out = host_item(value, index));
    }
    else if (aval && (out = traced_item(self, index, now)))
        again = 0;
    Py_DECREF(now);
    Py_DECREF(index);
    return again && !PyErr_Occurred() ? hand_on(front, args, nargsf, names) : out;
}
