/* Fronts: arrays of classes that are derived from `ndarray`. See core.h and `functions/_subclass.py`.

   A plain handle of the same value takes the place of such an array, as everywhere. The result gets
   the class. Whatever the class has hooks for is Python's. */

#pragma once

#include "views.h"

enum { MOST_OF_DERIVED = 8 }; /* arguments */

/* `_subclass._of_kind`: a handle of this class with the value of an array, new. */
static PyObject *of_kind(PyTypeObject *kind, PyObject *x)
{
    if (kind->tp_flags & Py_TPFLAGS_IS_ABSTRACT || !OF(x, Array, _node)) {
        PyErr_Format(PyExc_TypeError, "Can't instantiate abstract class %s", kind->tp_name);
        return NULL;
    }
    PyObject *made = owner((PyObject *)kind, Py_NewRef(OF(x, Array, _node)));
    if (!made)
        return NULL;
    Py_SETREF(OF(made, Array, _base), Py_XNewRef(OF(x, Array, _base)));
    Py_SETREF(OF(made, Array, _seen), Py_XNewRef(OF(x, Array, _seen)));
    Py_SETREF(OF(made, Array, _flags), Py_XNewRef(OF(x, Array, _flags)));
    Py_SETREF(OF(made, Array, _order), Py_XNewRef(OF(x, Array, _order)));
    OF(made, Array, _path) = Py_XNewRef(OF(x, Array, _path));
    return made;
}

static inline PyObject *plain_of(PyObject *x)
{
    return of_kind((PyTypeObject *)the.NDArray, x);
}

/* Make this array, which this steals, an instance of a class: `_subclass.of_class`, new. */
static PyObject *in_class_of(PyTypeObject *kind, PyObject *array, PyObject *source)
{
    PyObject *made = of_kind(kind, array);
    Py_DECREF(array);
    if (!made || has_ours(kind, the.array_finalize))
        return made;
    if (_PyType_Lookup(kind, the.array_finalize) != Py_None) {
        PyObject *args[2] = {made, source};
        PyObject *done = PyObject_VectorcallMethod(the.array_finalize, args, 2, NULL);
        if (!done)
            Py_CLEAR(made);
        Py_XDECREF(done);
    }
    return made;
}

/* `_subclass.of_class(kind, array, source)`. */
static PyObject *of_class(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *names)
{
    if (PyVectorcall_NARGS(nargsf) != 3 || names || !PyType_Check(args[0]) || !is_handle(args[1]))
        return hand_on((Front *)self, args, nargsf, names);
    return in_class_of((PyTypeObject *)args[0], Py_NewRef(args[1]), args[2]);
}

/* A plain view of an array of a derived class, new. A view's is a view by the same path. */
static PyObject *stripped_of(PyObject *x)
{
    PyObject *node = OF(x, Array, _base) != Py_None ? node_of(x) : NULL, *shown, *out;
    PyObject *value = node ? PyList_GET_ITEM(node, VALUE) : Py_None;
    if (OF(x, Array, _base) == Py_None || OF(x, Array, _flags) != Py_None)
        return PyObject_Vectorcall(the.same, &x, 1, NULL);
    if (!is_memory(value))
        return plain_of(x);
    /* a node of its own, because who writes counts references */
    shown = PyArray_View((PyArrayObject *)value, NULL, NULL);
    out = shown ? plain_of(x) : NULL;
    if (out)
        Py_SETREF(OF(out, Array, _node), leaf(shown, known(node)));
    Py_XDECREF(shown);
    if (out && !OF(out, Array, _node))
        Py_CLEAR(out);
    return out;
}

/* `_subclass.stripped(x)`. */
static PyObject *stripped(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *names)
{
    Front *front = (Front *)self;
    if (PyVectorcall_NARGS(nargsf) != 1 || names || is_staged())
        return hand_on(front, args, nargsf, names);
    return is_derived(args[0]) ? stripped_of(args[0]) : Py_NewRef(args[0]);
}

