/* Fronts: whole functions, and reductions. See core.h. */

#pragma once

#include "derived.h"
#include "kernels.h"
#include "listed.h"
#include "storing.h"

/* -- whole functions: `_eager.by_numpy`, `created`; `_reduce` ---------------------------------- */

/* What `argument` has met: arrays or scalars of ours, sequences; and whether it takes arrays of
   derived classes as plain ones. */
enum { LAZY = 1, LISTS, BARE = 4 };

/* NumPy's array for one of ours without axes, whose node holds a number, new. NULL: forward. */
static PyObject *single(PyObject *x, PyObject *number)
{
    PyObject *aval = aval_of_number(number);
    return aval && aval == lasting_aval(x) ? PyArray_FromScalar(number, NULL) : NULL;
}

static int is_short_range(PyObject *x)
{
    Py_ssize_t n = PyRange_Check(x) ? PyObject_Size(x) : -1;
    if (n < 0)
        PyErr_Clear(); /* more than there are sizes */
    return n >= 0 && n <= the.few;
}

/* Whether this is a list or tuple of Python's ints and floats, or of such lists. */
static int is_of_plain_numbers(PyObject *x, int depth)
{
    Py_ssize_t n = PySequence_Fast_GET_SIZE(x);
    if (!depth || n > the.few)
        return 0;
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *item = PySequence_Fast_GET_ITEM(x, i);
        int sequence = PyList_CheckExact(item) || PyTuple_CheckExact(item);
        if (sequence ? !is_of_plain_numbers(item, depth - 1)
                     : !PyFloat_CheckExact(item) && !PyLong_CheckExact(item))
            return 0;
    }
    return 1;
}

/* How the items of a list or tuple are converted: see `argument`. */
typedef struct {
    PyObject *now;
    int *met, depth;
} Asked;

/* A list or tuple of what `convert` gives for each item of another one, new. NULL: forward, or an
   error. */
static PyObject *with_items(PyObject *x, PyObject *(*convert)(PyObject *, const Asked *),
                            const Asked *asked)
{
    int list = PyList_CheckExact(x);
    Py_ssize_t n = PySequence_Fast_GET_SIZE(x);
    PyObject *new = list ? PyList_New(n) : PyTuple_New(n);
    for (Py_ssize_t i = 0; new && i < n; i++) {
        PyObject *item = NULL; /* a list may change while code runs */
        if (i < PySequence_Fast_GET_SIZE(x)) {
            PyObject *given = Py_NewRef(PySequence_Fast_GET_ITEM(x, i));
            item = convert(given, asked);
            Py_DECREF(given);
        }
        if (!item)
            Py_CLEAR(new);
        else if (list)
            PyList_SET_ITEM(new, i, item);
        else
            PyTuple_SET_ITEM(new, i, item);
    }
    return new;
}

static PyObject *argument_in_list(PyObject *x, const Asked *asked);

/* The elements of a deque, of which NumPy makes an array as it does of a list. */
static PyObject *list_of_deque(PyObject *x)
{
    PyObject *list = PySequence_Size(x) <= the.few ? PySequence_List(x) : NULL;
    if (list && PyList_GET_SIZE(list) > the.few)
        Py_CLEAR(list);
    return list;
}

/* The argument that NumPy gets in place of `x`, new. Sets bits of `*met`. NULL: forward, or an
   error. */
static PyObject *argument(PyObject *x, PyObject *now, int *met, int depth)
{
    if (is_array(x) ||
        (*met & BARE && is_derived(x) && has_ours(Py_TYPE(x), the.array_function) &&
         has_ours(Py_TYPE(x), the.array_ufunc) && has_ours(Py_TYPE(x), the.array_priority))) {
        PyObject *node = node_of(x), *value = node ? Py_NewRef(PyList_GET_ITEM(node, VALUE)) : NULL;
        if (!node && is_eager(now) && is_stale(x))
            value = shown_memory(x);
        PyArrayObject *memory = (PyArrayObject *)value;
        *met |= LAZY;
        if (value && !is_memory(value))
            Py_SETREF(value, single(x, value));
        else if (value && ((!is_of_numbers(memory) && !is_of_host(memory)) ||
                           !is_laid_out(x, memory) || !is_small(now, memory)))
            Py_CLEAR(value);
        return value;
    }
    if (is_scalar(x)) {
        *met |= LAZY;
        return Py_XNewRef(value_of_scalar(x));
    }
    if (is_memory(x)) { /* NumPy's own */
        PyArrayObject *memory = (PyArrayObject *)x;
        *met |= LISTS;
        return is_of_numbers(memory) && PyArray_ISBEHAVED_RO(memory) && is_small(now, memory)
                   ? Py_NewRef(x)
                   : NULL;
    }
    if (is_python_number(x) || x == Py_None || x == the.no_value || is_host_scalar(x) ||
        PyType_Check(x) || PyArray_DescrCheck(x) || is_short_range(x) || aval_of_number(x))
        return Py_NewRef(x);
    if (!depth || !is_short_sequence(x))
        return NULL;
    *met |= LISTS;
    if (is_of_plain_numbers(x, depth))
        return Py_NewRef(x);
    return with_items(x, argument_in_list, &(Asked){now, met, depth - 1});
}

