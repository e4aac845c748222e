/* Fronts: available scalars. See core.h. */

#pragma once

#include "core.h"
#include "tangents.h"

/* -- available scalars: `_scalars` ------------------------------------------------------------- */

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

static inline int as_int64(PyObject *x, npy_int64 *value)
{
    int overflow = 0;
    if (Py_TYPE(x) == &PyInt64ArrType_Type)
        *value = PyArrayScalar_VAL(x, Int64);
    else if (PyLong_CheckExact(x))
        *value = PyLong_AsLongLongAndOverflow(x, &overflow);
    else if (PyBool_Check(x))
        *value = x == Py_True;
    else
        return 0;
    return !overflow;
}

/* A double, or an int that a double has exactly. */
static inline int as_exact_double(PyObject *x, double *value)
{
    static const npy_int64 most = (npy_int64)1 << 53;
    npy_int64 whole;
    if (as_double(x, value))
        return 1;
    if (!as_int64(x, &whole) || whole > most || whole < -most)
        return 0;
    *value = (double)whole;
    return 1;
}

/* The comparisons of two numbers of one C type, and no other operator. */
#define COMPARISON_CASES(a, b)                                                                     \
    case '<': PyArrayScalar_RETURN_BOOL_FROM_LONG(a < b);                                          \
    case '>': PyArrayScalar_RETURN_BOOL_FROM_LONG(a > b);                                          \
    case 'l': PyArrayScalar_RETURN_BOOL_FROM_LONG(a <= b);                                         \
    case 'g': PyArrayScalar_RETURN_BOOL_FROM_LONG(a >= b);                                         \
    case '=': PyArrayScalar_RETURN_BOOL_FROM_LONG(a == b);                                         \
    case '!': PyArrayScalar_RETURN_BOOL_FROM_LONG(a != b);                                         \
    default: return NULL;

/* An operator on two doubles, by IEEE arithmetic. NULL for other operators, or an error. Call it
   only if nothing watches for floating-point errors. */
static PyObject *of_doubles(int code, double a, double b)
{
    double result;
    switch (code) {
    case '+': result = a + b; break;
    case '-': result = a - b; break;
    case '*': result = a * b; break;
    case '/': result = a / b; break;
    case '^': result = pow(a, b); break;
    COMPARISON_CASES(a, b)
    }
    PyObject *new = PyArrayScalar_New(Double);
    if (new)
        PyArrayScalar_ASSIGN(new, Double, result);
    return new;
}

/* The same for an operator on one. */
static PyObject *of_double(int code, double a)
{
    if (code != '-' && code != 'a')
        return NULL;
    PyObject *new = PyArrayScalar_New(Double);
    if (new)
        PyArrayScalar_ASSIGN(new, Double, code == '-' ? -a : fabs(a));
    return new;
}

#ifdef __GNUC__
#define OVERFLOWS(operation, a, b, result) __builtin_##operation##_overflow(a, b, result)
#else
#define OVERFLOWS(operation, a, b, result) 1
#endif

/* An operator on two ints. NULL for other operators, where NumPy may warn, or an error. */
static PyObject *of_int64s(int code, npy_int64 a, npy_int64 b)
{
    npy_int64 result;
    switch (code) {
    case '+':
        if (OVERFLOWS(add, a, b, &result))
            return NULL;
        break;
    case '-':
        if (OVERFLOWS(sub, a, b, &result))
            return NULL;
        break;
    case '*':
        if (OVERFLOWS(mul, a, b, &result))
            return NULL;
        break;
    case 'd':
    case '%':
        if (b == 0 || b == -1)
            return NULL;
        result = code == 'd' ? a / b : a % b;
        if (a % b != 0 && (a < 0) != (b < 0))
            result += code == 'd' ? -1 : b;
        break;
    COMPARISON_CASES(a, b)
    }
    PyObject *new = PyArrayScalar_New(Int64);
    if (new)
        PyArrayScalar_ASSIGN(new, Int64, result);
    return new;
}

