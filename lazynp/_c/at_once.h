/* Operations that NumPy runs now, known by their ops: as `_backends.Eager.operation`. See core.h. */

#pragma once

#include "core.h"
#include "loops.h"
#include "products.h"

enum { OPS = 2048, MOST_ARGS = 16 };

/* What the last ops were found to be. `loop.loop` is NULL if the reference must be called. */
typedef struct {
    PyObject *op; /* kept */
    int updates;  /* the result is a new version of its first operand */
    int adds;     /* `inplace` gives what to add to what */
    int guards;   /* the reference is a front of kind `guarded` */
    int multiplies; /* the reference is a ufunc for products of matrices, by the loop `product` */
    Loop loop, product;
} Way;
static Way ways[OPS];

static PyArrayObject *parked_memory(PyObject *node);
static PyObject *guarded(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *names);

static inline int is_guarded(PyObject *function)
{
    return Py_TYPE(function) == &FrontType && ((Front *)function)->vectorcall == guarded;
}

/* The type number that all avals of a tuple have, or -1. */
static int common_type(PyObject *avals)
{
    int type = -1;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(avals); i++) {
        int other = type_of(PyTuple_GET_ITEM(avals, i), NULL);
        if (other < 0 || (i && other != type))
            return -1;
        type = other;
    }
    return type;
}

/* Whether an attribute of a primitive is this text. */
static int is_text(PyObject *primitive, PyObject *name, const char *text)
{
    PyObject *found = PyObject_GetAttr(primitive, name);
    int is = found && PyUnicode_Check(found) && !PyUnicode_CompareWithASCIIString(found, text);
    if (!found)
        PyErr_Clear();
    Py_XDECREF(found);
    return is;
}

static int is_true(PyObject *primitive, PyObject *name)
{
    PyObject *found = PyObject_GetAttr(primitive, name);
    if (!found)
        PyErr_Clear();
    Py_XDECREF(found);
    return found == Py_True;
}

static Way *way_of(PyObject *op)
{
    Way *it = &ways[((uintptr_t)op >> 4 ^ (uintptr_t)op >> 14) % OPS];
    if (it->op == op)
        return it;
    PyObject *function = OF(op, Op, reference), *explicit = OF(op, Op, explicit), *before = it->op;
    it->loop.loop = NULL;
    if (PyObject_TypeCheck(function, &PyUFunc_Type) && PyTuple_CheckExact(explicit) &&
        PyTuple_GET_SIZE(explicit) <= 2 && !is_text(OF(op, Op, primitive), the.name_of, "power"))
        find_loop(&it->loop, function, (int)PyTuple_GET_SIZE(explicit), common_type(explicit),
                  type_of(OF(op, Op, aval), NULL));
    it->multiplies = PyObject_TypeCheck(function, &PyUFunc_Type) &&
                     !strcmp(((PyUFuncObject *)function)->name, "matmul");
    it->product.kinds[0] = 0;
    it->updates = is_text(OF(op, Op, primitive), the.kind, "update");
    it->guards = is_guarded(function);
    it->adds = is_true(OF(op, Op, primitive), the.adds);
    it->op = Py_NewRef(op);
    Py_XDECREF(before);
    return it;
}

static inline int as_numpys_complex(PyObject *x, npy_cdouble *value)
{
    if (Py_TYPE(x) != &PyCDoubleArrType_Type)
        return 0;
    *value = PyArrayScalar_VAL(x, CDouble);
    return 1;
}

/* The result for numbers that `take` takes, new. NULL without an error: there is another operand. */
#define BY_LOOP(name, Type, ctype, take)                                                           \
    static PyObject *name(const Loop *it, PyObject *const *values, Py_ssize_t n)                   \
    {                                                                                              \
        ctype numbers[OPERANDS];                                                                   \
        char *at[OPERANDS] = {(char *)&numbers[0], (char *)&numbers[1], NULL};                     \
        npy_intp one = 1, strides[OPERANDS] = {0};                                                 \
        for (Py_ssize_t i = 0; i < n; i++)                                                         \
            if (!take(values[i], &numbers[i]))                                                     \
                return NULL;                                                                       \
        at[n] = (char *)&numbers[2];                                                               \
        before_loop(it);                                                                           \
        it->loop(at, &one, strides, it->data);                                                     \
        if (after_loop(it) < 0)                                                                    \
            return NULL;                                                                           \
        PyObject *new = PyArrayScalar_New(Type);                                                   \
        if (new)                                                                                   \
            PyArrayScalar_ASSIGN(new, Type, numbers[2]);                                           \
        return new;                                                                                \
    }