/* `x.view()`, `x.view(kind)`: see `_conversions.view_as`. */
static PyObject *seen_in_class(PyObject *self, PyObject *const *args, size_t nargsf,
                               PyObject *names)
{
    Front *front = (Front *)self;
    Py_ssize_t n = PyVectorcall_NARGS(nargsf);
    PyTypeObject *kind = n == 2 && PyType_Check(args[1]) ? (PyTypeObject *)args[1] : NULL;
    if (n == 0 || names || is_staged() || !is_handle(args[0]) || (n == 1 && is_array(args[0])) ||
        (n == 2 && (!kind || !PyType_IsSubtype(kind, (PyTypeObject *)the.NDArray))) || n > 2)
        return hand_on(front, args, nargsf, names);
    PyObject *out = is_derived(args[0]) ? stripped_of(args[0])
                                        : PyObject_Vectorcall(the.same, args, 1, NULL);
    if (n == 1)
        kind = Py_TYPE(args[0]);
    return !out || kind == (PyTypeObject *)the.NDArray ? out : in_class_of(kind, out, args[0]);
}

/* What the function of plain arrays gave, in the class of `first`, new. Steals the result. `single`:
   numbers are arrays without axes. */
static PyObject *result_in_class(PyObject *result, PyObject *first, int single)
{
    if (single && is_scalar(result))
        Py_SETREF(result, owner(the.NDArray, Py_XNewRef(node_of(result))));
    return result && is_array(result) ? in_class_of(Py_TYPE(first), result, first) : result;
}

static inline int has_name(PyObject *names, const char *name)
{
    for (Py_ssize_t i = 0; names && i < PyTuple_GET_SIZE(names); i++)
        if (PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(names, i), name) == 0)
            return 1;
    return 0;
}

/* `_subclass._kept`: a method that reads. Its `function` is the one of plain arrays. */
static PyObject *kept(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *names)
{
    Front *front = (Front *)self;
    Py_ssize_t n = PyVectorcall_NARGS(nargsf), all = n + (names ? PyTuple_GET_SIZE(names) : 0);
    PyObject *given[MOST_OF_DERIVED] = {NULL}, *x = n ? args[0] : NULL, *out = NULL;
    if (!x || all > MOST_OF_DERIVED || is_staged() || !is_derived(x) || has_name(names, "subok") ||
        (front->asks && !has_no_hooks(x)))
        return hand_on(front, args, nargsf, names);
    for (Py_ssize_t i = 1; i < n; i++) /* of two classes, priorities tell which one stays */
        if (Py_TYPE(args[i]) != Py_TYPE(x) && is_derived(args[i]))
            return hand_on(front, args, nargsf, names);
    Py_ssize_t made = 0;
    for (; made < all; made++) {
        int plain = !made || (made < n && is_derived(args[made]) && has_no_hooks(args[made]));
        given[made] = plain ? plain_of(args[made]) : Py_NewRef(args[made]);
        if (!given[made])
            break;
    }
    if (made == all)
        out = PyObject_Vectorcall(front->function, given, n, names);
    if (out == given[0] && out)
        Py_SETREF(out, Py_NewRef(x)); /* the array itself */
    else if (out && is_array(out) && OF(out, Array, _base) == given[0])
        Py_SETREF(OF(out, Array, _base), Py_NewRef(x));
    int stored = 0; /* into an argument, which it gives back */
    for (Py_ssize_t i = 1; out && i < made; i++)
        stored |= out == args[i];
    if (out && out != x && !stored)
        out = result_in_class(out, x, front->reduces);
    for (Py_ssize_t i = 0; i < made; i++)
        Py_DECREF(given[i]);
    return out;
}

