/* Fronts: operations on values that carry a tangent. See core.h.

   `_linearize.replayed` defines them: it looks up the template of a rule by the kinds of the
   operands, records the template's operations, and writes one item on the tape. C does the same
   for templates that exist. In forward mode, `_forward.replayed` defines them: there is no tape, and
   the template's operations make the tangent too. */

#pragma once

#include "at_once.h"
#include "core.h"

/* The slots that C reads and writes: class, name. The front of kind `replayed` gets a tuple of
   these classes as its `function`. */
#define OF_TANGENTS(X)                                                                             \
    X(JVPTrace, alive) X(JVPTrace, linear) X(JVPTrace, written) X(JVPTracer, trace) X(JVPTracer, aval)                  \
    X(JVPTracer, code) X(JVPTracer, offset) X(JVPTracer, primal) X(JVPTracer, tangent)             \
    X(LinearTrace, tape) X(LinearTrace, count) X(LinearTracer, trace) X(LinearTracer, aval)        \
    X(LinearTracer, index) X(RuleTemplate, compact) X(RuleTemplate, starts) X(RuleTemplate, moving) \
    X(JVPTemplate, compact)

enum { TANGENT_CLASSES = 6, MOST_OPERANDS = 16, MOST_VALUES = 48 };

/* The items of `RuleTemplate.compact`. */
enum { FIXED = 4 }; /* items of an applied template before its operands: see `_tape` */
enum { CONSTANTS, DTYPES, STEPS, OUT, READ, PASSES, MADE, COMPACT_SIZE };
/* Those of `JVPTemplate.compact`: the first four, and the tangent's place, or -1. */
enum { TANGENT_AT = READ, FORWARD_SIZE };

static struct {
    PyObject *JVPTrace, *JVPTracer, *LinearTrace, *LinearTracer, *RuleTemplate, *JVPTemplate;
    PyObject *rules;   /* kinds of operands -> template */
    PyObject *forward; /* the same in forward mode */
    PyObject *scalars; /* (type, value, dtype) -> leaf */
    PyObject *stores;  /* `_linearize._stores`, for the primitive `slice` */
    PyObject *slice, *update_slice, *stored, *where;
#define X(class, name) Py_ssize_t class##_##name;
    OF_TANGENTS(X)
#undef X
} tangents;

#define TANGENT(object, class, name) SLOT(object, tangents.class##_##name)

static inline int is_a(PyObject *x, PyObject *class)
{
    return Py_TYPE(x) == (PyTypeObject *)class;
}

/* The tracer with a tangent that a node holds, borrowed; NULL if there is none. */
static PyObject *tracer_in(PyObject *node)
{
    PyObject *value = PyList_GET_ITEM(node, VALUE);
    return PyList_GET_ITEM(node, OP) == Py_None && is_a(value, tangents.JVPTracer) ? value : NULL;
}

/* The type of a node's value, also of one that carries a tangent; borrowed. */
static PyObject *type_behind(PyObject *node)
{
    PyObject *tracer = tracer_in(node), *aval = tracer ? TANGENT(tracer, JVPTracer, aval) : known(node);
    return is_a(aval, the.Aval) ? aval : NULL;
}

/* Whether the value of an array or scalar carries a tangent. */
static inline int carries_tangent(PyObject *x)
{
    PyObject *node = is_array(x) || is_scalar(x) ? node_of(x) : NULL;
    return node && tangents.rules && tracer_in(node);
}

/* An operand, taken apart. References are borrowed from what the caller holds. */
typedef struct {
    PyObject *known;  /* an aval, or the type of a Python scalar */
    PyObject *primal; /* a node, or a Python scalar */
    PyObject *moving; /* a LinearTracer, in forward mode a node, or NULL */
} Part;

