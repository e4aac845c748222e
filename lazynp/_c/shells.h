/* NumPy's views of memory, made and freed without NumPy's functions. See core.h.

   Most views die soon, and NumPy frees what it allocates for each. A view that nobody else refers to
   is kept, without its base, for the next one with as many axes. The fields of NumPy's arrays are
   those that the macros in its headers read. */

#pragma once

#include "core.h"

enum { SHELLS = 32, SHELL_AXES = 4 };
static struct {
    int count;
    PyObject *dead[SHELLS]; /* each with its own dims, strides and dtype; no base */
} shells[SHELL_AXES + 1];

/* What NumPy has no public name for: to write such an array warns. */
#define WARNS (int)(1u << 31)

typedef PyArrayObject_fields Fields;

/* Where a view lies. */
typedef struct {
    int ndim;
    npy_intp dims[SHELL_AXES], strides[SHELL_AXES];
    char *data;
    PyArray_Descr *descr; /* borrowed */
} Look;

/* Whether nothing but the reference that the caller has tells this view from a new one. */
static inline int is_shell(PyObject *value)
{
    const int others = NPY_ARRAY_OWNDATA | NPY_ARRAY_WRITEBACKIFCOPY | WARNS;
    if (Py_REFCNT(value) != 1 || !is_memory(value))
        return 0;
    Fields *it = (Fields *)value;
    return it->base && !(it->flags & others) && it->nd > 0 && it->nd <= SHELL_AXES &&
           !it->weakreflist && !it->_buffer_info && !it->mem_handler;
}

/* Give up a reference to a node's value. */
static inline void drop_value(PyObject *value)
{
    if (!is_shell(value) || shells[((Fields *)value)->nd].count == SHELLS) {
        Py_DECREF(value);
        return;
    }
    Fields *it = (Fields *)value;
    PyObject *base = it->base;
    it->base = NULL;
    shells[it->nd].dead[shells[it->nd].count++] = value;
    Py_DECREF(base); /* may run Python code */
}

/* NumPy's flags for the order of the elements. */
static inline int flags_of_order(const Look *look, npy_intp itemsize)
{
    npy_intp next = itemsize;
    int c = NPY_ARRAY_C_CONTIGUOUS, fortran = NPY_ARRAY_F_CONTIGUOUS;
    for (int axis = look->ndim - 1; axis >= 0; axis--) {
        if (look->dims[axis] == 0)
            return NPY_ARRAY_C_CONTIGUOUS | NPY_ARRAY_F_CONTIGUOUS;
        if (look->dims[axis] == 1)
            continue;
        if (look->strides[axis] != next)
            c = 0;
        next *= look->dims[axis];
    }
    next = itemsize;
    for (int axis = 0; axis < look->ndim; axis++) {
        if (look->dims[axis] == 1)
            continue;
        if (look->strides[axis] != next)
            fortran = 0;
        next *= look->dims[axis];
    }
    return c | fortran;
}

/* What a view of this memory refers to, borrowed: as `PyArray_SetBaseObject`. */
static inline PyObject *base_of_view(PyArrayObject *memory)
{
    PyObject *below;
    while (!PyArray_CHKFLAGS(memory, NPY_ARRAY_OWNDATA) && (below = PyArray_BASE(memory)) &&
           is_memory(below))
        memory = (PyArrayObject *)below;
    return (PyObject *)memory;
}

/* Whether views of this memory may be made here. */
static inline int may_be_seen(PyArrayObject *memory)
{
    return PyArray_CHKFLAGS(memory, NPY_ARRAY_ALIGNED) &&
           !(PyArray_FLAGS(memory) & (NPY_ARRAY_WRITEBACKIFCOPY | WARNS)) &&
           PyArray_NDIM(memory) <= SHELL_AXES;
}

