/* Fronts: x[i] = v and x op= v, in memory that nobody else can see. See core.h. */

#pragma once

#include "elementwise.h"
#include "indexing.h"

/* -- who may write ----------------------------------------------------------------------------- */

enum { MOST_AT_ONCE = 500 }; /* elements: above this, NumPy releases the GIL */

static int is_only_thread(void)
{
    PyThreadState *first = PyInterpreterState_ThreadHead(PyInterpreterState_Get());
    return !first || !PyThreadState_Next(first);
}

/* Take the write lock. 1, or -1 for an error. */
static int acquire(void)
{
    PyObject *done = PyObject_CallMethodNoArgs(the.write_lock, the.acquire);
    Py_XDECREF(done);
    return done ? 1 : -1;
}

/* Take the write lock before NumPy writes into an array's memory, and before C examines it.
   Otherwise another thread that finds the memory in use would copy it half written. 1 if `unlock`
   must release the lock, 0 if no lock is needed, -1 for an error. */
static int lock(PyObject *array)
{
    PyObject *node = OF(array, Array, _node);
    if (is_handle(array) && is_stale(array))
        node = OF(OF(array, Array, _base), Array, _node);
    PyObject *value = node && PyList_CheckExact(node) && PyList_GET_SIZE(node) == NODE_SIZE
                          ? PyList_GET_ITEM(node, VALUE)
                          : Py_None;
    if (!is_memory(value) || PyArray_SIZE((PyArrayObject *)value) <= MOST_AT_ONCE ||
        is_only_thread())
        return 0;
    return acquire();
}

/* Whether the lock is held or not needed, and no function is staged: while this thread waited for the
   lock, another may have borrowed the array (see _turns). */
static inline int may_store(int locked)
{
    return locked >= 0 && nothing_staged();
}

static void unlock(int locked)
{
    PyObject *error[3], *done;
    if (locked <= 0)
        return;
    PyErr_Fetch(&error[0], &error[1], &error[2]);
    done = PyObject_CallMethodNoArgs(the.write_lock, the.release);
    if (!done)
        PyErr_WriteUnraisable(the.write_lock);
    Py_XDECREF(done);
    PyErr_Restore(error[0], error[1], error[2]);
}

/* -- x[i] = v: `_getset.setitem` --------------------------------------------------------------- */

/* A view's memory if only the view and its owner can see it; else NULL. Borrowed. */
static PyArrayObject *memory_of_both(PyObject *view)
{
    PyObject *base = OF(view, Array, _base), *own = OF(view, Array, _node), *node, *target, *data;
    if (!is_handle(base) || OF(base, Array, _base) != Py_None || OF(base, Array, _flags) != Py_None)
        return NULL;
    node = node_of(base);
    if (!node || node_of(view) != own || Py_REFCNT(node) != 2 || Py_REFCNT(own) != 1)
        return NULL;
    data = PyList_GET_ITEM(node, VALUE);
    target = PyList_GET_ITEM(own, VALUE);
    if (!is_memory(data) || !is_memory(target) || Py_REFCNT(target) != 1)
        return NULL;
    PyArrayObject *shown = (PyArrayObject *)target, *whole = (PyArrayObject *)data;
    PyObject *of_shown = PyArray_BASE(shown), *memory = PyArray_BASE(whole);
    if (!PyArray_ISWRITEABLE(shown) || PyList_GET_ITEM(node, CODE) == the.lent)
        return NULL;
    if (!of_shown || (of_shown != data && of_shown != memory))
        return NULL;
    if (Py_REFCNT(data) != 1 + (of_shown == data))
        return NULL;
    if (memory && (!is_memory(memory) || PyArray_BASE((PyArrayObject *)memory) ||
                   Py_REFCNT(memory) != 1 + (of_shown == memory)))
        return NULL;
    return shown;
}

/* Whether an owner's value is still this memory, which only `shown` shares, and one variable each of
   the caller's: a view's step may run Python, and with it another thread. */
static int is_still_sole(PyObject *owner, PyObject *node, PyObject *data, PyArrayObject *shown)
{
    PyObject *whole = PyArray_BASE((PyArrayObject *)data), *of_shown = PyArray_BASE(shown);
    return OF(owner, Array, _node) == node && Py_REFCNT(node) == 2 &&
           PyList_GET_ITEM(node, VALUE) == data && Py_REFCNT(data) == 2 + (of_shown == data) &&
           (!whole || Py_REFCNT(whole) == 1 + (of_shown == whole));
}

/* The memory of a view that is out of date, new, if nobody else can see its owner's; else NULL. */
static PyArrayObject *memory_of_stale(PyObject *view)
{
    PyObject *base = OF(view, Array, _base), *node;
    if (!is_stale(view) || !is_handle(base) || OF(base, Array, _base) != Py_None ||
        OF(base, Array, _flags) != Py_None || !(node = node_of(base)) || !sole_memory(node))
        return NULL;
    PyObject *data = Py_NewRef(PyList_GET_ITEM(node, VALUE));
    Py_INCREF(node);
    PyArrayObject *memory = (PyArrayObject *)shown_memory(view);
    if (memory && (!PyArray_ISWRITEABLE(memory) || !is_still_sole(base, node, data, memory)))
        Py_CLEAR(memory);
    Py_DECREF(node);
    Py_DECREF(data);
    return memory;
}