/* linear: NULL in forward mode. 0: forward. */
static int taken_apart(PyObject *x, PyObject *outer, PyObject *linear, Part *part)
{
    part->moving = NULL;
    part->primal = x;
    if (!PyList_CheckExact(x)) {
        part->known = (PyObject *)Py_TYPE(x);
        return is_python_number(x);
    }
    if (PyList_GET_SIZE(x) != NODE_SIZE)
        return 0;
    PyObject *tracer = tracer_in(x);
    if (tracer && TANGENT(tracer, JVPTracer, trace) == outer) {
        PyObject *tangent = TANGENT(tracer, JVPTracer, tangent);
        part->primal = TANGENT(tracer, JVPTracer, primal);
        if (!PyList_CheckExact(part->primal) || PyList_GET_SIZE(part->primal) != NODE_SIZE ||
            !PyList_CheckExact(tangent) || PyList_GET_SIZE(tangent) != NODE_SIZE)
            return 0;
        part->known = known(part->primal);
        if (!linear) {
            part->moving = tangent;
            return is_a(part->known, the.Aval) && known(tangent) == part->known;
        }
        part->moving = PyList_GET_ITEM(tangent, VALUE);
        if (!is_a(part->moving, tangents.LinearTracer) ||
            TANGENT(part->moving, LinearTracer, trace) != linear ||
            TANGENT(part->moving, LinearTracer, aval) != known(part->primal))
            return 0;
    }
    part->known = known(part->primal);
    return is_a(part->known, the.Aval); /* not that of a tracer */
}

/* The key of the template, new. */
static PyObject *kinds_of(PyObject *primitive, PyObject *params, const Part *parts, Py_ssize_t n,
                          int is_stored)
{
    Py_ssize_t size = 1 + (params ? PyDict_GET_SIZE(params) : 0) + n + is_stored, k = 0, at = 0;
    PyObject *name, *value;
    for (Py_ssize_t i = 0; i < n; i++)
        size += parts[i].moving != NULL;
    PyObject *key = PyTuple_New(size);
    if (!key)
        return NULL;
    PyTuple_SET_ITEM(key, k++, Py_NewRef(primitive));
    while (params && PyDict_Next(params, &at, &name, &value)) {
        PyObject *pair = PyTuple_Pack(2, name, value);
        if (!pair) {
            Py_DECREF(key);
            return NULL;
        }
        PyTuple_SET_ITEM(key, k++, pair);
    }
    for (Py_ssize_t i = 0; i < n; i++) {
        PyTuple_SET_ITEM(key, k++, Py_NewRef(parts[i].known));
        if (parts[i].moving)
            PyTuple_SET_ITEM(key, k++, Py_NewRef(Py_True));
    }
    if (is_stored)
        PyTuple_SET_ITEM(key, k++, Py_NewRef(tangents.stored));
    return key;
}

/* The leaf of a Python scalar, as `scalar_leaf`, new. NULL: forward, or an error. */
static PyObject *leaf_of_number(PyObject *value, PyObject *dtype)
{
    static PyObject *zeros[2]; /* as 0.0 equals -0.0: `_templates.scalar_leaf` */
    double real = PyFloat_CheckExact(value) ? PyFloat_AS_DOUBLE(value) : 1.0;
    int is_zero = real == 0.0, negative = is_zero && signbit(real) != 0;
    if (real != real || !(PyFloat_CheckExact(value) || PyLong_CheckExact(value)))
        return NULL;
    if (is_zero && !zeros[negative] &&
        !(zeros[negative] = PyUnicode_InternFromString(negative ? "-0.0" : "0.0")))
        return NULL;
    PyObject *found = NULL, *key = PyTuple_Pack(3, (PyObject *)Py_TYPE(value),
                                                is_zero ? zeros[negative] : value, dtype);
    if (key)
        found = Py_XNewRef(PyDict_GetItemWithError(tangents.scalars, key));
    Py_XDECREF(key);
    if (found && !PyList_CheckExact(found))
        Py_CLEAR(found);
    return found;
}

