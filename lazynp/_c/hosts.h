/* Arrays of strings and dates, which no program holds: NumPy's result is the only one. See core.h. */

#pragma once

#include "core.h"
#include "scalars.h"

static PyObject *fresh_owner(PyArrayObject *memory);
static int is_basic(PyObject *index);
static PyObject *host_index(PyObject *index);
static void drop_error(PyObject *where);

static inline int is_of_host(PyArrayObject *memory)
{
    switch (PyArray_TYPE(memory)) {
    case NPY_STRING:
    case NPY_UNICODE:
    case NPY_DATETIME:
    case NPY_TIMEDELTA: return PyArray_ISNOTSWAPPED(memory);
    default: return 0;
    }
}

/* Whether an element is an object as NumPy has it: what was stored, or a long double. */
static inline int is_of_numpys_own(PyArrayObject *memory)
{
    int type = PyArray_TYPE(memory);
    return type == NPY_OBJECT || type == NPY_LONGDOUBLE || type == NPY_CLONGDOUBLE;
}

/* Whether this is a string or a date alone. */
static inline int is_host_scalar(PyObject *x)
{
    return PyUnicode_Check(x) || PyBytes_Check(x) || PyArray_IsScalar(x, Datetime) ||
           PyArray_IsScalar(x, Timedelta);
}

/* The memory of an array of strings or dates, borrowed; else NULL. */
static inline PyObject *host_memory(PyObject *x)
{
    PyObject *node = is_array(x) ? node_of(x) : NULL;
    PyObject *value = node ? PyList_GET_ITEM(node, VALUE) : Py_None;
    return is_memory(value) && is_of_host((PyArrayObject *)value) &&
                   is_laid_out(x, (PyArrayObject *)value)
               ? value
               : NULL;
}

/* The memory of an array of records without objects, borrowed; else NULL. */
static inline PyObject *record_memory(PyObject *x)
{
    PyObject *node = is_array(x) ? node_of(x) : NULL;
    PyObject *value = node ? PyList_GET_ITEM(node, VALUE) : Py_None;
    return is_memory(value) && PyDataType_HASFIELDS(PyArray_DESCR((PyArrayObject *)value)) &&
                   !PyDataType_REFCHK(PyArray_DESCR((PyArrayObject *)value)) &&
                   is_laid_out(x, (PyArrayObject *)value)
               ? value
               : NULL;
}

/* Recent avals of strings and dates, of which NumPy makes a dtype for each array: equal ones are alike
   if nothing is noted in them (`_avals._has_no_parts`). */
enum { HOSTS_SEEN = 128 };
static struct {
    PyObject *aval;
    int ndim;
    npy_intp dims[RECENT_NDIM];
} hosts_seen[HOSTS_SEEN];

/* The place of this array's kind among them; -1: it is of another kind. */
static int place_of_host(PyArrayObject *memory)
{
    PyArray_Descr *dtype = PyArray_DESCR(memory);
    if (!is_of_host(memory) || PyArray_NDIM(memory) > RECENT_NDIM || PyDataType_METADATA(dtype))
        return -1;
    size_t place = (size_t)dtype->type_num * 7 + (size_t)PyDataType_ELSIZE(dtype);
    for (int axis = 0; axis < PyArray_NDIM(memory); axis++)
        place = place * 31 + (size_t)PyArray_DIM(memory, axis);
    return (int)((place ^ place >> 8) % HOSTS_SEEN);
}

/* The aval that is at this place, if it is this array's, borrowed. */
static PyObject *host_seen(PyArrayObject *memory, int place)
{
    PyObject *aval = hosts_seen[place].aval;
    int ndim = PyArray_NDIM(memory);
    if (!aval || hosts_seen[place].ndim != ndim ||
        memcmp(hosts_seen[place].dims, PyArray_DIMS(memory), ndim * sizeof(npy_intp)))
        return NULL;
    PyArray_Descr *dtype = (PyArray_Descr *)OF(aval, Aval, dtype);
    return PyArray_EquivTypes(dtype, PyArray_DESCR(memory)) ? aval : NULL;
}

static PyObject *aval_of_any_new(PyArrayObject *memory);

/* The aval of NumPy's array of any dtype, new. */
static PyObject *aval_of_any(PyArrayObject *memory)
{
    int place = place_of_host(memory);
    PyObject *aval = place >= 0 ? host_seen(memory, place) : NULL;
    if (place >= 0 && !aval)
        aval = host_seen(memory, place ^ 1);
    if (aval)
        return Py_NewRef(aval);
    aval = aval_of_any_new(memory);
    if (aval && place >= 0) {
        Py_XSETREF(hosts_seen[place ^ 1].aval, Py_XNewRef(hosts_seen[place].aval)); /* other units */
        hosts_seen[place ^ 1].ndim = hosts_seen[place].ndim;
        memcpy(hosts_seen[place ^ 1].dims, hosts_seen[place].dims, sizeof hosts_seen[0].dims);
        hosts_seen[place].ndim = PyArray_NDIM(memory);
        memcpy(hosts_seen[place].dims, PyArray_DIMS(memory),
               PyArray_NDIM(memory) * sizeof(npy_intp));
        Py_XSETREF(hosts_seen[place].aval, Py_NewRef(aval));
    }
    return aval;
}