/* `_ownership.exclusive`. It takes handles. */
static PyObject *exclusive(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t n)
{
    PyObject *owner = n ? args[0] : Py_None, *view = n > 1 ? args[1] : Py_None, *node;
    PyArrayObject *memory = NULL;
    if (n < 1 || n > 2) {
        PyErr_SetString(PyExc_TypeError, "exclusive takes an owner, and a view of it");
        return NULL;
    }
    node = the.NDArray && is_handle(owner) ? node_of(owner) : NULL;
    if (node && view == Py_None)
        memory = memory_of_one(node);
    else if (node && is_handle(view) && OF(view, Array, _base) == owner && memory_of_both(view))
        memory = (PyArrayObject *)PyList_GET_ITEM(node, VALUE);
    return Py_NewRef(memory ? (PyObject *)memory : Py_None);
}

#define EXACT (1LL << 53) /* integers up to this are doubles */

/* Convert a bool of Python's or NumPy's to a C integer. */
static inline int as_truth(PyObject *x, long long *value)
{
    *value = x == Py_True || x == PyArrayScalar_True;
    return PyBool_Check(x) || PyArray_IsScalar(x, Bool);
}

/* Convert a number to a C complex number, if it fits. */
static inline int as_complex(PyObject *x, npy_cdouble *value)
{
    long long integer;
    if (as_exact_complex(x, value))
        return 1;
    if (!as_integer(x, &integer) && !as_truth(x, &integer))
        return 0;
    npy_csetreal(value, (double)integer);
    npy_csetimag(value, 0);
    return 1;
}

/* Store a number of NumPy's that has the type of the memory. 0: Python stores it. */
static int store_same(PyArrayObject *memory, char *at, PyObject *value)
{
    if (!PyArray_IsScalar(value, Number) || !is_number_type(PyArray_TYPE(memory)))
        return 0;
    PyArray_Descr *type = PyArray_DescrFromScalar(value);
    int same = type && type->type_num == PyArray_TYPE(memory);
    if (same)
        PyArray_ScalarAsCtype(value, at);
    Py_XDECREF(type);
    return same;
}

/* Store one element, if NumPy would without a warning or an error. 0: Python stores it. */
static int store_number(PyArrayObject *memory, char *at, PyObject *value)
{
    double number;
    long long integer;
    switch (PyArray_TYPE(memory)) {
    case NPY_DOUBLE:
        if (as_double(value, &number))
            *(double *)at = number;
        else if (as_integer(value, &integer) || as_truth(value, &integer))
            *(double *)at = (double)integer;
        else
            return 0;
        return 1;
    case NPY_CDOUBLE: return as_complex(value, (npy_cdouble *)at);
    case NPY_FLOAT:
        if (Py_TYPE(value) == &PyFloatArrType_Type)
            number = PyArrayScalar_VAL(value, Float);
        else if (as_integer(value, &integer) && llabs(integer) <= EXACT)
            number = (double)integer;
        else if (!as_double(value, &number) || (isfinite(number) && fabs(number) > FLT_MAX))
            return 0;
        *(float *)at = (float)number;
        return 1;
    case NPY_BOOL:
        if (!as_truth(value, &integer) && !as_integer(value, &integer))
            return 0;
        *(npy_bool *)at = integer != 0;
        return 1;
#define X(TYPE, type, low, high)                                                                   \
    case TYPE:                                                                                     \
        if (as_double(value, &number)) {                                                           \
            if (!(fabs(number) <= (double)EXACT))                                                  \
                return 0;                                                                          \
            integer = (long long)number;                                                           \
        }                                                                                          \
        else if (!as_integer(value, &integer) && !as_truth(value, &integer))                       \
            return 0;                                                                              \
        if (integer < (low) || integer > (high))                                                   \
            return 0;                                                                              \
        *(type *)at = (type)integer;                                                               \
        return 1;
    X(NPY_LONG, npy_long, NPY_MIN_LONG, NPY_MAX_LONG)
    X(NPY_INT, npy_int, NPY_MIN_INT, NPY_MAX_INT)
    X(NPY_SHORT, npy_short, NPY_MIN_SHORT, NPY_MAX_SHORT)
    X(NPY_BYTE, npy_byte, NPY_MIN_BYTE, NPY_MAX_BYTE)
    X(NPY_UINT, npy_uint, 0, NPY_MAX_UINT)
    X(NPY_USHORT, npy_ushort, 0, NPY_MAX_USHORT)
    X(NPY_UBYTE, npy_ubyte, 0, NPY_MAX_UBYTE)
#undef X
    case NPY_ULONG:
        if (!as_integer(value, &integer) && !as_truth(value, &integer))
            return store_same(memory, at, value);
        if (integer < 0)
            return 0;
        *(npy_ulong *)at = (npy_ulong)integer;
        return 1;
    default: return store_same(memory, at, value);
    }
}

/* Whether NumPy casts between these types of numbers without a warning. */
static int is_silent(int from, int to)
{
    if (!is_number_type(from) || !is_number_type(to))
        return 0;
    int whole = (PyTypeNum_ISINTEGER(from) || PyTypeNum_ISBOOL(from)) &&
                (PyTypeNum_ISINTEGER(to) || PyTypeNum_ISBOOL(to));
    return whole || PyArray_CanCastSafely(from, to);
}

