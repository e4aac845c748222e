/* The fast path in C. It stands in front of the Python functions that define the operations.

   An object of type `front` holds one Python function. It answers the kinds of calls that this
   function has answered before (the function's memo tables list them), if they need no decision:
   plain arrays, nothing staged, nothing watched. It forwards every other call unchanged, before it
   has changed anything. So this module defines no operation. Without it, lazynp behaves the same,
   more slowly. `_fronts.py` joins the two.

   C reads the slots of Python classes at their offsets; `configure` gets these from the classes.
   C counts the references to memory as `_ownership` does, but without the references that the
   variables and arguments of a Python function would add.

   Conventions in comments: "new" and "borrowed" say who owns a returned reference. "NULL: forward"
   means that a function returns NULL without an error, and the front then forwards the call. */

#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <float.h>
#include <math.h>
#include <structmember.h>

#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#include <numpy/arrayobject.h>
#include <numpy/arrayscalars.h>
#include <numpy/ufuncobject.h>

/* A node is a list: see `_entries`. */
enum { OP, ARGS, VALUE, CODE, OFFSET, AVAL = OFFSET, NODE_SIZE };

/* The objects that `configure` takes, by name. */
#define OBJECTS(X)                                                                                 \
    X(Array) X(NDArray) X(Subclass) X(same) X(Scalar) X(Recorder) X(Policy) X(Op) X(Entry) X(Aval) X(Basic) X(Field) X(Transpose) X(State)   \
    X(Reshape) \
    X(config) X(local) X(staged) X(avals) X(state) X(eager) X(first) X(viewed) X(lent)                      \
    X(in_common_order) X(order_of_strides) X(large_update) X(note) X(write_lock) X(aval_of) X(avals_by_type) X(no_value) X(deque) X(internal) \
    X(gives_way) X(heard) X(tell) X(noticed) X(errors) X(warned) X(records)
/* The slots that C reads: class, name. */
#define SLOTS(X)                                                                                   \
    X(Array, _node) X(Array, _base) X(Array, _path) X(Array, _seen) X(Array, _flags)               \
    X(Array, _order) X(Recorder, pending) X(Recorder, limit) X(Recorder, backend)                  \
    X(Recorder, due) X(Recorder, unasked) X(Recorder, observed) X(Recorder, quiet) X(Recorder, policy) X(Policy, largest) X(Policy, patience) X(State, watching)  \
    X(Entry, op) X(Entry, aval) X(Op, aval) X(Op, bounds) X(Op, scalar) X(Op, host) X(Op, free)          \
    X(Op, primitive) X(Op, reference) X(Op, explicit) X(Op, inplace) X(Op, params)                                                              \
    X(Aval, shape) X(Aval, dtype) X(Aval, ndim) X(Aval, size) X(Aval, nbytes) X(Aval, device)      \
    X(Aval, traced) X(Aval, get_memo) X(Aval, set_memo) X(Aval, parts)                              \
    X(Aval, weak)

/* The slots of `Likeness`. The front of kind `matched` gets this class as its `function`. */
#define OF_LIKENESS(X)                                                                             \
    X(_ops) X(_asked) X(_leaves) X(_slots) X(_host) X(_pairs) X(counts) X(leaf_counts)

/* The slots of `Unit`: likewise, for the kind `round`. */
#define OF_UNIT(X) X(ops) X(_firsts) X(_slots) X(_host) X(_pairs) X(_carried)

static struct {
#define X(name) PyObject *name;
    OBJECTS(X)
#undef X
#define X(class, name) Py_ssize_t class##_##name;
    SLOTS(X)
#undef X
    Py_ssize_t config_debug_nans, config_execution, ufunc_nin, ufunc_nout, ufunc__call, ufunc__numpy;
    PyTypeObject *Likeness;
#define X(name) Py_ssize_t Likeness_##name;
    OF_LIKENESS(X)
#undef X
    PyTypeObject *Unit;
#define X(name) Py_ssize_t Unit_##name;
    OF_UNIT(X)
#undef X
    PyObject *recorder, *acquire, *release, *reduce, *ops, *starts, *spent, *overlaps, *layout, *shows, *shape, *permutation;
    PyObject *array_ufunc, *array_wrap, *array_function, *array_finalize, *array_priority;
    PyObject *ticked, *name, *name_of, *kind, *adds, *params, *scalar_of, *scipy, *pandas, *out, *where, *copies; /* these and the line above: strings */
    PyObject *aval_of_double, *aval_of_int64, *aval_of_bool;
    Py_ssize_t large;  /* bytes: see `_stale` */
    Py_ssize_t stage;  /* bytes: see `_cutsites` */
    Py_ssize_t bound;  /* entries of a memo table: see `_memo` */
    Py_ssize_t few, filled; /* elements: see `_eager` */
    Py_ssize_t tick;   /* operations: see `Recorder.ticked` */
    Py_ssize_t countdown;
    PyTypeObject *buffers; /* of programs' results, once one was seen */
    PyObject *host;        /* `_reference.host` */
    int deaf; /* derivatives run: their operations are none of the user's */
    int heads; /* the collector's head of an object is where `untrack` looks */
} the;

