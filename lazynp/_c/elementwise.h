/* Fronts: elementwise functions, and functions composed of them. See core.h. */

#pragma once

#include "at_once.h"
#include "casts.h"
#include "core.h"
#include "hosts.h"
#include "loops.h"
#include "numbers.h"
#include "present.h"
#include "products.h"
#include "tangents.h"

/* -- elementwise functions and operators: `_recording.binary`, `unary`, `composed` ------------- */

typedef struct {
    PyObject *operand; /* a node, or a Python scalar; NULL for a NumPy scalar. All are borrowed */
    PyObject *known;
    PyObject *value; /* NULL if it is pending */
} Operand;

static int look_at(PyObject *x, Operand *it, PyObject **order)
{
    if (is_array(x) || is_scalar(x)) {
        it->operand = node_of(x);
        if (!it->operand)
            return 0;
        it->known = known(it->operand);
        if (OF(x, Array, _order) != Py_None)
            *order = OF(x, Array, _order);
        PyObject *value = PyList_GET_ITEM(it->operand, VALUE);
        it->value = is_memory(value) || (value != Py_None && aval_of_number(value)) ? value : NULL;
        return 1;
    }
    it->value = x;
    if (is_python_number(x)) {
        it->operand = x;
        it->known = (PyObject *)Py_TYPE(x);
        return 1;
    }
    it->operand = NULL;
    it->known = aval_of_number(x);
    return it->known != NULL;
}

/* A handle for NumPy's result, which this steals. */
static PyObject *done_result(PyObject *result, PyObject *aval)
{
    PyObject *class = is_memory(result) ? the.NDArray : the.Scalar;
    PyObject *out = owner(class, leaf(result, aval));
    Py_DECREF(result);
    return out;
}

/* A handle for NumPy's new array, which this steals: a scalar if it has no axes. */
static PyObject *handle_of(PyArrayObject *result)
{
    PyObject *out = NULL, *aval = NULL;
    if (PyArray_NDIM(result) == 0) {
        PyObject *number = PyArray_Return(result), *of = number ? aval_of_number(number) : NULL;
        out = of ? scalar(number, of) : NULL;
        Py_XDECREF(number);
        return out;
    }
    aval = aval_of_memory(result);
    out = aval ? owner(the.NDArray, leaf((PyObject *)result, aval)) : NULL;
    Py_DECREF(result);
    Py_XDECREF(aval);
    return out;
}

/* NumPy's array of a short list or tuple of Python's ints and floats, new. NULL, without an error:
   forward. */
static PyArrayObject *array_of_numbers(PyObject *x)
{
    enum { SHORT = 64 };
    Py_ssize_t n = PyList_CheckExact(x) || PyTuple_CheckExact(x) ? PySequence_Fast_GET_SIZE(x) : 0;
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *item = PySequence_Fast_GET_ITEM(x, i);
        if (!PyFloat_CheckExact(item) && !PyLong_CheckExact(item))
            n = 0;
    }
    PyObject *new = n && n <= SHORT ? PyArray_FROM_O(x) : NULL;
    if (new && !is_of_numbers((PyArrayObject *)new)) /* a large int */
        Py_CLEAR(new);
    return (PyArrayObject *)new;
}

enum { DEEPEST = 4 }; /* how deep lists nest */

static inline int is_short_sequence(PyObject *x)
{
    return (PyList_CheckExact(x) || PyTuple_CheckExact(x)) &&
           PySequence_Fast_GET_SIZE(x) <= the.few;
}

static PyObject *memory_of_list(PyObject *x, PyObject *now);

/* An array of NumPy's own in a handle, for NumPy to read at once, new. NULL: forward. */
static PyObject *borrowed(PyObject *x, PyObject *now)
{
    PyArrayObject *memory = (PyArrayObject *)x;
    int ordered = PyArray_NDIM(memory) > 1 && !PyArray_IS_C_CONTIGUOUS(memory);
    if (!PyArray_NDIM(memory) || !is_of_numbers(memory) || !PyArray_ISBEHAVED_RO(memory) ||
        !is_small(now, memory) || (ordered && !PyArray_IS_F_CONTIGUOUS(memory)))
        return NULL;
    PyObject *aval = aval_of_memory(memory), *out = aval ? owner(the.NDArray, leaf(x, aval)) : NULL;
    PyObject *order = out && ordered ? fortran_order(PyArray_NDIM(memory)) : NULL;
    if (order)
        Py_SETREF(OF(out, Array, _order), order);
    Py_XDECREF(aval);
    return out;
}

