/* Front: a call of a jitted function on arrays here. See core.h.

   `_quick.operands_of` and `_alone.at_once` define it. A call that has always run by itself, and runs
   now, needs nothing but its operands' buffers. */

#pragma once

#include "calls.h"
#include "elsewhere.h"

/* Whether this is the policy. */
static int policy_is(const char *name)
{
    PyObject *policy = SLOT(the.config, the.config_execution);
    return policy && PyUnicode_Check(policy) && PyUnicode_CompareWithASCIIString(policy, name) == 0;
}

/* The aval of an array or Scalar that a call may take and that has a value, borrowed; NULL: forward. */
static PyObject *aval_here(PyObject *x)
{
    if ((!is_array(x) && !is_scalar(x)) || OF(x, Array, _base) != Py_None ||
        OF(x, Array, _flags) != Py_None)
        return NULL;
    PyObject *node = node_of(x), *op = node ? PyList_GET_ITEM(node, OP) : NULL;
    if (!node || PyList_GET_ITEM(node, VALUE) == Py_None)
        return NULL;
    PyObject *aval = op == Py_None ? PyList_GET_ITEM(node, AVAL) : OF(op, Op, aval);
    return is_a(aval, the.Aval) ? aval : NULL;
}

/* What a call gets for a NumPy array or number, a new node; NULL: forward. As `_quick._of_leaves`. */
static PyObject *borrowed_leaf(PyObject *x)
{
    PyObject *aval = NULL, *made;
    if (PyArray_CheckExact(x)) {
        PyArrayObject *memory = (PyArrayObject *)x;
        int fits = is_of_numbers(memory) && PyArray_IS_C_CONTIGUOUS(memory);
        PyArray_Descr *plain = fits ? PyArray_DescrFromType(PyArray_TYPE(memory)) : NULL;
        if (plain && plain == PyArray_DESCR(memory)) /* no other byte order, no metadata */
            aval = aval_of_memory(memory);
        Py_XDECREF(plain);
    } else if (PyArray_IsScalar(x, Generic))
        aval = Py_XNewRef(aval_of_number(x));
    made = aval ? leaf(x, aval) : NULL;
    Py_XDECREF(aval);
    if (made) {
        PyObject *code = PyList_GET_ITEM(made, CODE);
        PyList_SET_ITEM(made, CODE, Py_NewRef(calls.borrowed));
        Py_DECREF(code);
    }
    return made;
}

/* The operand for an argument, new, and what it adds to the key; NULL: forward. */
static PyObject *operand_here(PyObject *x, PyObject **parts, Py_ssize_t *k)
{
    if (is_python_number(x)) {
        parts[(*k)++] = (PyObject *)Py_TYPE(x);
        return Py_NewRef(x);
    }
    PyObject *aval = aval_here(x), *made;
    if (aval) {
        if (is_scalar(x))
            parts[(*k)++] = the.Scalar;
        parts[(*k)++] = aval;
        if (OF(x, Array, _order) != Py_None)
            parts[(*k)++] = OF(x, Array, _order);
        return Py_NewRef(node_of(x));
    }
    if (!(made = borrowed_leaf(x)))
        return NULL;
    parts[(*k)++] = calls.array;
    parts[(*k)++] = PyList_GET_ITEM(made, AVAL);
    return made;
}

/* The key of the arguments, new, as `_quick._of_leaves` makes it; and, held, the operands: nodes of
   arrays, then nodes of Scalars, and numbers. NULL: forward. */