#define SLOT(object, offset) (*(PyObject **)((char *)(object) + (offset)))
#define OF(object, class, name) SLOT(object, the.class##_##name)

/* What a memo table holds for one kind of operands. */
typedef struct {
    PyObject *known[2], *entry; /* borrowed: valid while the table has this version */
    uint64_t version;
} Recent;

/* NumPy's inner loop for operands of some kinds, whatever their shapes: see loops.h. */
typedef struct {
    int kinds[2]; /* see `kind_of`; 0: not searched yet */
    int type;     /* of the operands, by NumPy's number */
    int out;      /* of the result */
    int rounded;  /* an element's result does not depend on its place */
    PyUFuncGenericFunction loop; /* or NULL: there is none */
    void *data;
    const char *called; /* the function */
    int integers; /* it divides these */
    int casts;    /* the operands have two dtypes: see casts.h */
} Loop;

/* Each kind of front uses at most one member of each union: see `KINDS` in module.c. */
typedef struct {
    PyObject_HEAD
    vectorcallfunc vectorcall;
    PyObject *python;   /* defines the operation */
    PyObject *function; /* NumPy's function, Python's operator, or a class */
    union {
        PyObject *first;
        PyObject *entries;    /* keys of the operands -> Entry; of a call -> how it is shown */
        PyObject *operator;   /* the same operator for arrays, or without writing */
        PyObject *not_numpys; /* names of arguments that NumPy's function must not get */
        PyObject *ops;        /* (aval, axis, dtype, keepdims) -> op */
        PyObject *aligned;    /* a shape that broadcasts as NumPy does it */
        PyObject *places;     /* start indices -> NumPy's index */
        PyObject *hooks;      /* lists of whoever is told of calls */
        PyObject *slot_type;  /* the class of the slots' values */
    };
    union {
        PyObject *second;
        PyObject *quiet;  /* calls a function without NumPy's warnings */
        PyObject *handle; /* `_eager.handle`; for `hosted`, `_host.to_device` */
    };
    PyObject *method; /* of NumPy's arrays, which does the same as `function` and takes less time;
                         of x ** y, NumPy's square, and of x **= y, its operator */
    union {
        PyObject *tuples; /* for `whole`, the class of tuples that it returns; else None */
        PyObject *faster; /* for `whole`, what to call instead from `many` elements on */
    };
    int operands;    /* their number; for `whole`, the maximum */
    int depth;       /* number of Python frames from the caller's up to the user's, at least 1 */
    int swap;        /* the operands are in reverse order */
    int records;     /* the call is one operation, which C may record */
    int powers;      /* x ** y: constant exponents make other operations; 2: the function */
    int arrays_only; /* new kinds of operands must be arrays; the result drops their order. For `whole`:
                        a method of an array */
    int creates;     /* it makes an array; its arguments need not be arrays; 2: of as many elements as
                        one of the ints among them says, at most */
    int anytime;     /* it makes an array of host data, which is never recorded */
    int lengths;     /* its arguments bound the size of its result */
    int outer;       /* its result has the product of its operands' sizes */
    int many;        /* see `faster`; or 0 */
    int into;        /* it may be called with `out` */
    int itself;      /* 1: it returns an array that is its only argument; 2: if NumPy does */
    int raw;         /* its result is Python's */
    int named;       /* `method` names its arguments as `function` does */
    int typed;       /* a reduction that takes a dtype */
    int begins;      /* a reduction that takes `initial` */
    int contiguous;  /* it makes a view only of elements in C order */
    int asks;        /* a method that is a ufunc's, which the class may have taken over */
    int reduces;     /* a method whose numbers become arrays of a derived class */
    int bare;        /* for `whole`: of arrays of derived classes, it gives plain ones */
    int kin;         /* it takes arrays of derived classes as plain ones */
    int counted;     /* `_ownership.counts` of an object that only a list refers to */
    int symbol;      /* selects an attribute, or an operator on doubles or ints */
    PyObject *weak;
    Recent recent[4]; /* what `entries` holds for the last kinds of operands */
    Loop loops[8];
    Loop doubles; /* of numbers alone; `kinds[0]`: whether it was looked for */
} Front;

static PyTypeObject FrontType;

static inline uint64_t version(PyObject *table)
{
    return ((PyDictObject *)table)->ma_version_tag; /* no two states of any dicts share one */
}

static inline Recent *place_of(Front *front, PyObject *first, PyObject *second)
{
    return &front->recent[((uintptr_t)first >> 4 ^ (uintptr_t)second >> 6) % 4];
}