/* A list or tuple of numbers, or an array of NumPy's own, in a handle: for an operator, only if the
   other operand is an array, as a scalar may repeat a list. */
static PyObject *listed(Front *front, PyObject *x, PyObject *const *args, Py_ssize_t n,
                        PyObject *now)
{
    PyArrayObject *new = NULL;
    if (is_memory(x))
        return borrowed(x, now);
    int fits = n == 2 && is_array(args[args[0] == x]);
    if (fits)
        new = array_of_numbers(x);
    fits = fits || front->creates;
    if (!new && fits && !PyErr_Occurred() && (PyList_CheckExact(x) || PyTuple_CheckExact(x)))
        new = (PyArrayObject *)memory_of_list(x, now);
    return new ? handle_of(new) : NULL;
}

/* The order of at most four axes, none of one element, whose strides differ, new. NULL, without an
   error: Python must find it. */
static PyObject *order_of_axes(PyArrayObject *memory)
{
    int ndim = PyArray_NDIM(memory), axes[AXES];
    if (ndim > AXES)
        return NULL;
    for (int axis = 0; axis < ndim; axis++) { /* by insertion, the longest stride first */
        int to = axis;
        npy_intp stride = PyArray_STRIDE(memory, axis);
        for (; to && PyArray_STRIDE(memory, axes[to - 1]) <= stride; to--) {
            if (PyArray_STRIDE(memory, axes[to - 1]) == stride)
                return NULL;
            axes[to] = axes[to - 1];
        }
        if (PyArray_DIM(memory, axis) < 2 || stride <= 0)
            return NULL;
        axes[to] = axis;
    }
    PyObject *order = PyTuple_New(ndim);
    for (int axis = 0; order && axis < ndim; axis++)
        PyTuple_SET_ITEM(order, axis, PyLong_FromLong(axes[axis])); /* small: never NULL */
    return order;
}

/* NumPy's order of a result of operands that lie as NumPy's would: `_strides.order_of_strides`, new.
   NULL: Python must find it, or an error. */
static PyObject *order_of_result(PyObject *value, PyObject *const *xs, Py_ssize_t n)
{
    PyArrayObject *memory = (PyArrayObject *)value;
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *node = is_array(xs[i]) ? node_of(xs[i]) : NULL;
        PyObject *operand = node ? PyList_GET_ITEM(node, VALUE) : Py_None;
        if (is_array(xs[i]) &&
            (!is_memory(operand) || !is_laid_out(xs[i], (PyArrayObject *)operand)))
            return NULL;
    }
    if (!is_memory(value) || PyArray_IS_C_CONTIGUOUS(memory))
        return is_memory(value) ? Py_NewRef(Py_None) : NULL;
    if (PyArray_IS_F_CONTIGUOUS(memory))
        return fortran_order(PyArray_NDIM(memory));
    PyObject *found = order_of_axes(memory);
    return found || PyErr_Occurred() ? found : PyObject_CallOneArg(the.order_of_strides, value);
}

/* The operands of a node, as a new tuple. */
static PyObject *operands_of(PyObject *const *xs, const Operand *them, Py_ssize_t n)
{
    PyObject *held[2] = {NULL}, *args;
    for (Py_ssize_t i = 0; i < n; i++)
        held[i] = Py_XNewRef(them[i].operand);
    args = PyTuple_New(n);
    for (Py_ssize_t i = 0; i < n; i++) {
        if (args && !held[i])
            held[i] = leaf(xs[i], them[i].known);
        if (args && held[i]) {
            PyTuple_SET_ITEM(args, i, held[i]);
            continue;
        }
        Py_XDECREF(held[i]);
        Py_CLEAR(args);
    }
    return args;
}

/* -- what the memo table holds for operands, found without making its key ----------------------- */

/* The entry of this key, borrowed. NULL: there is none, or an error. */
static PyObject *looked_up(Front *front, PyObject *key, Py_ssize_t n)
{
    PyObject *entry = PyDict_GetItemWithError(front->entries, key);
    if (entry) {
        PyObject *first = n == 1 ? key : PyTuple_GET_ITEM(key, 0);
        PyObject *second = n == 1 ? NULL : PyTuple_GET_ITEM(key, 1);
        *place_of(front, first, second) = (Recent){
            .known = {first, second}, .entry = entry, .version = version(front->entries)};
    }
    return entry;
}