static PyObject *argument_in_list(PyObject *x, const Asked *asked)
{
    return argument(x, asked->now, asked->met, asked->depth);
}

/* NumPy's array of a list or tuple, of numbers that are there, new. NULL, without an error:
   forward. */
static PyObject *memory_of_list(PyObject *x, PyObject *now)
{
    int met = 0;
    PyObject *plain = argument(x, now, &met, DEEPEST);
    PyObject *memory = plain ? PyArray_FROM_O(plain) : NULL;
    Py_XDECREF(plain);
    if (!memory && PyErr_Occurred())
        drop_error(x); /* Python comes to it again */
    if (memory && (!is_memory(memory) || !is_of_numbers((PyArrayObject *)memory)))
        Py_CLEAR(memory);
    return memory;
}

/* Whether the product of the lengths is small. */
static int are_few(PyObject *const *lengths, Py_ssize_t n)
{
    Py_ssize_t size = 1;
    for (Py_ssize_t i = 0; i < n; i++) {
        npy_intp length;
        if (!as_place(lengths[i], &length) || length < 0 || length > the.filled)
            return 0;
        size *= length;
        if (size > the.filled)
            return 0;
    }
    return 1;
}

/* Whether these are numbers and names of dtypes, and the ints among them at most so large. */
static int are_bounded(PyObject *const *args, Py_ssize_t n, int most)
{
    npy_intp bound;
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *x = is_scalar(args[i]) ? value_of_scalar(args[i]) : args[i];
        if (!x || PySequence_Check(x) || is_memory(x) ||
            (PyLong_CheckExact(x) && (!as_place(x, &bound) || bound > most || bound < -most)))
            return 0;
    }
    return 1;
}

/* Whether `arange` of these makes a short array. What has a name must be a dtype. */
static int makes_short_range(PyObject *const *args, Py_ssize_t all, Py_ssize_t named, int most)
{
    double numbers[3] = {0};
    Py_ssize_t n = all - named;
    for (Py_ssize_t i = 0; i < n && n <= 3; i++) {
        PyObject *x = is_scalar(args[i]) ? value_of_scalar(args[i]) : args[i];
        npy_intp place;
        if (x && as_place(x, &place))
            numbers[i] = (double)place;
        else if (!x || !as_double(x, &numbers[i]))
            return 0;
    }
    for (Py_ssize_t i = n; i < all; i++)
        if (!PyType_Check(args[i]) && !PyArray_DescrCheck(args[i]))
            return 0;
    double length = n == 1 ? numbers[0] : numbers[1] - numbers[0];
    length = fabs(n == 3 ? length / numbers[2] : length);
    return n && n <= 3 && length <= 2.0 * most; /* of NaN, false */
}

/* Whether the new array is small. The first argument is its length, its shape, its elements or its
   model; or every argument is a number that bounds its length. */
static int makes_little(Front *front, PyObject *const *args, Py_ssize_t n, PyObject *names,
                        PyObject *now)
{
    PyObject *x = args[0];
    /* where operations run at once, as large as an array that is filled */
    int most = is_eager(now) ? (int)the.filled : front->lengths;
    if (front->creates == 2)
        return are_bounded(args, n, most);
    if (front->lengths)
        return makes_short_range(args, n, names ? PyTuple_GET_SIZE(names) : 0, most);
    if (is_handle(x)) {
        PyObject *node = node_of(x), *value = node ? PyList_GET_ITEM(node, VALUE) : NULL;
        PyObject *aval = node ? NULL : lasting_aval(x); /* of a view that is out of date */
        if (aval)
            return PyLong_AsDouble(OF(aval, Aval, nbytes)) <= the.filled && !PyErr_Occurred();
        return value && is_memory(value) && PyArray_SIZE((PyArrayObject *)value) <= the.filled;
    }
    if (front->anytime && is_memory(x))
        return PyArray_SIZE((PyArrayObject *)x) <= the.filled;
    if (front->anytime) /* they are elements, of which `argument` rejects many; or the only one */
        return PyList_CheckExact(x) || PyTuple_CheckExact(x) || PyRange_Check(x) ||
               (PyObject *)Py_TYPE(x) == the.deque ||
               is_python_number(x) || is_scalar(x) || aval_of_number(x);
    if (PyList_CheckExact(x))
        return PyList_GET_SIZE(x) > 0;
    return PyTuple_CheckExact(x) ? are_few(&PyTuple_GET_ITEM(x, 0), PyTuple_GET_SIZE(x))
                                 : are_few(&x, 1);
}

