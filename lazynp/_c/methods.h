/* Fronts: attributes, calls of ufuncs, iteration. See core.h. */

#pragma once

#include "storing.h"

/* -- shape, dtype, ndim, size, len ------------------------------------------------------------- */

/* The strides that NumPy's array has, new, if this one's memory lies as that would. NULL, without an
   error: Python finds them. */
static PyObject *strides_of(PyObject *x)
{
    PyObject *node = is_array(x) ? node_of(x) : NULL;
    PyArrayObject *memory = (PyArrayObject *)(node ? PyList_GET_ITEM(node, VALUE) : Py_None);
    if (!is_memory((PyObject *)memory) || !is_laid_out(x, memory))
        return NULL;
    for (int axis = 0; axis < PyArray_NDIM(memory); axis++)
        if (PyArray_DIM(memory, axis) < 2) /* its stride may be any */
            return NULL;
    return PyArray_IntTupleFromIntp(PyArray_NDIM(memory), PyArray_STRIDES(memory));
}

static PyObject *attribute(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *names)
{
    Front *front = (Front *)self;
    PyObject *x = PyVectorcall_NARGS(nargsf) == 1 && !names ? args[0] : NULL;
    if (!x || !nothing_staged() || (!is_handle(x) && !is_scalar(x)))
        return hand_on(front, args, nargsf, names);
    PyObject *aval = lasting_aval(x);
    int of_shape = front->symbol == 's' || front->symbol == 'n' || front->symbol == 'l';
    if (!aval || (OF(aval, Aval, device) != Py_True && !of_shape))
        return hand_on(front, args, nargsf, names); /* other dtypes need Python */
    switch (front->symbol) {
    case 's': return Py_NewRef(OF(aval, Aval, shape));
    case 'd': return Py_NewRef(OF(aval, Aval, dtype));
    case 'n': return Py_NewRef(OF(aval, Aval, ndim));
    case 'l': {
        PyObject *shape = OF(aval, Aval, shape);
        return PyTuple_GET_SIZE(shape) ? Py_NewRef(PyTuple_GET_ITEM(shape, 0))
                                       : hand_on(front, args, nargsf, names);
    }
    case 'b': return Py_NewRef(OF(aval, Aval, nbytes));
    case 'i': return PyLong_FromSsize_t(PyDataType_ELSIZE((PyArray_Descr *)OF(aval, Aval, dtype)));
    case 'c': return Py_NewRef((PyObject *)((PyArray_Descr *)OF(aval, Aval, dtype))->typeobj);
    case 't': {
        PyObject *strides = strides_of(x);
        return strides || PyErr_Occurred() ? strides : hand_on(front, args, nargsf, names);
    }
    default: return Py_NewRef(OF(aval, Aval, size));
    }
}

/* -- calls of ufuncs: `_ufunc.ufunc.__call__` -------------------------------------------------- */

static PyObject *called(PyObject *self_, PyObject *const *args, size_t nargsf, PyObject *names)
{
    Front *front = (Front *)self_;
    Py_ssize_t n = PyVectorcall_NARGS(nargsf);
    if (n < 2 || !PyObject_TypeCheck(args[0], (PyTypeObject *)front->function))
        return hand_on(front, args, nargsf, names);
    PyObject *nin = SLOT(args[0], the.ufunc_nin), *call = SLOT(args[0], the.ufunc__call);
    Py_ssize_t operands = nin && call && PyLong_CheckExact(nin) ? PyLong_AsLong(nin) : -1;
    if (operands == n - 1 ? names != NULL : operands == n - 2 && !names) {
        PyObject *nout = SLOT(args[0], the.ufunc_nout), *numpys = SLOT(args[0], the.ufunc__numpy);
        int again = 1;
        PyObject *out = nout && numpys && PyLong_CheckExact(nout) && PyLong_AsLong(nout) == 1
                            ? called_into(numpys, args + 1, operands, names, &again)
                            : NULL;
        return again && !PyErr_Occurred() ? hand_on(front, args, nargsf, names) : out;
    }
    if (operands != n - 1 || names)
        return hand_on(front, args, nargsf, names);
    return PyObject_Vectorcall(call, args + 1, n - 1, NULL);
}

/* -- scalars, which are no containers ---------------------------------------------------------- */

/* A TypeError about the number that a scalar stands for. */
static void refuse(PyObject *scalar, const char *format)
{
    PyObject *class = PyObject_GetAttrString(scalar, "__class__");
    PyObject *name = class ? PyObject_GetAttrString(class, "__name__") : NULL;
    if (name)
        PyErr_Format(PyExc_TypeError, format, name);
    Py_XDECREF(class);
    Py_XDECREF(name);
}