/* The same, by the key if necessary; then `*key` is new. NULL without a key: forward, or an error. */
static PyObject *entry_for(Front *front, PyObject *const *xs, Operand *them, Py_ssize_t n,
                           PyObject **order, PyObject **key)
{
    PyObject *entry = recent_entry(front, them[0].known, them[1].known);
    if (entry)
        return entry;
    *key = n == 1 ? Py_NewRef(them[0].known) : PyTuple_New(2);
    for (Py_ssize_t i = 0; *key && n == 2 && i < 2; i++) { /* again: a new tuple may run code */
        if (!look_at(xs[i], &them[i], order)) {
            Py_CLEAR(*key);
            return NULL;
        }
        PyTuple_SET_ITEM(*key, i, Py_NewRef(them[i].known));
    }
    return *key ? looked_up(front, *key, n) : NULL;
}

static inline int is_two(PyObject *x)
{
    int overflow;
    return PyFloat_CheckExact(x) ? PyFloat_AS_DOUBLE(x) == 2
                                 : PyLong_CheckExact(x) && PyLong_AsLongAndOverflow(x, &overflow) == 2;
}

/* Where the loop for operands known by these is, or will be. */
static Loop *place_of_loop(Front *front, PyObject *first, PyObject *second, int *kinds)
{
    int is_cast = second && cast_type(first, second) >= 0;
    kinds[0] = is_cast ? kind_to_cast(first) : kind_of(first, second);
    kinds[1] = is_cast ? kind_to_cast(second) : second ? kind_of(second, first) : 0;
    return kinds[0] < 0 || kinds[1] < 0 ? NULL : &front->loops[(kinds[0] + 3 * kinds[1]) % 8];
}

/* Find the loop for operands that NumPy has met: its result has this aval. */
static void learn_loop(Front *front, PyObject *const *known, Py_ssize_t n, PyObject *found)
{
    int kinds[2], power = front->method != Py_None;
    Loop *it = place_of_loop(front, known[0], known[1], kinds);
    if (!it || (it->kinds[0] == kinds[0] && it->kinds[1] == kinds[1]))
        return;
    int common = n == 2 && !power ? cast_type(known[0], known[1]) : -1;
    int type = common >= 0 ? common : type_of(known[0], known[1]);
    int same = n == 1 || common >= 0 || type == type_of(known[1], known[0]);
    it->casts = common >= 0;
    find_loop(it, power ? front->method : front->function, power ? 1 : (int)n, same ? type : -1,
              type_of(found, NULL));
    if (power && (type == NPY_BOOL || (type == NPY_CDOUBLE && kinds[1] == OF_FLOAT)))
        it->loop = NULL; /* the square is of another dtype; NumPy's z ** 2.0 is no square */
    memcpy(it->kinds, kinds, sizeof kinds);
}

/* Whether a loop may run: the result is small, and has an axis, or all operands are numbers. */
static int is_for_loop(Front *front, const Operand *them, Py_ssize_t n, int *numbers)
{
    int axes = 0;
    *numbers = front->method == Py_None;
    for (Py_ssize_t i = 0; i < n; i++) {
        if (!them[i].value)
            return 0;
        if (is_memory(them[i].value)) {
            *numbers = 0;
            axes = axes || PyArray_NDIM((PyArrayObject *)them[i].value);
            if (PyArray_SIZE((PyArrayObject *)them[i].value) > LOOPED)
                return 0;
        }
    }
    /* NumPy has a function of its own for x ** 2 */
    return *numbers || (axes && (front->method == Py_None || is_two(them[1].value)));
}

/* What NumPy makes of float64s, of which one may be Python's number, if C does not know the operation
   (`np.power`), new. NULL without an error: forward. */
static PyObject *of_float_and_number(Front *front, const Operand *them)
{
    PyObject *given[2] = {NULL}, *out = NULL;
    int doubles = Py_TYPE(them[0].value) == &PyDoubleArrType_Type ||
                  Py_TYPE(them[1].value) == &PyDoubleArrType_Type;
    for (int i = 0; doubles && i < 2; i++)
        given[i] = PyLong_CheckExact(them[i].value) ? PyNumber_Float(them[i].value)
                                                    : Py_NewRef(them[i].value);
    if (given[0] && given[1])
        out = by_doubles(front, given, 2);
    else if (PyErr_Occurred())
        PyErr_Clear(); /* a large int: the ufunc reports it */
    Py_XDECREF(given[0]);
    Py_XDECREF(given[1]);
    PyObject *number = out ? scalar(out, the.aval_of_double) : NULL;
    Py_XDECREF(out);
    return number;
}

