/* The hot path in C: what stands in front of the Python functions that define the operations.

   An object of type `front` holds the Python function it stands in front of. It answers calls of
   the kinds that the function has answered before (their memo tables say so) and that need no
   decision: plain arrays, nothing staged, nothing watched. Every other call it hands on as it
   came, before it has changed anything. So nothing is defined here, and lazynp without this
   module is the same library, slower: `_fronts.py` joins the two.

   Slots of Python's classes are read at their offsets, which `configure` asks the classes for.
   References that keep memory from being written in place are counted here as there, less those
   that a Python function's variables and arguments would hold. */

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <float.h>
#include <math.h>
#include <structmember.h>

#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#include <numpy/arrayobject.h>
#include <numpy/arrayscalars.h>

/* Nodes are lists: see `_node`. */
enum { OP, ARGS, VALUE, CODE, OFFSET, AVAL = OFFSET, NODE_SIZE };

/* What `configure` is given, by name. */
#define OBJECTS(X)                                                                                 \
    X(Array) X(NDArray) X(Scalar) X(Recorder) X(Op) X(Aval) X(Basic) X(config)                     \
    X(local) X(staged) X(avals) X(errstate) X(viewed) X(lent)                                     \
    X(in_common_order) X(note) X(write_lock) X(aval_of) X(avals_by_type) X(no_value) X(internal)
/* Slots: class, name. */
#define SLOTS(X)                                                                                   \
    X(Array, _node) X(Array, _base) X(Array, _path) X(Array, _seen) X(Array, _flags)               \
    X(Array, _order) X(Recorder, pending) X(Recorder, limit) X(Recorder, eager) X(Recorder, due)   \
    X(Recorder, quiet) X(Recorder, largest) X(Op, aval) X(Op, bounds) X(Op, scalar) X(Op, host)    \
    X(Aval, shape) X(Aval, dtype) X(Aval, ndim) X(Aval, size) X(Aval, nbytes) X(Aval, device)      \
    X(Aval, parts) X(Aval, get_memo)

static struct {
#define X(name) PyObject *name;
    OBJECTS(X)
#undef X
#define X(class, name) Py_ssize_t class##_##name;
    SLOTS(X)
#undef X
    Py_ssize_t config_debug_nans, ufunc_nin, ufunc__call;
    PyTypeObject *Likeness;
    Py_ssize_t Likeness__ops, Likeness__asked, Likeness__leaves, Likeness__slots, Likeness__host,
        Likeness__pairs, Likeness_counts, Likeness_leaf_counts;
    PyObject *recorder, *watching, *acquire, *release, *reduce; /* names */
    PyObject *aval_of_double;
    Py_ssize_t large; /* bytes: see `_stale` */
} the;

#define SLOT(object, offset) (*(PyObject **)((char *)(object) + (offset)))
#define OF(object, class, name) SLOT(object, the.class##_##name)

typedef struct {
    PyObject_HEAD
    vectorcallfunc vectorcall;
    PyObject *python;   /* what defines the operation */
    PyObject *function; /* NumPy's, or Python's operator */
    PyObject *done;     /* memo: what operands are known by -> the aval of NumPy's result */
    PyObject *memo;     /* the same -> op */
    int operands, depth, swap, code;
} Front;

static PyObject *hand_on(Front *front, PyObject *const *args, size_t nargsf, PyObject *names)
{
    return PyObject_Vectorcall(front->python, args, nargsf, names);
}

/* -- what there is ------------------------------------------------------------------------------ */

static inline int nothing_staged(void)
{
    return the.staged && PyList_GET_SIZE(the.staged) == 0;
}

/* Whether floating-point errors may matter somewhere, or NaN. */
static inline int watched(void)
{
    PyObject *watching = PyDict_GetItemWithError(the.errstate, the.watching);
    return watching != Py_False || SLOT(the.config, the.config_debug_nans) != Py_False;
}

static inline int is_array(PyObject *x)
{
    return Py_TYPE(x) == (PyTypeObject *)the.NDArray;
}

static inline int is_scalar(PyObject *x)
{
    return Py_TYPE(x) == (PyTypeObject *)the.Scalar;
}

static inline int is_memory(PyObject *x)
{
    return Py_TYPE(x) == &PyArray_Type;
}

static inline int is_python_number(PyObject *x)
{
    return PyFloat_CheckExact(x) || PyLong_CheckExact(x) || PyBool_Check(x) ||
           PyComplex_CheckExact(x);
}

/* Whether programs can hold the dtype; of ml_dtypes' Python knows. */
static inline int is_of_numbers(PyArrayObject *memory)
{
    int type = PyArray_TYPE(memory);
    return PyTypeNum_ISNUMBER(type) && type != NPY_LONGDOUBLE && type != NPY_CLONGDOUBLE;
}

/* The aval of a NumPy scalar of a type that programs can hold; else NULL, never with an error.
   Borrowed. */
static inline PyObject *aval_of_number(PyObject *value)
{
    if (Py_TYPE(value) == &PyDoubleArrType_Type)
        return the.aval_of_double;
    if (Py_TYPE(Py_TYPE(value)) != &PyType_Type)
        return NULL; /* metaclasses may define how classes are looked up */
    return PyDict_GetItemWithError(the.avals, (PyObject *)Py_TYPE(value));
}

/* The node of an array's present value; NULL where Python has to look. Borrowed. */
static inline PyObject *node_of(PyObject *array)
{
    PyObject *base = OF(array, Array, _base), *node = OF(array, Array, _node);
    PyObject *seen = OF(array, Array, _seen);
    if (base != Py_None && (!base || !seen || seen != OF(base, Array, _node)))
        return NULL;
    return node && PyList_CheckExact(node) && PyList_GET_SIZE(node) == NODE_SIZE ? node : NULL;
}

/* What a node is known by. Borrowed. */
static inline PyObject *known(PyObject *node)
{
    PyObject *op = PyList_GET_ITEM(node, OP);
    return op == Py_None ? PyList_GET_ITEM(node, AVAL) : OF(op, Op, aval);
}

/* This thread's recorder, new. To be called where nothing is staged: then it is always the same. */
static PyObject *recorder(void)
{
    static PyObject *last = NULL;
    static uint64_t thread = 0;
    uint64_t here = PyThreadState_GetID(PyThreadState_Get());
    if (here != thread || !last) {
        PyObject *found = PyObject_GetAttr(the.local, the.recorder);
        if (!found)
            return NULL;
        Py_XSETREF(last, found);
        thread = here;
    }
    return Py_NewRef(last);
}

static int is_full(PyObject *recorder)
{
    Py_ssize_t limit = PyLong_AsSsize_t(OF(recorder, Recorder, limit));
    if (limit == -1 && PyErr_Occurred())
        PyErr_Clear();
    return PyList_GET_SIZE(OF(recorder, Recorder, pending)) >= limit;
}

static inline int is_eager(PyObject *recorder)
{
    return OF(recorder, Recorder, eager) == Py_True;
}

/* Whether the hot path may go on: else a cut has to be looked for. */
static inline int may_go_on(PyObject *recorder)
{
    return (is_eager(recorder) && OF(recorder, Recorder, due) != Py_True) || !is_full(recorder);
}

/* What the user calls `array[...]` etc. in loops of small operations is done if it is no larger. */
static inline int is_small(PyObject *recorder, PyArrayObject *memory)
{
    PyObject *largest = OF(recorder, Recorder, largest);
    double bound = PyFloat_CheckExact(largest) ? PyFloat_AS_DOUBLE(largest)
                                               : PyLong_AsDouble(largest);
    return (double)PyArray_NBYTES(memory) <= bound;
}

/* -- making nodes and handles ------------------------------------------------------------------- */

static PyObject *node(PyObject *op, PyObject *args, PyObject *value, PyObject *code,
                      PyObject *offset)
{ /* steals none */
    PyObject *new = PyList_New(NODE_SIZE);
    if (!new)
        return NULL;
    PyList_SET_ITEM(new, OP, Py_NewRef(op));
    PyList_SET_ITEM(new, ARGS, Py_NewRef(args));
    PyList_SET_ITEM(new, VALUE, Py_NewRef(value));
    PyList_SET_ITEM(new, CODE, Py_NewRef(code));
    PyList_SET_ITEM(new, OFFSET, Py_NewRef(offset));
    return new;
}

static PyObject *leaf(PyObject *value, PyObject *aval)
{
    return node(Py_None, Py_None, value, Py_None, aval);
}

/* An owner. Steals the node, which may be NULL after an error. */
static PyObject *owner(PyObject *class, PyObject *node)
{
    PyTypeObject *type = (PyTypeObject *)class;
    PyObject *new = node ? type->tp_alloc(type, 0) : NULL;
    if (!new) {
        Py_XDECREF(node);
        return NULL;
    }
    OF(new, Array, _node) = node;
    OF(new, Array, _base) = Py_NewRef(Py_None);
    OF(new, Array, _seen) = Py_NewRef(Py_None);
    OF(new, Array, _flags) = Py_NewRef(Py_None);
    OF(new, Array, _order) = Py_NewRef(Py_None);
    return new;
}