/* The values at these places, as a new tuple. */
static PyObject *at_places(PyObject *const *values, PyObject *places)
{
    Py_ssize_t n = PyTuple_GET_SIZE(places);
    PyObject *out = PyTuple_New(n);
    for (Py_ssize_t i = 0; out && i < n; i++)
        PyTuple_SET_ITEM(out, i,
                         Py_NewRef(values[PyLong_AsSsize_t(PyTuple_GET_ITEM(places, i))]));
    return out;
}

/* Whether there is the aval that tracers of this type carry. */
static inline int has_traced(PyObject *aval)
{
    return is_a(aval, the.Aval) && OF(aval, Aval, traced) && OF(aval, Aval, traced) != Py_None;
}

/* The tangent at this place among those of the operands, borrowed. */
static PyObject *moving_of(const Part *parts, Py_ssize_t n, Py_ssize_t place)
{
    for (Py_ssize_t i = 0; i < n; i++)
        if (parts[i].moving && place-- == 0)
            return parts[i].moving;
    Py_UNREACHABLE();
}

/* A node for a tracer, new. Steals the tracer, which may be NULL after an error. */
static PyObject *node_of_tracer(PyObject *tracer, PyObject *aval)
{
    PyObject *new = tracer ? leaf(tracer, OF(aval, Aval, traced)) : NULL;
    Py_XDECREF(tracer);
    return new;
}

static PyObject *new_linear(PyObject *linear, PyObject *aval)
{
    Py_ssize_t count = PyLong_AsSsize_t(TANGENT(linear, LinearTrace, count));
    PyTypeObject *type = (PyTypeObject *)tangents.LinearTracer;
    PyObject *next = count < 0 ? NULL : PyLong_FromSsize_t(count + 1);
    PyObject *new = next ? type->tp_alloc(type, 0) : NULL;
    if (!new) {
        Py_XDECREF(next);
        return NULL;
    }
    TANGENT(new, LinearTracer, trace) = Py_NewRef(linear);
    TANGENT(new, LinearTracer, aval) = Py_NewRef(aval);
    TANGENT(new, LinearTracer, index) = TANGENT(linear, LinearTrace, count); /* moved */
    TANGENT(linear, LinearTrace, count) = next;
    return new;
}

/* The node of a result with its tangent, new. Steals the tangent's node, which may be NULL. */
static PyObject *joined(PyObject *outer, PyObject *primal, PyObject *tangent, PyObject *code,
                        PyObject *offset)
{
    PyTypeObject *type = (PyTypeObject *)tangents.JVPTracer;
    PyObject *new = tangent ? type->tp_alloc(type, 0) : NULL, *aval = known(primal);
    if (!new) {
        Py_XDECREF(tangent);
        return NULL;
    }
    TANGENT(new, JVPTracer, trace) = Py_NewRef(outer);
    TANGENT(new, JVPTracer, aval) = Py_NewRef(aval);
    TANGENT(new, JVPTracer, code) = Py_NewRef(code);
    TANGENT(new, JVPTracer, offset) = Py_NewRef(offset);
    TANGENT(new, JVPTracer, primal) = Py_NewRef(primal);
    TANGENT(new, JVPTracer, tangent) = tangent;
    return node_of_tracer(new, aval);
}

/* Write what the template moves on the tape; the tangent's node, new. */
static PyObject *written(PyObject *template, PyObject *compact, PyObject *linear,
                         PyObject *const *values, const Part *parts, Py_ssize_t n, PyObject *code,
                         PyObject *offset)
{
    PyObject *aval = PyTuple_GET_ITEM(compact, MADE), *read = PyTuple_GET_ITEM(compact, READ);
    PyObject *tracer = new_linear(linear, aval), *item = NULL;
    Py_ssize_t size = FIXED + PyTuple_GET_SIZE(read), k = FIXED;
    for (Py_ssize_t i = 0; i < n; i++)
        size += parts[i].moving != NULL;
    if (tracer)
        item = PyTuple_New(size);
    if (item) {
        PyObject *first[FIXED] = {template, tracer, code, offset};
        for (Py_ssize_t i = 0; i < FIXED; i++)
            PyTuple_SET_ITEM(item, i, Py_NewRef(first[i]));
        for (Py_ssize_t i = 0; i < n; i++)
            if (parts[i].moving)
                PyTuple_SET_ITEM(item, k++, Py_NewRef(parts[i].moving));
        for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(read); i++)
            PyTuple_SET_ITEM(item, k++, Py_NewRef(values[PyLong_AsSsize_t(PyTuple_GET_ITEM(read, i))]));
    }
    if (!item || PyList_Append(TANGENT(linear, LinearTrace, tape), item) < 0)
        Py_CLEAR(tracer);
    Py_XDECREF(item);
    return node_of_tracer(tracer, aval);
}