/* The entry for operands known by these, borrowed. NULL: look it up by its key. */
static inline PyObject *recent_entry(Front *front, PyObject *first, PyObject *second)
{
    Recent *recent = place_of(front, first, second);
    return recent->version == version(front->entries) && recent->known[0] == first &&
                   recent->known[1] == second
               ? recent->entry
               : NULL;
}

static PyObject *hand_on(Front *front, PyObject *const *args, size_t nargsf, PyObject *names)
{
    return PyObject_Vectorcall(front->python, args, nargsf, names);
}

/* -- the state, and types ---------------------------------------------------------------------- */

/* The signal whose handler has raised the error; 0 if none has. */
static int signal_of_error(void)
{
    PyObject *type, *error, *trace;
    PyErr_Fetch(&type, &error, &trace);
    if (!trace) { /* C has raised it */
        PyErr_Restore(type, error, trace);
        return 0;
    }
    PyErr_NormalizeException(&type, &error, &trace);
    PyException_SetTraceback(error, trace);
    PyObject *module = PyImport_ImportModule("lazynp._signals");
    PyObject *found = module ? PyObject_CallMethod(module, "signal_of", "O", error) : NULL;
    long number = found ? PyLong_AsLong(found) : 0;
    Py_XDECREF(module);
    Py_XDECREF(found);
    PyErr_Restore(type, error, trace);
    return number > 0 ? (int)number : 0;
}

/* Whether the error is one of a signal's handler. Then the signal comes again. */
static int comes_again(void)
{
    int number = signal_of_error();
    if (!number)
        return 0;
    PyErr_Clear();
    PyErr_SetInterruptEx(number);
    return 1;
}

/* Drop an error of NumPy's: Python comes to the operation again, and says what is wrong. 0: it stays,
   as a signal has raised it. */
static int forget(void)
{
    if (!PyErr_ExceptionMatches(PyExc_Exception) || signal_of_error())
        return 0;
    PyErr_Clear();
    return 1;
}

/* An error where none may be raised. Ctrl-C comes again, as other signals do; what ends the call
 * that runs (`GivesWay`) is raised at the next line of Python's; a full stack is no matter. */
static void put_off(PyObject *where)
{
    if (PyErr_ExceptionMatches(PyExc_KeyboardInterrupt)) {
        PyErr_Clear();
        PyErr_SetInterrupt();
    } else if (the.gives_way && PyErr_ExceptionMatches(the.gives_way)) {
        PyErr_Clear();
        PyThreadState_SetAsyncExc(PyThread_get_thread_ident(), the.gives_way);
    } else if (PyErr_ExceptionMatches(PyExc_RecursionError))
        PyErr_Clear();
    else if (!comes_again())
        PyErr_WriteUnraisable(where);
}

/* Call `Recorder.ticked`. */
static void tell(void)
{
    the.countdown = the.tick;
    PyObject *recorder = PyObject_GetAttr(the.local, the.recorder);
    PyObject *done = recorder ? PyObject_CallMethodNoArgs(recorder, the.ticked) : NULL;
    if (!done)
        put_off(recorder);
    Py_XDECREF(done);
    Py_XDECREF(recorder);
}

/* The recorder of the thread that was here last. */
static struct {
    PyObject *recorder;
    uint64_t thread;
} latest;

static inline uint64_t this_thread(void)
{
    return PyThreadState_GetID(PyThreadState_Get());
}

/* This thread's recorder, new. Call it only if nothing is staged: then it is always the same. */
static PyObject *recorder(void)
{
    uint64_t here = this_thread();
    if (here != latest.thread || !latest.recorder) {
        PyObject *found = PyObject_GetAttr(the.local, the.recorder), *before = latest.recorder;
        if (!found)
            return NULL;
        latest.recorder = Py_NewRef(found);
        latest.thread = here;
        Py_XDECREF(before); /* may run Python code, and so other threads that call this */
        return found;
    }
    return Py_NewRef(latest.recorder);
}

static inline int is_staged(void)
{
    return !the.staged || PyList_GET_SIZE(the.staged) != 0;
}

/* Every front asks this first, and once, so it also counts the operations: call it before there
 * are borrowed references, as `Recorder.ticked` may run Python code. So may asking for the recorder
 * of another thread than before, which each front does next: another thread could stage something. */
static inline int nothing_staged(void)
{
    if (!is_staged() && --the.countdown <= 0)
        tell();
    if (!is_staged() && this_thread() != latest.thread) {
        PyObject *now = recorder();
        if (!now)
            PyErr_Clear();
        Py_XDECREF(now);
    }
    return !is_staged();
}

static inline int watches_nans(void)
{
    return SLOT(the.config, the.config_debug_nans) != Py_False;
}

/* Whether anything watches for floating-point errors or for NaNs. */
static inline int watched(void)
{
    return OF(the.state, State, watching) != Py_False || watches_nans();
}