/* Whether this is x ** 0.5 of floats, for which NumPy calls `sqrt`. */
static int is_root(Front *front, const Operand *them)
{
    PyArrayObject *memory = (PyArrayObject *)them[0].value;
    PyObject *power = them[1].value;
    return front->method != Py_None && !front->creates && power && PyFloat_CheckExact(power) &&
           PyFloat_AS_DOUBLE(power) == 0.5 && memory && is_memory((PyObject *)memory) &&
           PyArray_NDIM(memory) && PyArray_SIZE(memory) <= LOOPED &&
           (PyArray_TYPE(memory) == NPY_DOUBLE || PyArray_TYPE(memory) == NPY_FLOAT);
}

/* NumPy's result of this, as by `looped`. */
static PyObject *root(const Operand *them, PyArrayObject *into, int ordered)
{
    static Loop roots[2];
    int type = PyArray_TYPE((PyArrayObject *)them[0].value);
    Loop *it = &roots[type == NPY_FLOAT];
    if (!it->kinds[0]) {
        PyObject *numpy = PyImport_ImportModule("numpy");
        PyObject *sqrt = numpy ? PyObject_GetAttrString(numpy, "sqrt") : NULL;
        if (sqrt)
            find_loop(it, sqrt, 1, type, type); /* the loop lives as long as NumPy's module */
        it->kinds[0] = 1;
        Py_XDECREF(sqrt);
        Py_XDECREF(numpy);
    }
    if (!it->loop)
        return NULL;
    PyObject *value = Py_NewRef(them[0].value);
    PyArrayObject *result = by_loop(it, &value, 1, into);
    if (!result && ordered && !PyErr_Occurred())
        result = by_permuted_loop(it, &value, 1);
    Py_DECREF(value);
    return result ? handle_of(result) : NULL;
}

/* NumPy's result by its inner loop, new. What the operands are decides which; nothing depends on
   their shapes, which change from round to round in many loops. NULL without an error: forward to
   the memo table. `into`: memory of an operand that is lost after this, or NULL. ordered: whether an
   operand may lie in another order than C's. */
static PyObject *looped(Front *front, const Operand *them, Py_ssize_t n, PyArrayObject *into,
                        int ordered)
{
    int kinds[2], numbers;
    if (n == 2 && is_root(front, them))
        return root(them, into, ordered);
    if (!is_for_loop(front, them, n, &numbers))
        return NULL;
    if (numbers && n == 2 && front->creates && !front->records)
        return of_float_and_number(front, them);
    Loop *it = place_of_loop(front, them[0].known, them[1].known, kinds);
    if (!it || it->kinds[0] != kinds[0] || it->kinds[1] != kinds[1] || !it->loop)
        return NULL;
    PyObject *values[2] = {Py_NewRef(them[0].value), Py_XNewRef(them[1].value)}, *out = NULL;
    if (numbers && !it->casts) {
        PyObject *number = number_by_loop(it, values, n);
        PyObject *aval = number ? aval_of_number(number) : NULL;
        out = aval ? scalar(number, aval) : NULL;
        Py_XDECREF(number);
    }
    Py_ssize_t read = front->method == Py_None ? n : 1;
    PyArrayObject *result = numbers     ? NULL
                            : it->casts ? by_cast_loop(it, values, into)
                                        : by_loop(it, values, read, into);
    if (!result && ordered && !numbers && !it->casts && !PyErr_Occurred())
        result = by_permuted_loop(it, values, read);
    if (result)
        out = handle_of(result);
    Py_DECREF(values[0]);
    Py_XDECREF(values[1]);
    return out;
}

/* The product of two available arrays of any size by NumPy, new. NULL: forward, or an error. */
static PyObject *product(Front *front, const Operand *them, PyObject *now)
{
    int again = 0;
    PyObject *values[2] = {them[0].value, them[1].value}, *out = NULL, *aval;
    for (int i = 0; i < 2; i++)
        if (!values[i] || !is_memory(values[i]) || !is_of_numbers((PyArrayObject *)values[i]))
            return NULL;
    Py_INCREF(values[0]);
    Py_INCREF(values[1]);
    PyObject *result = (PyObject *)multiplied(front, values[0], values[1]);
    if (!result && !PyErr_Occurred())
        result = quiet(OF(now, Recorder, quiet), front->function, values, 2, &again);
    Py_DECREF(values[0]);
    Py_DECREF(values[1]);
    if (!result)
        return NULL;
    spend(now, result);
    if (is_memory(result))
        return handle_of((PyArrayObject *)result);
    aval = aval_of_number(result);
    out = aval ? scalar(result, aval) : NULL;
    Py_DECREF(result);
    return out;
}