static void let_go(PyObject **values, Py_ssize_t size)
{
    while (size > 0)
        Py_DECREF(values[--size]);
}

/* Whether the result carries a tangent; that of a comparison does not. */
static int makes_tangent(PyObject *compact, int forward)
{
    if (forward)
        return PyLong_AsSsize_t(PyTuple_GET_ITEM(compact, TANGENT_AT)) >= 0;
    return PyTuple_GET_ITEM(compact, MADE) != Py_None ||
           PyLong_AsSsize_t(PyTuple_GET_ITEM(compact, PASSES)) >= 0;
}

/* Run or record what the template does to these operands. The values, new, at all its places, and
 * how many there are: constants, operands, in forward mode their tangents, results. -1: forward, or
 * an error. */
static Py_ssize_t values_again(PyObject *compact, int forward, const Part *parts, Py_ssize_t n,
                               PyObject *recorder, PyObject *code, PyObject *offset, PyObject *sole,
                               PyObject **values)
{
    PyObject *constants = PyTuple_GET_ITEM(compact, CONSTANTS);
    PyObject *dtypes = PyTuple_GET_ITEM(compact, DTYPES), *steps = PyTuple_GET_ITEM(compact, STEPS);
    Py_ssize_t size = 0, first;
    unsigned long recorded = 0; /* a bit for each step: at most `MOST_VALUES` */
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(constants); i++)
        values[size++] = Py_NewRef(PyTuple_GET_ITEM(constants, i));
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *value = PyList_CheckExact(parts[i].primal)
                              ? Py_NewRef(parts[i].primal)
                              : leaf_of_number(parts[i].primal, PyTuple_GET_ITEM(dtypes, i));
        if (!value)
            goto failed;
        values[size++] = value;
    }
    for (Py_ssize_t i = 0; i < n && forward; i++)
        if (parts[i].moving)
            values[size++] = Py_NewRef(parts[i].moving);
    first = size;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(steps); i++) { /* pairs: op, places */
        PyObject *step = PyTuple_GET_ITEM(steps, i);
        PyObject *args = at_places(values, PyTuple_GET_ITEM(step, 1));
        PyObject *op = PyTuple_GET_ITEM(step, 0), *new = NULL;
        if (args) {
            the.deaf++;
            new = run_at_once(op, args, recorder, code, offset, sole);
            the.deaf--;
        }
        if (args && !new && !PyErr_Occurred()) {
            new = node(op, args, Py_None, code, offset);
            recorded |= 1UL << i;
        }
        Py_XDECREF(args);
        if (!new)
            goto failed;
        values[size++] = new;
    }
    PyObject *out = known(values[PyLong_AsSsize_t(PyTuple_GET_ITEM(compact, OUT))]);
    if (makes_tangent(compact, forward) && !has_traced(out))
        goto failed;
    for (Py_ssize_t i = first; i < size; i++)
        if (recorded >> (i - first) & 1 &&
            PyList_Append(OF(recorder, Recorder, pending), values[i]) < 0)
            goto failed;
    return size;
failed:
    let_go(values, size);
    return -1;
}