/* Whether NumPy would store the value in memory of this dtype without a warning or an error. */
static int suits(PyArrayObject *memory, PyObject *value)
{
    _Alignas(16) char unused[sizeof(npy_clongdouble)];
    if (is_memory(value)) {
        PyArrayObject *array = (PyArrayObject *)value;
        return PyArray_DESCR(array) == PyArray_DESCR(memory) ||
               is_silent(PyArray_TYPE(array), PyArray_TYPE(memory));
    }
    return PyArray_ISNOTSWAPPED(memory) && store_number(memory, unused, value);
}

/* Store, if the index selects one element and the value fits. Whether it did. */
static int store_element(PyArrayObject *memory, PyObject *index, PyObject *value)
{
    if (is_scalar(value))
        value = value_of_scalar(value);
    char *at = value ? element_at(memory, index) : NULL;
    return at && store_number(memory, at, value);
}

/* Whether an array of objects certainly stores this one as it is. */
static inline int is_plain_object(PyObject *x)
{
    return !is_array(x) && !is_scalar(x) &&
           !PyType_IsSubtype(Py_TYPE(x), (PyTypeObject *)the.Array) && !PyArray_Check(x) &&
           !PyArray_CheckScalar(x) && !PyTuple_Check(x) && !PyList_Check(x);
}

/* Whether the date has the unit of the memory. */
static int has_its_unit(PyArrayObject *memory, PyObject *date)
{
    PyArray_DatetimeMetaData *unit = &((PyDatetimeScalarObject *)date)->obmeta, *own;
    own = &((PyArray_DatetimeDTypeMetaData *)PyDataType_C_METADATA(PyArray_DESCR(memory)))->meta;
    return unit->base == own->base && unit->num == own->num;
}

/* A record that consists of numbers and strings, as NumPy has them, in a new tuple. NULL: forward, or an
   error. */
static PyObject *plain_record(PyObject *values)
{
    Py_ssize_t n = PyTuple_CheckExact(values) ? PyTuple_GET_SIZE(values) : 0;
    PyObject *new = n ? PyTuple_New(n) : NULL;
    for (Py_ssize_t i = 0; new && i < n; i++) {
        PyObject *item = PyTuple_GET_ITEM(values, i);
        if (is_scalar(item))
            item = value_of_scalar(item);
        if (item && (is_python_number(item) || is_host_scalar(item) || PyArray_CheckScalar(item)))
            PyTuple_SET_ITEM(new, i, Py_NewRef(item));
        else
            Py_CLEAR(new);
    }
    return new;
}

/* Store a record into memory that nobody else can see. 0: Python stores it. */
static int store_record(PyArrayObject *memory, PyObject *index, PyObject *values)
{
    char *at;
    int failed;
    PyObject *record = plain_record(values);
    if (!record || !(at = element_at(memory, index))) {
        Py_XDECREF(record);
        if (PyErr_Occurred())
            drop_error(values);
        return 0;
    }
    Py_INCREF(memory);
    failed = PyArray_SETITEM(memory, at, record) < 0;
    if (failed)
        drop_error(values); /* Python comes to it again */
    Py_DECREF(memory);
    Py_DECREF(record);
    return !failed;
}

/* Store an object, a string, a date, a record or a long double as one element. 0: Python stores it. */
static int store_on_host(PyArrayObject *memory, PyObject *index, PyObject *value)
{
    PyObject *old;
    char *at;
    int fits = 0, type = PyArray_TYPE(memory);
    if (type == NPY_VOID)
        return store_record(memory, index, value);
    if (type == NPY_OBJECT)
        fits = is_plain_object(value);
    else if (type == NPY_UNICODE)
        fits = PyUnicode_CheckExact(value) || Py_TYPE(value) == &PyUnicodeArrType_Type;
    else if (type == NPY_STRING)
        fits = PyBytes_CheckExact(value) || Py_TYPE(value) == &PyStringArrType_Type;
    else if (type == NPY_DATETIME)
        fits = Py_TYPE(value) == &PyDatetimeArrType_Type && has_its_unit(memory, value);
    else if (type == NPY_TIMEDELTA)
        fits = Py_TYPE(value) == &PyTimedeltaArrType_Type && has_its_unit(memory, value);
    else if (type == NPY_LONGDOUBLE)
        fits = Py_TYPE(value) == &PyLongDoubleArrType_Type;
    if (!fits || !(at = element_at(memory, index)))
        return 0;
    if (type == NPY_OBJECT) {
        old = *(PyObject **)at;
        *(PyObject **)at = Py_NewRef(value);
        Py_XDECREF(old); /* last, as it may run code */
    }
    else if (type == NPY_DATETIME || type == NPY_TIMEDELTA)
        *(npy_datetime *)at = ((PyDatetimeScalarObject *)value)->obval;
    else if (PyArray_SETITEM(memory, at, value) < 0) {
        drop_error(value); /* Python comes to it again */
        return 0;
    }
    return 1;
}

/* The array to store at an index, new: a copy if it may show what is written. NumPy 2.4 reads some of
   its own writes in `a[::2] = a[:5]`. */
static PyObject *apart(PyArrayObject *memory, PyObject *index, PyArrayObject *value)
{
    if (may_be_written(memory, value))
        return Py_NewRef(value);
    PyObject *part = PyObject_GetItem((PyObject *)memory, index);
    int is_apart = part && is_memory(part) && may_be_written((PyArrayObject *)part, value);
    Py_XDECREF(part);
    if (!part)
        return NULL;
    return is_apart ? Py_NewRef(value) : PyArray_NewCopy(value, NPY_CORDER);
}