/* The value of a Scalar if it is available and not weakly typed; else NULL. Borrowed. */
static inline PyObject *value_of_scalar(PyObject *x)
{
    PyObject *node = OF(x, Array, _node);
    if (!node || !PyList_CheckExact(node) || PyList_GET_SIZE(node) != NODE_SIZE)
        return NULL;
    PyObject *value = PyList_GET_ITEM(node, VALUE);
    if (value == Py_None)
        return NULL;
    PyObject *aval = aval_of_number(value);
    return aval && aval == known(node) ? value : NULL;
}

/* The number of an array without axes, if it is available and no complex number; else NULL.
   Borrowed. */
static inline PyObject *number_behind(PyObject *x)
{
    PyObject *node = node_of(x), *value = node ? PyList_GET_ITEM(node, VALUE) : Py_None;
    if (value == Py_None || is_memory(value) || PyArray_IsScalar(value, ComplexFloating))
        return NULL;
    PyObject *aval = aval_of_number(value);
    return aval && aval == known(node) ? value : NULL;
}

static PyObject *of_scalars(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *names)
{
    Front *front = (Front *)self;
    Py_ssize_t n = PyVectorcall_NARGS(nargsf);
    PyObject *values[2] = {NULL}, *result = NULL, *aval;
    double a, b;
    npy_int64 whole, other;
    int again = 0;
    if (n != front->operands || names || !nothing_staged() || watched())
        return hand_on(front, args, nargsf, names);
    if (n == 2 && (carries_tangent(args[0]) || (is_scalar(args[0]) && carries_tangent(args[1]))) &&
        (is_scalar(args[1]) || is_array(args[1]) || is_python_number(args[1])))
        return PyObject_Vectorcall(front->operator, args, n, NULL);
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *x = args[i];
        PyObject *value = is_scalar(x) ? value_of_scalar(x) : NULL;
        if (!value && i && (is_python_number(x) || aval_of_number(x)))
            value = x;
        if (!value && i && is_array(x))
            return PyObject_Vectorcall(front->operator, args, n, NULL);
        if (!value)
            return hand_on(front, args, nargsf, names);
        values[front->swap ? n - 1 - i : i] = value;
    }
    if (n == 2 && as_int64(values[0], &whole) && as_int64(values[1], &other))
        result = of_int64s(front->symbol, whole, other);
    else if (n == 2 && as_exact_double(values[0], &a) && as_exact_double(values[1], &b))
        result = of_doubles(front->symbol, a, b);
    else if (n == 1 && as_double(values[0], &a))
        result = of_double(front->symbol, a);
    if (!result && !PyErr_Occurred()) {
        Py_INCREF(values[0]);
        Py_XINCREF(values[1]);
        result = quiet(front->quiet, front->function, values, n, &again);
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

/* `float`, `int`, `bool`, `index`, `hash`, `repr`, `str` and `format` of an available Scalar. */
static PyObject *converted(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *names)
{
    Front *front = (Front *)self;
    Py_ssize_t n = PyVectorcall_NARGS(nargsf);
    double number;
    if (n < 1 || (n != 1 && n != front->operands) || names || !the.staged ||
        (!is_scalar(args[0]) && !is_array(args[0])))
        return hand_on(front, args, nargsf, names);
    PyObject *value = is_scalar(args[0]) ? value_of_scalar(args[0]) : number_behind(args[0]);
    if (value && is_array(args[0]) && front->symbol == 'i' && !PyArray_IsScalar(value, Integer))
        value = NULL; /* NumPy's message is another than for its scalars */
    if (!value)
        return hand_on(front, args, nargsf, names);
    if (n == 2) {
        PyObject *both[2] = {Py_NewRef(value), args[1]}, *text;
        text = PyObject_Vectorcall(front->function, both, 2, NULL);
        Py_DECREF(value);
        return text;
    }
    if (front->function == (PyObject *)&PyFloat_Type && as_double(value, &number))
        return PyFloat_FromDouble(number);
    if (front->function == (PyObject *)&PyBool_Type && PyArray_IsScalar(value, Bool))
        return PyBool_FromLong(PyArrayScalar_VAL(value, Bool));
    Py_INCREF(value);
    PyObject *out = PyObject_CallOneArg(front->function, value);
    Py_DECREF(value);
    return out;
}
