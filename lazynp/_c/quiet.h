/* NumPy's kernels without its warnings, and what is told of errors instead: see `_quiet` and
   `_errstate`. See core.h. */

#pragma once

#include <fenv.h>
#ifdef __SSE2_MATH__
#include <immintrin.h>
#endif

#include "core.h"

/* The processor's flags of floating-point errors. x86 has those of its older unit too, which the C
   library reads and clears as well: that takes three times as long as a sum. Only NumPy itself sets
   those, where an integer overflows. */
#define ALL_ERRORS (FE_DIVBYZERO | FE_OVERFLOW | FE_INVALID)
#ifdef __SSE2_MATH__
#define FLAGS (_MM_EXCEPT_INVALID | _MM_EXCEPT_DIV_ZERO | _MM_EXCEPT_OVERFLOW | _MM_EXCEPT_UNDERFLOW)
static inline int has_flags(void) { return (_mm_getcsr() & FLAGS) != 0; }
static inline int has_errors(void) { return (_mm_getcsr() & FLAGS & ~_MM_EXCEPT_UNDERFLOW) != 0; }
static inline void forget_flags(void)
{
    if (has_flags())
        _mm_setcsr(_mm_getcsr() & ~FLAGS);
}
#else
#define FLAGS (ALL_ERRORS | FE_UNDERFLOW)
static inline int has_flags(void) { return fetestexcept(FLAGS) != 0; }
static inline int has_errors(void) { return fetestexcept(ALL_ERRORS) != 0; }
static inline void forget_flags(void) { feclearexcept(FLAGS); }
#endif

/* A function that is called, so that the processor's flags can be looked at around it. */
#ifdef __GNUC__
#define ALONE __attribute__((noinline))
#else
#define ALONE
#endif

/* Enter the context of a thread's `quiet`; return it, borrowed. NULL: it is in use. */
static PyObject *enter_quiet(PyObject *call)
{
    PyObject *context = PyCFunction_Check(call) ? PyCFunction_GET_SELF(call) : NULL;
    if (context && PyContext_CheckExact(context) && PyContext_Enter(context) == 0)
        return context;
    PyErr_Clear();
    return NULL;
}

/* Leave it. An error that is set stays. */
static void leave_quiet(PyObject *context)
{
    PyObject *error[3];
    PyErr_Fetch(&error[0], &error[1], &error[2]);
    if (PyContext_Exit(context) < 0)
        PyErr_WriteUnraisable(context);
    PyErr_Restore(error[0], error[1], error[2]);
}

/* What was found out about code that runs, kept: the user's, and lazynp's that the user does not see. */
enum { ASK, WARN, FORGET, CODES = 128 };
static PyObject *users[CODES], *ours[CODES];

static inline size_t place_of_code(PyObject *code)
{
    return ((uint32_t)((size_t)code >> 4) * 0x9E3779B1u >> 16) % CODES;
}

/* How NumPy keeps an error state: three bits for each kind of errors. */
enum { DIVIDE = 7, OVER = 7 << 3, INVALID = 7 << 9, BUT_UNDERFLOW = DIVIDE | OVER | INVALID };
enum { IGNORED = 0, WARNED = 1 | 1 << 3 | 1 << 9, UNDERFLOWS = 1 << 6 };

static int bits_of_state(PyObject *state)
{
    static const char *name = "numpy.ufunc.extobj";
    const int *fields = PyCapsule_IsValid(state, name) ? PyCapsule_GetPointer(state, name) : NULL;
    return fields ? fields[0] : -1;
}

/* What NumPy's error state says of these kinds but underflow; -1: unknown, as in a NumPy that keeps it
   otherwise. */