/* Whether NumPy may execute this call on operands of a new kind now, as far as C can decide. */
static int is_for_numpy(Front *front, PyObject *entry, PyObject *now, PyObject *const *xs,
                        const Operand *them, Py_ssize_t n)
{
    if ((!front->records && !front->arrays_only) || entry ||
        PyDict_GET_SIZE(front->entries) >= the.bound)
        return 0;
    for (Py_ssize_t i = 0; i < n; i++) {
        if (front->arrays_only && !is_array(xs[i]))
            return 0;
        PyArrayObject *memory = (PyArrayObject *)them[i].value;
        if (is_memory(them[i].value) && (!is_of_numbers(memory) || !is_small(now, memory)))
            return 0;
    }
    return !PyErr_Occurred();
}

/* Remember the aval of NumPy's result for a new kind of operands; return it, new. NULL: forward, or
   an error. */
static PyObject *learnt(Front *front, PyObject *key, PyObject *result)
{
    PyObject *aval = is_memory(result) ? aval_of_memory((PyArrayObject *)result)
                                       : Py_XNewRef(aval_of_number(result));
    PyTypeObject *type = (PyTypeObject *)the.Entry;
    PyObject *entry = aval ? type->tp_alloc(type, 0) : NULL;
    if (entry) {
        OF(entry, Entry, op) = Py_NewRef(Py_None);
        OF(entry, Entry, aval) = Py_NewRef(aval);
    }
    if (aval && (!entry || PyDict_SetItem(front->entries, key, entry) < 0))
        Py_CLEAR(aval);
    Py_XDECREF(entry);
    if (aval && watched() && PyDict_DelItem(front->entries, key) < 0) /* it began meanwhile */
        PyErr_Clear();
    return aval;
}

/* Record an operation that was seen before, if the back end records; return its node, new.
   NULL: forward, or an error. */
static PyObject *recorded_again(PyObject *function, PyObject *const *xs, int depth, PyObject *now)
{
    Front *front = (Front *)function;
    Operand them[2] = {{NULL}};
    PyObject *order = NULL, *key = NULL, *entry, *op, *operands, *new = NULL;
    if (Py_TYPE(function) != &FrontType || front->operands != 2 || !front->records || front->swap)
        return NULL;
    if (!look_at(xs[0], &them[0], &order) || !look_at(xs[1], &them[1], &order))
        return NULL;
    entry = entry_for(front, xs, them, 2, &order, &key);
    op = entry ? OF(entry, Entry, op) : NULL;
    if (op && Py_TYPE(op) == (PyTypeObject *)the.Op && OF(op, Op, scalar) == Py_False &&
        OF(op, Op, bounds) == Py_None && OF(op, Op, aval) == them[0].known) {
        Py_INCREF(op);
        operands = operands_of(xs, them, 2);
        new = operands ? recorded(op, operands, depth, now) : NULL;
        Py_XDECREF(operands);
        Py_DECREF(op);
    }
    Py_XDECREF(key);
    return new;
}

/* What the table of a front holds for operands some of which carry a tangent, borrowed: for two
   arrays by their types, for a power by the type of the base and the exponent. NULL: nothing. */
static PyObject *entry_of_traced(Front *front, const Operand *them, PyObject *exponent)
{
    PyObject *types[2] = {type_behind(them[0].operand), exponent};
    if (!exponent)
        types[1] = type_behind(them[1].operand);
    PyObject *key = !types[0] || !types[1] ? NULL
                    : exponent ? PyTuple_Pack(3, types[0], (PyObject *)Py_TYPE(exponent), exponent)
                               : PyTuple_Pack(2, types[0], types[1]);
    PyObject *entry = key ? PyDict_GetItemWithError(front->entries, key) : NULL;
    Py_XDECREF(key);
    return entry;
}

/* The primitive of a front, and its parameters, for operands some of which carry a tangent; both
   borrowed. How many of the operands it takes; 0: Python must find them. */
