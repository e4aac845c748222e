/* Fronts: products and quotients by which zero times infinity is zero. See core.h.

   `elementwise_arithmetic._zeroed` defines them: NumPy's result, but 0 where that is nan and a
   factor is 0. */

#pragma once

#include "loops.h"
#include "scalars.h"

/* Doubles, one after the other, or one for all elements. */
typedef struct {
    const double *at;
    npy_intp step;
} Doubles;

/* 0: other memory. */
static int as_doubles(PyObject *x, PyArrayObject *like, double *room, Doubles *out)
{
    PyArrayObject *memory = (PyArrayObject *)x;
    if (!is_memory(x)) {
        *out = (Doubles){room, 0};
        return as_double(x, room);
    }
    *out = (Doubles){(const double *)PyArray_BYTES(memory), 1};
    return is_of(memory, NPY_DOUBLE) && PyArray_IS_C_CONTIGUOUS(memory) &&
           PyArray_SAMESHAPE(memory, like);
}

/* NumPy's product or quotient of the same numbers: IEEE's. */
#define GUARDED(result, is_zero)                                                                   \
    for (npy_intp i = 0; i < n; i++) {                                                             \
        double x = a.at[i * a.step], y = b.at[i * b.step], r = result;                             \
        out[i] = r != r && (is_zero) ? 0.0 : r;                                                    \
    }

static void guarded_doubles(Doubles a, Doubles b, double *out, npy_intp n, int divides)
{
    if (divides)
        GUARDED(x / y, x == 0)
    else if (a.step && b.step) { /* apart: the compiler makes vectors of each */
        const double *p = a.at, *q = b.at;
        for (npy_intp i = 0; i < n; i++) {
            double x = p[i], y = q[i], r = x * y;
            out[i] = r != r && ((x == 0) | (y == 0)) ? 0.0 : r;
        }
    }
    else
        GUARDED(x * y, (x == 0) | (y == 0))
}

/* `guarded(x, y)`, or with a third argument: memory for the result. */
static PyObject *guarded(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *names)
{
    Front *front = (Front *)self;
    Py_ssize_t n = PyVectorcall_NARGS(nargsf);
    double rooms[2], result;
    Doubles a, b;
    if (n < 2 || n > 3 || names || !the.state || watched())
        return hand_on(front, args, nargsf, names);
    if (!is_memory(args[0]) && !is_memory(args[1])) {
        if (n > 2 || !as_double(args[0], &rooms[0]) || !as_double(args[1], &rooms[1]))
            return hand_on(front, args, nargsf, names);
        guarded_doubles((Doubles){&rooms[0], 0}, (Doubles){&rooms[1], 0}, &result, 1, front->symbol == '/');
        PyObject *new = PyArrayScalar_New(Double);
        if (new)
            PyArrayScalar_ASSIGN(new, Double, result);
        return new;
    }
    PyArrayObject *like = (PyArrayObject *)(is_memory(args[0]) ? args[0] : args[1]), *out;
    if (!PyArray_NDIM(like) || !as_doubles(args[0], like, &rooms[0], &a) ||
        !as_doubles(args[1], like, &rooms[1], &b))
        return hand_on(front, args, nargsf, names);
    if (n == 3)
        out = (PyArrayObject *)Py_NewRef(args[2]);
    else
        out = (PyArrayObject *)PyArray_NewFromDescr(
            &PyArray_Type, PyArray_DescrFromType(NPY_DOUBLE), PyArray_NDIM(like),
            PyArray_DIMS(like), NULL, NULL, 0, NULL);
    if (out)
        guarded_doubles(a, b, (double *)PyArray_BYTES(out), PyArray_SIZE(like), front->symbol == '/');
    return (PyObject *)out;
}