static PyObject *scalar(PyObject *value, PyObject *aval)
{
    return owner(the.Scalar, leaf(value, aval));
}

/* The aval of NumPy's array, new; NULL, without an error if programs cannot hold its dtype. */
static PyObject *aval_of_memory(PyArrayObject *memory)
{
    if (!is_of_numbers(memory))
        return NULL;
    PyObject *shape = PyArray_IntTupleFromIntp(PyArray_NDIM(memory), PyArray_DIMS(memory));
    PyObject *dtype = (PyObject *)PyArray_DESCR(memory), *aval = NULL;
    PyObject *key = shape ? PyTuple_Pack(3, shape, dtype, Py_False) : NULL;
    if (key) {
        aval = Py_XNewRef(PyDict_GetItemWithError(the.avals_by_type, key));
        if (!aval && !PyErr_Occurred())
            aval = PyObject_CallFunctionObjArgs(the.aval_of, shape, dtype, NULL);
    }
    Py_XDECREF(shape);
    Py_XDECREF(key);
    return aval;
}

/* The node of an operation recorded now. `depth`: how many Python frames up the user's is, if the
   one that called is 1. */
static PyObject *recorded(PyObject *op, PyObject *args, int depth, PyObject *recorder)
{
    PyFrameObject *frame = (PyFrameObject *)Py_XNewRef((PyObject *)PyEval_GetFrame());
    for (int i = 1; frame && i < depth; i++)
        Py_SETREF(frame, PyFrame_GetBack(frame));
    if (!frame) {
        PyErr_SetString(PyExc_ValueError, "call stack is not deep enough"); /* as `_getframe` */
        return NULL;
    }
    PyObject *code = (PyObject *)PyFrame_GetCode(frame), *new = NULL;
    PyObject *offset = PyLong_FromLong(PyFrame_GetLasti(frame));
    Py_DECREF(frame);
    if (offset)
        new = node(op, args, Py_None, code, offset);
    Py_DECREF(code);
    Py_XDECREF(offset);
    if (new && PyList_Append(OF(recorder, Recorder, pending), new) < 0)
        Py_CLEAR(new);
    return new;
}

/* -- NumPy's kernels without its warnings: see `_quiet` ----------------------------------------- */

/* `*again` where Python is to make the call, as the context is in use. */
static PyObject *quiet_named(PyObject *call, PyObject *function, PyObject *const *values,
                             Py_ssize_t n, PyObject *names, int *again)
{
    PyObject *context = PyCFunction_Check(call) ? PyCFunction_GET_SELF(call) : NULL;
    *again = !context || !PyContext_CheckExact(context) || PyContext_Enter(context) < 0;
    if (*again) {
        PyErr_Clear();
        return NULL;
    }
    PyObject *result = PyObject_Vectorcall(function, values, n, names), *error[3];
    if (!result)
        PyErr_Fetch(&error[0], &error[1], &error[2]);
    if (PyContext_Exit(context) < 0)
        PyErr_WriteUnraisable(context);
    if (!result)
        PyErr_Restore(error[0], error[1], error[2]);
    return result;
}

static PyObject *quiet(PyObject *call, PyObject *function, PyObject *const *values, Py_ssize_t n,
                       int *again)
{
    return quiet_named(call, function, values, n, NULL, again);
}

/* -- elementwise functions and operators: `_recording.binary`, `unary`, `composed` -------------- */

enum {
    PLAIN = 'p', /* as `code`: one operation, `function` for whatever there is */
    FRESH = 'f', /* of arrays only; the order of the operands is not that of the result */
};

#define MOST_DONE (1 << 14) /* see `_recording._Done` */

typedef struct {
    PyObject *operand; /* a node, or a Python scalar; NULL for a NumPy scalar. All borrowed */
    PyObject *known;
    PyObject *value; /* if it is there */
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

/* NumPy's result as a handle; steals it. */
static PyObject *done_result(PyObject *result, PyObject *aval)
{
    PyObject *class = is_memory(result) ? the.NDArray : the.Scalar;
    PyObject *out = owner(class, leaf(result, aval));
    Py_DECREF(result);
    return out;
}

/* The operands as a node holds them. */
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

/* Whether operands not met before are to be left to NumPy at once, as far as can be seen here. */
static int is_for_numpy(Front *front, PyObject *key, PyObject *now, PyObject *const *xs,
                        const Operand *them, Py_ssize_t n)
{
    if ((front->code != PLAIN && front->code != FRESH) || watched() ||
        PyDict_GetItemWithError(front->memo, key) || PyDict_GET_SIZE(front->done) >= MOST_DONE)
        return 0;
    for (Py_ssize_t i = 0; i < n; i++) {
        if (front->code == FRESH && !is_array(xs[i]))
            return 0;
        PyArrayObject *memory = (PyArrayObject *)them[i].value;
        if (is_memory(them[i].value) && (!is_of_numbers(memory) || !is_small(now, memory)))
            return 0;
    }
    return !PyErr_Occurred();
}

/* The aval of NumPy's result for operands not met before, new, and remembered. NULL, without an
   error where Python has to look. */
static PyObject *learnt(Front *front, PyObject *key, PyObject *result)
{
    PyObject *aval = is_memory(result) ? aval_of_memory((PyArrayObject *)result)
                                       : Py_XNewRef(aval_of_number(result));
    if (aval && PyDict_SetItem(front->done, key, aval) < 0)
        Py_CLEAR(aval);
    if (aval && watched() && PyDict_DelItem(front->done, key) < 0) /* it may have begun meanwhile */
        PyErr_Clear();
    return aval;
}

static PyObject *elementwise(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *names)
{
    Front *front = (Front *)self;
    Py_ssize_t n = PyVectorcall_NARGS(nargsf);
    Operand them[2] = {{NULL}};
    PyObject *xs[2] = {NULL}, *order = NULL, *now = NULL, *key = NULL, *found, *out = NULL;
    int again = 0;
    if (n != front->operands || names || !nothing_staged())
        return hand_on(front, args, nargsf, names);
    now = recorder(); /* first what may run Python's code: all that is looked at is borrowed */
    key = n == 1 ? NULL : PyTuple_New(n);
    if (!now || (!key && n != 1))
        goto end;
    again = 1;
    for (Py_ssize_t i = 0; i < n; i++) {
        xs[i] = args[front->swap ? n - 1 - i : i];
        if (!look_at(xs[i], &them[i], &order))
            goto end;
        if (n == 1)
            key = Py_NewRef(them[i].known);
        else
            PyTuple_SET_ITEM(key, i, Py_NewRef(them[i].known));
    }
    if (!may_go_on(now))
        goto end;
    if (is_python_number(xs[0]) && (n == 1 || is_python_number(xs[1])))
        goto end; /* their size decides the dtype */
    if (is_eager(now)) {
        found = Py_XNewRef(PyDict_GetItemWithError(front->done, key));
        if (!them[0].value || (n == 2 && !them[1].value) ||
            (!found && !is_for_numpy(front, key, now, xs, them, n))) {
            Py_XDECREF(found);
            goto end;
        }
        PyObject *values[2] = {Py_NewRef(them[0].value), Py_XNewRef(them[1].value)};
        PyObject *result = quiet(OF(now, Recorder, quiet), front->function, values, n, &again);
        if (result && !found) {
            found = learnt(front, key, result);
            again = !found;
        }
        if (result && found)
            out = done_result(result, found);
        else
            Py_XDECREF(result);
        Py_DECREF(values[0]);
        Py_XDECREF(values[1]);
        Py_XDECREF(found);
    }
    else {
        found = PyDict_GetItemWithError(front->memo, key);
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
    if (out && order && front->code != FRESH) {
        PyObject *all[3] = {out, xs[0], xs[1]};
        Py_SETREF(out, PyObject_Vectorcall(the.in_common_order, all, 1 + n, NULL));
    }
end:
    Py_XDECREF(now);
    Py_XDECREF(key);
    return again && !PyErr_Occurred() ? hand_on(front, args, nargsf, names) : out;
}

/* -- scalars that are there: `_scalars` ---------------------------------------------------------- */

static inline int as_double(PyObject *x, double *value)
{
    if (Py_TYPE(x) == &PyDoubleArrType_Type)
        *value = PyArrayScalar_VAL(x, Double);
    else if (PyFloat_CheckExact(x))
        *value = PyFloat_AS_DOUBLE(x);
    else
        return 0;
    return 1;
}

/* The result for two doubles where it is IEEE's and no error can be noticed; else NULL. */
static PyObject *of_doubles(int code, double a, double b)
{
    double result;
    switch (code) {
    case '+': result = a + b; break;
    case '-': result = a - b; break;
    case '*': result = a * b; break;
    case '/': result = a / b; break;
    case '<': PyArrayScalar_RETURN_BOOL_FROM_LONG(a < b);
    case '>': PyArrayScalar_RETURN_BOOL_FROM_LONG(a > b);
    case 'l': PyArrayScalar_RETURN_BOOL_FROM_LONG(a <= b);
    case 'g': PyArrayScalar_RETURN_BOOL_FROM_LONG(a >= b);
    case '=': PyArrayScalar_RETURN_BOOL_FROM_LONG(a == b);
    case '!': PyArrayScalar_RETURN_BOOL_FROM_LONG(a != b);
    default: return NULL;
    }
    PyObject *new = PyArrayScalar_New(Double);
    if (new)
        PyArrayScalar_ASSIGN(new, Double, result);
    return new;
}

/* The value of a Scalar that is there and not weak; else NULL. Borrowed. */
static inline PyObject *value_of_scalar(PyObject *x)
{
    PyObject *node = OF(x, Array, _node);
    if (!node || !PyList_CheckExact(node) || PyList_GET_SIZE(node) != NODE_SIZE)
        return NULL;
    PyObject *value = PyList_GET_ITEM(node, VALUE);
    if (value == Py_None)
        return NULL;
    PyObject *aval = aval_of_number(value);
    return aval && aval == PyList_GET_ITEM(node, AVAL) ? value : NULL;
}

static PyObject *of_scalars(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *names)
{
    Front *front = (Front *)self;
    Py_ssize_t n = PyVectorcall_NARGS(nargsf);
    PyObject *values[2] = {NULL}, *result = NULL, *aval;
    double a, b;
    int again = 0;
    if (n != front->operands || names || !the.staged || watched())
        return hand_on(front, args, nargsf, names);
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *x = args[i];
        PyObject *value = is_scalar(x) ? value_of_scalar(x) : NULL;
        if (!value && i && (PyFloat_CheckExact(x) || PyLong_CheckExact(x)))
            value = x;
        if (!value && i && is_array(x))
            return PyObject_Vectorcall(front->memo, args, n, NULL);
        if (!value)
            return hand_on(front, args, nargsf, names);
        values[front->swap ? n - 1 - i : i] = value;
    }
    if (n == 2 && as_double(values[0], &a) && as_double(values[1], &b))
        result = of_doubles(front->code, a, b);
    if (!result && !PyErr_Occurred()) {
        Py_INCREF(values[0]);
        Py_XINCREF(values[1]);
        result = quiet(front->done, front->function, values, n, &again);
        Py_DECREF(values[0]);
        Py_XDECREF(values[1]);
    }
    if (!result)
        return again ? hand_on(front, args, nargsf, names) : NULL;
    aval = aval_of_number(result);
    PyObject *out = aval ? scalar(result, aval) : NULL;
    Py_DECREF(result);
    return aval ? out : hand_on(front, args, nargsf, names);
}

/* `float`, `int`, `bool`, `index` of a Scalar that is there. */
static PyObject *converted(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *names)
{
    Front *front = (Front *)self;
    double number;
    if (PyVectorcall_NARGS(nargsf) != 1 || names || !the.staged || !is_scalar(args[0]))
        return hand_on(front, args, nargsf, names);
    PyObject *value = value_of_scalar(args[0]);
    if (!value)
        return hand_on(front, args, nargsf, names);
    if (front->function == (PyObject *)&PyFloat_Type && as_double(value, &number))
        return PyFloat_FromDouble(number);
    if (front->function == (PyObject *)&PyBool_Type && PyArray_IsScalar(value, Bool))
        return PyBool_FromLong(PyArrayScalar_VAL(value, Bool));
    Py_INCREF(value);
    PyObject *out = PyObject_CallOneArg(front->function, value);
    Py_DECREF(value);
    return out;
}

/* -- indices ------------------------------------------------------------------------------------- */

#define MOST_AXES 8

/* An integer as an index; 0 where this is none that is there. */
static inline int as_place(PyObject *item, npy_intp *place)
{
    if (is_scalar(item)) {
        item = value_of_scalar(item);
        if (!item)
            return 0;
    }
    if (!PyLong_CheckExact(item)) {
        if (Py_TYPE(item) == &PyLongArrType_Type)
            *place = PyArrayScalar_VAL(item, Long);
        else if (Py_TYPE(item) == &PyIntArrType_Type)
            *place = PyArrayScalar_VAL(item, Int);
        else
            return 0;
        return 1;
    }
    int overflow;
    *place = PyLong_AsLongAndOverflow(item, &overflow);
    return !overflow;
}

/* Where in its memory an array has the one element of this index; NULL where Python has to look. */
static char *element_at(PyArrayObject *memory, PyObject *index)
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
    if (ndim == 0 || !PyArray_ISBEHAVED_RO(memory))
        return NULL;
    char *at = PyArray_BYTES(memory);
    for (int axis = 0; axis < ndim; axis++) {
        npy_intp place, length = PyArray_DIM(memory, axis);
        if (!as_place(items[axis], &place))
            return NULL;
        place += place < 0 ? length : 0;
        if (place < 0 || place >= length)
            return NULL;
        at += place * PyArray_STRIDE(memory, axis);
    }
    return at;
}