BY_LOOP(double_by_loop, Double, double, as_double)
BY_LOOP(complex_by_loop, CDouble, npy_cdouble, as_numpys_complex)
#undef BY_LOOP

/* The result for numbers alone, new. NULL without an error: the ufunc must do it. */
static PyObject *number_by_loop(const Loop *it, PyObject *const *values, Py_ssize_t n)
{
    if (it->type == NPY_DOUBLE && it->out == NPY_DOUBLE) {
        PyObject *out = double_by_loop(it, values, n);
        if (out || PyErr_Occurred())
            return out;
    }
    if (it->type == NPY_CDOUBLE && it->out == NPY_CDOUBLE) {
        PyObject *out = complex_by_loop(it, values, n);
        if (out || PyErr_Occurred())
            return out;
    }
    Number numbers[OPERANDS];
    char *at[OPERANDS] = {(char *)&numbers[0], (char *)&numbers[1], NULL};
    npy_intp one = 1, strides[OPERANDS] = {0}; /* as NumPy has them for numbers */
    for (Py_ssize_t i = 0; i < n; i++)
        if (is_memory(values[i]) || !is_number_of(values[i], it->type) ||
            !take_number(values[i], it->type, &numbers[i]))
            return NULL;
    at[n] = (char *)&numbers[2];
    before_loop(it);
    it->loop(at, &one, strides, it->data);
    if (PyErr_Occurred() || after_loop(it) < 0)
        return NULL;
    if (it->out == NPY_DOUBLE) {
        PyObject *new = PyArrayScalar_New(Double);
        if (new)
            PyArrayScalar_ASSIGN(new, Double, numbers[2].real);
        return new;
    }
    PyArray_Descr *descr = PyArray_DescrFromType(it->out);
    PyObject *new = PyArray_Scalar(&numbers[2], descr, NULL);
    Py_DECREF(descr);
    return new;
}

/* Whether arrays and numbers all have the loop's type: the loop would not convert. */
static int suit_loop(const Loop *it, PyObject *const *values, Py_ssize_t n)
{
    for (Py_ssize_t i = 0; i < n; i++)
        if (!is_memory(values[i]) && !is_number_of(values[i], it->type))
            return 0;
    return 1;
}

/* What NumPy computes, new: `call` is a quiet context, or NULL within one. NULL without an error: the
   context is in use. The caller holds the values. */
static PyObject *computed(PyObject *op, PyObject *const *values, Py_ssize_t n, PyObject *call)
{
    Way *way = way_of(op);
    PyObject *out = NULL;
    int is_scalar = OF(op, Op, scalar) == Py_True, again = 0;
    if (way->loop.loop && is_scalar)
        out = number_by_loop(&way->loop, values, n);
    else if (way->loop.loop && suit_loop(&way->loop, values, n))
        out = (PyObject *)by_loop(&way->loop, values, n, NULL);
    else if (way->multiplies && n == 2 && !is_scalar)
        out = (PyObject *)product_by(&way->product, OF(op, Op, reference), values[0], values[1], 0);
    if (out || PyErr_Occurred())
        return out;
    out = call ? quiet(call, OF(op, Op, reference), values, n, &again)
               : PyObject_Vectorcall(OF(op, Op, reference), values, n, NULL);
    if (out && is_memory(out) && PyArray_NDIM((PyArrayObject *)out) == 0 && is_scalar)
        out = PyArray_Return((PyArrayObject *)out);
    return out;
}

/* What a parked node makes of numbers alone, new: an array filled with one. NULL: forward. */
static PyObject *filled(PyObject *node)
{
    PyObject *op = PyList_GET_ITEM(node, OP), *args = PyList_GET_ITEM(node, ARGS), *values[MOST_ARGS];
    if (Py_TYPE(op) != (PyTypeObject *)the.Op || OF(op, Op, free) != Py_True ||
        !PyTuple_CheckExact(args) || PyTuple_GET_SIZE(args) > MOST_ARGS)
        return NULL;
    Py_ssize_t n = PyTuple_GET_SIZE(args);
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *x = PyTuple_GET_ITEM(args, i);
        values[i] = PyList_CheckExact(x) && PyList_GET_SIZE(x) == NODE_SIZE ? PyList_GET_ITEM(x, VALUE) : x;
        if (!is_python_number(values[i]) && (is_memory(values[i]) || !aval_of_number(values[i])))
            return NULL;
    }
    Py_INCREF(args);
    PyObject *out = PyObject_Vectorcall(OF(op, Op, reference), values, n, NULL);
    Py_DECREF(args);
    if (!out)
        forget();
    return out;
}