/* `_subclass._in_class`, which the front has for numbers of NumPy's own dtypes. Steals the result. */
static PyObject *item_in_class(Front *front, PyObject *result, PyObject *first)
{
    if (!PyArray_IsScalar(result, Generic))
        return result_in_class(result, first, 1);
    Py_SETREF(result, PyObject_CallFunctionObjArgs(front->handle, first, result, NULL));
    return result;
}

/* `_subclass.derived_first`: an elementwise function. Its `function` is the one of plain arrays. */
static PyObject *in_class(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *names)
{
    Front *front = (Front *)self;
    Py_ssize_t n = PyVectorcall_NARGS(nargsf), made = 0;
    PyObject *given[MOST_OF_DERIVED], *first = NULL, *out = NULL;
    if (!n || n > MOST_OF_DERIVED || names || is_staged())
        return hand_on(front, args, nargsf, names);
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *x = args[i];
        if (is_array(x) || is_scalar(x) || is_python_number(x) || aval_of_number(x))
            continue;
        if (!is_derived(x) || !has_no_hooks(x) || (first && Py_TYPE(first) != Py_TYPE(x)))
            return hand_on(front, args, nargsf, names);
        first = first ? first : x;
    }
    if (!first)
        return hand_on(front, args, nargsf, names);
    for (; made < n; made++)
        if (!(given[made] = is_derived(args[made]) ? plain_of(args[made]) : Py_NewRef(args[made])))
            break;
    if (made == n)
        out = PyObject_Vectorcall(front->function, given, n, NULL);
    for (Py_ssize_t i = 0; i < made; i++)
        Py_DECREF(given[i]);
    if (!out || !PyTuple_CheckExact(out))
        return out ? item_in_class(front, out, first) : NULL;
    PyObject *all = PyTuple_New(PyTuple_GET_SIZE(out));
    for (Py_ssize_t i = 0; all && i < PyTuple_GET_SIZE(out); i++) {
        PyObject *item = item_in_class(front, Py_NewRef(PyTuple_GET_ITEM(out, i)), first);
        if (item)
            PyTuple_SET_ITEM(all, i, item);
        else
            Py_CLEAR(all);
    }
    Py_DECREF(out);
    return all;
}

/* -- isinstance -------------------------------------------------------------------------------- */

/* `_array._KindOfArray.__instancecheck__(class, instance)`. */
static PyObject *is_instance(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *names)
{
    if (PyVectorcall_NARGS(nargsf) != 2 || names || !the.NDArray || !PyType_Check(args[0]))
        return hand_on((Front *)self, args, nargsf, names);
    if (PyType_IsSubtype(Py_TYPE(args[1]), (PyTypeObject *)args[0]) ||
        (args[0] == the.NDArray && PyArray_Check(args[1])))
        Py_RETURN_TRUE;
    if (is_handle(args[1]))
        Py_RETURN_FALSE;
    /* of an object that may pass for another */
    static PyObject *of_object, *name;
    if (!of_object) {
        name = PyUnicode_InternFromString("__class__");
        of_object = name ? _PyType_Lookup(&PyBaseObject_Type, name) : NULL;
    }
    if (!of_object || _PyType_Lookup(Py_TYPE(args[1]), name) != of_object)
        return hand_on((Front *)self, args, nargsf, names);
    Py_RETURN_FALSE;
}

/* `_array.NDArray.__class__`. Its `function` is the table of functions that know only NumPy's arrays,
   by module. */
static PyObject *class_told(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *names)
{
    Front *front = (Front *)self;
    PyObject *globals = PyEval_GetGlobals(), *module;
    if (PyVectorcall_NARGS(nargsf) != 1 || names || !globals || !PyDict_CheckExact(front->function))
        return hand_on(front, args, nargsf, names);
    module = PyDict_GetItemWithError(globals, the.name);
    if (module && (!PyUnicode_CheckExact(module) || PyDict_Contains(front->function, module) != 0))
        return hand_on(front, args, nargsf, names);
    return Py_NewRef((PyObject *)Py_TYPE(args[0]));
}