static PyObject *no_iterator(PyObject *self)
{
    refuse(self, "'numpy.%U' object is not iterable");
    return NULL;
}

static int no_assignment(PyObject *self, PyObject *Py_UNUSED(index), PyObject *value)
{
    refuse(self, value ? "'numpy.%U' object does not support item assignment"
                       : "'numpy.%U' object does not support item deletion");
    return -1;
}

static Py_ssize_t no_length(PyObject *self)
{
    refuse(self, "object of type 'numpy.%U' has no len()");
    return -1;
}

static int no_search(PyObject *self, PyObject *Py_UNUSED(item))
{
    refuse(self, "argument of type 'numpy.%U' is not iterable");
    return -1;
}

/* What only containers have becomes a TypeError for a class's instances, although the class has
   `__getitem__`: iteration, length, search, assignment to items. None of these methods is found in
   it: programs ask for them by `hasattr`. */
static PyObject *refuse_contents(PyObject *Py_UNUSED(module), PyObject *class)
{
    if (!PyType_Check(class) || !(((PyTypeObject *)class)->tp_flags & Py_TPFLAGS_HEAPTYPE)) {
        PyErr_SetString(PyExc_TypeError, "refuse_contents takes a class");
        return NULL;
    }
    ((PyTypeObject *)class)->tp_iter = no_iterator;
    ((PyHeapTypeObject *)class)->as_mapping.mp_ass_subscript = no_assignment;
    ((PyHeapTypeObject *)class)->as_sequence.sq_length = no_length;
    ((PyHeapTypeObject *)class)->as_sequence.sq_contains = no_search;
    PyType_Modified((PyTypeObject *)class);
    Py_RETURN_NONE;
}

static PyObject *refused_index; /* a function of the instance, that raises */

static PyObject *no_index(PyObject *self)
{
    return PyObject_CallOneArg(refused_index, self);
}

/* The class has no `__index__`, but who needs one gets the error of this function, not Python's. */
static PyObject *refuse_index(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyTypeObject *class;
    PyObject *function;
    if (!PyArg_ParseTuple(args, "O!O", &PyType_Type, &class, &function))
        return NULL;
    if (!(class->tp_flags & Py_TPFLAGS_HEAPTYPE)) {
        PyErr_SetString(PyExc_TypeError, "refuse_index takes a class");
        return NULL;
    }
    Py_XSETREF(refused_index, Py_NewRef(function));
    ((PyHeapTypeObject *)class)->as_number.nb_index = no_index;
    PyType_Modified(class);
    Py_RETURN_NONE;
}

/* -- names of classes -------------------------------------------------------------------------- */

/* Python's own errors name a class by its `tp_name`, which has the module of a class made in C:
   'numpy.ndarray'. `__name__` stays. The name must outlive the class. */
static PyObject *name_in_errors(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyTypeObject *class;
    PyObject *name;
    if (!PyArg_ParseTuple(args, "O!U", &PyType_Type, &class, &name))
        return NULL;
    const char *text = PyUnicode_AsUTF8(name);
    if (!text)
        return NULL;
    if (!(class->tp_flags & Py_TPFLAGS_HEAPTYPE)) {
        PyErr_SetString(PyExc_TypeError, "name_in_errors takes a class made in Python");
        return NULL;
    }
    Py_INCREF(name);
    class->tp_name = text;
    Py_RETURN_NONE;
}

/* -- attributes of the class of arrays: `_array._KindOfArray.__getattribute__` -------------------- */

static PyObject *class_of_arrays, *of_either; /* names -> what the class has instead of its own */

static PyObject *attribute_of_class(PyObject *class, PyObject *name)
{
    PyObject *found = NULL;
    if (class == class_of_arrays && PyUnicode_Check(name))
        found = PyDict_GetItemWithError(of_either, name);
    if (found || PyErr_Occurred())
        return Py_XNewRef(found);
    return PyType_Type.tp_getattro(class, name);
}