/* Record what the template does to these operands; the node of the result, new. */
static PyObject *done_again(PyObject *template, PyObject *compact, PyObject *outer,
                            PyObject *linear, const Part *parts, Py_ssize_t n, PyObject *recorder,
                            PyObject *code, PyObject *offset, PyObject *sole)
{
    PyObject *values[MOST_VALUES], *result, *tangent = NULL, *out;
    PyObject *aval = PyTuple_GET_ITEM(compact, MADE);
    Py_ssize_t size, passes = PyLong_AsSsize_t(PyTuple_GET_ITEM(compact, PASSES));
    if (aval == Py_None && passes >= 0)
        aval = TANGENT(moving_of(parts, n, passes), LinearTracer, aval);
    if (aval != Py_None && !has_traced(aval))
        return NULL; /* Python makes it */
    size = values_again(compact, 0, parts, n, recorder, code, offset, sole, values);
    if (size < 0)
        return NULL;
    result = values[PyLong_AsSsize_t(PyTuple_GET_ITEM(compact, OUT))];
    if (PyTuple_GET_ITEM(compact, MADE) != Py_None)
        tangent = written(template, compact, linear, values, parts, n, code, offset);
    else if (passes >= 0)
        tangent = leaf(moving_of(parts, n, passes), OF(aval, Aval, traced));
    out = aval == Py_None ? Py_NewRef(result) : joined(outer, result, tangent, code, offset);
    let_go(values, size);
    return out;
}

/* The same in forward mode: without a tape. */
static PyObject *done_forward(PyObject *compact, PyObject *outer, const Part *parts, Py_ssize_t n,
                              PyObject *recorder, PyObject *code, PyObject *offset)
{
    PyObject *values[MOST_VALUES], *result, *out;
    Py_ssize_t at = PyLong_AsSsize_t(PyTuple_GET_ITEM(compact, TANGENT_AT));
    Py_ssize_t size = values_again(compact, 1, parts, n, recorder, code, offset, NULL, values);
    if (size < 0)
        return NULL;
    result = values[PyLong_AsSsize_t(PyTuple_GET_ITEM(compact, OUT))];
    out = at < 0 ? Py_NewRef(result) : joined(outer, result, Py_NewRef(values[at]), code, offset);
    let_go(values, size);
    return out;
}

/* The templates of the last kinds of operands, found without a key. */
enum { CACHED = 1024 };
typedef struct {
    PyObject *template, *primitive, *params, *known[MOST_OPERANDS]; /* kept, but for `params` */
    uint64_t version, rules; /* of `params`; of the table, which may have been emptied since */
    unsigned n, kinds; /* a bit for each operand with a tangent, for what is stored, for the table */
} Cached;
static Cached cached[CACHED];

/* The template for these operands, new. NULL: there is none, or an error. */
static PyObject *template_for(PyObject *rules, PyObject *primitive, PyObject *params,
                              const Part *parts, Py_ssize_t n, int is_stored)
{
    uintptr_t place = (uintptr_t)primitive >> 4 ^ (uintptr_t)params >> 4;
    int forward = rules == tangents.forward;
    unsigned kinds = (unsigned)is_stored << MOST_OPERANDS | (unsigned)forward << (MOST_OPERANDS + 1);
    for (Py_ssize_t i = 0; i < n; i++) {
        kinds |= (unsigned)(parts[i].moving != NULL) << i;
        place = place * 31 + ((uintptr_t)parts[i].known >> 4);
    }
    Cached *it = &cached[(place ^ place >> 10 ^ kinds) % CACHED];
    int same = it->template && it->rules == version(rules) &&
               it->primitive == primitive && it->params == params && it->n == n && it->kinds == kinds && (!params || it->version == version(params));
    for (Py_ssize_t i = 0; same && i < n; i++)
        same = it->known[i] == parts[i].known;
    if (same)
        return Py_NewRef(it->template);
    PyObject *key = kinds_of(primitive, params, parts, n, is_stored);
    PyObject *found = key ? Py_XNewRef(PyDict_GetItemWithError(rules, key)) : NULL;
    Py_XDECREF(key);
    if (!found || !is_a(found, forward ? tangents.JVPTemplate : tangents.RuleTemplate)) {
        Py_XDECREF(found);
        return NULL;
    }
    Cached before = *it;
    *it = (Cached){Py_NewRef(found), Py_NewRef(primitive), params, {NULL},
                   params ? version(params) : 0, version(rules), (unsigned)n, kinds};
    for (Py_ssize_t i = 0; i < n; i++)
        it->known[i] = Py_NewRef(parts[i].known);
    Py_XDECREF(before.template);
    Py_XDECREF(before.primitive);
    for (unsigned i = 0; i < MOST_OPERANDS; i++)
        Py_XDECREF(before.known[i]);
    return found;
}