static PyObject *key_of_these(PyObject *const *args, Py_ssize_t n, PyObject **operands)
{
    PyObject *parts[3 * MOST_ARGS], *given[MOST_ARGS], *key = NULL;
    Py_ssize_t k = 0, at = 0, taken = 0, twice = 0;
    for (Py_ssize_t i = 0; i < n; i++)
        for (Py_ssize_t j = 0; j < i; j++)
            twice |= args[j] == args[i] && !is_python_number(args[i]);
    while (!twice && taken < n && (given[taken] = operand_here(args[taken], parts, &k)))
        taken++;
    if (taken == n && !twice) {
        for (int others = 0; others < 2; others++)
            for (Py_ssize_t i = 0; i < n; i++)
                if (is_array(args[i]) != others)
                    operands[at++] = given[i];
        key = tuple_of(parts, k);
    }
    for (Py_ssize_t i = 0; !key && i < taken; i++)
        Py_DECREF(given[i]);
    return key;
}

/* Whether a program takes these numbers: those that are not operands must be what it was compiled
   for. */
static int takes_these_numbers(PyObject *plan, PyObject *prepared, PyObject **operands, Py_ssize_t n)
{
    PyObject *slots = OF_CALL(prepared, Prepared, slots), *constants = OF_CALL(plan, Plan, constants);
    PyObject *fixed = OF_CALL(prepared, Prepared, fixed), *tied = OF_CALL(plan, Plan, tied);
    Py_ssize_t count = PyList_GET_SIZE(slots), numbers = 0;
    for (Py_ssize_t i = 0; i < n; i++)
        numbers += is_python_number(operands[i]) ||
                   PyArray_IsScalar(PyList_GET_ITEM(operands[i], VALUE), Generic);
    if (numbers != count || !is_list(OF_CALL(prepared, Prepared, vectors)))
        return 0;
    if (PyList_GET_SIZE(fixed) < count && PyObject_IsTrue(tied))
        return 0;
    if (PyList_GET_SIZE(fixed) && (!is_list(constants) || PyList_GET_SIZE(constants) != count ||
                                   PyList_GET_SIZE(OF_CALL(plan, Plan, zero_slots))))
        return 0;
    for (Py_ssize_t k = 0; k < PyList_GET_SIZE(fixed); k++) {
        Py_ssize_t i = PyLong_AsSsize_t(PyList_GET_ITEM(fixed, k));
        Py_ssize_t at = i >= 0 && i < count ? PyLong_AsSsize_t(PyList_GET_ITEM(slots, i)) : -1;
        PyObject *x = at >= 0 && at < n ? operands[at] : Py_None, *equal = NULL;
        if (is_list(x))
            x = PyList_GET_ITEM(x, VALUE);
        if (!is_python_number(x) && !PyArray_IsScalar(x, Generic))
            return 0;
        equal = PyObject_RichCompare(PyList_GET_ITEM(constants, i), x, Py_EQ);
        int same = equal ? PyObject_IsTrue(equal) : -1;
        Py_XDECREF(equal);
        if (same < 1) {
            PyErr_Clear(); /* an int that is none of its dtype's */
            return 0;
        }
    }
    return 1;
}

/* Whether this thread's next call may run now, as far as the recorder tells. As `_alone.at_once`. */
static int may_run_now(PyObject *recorder)
{
    return PyLong_AsSsize_t(OF(recorder, Recorder, unasked)) < PyLong_AsSsize_t(calls.patience) &&
           !PyList_GET_SIZE(OF(recorder, Recorder, pending)) && !PyList_GET_SIZE(calls.observers) &&
           !PyLong_AsSsize_t(OF(recorder, Recorder, observed));
}

/* How such a call ran before, new; NULL: forward. Likewise. */
static PyObject *alone_here(PyObject *quick, PyObject **operands, Py_ssize_t n)
{
    PyObject *alone = PyDict_GetItemWithError(calls.alone_here, OF_CALL(quick, Quick, op));
    if (!alone || PyLong_AsSsize_t(OF_CALL(alone, Alone, times)) < calls.times)
        return NULL;
    if (OF_CALL(alone, Alone, sequence) != Py_None)
        return Py_NewRef(alone);
    PyObject *plan = OF_CALL(alone, Alone, plan), *prepared = OF_CALL(alone, Alone, prepared);
    PyObject *current = OF_CALL(plan, Plan, current);
    if (prepared == Py_None || current == Py_None || OF_CALL(plan, Plan, lean) != Py_None ||
        (OF_CALL(plan, Plan, watch) != Py_None && OF_CALL(plan, Plan, watch) != calls.watched_enough) ||
        OF_CALL(prepared, Prepared, program) != current ||
        !takes_these_numbers(plan, prepared, operands, n))
        return NULL;
    return Py_NewRef(alone);
}