/* NumPy's view of aligned memory, new. */
static PyObject *seen_as(PyArrayObject *memory, const Look *look)
{
    PyArray_Descr *descr = look->descr;
    int n = look->ndim, flags = PyArray_FLAGS(memory) & (NPY_ARRAY_WRITEABLE | NPY_ARRAY_ALIGNED);
    PyObject *base = Py_NewRef(base_of_view(memory));
    if (shells[n].count) {
        Fields *it = (Fields *)shells[n].dead[--shells[n].count];
        for (int axis = 0; axis < n; axis++) {
            it->dimensions[axis] = look->dims[axis];
            it->strides[axis] = look->strides[axis];
        }
        it->data = look->data;
        it->base = base;
        it->flags = flags | flags_of_order(look, PyDataType_ELSIZE(descr));
        if (it->descr != descr) {
            PyArray_Descr *before = it->descr;
            it->descr = descr;
            Py_INCREF(descr);
            Py_DECREF(before); /* a dtype is no more than memory */
        }
        return (PyObject *)it;
    }
    Py_INCREF(descr);
    PyObject *new = PyArray_NewFromDescr(&PyArray_Type, descr, n, look->dims, look->strides,
                                         look->data, flags, NULL);
    if (!new) {
        Py_DECREF(base);
        return NULL;
    }
    if (PyArray_SetBaseObject((PyArrayObject *)new, base) < 0)
        Py_CLEAR(new);
    return new;
}

/* -- basic indices ----------------------------------------------------------------------------- */

/* A bound of a slice. 0: it is no int, or too large. */
static inline int take_bound(PyObject *x, npy_intp none, npy_intp *bound)
{
    int overflow;
    *bound = none;
    if (x == Py_None)
        return 1;
    if (!PyLong_CheckExact(x))
        return 0;
    *bound = PyLong_AsLongAndOverflow(x, &overflow);
    return !overflow;
}

/* One axis along a slice of ints. 0: NumPy must take it. */
static inline int look_along(Look *look, PyObject *item, npy_intp length, npy_intp stride)
{
    PySliceObject *s = (PySliceObject *)item;
    npy_intp start, stop, step, n;
    if (!take_bound(s->step, 1, &step) || step == 0 || step == PY_SSIZE_T_MIN ||
        !take_bound(s->start, step < 0 ? PY_SSIZE_T_MAX : 0, &start) ||
        !take_bound(s->stop, step < 0 ? PY_SSIZE_T_MIN : PY_SSIZE_T_MAX, &stop))
        return 0;
    n = PySlice_AdjustIndices(length, &start, &stop, step);
    if (n <= 0) { /* as in NumPy */
        n = start = 0;
        step = 1;
    }
    look->data += stride * start;
    look->strides[look->ndim] = stride * step;
    look->dims[look->ndim++] = n;
    return 1;
}

/* Find what a basic index of ints shows. 0: NumPy must, or it is no view. Runs no code. */
static int look_at_index(Look *look, PyArrayObject *memory, PyObject *index)
{
    PyObject *const *items = &index;
    Py_ssize_t n = 1, taken = 0, skipped = -1;
    int ndim = PyArray_NDIM(memory), axis = 0;
    if (!may_be_seen(memory))
        return 0;
    if (PyTuple_CheckExact(index)) {
        n = PyTuple_GET_SIZE(index);
        items = &PyTuple_GET_ITEM(index, 0);
    }
    for (Py_ssize_t i = 0; i < n; i++)
        taken += items[i] != Py_None && items[i] != Py_Ellipsis;
    if (taken > ndim || n - taken > SHELL_AXES)
        return 0;
    look->ndim = 0;
    look->data = PyArray_BYTES(memory);
    look->descr = PyArray_DESCR(memory);
    for (Py_ssize_t i = 0; i <= n; i++) {
        PyObject *item = i < n ? items[i] : Py_Ellipsis;
        npy_intp place;
        if (item == Py_Ellipsis) {
            if (skipped >= 0 && i < n)
                return 0; /* an error */
            Py_ssize_t rest = skipped >= 0 ? 0 : ndim - taken;
            skipped = i;
            if (look->ndim + rest > SHELL_AXES)
                return 0;
            for (; rest > 0; rest--, axis++) {
                look->dims[look->ndim] = PyArray_DIM(memory, axis);
                look->strides[look->ndim++] = PyArray_STRIDE(memory, axis);
            }
            continue;
        }
        if (look->ndim == SHELL_AXES)
            return 0;
        if (item == Py_None) {
            look->dims[look->ndim] = 1;
            look->strides[look->ndim++] = 0;
        }
        else if (PySlice_Check(item)) {
            if (!look_along(look, item, PyArray_DIM(memory, axis), PyArray_STRIDE(memory, axis)))
                return 0;
            axis++;
        }
        else {
            npy_intp length = PyArray_DIM(memory, axis);
            if (!PyLong_CheckExact(item) || !take_bound(item, 0, &place))
                return 0;
            place += place < 0 ? length : 0;
            if (place < 0 || place >= length)
                return 0; /* an error */
            look->data += place * PyArray_STRIDE(memory, axis++);
        }
    }
    return look->ndim > 0;
}