static inline int is_array(PyObject *x)
{
    return Py_TYPE(x) == (PyTypeObject *)the.NDArray;
}

static inline int is_scalar(PyObject *x)
{
    return Py_TYPE(x) == (PyTypeObject *)the.Scalar;
}

/* Whether this is an array of a class derived from that of arrays. */
static inline int is_derived(PyObject *x)
{
    return !is_array(x) && PyType_IsSubtype(Py_TYPE(x), (PyTypeObject *)the.NDArray);
}

static inline int is_handle(PyObject *x)
{
    return PyType_IsSubtype(Py_TYPE(x), (PyTypeObject *)the.NDArray);
}

/* Whether a class has the method of this name from `Subclass`. */
static inline int has_ours(PyTypeObject *kind, PyObject *name)
{
    return _PyType_Lookup(kind, name) == _PyType_Lookup((PyTypeObject *)the.Subclass, name);
}

/* `_subclass._has_no_hooks`, of an array of a derived class. */
static inline int has_no_hooks(PyObject *x)
{
    return has_ours(Py_TYPE(x), the.array_ufunc) && has_ours(Py_TYPE(x), the.array_wrap);
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

/* Whether programs support the dtype. Python handles the dtypes of ml_dtypes. */
static inline int is_number_type(int type)
{
    return PyTypeNum_ISNUMBER(type) && type != NPY_LONGDOUBLE && type != NPY_CLONGDOUBLE;
}

static inline int is_of_numbers(PyArrayObject *memory)
{
    return is_number_type(PyArray_TYPE(memory));
}

/* The aval of a NumPy scalar if programs support its type; else NULL, never with an error.
   Borrowed. */
static inline PyObject *aval_of_number(PyObject *value)
{
    if (Py_TYPE(value) == &PyDoubleArrType_Type)
        return the.aval_of_double;
    if (Py_TYPE(value) == &PyInt64ArrType_Type)
        return the.aval_of_int64;
    if (Py_TYPE(value) == &PyBoolArrType_Type)
        return the.aval_of_bool;
    if (Py_TYPE(Py_TYPE(value)) != &PyType_Type)
        return NULL; /* a metaclass may define the hash and equality of a class */
    return PyDict_GetItemWithError(the.avals, (PyObject *)Py_TYPE(value));
}

/* The node of an array's current value, borrowed. NULL: forward; a view may be out of date. */
static inline PyObject *node_of(PyObject *array)
{
    PyObject *base = OF(array, Array, _base), *node = OF(array, Array, _node);
    PyObject *seen = OF(array, Array, _seen);
    if (base != Py_None && (!base || !seen || seen != OF(base, Array, _node)))
        return NULL;
    return node && PyList_CheckExact(node) && PyList_GET_SIZE(node) == NODE_SIZE ? node : NULL;
}

/* The key of a node: its aval. Borrowed. */
static inline PyObject *known(PyObject *node)
{
    PyObject *op = PyList_GET_ITEM(node, OP);
    return op == Py_None ? PyList_GET_ITEM(node, AVAL) : OF(op, Op, aval);
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
    PyObject *backend = OF(recorder, Recorder, backend);
    return backend == the.eager || backend == the.first;
}

/* Whether nothing is known of the program's loops: see `First`. */
static inline int is_first(PyObject *recorder)
{
    return OF(recorder, Recorder, backend) == the.first;
}

/* Whether the fast path may proceed. If not, Python looks for a cut site. */
static inline int may_go_on(PyObject *recorder)
{
    return (is_eager(recorder) && OF(recorder, Recorder, due) != Py_True) || !is_full(recorder);
}

/* Whether the policy executes operations on arrays of so many bytes in eager mode. */
static inline int are_small(PyObject *recorder, double bytes)
{
    PyObject *largest = OF(OF(recorder, Recorder, policy), Policy, largest);
    double bound = PyFloat_CheckExact(largest) ? PyFloat_AS_DOUBLE(largest)
                                               : PyLong_AsDouble(largest);
    return bytes <= bound;
}

static inline int is_small(PyObject *recorder, PyArrayObject *memory)
{
    return are_small(recorder, (double)PyArray_NBYTES(memory));
}

/* An eager operation has written this: as `LoopPolicy.spend`. */
static void spend(PyObject *recorder, PyObject *result)
{
    static double spent = 0; /* by all threads */
    PyObject *patience = OF(OF(recorder, Recorder, policy), Policy, patience);
    if (!is_memory(result) || !PyFloat_CheckExact(patience))
        return;
    spent += (double)PyArray_NBYTES((PyArrayObject *)result);
    the.countdown -= PyArray_NBYTES((PyArrayObject *)result) >> 12; /* 4 KB count as an operation */
    if (spent < PyFloat_AS_DOUBLE(patience))
        return;
    spent = 0;
    PyObject *done = PyObject_CallMethodNoArgs(recorder, the.spent);
    if (!done)
        put_off(recorder);
    Py_XDECREF(done);
}

/* -- where memory lies ------------------------------------------------------------------------ */

/* Whether a view's value lies in the memory of its owner. After a write through the view, its value
   may have memory of its own. */
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

/* Whether an owner's memory lies in its order without gaps: `_strides._strides`. */
static int lies_in_order(PyObject *order, PyArrayObject *memory)
{
    int ndim = PyArray_NDIM(memory);
    if (order == Py_None)
        return PyArray_IS_C_CONTIGUOUS(memory);
    if (!PyTuple_CheckExact(order) || PyTuple_GET_SIZE(order) != ndim || !PyArray_SIZE(memory))
        return 0;
    npy_intp step = PyArray_ITEMSIZE(memory);
    for (int i = ndim; i-- > 0;) {
        Py_ssize_t axis = PyLong_AsSsize_t(PyTuple_GET_ITEM(order, i));
        if (axis < 0 || axis >= ndim || PyArray_STRIDE(memory, (int)axis) != step) {
            PyErr_Clear();
            return 0;
        }
        step *= PyArray_DIM(memory, (int)axis);
    }
    return 1;
}

/* Whether the memory lies as NumPy's array would, so that NumPy's result does too: see
   `_strides.laid_out`. */
static int is_laid_out(PyObject *x, PyArrayObject *memory)
{
    PyObject *base = OF(x, Array, _base);
    if (base == Py_None)
        return lies_in_order(OF(x, Array, _order), memory);
    if (!is_in_owner(x, memory))
        return 0;
    PyObject *whole = PyList_GET_ITEM(OF(base, Array, _node), VALUE);
    return lies_in_order(OF(base, Array, _order), (PyArrayObject *)whole);
}

/* `_strides.fortran_order`, new. */
static PyObject *fortran_order(int ndim)
{
    PyObject *order = PyTuple_New(ndim);
    for (int axis = 0; order && axis < ndim; axis++)
        PyTuple_SET_ITEM(order, axis, PyLong_FromLong(ndim - 1 - axis)); /* small: never NULL */
    return order;
}

/* -- making nodes and handles ------------------------------------------------------------------ */

static PyObject *node(PyObject *op, PyObject *args, PyObject *value, PyObject *code,
                      PyObject *offset)
{ /* steals no reference */
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

/* Dead leaves, kept for the next ones. They have neither value nor aval. */
enum { LEAVES = 64 };
static struct {
    int count;
    PyObject *dead[LEAVES];
} leaves;

static PyObject *leaf(PyObject *value, PyObject *aval)
{
    if (!leaves.count)
        return node(Py_None, Py_None, value, Py_None, aval);
    PyObject *old = leaves.dead[--leaves.count];
    PyList_SET_ITEM(old, VALUE, Py_NewRef(value));
    PyList_SET_ITEM(old, AVAL, Py_NewRef(aval));
    PyObject_GC_Track(old);
    return old;
}

static inline void drop_value(PyObject *value);

/* Hide an object from the collector. Most are hidden already, and the call would cost more than this
   test, which is CPython's own and has no public name. `the.heads`: it looks at the right place. */
static inline void untrack(PyObject *x)
{
    if (!the.heads || ((const uintptr_t *)x)[-2])
        PyObject_GC_UnTrack(x);
}

/* Give up a handle's reference to its node. A leaf that nobody else refers to is kept. */
static inline void drop_node(PyObject *node)
{
    if (!node || Py_REFCNT(node) != 1 || leaves.count == LEAVES || !PyList_CheckExact(node) ||
        PyList_GET_SIZE(node) != NODE_SIZE || PyList_GET_ITEM(node, OP) != Py_None ||
        PyList_GET_ITEM(node, ARGS) != Py_None || PyList_GET_ITEM(node, CODE) != Py_None) {
        Py_XDECREF(node);
        return;
    }
    PyObject *value = PyList_GET_ITEM(node, VALUE), *aval = PyList_GET_ITEM(node, AVAL);
    untrack(node);
    PyList_SET_ITEM(node, VALUE, NULL);
    PyList_SET_ITEM(node, AVAL, NULL);
    leaves.dead[leaves.count++] = node;
    if (value)
        drop_value(value); /* may run Python code */
    Py_XDECREF(aval);
}

/* Make the handle an owner. Steals the node. */
static inline PyObject *owning(PyObject *new, PyObject *node)
{
    OF(new, Array, _node) = node;
    OF(new, Array, _base) = Py_NewRef(Py_None);
    OF(new, Array, _seen) = Py_NewRef(Py_None);
    OF(new, Array, _flags) = Py_NewRef(Py_None);
    OF(new, Array, _order) = Py_NewRef(Py_None);
    return new;
}

static inline PyObject *dead_scalar(void);

/* A new owner. Steals the node, which may be NULL after an error. */
static PyObject *owner(PyObject *class, PyObject *node)
{
    PyTypeObject *type = (PyTypeObject *)class;
    PyObject *new = node ? type->tp_alloc(type, 0) : NULL;
    if (!new) {
        Py_XDECREF(node);
        return NULL;
    }
    return owning(new, node);
}

/* The Scalar of a bool: always the same two, as NumPy's are. */
static PyObject *scalar_of_truth(int value)
{
    static PyObject *truths[2];
    PyObject **truth = &truths[value != 0];
    if (!*truth)
        *truth = owner(the.Scalar, leaf(value ? PyArrayScalar_True : PyArrayScalar_False, the.aval_of_bool));
    return Py_XNewRef(*truth);
}

/* A Scalar of NumPy's number. The collector sees none of them, nor their nodes: they refer to nothing
   that could refer to them, and people keep lists of a million of them. */
static PyObject *scalar(PyObject *value, PyObject *aval)
{
    if (aval == the.aval_of_bool)
        return scalar_of_truth(PyArrayScalar_VAL(value, Bool) != 0);
    PyObject *made = leaves.count ? dead_scalar() : NULL;
    if (made) {
        PyObject *node = leaves.dead[--leaves.count];
        PyList_SET_ITEM(node, VALUE, Py_NewRef(value));
        PyList_SET_ITEM(node, AVAL, Py_NewRef(aval));
        return owning(made, node);
    }
    made = owner(the.Scalar, leaf(value, aval));
    if (made) {
        PyObject_GC_UnTrack(OF(made, Array, _node));
        PyObject_GC_UnTrack(made);
    }
    return made;
}

/* A float64 of NumPy's or a float of Python's as a C number; whether it is one. */
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

/* Dead Scalars by NumPy's number of their type, each with its leaf and NumPy's number, for the next
   ones. The collector does not see them. */
enum { NUMBER_TYPES = NPY_HALF + 1, NUMBERS_KEPT = 32 };
static struct {
    int count;
    PyObject *dead[NUMBERS_KEPT];
} numbers[NUMBER_TYPES];

/* Where NumPy's number of a type that programs support has its value. */
static inline void *inside(PyObject *number, int type)
{
    switch (type) {
    case NPY_CDOUBLE: return &PyArrayScalar_VAL(number, CDouble);
    case NPY_CFLOAT: return &PyArrayScalar_VAL(number, CFloat);
    case NPY_FLOAT: return &PyArrayScalar_VAL(number, Float);
    case NPY_HALF: return &PyArrayScalar_VAL(number, Half);
    case NPY_INT: case NPY_UINT: return &PyArrayScalar_VAL(number, Int);
    case NPY_SHORT: case NPY_USHORT: return &PyArrayScalar_VAL(number, Short);
    case NPY_BYTE: case NPY_UBYTE: return &PyArrayScalar_VAL(number, Byte);
    default: return &PyArrayScalar_VAL(number, Double); /* 8 bytes */
    }
}

/* A dead Scalar as a new one, whose number is to be overwritten. NULL: there is none. */
static inline PyObject *reborn(int type, PyObject **number)
{
    if (!numbers[type].count)
        return NULL;
    PyObject *self = numbers[type].dead[--numbers[type].count];
    _Py_NewReference(self);
    *number = PyList_GET_ITEM(OF(self, Array, _node), VALUE);
    return self;
}

#define SCALAR_OF(type, Type, ctype, code)                                                         \
    static inline PyObject *scalar_of_##type(ctype value)                                          \
    {                                                                                              \
        PyObject *number, *out = reborn(code, &number);                                            \
        if (out) {                                                                                 \
            PyArrayScalar_ASSIGN(number, Type, value);                                             \
            return out;                                                                            \
        }                                                                                          \
        number = PyArrayScalar_New(Type);                                                          \
        if (number) {                                                                              \
            PyArrayScalar_ASSIGN(number, Type, value);                                             \
            out = scalar(number, aval_of_number(number));                                          \
            Py_DECREF(number);                                                                     \
        }                                                                                          \
        return out;                                                                                \
    }
SCALAR_OF(double, Double, double, NPY_DOUBLE)
SCALAR_OF(int64, Int64, npy_int64, NPY_INT64)
SCALAR_OF(uint64, UInt64, npy_uint64, NPY_UINT64)
SCALAR_OF(float, Float, float, NPY_FLOAT)
SCALAR_OF(complex, CDouble, npy_cdouble, NPY_CDOUBLE)
#undef SCALAR_OF

/* The Scalar of an integer of a type smaller than int64, by NumPy's number of it. */
static PyObject *scalar_of_integer(int type, long long value)
{
    PyObject *number, *out = reborn(type, &number);
    if (!out) {
        switch (type) {
        case NPY_BYTE: number = PyArrayScalar_New(Byte); break;
        case NPY_UBYTE: number = PyArrayScalar_New(UByte); break;
        case NPY_SHORT: number = PyArrayScalar_New(Short); break;
        case NPY_USHORT: number = PyArrayScalar_New(UShort); break;
        case NPY_INT: number = PyArrayScalar_New(Int); break;
        default: number = PyArrayScalar_New(UInt);
        }
        if (!number)
            return NULL;
    } else {
        Py_INCREF(number);
    }
    switch (type) {
    case NPY_BYTE: case NPY_UBYTE: PyArrayScalar_ASSIGN(number, UByte, (npy_ubyte)value); break;
    case NPY_SHORT: case NPY_USHORT: PyArrayScalar_ASSIGN(number, UShort, (npy_ushort)value); break;
    default: PyArrayScalar_ASSIGN(number, UInt, (npy_uint)value);
    }
    if (!out)
        out = scalar(number, aval_of_number(number));
    Py_DECREF(number);
    return out;
}

/* The Scalar of an element of memory that programs support and that is not swapped, new. NULL, without
   an error: forward. */
static PyObject *scalar_at(char *at, PyArrayObject *memory)
{
    int type = PyArray_TYPE(memory);
    PyObject *number, *out;
    if (type == NPY_BOOL)
        return scalar_of_truth(*at != 0);
    if (type < NUMBER_TYPES && (out = reborn(type, &number))) {
        if (type == NPY_DOUBLE && PyArray_ISALIGNED(memory))
            PyArrayScalar_ASSIGN(number, Double, *(double *)at);
        else
            memcpy(inside(number, type), at, PyArray_ITEMSIZE(memory));
        return out;
    }
    number = PyArray_Scalar(at, PyArray_DESCR(memory), (PyObject *)memory);
    PyObject *aval = number ? aval_of_number(number) : NULL;
    out = aval ? scalar(number, aval) : NULL;
    Py_XDECREF(number);
    return out;
}

/* Keep a dead Scalar that nothing sets apart from the next one, and whose number nobody else has.
   Whether it is kept. */
static inline int is_kept(PyObject *self)
{
    PyObject *node = OF(self, Array, _node);
    if (!is_scalar(self) || !node || !PyList_CheckExact(node) || Py_REFCNT(node) != 1 ||
        PyList_GET_SIZE(node) != NODE_SIZE || PyList_GET_ITEM(node, OP) != Py_None ||
        PyList_GET_ITEM(node, ARGS) != Py_None || PyList_GET_ITEM(node, CODE) != Py_None)
        return 0;
    PyObject *value = PyList_GET_ITEM(node, VALUE), *aval = PyList_GET_ITEM(node, AVAL);
    if (!value || Py_REFCNT(value) != 1 || !aval || Py_TYPE(aval) != (PyTypeObject *)the.Aval)
        return 0;
    PyArray_Descr *descr = (PyArray_Descr *)OF(aval, Aval, dtype);
    int type = descr->type_num;
    if (Py_TYPE(value) != descr->typeobj || type < 0 || type >= NUMBER_TYPES ||
        numbers[type].count == NUMBERS_KEPT || aval_of_number(value) != aval ||
        OF(self, Array, _base) != Py_None || OF(self, Array, _seen) != Py_None ||
        OF(self, Array, _flags) != Py_None || OF(self, Array, _order) != Py_None ||
        OF(self, Array, _path) || SLOT(self, ((PyTypeObject *)the.Array)->tp_weaklistoffset))
        return 0;
    untrack(self);
    untrack(node);
    numbers[type].dead[numbers[type].count++] = self;
    return 1;
}

/* The avals of recent arrays by dtype and shape: `avals_by_type` would need both as objects. So many
   that loops over slices of changing length find theirs. */
enum { RECENT = 4096, RECENT_NDIM = 4 };
static struct {
    PyObject *aval;
    int ndim;
    npy_intp dims[RECENT_NDIM];
} recent[RECENT];

static inline size_t place_of_recent(PyArrayObject *memory)
{
    size_t place = (size_t)PyArray_DESCR(memory) >> 4;
    for (int axis = 0; axis < PyArray_NDIM(memory); axis++)
        place = place * 31 + (size_t)PyArray_DIM(memory, axis);
    return (place ^ place >> 8) % RECENT;
}

/* Whether equal dtypes are always this one: `_avals._CANONICAL`. */
static int is_canonical(PyArray_Descr *dtype)
{
    switch (dtype->type_num) {
    case NPY_BOOL:
    case NPY_INT64:
    case NPY_FLOAT:
    case NPY_DOUBLE:
    case NPY_CDOUBLE: break;
    default: return 0;
    }
    PyArray_Descr *one = PyArray_DescrFromType(dtype->type_num);
    Py_XDECREF(one); /* NumPy keeps it */
    return one == dtype;
}

/* An aval that is in no table yet, as `_avals._new_aval` makes it. */
static PyObject *new_aval(PyObject *shape, PyArrayObject *memory)
{
    PyTypeObject *type = (PyTypeObject *)the.Aval;
    PyObject *new = type->tp_alloc(type, 0);
    if (!new)
        return NULL;
    OF(new, Aval, shape) = Py_NewRef(shape);
    OF(new, Aval, dtype) = Py_NewRef((PyObject *)PyArray_DESCR(memory));
    OF(new, Aval, ndim) = PyLong_FromLong(PyArray_NDIM(memory));
    OF(new, Aval, size) = PyLong_FromSsize_t(PyArray_SIZE(memory));
    OF(new, Aval, nbytes) = PyLong_FromSsize_t(PyArray_NBYTES(memory));
    OF(new, Aval, get_memo) = PyDict_New();
    OF(new, Aval, set_memo) = PyDict_New();
    OF(new, Aval, parts) = PyDict_New();
    OF(new, Aval, device) = Py_NewRef(Py_True);
    OF(new, Aval, weak) = Py_NewRef(Py_False);
    OF(new, Aval, traced) = Py_NewRef(Py_None);
    if (!OF(new, Aval, ndim) || !OF(new, Aval, size) || !OF(new, Aval, nbytes) ||
        !OF(new, Aval, get_memo) || !OF(new, Aval, set_memo) || !OF(new, Aval, parts))
        Py_CLEAR(new);
    return new;
}

/* The aval of a shape and dtype that no array has had: `aval_of`. */
static PyObject *first_aval(PyObject *shape, PyObject *key, PyArrayObject *memory)
{
    PyObject *dtype = (PyObject *)PyArray_DESCR(memory);
    if (PyDict_GET_SIZE(the.avals_by_type) >= the.bound || !is_canonical(PyArray_DESCR(memory)))
        return PyObject_CallFunctionObjArgs(the.aval_of, shape, dtype, NULL);
    PyObject *new = new_aval(shape, memory), *kept;
    if (!new)
        return NULL;
    kept = Py_XNewRef(PyDict_SetDefault(the.avals_by_type, key, new));
    Py_DECREF(new);
    return kept;
}

/* The place among the recent avals for memory of few axes, if it holds that of the memory. */
static inline PyObject *recent_aval(PyArrayObject *memory, size_t place)
{
    int ndim = PyArray_NDIM(memory);
    PyObject *aval = recent[place].aval;
    return aval && recent[place].ndim == ndim &&
                   OF(aval, Aval, dtype) == (PyObject *)PyArray_DESCR(memory) &&
                   !memcmp(recent[place].dims, PyArray_DIMS(memory), ndim * sizeof(npy_intp))
               ? Py_NewRef(aval)
               : NULL;
}

static inline void note_recent(PyArrayObject *memory, size_t place, PyObject *aval)
{
    if (OF(aval, Aval, dtype) != (PyObject *)PyArray_DESCR(memory))
        return;
    recent[place].ndim = PyArray_NDIM(memory);
    memcpy(recent[place].dims, PyArray_DIMS(memory), PyArray_NDIM(memory) * sizeof(npy_intp));
    Py_XSETREF(recent[place].aval, Py_NewRef(aval));
}

/* The aval of NumPy's array, new. NULL, without an error if programs do not support its dtype. */
static PyObject *aval_of_memory(PyArrayObject *memory)
{
    if (!is_of_numbers(memory))
        return NULL;
    int ndim = PyArray_NDIM(memory), few = ndim <= RECENT_NDIM;
    size_t place = few ? place_of_recent(memory) : 0;
    PyObject *dtype = (PyObject *)PyArray_DESCR(memory);
    PyObject *aval = few ? recent_aval(memory, place) : NULL;
    if (aval)
        return aval;
    PyObject *shape = PyArray_IntTupleFromIntp(ndim, PyArray_DIMS(memory));
    PyObject *key = shape ? PyTuple_Pack(3, shape, dtype, Py_False) : NULL;
    aval = NULL;
    if (key) {
        aval = Py_XNewRef(PyDict_GetItemWithError(the.avals_by_type, key));
        if (!aval && !PyErr_Occurred())
            aval = first_aval(shape, key, memory);
    }
    Py_XDECREF(shape);
    Py_XDECREF(key);
    if (aval && few)
        note_recent(memory, place, aval);
    return aval;
}

/* Record an operation and return its node. `depth`: the number of Python frames from the caller's
   up to the user's, at least 1. */
static PyObject *recorded(PyObject *op, PyObject *args, int depth, PyObject *recorder)
{
    PyFrameObject *frame = (PyFrameObject *)Py_XNewRef((PyObject *)PyEval_GetFrame());
    for (int i = 1; frame && i < depth; i++)
        Py_SETREF(frame, PyFrame_GetBack(frame));
    if (!frame) {
        PyErr_SetString(PyExc_ValueError, "call stack is not deep enough"); /* as in `_getframe` */
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

#include "quiet.h" /* which needs what is above */