static Py_ssize_t operation_of(Front *front, const Operand *them, Py_ssize_t n,
                               PyObject **primitive, PyObject **params)
{
    PyObject *exponent = front->powers && !front->swap ? them[1].operand : NULL;
    exponent = exponent && is_python_number(exponent) ? exponent : NULL;
    *primitive = front->second;
    *params = NULL;
    if (!front->arrays_only && !exponent)
        return front->second != Py_None ? n : 0;
    PyObject *entry = entry_of_traced(front, them, exponent);
    PyObject *op = entry ? OF(entry, Entry, op) : NULL;
    if (!op || Py_TYPE(op) != (PyTypeObject *)the.Op || !PyDict_CheckExact(OF(op, Op, params)))
        return 0;
    *primitive = OF(op, Op, primitive);
    *params = OF(op, Op, params); /* the table keeps the op */
    if (!PyDict_GET_SIZE(*params))
        *params = NULL;
    return PyTuple_GET_SIZE(OF(op, Op, explicit));
}

/* Whether these are all numbers of Python's, of which NumPy's functions make NumPy's numbers. */
static int are_all_weak(const Operand *them, Py_ssize_t n)
{
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *aval = them[i].operand && PyList_CheckExact(them[i].operand)
                             ? type_behind(them[i].operand)
                             : NULL;
        if (aval && OF(aval, Aval, weak) == Py_False)
            return 0;
    }
    return 1;
}

/* The operation on operands some of which carry a tangent, new. NULL: forward, or an error. */
static PyObject *with_tangent(Front *front, PyObject *const *xs, const Operand *them,
                              Py_ssize_t n, PyObject *now)
{
    PyObject *outer = NULL, *code, *offset, *operands, *new = NULL, *primitive, *params;
    for (Py_ssize_t i = 0; i < n && tangents.rules; i++)
        if (them[i].operand && PyList_CheckExact(them[i].operand) && tracer_in(them[i].operand))
            outer = TANGENT(tracer_in(them[i].operand), JVPTracer, trace);
    if (!outer || !(n = operation_of(front, them, n, &primitive, &params)) ||
        ((front->creates || front->powers == 2) && are_all_weak(them, n)))
        return NULL;
    Py_INCREF(outer);
    operands = operands_of(xs, them, n); /* holds them from here on */
    if (operands && users_position(&code, &offset)) {
        new = replay(outer, primitive, params, ((PyTupleObject *)operands)->ob_item, n, now,
                     code, offset, NULL);
        Py_DECREF(code);
        Py_DECREF(offset);
    }
    Py_XDECREF(operands);
    Py_DECREF(outer);
    if (new) {
        PyObject *traced = known(new); /* or an aval: some results have no tangent */
        PyObject *aval = is_a(traced, the.Aval) ? traced : NULL, *tracer = tracer_in(new);
        if (tracer)
            aval = TANGENT(tracer, JVPTracer, aval);
        Py_ssize_t ndim = aval ? PyLong_AsSsize_t(OF(aval, Aval, ndim)) : 1;
        new = owner(ndim ? the.NDArray : the.Scalar, new);
    }
    return new;
}

/* The elements of the result for arrays of different shapes: of their product, or of a broadcast. As
   `_is_small` in Python. */
static double result_size(Front *front, PyArrayObject *a, PyArrayObject *b)
{
    int na = PyArray_NDIM(a), nb = PyArray_NDIM(b);
    double size = 1;
    if (!front->arrays_only) {
        for (int i = 1; i <= na || i <= nb; i++) {
            npy_intp x = i <= na ? PyArray_DIM(a, na - i) : 1, y = i <= nb ? PyArray_DIM(b, nb - i) : 1;
            size *= (double)(x == 1 ? y : x);
        }
        return size;
    }
    npy_intp rows = na > 1 ? PyArray_DIM(a, na - 2) : 1, columns = nb > 1 ? PyArray_DIM(b, nb - 1) : 1;
    npy_intp contracted = na && PyArray_DIM(a, na - 1) ? PyArray_DIM(a, na - 1) : 1;
    double of_a = (double)PyArray_SIZE(a) * (double)columns, of_b = (double)PyArray_SIZE(b) * (double)rows;
    return (of_a > of_b ? of_a : of_b) / (double)contracted;
}