/* A tuple or list of numbers as NumPy has it, in a new tuple, if each suits the memory. It may hold
   lists, nested up to `depth`. NULL: forward, or an error. */
static PyObject *numbers_of(PyArrayObject *memory, PyObject *values, int depth)
{
    Py_ssize_t n = PySequence_Fast_GET_SIZE(values);
    PyObject *new = n && n <= the.few ? PyTuple_New(n) : NULL;
    if (new && n != PySequence_Fast_GET_SIZE(values)) /* the collector may run code */
        Py_CLEAR(new);
    for (Py_ssize_t i = 0; new && i < n; i++) {
        PyObject *item = PySequence_Fast_GET_ITEM(values, i);
        PyObject *number = is_scalar(item) ? value_of_scalar(item) : item;
        if (depth && is_short_sequence(item)) {
            Py_INCREF(item);
            number = numbers_of(memory, item, depth - 1);
            Py_DECREF(item);
        }
        else
            number = number && !is_memory(number) && suits(memory, number) ? Py_NewRef(number) : NULL;
        if (number)
            PyTuple_SET_ITEM(new, i, number);
        if (!number || n != PySequence_Fast_GET_SIZE(values))
            Py_CLEAR(new);
    }
    return new;
}

/* How many axes a basic index selects, at most. */
static int axes_selected(PyArrayObject *memory, PyObject *index)
{
    int axes = PyArray_NDIM(memory);
    if (!PyTuple_CheckExact(index))
        return axes - PyLong_CheckExact(index);
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(index); i++)
        axes += (PyTuple_GET_ITEM(index, i) == Py_None) - PyLong_CheckExact(PyTuple_GET_ITEM(index, i));
    return axes;
}

/* The same, or an array of the memory's dtype if the list holds arrays. It must have that dtype, as
   NumPy refuses ints of a list that do not fit; and no more axes than the index selects, as NumPy
   refuses a list that nests deeper. Of an array, it accepts both. */
static PyObject *numbers_in(PyArrayObject *memory, PyObject *index, PyObject *values, PyObject *now)
{
    PyObject *new = numbers_of(memory, values, DEEPEST);
    if (new || PyErr_Occurred() || !is_basic(index) || !(new = memory_of_list(values, now)))
        return new;
    PyArrayObject *array = (PyArrayObject *)new;
    if (PyArray_DESCR(array) != PyArray_DESCR(memory) ||
        PyArray_NDIM(array) > axes_selected(memory, index))
        Py_CLEAR(new);
    return new;
}

/* Whether NumPy casts this array to the dtype of this memory. It may warn, which is not shown. Where an
   imaginary part is lost, Python warns, so that is not done here. */
static int is_cast(PyArrayObject *memory, PyObject *value)
{
    int from, to = PyArray_TYPE(memory);
    if (!is_memory(value))
        return 0;
    from = PyArray_TYPE((PyArrayObject *)value);
    return is_number_type(from) && is_number_type(to) &&
           (!PyTypeNum_ISCOMPLEX(from) || PyTypeNum_ISCOMPLEX(to));
}

/* `memory[where] = value` without NumPy's warnings. 1: the context is in use. */
static int set_quietly(PyArrayObject *memory, PyObject *where, PyObject *value, PyObject *now)
{
    PyObject *context = enter_quiet(OF(now, Recorder, quiet));
    if (!context)
        return 1;
    int failed = PyObject_SetItem((PyObject *)memory, where, value);
    leave_quiet(context);
    return told() < 0 ? -1 : failed;
}

/* Store into memory that nobody else can see. 1: done; 0: forward; -1: NumPy raised an error before
   it wrote. */
static int store(PyArrayObject *memory, PyObject *index, PyObject *value, PyObject *now)
{
    if (store_element(memory, index, value))
        return 1;
    if (is_scalar(value))
        value = value_of_scalar(value);
    PyObject *shown;
    int many = value && (PyTuple_CheckExact(value) || PyList_CheckExact(value));
    Py_INCREF(memory); /* first, as reading a view may run code */
    if (many && element_at(memory, index)) /* NumPy's error names the class */
        value = NULL;
    else if (many)
        value = numbers_in(memory, index, value, now);
    else if (value && is_handle(value)) {
        PyObject *node = node_of(value);
        if (node)
            value = Py_NewRef(PyList_GET_ITEM(node, VALUE));
        else if (is_basic(index) && (shown = shown_memory(value))) {
            value = apart(memory, index, (PyArrayObject *)shown);
            Py_DECREF(shown);
        }
        else
            value = NULL;
    }
    else
        Py_XINCREF(value);
    int fits = value && (many || suits(memory, value));
    if (!value || value == (PyObject *)memory || !(fits || is_cast(memory, value)) || watched()) {
        Py_XDECREF(value);
        Py_DECREF(memory);
        return PyErr_Occurred() ? -1 : 0;
    }
    PyObject *where = is_basic(index) ? Py_NewRef(index) : host_index(index);
    int failed = where || !PyErr_Occurred() ? 1 : -1;
    if (where && where != (PyObject *)memory)
        failed = fits ? set_item((PyObject *)memory, where, value)
                      : set_quietly(memory, where, value, now);
    Py_DECREF(value);
    Py_DECREF(memory);
    Py_XDECREF(where);
    return failed < 0 ? -1 : failed == 0;
}