/* A new 0-d array. It holds NumPy's scalar. */
static PyObject *single_owner(PyArrayObject *memory)
{
    PyObject *number = PyArray_Scalar(PyArray_DATA(memory), PyArray_DESCR(memory),
                                      (PyObject *)memory);
    PyObject *aval = number ? aval_of_number(number) : NULL, *out = NULL;
    if (aval)
        out = owner(the.NDArray, leaf(number, aval));
    Py_XDECREF(number);
    return out;
}

/* Whether NumPy's result shares no memory with the values, as `_eager.handle` finds out. */
static int is_apart(PyObject *result, PyObject *const *values, Py_ssize_t n)
{
    PyObject *base = PyArray_BASE((PyArrayObject *)result);
    for (Py_ssize_t i = 0; i < n; i++) {
        if (values[i] == result)
            return 0;
        if (base && is_memory(values[i]) &&
            (base == values[i] || base == PyArray_BASE((PyArrayObject *)values[i])))
            return 0;
    }
    return 1;
}

/* A handle for a number or an array of NumPy's. NULL: Python must make it, or an error. */
static PyObject *usual_result(PyObject *result, PyObject *const *values, Py_ssize_t n)
{
    if (!is_memory(result)) {
        if (PyArray_IsScalar(result, Datetime) || PyArray_IsScalar(result, Timedelta))
            return Py_NewRef(result); /* it is NumPy's here too */
        PyObject *aval = aval_of_number(result);
        return aval ? scalar(result, aval) : NULL;
    }
    if (!is_apart(result, values, n))
        return NULL;
    if (is_of_host((PyArrayObject *)result))
        return host_owner((PyArrayObject *)result);
    if (PyArray_NDIM((PyArrayObject *)result))
        return new_owner((PyArrayObject *)result);
    return PyArray_ISNOTSWAPPED((PyArrayObject *)result) ? single_owner((PyArrayObject *)result)
                                                         : NULL;
}

/* The same for a tuple of them. */
static PyObject *usual_results(Front *front, PyObject *results, PyObject *const *values,
                               Py_ssize_t n)
{
    PyObject *out = PyTuple_New(PyTuple_GET_SIZE(results));
    for (Py_ssize_t i = 0; out && i < PyTuple_GET_SIZE(results); i++) {
        PyObject *item = usual_result(PyTuple_GET_ITEM(results, i), values, n);
        if (item)
            PyTuple_SET_ITEM(out, i, item);
        else
            Py_CLEAR(out);
    }
    if (out && front->tuples != Py_None && !front->many && !PyTuple_CheckExact(results)) /* of `qr(mode="raw")` */
        Py_SETREF(out, PyObject_CallObject(front->tuples, out));
    return out;
}

/* A handle for NumPy's result, which this steals. Sets `*again` if Python must make the call. */
static PyObject *whole_result(Front *front, PyObject *result, PyObject *const *values,
                              Py_ssize_t n, PyObject *const *args, Py_ssize_t count, int *again)
{
    PyObject *given, *arguments;
    if (front->itself && count && values[0] == result && is_array(args[0])) {
        Py_DECREF(result);
        return Py_NewRef(args[0]);
    }
    PyObject *out = front->anytime && is_memory(result) && /* a new array of objects */
                            PyArray_TYPE((PyArrayObject *)result) == NPY_OBJECT
                        ? host_owner((PyArrayObject *)result)
                    : PyTuple_Check(result) ? usual_results(front, result, values, n)
                                          : usual_result(result, values, n);
    if (!out && !PyErr_Occurred()) {
        given = PyList_New(n);
        arguments = PyTuple_New(count);
        for (Py_ssize_t i = 0; given && i < n; i++)
            PyList_SET_ITEM(given, i, Py_NewRef(values[i]));
        for (Py_ssize_t i = 0; arguments && i < count; i++)
            PyTuple_SET_ITEM(arguments, i, Py_NewRef(args[i]));
        if (given && arguments)
            out = PyObject_CallFunctionObjArgs(front->handle, result, given, arguments, NULL);
        Py_XDECREF(given);
        Py_XDECREF(arguments);
        if (out == Py_None) {
            *again = 1;
            Py_CLEAR(out);
        }
    }
    Py_DECREF(result);
    return out;
}

#define MOST_ARGUMENTS 8

/* An argument of a call, which may be a deque. */
static PyObject *argument_of(Front *front, PyObject *x, PyObject *now, int *met)
{
    if ((PyObject *)Py_TYPE(x) != the.deque || front->raw)
        return argument(x, now, met, DEEPEST);
    PyObject *list = list_of_deque(x), *out = list ? argument(list, now, met, DEEPEST) : NULL;
    Py_XDECREF(list);
    return out;
}

/* Whether NumPy may execute the call now, given what its arguments are made of: of numbers alone, if
   what it makes of them is not large. */
static int is_numpys(Front *front, PyObject *now, PyObject *const *args, Py_ssize_t n, int met)
{
    enum { MOST = 1 << 20 };
    if (!is_eager(now)) /* a new array of host data is there at once, in any mode */
        return front->anytime && !(met & LAZY);
    return front->creates || met ||
           ((is_python_number(args[0]) || aval_of_number(args[0])) && are_bounded(args, n, MOST));
}