/* Whether all operands are there, and small, and so is the result. */
static int are_small_values(Front *front, PyObject *now, const Operand *them, Py_ssize_t n)
{
    PyArrayObject *arrays[2];
    for (Py_ssize_t i = 0; i < n; i++) {
        arrays[i] = (PyArrayObject *)them[i].value;
        if (!them[i].value || (is_memory(them[i].value) && !is_small(now, arrays[i])))
            return 0;
    }
    if (n < 2 || !is_memory(them[0].value) || !is_memory(them[1].value) ||
        !PyArray_NDIM(arrays[0]) || !PyArray_NDIM(arrays[1]) ||
        PyArray_SAMESHAPE(arrays[0], arrays[1]))
        return 1;
    npy_intp bytes = PyArray_ITEMSIZE(arrays[0]), others = PyArray_ITEMSIZE(arrays[1]);
    return are_small(now, result_size(front, arrays[0], arrays[1]) *
                          (double)(bytes > others ? bytes : others));
}

/* Whether an operand or the result may have more elements than other threads wait for. */
static int may_be_long(const Operand *them, Py_ssize_t n)
{
    double size = 1;
    PyArrayObject *before = NULL;
    for (Py_ssize_t i = 0; i < n; i++) {
        PyArrayObject *memory = (PyArrayObject *)them[i].value;
        if (!memory || !is_memory((PyObject *)memory) ||
            (before && PyArray_SAMESHAPE(before, memory)))
            continue;
        size *= (double)PyArray_SIZE(memory);
        before = memory;
    }
    return size > HELD;
}

/* The memory of the operand that is a temporary, if its result has this aval (NULL: any may have it);
   else NULL. Borrowed. */
static PyArrayObject *memory_for(PyObject *temporary, PyObject *const *xs, const Operand *them,
                                 Py_ssize_t n, PyObject *aval)
{
    for (Py_ssize_t i = 0; temporary && i < n; i++)
        if (xs[i] == temporary)
            return !aval || them[i].known == aval ? memory_of_temporary(temporary) : NULL;
    return NULL;
}