/* `x[i] = x[j]`: the assigned view shows the memory that is written. */
static int store_of_itself(PyObject *index, PyObject *view)
{
    if (!is_basic(index) || watched())
        return 0;
    PyArrayObject *shown = is_stale(view) ? memory_of_stale(view)
                                          : (PyArrayObject *)Py_XNewRef(memory_of_both(view));
    if (!shown)
        return 0;
    PyObject *node = OF(OF(view, Array, _base), Array, _node);
    PyObject *memory = Py_NewRef(PyList_GET_ITEM(node, VALUE));
    PyObject *value = apart((PyArrayObject *)memory, index, shown);
    int failed = value ? PyObject_SetItem(memory, index, value) : -1;
    Py_XDECREF(value);
    Py_DECREF(memory);
    Py_DECREF(shown);
    return failed < 0 ? -1 : 1;
}

/* Whether this is the second half of `x[i] op= v`. The first half wrote the view, and `x` with it,
   in place. */
static int is_same_view(PyObject *self, PyObject *index, PyObject *value)
{
    if (!is_handle(value) || OF(value, Array, _base) != self)
        return 0;
    PyObject *path = OF(value, Array, _path);
    if (!path || PyTuple_GET_SIZE(path) != 1)
        return 0;
    PyObject *step = PyTuple_GET_ITEM(path, 0);
    return Py_TYPE(step) == (PyTypeObject *)the.Basic &&
           is_same_index(PyTuple_GET_ITEM(step, 0), index);
}

/* The op for storing this value, if it was recorded before: `_getset._store_op`. Borrowed from
   `ops`. Sets `*operand` to the value as a node's operand. NULL: forward. */
static PyObject *op_of_store(PyObject *ops, PyObject *aval, PyObject *value, PyObject **operand)
{
    PyObject *known_as;
    if (is_array(value) || is_scalar(value)) {
        if (!(*operand = node_of(value)))
            return NULL;
        known_as = known(*operand);
    }
    else {
        PyObject *dtype = OF(aval, Aval, dtype);
        if (!PyFloat_CheckExact(value) || !PyArray_DescrCheck(dtype) ||
            ((PyArray_Descr *)dtype)->kind != 'f')
            return NULL;
        *operand = value;
        known_as = (PyObject *)&PyFloat_Type;
    }
    PyObject *op = PyDict_CheckExact(ops) ? PyDict_GetItemWithError(ops, known_as) : NULL;
    return op && Py_TYPE(op) == (PyTypeObject *)the.Op && OF(op, Op, host) == Py_False ? op : NULL;
}

/* Record that `value` takes the place of a part of `whole`; return the node, new. */
static PyObject *update_recorded(PyObject *op, PyObject *whole, PyObject *value, PyObject *starts,
                                 int depth, PyObject *now)
{
    Py_ssize_t n = PyTuple_GET_SIZE(starts);
    PyObject *args, *new = NULL;
    Py_INCREF(value); /* because the next line may run code */
    args = PyTuple_New(n + 2);
    if (args) {
        PyTuple_SET_ITEM(args, 0, Py_NewRef(whole));
        PyTuple_SET_ITEM(args, 1, Py_NewRef(value));
        for (Py_ssize_t i = 0; i < n; i++)
            PyTuple_SET_ITEM(args, i + 2, Py_NewRef(PyTuple_GET_ITEM(starts, i)));
        new = recorded(op, args, depth, now);
        Py_DECREF(args);
    }
    Py_DECREF(value);
    return new;
}

/* Whether the value is the view of `self` by this index, and shows its present value: then nothing
   is left to store. It is the second half of `x[i] op= v`. */
static int is_there(PyObject *self, PyObject *aval, PyObject *key, PyObject *value)
{
    if (!is_array(value) || OF(value, Array, _base) != self || !node_of(value))
        return 0;
    PyObject *path = OF(value, Array, _path);
    PyObject *entry = PyDict_GetItemWithError(OF(aval, Aval, get_memo), key);
    return path && PyTuple_CheckExact(path) && PyTuple_GET_SIZE(path) == 1 && entry &&
           PyTuple_CheckExact(entry) && PyTuple_GET_SIZE(entry) == 3 &&
           PyTuple_GET_ITEM(entry, 2) == PyTuple_GET_ITEM(path, 0);
}

/* Record a slice assignment that was seen before. 1: done; 0: forward; -1: an error. Owns all that
   it uses, because any allocation may run code. That code may also write the array meanwhile. */