/* Whether the product of the sizes of two arrays is large. */
static int is_large_outer(PyObject *now, PyObject *const *values)
{
    if (!is_memory(values[0]) || !is_memory(values[1]))
        return 0;
    PyArrayObject *a = (PyArrayObject *)values[0], *b = (PyArrayObject *)values[1];
    npy_intp bytes = PyArray_ITEMSIZE(a), others = PyArray_ITEMSIZE(b);
    return !are_small(now, (double)PyArray_SIZE(a) * (double)PyArray_SIZE(b) *
                           (double)(bytes > others ? bytes : others));
}

/* What NumPy's function gets for an argument beside `out`, whose memory it may show. New. */
static PyObject *beside_out(PyObject *out, PyObject *x, PyObject *now)
{
    int met = 0;
    return is_array(x) ? second_operand(out, x, now) : argument(x, now, &met, DEEPEST);
}

/* The call with `out=` an array, in its memory: see `_eager._written`. `at`: its place. Sets `*again` if
   Python must do it. */
static PyObject *whole_into(Front *front, PyObject *function, PyObject *const *args, Py_ssize_t n,
                            PyObject *names, Py_ssize_t at, int *again)
{
    Py_ssize_t all = n + PyTuple_GET_SIZE(names), made = 0;
    PyObject *values[MOST_ARGUMENTS], *out = args[at], *result = NULL, *now;
    *again = 1;
    for (Py_ssize_t i = n; i < all; i++)
        if (i != at && PySet_Contains(front->not_numpys, PyTuple_GET_ITEM(names, i - n)) != 0)
            return NULL;
    if (OF(out, Array, _flags) != Py_None || !(now = recorder()))
        return NULL;
    int locked = is_eager(now) ? lock(out) : -1;
    PyArrayObject *target = may_store(locked) ? target_of(out, now) : NULL;
    if (target && PyArray_NDIM(target)) {
        while (made < all && (values[made] = args[made] == out ? Py_NewRef(target)
                                                               : beside_out(out, args[made], now)))
            made++;
        if (made == all)
            result = quiet_named(OF(now, Recorder, quiet), function, values, n, names, again);
        if (made == all && !result && !*again)
            *again = forget(); /* Python's call says the same */
        if (result)
            spend(now, result);
    }
    if (result)
        *again = result != (PyObject *)target; /* functions of `fft` may ignore it */
    Py_XDECREF(result);
    Py_XDECREF(target);
    while (--made >= 0)
        Py_DECREF(values[made]);
    unlock(locked);
    Py_DECREF(now);
    return *again || PyErr_Occurred() ? NULL : Py_NewRef(out);
}

/* NumPy's function or method for this call. Functions may name their arguments otherwise than methods. */
static PyObject *numpys_for(Front *front, PyObject *const *args, PyObject *names, int *method)
{
    *method = front->method != Py_None && is_array(args[0]) &&
              (!names || front->named || front->function == Py_None);
    return *method ? front->method : front->function;
}

/* What a call makes of a short list of numbers, new: see listed.h. Sets `*out` if that was done. */
static void of_short_list(Front *front, PyObject *now, PyObject *const *args, PyObject **out)
{
    int scalars = 0;
    PyArrayObject *memory = makes_arrays(front->function) ? array_of_list(args[0], &scalars) : NULL;
    if (memory && is_numpys(front, now, args, 1, LISTS | (scalars ? LAZY : 0))) {
        spend(now, (PyObject *)memory);
        *out = new_owner(memory);
    }
    Py_XDECREF(memory);
}