static int error_state(void)
{
    static int is_known; /* 0: not looked at yet */
    PyObject *state = NULL;
    if (!is_known)
        is_known = bits_of_state(the.warned) == (WARNED | UNDERFLOWS) ? 1 : -1;
    if (is_known < 0 || PyContextVar_Get(the.errors, NULL, &state) < 0 || !state) {
        PyErr_Clear();
        return -1;
    }
    int bits = bits_of_state(state);
    Py_DECREF(state);
    return bits < 0 ? -1 : bits & BUT_UNDERFLOW;
}

static inline int are_ignored(int kinds)
{
    int state = error_state();
    return state >= 0 && (state & kinds) == IGNORED;
}

static inline int errors_are_ignored(void) { return are_ignored(BUT_UNDERFLOW); }

/* What to do about errors of these kinds here and now. `code`: the code that runs, borrowed. */
static int known_to(int kinds, PyObject **code)
{
    int state = error_state();
    if (state >= 0 && (state & kinds) == IGNORED)
        return FORGET;
    PyFrameObject *frame = PyEval_GetFrame();
    if (!frame)
        return ASK;
    *code = (PyObject *)PyFrame_GetCode(frame);
    Py_DECREF(*code); /* the frame has it */
    if (*code == ours[place_of_code(*code)])
        return FORGET;
    int is_warned = state >= 0 && (state & kinds) == (WARNED & kinds);
    return is_warned && *code == users[place_of_code(*code)] ? WARN : ASK;
}

/* Call one of the tellers of `_errstate`, whose result says whose code it is. This steals
   `arguments`. */
static int ask(PyObject *teller, PyObject *arguments, PyObject *code)
{
    PyObject *done = arguments ? PyObject_CallObject(teller, arguments) : NULL;
    long found = done ? PyLong_AsLong(done) : 0;
    Py_XDECREF(done);
    Py_XDECREF(arguments);
    if (!done || PyErr_Occurred())
        return -1;
    if (code && found == FORGET)
        Py_XSETREF(ours[place_of_code(code)], Py_NewRef(code));
    if (code && found == WARN)
        Py_XSETREF(users[place_of_code(code)], Py_NewRef(code));
    return 0;
}

/* Take the first of the messages, if this thread wrote it, new. NULL: it did not, or an error. */
static PyObject *first_heard(void)
{
    PyObject *item = PyList_GetItem(the.heard, 0); /* thread, message */
    PyObject *thread = item && PyTuple_CheckExact(item) ? PyTuple_GET_ITEM(item, 0) : NULL;
    if (!thread || PyLong_AsUnsignedLong(thread) != PyThread_get_thread_ident())
        return NULL;
    PyObject *message = Py_NewRef(PyTuple_GET_ITEM(item, 1));
    if (PyList_SetSlice(the.heard, 0, 1, NULL) < 0)
        Py_CLEAR(message);
    return message;
}

/* The kinds of errors that the messages speak of. */
static int kinds_heard(void)
{
    static const struct {
        const char *text;
        int kind;
    } TEXTS[] = {{"Warning: divide", DIVIDE}, {"Warning: overflow", OVER}, {"Warning: invalid", INVALID}};
    int kinds = 0;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(the.heard); i++) {
        PyObject *item = PyList_GET_ITEM(the.heard, i), *message;
        message = PyTuple_CheckExact(item) ? PyTuple_GET_ITEM(item, 1) : item;
        const char *bytes = PyUnicode_Check(message) ? PyUnicode_AsUTF8(message) : NULL;
        int kind = 0;
        for (int k = 0; k < 3 && bytes && !kind; k++)
            kind = strncmp(bytes, TEXTS[k].text, strlen(TEXTS[k].text)) == 0 ? TEXTS[k].kind : 0;
        kinds |= kind ? kind : BUT_UNDERFLOW;
    }
    PyErr_Clear();
    return kinds;
}

/* Look whether NumPy has logged something in such a context: see `_errstate.tell`. -1: a warning is an
   error. After an error, and of derivatives, that is forgotten. */