static int store_recorded(Front *front, PyObject *self, PyObject *index, PyObject *value,
                          PyObject *now)
{
    PyObject *node = Py_XNewRef(node_of(self)), *aval = node ? Py_NewRef(known(node)) : NULL;
    PyObject *key = NULL, *step = NULL, *ops = NULL, *starts = NULL, *new = NULL;
    PyObject *operand = NULL, *op = NULL;
    int done = 0;
    if (!aval || Py_TYPE(aval) != (PyTypeObject *)the.Aval || !(key = key_of_index(index)))
        goto end;
    if (is_there(self, aval, key, value)) {
        done = 1;
        goto end;
    }
    step = Py_XNewRef(PyDict_GetItemWithError(OF(aval, Aval, set_memo), key));
    ops = step ? PyObject_GetAttr(step, the.ops) : NULL;
    starts = ops ? PyObject_GetAttr(step, the.starts) : NULL;
    op = starts && PyTuple_CheckExact(starts)
             ? Py_XNewRef(op_of_store(ops, aval, value, &operand))
             : NULL;
    if (!op)
        goto end;
    new = update_recorded(op, node, operand, starts, front->depth, now);
    if (!new || OF(self, Array, _node) != node)
        goto end;
    Py_SETREF(OF(self, Array, _node), Py_NewRef(new));
    done = 1;
    Py_ssize_t nbytes = PyLong_AsSsize_t(OF(aval, Aval, nbytes));
    if (nbytes == -1 && PyErr_Occurred())
        PyErr_Clear();
    if (nbytes >= the.stage) {
        PyObject *told = PyObject_CallFunctionObjArgs(the.large_update, now, op, NULL);
        done = told ? 1 : -1;
        Py_XDECREF(told);
    }
end:
    Py_XDECREF(node);
    Py_XDECREF(aval);
    Py_XDECREF(key);
    Py_XDECREF(step);
    Py_XDECREF(ops);
    Py_XDECREF(starts);
    Py_XDECREF(op);
    Py_XDECREF(new);
    return !done && PyErr_Occurred() ? -1 : done;
}

/* Whether the caller names `shuffle`, so that Python has a look: see `_shuffled`. */
static int may_be_shuffling(void)
{
    static PyCodeObject *last;
    static int found;
    PyFrameObject *frame = PyEval_GetFrame();
    PyCodeObject *code = frame ? PyFrame_GetCode(frame) : NULL;
    if (code && code != last) {
        PyObject *names = PyObject_GetAttrString((PyObject *)code, "co_names");
        PyObject *name = names ? PyUnicode_FromString("shuffle") : NULL;
        found = name && PySequence_Contains(names, name) == 1;
        PyErr_Clear();
        Py_XDECREF(name);
        Py_XDECREF(names);
        Py_XSETREF(last, (PyCodeObject *)Py_NewRef((PyObject *)code));
    }
    Py_XDECREF(code);
    return code && found;
}

/* Whether the value is a view of the array that it is stored in, by an int. */
static inline int is_row_of_it(PyObject *self, PyObject *index, PyObject *value)
{
    if (!PyLong_CheckExact(index) || !is_array(value) || OF(value, Array, _base) == Py_None)
        return 0;
    return OF(value, Array, _base) == self || OF(value, Array, _base) == OF(self, Array, _base);
}

static PyObject *setitem(PyObject *self_, PyObject *const *args, size_t nargsf, PyObject *names)
{
    Front *front = (Front *)self_;
    if (PyVectorcall_NARGS(nargsf) == 3 && is_handle(args[0]) &&
        is_row_of_it(args[0], args[1], args[2]) && may_be_shuffling())
        return hand_on(front, args, nargsf, names);
    if (PyVectorcall_NARGS(nargsf) != 3 || names || !nothing_staged() || !is_handle(args[0]) ||
        OF(args[0], Array, _flags) != Py_None)
        return hand_on(front, args, nargsf, names);
    PyObject *self = args[0], *index = args[1], *value = args[2], *node = node_of(self);
    if (!node && !is_stale(self))
        return hand_on(front, args, nargsf, names);
    PyArrayObject *memory;
    int done = 0;
    if (OF(self, Array, _base) == Py_None && node && (memory = memory_of_one(node)) &&
        (is_of_numbers(memory) ? store_element(memory, index, value)
                               : store_on_host(memory, index, value))) /* with any back end */
        Py_RETURN_NONE;
    index = with_known_places(index);
    PyObject *now = index ? recorder() : NULL;
    if (!now) {
        Py_XDECREF(index);
        return PyErr_Occurred() ? NULL : hand_on(front, args, nargsf, names);
    }
    if (carries_tangent(self)) {
        int locked = is_only_thread() ? 0 : acquire();
        if (may_store(locked))
            done = traced_store(self, index, value, now);
        else
            done = locked < 0 ? -1 : 0;
        unlock(locked);
    }
    else if (is_eager(now) && may_go_on(now)) {
        int locked = lock(self);
        int may = may_store(locked);
        node = may ? node_of(self) : NULL; /* again: code may have run */
        if (!node && may && is_stale(self)) {
            memory = value != OF(self, Array, _base) ? memory_of_stale(self) : NULL;
            done = memory ? store(memory, index, value, now) : 0;
            Py_XDECREF(memory);
        }
        else if (!node)
            done = locked < 0 ? -1 : 0;
        else if (OF(self, Array, _base) != Py_None)
            done = value != OF(self, Array, _base) && (memory = memory_of_both(self))
                       ? store(memory, index, value, now)
                       : 0;
        else if (is_handle(value) && OF(value, Array, _base) == self)
            done = is_same_view(self, index, value) ? 1 : store_of_itself(index, value);
        else
            done = (memory = sole_memory(node)) ? store(memory, index, value, now) : 0;
        unlock(locked);
    }
    else if (!is_eager(now) && !is_full(now) && !watched() && OF(self, Array, _base) == Py_None) {
        int locked = is_only_thread() ? 0 : acquire(); /* another may be between read and write */
        if (may_store(locked))
            done = store_recorded(front, self, index, value, now);
        else
            done = locked < 0 ? -1 : 0;
        unlock(locked);
    }
    Py_DECREF(now);
    Py_DECREF(index);
    if (done < 0)
        return NULL;
    if (done)
        Py_RETURN_NONE;
    return hand_on(front, args, nargsf, names);
}