static PyObject *whole(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *names)
{
    Front *front = (Front *)self;
    Py_ssize_t n = PyVectorcall_NARGS(nargsf), named = names ? PyTuple_GET_SIZE(names) : 0;
    Py_ssize_t all = n + named, made = 0;
    PyObject *values[MOST_ARGUMENTS], *now, *result = NULL, *out = NULL;
    int met = front->bare && !has_name(names, "subok") ? BARE : 0, again = 1;
    if (n == 0 || n > front->operands || all > MOST_ARGUMENTS || !nothing_staged())
        return hand_on(front, args, nargsf, names);
    if (front->itself == 1 && all == 1 && is_array(args[0]))
        return Py_NewRef(args[0]);
    if (front->itself == 1 && all == 1 && front->bare && is_derived(args[0]))
        return stripped_of(args[0]);
    if (watched() || (front->arrays_only && !is_array(args[0])))
        return hand_on(front, args, nargsf, names);
    for (Py_ssize_t i = 1; front->function == Py_None && i < all; i++)
        if (is_array(args[i]) || is_scalar(args[i]))
            return hand_on(front, args, nargsf, names);
    for (Py_ssize_t i = 0; i < named; i++) {
        if (PyTuple_GET_ITEM(names, i) == the.out && is_array(args[n + i]) && front->into) {
            int method;
            PyObject *function = numpys_for(front, args, names, &method);
            out = function != Py_None ? whole_into(front, function, args, n, names, n + i, &again) : NULL;
            return again && !PyErr_Occurred() ? hand_on(front, args, nargsf, names) : out;
        }
        if (PySet_Contains(front->not_numpys, PyTuple_GET_ITEM(names, i)) != 0)
            return hand_on(front, args, nargsf, names);
    }
    now = recorder();
    if (!now)
        return NULL;
    if ((is_eager(now) || front->anytime) &&
        (!front->creates || makes_little(front, args, all, names, now))) {
        if (all == 1 && front->creates == 1 && front->anytime)
            of_short_list(front, now, args, &out);
        again = !out;
        while (again && made < all && (values[made] = argument_of(front, args[made], now, &met)))
            made++;
        int large = front->outer && is_first(now) && made > 1 && is_large_outer(now, values);
        if (again && made == all && !large && is_numpys(front, now, args, all, met & ~BARE)) {
            int method;
            PyObject *function = numpys_for(front, args, names, &method);
            if (front->many && is_memory(values[0]) &&
                PyArray_SIZE((PyArrayObject *)values[0]) >= front->many)
                function = front->faster;
            result = all == 1 && makes_arrays(function) ? (PyObject *)array_of_arrays(values[0])
                                                        : by_kernel(function, values, n, names);
            if (result)
                again = 0;
            else if (function != Py_None && !PyErr_Occurred())
                result = quiet_named(OF(now, Recorder, quiet), function, values, n, names, &again);
            if (!result && !again)
                again = forget(); /* Python's call of NumPy's public function says the same */
        }
        if (result && front->itself == 1 && result == values[0] && is_memory(args[0]) &&
            !has_name(names, "copy"))
            Py_SETREF(result, PyArray_NewCopy((PyArrayObject *)result, NPY_KEEPORDER));
        if (result && front->raw)
            out = result;
        else if (result && met & LAZY && !is_array(args[0]) && is_memory(result) &&
                 PyArray_TYPE((PyArrayObject *)result) == NPY_OBJECT) {
            Py_DECREF(result); /* a list of arrays: they are the objects, not their memory */
            again = 1;
        } else if (result) {
            spend(now, result);
            out = whole_result(front, result, values, all, args, n, &again);
        }
    }
    for (Py_ssize_t i = 0; i < made; i++)
        Py_DECREF(values[i]);
    Py_DECREF(now);
    return again && !PyErr_Occurred() ? hand_on(front, args, nargsf, names) : out;
}

/* A read-only view of an array's memory, which NumPy may keep, new. NULL: forward. */
static PyObject *sealed(PyObject *x)
{
    PyObject *node = node_of(x), *value = node ? PyList_GET_ITEM(node, VALUE) : Py_None;
    PyArrayObject *memory = (PyArrayObject *)value;
    if (!is_memory(value))
        return value == Py_None ? NULL : single(x, value);
    if (!(is_of_numbers(memory) || is_of_host(memory)) || !is_laid_out(x, memory))
        return NULL;
    if (!PyArray_SIZE(memory)) /* nobody can change it: `permutation` copies what shares memory */
        return PyArray_NewLikeArray(memory, NPY_KEEPORDER, NULL, 0);
    PyObject *view = PyArray_View(memory, NULL, NULL);
    if (view)
        PyArray_CLEARFLAGS((PyArrayObject *)view, NPY_ARRAY_WRITEABLE);
    return view;
}

static PyObject *plain_argument_in_list(PyObject *x, const Asked *asked);

/* What a function that NumPy executes in any mode gets in place of `x`, new. NULL: forward, or an
   error. */
static PyObject *plain_argument(PyObject *x, int depth)
{
    if (is_scalar(x))
        return Py_XNewRef(value_of_scalar(x));
    if (is_array(x))
        return sealed(x);
    if (is_python_number(x) || x == Py_None || is_host_scalar(x) || PyType_Check(x) ||
        PyArray_DescrCheck(x) || aval_of_number(x))
        return Py_NewRef(x);
    if (!depth || !is_short_sequence(x))
        return NULL;
    return with_items(x, plain_argument_in_list, &(Asked){.depth = depth - 1});
}

static PyObject *plain_argument_in_list(PyObject *x, const Asked *asked)
{
    return plain_argument(x, asked->depth);
}

/* Whether nobody else refers to the memory of NumPy's array: it has its own, or that of an array
   which only it refers to. */
static inline int is_sole(PyObject *array)
{
    PyObject *base = PyArray_BASE((PyArrayObject *)array);
    return !base || (is_memory(base) && Py_REFCNT(base) == 1);
}