/* Call a function of no arguments; -1: an error. */
static int called_alone(PyObject *object, PyObject *name)
{
    PyObject *done = PyObject_CallMethodNoArgs(object, name);
    Py_XDECREF(done);
    return done ? 0 : -1;
}

/* Evaluate nothing in other threads, and collect no garbage; whether it was collected; -1: an error. */
static int begin_turn(void)
{
    return called_alone(calls.lock, the.acquire) < 0 ? -1 : PyGC_Disable();
}

/* An error that is set stays. */
static void end_turn(int collects)
{
    PyObject *error[3];
    if (collects)
        PyGC_Enable();
    PyErr_Fetch(&error[0], &error[1], &error[2]);
    if (called_alone(calls.lock, the.release) < 0)
        PyErr_Clear(); /* it was acquired */
    PyErr_Restore(error[0], error[1], error[2]);
}

/* The results of a prepared call, new, in its turn: see `_reference.exclusively`. NULL without an
   error: forward. */
static PyObject *run_in_turn(PyObject *prepared, PyObject **operands, Py_ssize_t n)
{
    static int within; /* a handler of a signal may call the function that it interrupts */
    PyObject *found = NULL, *buffers;
    int collects = begin_turn();
    if (collects < 0)
        return NULL;
    within++;
    int numbers = PyList_GET_SIZE(OF_CALL(prepared, Prepared, vectors)) > 0;
    buffers = within > 1 && numbers ? NULL
                                    : buffers_of_call(prepared, operands, n, within > 1 ? LENT : STAGED);
    if (buffers && !add_vectors(prepared, buffers, operands, n))
        Py_CLEAR(buffers);
    if (buffers) {
        PyObject *given[3] = {buffers, Py_None, Py_True};
        found = PyObject_Vectorcall(OF_CALL(prepared, Prepared, run), given, 3, NULL);
        Py_DECREF(buffers);
        if (found && is_list(found) && PyList_GET_SIZE(found) && !the.buffers)
            the.buffers = (PyTypeObject *)Py_NewRef(Py_TYPE(PyList_GET_ITEM(found, 0)));
    }
    within--;
    end_turn(collects);
    return found;
}

/* Run a call with these operands now. NULL without an error: forward. */
static PyObject *run_here(PyObject *recorder, PyObject *quick, PyObject *alone, PyObject **operands,
                          Py_ssize_t n)
{
    PyObject *plan = Py_NewRef(OF_CALL(alone, Alone, plan)), *code, *offset, *out = NULL;
    PyObject *prepared = Py_NewRef(OF_CALL(alone, Alone, prepared));
    if (users_position(&code, &offset)) {
        PyObject *found = run_in_turn(prepared, operands, n);
        if (found && count_run(plan) == 0) {
            Py_SETREF(OF(recorder, Recorder, unasked), Py_NewRef(calls.patience));
            out = tree_of_results(quick, plan, found, NULL, code, offset);
        }
        Py_XDECREF(found);
        Py_DECREF(code);
        Py_DECREF(offset);
    }
    Py_DECREF(prepared);
    Py_DECREF(plan);
    return out;
}

#include "sequences.h"

/* Take the ints that are static, at these places, out of the arguments: a part of the key, new, as
   `_quick.operands_beside` makes it. NULL: there are none, or forward; then `*m` is -1. */
