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

/* Look whether NumPy has logged something in such a context: see `_errstate.tell`. -1: a warning is an
   error. After an error, and of derivatives, that is forgotten. */
static ALONE int tell_what_was_heard(void)
{
    if (PyErr_Occurred() || the.deaf) {
        PyObject *error[3];
        PyErr_Fetch(&error[0], &error[1], &error[2]);
        if (PyList_SetSlice(the.heard, 0, PyList_GET_SIZE(the.heard), NULL) < 0)
            PyErr_Clear();
        PyErr_Restore(error[0], error[1], error[2]);
        return 0;
    }
    PyObject *done = PyObject_CallNoArgs(the.tell);
    Py_XDECREF(done);
    return done ? 0 : -1;
}

static inline int told(void)
{
    return PyList_GET_SIZE(the.heard) ? tell_what_was_heard() : 0;
}

/* Tell of the processor's flags, which a loop of this name has raised: see `_errstate.noticed`. */
static ALONE int tell_of_flags(const char *name)
{
    static int within; /* what is told may compute */
    int found = fetestexcept(ALL_ERRORS), flags = 0;
    flags |= found & FE_DIVBYZERO ? 1 : 0; /* NumPy's numbers */
    flags |= found & FE_OVERFLOW ? 2 : 0;
    flags |= found & FE_INVALID ? 8 : 0;
    feclearexcept(ALL_ERRORS);
    if (PyErr_Occurred() || within || the.deaf)
        return 0;
    within = 1;
    PyObject *done = PyObject_CallFunction(the.noticed, "si", name, flags);
    within = 0;
    Py_XDECREF(done);
    return done ? 0 : -1;
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