/* Whether the result goes into an argument. */
static int has_out(PyObject *function, PyObject *const *args, Py_ssize_t n, PyObject *names)
{
    if (Py_IS_TYPE(function, &PyUFunc_Type) && n > ((PyUFuncObject *)function)->nin)
        return 1;
    if (n > 2 && is_array(args[n - 1])) { /* `standard_normal(size, dtype, out)` and its kin */
        PyObject *before = args[n - 2];
        if (PyUnicode_Check(before) || PyType_Check(before) || PyArray_DescrCheck(before))
            return 1;
    }
    for (Py_ssize_t i = 0; names && i < PyTuple_GET_SIZE(names); i++)
        if (args[n + i] != Py_None &&
            PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(names, i), "out") == 0)
            return 1;
    return 0;
}

/* `_host.hosted`: a function that NumPy executes in any mode. It may draw random numbers, so once
   it was called, Python must not call it again. */
static PyObject *hosted(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *names)
{
    Front *front = (Front *)self;
    Py_ssize_t n = PyVectorcall_NARGS(nargsf);
    Py_ssize_t all = n + (names ? PyTuple_GET_SIZE(names) : 0), made = 0;
    PyObject *values[MOST_ARGUMENTS], *result = NULL, *out = NULL;
    int may = all <= MOST_ARGUMENTS && nothing_staged() && PyTuple_CheckExact(front->hooks) &&
              !has_out(front->function, args, n, names);
    for (Py_ssize_t i = 0; may && i < PyTuple_GET_SIZE(front->hooks); i++)
        may = PyObject_IsTrue(PyTuple_GET_ITEM(front->hooks, i)) == 0;
    while (may && made < all && (values[made] = plain_argument(args[made], DEEPEST)))
        made++;
    may = may && made == all;
    if (may)
        result = PyObject_Vectorcall(front->function, values, n, names);
    while (made) {
        Py_DECREF(values[--made]);
        if (result && values[made] == result && is_array(args[made]))
            out = args[made]; /* as `numpy.ma.getdata` gives its argument */
    }
    if (!may)
        return PyErr_Occurred() ? NULL : hand_on(front, args, nargsf, names);
    if (out) {
        Py_DECREF(result);
        return Py_NewRef(out);
    }
    if (!result || is_python_number(result))
        return result;
    if (is_memory(result) && is_sole(result))
        out = fresh_owner((PyArrayObject *)result);
    else if (!is_memory(result)) {
        PyObject *aval = aval_of_number(result);
        out = aval ? scalar(result, aval) : NULL;
    }
    if (!out && !PyErr_Occurred())
        out = PyObject_CallOneArg(front->handle, result);
    Py_DECREF(result);
    return out;
}

/* Whether the caller is Python code outside lazynp. */
static int is_users(void)
{
    PyFrameObject *frame = PyEval_GetFrame();
    PyObject *code = frame ? (PyObject *)PyFrame_GetCode(frame) : NULL, *found = NULL;
    PyObject *key = code ? PyLong_FromVoidPtr(code) : NULL;
    if (key)
        found = PyDict_GetItemWithError(the.internal, key); /* (whether it is internal, code) */
    int users = found && PyTuple_CheckExact(found) && PyTuple_GET_ITEM(found, 0) == Py_False;
    Py_XDECREF(key);
    Py_XDECREF(code);
    return users;
}

/* Record a reduction that was seen before. */
static PyObject *reduction_recorded(Front *front, PyObject *x, PyObject *axis, PyObject *keepdims,
                                    PyObject *now, int *again)
{
    PyObject *node = OF(x, Array, _order) == Py_None ? node_of(x) : NULL, *key, *op = NULL, *out;
    if (!node || is_full(now) || (axis != Py_None && !PyLong_CheckExact(axis)))
        return NULL;
    Py_INCREF(node); /* because the rest may run code */
    key = is_users() ? PyTuple_Pack(4, known(node), axis, Py_None, keepdims) : NULL;
    if (key)
        op = Py_XNewRef(PyDict_GetItemWithError(front->ops, key));
    Py_XDECREF(key);
    if (!op) {
        Py_DECREF(node);
        return NULL;
    }
    *again = 0;
    PyObject *args = PyTuple_Pack(1, node);
    Py_DECREF(node);
    PyObject *new = args ? recorded(op, args, 1, now) : NULL;
    out = new ? owner(OF(op, Op, scalar) == Py_True ? the.Scalar : the.NDArray, new) : NULL;
    Py_XDECREF(args);
    Py_DECREF(op);
    return out;
}

/* A reduction of a value that carries a tangent, which was seen before. */
static PyObject *reduction_traced(Front *front, PyObject *x, PyObject *axis, PyObject *keepdims,
                                  PyObject *now)
{
    PyObject *node = OF(x, Array, _order) == Py_None ? node_of(x) : NULL, *key, *op = NULL, *out = NULL;
    PyObject *aval = node ? type_behind(node) : NULL, *args = NULL, *got = NULL;
    if (!aval || !may_go_on(now) || (axis != Py_None && !PyLong_CheckExact(axis)))
        return NULL;
    Py_INCREF(node);
    key = PyTuple_Pack(4, aval, axis, Py_None, keepdims);
    if (key)
        op = Py_XNewRef(PyDict_GetItemWithError(front->ops, key));
    Py_XDECREF(key);
    if (op && Py_TYPE(op) == (PyTypeObject *)the.Op && OF(op, Op, host) == Py_False)
        args = PyTuple_Pack(1, node);
    if (args)
        got = replayed_here(OF(op, Op, primitive), OF(op, Op, params), args, now, NULL);
    if (got)
        out = owner(OF(op, Op, scalar) == Py_True ? the.Scalar : the.NDArray, got);
    Py_DECREF(node);
    Py_XDECREF(args);
    Py_XDECREF(op);
    return out;
}

