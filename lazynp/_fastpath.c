/* The hot path in C: what stands in front of the Python functions that define the operations.

   An object of type `front` holds the Python function it stands in front of. It answers calls of
   the kinds that the function has answered before (their memo tables say so) and that need no
   decision: plain arrays, nothing staged, nothing watched. Every other call it hands on as it
   came, before it has changed anything. So nothing is defined here, and lazynp without this
   module is the same library, slower: `functions/_accelerated.py` joins the two.

   Slots of Python's classes are read at their offsets, which `configure` asks the classes for.
   References that keep memory from being written in place are counted here as there, less those
   that a Python function's variables and arguments would hold. */

#define PY_SSIZE_T_CLEAN
#include <Python.h>
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
    X(in_common_order) X(note) X(write_lock)
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
    PyObject *recorder, *watching, *acquire, *release; /* names */
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
    return PyList_GET_SIZE(the.staged) == 0;
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

/* This thread's recorder. */
static inline PyObject *recorder(void)
{
    return PyObject_GetAttr(the.local, the.recorder);
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
static PyObject *quiet(PyObject *call, PyObject *function, PyObject *const *values, Py_ssize_t n,
                       int *again)
{
    PyObject *context = PyCFunction_Check(call) ? PyCFunction_GET_SELF(call) : NULL;
    *again = !context || !PyContext_CheckExact(context) || PyContext_Enter(context) < 0;
    if (*again) {
        PyErr_Clear();
        return NULL;
    }
    PyObject *result = PyObject_Vectorcall(function, values, n, NULL), *error[3];
    if (!result)
        PyErr_Fetch(&error[0], &error[1], &error[2]);
    if (PyContext_Exit(context) < 0)
        PyErr_WriteUnraisable(context);
    if (!result)
        PyErr_Restore(error[0], error[1], error[2]);
    return result;
}

/* -- elementwise functions and operators: `_recording.binary`, `unary` -------------------------- */

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
    if (is_eager(now)) {
        found = PyDict_GetItemWithError(front->done, key);
        if (!found || !them[0].value || (n == 2 && !them[1].value))
            goto end;
        Py_INCREF(found);
        PyObject *values[2] = {Py_NewRef(them[0].value), Py_XNewRef(them[1].value)};
        again = 0;
        PyObject *result = quiet(OF(now, Recorder, quiet), front->function, values, n, &again);
        out = result ? done_result(result, found) : NULL;
        Py_DECREF(values[0]);
        Py_XDECREF(values[1]);
        Py_DECREF(found);
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
    if (out && order) {
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
    if (n != front->operands || names || watched())
        return hand_on(front, args, nargsf, names);
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *x = args[i];
        PyObject *value = is_scalar(x) ? value_of_scalar(x) : NULL;
        if (!value && i && (PyFloat_CheckExact(x) || PyLong_CheckExact(x)))
            value = x;
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
    if (PyVectorcall_NARGS(nargsf) != 1 || names || !is_scalar(args[0]))
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
    PyObject *base, *out = NULL, *part, *shape, *step;
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
    Py_DECREF(seen);
    Py_DECREF(shown);
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

static PyObject *getitem(PyObject *self_, PyObject *const *args, size_t nargsf, PyObject *names)
{
    Front *front = (Front *)self_;
    PyObject *self, *index, *now, *node, *value, *aval, *out = NULL;
    int again = 1;
    if (PyVectorcall_NARGS(nargsf) != 2 || names || !is_array(args[0]) || !nothing_staged())
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
    if (OF(self, Array, _flags) != Py_None || !is_basic(index))
        return hand_on(front, args, nargsf, names);
    now = recorder();
    if (!now)
        return NULL;
    node = node_of(self); /* again: a thread's first recorder is made by Python's code */
    value = node ? PyList_GET_ITEM(node, VALUE) : NULL;
    aval = node ? known(node) : NULL;
    if (aval && Py_TYPE(aval) == (PyTypeObject *)the.Aval && may_go_on(now)) {
        if (!is_eager(now))
            out = view_recorded(front, self, index, now, node, aval, &again);
        else if (is_memory(value) && OF(aval, Aval, device) == Py_True) {
            again = 0;
            out = view_at_once(self, index, now, aval, value, &again);
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

/* Whether one element could be stored without looking at the dtype again. */
static int store_number(PyArrayObject *memory, char *at, PyObject *value)
{
    double number;
    switch (PyArray_TYPE(memory)) {
    case NPY_DOUBLE:
        if (PyLong_CheckExact(value)) {
            number = PyLong_AsDouble(value);
            if (number == -1 && PyErr_Occurred()) {
                PyErr_Clear();
                return 0;
            }
        }
        else if (!as_double(value, &number))
            return 0;
        *(double *)at = number;
        return 1;
    case NPY_LONG: {
        int overflow = 0;
        long integer;
        if (PyLong_CheckExact(value))
            integer = PyLong_AsLongAndOverflow(value, &overflow);
        else if (Py_TYPE(value) == &PyLongArrType_Type)
            integer = PyArrayScalar_VAL(value, Long);
        else
            return 0;
        if (!overflow)
            *(long *)at = integer;
        return !overflow;
    }
    case NPY_BOOL:
        if (!PyBool_Check(value) && !PyArray_IsScalar(value, Bool))
            return 0;
        *(npy_bool *)at = value == Py_True || value == PyArrayScalar_True;
        return 1;
    default:
        return 0;
    }
}

/* 1: done; 0: for Python; -1: an error that NumPy found before it wrote. */
static int store_element(PyObject *node, PyObject *index, PyObject *value)
{
    PyArrayObject *memory = sole_memory(node);
    char *at = memory ? element_at(memory, index) : NULL;
    if (!at)
        return 0;
    if (is_scalar(value))
        value = value_of_scalar(value);
    return value ? store_number(memory, at, value) : 0;
}

static int store_basic(PyObject *self, PyObject *node, PyObject *index, PyObject *value)
{
    PyArrayObject *memory = sole_memory(node);
    if (!memory || !is_basic(index) || watched())
        return 0;
    if (is_array(value)) {
        PyObject *other = OF(value, Array, _base) == self ? NULL : node_of(value);
        value = other && other != node ? PyList_GET_ITEM(other, VALUE) : NULL;
        if (!value || !is_memory(value) ||
            PyArray_DESCR((PyArrayObject *)value) != PyArray_DESCR(memory))
            return 0;
    }
    else if (!PyFloat_CheckExact(value) && !PyLong_CheckExact(value))
        return 0;
    else if (PyArray_TYPE(memory) != NPY_DOUBLE || !PyArray_ISNOTSWAPPED(memory))
        return 0;
    Py_INCREF(memory);
    Py_INCREF(value);
    int failed = PyObject_SetItem((PyObject *)memory, index, value);
    Py_DECREF(value);
    Py_DECREF(memory);
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
    if (PyVectorcall_NARGS(nargsf) != 3 || names || !is_array(args[0]) || !nothing_staged())
        return hand_on(front, args, nargsf, names);
    PyObject *self = args[0], *index = args[1], *value = args[2];
    if (OF(self, Array, _flags) != Py_None || OF(self, Array, _base) != Py_None)
        return hand_on(front, args, nargsf, names);
    PyObject *node = node_of(self);
    int done = node ? store_element(node, index, value) : 0;
    if (!done && node) {
        PyObject *now = recorder();
        if (!now)
            return NULL;
        if (is_eager(now)) {
            int locked = lock(self);
            node = locked < 0 ? NULL : node_of(self); /* again: code may have run */
            done = locked < 0 ? -1 : is_same_view(self, index, value);
            if (!done && node && OF(self, Array, _base) == Py_None && !is_full(now))
                done = store_basic(self, node, index, value);
            unlock(locked);
        }
        Py_DECREF(now);
    }
    if (done < 0)
        return NULL;
    if (done)
        Py_RETURN_NONE;
    return hand_on(front, args, nargsf, names);
}

/* -- x op= v: `_methods.in_place` ------------------------------------------------------------------ */

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

static PyObject *in_place(PyObject *self_, PyObject *const *args, size_t nargsf, PyObject *names)
{
    Front *front = (Front *)self_;
    if (PyVectorcall_NARGS(nargsf) != 2 || names || !is_array(args[0]) || !nothing_staged() ||
        OF(args[0], Array, _flags) != Py_None || OF(args[0], Array, _base) == Py_None ||
        watched())
        return hand_on(front, args, nargsf, names);
    PyObject *view = args[0], *other = args[1], *now = recorder(), *result;
    if (!now)
        return NULL;
    int locked = is_eager(now) ? lock(view) : 0;
    PyArrayObject *target = is_eager(now) && locked >= 0 ? memory_of_both(view) : NULL;
    if (is_array(other)) {
        PyObject *node = OF(other, Array, _base) == OF(view, Array, _base) ? NULL : node_of(other);
        other = node ? PyList_GET_ITEM(node, VALUE) : NULL;
        if (other && !is_memory(other))
            other = NULL;
    }
    else if (is_scalar(other))
        other = value_of_scalar(other);
    else if (!is_python_number(other))
        other = NULL;
    int again = locked >= 0;
    PyObject *done = NULL;
    if (target && other && OF(known(OF(view, Array, _node)), Aval, device) == Py_True) {
        PyObject *values[3] = {(PyObject *)target, other, (PyObject *)target};
        if (is_memory(other) && !is_of_numbers((PyArrayObject *)other))
            goto end;
        again = 0;
        Py_INCREF(target);
        Py_INCREF(other);
        result = quiet(OF(now, Recorder, quiet), front->function, values, 3, &again);
        Py_DECREF(target);
        Py_DECREF(other);
        done = result ? Py_NewRef(view) : NULL;
        Py_XDECREF(result);
    }
end:
    unlock(locked);
    Py_DECREF(now);
    return again ? hand_on(front, args, nargsf, names) : done;
}

/* -- shape, dtype, ndim, size ---------------------------------------------------------------------- */

static PyObject *attribute(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *names)
{
    Front *front = (Front *)self;
    PyObject *x = PyVectorcall_NARGS(nargsf) == 1 && !names ? args[0] : NULL;
    if (!x || (!is_array(x) && !is_scalar(x)) || !nothing_staged())
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
};

/* -- the module ------------------------------------------------------------------------------------- */

static const struct {
    const char *name;
    vectorcallfunc call;
} KINDS[] = {
    {"elementwise", elementwise}, {"of_scalars", of_scalars}, {"converted", converted},
    {"getitem", getitem},         {"setitem", setitem},       {"in_place", in_place},
    {"attribute", attribute},     {"called", called},
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
        if (KINDS[i].call == called && (find_slot(function, "nin", &the.ufunc_nin) < 0 ||
                                        find_slot(function, "_call", &the.ufunc__call) < 0))
            return NULL;
        Front *new = PyObject_GC_New(Front, &FrontType);
        if (!new)
            return NULL;
        new->vectorcall = KINDS[i].call;
        new->python = Py_NewRef(python);
        new->function = Py_NewRef(function);
        new->done = Py_NewRef(done);
        new->memo = Py_NewRef(memo);
        new->operands = operands;
        new->depth = depth;
        new->swap = swap;
        new->code = code;
        PyObject_GC_Track(new);
        return (PyObject *)new;
    }
    return PyErr_Format(PyExc_ValueError, "no kind of front is called %s", kind);
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
    {"configure", (PyCFunction)(void (*)(void))configure, METH_VARARGS | METH_KEYWORDS,
     "configure(**objects): what the fronts have to know of lazynp. Before any is called."},
    {NULL},
};

static struct PyModuleDef MODULE = {
    PyModuleDef_HEAD_INIT,
    .m_name = "lazynp._fastpath",
    .m_doc = "The hot path in C; see functions/_accelerated.py.",
    .m_size = -1,
    .m_methods = METHODS,
};

PyMODINIT_FUNC PyInit__fastpath(void)
{
    import_array();
    if (PyType_Ready(&FrontType) < 0)
        return NULL;
    PyObject *module = PyModule_Create(&MODULE);
    /* another number wherever `configure` or `front` are to be called otherwise than before */
    if (module && PyModule_AddIntConstant(module, "INTERFACE", 2) < 0)
        Py_CLEAR(module);
    return module;
}