/* The same where it is not among the recent ones. */
static PyObject *aval_of_any_new(PyArrayObject *memory)
{
    int few = PyArray_NDIM(memory) <= RECENT_NDIM;
    size_t place = few ? place_of_recent(memory) : 0;
    PyObject *aval = few ? recent_aval(memory, place) : NULL, *shape = NULL;
    if (!aval)
        shape = PyArray_IntTupleFromIntp(PyArray_NDIM(memory), PyArray_DIMS(memory));
    if (shape)
        aval = PyObject_CallFunctionObjArgs(the.aval_of, shape, PyArray_DESCR(memory), NULL);
    if (shape && aval && few)
        note_recent(memory, place, aval);
    Py_XDECREF(shape);
    return aval;
}

/* A new owner for NumPy's new array, in C order. NULL: forward, or an error. */
static PyObject *host_owner(PyArrayObject *memory)
{
    if (PyArray_NDIM(memory) == 0 || !PyArray_IS_C_CONTIGUOUS(memory) || PyArray_BASE(memory))
        return NULL;
    PyObject *aval = aval_of_any(memory);
    PyObject *out = aval ? owner(the.NDArray, leaf((PyObject *)memory, aval)) : NULL;
    Py_XDECREF(aval);
    return out;
}

/* What NumPy takes for an operand beside strings and dates, new. NULL: forward. */
static PyObject *host_operand(PyObject *x)
{
    PyObject *memory = host_memory(x), *node = is_array(x) ? node_of(x) : NULL;
    PyObject *value = node ? PyList_GET_ITEM(node, VALUE) : Py_None;
    if (!memory && is_memory(value) && is_of_numbers((PyArrayObject *)value) &&
        is_laid_out(x, (PyArrayObject *)value))
        memory = value;
    if (memory)
        return Py_NewRef(memory);
    if (is_scalar(x))
        return Py_XNewRef(value_of_scalar(x));
    return is_python_number(x) || is_host_scalar(x) ? Py_NewRef(x) : NULL;
}

/* Whether NumPy's function of this memory gives an array in C order, and so runs but once: objects have
   code of the user's. */
static inline int gives_array(PyObject *function, PyArrayObject *memory)
{
    if (Py_TYPE(function) != &PyUFunc_Type || ((PyUFuncObject *)function)->nout != 1)
        return 0;
    int few = ((PyUFuncObject *)function)->core_enabled ? 1 : 0;
    return PyArray_NDIM(memory) > few && PyArray_IS_C_CONTIGUOUS(memory);
}

/* The memory of an array of objects or long doubles that `function` takes, borrowed; else NULL. */
static inline PyObject *own_memory(PyObject *function, PyObject *x)
{
    PyObject *node = is_array(x) ? node_of(x) : NULL;
    PyObject *value = node ? PyList_GET_ITEM(node, VALUE) : Py_None;
    return is_memory(value) && is_of_numpys_own((PyArrayObject *)value) &&
                   PyArray_ISBEHAVED_RO((PyArrayObject *)value) &&
                   gives_array(function, (PyArrayObject *)value) &&
                   is_laid_out(x, (PyArrayObject *)value)
               ? value
               : NULL;
}

static inline int is_of_objects(PyObject *x)
{
    return is_memory(x) && PyArray_TYPE((PyArrayObject *)x) == NPY_OBJECT;
}

static inline int is_in_order(PyObject *x)
{
    return !is_memory(x) || PyArray_IS_C_CONTIGUOUS((PyArrayObject *)x);
}

/* A new array for NumPy's, new. NULL: forward, or an error. */
static PyObject *owner_of_any(PyArrayObject *memory)
{
    if (!PyArray_NDIM(memory))
        return NULL;
    if (is_of_numbers(memory))
        return fresh_owner(memory);
    return is_of_host(memory) || is_of_numpys_own(memory) ? host_owner(memory) : NULL;
}

/* An elementwise function of operands of which one is an array of what no program holds. NULL, without
   an error: forward. */
static PyObject *of_hosts(PyObject *function, PyObject *now, PyObject *const *xs, Py_ssize_t n)
{
    PyObject *values[2] = {NULL}, *result = NULL, *out = NULL;
    int again, found = 0, objects = 0;
    for (Py_ssize_t i = 0; i < n; i++)
        found = found || host_memory(xs[i]) || own_memory(function, xs[i]);
    if (!found || !is_eager(now) || n > 2 || watched())
        return NULL;
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *own = own_memory(function, xs[i]);
        values[i] = own ? Py_NewRef(own) : host_operand(xs[i]);
        objects = objects || (values[i] && is_of_objects(values[i]));
    }
    int all = values[0] && (n == 1 || values[1]);
    if (all && (!objects || (is_in_order(values[0]) && (n == 1 || is_in_order(values[1])))))
        result = quiet(OF(now, Recorder, quiet), function, values, n, &again);
    if (!result && PyErr_Occurred() && !objects)
        drop_error(function); /* Python comes to it again */
    if (result && is_memory(result))
        out = owner_of_any((PyArrayObject *)result);
    Py_XDECREF(result);
    Py_XDECREF(values[0]);
    Py_XDECREF(values[1]);
    return out;
}

/* `x[index]` of strings, dates or records: one, which is NumPy's own, or a selection. NULL, without an error:
   forward. */
static PyObject *host_item(PyObject *value, PyObject *index)
{
    int basic = is_basic(index);
    PyObject *where = basic ? Py_NewRef(index) : host_index(index), *out = NULL;
    Py_INCREF(value);
    PyObject *got = where ? PyObject_GetItem(value, where) : NULL;
    if (got && is_host_scalar(got))
        out = Py_NewRef(got);
    else if (got && is_memory(got) && !basic)
        out = host_owner((PyArrayObject *)got);
    if (!got && PyErr_Occurred())
        drop_error(value);
    Py_DECREF(value);
    Py_XDECREF(got);
    Py_XDECREF(where);
    return out;
}