/* NumPy looks its protocols up in the class for every call. */
static PyObject *class_attributes(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyTypeObject *kind;
    PyObject *class, *table;
    if (!PyArg_ParseTuple(args, "O!OO!", &PyType_Type, &kind, &class, &PyDict_Type, &table))
        return NULL;
    if (!(kind->tp_flags & Py_TPFLAGS_HEAPTYPE)) {
        PyErr_SetString(PyExc_TypeError, "class_attributes takes a metaclass");
        return NULL;
    }
    Py_XSETREF(class_of_arrays, Py_NewRef(class));
    Py_XSETREF(of_either, Py_NewRef(table));
    kind->tp_getattro = attribute_of_class;
    PyType_Modified(kind);
    Py_RETURN_NONE;
}

/* -- iteration: `_methods._iter` --------------------------------------------------------------- */

typedef struct {
    PyObject_HEAD
    PyObject *array, *get;
    Py_ssize_t at, length;
} Iterator;

static PyObject *iterator_next(PyObject *self)
{
    Iterator *it = (Iterator *)self;
    if (it->at >= it->length)
        return NULL;
    PyObject *node = is_array(it->array) && nothing_staged() ? node_of(it->array) : NULL;
    PyArrayObject *memory = node ? (PyArrayObject *)PyList_GET_ITEM(node, VALUE) : NULL;
    if (memory && is_memory((PyObject *)memory) && PyArray_NDIM(memory) == 1 &&
        it->at < PyArray_DIM(memory, 0) && is_of_numbers(memory) && PyArray_ISNOTSWAPPED(memory))
        return scalar_at(PyArray_BYTES(memory) + PyArray_STRIDE(memory, 0) * it->at++, memory);
    if (memory && is_memory((PyObject *)memory) && PyArray_NDIM(memory) == 1 &&
        it->at < PyArray_DIM(memory, 0) && is_of_host(memory)) /* NumPy's own */
        return PyArray_Scalar(PyArray_BYTES(memory) + PyArray_STRIDE(memory, 0) * it->at++,
                              PyArray_DESCR(memory), (PyObject *)memory);
    PyObject *args[2] = {it->array, PyLong_FromSsize_t(it->at++)};
    PyObject *item = args[1] ? PyObject_Vectorcall(it->get, args, 2, NULL) : NULL;
    Py_XDECREF(args[1]);
    return item;
}

static PyObject *iterator_hint(PyObject *self, PyObject *Py_UNUSED(none))
{
    return PyLong_FromSsize_t(((Iterator *)self)->length - ((Iterator *)self)->at);
}

/* The array, and the place of the next item. */
static PyObject *iterator_source(PyObject *self, PyObject *Py_UNUSED(none))
{
    return Py_BuildValue("On", ((Iterator *)self)->array, ((Iterator *)self)->at);
}

static int iterator_traverse(PyObject *self, visitproc visit, void *arg)
{
    Py_VISIT(((Iterator *)self)->array);
    Py_VISIT(((Iterator *)self)->get);
    return 0;
}

static void iterator_dealloc(PyObject *self)
{
    PyObject_GC_UnTrack(self);
    Py_XDECREF(((Iterator *)self)->array);
    Py_XDECREF(((Iterator *)self)->get);
    PyObject_GC_Del(self);
}

static PyMethodDef ITERATOR_METHODS[] = {
    {"__length_hint__", iterator_hint, METH_NOARGS, NULL},
    {"source", iterator_source, METH_NOARGS, NULL},
    {NULL},
};

static PyTypeObject IteratorType = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "lazynp._fastpath.iterator",
    .tp_basicsize = sizeof(Iterator),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .tp_dealloc = iterator_dealloc,
    .tp_traverse = iterator_traverse,
    .tp_iter = PyObject_SelfIter,
    .tp_iternext = iterator_next,
    .tp_methods = ITERATOR_METHODS,
};

/* Its `function` is `getitem`. */
static PyObject *iterate(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *names)
{
    Front *front = (Front *)self;
    PyObject *x = PyVectorcall_NARGS(nargsf) == 1 && !names && nothing_staged() ? args[0] : NULL;
    PyObject *aval = x && is_array(x) ? lasting_aval(x) : NULL;
    if (!aval && x && carries_tangent(x))
        aval = type_behind(node_of(x));
    if (!aval || PyTuple_GET_SIZE(OF(aval, Aval, shape)) == 0)
        return hand_on(front, args, nargsf, names);
    Iterator *new = PyObject_GC_New(Iterator, &IteratorType);
    if (!new)
        return NULL;
    new->array = Py_NewRef(x);
    new->get = Py_NewRef(front->function);
    new->at = 0;
    new->length = PyLong_AsSsize_t(PyTuple_GET_ITEM(OF(aval, Aval, shape), 0));
    PyObject_GC_Track(new);
    return (PyObject *)new;
}