/* Whether an index gives a view for sure. */
static int is_basic(PyObject *index)
{
    if (PySlice_Check(index) || PyLong_CheckExact(index))
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

/* `_index_keys.index_key`, of what is made of Python's integers; NULL for anything else. */
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

/* -- x[i]: `_getset.getitem` ---------------------------------------------------------------------- */

/* The node that the value of `self`, up to date, was read from: its owner's. Borrowed. */
static inline PyObject *seen_by(PyObject *self)
{
    return OF(self, Array, _base) == Py_None ? OF(self, Array, _node) : OF(self, Array, _seen);
}

/* A view one step further than `self`, an owner or a view, whose flags are none. Steals `node` and
   `step`, either of which may be NULL after an error. */
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

/* NumPy's view of what is there, as a view of ours: in loops of small operations. */
static PyObject *view_at_once(PyObject *self, PyObject *index, PyObject *now, PyObject *aval,
                              PyObject *value, int *again)
{
    PyObject *base, *out = NULL, *part = NULL, *shape, *step;
    PyObject *seen = Py_NewRef(seen_by(self));
    Py_INCREF(value);
    PyObject *shown = PyObject_GetItem(value, index); /* bounds of slices may be anything */
    Py_DECREF(value);
    if (!shown) {
        Py_DECREF(seen);
        return NULL;
    }
    *again = 1;
    if (!is_memory(shown) || PyArray_NDIM((PyArrayObject *)shown) == 0 ||
        !is_small(now, (PyArrayObject *)shown))
        goto end;
    PyArrayObject *memory = (PyArrayObject *)shown;
    shape = PyArray_IntTupleFromIntp(PyArray_NDIM(memory), PyArray_DIMS(memory));
    if (!shape)
        goto end;
    part = PyDict_GetItemWithError(OF(aval, Aval, parts), shape);
    if (part)
        Py_INCREF(part);
    else {
        part = aval_of_memory(memory);
        if (part && PyDict_SetItem(OF(aval, Aval, parts), shape, part) < 0)
            Py_CLEAR(part);
    }
    Py_DECREF(shape);
    if (!part)
        goto end;
    *again = 0;
    PyTypeObject *basic = (PyTypeObject *)the.Basic; /* of (index, aval), a tuple */
    step = basic->tp_alloc(basic, 2);
    if (!step)
        goto end;
    PyTuple_SET_ITEM(step, 0, Py_NewRef(index));
    PyTuple_SET_ITEM(step, 1, Py_NewRef(aval));
    base = OF(self, Array, _base) == Py_None ? self : OF(self, Array, _base);
    if (OF(base, Array, _seen) == the.viewed)
        out = view_of(self, step, leaf(Py_None, part), Py_None);
    else
        out = view_of(self, step, leaf(shown, part), seen);
end:
    Py_XDECREF(part);
    Py_DECREF(seen);
    Py_DECREF(shown);
    return out;
}

/* Whether a view's value lies in the memory of its owner: what was written through it may be an array
   of its own. */
static int is_in_owner(PyObject *self, PyArrayObject *memory)
{
    PyObject *base = OF(self, Array, _base);
    if (base == Py_None)
        return 1;
    PyObject *node = OF(base, Array, _base) == Py_None ? node_of(base) : NULL;
    PyObject *whole = node ? PyList_GET_ITEM(node, VALUE) : Py_None, *below = PyArray_BASE(memory);
    return is_memory(whole) && below &&
           (below == whole || below == PyArray_BASE((PyArrayObject *)whole));
}

/* `x.T`: `_views.turned`. The steps are in the memo, by the number of dimensions. */
static PyObject *turned(PyObject *self_, PyObject *const *args, size_t nargsf, PyObject *names)
{
    Front *front = (Front *)self_;
    PyObject *self, *now, *node, *seen, *step = NULL, *view, *aval, *out = NULL;
    if (PyVectorcall_NARGS(nargsf) != 1 || names || !nothing_staged() || !is_array(args[0]) ||
        OF(args[0], Array, _flags) != Py_None)
        return hand_on(front, args, nargsf, names);
    self = args[0];
    now = recorder();
    if (!now)
        return NULL;
    node = is_eager(now) ? node_of(self) : NULL;
    PyObject *value = node ? PyList_GET_ITEM(node, VALUE) : Py_None;
    PyArrayObject *memory = (PyArrayObject *)value;
    if (is_memory(value) && is_of_numbers(memory) && is_small(now, memory) &&
        is_in_owner(self, memory)) {
        PyObject *ndim = PyLong_FromLong(PyArray_NDIM(memory));
        step = ndim ? Py_XNewRef(PyDict_GetItemWithError(front->memo, ndim)) : NULL;
        Py_XDECREF(ndim);
    }
    Py_DECREF(now);
    if (!step)
        return PyErr_Occurred() ? NULL : hand_on(front, args, nargsf, names);
    seen = Py_NewRef(seen_by(self));
    view = PyArray_Transpose(memory, NULL);
    aval = view ? aval_of_memory((PyArrayObject *)view) : NULL;
    PyObject *base = OF(self, Array, _base) == Py_None ? self : OF(self, Array, _base);
    int viewed = OF(base, Array, _seen) == the.viewed;
    if (aval)
        out = view_of(self, step, leaf(viewed ? Py_None : view, aval), viewed ? Py_None : seen);
    else
        Py_DECREF(step);
    if (out)
        Py_SETREF(OF(out, Array, _order), Py_NewRef(Py_True));
    Py_DECREF(seen);
    Py_XDECREF(view);
    Py_XDECREF(aval);
    return out;
}

/* What is remembered of a basic index: (op, starts, step), new. NULL, without an error where Python
   has to look. */
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

/* Whether views of a node's value are noted: see `_stale`. */
static int is_large(PyObject *node)
{
    Py_ssize_t nbytes = PyLong_AsSsize_t(OF(known(node), Aval, nbytes));
    if (nbytes == -1 && PyErr_Occurred())
        PyErr_Clear(); /* of what is broadcast: more than there could be */
    return nbytes >= the.large || nbytes == -1;
}

/* A slice met before, recorded. Holds whatever it uses: anything made here may run code. */
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

/* The array of numbers that is an index, as NumPy takes it; NULL where Python has to look. */
static PyObject *index_array(PyObject *index)
{
    PyObject *node = is_array(index) ? node_of(index) : NULL;
    PyObject *value = node ? PyList_GET_ITEM(node, VALUE) : NULL;
    if (!value || !is_memory(value) || PyArray_NDIM((PyArrayObject *)value) == 0)
        return NULL;
    return is_of_numbers((PyArrayObject *)value) ? value : NULL;
}

/* An index with arrays as NumPy takes it, new; NULL where Python has to look. */
static PyObject *host_index(PyObject *index)
{
    if (!PyTuple_CheckExact(index))
        return Py_XNewRef(index_array(index));
    Py_ssize_t n = PyTuple_GET_SIZE(index);
    PyObject *new = PyTuple_New(n);
    for (Py_ssize_t i = 0; new && i < n; i++) {
        PyObject *item = PyTuple_GET_ITEM(index, i);
        if (!PySlice_Check(item) && !PyLong_CheckExact(item) && item != Py_None &&
            item != Py_Ellipsis)
            item = index_array(item);
        if (!item)
            Py_CLEAR(new);
        else
            PyTuple_SET_ITEM(new, i, Py_NewRef(item));
    }
    return new;
}

/* NumPy's fresh array as an owner, if it is in C order and of numbers; else NULL, without an error
   where Python has to look. */
static PyObject *fresh_owner(PyArrayObject *memory)
{
    if (PyArray_NDIM(memory) == 0 || !PyArray_IS_C_CONTIGUOUS(memory))
        return NULL;
    PyObject *aval = aval_of_memory(memory);
    PyObject *out = aval ? owner(the.NDArray, leaf((PyObject *)memory, aval)) : NULL;
    Py_XDECREF(aval);
    return out;
}

/* What NumPy chooses by arrays that are there: `_getset._chosen`. */
static PyObject *chosen(PyObject *self, PyObject *value, PyObject *index, int *again)
{
    PyObject *where = NULL, *got, *out = NULL;
    *again = 1;
    Py_INCREF(value);
    if (OF(self, Array, _order) == Py_None && PyArray_IS_C_CONTIGUOUS((PyArrayObject *)value) &&
        !watched())
        where = host_index(index);
    got = where ? PyObject_GetItem(value, where) : NULL;
    *again = got != NULL || !where;
    Py_DECREF(value);
    Py_XDECREF(where);
    if (got && is_memory(got) && PyArray_BASE((PyArrayObject *)got) == NULL) {
        out = fresh_owner((PyArrayObject *)got);
        *again = !out;
    }
    Py_XDECREF(got);
    return out;
}

static PyObject *getitem(PyObject *self_, PyObject *const *args, size_t nargsf, PyObject *names)
{
    Front *front = (Front *)self_;
    PyObject *self, *index, *now, *node, *value, *aval, *out = NULL;
    int again = 1;
    if (PyVectorcall_NARGS(nargsf) != 2 || names || !nothing_staged() || !is_array(args[0]))
        return hand_on(front, args, nargsf, names);
    self = args[0];
    index = args[1];
    node = node_of(self);
    if (!node)
        return hand_on(front, args, nargsf, names);
    value = PyList_GET_ITEM(node, VALUE);
    if (is_memory(value) && is_of_numbers((PyArrayObject *)value)) {
        char *at = element_at((PyArrayObject *)value, index);
        if (at) {
            PyObject *element = PyArray_Scalar(at, PyArray_DESCR((PyArrayObject *)value), value);
            if (!element)
                return NULL;
            aval = aval_of_number(element);
            out = aval ? scalar(element, aval) : NULL;
            Py_DECREF(element);
            return aval ? out : hand_on(front, args, nargsf, names);
        }
    }
    if (OF(self, Array, _flags) != Py_None)
        return hand_on(front, args, nargsf, names);
    now = recorder();
    if (!now)
        return NULL;
    node = node_of(self); /* again: a thread's first recorder is made by Python's code */
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
    }
    Py_DECREF(now);
    return again && !PyErr_Occurred() ? hand_on(front, args, nargsf, names) : out;
}