static PyObject *static_ints(PyObject *places, PyObject *const *args, Py_ssize_t n, PyObject **rest,
                             Py_ssize_t *m)
{
    PyObject *items[MOST_ARGS], *made = NULL;
    Py_ssize_t found = 0, left = 0, count = PyTuple_GET_SIZE(places), failed = 0;
    for (Py_ssize_t i = 0; i < n && !failed; i++) {
        int is_static = 0;
        for (Py_ssize_t k = 0; k < count; k++) {
            Py_ssize_t at = PyLong_AsSsize_t(PyTuple_GET_ITEM(places, k));
            is_static |= i == (at < 0 ? at + n : at);
        }
        if (!is_static || !PyLong_Check(args[i]))
            rest[left++] = args[i];
        else if (PyLong_CheckExact(args[i]) && /* no bool */
                 (items[found] = Py_BuildValue("(nOO)", i, &PyLong_Type, args[i])))
            found++;
        else
            failed = 1;
    }
    *m = left;
    if (!failed)
        made = tuple_of(items, found);
    if (!made)
        *m = -1;
    while (found)
        Py_DECREF(items[--found]);
    return made;
}

/* The same for these arguments. ints: see `Jitted._ints`. */
static PyObject *call_here(PyObject *table, PyObject *ints, PyObject *const *args, Py_ssize_t n)
{
    PyObject *operands[MOST_ARGS], *rest[MOST_ARGS], *key, *quick, *alone = NULL, *out = NULL, *here;
    PyObject *fixed = NULL;
    if (PyList_GET_SIZE(calls.elsewhere) || PyDict_GET_SIZE(calls.watched) || !(here = recorder()))
        return NULL;
    if (PyTuple_GET_SIZE(ints)) {
        fixed = static_ints(ints, args, n, rest, &n);
        args = rest;
    }
    key = n > 0 && may_run_now(here) ? key_of_these(args, n, operands) : NULL;
    if (key && fixed) {
        PyObject *both = PyTuple_Pack(2, fixed, key);
        Py_SETREF(key, both);
        for (Py_ssize_t i = 0; !key && i < n; i++)
            Py_DECREF(operands[i]);
    }
    Py_XDECREF(fixed);
    if (!key) {
        Py_DECREF(here);
        return NULL;
    }
    quick = Py_XNewRef(PyDict_GetItemWithError(table, key));
    if (quick && may_run_now(here)) /* comparing keys may have run code */
        alone = alone_here(quick, operands, n);
    if (alone)
        out = OF_CALL(alone, Alone, sequence) != Py_None
                  ? call_sequence(here, quick, alone, operands, n)
                  : run_here(here, quick, alone, operands, n);
    Py_DECREF(key);
    Py_XDECREF(quick);
    Py_XDECREF(alone);
    Py_DECREF(here);
    for (Py_ssize_t i = 0; i < n; i++)
        Py_DECREF(operands[i]);
    return out;
}

/* `Jitted.__call__`. */
static PyObject *jitted(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *names)
{
    Front *front = (Front *)self;
    Py_ssize_t n = PyVectorcall_NARGS(nargsf) - 1;
    PyObject *out = NULL;
    if (n > 0 && n <= MOST_ARGS && !names && Py_TYPE(args[0]) == (PyTypeObject *)calls.Jitted &&
        nothing_staged() && !PyList_GET_SIZE(calls.disabled) &&
        SLOT(the.config, the.config_debug_nans) == Py_False) {
        PyObject *placed = OF_CALL(args[0], Jitted, _placed), *here = OF_CALL(args[0], Jitted, _here);
        PyObject *ints = OF_CALL(args[0], Jitted, _ints);
        if (placed && PyDict_GET_SIZE(placed))
            out = call_elsewhere(placed, args + 1, n);
        if (!out && !PyErr_Occurred() && here && ints && PyDict_GET_SIZE(here) &&
            !policy_is("reference"))
            out = call_here(here, ints, args + 1, n);
    }
    return out || PyErr_Occurred() ? out : hand_on(front, args, nargsf, names);
}