/* temporary: an operand that is lost after this, or NULL. */
static PyObject *elementwise_into(PyObject *self, PyObject *const *args, size_t nargsf,
                                  PyObject *names, PyObject *temporary)
{
    Front *front = (Front *)self;
    Py_ssize_t n = PyVectorcall_NARGS(nargsf);
    Operand them[2] = {{NULL}};
    PyObject *xs[2] = {NULL}, *shown[2] = {NULL}, *order = NULL, *now = NULL, *key = NULL, *found, *out = NULL;
    int again = 0, is_part = 0; /* of a large array: NumPy computes with it only if it has before */
    int lent = 0; /* memory of somebody else's, which no operation may keep */
    if (n != front->operands || names || !nothing_staged())
        return hand_on(front, args, nargsf, names);
    now = recorder(); /* first, as it may run Python code: all later references are borrowed */
    if (!now)
        goto end;
    again = 1;
    if (front->creates && are_numbers(args, n)) {
        out = of_numbers(front, now, args, n, &again);
        goto end;
    }
    for (Py_ssize_t i = 0; i < n; i++)
        xs[i] = args[front->swap ? n - 1 - i : i];
    for (Py_ssize_t i = 0; i < n; i++) {
        if (!look_at(xs[i], &them[i], &order)) {
            if (shown[i] || !is_eager(now))
                goto end;
            lent = lent || is_memory(xs[i]);
            shown[i] = is_array(xs[i]) ? present(xs[i]) : listed(front, xs[i], args, n, now);
            if (!shown[i])
                goto end;
            PyObject *value = PyList_GET_ITEM(OF(shown[i], Array, _node), VALUE);
            if (!front->arrays_only && !is_small(now, (PyArrayObject *)value))
                is_part = 1;
            xs[i] = shown[i];
            i = -1; /* again: that may have run code */
        }
    }
    if (!may_go_on(now))
        goto end;
    if (is_python_number(xs[0]) && (n == 1 || is_python_number(xs[1])))
        goto end; /* their values determine the dtype */
    int plain = is_a(them[0].known, the.Aval) &&
                (n == 1 || is_a(them[1].known, the.Aval) || is_python_number(xs[1]));
    if (lent && !plain)
        goto end; /* a derivative keeps its operands */
    int arrays = front->arrays_only && n == 2 && is_array(xs[0]) && is_array(xs[1]);
    if ((front->second != Py_None || arrays) && !order && !plain) {
        out = with_tangent(front, xs, them, n, now);
        again = !out;
        if (out || PyErr_Occurred())
            goto end;
    }
    int first = is_first(now), eager = first ? are_small_values(front, now, them, n) : is_eager(now);
    if ((first && is_part) || (lent && !eager))
        goto end; /* Python records it as a part, or copies it */
    if (eager && front->arrays_only)
        out = product(front, them, now);
    else if (eager && !is_part &&
             (first || !may_be_long(them, n) || are_small_values(front, now, them, n)) &&
             (out = looped(front, them, n, order ? NULL : memory_for(temporary, xs, them, n, NULL),
                           order != NULL)))
        spend(now, PyList_GET_ITEM(OF(out, Array, _node), VALUE));
    if (out) {
        again = 0;
        goto done;
    }
    if (PyErr_Occurred()) {
        again = 0;
        goto end;
    }
    PyObject *entry = entry_for(front, xs, them, n, &order, &key);
    if (!entry && (!key || PyErr_Occurred()))
        goto end;
    if (eager) {
        found = entry && OF(entry, Entry, aval) != Py_None ? Py_NewRef(OF(entry, Entry, aval)) : NULL;
        if (!them[0].value || (n == 2 && !them[1].value) ||
            (!found && !is_for_numpy(front, entry, now, xs, them, n))) {
            Py_XDECREF(found);
            goto end;
        }
        int power = front->method != Py_None, square = power && is_two(them[1].value);
        PyArrayObject *into =
            order || !found || (power && !square) ? NULL : memory_for(temporary, xs, them, n, found);
        square = square && into;
        PyObject *values[2] = {Py_NewRef(them[0].value), Py_XNewRef(them[1].value)};
        PyObject *kept[2] = {Py_NewRef(them[0].known), Py_XNewRef(them[1].known)};
        PyObject *given[3] = {values[0], values[1]};
        Py_ssize_t last = square ? 1 : n;
        given[last] = into ? (PyObject *)into : given[last];
        PyObject *result = quiet(OF(now, Recorder, quiet), square ? front->method : front->function,
                                 given, last + !!into, &again);
        if (result && !found) {
            found = learnt(front, key, result);
            again = !found;
        }
        if (result && found) {
            if (is_memory(result) || front->method == Py_None)
                learn_loop(front, kept, n, found);
            spend(now, result);
            out = done_result(result, found);
        }
        else
            Py_XDECREF(result);
        for (int i = 0; i < n; i++) {
            Py_DECREF(values[i]);
            Py_DECREF(kept[i]);
        }
        Py_XDECREF(found);
    }
    else {
        if (first && is_full(now)) /* Python looks for a cut site */
            goto end;
        found = entry && front->records ? OF(entry, Entry, op) : NULL;
        if (!found || Py_TYPE(found) != (PyTypeObject *)the.Op || OF(found, Op, scalar) != Py_False)
            goto end;
        if (OF(found, Op, bounds) != Py_None)
            goto end;
        again = 0;
        Py_INCREF(found);
        PyObject *operands = operands_of(xs, them, n);
        PyObject *new = operands ? recorded(found, operands, front->depth, now) : NULL;
        Py_XDECREF(operands);
        Py_DECREF(found);
        out = new ? owner(the.NDArray, new) : NULL;
    }
done:
    if (out && order && !front->arrays_only) {
        PyObject *value = PyList_GET_ITEM(OF(out, Array, _node), VALUE);
        PyObject *numpys = is_memory(value) ? order_of_result(value, xs, n) : NULL;
        if (numpys) {
            Py_SETREF(OF(out, Array, _order), numpys);
            goto end;
        }
        if (PyErr_Occurred()) {
            Py_CLEAR(out);
            goto end;
        }
        PyObject *all[3] = {out, xs[0], xs[1]};
        Py_SETREF(out, PyObject_Vectorcall(the.in_common_order, all, 1 + n, NULL));
    }
end:
    if (again && !out && now && xs[0] && !PyErr_Occurred()) {
        out = of_hosts(front->function, now, xs, n);
        again = !out;
    }
    Py_XDECREF(now);
    Py_XDECREF(key);
    Py_XDECREF(shown[0]);
    Py_XDECREF(shown[1]);
    return again && !PyErr_Occurred() ? hand_on(front, args, nargsf, names) : out;
}

static PyObject *elementwise(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *names)
{
    return elementwise_into(self, args, nargsf, names, NULL);
}