/* The value of an operand if it is there, new. NULL: it is pending. */
static PyObject *operand_there(PyObject *x)
{
    if (!PyList_CheckExact(x))
        return is_python_number(x) ? Py_NewRef(x) : NULL;
    if (PyList_GET_SIZE(x) != NODE_SIZE)
        return NULL;
    PyObject *value = PyList_GET_ITEM(x, VALUE);
    if (value == Py_None) {
        value = (PyObject *)parked_memory(x);
        return value || PyErr_Occurred() ? value : filled(x);
    }
    if (is_memory(value) ? is_of_numbers((PyArrayObject *)value) : aval_of_number(value) != NULL)
        return Py_NewRef(value);
    return NULL;
}

/* Whether an executed update may write into the memory of its first operand: `sole` is this node if
   nothing else refers to it but `holders` of the caller's. */
static int may_write_into(PyObject *x, PyObject *value, PyObject *sole, Py_ssize_t holders)
{
    PyObject *base = is_memory(value) ? PyArray_BASE((PyArrayObject *)value) : NULL;
    return x == sole && is_memory(value) && Py_REFCNT(x) == 1 + holders && Py_REFCNT(value) == 2 &&
           PyArray_ISWRITEABLE((PyArrayObject *)value) && PyList_GET_ITEM(x, CODE) != the.lent &&
           (!base || (is_memory(base) && Py_REFCNT(base) == 1 && !PyArray_BASE((PyArrayObject *)base)));
}

/* A node with a value, new: steals the value. */
static PyObject *node_with(PyObject *op, PyObject *value)
{
    static PyObject *zero;
    PyObject *new;
    if (!zero)
        zero = PyLong_FromLong(0);
    new = OF(op, Op, scalar) == Py_True ? leaf(value, OF(op, Op, aval))
                                        : node(op, Py_None, value, Py_None, zero);
    Py_DECREF(value);
    return new;
}

/* Whether the policy runs an operation with a result of this type now. */
static int may_run(PyObject *op, PyObject *recorder)
{
    PyObject *aval = OF(op, Op, aval);
    if (!is_eager(recorder) || OF(op, Op, host) != Py_False || Py_TYPE(aval) != (PyTypeObject *)the.Aval)
        return 0;
    double bytes = PyLong_AsDouble(OF(aval, Aval, nbytes));
    if (bytes == -1 && PyErr_Occurred())
        PyErr_Clear();
    return bytes >= 0 && are_small(recorder, bytes);
}

enum { WORTH_PARKING = 1 << 10 }; /* bytes: as in `_reference` */

/* The node of an operation that is run now, new; or of one that is parked. NULL without an error: it
   must be recorded. `sole`: see `may_write_into`. */
static PyObject *run_at_once(PyObject *op, PyObject *args, PyObject *recorder, PyObject *code,
                             PyObject *offset, PyObject *sole)
{
    Py_ssize_t n = PyTuple_GET_SIZE(args), count = 0;
    PyObject *values[MOST_ARGS], *out = NULL;
    PyObject *first = n ? PyTuple_GET_ITEM(args, 0) : NULL;
    int updates = way_of(op)->updates, in_place = 0, free = OF(op, Op, free) == Py_True;
    if (n > MOST_ARGS || !is_eager(recorder) || OF(op, Op, host) != Py_False)
        return NULL;
    while (count < n) {
        PyObject *value = operand_there(PyTuple_GET_ITEM(args, count));
        if (!value)
            goto end;
        values[count++] = value;
        in_place = in_place ||
                   (count == 1 && updates && sole && may_write_into(first, value, sole, 2));
        if (!in_place && is_memory(value) && !is_small(recorder, (PyArrayObject *)value))
            goto end;
    }
    if (!in_place && !may_run(op, recorder))
        goto end;
    if (in_place && PyCallable_Check(OF(op, Op, inplace))) {
        int again;
        PyObject *done = quiet(OF(recorder, Recorder, quiet), OF(op, Op, inplace), values, n, &again);
        out = done ? node_with(op, done) : NULL;
    }
    else if (free && OF(op, Op, scalar) != Py_True && (!n || !is_memory(values[0])) &&
             PyLong_AsSsize_t(OF(OF(op, Op, aval), Aval, nbytes)) > WORTH_PARKING)
        out = node(op, args, Py_None, code, offset);
    else {
        PyObject *done = computed(op, values, n, OF(recorder, Recorder, quiet));
        out = done ? node_with(op, done) : NULL;
    }
end:
    while (count > 0)
        Py_DECREF(values[--count]);
    return out;
}