/* The options of a reduction beside its axis: NULL for those that are not given. */
typedef struct {
    PyObject *initial, *where, *out;
} Chosen;

/* Whether an option of this name may be given to NumPy as it is: a number that reals start from, an
   array that selects, or one that gets the result. */
static int takes_option(Front *front, PyObject *name, PyObject *value, Chosen *chosen)
{
    PyObject *number = is_scalar(value) ? value_of_scalar(value) : value;
    if (PyUnicode_CompareWithASCIIString(name, "where") == 0 && is_array(value))
        chosen->where = value;
    else if (front->begins && PyUnicode_CompareWithASCIIString(name, "initial") == 0 && number &&
             (is_python_number(number) || aval_of_number(number)) && !PyComplex_Check(number) &&
             !PyArray_IsScalar(number, ComplexFloating))
        chosen->initial = number;
    else if (name == the.out && is_array(value))
        chosen->out = value;
    else
        return 0;
    return 1;
}

/* NumPy's reduction of a value that is there, with such options, new. Sets `*again` if Python must do
   it. NULL, without an error: it must as well. */
static PyObject *reduced_with(Front *front, PyObject *value, PyObject *axis, PyObject *keepdims,
                              const Chosen *chosen, PyObject *now, int *again)
{
    int met = 0;
    PyObject *where = chosen->where ? argument(chosen->where, now, &met, 0) : Py_NewRef(Py_True);
    PyObject *initial = chosen->initial ? chosen->initial : the.no_value, *result = NULL;
    if (where == Py_True ||
        (where && is_memory(where) && PyArray_TYPE((PyArrayObject *)where) == NPY_BOOL)) {
        PyObject *values[7] = {value, axis, Py_None, Py_None, keepdims, initial, where};
        result = quiet(OF(now, Recorder, quiet), front->function, values, 7, again);
        if (!result && !*again)
            *again = forget(); /* Python's call says the same */
    }
    Py_XDECREF(where);
    return result;
}

/* The reduction into `out`, in its memory: see `whole_into`. Sets `*again` if Python must do it. */
static PyObject *reduced_into(Front *front, PyObject *x, PyObject *axis, PyObject *keepdims,
                              PyObject *out, PyObject *now, int *again)
{
    PyObject *value = NULL, *result = NULL;
    *again = 1;
    if (OF(out, Array, _flags) != Py_None || !is_eager(now))
        return NULL;
    int locked = lock(out);
    PyArrayObject *target = may_store(locked) ? target_of(out, now) : NULL;
    if (target && PyArray_NDIM(target)) /* of others, NumPy makes scalars */
        value = beside_out(out, x, now);
    /* where imaginary parts are lost, Python warns at the user's line */
    if (value && is_memory(value) &&
        (PyArray_ISCOMPLEX(target) || !PyArray_ISCOMPLEX((PyArrayObject *)value))) {
        PyObject *values[5] = {value, axis, Py_None, (PyObject *)target, keepdims};
        result = quiet(OF(now, Recorder, quiet), front->function, values, 5, again);
        if (!result && !*again)
            *again = forget(); /* Python's call says the same */
        if (result)
            spend(now, result);
    }
    if (result)
        *again = result != (PyObject *)target;
    Py_XDECREF(result);
    Py_XDECREF(value);
    Py_XDECREF(target);
    unlock(locked);
    return *again || PyErr_Occurred() ? NULL : Py_NewRef(out);
}

/* `_reduce.reduce`: positional a and axis; axis and keepdims by name. Of a number that is there, as of a
   list, NumPy makes its array. */