/* -- x op= v: `_methods.in_place` -------------------------------------------------------------- */

/* Record `view op= v`, which was seen before: the operation, then the store into the owner. */
static int view_updated(Front *front, PyObject *self, PyObject *other, PyObject *now)
{
    PyObject *base = OF(self, Array, _base), *path = OF(self, Array, _path);
    if (!is_array(base) || OF(base, Array, _base) != Py_None || OF(base, Array, _flags) != Py_None ||
        OF(base, Array, _seen) == the.viewed || !path || !PyTuple_CheckExact(path) ||
        PyTuple_GET_SIZE(path) != 1 || !node_of(self) || !node_of(base))
        return 0;
    PyObject *step = Py_NewRef(PyTuple_GET_ITEM(path, 0)), *before = Py_NewRef(node_of(base));
    PyObject *ops = NULL, *starts = NULL, *overlaps = NULL, *op = NULL;
    PyObject *result = NULL, *new = NULL;
    int done = 0;
    Py_INCREF(base);
    if (Py_TYPE(step) == (PyTypeObject *)the.Basic || !(ops = PyObject_GetAttr(step, the.ops)) ||
        !(starts = PyObject_GetAttr(step, the.starts)) ||
        !(overlaps = PyObject_GetAttr(step, the.overlaps)) || overlaps != Py_False ||
        !PyDict_CheckExact(ops) || !PyTuple_CheckExact(starts))
        goto end;
    op = Py_XNewRef(PyDict_GetItemWithError(ops, known(node_of(self))));
    if (!op || Py_TYPE(op) != (PyTypeObject *)the.Op || OF(op, Op, host) != Py_False ||
        OF(op, Op, aval) != known(before))
        goto end;
    PyObject *xs[2] = {self, other};
    result = recorded_again(front->operator, xs, front->depth, now);
    if (!result)
        goto end;
    done = -1;
    new = update_recorded(op, before, result, starts, front->depth, now);
    if (!new)
        goto end;
    if (OF(base, Array, _node) != before) { /* code that ran meanwhile has written it */
        done = 0;
        goto end;
    }
    Py_INCREF(result);
    Py_SETREF(OF(self, Array, _node), result);
    Py_INCREF(new);
    Py_SETREF(OF(self, Array, _seen), new);
    Py_INCREF(new);
    Py_SETREF(OF(base, Array, _node), new);
    done = 1;
    Py_ssize_t nbytes = PyLong_AsSsize_t(OF(OF(op, Op, aval), Aval, nbytes));
    if (nbytes == -1 && PyErr_Occurred())
        PyErr_Clear();
    if (nbytes >= the.large) {
        PyObject *noted = PyObject_CallOneArg(the.note, self);
        done = noted ? 1 : -1;
        Py_XDECREF(noted);
    }
end:
    Py_DECREF(base);
    Py_DECREF(step);
    Py_DECREF(before);
    Py_XDECREF(ops);
    Py_XDECREF(starts);
    Py_XDECREF(overlaps);
    Py_XDECREF(op);
    Py_XDECREF(result);
    Py_XDECREF(new);
    if (!done && PyErr_Occurred())
        PyErr_Clear();
    return done;
}

/* Record `self op= other`, which was seen before. 1: done; 0: forward; -1: an error. */
static int in_place_recorded(Front *front, PyObject *self, PyObject *other, PyObject *now)
{
    if (OF(self, Array, _base) != Py_None)
        return view_updated(front, self, other, now);
    PyObject *xs[2] = {self, other}, *before = Py_XNewRef(node_of(self));
    PyObject *new = before ? recorded_again(front->operator, xs, front->depth, now) : NULL;
    int done = new && OF(self, Array, _node) == before; /* else, code has written it meanwhile */
    if (done)
        Py_SETREF(OF(self, Array, _node), Py_NewRef(new));
    else if (!new && PyErr_Occurred())
        PyErr_Clear();
    Py_XDECREF(new);
    Py_XDECREF(before);
    return done;
}

/* What NumPy takes for the second operand of `self op= other`, new. NULL: forward. It may show the
   memory that is written: NumPy notices. */
static PyObject *second_operand(PyObject *self, PyObject *other, PyObject *now)
{
    if (is_array(other) || (is_derived(other) && has_no_hooks(other))) {
        int same = OF(other, Array, _base) == OF(self, Array, _base);
        PyObject *node = node_of(other), *value = NULL;
        if (node && (!same || OF(self, Array, _base) == Py_None))
            value = Py_NewRef(PyList_GET_ITEM(node, VALUE));
        else if (!node)
            value = shown_memory(other);
        if (value && (!is_memory(value) || !is_of_numbers((PyArrayObject *)value)))
            Py_CLEAR(value);
        return value;
    }
    if (is_scalar(other))
        return Py_XNewRef(value_of_scalar(other));
    if (is_python_number(other))
        return Py_NewRef(other);
    PyArrayObject *listed = array_of_numbers(other);
    if (!listed && !PyErr_Occurred() && (PyList_CheckExact(other) || PyTuple_CheckExact(other)))
        return memory_of_list(other, now);
    return (PyObject *)listed;
}