/* `_sums.is_written` */
static int is_written(PyObject *node)
{
    for (;;) {
        PyObject *op = PyList_GET_ITEM(node, OP), *args = PyList_GET_ITEM(node, ARGS);
        if (op == Py_None)
            return 0;
        if (OF(op, Op, free) != Py_True || !PyTuple_CheckExact(args) || !PyTuple_GET_SIZE(args))
            return way_of(op)->updates;
        node = PyTuple_GET_ITEM(args, 0);
        if (!PyList_CheckExact(node) || PyList_GET_SIZE(node) != NODE_SIZE)
            return 0;
    }
}

/* `_linearize._stores`: whether to store a slice. -1: an error. */
static int stores(PyObject *primal, PyObject *params, PyObject *recorder)
{
    if (PyList_CheckExact(primal) && !is_written(primal))
        return 0;
    PyObject *shape = params && PyDict_CheckExact(params) && is_eager(recorder)
                          ? PyDict_GetItemString(params, "shape")
                          : NULL;
    Py_ssize_t size = 4, whole = PyLong_AsSsize_t(OF(known(primal), Aval, size));
    if (shape && PyTuple_CheckExact(shape) && whole >= 0) {
        for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(shape); i++)
            size *= PyLong_AsSsize_t(PyTuple_GET_ITEM(shape, i));
        return PyTuple_GET_SIZE(shape) && 0 < size && size <= whole;
    }
    PyErr_Clear();
    PyObject *found = PyObject_CallFunctionObjArgs(tangents.stores, primal, params, NULL);
    int is_true = found ? found == Py_True : -1;
    Py_XDECREF(found);
    return is_true;
}

/* The result of an operation on these operands, some of which carry a tangent: its node, new.
   NULL: forward, or an error. The caller holds the operands. */
static PyObject *replay(PyObject *outer, PyObject *primitive, PyObject *params,
                        PyObject *const *operands, Py_ssize_t n, PyObject *recorder,
                        PyObject *code, PyObject *offset, PyObject *sole)
{
    Part parts[MOST_OPERANDS];
    PyObject *linear, *found, *compact, *out = NULL;
    int is_stored = 0, forward;
    if (!tangents.rules || n > MOST_OPERANDS || n < 1 || watched())
        return NULL;
    linear = TANGENT(outer, JVPTrace, linear);
    forward = linear == Py_None;
    if (!linear || !(forward || is_a(linear, tangents.LinearTrace)) ||
        TANGENT(outer, JVPTrace, alive) != Py_True)
        return NULL;
    for (Py_ssize_t i = 0; i < n; i++)
        if (!taken_apart(operands[i], outer, forward ? NULL : linear, &parts[i]))
            return NULL;
    if (!forward && primitive == tangents.slice && (is_stored = stores(parts[0].primal, params, recorder)) < 0)
        return NULL;
    found = template_for(forward ? tangents.forward : tangents.rules, primitive, params, parts, n,
                         is_stored);
    if (found && forward) {
        compact = TANGENT(found, JVPTemplate, compact);
        if (PyTuple_CheckExact(compact) && PyTuple_GET_SIZE(compact) == FORWARD_SIZE)
            out = done_forward(compact, outer, parts, n, recorder, code, offset);
    } else if (found) {
        compact = TANGENT(found, RuleTemplate, compact);
        if (PyTuple_CheckExact(compact) && PyTuple_GET_SIZE(compact) == COMPACT_SIZE)
            out = done_again(found, compact, outer, linear, parts, n, recorder, code, offset,
                             sole);
    }
    Py_XDECREF(found);
    return out;
}