/* -- who may write -------------------------------------------------------------------------------- */

enum { MOST_AT_ONCE = 500 }; /* elements: from here on NumPy lets other threads run meanwhile */

static int is_only_thread(void)
{
    PyThreadState *first = PyInterpreterState_ThreadHead(PyInterpreterState_Get());
    return !first || !PyThreadState_Next(first);
}

/* Before what of an array's memory is looked at that is to be written by NumPy: another thread
   that finds it in use would copy it, half written. 1 if it is for `unlock`, -1 for an error. */
static int lock(PyObject *array)
{
    PyObject *node = OF(array, Array, _node);
    PyObject *value = node && PyList_CheckExact(node) && PyList_GET_SIZE(node) == NODE_SIZE
                          ? PyList_GET_ITEM(node, VALUE)
                          : Py_None;
    if (!is_memory(value) || PyArray_SIZE((PyArrayObject *)value) <= MOST_AT_ONCE ||
        is_only_thread())
        return 0;
    PyObject *done = PyObject_CallMethodNoArgs(the.write_lock, the.acquire);
    Py_XDECREF(done);
    return done ? 1 : -1;
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

/* -- x[i] = v: `_getset.setitem` ------------------------------------------------------------------ */

/* The memory of an owner's value if nobody else can see it; else NULL. Borrowed.

   Counted are the references that there are when only the handle has the node, and it the memory. */
static PyArrayObject *sole_memory(PyObject *node)
{
    PyObject *value = PyList_GET_ITEM(node, VALUE);
    if (Py_REFCNT(node) != 1 || !is_memory(value) || Py_REFCNT(value) != 1)
        return NULL;
    PyArrayObject *memory = (PyArrayObject *)value;
    PyObject *base = PyArray_BASE(memory);
    if (base && (!is_memory(base) || Py_REFCNT(base) != 1 ||
                 PyArray_BASE((PyArrayObject *)base)))
        return NULL;
    if (!PyArray_ISWRITEABLE(memory) || PyList_GET_ITEM(node, CODE) == the.lent)
        return NULL;
    return is_of_numbers(memory) ? memory : NULL;
}

/* The memory that a view shows if nobody but it and its owner can see it; else NULL. Borrowed. */
static PyArrayObject *memory_of_both(PyObject *view)
{
    PyObject *base = OF(view, Array, _base), *own = OF(view, Array, _node), *node, *target, *data;
    if (!is_array(base) || OF(base, Array, _base) != Py_None || OF(base, Array, _flags) != Py_None)
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

/* An integer of Python's or NumPy's, if a C integer holds it. */
static inline int as_integer(PyObject *x, long long *value)
{
    if (PyLong_CheckExact(x)) {
        int overflow;
        *value = PyLong_AsLongLongAndOverflow(x, &overflow);
        return !overflow;
    }
    PyTypeObject *type = Py_TYPE(x);
#define X(name)                                                                                    \
    if (type == &Py##name##ArrType_Type) {                                                         \
        *value = PyArrayScalar_VAL(x, name);                                                       \
        return 1;                                                                                  \
    }
    X(Long) X(Int) X(UByte) X(Byte) X(Short) X(UShort) X(UInt)
#undef X
    return 0;
}

/* Store one element, if NumPy would without a word. What does not fit is for Python. */
static int store_number(PyArrayObject *memory, char *at, PyObject *value)
{
    double number;
    long long integer;
    switch (PyArray_TYPE(memory)) {
    case NPY_DOUBLE:
        if (as_double(value, &number))
            *(double *)at = number;
        else if (as_integer(value, &integer))
            *(double *)at = (double)integer;
        else
            return 0;
        return 1;
    case NPY_FLOAT:
        if (Py_TYPE(value) == &PyFloatArrType_Type)
            number = PyArrayScalar_VAL(value, Float);
        else if (!as_double(value, &number) || (isfinite(number) && fabs(number) > FLT_MAX))
            return 0;
        *(float *)at = (float)number;
        return 1;
    case NPY_BOOL:
        if (!PyBool_Check(value) && !PyArray_IsScalar(value, Bool))
            return 0;
        *(npy_bool *)at = value == Py_True || value == PyArrayScalar_True;
        return 1;
#define X(TYPE, type, low, high)                                                                   \
    case TYPE:                                                                                     \
        if (!as_integer(value, &integer) || integer < (low) || integer > (high))                   \
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
    default: return 0;
    }
}

/* Whether NumPy would store it in memory of this dtype without a word: the same dtype, or a Python
   number of its kind. */
static int suits(PyArrayObject *memory, PyObject *value)
{
    if (is_memory(value))
        return PyArray_DESCR((PyArrayObject *)value) == PyArray_DESCR(memory);
    if (!PyArray_ISNOTSWAPPED(memory))
        return 0;
    switch (PyArray_TYPE(memory)) {
    case NPY_DOUBLE:
        return PyFloat_CheckExact(value) || PyLong_CheckExact(value) ||
               Py_TYPE(value) == &PyDoubleArrType_Type;
    case NPY_LONG: return PyLong_CheckExact(value) || Py_TYPE(value) == &PyLongArrType_Type;
    case NPY_BOOL: return PyBool_Check(value) || PyArray_IsScalar(value, Bool);
    default: return 0;
    }
}

/* Store into memory that is one array's alone. 1: done; 0: for Python; -1: an error that NumPy
   found before it wrote. */
static int store(PyArrayObject *memory, PyObject *index, PyObject *value)
{
    if (is_scalar(value))
        value = value_of_scalar(value);
    char *at = value ? element_at(memory, index) : NULL;
    if (at && store_number(memory, at, value))
        return 1;
    if (value && is_array(value)) {
        PyObject *node = node_of(value);
        value = node ? PyList_GET_ITEM(node, VALUE) : NULL;
    }
    if (!value || value == (PyObject *)memory || !suits(memory, value) || watched())
        return 0;
    Py_INCREF(memory);
    Py_INCREF(value);
    PyObject *where = is_basic(index) ? Py_NewRef(index) : host_index(index);
    int failed = where || !PyErr_Occurred() ? 1 : -1;
    if (where && where != (PyObject *)memory)
        failed = PyObject_SetItem((PyObject *)memory, where, value);
    Py_DECREF(value);
    Py_DECREF(memory);
    Py_XDECREF(where);
    return failed < 0 ? -1 : failed == 0;
}

/* `x[i] = x[j]`: what is assigned shows the memory that is written. It is copied. */
static int store_of_itself(PyObject *index, PyObject *view)
{
    PyArrayObject *shown = memory_of_both(view);
    if (!shown || !is_basic(index) || watched())
        return 0;
    PyObject *node = OF(OF(view, Array, _base), Array, _node);
    PyObject *memory = Py_NewRef(PyList_GET_ITEM(node, VALUE));
    Py_INCREF(shown);
    PyObject *copy = PyArray_NewCopy(shown, NPY_CORDER);
    Py_DECREF(shown);
    int failed = copy ? PyObject_SetItem(memory, index, copy) : -1;
    Py_DECREF(memory);
    Py_XDECREF(copy);
    return failed < 0 ? -1 : 1;
}

/* The second half of `x[i] op= v`: the view was written in place, and `x` with it. */
static int is_same_view(PyObject *self, PyObject *index, PyObject *value)
{
    if (!is_array(value) || OF(value, Array, _base) != self)
        return 0;
    PyObject *path = OF(value, Array, _path);
    if (!path || PyTuple_GET_SIZE(path) != 1)
        return 0;
    PyObject *step = PyTuple_GET_ITEM(path, 0);
    return Py_TYPE(step) == (PyTypeObject *)the.Basic && PyTuple_GET_ITEM(step, 0) == index;
}

static PyObject *setitem(PyObject *self_, PyObject *const *args, size_t nargsf, PyObject *names)
{
    Front *front = (Front *)self_;
    if (PyVectorcall_NARGS(nargsf) != 3 || names || !nothing_staged() || !is_array(args[0]) ||
        OF(args[0], Array, _flags) != Py_None)
        return hand_on(front, args, nargsf, names);
    PyObject *self = args[0], *index = args[1], *value = args[2], *node = node_of(self);
    if (!node)
        return hand_on(front, args, nargsf, names);
    PyArrayObject *memory;
    int done = 0;
    if (OF(self, Array, _base) == Py_None && (memory = sole_memory(node))) { /* one element is stored whatever the recorder */
        PyObject *number = is_scalar(value) ? value_of_scalar(value) : value;
        char *at = number ? element_at(memory, index) : NULL;
        if (at && store_number(memory, at, number))
            Py_RETURN_NONE;
    }
    PyObject *now = recorder();
    if (!now)
        return NULL;
    if (is_eager(now) && !is_full(now)) {
        int locked = lock(self);
        node = locked < 0 ? NULL : node_of(self); /* again: code may have run */
        if (!node)
            done = locked < 0 ? -1 : 0;
        else if (OF(self, Array, _base) != Py_None)
            done = value != OF(self, Array, _base) && (memory = memory_of_both(self))
                       ? store(memory, index, value)
                       : 0;
        else if (is_array(value) && OF(value, Array, _base) == self)
            done = is_same_view(self, index, value) ? 1 : store_of_itself(index, value);
        else
            done = (memory = sole_memory(node)) ? store(memory, index, value) : 0;
        unlock(locked);
    }
    Py_DECREF(now);
    if (done < 0)
        return NULL;
    if (done)
        Py_RETURN_NONE;
    return hand_on(front, args, nargsf, names);
}

/* -- x op= v: `_methods.in_place` ------------------------------------------------------------------ */

static PyObject *in_place(PyObject *self_, PyObject *const *args, size_t nargsf, PyObject *names)
{
    Front *front = (Front *)self_;
    if (PyVectorcall_NARGS(nargsf) != 2 || names || !nothing_staged() || !is_array(args[0]) ||
        OF(args[0], Array, _flags) != Py_None || watched())
        return hand_on(front, args, nargsf, names);
    PyObject *self = args[0], *other = args[1], *now = recorder(), *node;
    PyArrayObject *target = NULL;
    int again = 1;
    if (!now)
        return NULL;
    int locked = is_eager(now) ? lock(self) : 0;
    node = node_of(self); /* after whatever runs code */
    if (node && locked >= 0 && is_eager(now) && OF(known(node), Aval, device) == Py_True) {
        if (OF(self, Array, _base) != Py_None)
            target = memory_of_both(self);
        else if (may_go_on(now) && (target = sole_memory(node)) && !is_small(now, target))
            target = NULL;
    }
    if (target && is_array(other)) {
        int same = OF(other, Array, _base) == OF(self, Array, _base);
        node = same && OF(self, Array, _base) != Py_None ? NULL : node_of(other);
        other = node ? PyList_GET_ITEM(node, VALUE) : NULL;
        if (other && (!is_memory(other) || !is_of_numbers((PyArrayObject *)other)))
            other = NULL;
    }
    else if (target && is_scalar(other))
        other = value_of_scalar(other);
    else if (!is_python_number(other))
        other = NULL;
    PyObject *result = NULL;
    if (target && other) {
        PyObject *values[3] = {Py_NewRef(target), Py_NewRef(other), (PyObject *)target};
        result = quiet(OF(now, Recorder, quiet), front->function, values, 3, &again);
        Py_DECREF(values[0]);
        Py_DECREF(values[1]);
    }
    unlock(locked);
    Py_DECREF(now);
    if (again && locked >= 0)
        return hand_on(front, args, nargsf, names);
    Py_XDECREF(result);
    return result ? Py_NewRef(self) : NULL;
}

/* -- shape, dtype, ndim, size ---------------------------------------------------------------------- */

static PyObject *attribute(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *names)
{
    Front *front = (Front *)self;
    PyObject *x = PyVectorcall_NARGS(nargsf) == 1 && !names ? args[0] : NULL;
    if (!x || !nothing_staged() || (!is_array(x) && !is_scalar(x)))
        return hand_on(front, args, nargsf, names);
    PyObject *node = node_of(x), *aval = node ? known(node) : NULL;
    if (!aval || Py_TYPE(aval) != (PyTypeObject *)the.Aval || OF(aval, Aval, device) != Py_True)
        return hand_on(front, args, nargsf, names); /* fields have more to be said of */
    switch (front->code) {
    case 's': return Py_NewRef(OF(aval, Aval, shape));
    case 'd': return Py_NewRef(OF(aval, Aval, dtype));
    case 'n': return Py_NewRef(OF(aval, Aval, ndim));
    default: return Py_NewRef(OF(aval, Aval, size));
    }
}

/* -- calls of ufuncs: `_ufunc.ufunc.__call__` ------------------------------------------------------- */

static PyObject *called(PyObject *self_, PyObject *const *args, size_t nargsf, PyObject *names)
{
    Front *front = (Front *)self_;
    Py_ssize_t n = PyVectorcall_NARGS(nargsf);
    if (n < 2 || names || Py_TYPE(args[0]) != (PyTypeObject *)front->function)
        return hand_on(front, args, nargsf, names);
    PyObject *nin = SLOT(args[0], the.ufunc_nin), *call = SLOT(args[0], the.ufunc__call);
    if (!nin || !call || !PyLong_CheckExact(nin) || PyLong_AsLong(nin) != n - 1)
        return hand_on(front, args, nargsf, names);
    return PyObject_Vectorcall(call, args + 1, n - 1, NULL);
}

/* -- functions as a whole: `_eager.by_numpy`, `created`; `_reduce` ------------------------------------ */

enum { CREATED = 'c' }; /* as `code`: makes an array, of arguments that need not be arrays */

#define FEW 4096 /* elements: see `_eager._is_small` */

/* What NumPy is given for an argument, new; NULL where Python has to look. */
static PyObject *argument(PyObject *x, PyObject *now, int *ours, int depth)
{
    if (is_array(x)) {
        PyObject *node = OF(x, Array, _order) == Py_None ? node_of(x) : NULL;
        PyObject *value = node ? PyList_GET_ITEM(node, VALUE) : NULL;
        if (!value || !is_memory(value))
            return NULL;
        PyArrayObject *memory = (PyArrayObject *)value;
        *ours = 1;
        return is_of_numbers(memory) && PyArray_IS_C_CONTIGUOUS(memory) && is_small(now, memory)
                   ? Py_NewRef(value)
                   : NULL;
    }
    if (is_scalar(x)) {
        *ours = 1;
        return Py_XNewRef(value_of_scalar(x));
    }
    if (is_python_number(x) || x == Py_None || x == the.no_value || PyUnicode_CheckExact(x) ||
        PyType_Check(x) || PyArray_DescrCheck(x))
        return Py_NewRef(x);
    int list = PyList_CheckExact(x);
    if ((!list && !PyTuple_CheckExact(x)) || depth == 0 || PySequence_Fast_GET_SIZE(x) > FEW)
        return NULL;
    Py_ssize_t n = PySequence_Fast_GET_SIZE(x);
    PyObject *new = list ? PyList_New(n) : PyTuple_New(n);
    for (Py_ssize_t i = 0; new && i < n; i++) {
        PyObject *item = NULL; /* a list may change while code runs */
        if (i < PySequence_Fast_GET_SIZE(x)) {
            PyObject *given = Py_NewRef(PySequence_Fast_GET_ITEM(x, i));
            item = argument(given, now, ours, depth - 1);
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

/* Whether the array that this is the length, the shape, the elements or the model of is small. */
static int makes_little(PyObject *x)
{
    Py_ssize_t size = 1;
    if (is_array(x)) {
        PyObject *node = node_of(x), *value = node ? PyList_GET_ITEM(node, VALUE) : NULL;
        return value && is_memory(value) && PyArray_SIZE((PyArrayObject *)value) <= FEW;
    }
    if (PyList_CheckExact(x))
        return PyList_GET_SIZE(x) > 0; /* `argument` takes no long ones */
    for (Py_ssize_t i = 0; i < (PyTuple_CheckExact(x) ? PyTuple_GET_SIZE(x) : 1); i++) {
        PyObject *n = PyTuple_CheckExact(x) ? PyTuple_GET_ITEM(x, i) : x;
        Py_ssize_t length = PyLong_CheckExact(n) ? PyLong_AsSsize_t(n) : -1;
        if (length < 0 || length > FEW) {
            PyErr_Clear();
            return 0;
        }
        size *= length;
        if (size > FEW)
            return 0;
    }
    return 1;
}

/* What NumPy returned, as ours; steals it. `*again` where Python has to make the call after all. */
static PyObject *whole_result(Front *front, PyObject *result, PyObject *const *values,
                              Py_ssize_t n, PyObject *const *args, Py_ssize_t count, int *again)
{
    PyObject *out = NULL, *aval, *given, *arguments;
    if (is_memory(result) && PyArray_BASE((PyArrayObject *)result) == NULL) {
        for (Py_ssize_t i = 0; i < n; i++)
            *again = *again || values[i] == result;
        out = *again ? NULL : fresh_owner((PyArrayObject *)result);
    }
    else if ((aval = aval_of_number(result)))
        out = scalar(result, aval);
    if (!out && !*again && !PyErr_Occurred()) {
        given = PyList_New(n);
        arguments = PyTuple_New(count);
        for (Py_ssize_t i = 0; given && i < n; i++)
            PyList_SET_ITEM(given, i, Py_NewRef(values[i]));
        for (Py_ssize_t i = 0; arguments && i < count; i++)
            PyTuple_SET_ITEM(arguments, i, Py_NewRef(args[i]));
        if (given && arguments)
            out = PyObject_CallFunctionObjArgs(front->done, result, given, arguments, NULL);
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

static PyObject *whole(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *names)
{
    Front *front = (Front *)self;
    Py_ssize_t n = PyVectorcall_NARGS(nargsf), named = names ? PyTuple_GET_SIZE(names) : 0;
    Py_ssize_t all = n + named, made = 0;
    PyObject *values[MOST_ARGUMENTS], *now, *result = NULL, *out = NULL;
    int ours = front->code == CREATED, again = 1;
    if (n == 0 || n > front->operands || all > MOST_ARGUMENTS || !nothing_staged() || watched())
        return hand_on(front, args, nargsf, names);
    for (Py_ssize_t i = 0; i < named; i++)
        if (PySet_Contains(front->memo, PyTuple_GET_ITEM(names, i)) != 0)
            return hand_on(front, args, nargsf, names);
    now = recorder();
    if (!now)
        return NULL;
    if (is_eager(now) && (front->code != CREATED || makes_little(args[0]))) {
        while (made < all && (values[made] = argument(args[made], now, &ours, 2)))
            made++;
        if (made == all && ours)
            result = quiet_named(OF(now, Recorder, quiet), front->function, values, n, names,
                                 &again);
        if (result)
            out = whole_result(front, result, values, all, args, n, &again);
    }
    for (Py_ssize_t i = 0; i < made; i++)
        Py_DECREF(values[i]);
    Py_DECREF(now);
    return again && !PyErr_Occurred() ? hand_on(front, args, nargsf, names) : out;
}

/* Whether Python code other than lazynp's called. */
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

/* A reduction met before, recorded. */
static PyObject *reduction_recorded(Front *front, PyObject *x, PyObject *axis, PyObject *keepdims,
                                    PyObject *now, int *again)
{
    PyObject *node = OF(x, Array, _order) == Py_None ? node_of(x) : NULL, *key, *op = NULL, *out;
    if (!node || is_full(now) || (axis != Py_None && !PyLong_CheckExact(axis)))
        return NULL;
    Py_INCREF(node); /* as the rest may run code */
    key = is_users() ? PyTuple_Pack(4, known(node), axis, Py_None, keepdims) : NULL;
    if (key)
        op = Py_XNewRef(PyDict_GetItemWithError(front->memo, key));
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

/* `_reduce.reduce`: (a, axis) and, by name, axis, keepdims. */
static PyObject *reduction(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *names)
{
    Front *front = (Front *)self;
    Py_ssize_t n = PyVectorcall_NARGS(nargsf), named = names ? PyTuple_GET_SIZE(names) : 0;
    PyObject *axis = n > 1 ? args[1] : Py_None, *keepdims = Py_False, *now, *out = NULL;
    int again = 1, ours = 0;
    if (n == 0 || n > 2 || !nothing_staged() || !is_array(args[0]) || watched())
        return hand_on(front, args, nargsf, names);
    for (Py_ssize_t i = 0; i < named; i++) {
        PyObject *name = PyTuple_GET_ITEM(names, i), *value = args[n + i];
        if (PyUnicode_CompareWithASCIIString(name, "axis") == 0 && n == 1)
            axis = value;
        else if (PyUnicode_CompareWithASCIIString(name, "keepdims") == 0 && PyBool_Check(value))
            keepdims = value;
        else
            return hand_on(front, args, nargsf, names);
    }
    now = recorder();
    if (!now)
        return NULL;
    PyObject *value = is_eager(now) ? argument(args[0], now, &ours, 0) : NULL;
    if (!is_eager(now))
        out = reduction_recorded(front, args[0], axis, keepdims, now, &again);
    else if (value) {
        PyObject *values[5] = {value, axis, Py_None, Py_None, keepdims};
        PyObject *result = quiet(OF(now, Recorder, quiet), front->function, values, 5, &again);
        out = result ? whole_result(front, result, values, 1, args, 1, &again) : NULL;
        Py_DECREF(value);
    }
    Py_DECREF(now);
    return again && !PyErr_Occurred() ? hand_on(front, args, nargsf, names) : out;
}

/* A function of two arrays, called by an operator that takes more. */
static PyObject *of_arrays(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *names)
{
    Front *front = (Front *)self;
    if (PyVectorcall_NARGS(nargsf) == 2 && !names && nothing_staged() && is_array(args[0]) &&
        is_array(args[1]))
        return PyObject_Vectorcall(front->function, args, 2, NULL);
    return hand_on(front, args, nargsf, names);
}

/* -- iteration: `_methods._iter` ----------------------------------------------------------------------- */

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
    PyObject *args[2] = {it->array, PyLong_FromSsize_t(it->at++)};
    PyObject *item = args[1] ? PyObject_Vectorcall(it->get, args, 2, NULL) : NULL;
    Py_XDECREF(args[1]);
    return item;
}

static PyObject *iterator_hint(PyObject *self, PyObject *Py_UNUSED(none))
{
    return PyLong_FromSsize_t(((Iterator *)self)->length - ((Iterator *)self)->at);
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

/* `function` is `getitem`. */
static PyObject *iterate(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *names)
{
    Front *front = (Front *)self;
    PyObject *x = PyVectorcall_NARGS(nargsf) == 1 && !names && nothing_staged() ? args[0] : NULL;
    PyObject *node = x && is_array(x) ? node_of(x) : NULL, *aval = node ? known(node) : NULL;
    if (!aval || Py_TYPE(aval) != (PyTypeObject *)the.Aval ||
        PyTuple_GET_SIZE(OF(aval, Aval, shape)) == 0)
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

/* -- recognising a form: `_graph._matched` ------------------------------------------------------ */

static PyObject *items_at(PyObject *flat, PyObject *places)
{
    Py_ssize_t n = PyList_GET_SIZE(places);
    PyObject *items = PyList_New(n);
    for (Py_ssize_t i = 0; items && i < n; i++) {
        Py_ssize_t k = PyLong_AsSsize_t(PyList_GET_ITEM(places, i));
        PyList_SET_ITEM(items, i, Py_NewRef(PyList_GET_ITEM(flat, k)));
    }
    return items;
}

/* The operands of all nodes, in order; NULL where the ops are others. */
static PyObject *flattened(PyObject *nodes, PyObject *ops)
{
    Py_ssize_t count = PyList_GET_SIZE(nodes), total = 0, k = 0;
    if (count != PyList_GET_SIZE(ops))
        return NULL;
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *node = PyList_GET_ITEM(nodes, i);
        if (PyList_GET_ITEM(node, OP) != PyList_GET_ITEM(ops, i) ||
            PyList_GET_ITEM(node, VALUE) != Py_None || !PyTuple_CheckExact(PyList_GET_ITEM(node, ARGS)))
            return NULL;
        total += PyTuple_GET_SIZE(PyList_GET_ITEM(node, ARGS));
    }
    PyObject *flat = PyList_New(total);
    for (Py_ssize_t i = 0; flat && i < count; i++) {
        PyObject *args = PyList_GET_ITEM(PyList_GET_ITEM(nodes, i), ARGS);
        if (!PyTuple_CheckExact(args) || k + PyTuple_GET_SIZE(args) > total)
            break; /* computed meanwhile, by a destructor */
        for (Py_ssize_t j = 0; j < PyTuple_GET_SIZE(args); j++)
            PyList_SET_ITEM(flat, k++, Py_NewRef(PyTuple_GET_ITEM(args, j)));
    }
    if (flat && k < total)
        Py_CLEAR(flat);
    return flat;
}

/* Whether operands that are one node, or one leaf, in the form are so here. */
static int is_wired(PyObject *pairs, PyObject *flat, PyObject *nodes, PyObject *leaves)
{
    PyObject *wired = PyTuple_GET_ITEM(pairs, 0), *sources = PyTuple_GET_ITEM(pairs, 1);
    Py_ssize_t count = PyList_GET_SIZE(nodes);
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(wired); i++) {
        Py_ssize_t k = PyLong_AsSsize_t(PyList_GET_ITEM(wired, i));
        Py_ssize_t source = PyLong_AsSsize_t(PyList_GET_ITEM(sources, i));
        PyObject *wanted = source < count ? PyList_GET_ITEM(nodes, source)
                                          : PyList_GET_ITEM(leaves, source - count);
        if (PyList_GET_ITEM(flat, k) != wanted)
            return 0;
    }
    return 1;
}

/* Whether all leaves have values that are none of the front's types, those of slots. */
static int are_leaves(PyObject *leaves, PyObject *types)
{
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(leaves); i++) {
        PyObject *leaf = PyList_GET_ITEM(leaves, i);
        PyObject *value = PyList_CheckExact(leaf) ? PyList_GET_ITEM(leaf, VALUE) : Py_None;
        if (value == Py_None || PyObject_IsInstance(value, types) != 0)
            return 0;
    }
    return 1;
}

/* Host values in the place of their nodes. */
static int see_slots(PyObject *slots, PyObject *host, PyObject *types)
{
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(host); i++) {
        Py_ssize_t k = PyLong_AsSsize_t(PyList_GET_ITEM(host, i));
        PyObject *node = PyList_GET_ITEM(slots, k);
        PyObject *value = PyList_CheckExact(node) ? PyList_GET_ITEM(node, VALUE) : Py_None;
        if (PyObject_IsInstance(value, types) != 1)
            return 0;
        Py_INCREF(value);
        PyList_SetItem(slots, k, value);
    }
    return 1;
}

/* Whether so many refer to each as did to those of the form. `base`: what `sys.getrefcount` says of
   what only a list refers to, when it was called as it was then. To `asked` an argument refers too. */
static int are_counts(PyObject *nodes, PyObject *counts, int base, PyObject *asked)
{
    if (PyList_GET_SIZE(nodes) != PyList_GET_SIZE(counts))
        return 0;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(nodes); i++) {
        PyObject *node = PyList_GET_ITEM(nodes, i);
        Py_ssize_t others = Py_REFCNT(node) - 1 - (node == asked);
        if (others != PyLong_AsSsize_t(PyList_GET_ITEM(counts, i)) - base)
            return 0;
    }
    return 1;
}

static PyObject *matched(PyObject *self_, PyObject *const *args, size_t nargsf, PyObject *names)
{
    Front *front = (Front *)self_;
    PyObject *like, *nodes, *asked, *flat, *leaves = NULL, *slots = NULL, *out = NULL;
    if (PyVectorcall_NARGS(nargsf) != 3 || names || Py_TYPE(args[0]) != the.Likeness)
        return hand_on(front, args, nargsf, names);
    like = args[0];
    nodes = args[1];
    asked = args[2];
    flat = flattened(nodes, OF(like, Likeness, _ops));
    if (!flat)
        return hand_on(front, args, nargsf, names); /* some may have been computed elsewhere */
    Py_ssize_t place = PyLong_AsSsize_t(OF(like, Likeness, _asked));
    if (asked == (place < 0 ? Py_None : PyList_GET_ITEM(nodes, place))) {
        leaves = items_at(flat, OF(like, Likeness, _leaves));
        slots = items_at(flat, OF(like, Likeness, _slots));
    }
    int same = leaves && slots && are_leaves(leaves, front->memo) &&
               is_wired(OF(like, Likeness, _pairs), flat, nodes, leaves) &&
               see_slots(slots, OF(like, Likeness, _host), front->memo);
    Py_DECREF(flat);
    if (same && are_counts(nodes, OF(like, Likeness, counts), front->operands, asked) &&
        are_counts(leaves, OF(like, Likeness, leaf_counts), front->operands, asked))
        out = PyTuple_Pack(2, leaves, slots);
    Py_XDECREF(leaves);
    Py_XDECREF(slots);
    return out || PyErr_Occurred() ? out : Py_NewRef(Py_None);
}

/* -- the type --------------------------------------------------------------------------------------- */

static int front_traverse(PyObject *self, visitproc visit, void *arg)
{
    Front *front = (Front *)self;
    Py_VISIT(front->python);
    Py_VISIT(front->function);
    Py_VISIT(front->done);
    Py_VISIT(front->memo);
    return 0;
}

static int front_clear(PyObject *self)
{
    Front *front = (Front *)self;
    Py_CLEAR(front->python);
    Py_CLEAR(front->function);
    Py_CLEAR(front->done);
    Py_CLEAR(front->memo);
    return 0;
}

static void front_dealloc(PyObject *self)
{
    PyObject_GC_UnTrack(self);
    front_clear(self);
    PyObject_GC_Del(self);
}

static PyObject *front_get(PyObject *self, PyObject *object, PyObject *Py_UNUSED(class))
{
    return object && object != Py_None ? PyMethod_New(self, object) : Py_NewRef(self);
}

/* Name, docstring, signature are the Python function's. */
static PyObject *front_getattro(PyObject *self, PyObject *name)
{
    if (PyUnicode_Check(name) && PyUnicode_Tailmatch(name, the.reduce, 0, PY_SSIZE_T_MAX, -1) == 1)
        return PyObject_GenericGetAttr(self, name); /* __reduce__, __reduce_ex__ */
    PyObject *found = PyObject_GetAttr(((Front *)self)->python, name);
    if (found || !PyErr_ExceptionMatches(PyExc_AttributeError))
        return found;
    PyErr_Clear();
    return PyObject_GenericGetAttr(self, name);
}

static PyObject *front_repr(PyObject *self)
{
    return PyObject_Repr(((Front *)self)->python);
}

/* For pickle: a function of the namespace, by its name. */
static PyObject *front_reduce(PyObject *self, PyObject *Py_UNUSED(protocol))
{
    return PyObject_GetAttrString(((Front *)self)->python, "__qualname__");
}

static PyMethodDef FRONT_METHODS[] = {
    {"__reduce__", front_reduce, METH_NOARGS, NULL},
    {"__reduce_ex__", front_reduce, METH_O, NULL},
    {NULL},
};

static PyTypeObject FrontType = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "lazynp._fastpath.front",
    .tp_doc = "A Python function, and the C that answers its usual calls.",
    .tp_basicsize = sizeof(Front),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL |
                Py_TPFLAGS_METHOD_DESCRIPTOR,
    .tp_vectorcall_offset = offsetof(Front, vectorcall),
    .tp_call = PyVectorcall_Call,
    .tp_dealloc = front_dealloc,
    .tp_traverse = front_traverse,
    .tp_clear = front_clear,
    .tp_descr_get = front_get,
    .tp_getattro = front_getattro,
    .tp_repr = front_repr,
    .tp_methods = FRONT_METHODS,
};

/* -- the module ------------------------------------------------------------------------------------- */

static const struct {
    const char *name;
    vectorcallfunc call;
} KINDS[] = {
    {"elementwise", elementwise}, {"of_scalars", of_scalars}, {"converted", converted},
    {"getitem", getitem},         {"setitem", setitem},       {"in_place", in_place},
    {"attribute", attribute},     {"called", called},         {"whole", whole},
    {"reduction", reduction},     {"of_arrays", of_arrays},   {"iterate", iterate},
    {"matched", matched},         {"turned", turned},
};

static int find_slot(PyObject *class, const char *name, Py_ssize_t *offset)
{
    PyObject *descriptor = PyObject_GetAttrString(class, name);
    if (descriptor && Py_TYPE(descriptor) != &PyMemberDescr_Type) {
        PyErr_Format(PyExc_TypeError, "%R has no slot %s", class, name);
        Py_CLEAR(descriptor);
    }
    if (!descriptor)
        return -1;
    *offset = ((PyMemberDescrObject *)descriptor)->d_member->offset;
    Py_DECREF(descriptor);
    return 0;
}

static PyObject *new_front(PyObject *python, const Front *like)
{
    Front *new = PyObject_GC_New(Front, &FrontType);
    if (!new)
        return NULL;
    new->vectorcall = like->vectorcall;
    new->python = Py_NewRef(python);
    new->function = Py_NewRef(like->function);
    new->done = Py_NewRef(like->done);
    new->memo = Py_NewRef(like->memo);
    new->operands = like->operands;
    new->depth = like->depth;
    new->swap = like->swap;
    new->code = like->code;
    PyObject_GC_Track(new);
    return (PyObject *)new;
}

/* Those of the class that a kind of front is about. */
static int find_slots_of(vectorcallfunc kind, PyObject *class)
{
    int failed = 0;
    if (kind == called)
        failed = find_slot(class, "nin", &the.ufunc_nin) < 0 ||
                 find_slot(class, "_call", &the.ufunc__call) < 0;
    if (kind == matched) {
        the.Likeness = (PyTypeObject *)class;
        failed = find_slot(class, "_ops", &the.Likeness__ops) < 0 ||
                 find_slot(class, "_asked", &the.Likeness__asked) < 0 ||
                 find_slot(class, "_leaves", &the.Likeness__leaves) < 0 ||
                 find_slot(class, "_slots", &the.Likeness__slots) < 0 ||
                 find_slot(class, "_host", &the.Likeness__host) < 0 ||
                 find_slot(class, "_pairs", &the.Likeness__pairs) < 0 ||
                 find_slot(class, "counts", &the.Likeness_counts) < 0 ||
                 find_slot(class, "leaf_counts", &the.Likeness_leaf_counts) < 0;
    }
    return failed ? -1 : 0;
}

static PyObject *front(PyObject *Py_UNUSED(module), PyObject *args, PyObject *named)
{
    static char *names[] = {"kind", "python", "function", "done", "memo", "operands", "depth",
                            "swap", "code", NULL};
    const char *kind;
    PyObject *python, *function = Py_None, *done = Py_None, *memo = Py_None;
    int operands = 0, depth = 1, swap = 0, code = 0;
    if (!PyArg_ParseTupleAndKeywords(args, named, "sO|$OOOiipC", names, &kind, &python, &function,
                                     &done, &memo, &operands, &depth, &swap, &code))
        return NULL;
    for (size_t i = 0; i < sizeof(KINDS) / sizeof(KINDS[0]); i++) {
        if (strcmp(KINDS[i].name, kind))
            continue;
        if (find_slots_of(KINDS[i].call, function) < 0)
            return NULL;
        Front like = {.vectorcall = KINDS[i].call, .function = function, .done = done,
                      .memo = memo, .operands = operands, .depth = depth, .swap = swap,
                      .code = code};
        return new_front(python, &like);
    }
    return PyErr_Format(PyExc_ValueError, "no kind of front is called %s", kind);
}

/* The same front, of a Python function that does the same. */
static PyObject *moved(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *before, *python;
    if (!PyArg_ParseTuple(args, "O!O", &FrontType, &before, &python))
        return NULL;
    return new_front(python, (Front *)before);
}

static PyObject *configure(PyObject *Py_UNUSED(module), PyObject *args, PyObject *named)
{
    if (PyTuple_GET_SIZE(args) || !named) {
        PyErr_SetString(PyExc_TypeError, "configure takes keyword arguments only");
        return NULL;
    }
#define X(name)                                                                                    \
    {                                                                                              \
        PyObject *given = PyDict_GetItemString(named, #name);                                      \
        if (!given)                                                                                \
            return PyErr_Format(PyExc_TypeError, "configure needs %s", #name);                     \
        Py_XSETREF(the.name, Py_NewRef(given));                                                    \
    }
    OBJECTS(X)
#undef X
#define X(class, name)                                                                             \
    if (find_slot(the.class, #name, &the.class##_##name) < 0)                                      \
        return NULL;
    SLOTS(X)
#undef X
    if (find_slot((PyObject *)Py_TYPE(the.config), "debug_nans", &the.config_debug_nans) < 0)
        return NULL;
    PyObject *large = PyDict_GetItemString(named, "large");
    the.large = large ? PyLong_AsSsize_t(large) : -1;
    the.recorder = PyUnicode_InternFromString("recorder");
    the.watching = PyUnicode_InternFromString("watching");
    the.acquire = PyUnicode_InternFromString("acquire");
    the.release = PyUnicode_InternFromString("release");
    the.aval_of_double = PyDict_GetItemWithError(the.avals, (PyObject *)&PyDoubleArrType_Type);
    if (the.large < 0 || !the.recorder || !the.watching || !the.acquire || !the.release ||
        !the.aval_of_double) {
        if (!PyErr_Occurred())
            PyErr_SetString(PyExc_TypeError, "configure needs large, and avals of numbers");
        return NULL;
    }
    Py_RETURN_NONE;
}

static PyMethodDef METHODS[] = {
    {"front", (PyCFunction)(void (*)(void))front, METH_VARARGS | METH_KEYWORDS,
     "front(kind, python, ...): what stands in front of a Python function."},
    {"moved", moved, METH_VARARGS, "moved(front, python): the same in front of another function."},
    {"configure", (PyCFunction)(void (*)(void))configure, METH_VARARGS | METH_KEYWORDS,
     "configure(**objects): what the fronts have to know of lazynp. Before any is called."},
    {NULL},
};

static struct PyModuleDef MODULE = {
    PyModuleDef_HEAD_INIT,
    .m_name = "lazynp._fastpath",
    .m_doc = "The hot path in C; see _fronts.py.",
    .m_size = -1,
    .m_methods = METHODS,
};

PyMODINIT_FUNC PyInit__fastpath(void)
{
    import_array();
    the.reduce = PyUnicode_InternFromString("__reduce");
    if (!the.reduce)
        return NULL;
    if (PyType_Ready(&FrontType) < 0 || PyType_Ready(&IteratorType) < 0)
        return NULL;
    PyObject *module = PyModule_Create(&MODULE);
    if (module && PyModule_AddObjectRef(module, "Front", (PyObject *)&FrontType) < 0)
        Py_CLEAR(module);
    /* another number wherever `configure` or `front` are to be called otherwise than before */
    if (module && PyModule_AddIntConstant(module, "INTERFACE", 3) < 0)
        Py_CLEAR(module);
    return module;
}
