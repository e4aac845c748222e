/* One record of a structured array, and its fields: `functions/_records.py`. See core.h. */

#pragma once

#include "hosts.h"

static char *place_at(PyArrayObject *memory, PyObject *index);

/* Names of a record's attributes. */
static struct {
    PyObject *array, *index, *memory;
} of_record;

/* The dtype whose elements are of the class `Record`, new: of the dtype asked for last, at once. */
static PyArray_Descr *dtype_of_records(PyArray_Descr *own)
{
    static PyObject *last, *made;
    if ((PyObject *)own != last) {
        PyObject *new = PyObject_CallOneArg(the.records, (PyObject *)own);
        if (!new)
            return NULL;
        Py_XSETREF(last, Py_NewRef((PyObject *)own));
        Py_XSETREF(made, new);
    }
    return (PyArray_Descr *)Py_NewRef(made);
}

/* Whether an index is one place, or a tuple of places, and so names one record. */
static int names_record(PyArrayObject *memory, PyObject *index)
{
    if (!PyTuple_CheckExact(index))
        return PyArray_NDIM(memory) == 1 && PyLong_CheckExact(index);
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(index); i++)
        if (!PyLong_CheckExact(PyTuple_GET_ITEM(index, i)))
            return 0;
    return PyTuple_GET_SIZE(index) == PyArray_NDIM(memory);
}

/* `x[index]`, a record that reads and writes x, new: `_records.record`. NULL, without an error:
   forward. */
static PyObject *record_item(PyObject *x, PyArrayObject *memory, PyObject *index)
{
    char *at = names_record(memory, index) ? place_at(memory, index) : NULL;
    PyArray_Descr *dtype = at ? dtype_of_records(PyArray_DESCR(memory)) : NULL;
    PyObject *copy = NULL, *out = NULL, *places = NULL;
    if (dtype && PyDataType_ELSIZE(dtype) == PyArray_ITEMSIZE(memory))
        copy = PyArray_NewFromDescr(&PyArray_Type, dtype, 0, NULL, NULL, NULL, 0, NULL);
    else
        Py_XDECREF(dtype);
    if (copy) { /* the call may have run code: the place is found again */
        at = place_at(memory, index);
        places = PyTuple_CheckExact(index) ? Py_NewRef(index) : PyTuple_Pack(1, index);
    }
    if (at && places) {
        memcpy(PyArray_DATA((PyArrayObject *)copy), at, PyArray_ITEMSIZE(memory));
        out = PyArray_Scalar(PyArray_DATA((PyArrayObject *)copy),
                             PyArray_DESCR((PyArrayObject *)copy), copy);
    }
    if (out && (PyObject_SetAttr(out, of_record.array, x) < 0 ||
                PyObject_SetAttr(out, of_record.index, places) < 0 ||
                PyObject_SetAttr(out, of_record.memory, copy) < 0))
        Py_CLEAR(out);
    Py_XDECREF(places);
    Py_XDECREF(copy);
    return out;
}

/* A field of a record, new: a Scalar, or a string or date of NumPy's. NULL, without an error: forward. */
static PyObject *field_at(PyArrayObject *memory, PyObject *places, PyObject *name)
{
    PyObject *fields = PyDataType_FIELDS(PyArray_DESCR(memory));
    PyObject *field = PyDict_GetItemWithError(fields, name);
    if (!field || !PyTuple_Check(field) || PyTuple_GET_SIZE(field) < 2 ||
        !names_record(memory, places))
        return NULL;
    PyArray_Descr *dtype = (PyArray_Descr *)PyTuple_GET_ITEM(field, 0);
    npy_intp offset = PyLong_AsSsize_t(PyTuple_GET_ITEM(field, 1));
    char *at = place_at(memory, places);
    if (!at || offset < 0 || dtype->type_num == NPY_VOID || PyDataType_REFCHK(dtype) ||
        !PyArray_ISNBO(dtype->byteorder))
        return NULL;
    PyObject *found = PyArray_Scalar(at + offset, dtype, NULL);
    if (!found || is_host_scalar(found))
        return found;
    PyObject *aval = aval_of_number(found), *out = aval ? scalar(found, aval) : NULL;
    Py_DECREF(found);
    return out;
}

/* `Record.__getitem__`. */
static PyObject *record_field(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *names)
{
    PyObject *array = NULL, *places = NULL, *out = NULL;
    if (PyVectorcall_NARGS(nargsf) == 2 && !names && PyUnicode_CheckExact(args[1]) &&
        nothing_staged() && (array = PyObject_GetAttr(args[0], of_record.array)) && is_array(array))
        places = PyObject_GetAttr(args[0], of_record.index);
    PyObject *memory = places ? record_memory(array) : NULL;
    if (memory && PyTuple_CheckExact(places)) {
        Py_INCREF(memory);
        out = field_at((PyArrayObject *)memory, places, args[1]);
        Py_DECREF(memory);
    }
    Py_XDECREF(places);
    Py_XDECREF(array);
    return out || PyErr_Occurred() ? out : hand_on((Front *)self, args, nargsf, names);
}

/* Whether the names are there. */
static int take_names_of_records(void)
{
    of_record.array = PyUnicode_InternFromString("_array");
    of_record.index = PyUnicode_InternFromString("_index");
    of_record.memory = PyUnicode_InternFromString("_memory");
    return of_record.array && of_record.index && of_record.memory ? 0 : -1;
}