static PyObject *reduction(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *names)
{
    Front *front = (Front *)self;
    Py_ssize_t n = PyVectorcall_NARGS(nargsf), named = names ? PyTuple_GET_SIZE(names) : 0;
    PyObject *axis = n > 1 ? args[1] : Py_None, *keepdims = Py_False, *dtype = Py_None, *now;
    PyObject *out = NULL;
    Chosen chosen = {NULL, NULL, NULL};
    int again = 1, met = 0, options = 0;
    if (n == 0 || n > 2 || !nothing_staged() || watched())
        return hand_on(front, args, nargsf, names);
    int listed = PyList_CheckExact(args[0]) || PyTuple_CheckExact(args[0]) ||
                 is_python_number(args[0]) || is_scalar(args[0]) || aval_of_number(args[0]);
    if (!is_array(args[0]) && !listed && !is_memory(args[0]))
        return hand_on(front, args, nargsf, names);
    for (Py_ssize_t i = 0; i < named; i++) {
        PyObject *name = PyTuple_GET_ITEM(names, i), *value = args[n + i];
        if (PyUnicode_CompareWithASCIIString(name, "axis") == 0 && n == 1)
            axis = value;
        else if (PyUnicode_CompareWithASCIIString(name, "keepdims") == 0 && PyBool_Check(value))
            keepdims = value;
        else if (PyUnicode_CompareWithASCIIString(name, "dtype") == 0 && front->typed &&
                 (PyType_Check(value) || PyArray_DescrCheck(value)))
            dtype = value;
        else if (takes_option(front, name, value, &chosen))
            options = 1;
        else
            return hand_on(front, args, nargsf, names);
    }
    if (options && (dtype != Py_None || !is_array(args[0]) || carries_tangent(args[0]) ||
                    (chosen.out && (chosen.where || chosen.initial))))
        return hand_on(front, args, nargsf, names);
    if (listed && axis != Py_None && !PyLong_Check(axis) && !PyTuple_Check(axis))
        return hand_on(front, args, nargsf, names); /* Python says what is wrong with it */
    now = recorder();
    if (!now)
        return NULL;
    PyObject *value = NULL;
    if (chosen.out)
        out = reduced_into(front, args[0], axis, keepdims, chosen.out, now, &again);
    else if (options && !is_eager(now))
        ; /* Python records them */
    else if (listed)
        value = is_eager(now) ? memory_of_list(args[0], now) : NULL;
    else if (dtype != Py_None || is_memory(args[0]))
        value = is_eager(now) ? argument(args[0], now, &met, 0) : NULL;
    else if (carries_tangent(args[0])) {
        out = reduction_traced(front, args[0], axis, keepdims, now);
        again = !out;
    }
    else if (is_eager(now))
        value = argument(args[0], now, &met, 0);
    else
        out = reduction_recorded(front, args[0], axis, keepdims, now, &again);
    if (value) {
        PyObject *values[5] = {value, axis, dtype, Py_None, keepdims};
        PyObject *result = options ? reduced_with(front, value, axis, keepdims, &chosen, now, &again)
                                   : reduced_by_kernel(front->function, value, axis, dtype, keepdims);
        if (result && !options)
            again = 0;
        else if (!options && !PyErr_Occurred())
            result = quiet(OF(now, Recorder, quiet), front->function, values, 5, &again);
        out = result ? whole_result(front, result, values, 1, args, 1, &again) : NULL;
        Py_DECREF(value);
    }
    Py_DECREF(now);
    return again && !PyErr_Occurred() ? hand_on(front, args, nargsf, names) : out;
}

/* The function for two arrays, behind an operator that accepts other operands too. */
static PyObject *of_arrays(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *names)
{
    Front *front = (Front *)self;
    if (PyVectorcall_NARGS(nargsf) == 2 && !names && nothing_staged() && is_array(args[0]) &&
        is_array(args[1]))
        return PyObject_Vectorcall(front->function, args, 2, NULL);
    return hand_on(front, args, nargsf, names);
}

/* `_conversions._buffer(array, flags)`: a read-only view of memory that is there, or of a number. */
static PyObject *lent_buffer(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *names)
{
    Front *front = (Front *)self;
    Py_ssize_t n = PyVectorcall_NARGS(nargsf);
    int plain = n == 2 && !names && !is_staged();
    PyObject *number = plain && is_scalar(args[0]) ? value_of_scalar(args[0]) : NULL;
    if (number && PyLong_Check(args[1]) && !(PyLong_AsLong(args[1]) & PyBUF_WRITABLE) &&
        !PyErr_Occurred() && !may_want_memory())
        return PyMemoryView_FromObject(number);
    PyErr_Clear();
    PyObject *node = plain && is_array(args[0]) ? node_of(args[0]) : NULL;
    PyObject *value = node ? value_on_host(node) : Py_None, *view, *out;
    if (!value)
        return NULL;
    PyObject *aval = node ? lasting_aval(args[0]) : NULL;
    if (!is_memory(value) || !is_of_numbers((PyArrayObject *)value) || !aval ||
        OF(aval, Aval, dtype) != (PyObject *)PyArray_DESCR((PyArrayObject *)value) ||
        !PyLong_Check(args[1]) || PyLong_AsLong(args[1]) & PyBUF_WRITABLE || may_want_memory() ||
        !PyArray_IS_C_CONTIGUOUS((PyArrayObject *)value)) { /* laid out as the array says */
        PyErr_Clear();
        return hand_on(front, args, nargsf, names);
    }
    view = PyArray_View((PyArrayObject *)value, NULL, NULL);
    if (!view)
        return NULL;
    PyArray_CLEARFLAGS((PyArrayObject *)view, NPY_ARRAY_WRITEABLE);
    out = PyMemoryView_FromObject(view);
    Py_DECREF(view);
    return out;
}