/* The memory in which NumPy may write all of `self`, new. NULL: forward. The write lock is held. */
static PyArrayObject *target_of(PyObject *self, PyObject *now)
{
    PyObject *node = node_of(self); /* after all that may run code */
    PyArrayObject *target = NULL;
    if (!node)
        return is_stale(self) ? memory_of_stale(self) : NULL;
    if (OF(known(node), Aval, device) != Py_True)
        return NULL;
    if (OF(self, Array, _base) != Py_None)
        target = memory_of_both(self);
    else if (may_go_on(now) && (target = sole_memory(node)) && !is_small(now, target))
        target = NULL;
    Py_XINCREF(target);
    return target;
}

/* `x **= 0.5` of complex and half-precision numbers: NumPy's operator takes the square root, whose
   special values are others than the power's. `front->method` is that operator. */
static int is_root_perhaps(Front *front, PyArrayObject *target)
{
    int type = PyArray_TYPE(target);
    return front->method != Py_None && (type == NPY_HALF || PyTypeNum_ISCOMPLEX(type));
}

static PyObject *in_place(PyObject *self_, PyObject *const *args, size_t nargsf, PyObject *names)
{
    Front *front = (Front *)self_;
    if (PyVectorcall_NARGS(nargsf) != 2 || names || !nothing_staged() || !is_handle(args[0]) ||
        (is_derived(args[0]) && !has_no_hooks(args[0])) ||
        OF(args[0], Array, _flags) != Py_None || watched())
        return hand_on(front, args, nargsf, names);
    PyObject *self = args[0], *other = args[1], *now = recorder();
    PyArrayObject *target = NULL;
    int again = 1;
    if (!now)
        return NULL;
    int traced = carries_tangent(self);
    if (traced || (!is_eager(now) && !is_full(now))) {
        int held = is_only_thread() ? 0 : acquire();
        int done = held < 0 ? -1
                   : !may_store(held) ? 0
                   : traced ? traced_in_place(front, self, other, now)
                            : in_place_recorded(front, self, other, now);
        unlock(held);
        if (done) {
            Py_DECREF(now);
            return done < 0 ? NULL : Py_NewRef(self);
        }
    }
    int locked = is_eager(now) ? lock(self) : 0;
    if (may_store(locked) && is_eager(now))
        target = target_of(self, now);
    other = target ? second_operand(self, other, now) : NULL;
    PyObject *result = NULL;
    if (other) {
        PyObject *values[3] = {(PyObject *)target, other, (PyObject *)target};
        again = 0;
        if (is_root_perhaps(front, target))
            result = quiet(OF(now, Recorder, quiet), front->method, values, 2, &again);
        else if (looped_into(front, target, other))
            result = Py_NewRef(target);
        else if (!PyErr_Occurred())
            result = quiet(OF(now, Recorder, quiet), front->function, values, 3, &again);
    }
    Py_XDECREF(target);
    Py_XDECREF(other);
    unlock(locked);
    Py_DECREF(now);
    if (again && locked >= 0)
        return hand_on(front, args, nargsf, names);
    Py_XDECREF(result);
    return result ? Py_NewRef(self) : NULL;
}

/* -- ufunc(..., out=x), with or without `where`: `_ufunc.ufunc.__call__` ------------------------- */

enum { MOST_INTO = 3 };

/* NumPy's function into the memory of an array; `args` are its `n` operands, and either what `names`
   tells, or one more. Sets `*again` if Python must do it. */
static PyObject *called_into(PyObject *function, PyObject *const *args, Py_ssize_t n,
                             PyObject *names, int *again)
{
    PyObject *out = NULL, *values[MOST_INTO + 2] = {NULL}, *result = NULL;
    Py_ssize_t count = names ? PyTuple_GET_SIZE(names) : 1, i;
    *again = 1;
    if (n > MOST_INTO || count > 2 || !nothing_staged() || watched())
        return NULL;
    for (i = 0; i < count; i++) {
        PyObject *name = names ? PyTuple_GET_ITEM(names, i) : the.out;
        if (name == the.out)
            out = args[n + i];
        else if (name != the.where || !(is_array(args[n + i]) || args[n + i] == Py_True))
            return NULL; /* NumPy takes a list as bools */
    }
    if (!out || !is_array(out) || OF(out, Array, _flags) != Py_None)
        return NULL;
    PyObject *now = recorder();
    int locked = now && is_eager(now) ? lock(out) : -1;
    PyArrayObject *target = may_store(locked) ? target_of(out, now) : NULL;
    if (target) {
        for (i = 0; i < n + count; i++) {
            values[i] = args[i] == out ? Py_NewRef(target) : second_operand(out, args[i], now);
            if (!values[i])
                break;
        }
        int is_done = i == n + count && count == 1 && (!names || PyTuple_GET_ITEM(names, 0) == the.out) &&
                      looped_out(function, target, values, n);
        if (is_done) {
            result = Py_NewRef(target);
            *again = 0;
        }
        else if (PyErr_Occurred()) /* a warning is an error */
            *again = 0;
        else if (i == n + count)
            result = quiet_named(OF(now, Recorder, quiet), function, values, names ? n : n + 1, names,
                                 again);
        for (i = 0; i < n + count; i++)
            Py_XDECREF(values[i]);
        Py_DECREF(target);
    }
    unlock(locked);
    Py_XDECREF(now);
    if (!result)
        return NULL;
    Py_DECREF(result);
    return Py_NewRef(out);
}