/* `_linearize.replayed(recorder, where, outer, primitive, operands, params)` */
static PyObject *replayed(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *names)
{
    Front *front = (Front *)self;
    if (PyVectorcall_NARGS(nargsf) != 6 || names || !is_a(args[2], tangents.JVPTrace) ||
        !PyTuple_CheckExact(args[1]) || PyTuple_GET_SIZE(args[1]) != 2 ||
        !PyTuple_CheckExact(args[4]) || !PyDict_CheckExact(args[5]))
        return hand_on(front, args, nargsf, names);
    PyObject *code = PyTuple_GET_ITEM(args[1], 0), *offset = PyTuple_GET_ITEM(args[1], 1);
    PyObject *params = PyDict_GET_SIZE(args[5]) ? args[5] : NULL;
    PyObject *out = replay(args[2], args[3], params, ((PyTupleObject *)args[4])->ob_item,
                           PyTuple_GET_SIZE(args[4]), args[0], code, offset, NULL);
    return out || PyErr_Occurred() ? out : hand_on(front, args, nargsf, names);
}

/* The position of the user's operation, both new: as `inside_operation` has it. 0: Python must look,
   or an error. */
static int users_position(PyObject **code, PyObject **offset)
{
    PyObject *where = PyObject_GetAttr(the.local, tangents.where), *key, *found;
    if (where && PyTuple_CheckExact(where) && PyTuple_GET_SIZE(where) == 2) {
        *code = Py_NewRef(PyTuple_GET_ITEM(where, 0));
        *offset = Py_NewRef(PyTuple_GET_ITEM(where, 1));
        Py_DECREF(where);
        return 1;
    }
    Py_XDECREF(where);
    PyFrameObject *frame = where ? (PyFrameObject *)Py_XNewRef((PyObject *)PyEval_GetFrame()) : NULL;
    while (frame) {
        static PyObject *users; /* the last code of the user's, kept */
        *code = (PyObject *)PyFrame_GetCode(frame);
        if ((found = *code == users ? users : NULL))
            break;
        key = PyLong_FromVoidPtr(*code);
        found = key ? PyDict_GetItemWithError(the.internal, key) : NULL;
        Py_XDECREF(key);
        if (!found || !PyTuple_CheckExact(found) || PyTuple_GET_ITEM(found, 0) == Py_False) {
            if (found)
                Py_XSETREF(users, Py_NewRef(*code));
            break;
        }
        Py_DECREF(*code);
        Py_SETREF(frame, PyFrame_GetBack(frame));
    }
    if (!frame)
        return 0;
    *offset = found ? PyLong_FromLong(PyFrame_GetLasti(frame)) : NULL;
    Py_DECREF(frame);
    if (!*offset)
        Py_DECREF(*code);
    return *offset != NULL;
}