static ALONE int tell_what_was_heard(void)
{
    enum { BEFORE = 9, AFTER = 1 }; /* "Warning: ", and an end of line */
    PyObject *error[3], *code = NULL, *message;
    int failed = 0;
    PyErr_Fetch(&error[0], &error[1], &error[2]);
    int known = error[0] || the.deaf ? FORGET : known_to(kinds_heard(), &code);
    if (known == ASK)
        return ask(the.tell, PyTuple_New(0), code);
    while (!failed && PyList_GET_SIZE(the.heard) && (message = first_heard())) {
        PyObject *text = PyUnicode_Substring(message, BEFORE, PyUnicode_GET_LENGTH(message) - AFTER);
        const char *bytes = text ? PyUnicode_AsUTF8(text) : NULL;
        failed = !bytes || (known == WARN && PyErr_WarnEx(PyExc_RuntimeWarning, bytes, 1) < 0);
        Py_XDECREF(text);
        Py_DECREF(message);
    }
    if (error[0])
        PyErr_Restore(error[0], error[1], error[2]);
    return failed || (!error[0] && PyErr_Occurred()) ? -1 : 0;
}

static inline int told(void)
{
    return PyList_GET_SIZE(the.heard) ? tell_what_was_heard() : 0;
}

/* Tell of the processor's flags, which a loop of this name has raised: see `_errstate.noticed`. */
static ALONE int tell_of_flags(const char *name)
{
    static const struct {
        int flag, number, kind; /* C's, and NumPy's */
        const char *text;
    } KINDS_OF_ERRORS[] = {{FE_DIVBYZERO, 1, DIVIDE, "divide by zero"},
                           {FE_OVERFLOW, 2, OVER, "overflow"},
                           {FE_INVALID, 8, INVALID, "invalid value"}};
    static int within; /* what is told may compute */
    PyObject *code = NULL;
    int found = fetestexcept(ALL_ERRORS), numbers = 0, kinds = 0, failed = 0;
    feclearexcept(ALL_ERRORS);
    if (PyErr_Occurred() || within || the.deaf)
        return 0;
    within = 1;
    for (int i = 0; i < 3; i++)
        kinds |= found & KINDS_OF_ERRORS[i].flag ? KINDS_OF_ERRORS[i].kind : 0;
    int known = known_to(kinds, &code);
    for (int i = 0; i < 3; i++) {
        if (!(found & KINDS_OF_ERRORS[i].flag))
            continue;
        numbers |= KINDS_OF_ERRORS[i].number;
        failed = failed ||
                 (known == WARN && PyErr_WarnFormat(PyExc_RuntimeWarning, 1, "%s encountered in %s",
                                                    KINDS_OF_ERRORS[i].text, name) < 0);
    }
    if (known == ASK)
        failed = ask(the.noticed, Py_BuildValue("(si)", name, numbers), code) < 0;
    within = 0;
    return failed ? -1 : 0;
}

/* Around an inner loop of NumPy's. -1: a warning is an error. */
static inline void before_loop(const Loop *it)
{
    if (it->integers)
        feclearexcept(ALL_ERRORS);
    else
        forget_flags();
}

static inline int after_loop(const Loop *it)
{
    int found = it->integers ? fetestexcept(ALL_ERRORS) : has_errors();
    return found ? tell_of_flags(it->called) : 0;
}

/* Sets `*again` if the context is in use: then Python must make the call. */
static PyObject *quiet_named(PyObject *call, PyObject *function, PyObject *const *values,
                             Py_ssize_t n, PyObject *names, int *again)
{
    PyObject *context = enter_quiet(call), *result;
    *again = !context;
    if (!context)
        return NULL;
    result = PyObject_Vectorcall(function, values, n, names);
    leave_quiet(context);
    if (told() < 0)
        Py_CLEAR(result);
    return result;
}

static PyObject *quiet(PyObject *call, PyObject *function, PyObject *const *values, Py_ssize_t n,
                       int *again)
{
    return quiet_named(call, function, values, n, NULL, again);
}