/* -- other views ------------------------------------------------------------------------------- */

/* The memory as it is. 0: NumPy must make its views. */
static inline int look_at_all(Look *look, PyArrayObject *memory)
{
    look->ndim = PyArray_NDIM(memory);
    look->data = PyArray_BYTES(memory);
    look->descr = PyArray_DESCR(memory);
    if (!may_be_seen(memory))
        return 0;
    memcpy(look->dims, PyArray_DIMS(memory), look->ndim * sizeof(npy_intp));
    memcpy(look->strides, PyArray_STRIDES(memory), look->ndim * sizeof(npy_intp));
    return look->ndim > 0;
}

/* The axes in another order. */
static inline int look_turned(Look *look, PyArrayObject *memory, const npy_intp *axes, int n)
{
    if (!look_at_all(look, memory) || n != look->ndim)
        return 0;
    for (int i = 0; i < n; i++) {
        if (axes[i] < 0 || axes[i] >= n)
            return 0;
        look->dims[i] = PyArray_DIM(memory, (int)axes[i]);
        look->strides[i] = PyArray_STRIDE(memory, (int)axes[i]);
    }
    return 1;
}

/* Elements in C order, in another shape. -1 alone stands for their number. */
static inline int look_reshaped(Look *look, PyArrayObject *memory, const npy_intp *dims, int n)
{
    npy_intp size = PyArray_SIZE(memory), all = 1;
    npy_intp stride = PyDataType_ELSIZE(PyArray_DESCR(memory));
    if (!may_be_seen(memory) || !PyArray_IS_C_CONTIGUOUS(memory) || !size || !n || n > SHELL_AXES)
        return 0;
    if (n == PyArray_NDIM(memory) && !memcmp(dims, PyArray_DIMS(memory), n * sizeof(npy_intp)))
        return look_at_all(look, memory); /* NumPy keeps the strides */
    look->ndim = n;
    look->data = PyArray_BYTES(memory);
    look->descr = PyArray_DESCR(memory);
    for (int axis = n - 1; axis >= 0; axis--) {
        npy_intp length = n == 1 && dims[0] == -1 ? size : dims[axis];
        if (length <= 0 || all > size / length)
            return 0;
        look->dims[axis] = length;
        look->strides[axis] = stride;
        stride *= length;
        all *= length;
    }
    return all == size;
}

/* The real or the imaginary parts of complex numbers. */
static inline int look_at_parts(Look *look, PyArrayObject *memory, int imaginary)
{
    static PyArray_Descr *of_complex[2]; /* NumPy's own, kept */
    int type = PyArray_TYPE(memory), is_double = type == NPY_CDOUBLE;
    if ((!is_double && type != NPY_CFLOAT) || !PyArray_ISNOTSWAPPED(memory) ||
        !look_at_all(look, memory))
        return 0;
    if (!of_complex[is_double])
        of_complex[is_double] = PyArray_DescrFromType(is_double ? NPY_DOUBLE : NPY_FLOAT);
    look->descr = of_complex[is_double];
    look->data += imaginary ? PyDataType_ELSIZE(look->descr) : 0;
    return 1;
}