/* Take the classes and tables of a front of this kind. -1: an error. */
static int take_tangents(const Front *front)
{
    PyObject *classes = front->function, *more = front->second;
    PyObject **takes[] = {&tangents.JVPTrace, &tangents.JVPTracer, &tangents.LinearTrace,
                          &tangents.LinearTracer, &tangents.RuleTemplate, &tangents.JVPTemplate};
    if (!PyTuple_CheckExact(classes) || PyTuple_GET_SIZE(classes) != TANGENT_CLASSES ||
        !PyTuple_CheckExact(more) || PyTuple_GET_SIZE(more) != 6) {
        PyErr_SetString(PyExc_TypeError, "a front of kind replayed takes two tuples");
        return -1;
    }
    for (int i = 0; i < TANGENT_CLASSES; i++)
        Py_XSETREF(*takes[i], Py_NewRef(PyTuple_GET_ITEM(classes, i)));
    Py_XSETREF(tangents.rules, Py_NewRef(front->first));
    Py_XSETREF(tangents.scalars, Py_NewRef(PyTuple_GET_ITEM(more, 0)));
    Py_XSETREF(tangents.stores, Py_NewRef(PyTuple_GET_ITEM(more, 1)));
    Py_XSETREF(tangents.slice, Py_NewRef(PyTuple_GET_ITEM(more, 2)));
    Py_XSETREF(tangents.stored, Py_NewRef(PyTuple_GET_ITEM(more, 3)));
    Py_XSETREF(tangents.update_slice, Py_NewRef(PyTuple_GET_ITEM(more, 4)));
    Py_XSETREF(tangents.forward, Py_NewRef(PyTuple_GET_ITEM(more, 5)));
    return 0;
}

/* Add the keys and the operands of one applied template to lists. -1: an error. */
static int add_template(PyObject *item, PyObject *key, PyObject *read)
{
    PyObject *template = PyTuple_GET_ITEM(item, 0), *tangent = PyTuple_GET_ITEM(item, 1);
    Py_ssize_t n = PyTuple_GET_SIZE(item), first = -1;
    if (is_a(template, tangents.RuleTemplate) && is_a(tangent, tangents.LinearTracer))
        first = FIXED + PyLong_AsSsize_t(TANGENT(template, RuleTemplate, moving));
    if (first < FIXED || first > n) {
        PyErr_SetString(PyExc_TypeError, "add_templates takes applied templates");
        return -1;
    }
    PyObject *starts = TANGENT(template, RuleTemplate, starts);
    int failed = PyList_Append(key, template) < 0 ||
                 PyList_Append(key, TANGENT(tangent, LinearTracer, index)) < 0;
    for (Py_ssize_t i = FIXED; !failed && i < first; i++)
        failed = PyList_Append(key, TANGENT(PyTuple_GET_ITEM(item, i), LinearTracer, index)) < 0;
    for (Py_ssize_t i = first; !failed && i < n; i++)
        failed = PyList_Append(read, PyTuple_GET_ITEM(item, i)) < 0;
    for (Py_ssize_t i = 0; !failed && i < PyList_GET_SIZE(starts); i++) {
        PyObject *start = PyTuple_GET_ITEM(item, first + PyLong_AsSsize_t(PyList_GET_ITEM(starts, i)));
        PyObject *value = PyList_GET_ITEM(start, VALUE);
        PyObject *number = PyArray_IsScalar(value, Integer) ? PyNumber_Long(value) : Py_NewRef(Py_None);
        failed = !number || PyList_Append(key, number) < 0;
        Py_XDECREF(number);
    }
    return failed ? -1 : 0;
}

/* `add_templates(tape, at, key, read)`: `_kept._in_python` */
static PyObject *add_templates(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *tape, *key, *read;
    Py_ssize_t at;
    if (!PyArg_ParseTuple(args, "O!nO!O!", &PyList_Type, &tape, &at, &PyList_Type, &key, &PyList_Type,
                          &read))
        return NULL;
    for (; at < PyList_GET_SIZE(tape); at++) {
        PyObject *item = PyList_GET_ITEM(tape, at);
        if (!PyTuple_CheckExact(item) || PyTuple_GET_SIZE(item) < FIXED)
            break;
        if (add_template(item, key, read) < 0)
            return NULL;
    }
    return PyLong_FromSsize_t(at);
}

/* Of traced.h. */
static PyObject *traced_item(PyObject *self, PyObject *index, PyObject *now);
static int traced_store(PyObject *self, PyObject *index, PyObject *value, PyObject *now);
static int traced_in_place(Front *front, PyObject *self, PyObject *other, PyObject *now);
