/* Fronts: available scalars. See core.h. */

#pragma once

#include "core.h"
#include "tangents.h"

/* -- available scalars: `_scalars` ------------------------------------------------------------- */

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

/* Convert a Python or NumPy integer to a C integer, if it fits. */
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

/* A float32, or a float or small int of Python's, which becomes one beside it. */
static inline int as_float(PyObject *x, float *value)
{
    npy_int64 whole;
    if (Py_TYPE(x) == &PyFloatArrType_Type)
        *value = PyArrayScalar_VAL(x, Float);
    else if (PyFloat_CheckExact(x))
        *value = (float)PyFloat_AS_DOUBLE(x);
    else if (PyLong_CheckExact(x) && as_int64(x, &whole) && whole <= 1 << 24 && whole >= -(1 << 24))
        *value = (float)whole;
    else
        return 0;
    return 1;
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

/* A complex number of NumPy's or Python's, or a real one that is converted to it exactly. */
static inline int as_exact_complex(PyObject *x, npy_cdouble *value)
{
    double real, imag = 0;
    if (Py_TYPE(x) == &PyCDoubleArrType_Type) {
        *value = PyArrayScalar_VAL(x, CDouble);
        return 1;
    }
    if (PyComplex_CheckExact(x)) {
        real = PyComplex_RealAsDouble(x);
        imag = PyComplex_ImagAsDouble(x);
    } else if (!as_exact_double(x, &real)) {
        return 0;
    }
    npy_csetreal(value, real);
    npy_csetimag(value, imag);
    return 1;
}

/* The comparisons of two numbers of one C type. Of other operators the result is NULL, without an
   error. */
#define COMPARISON_CASES(a, b)                                                                     \
    case '<': return scalar_of_truth(a < b);                                                       \
    case '>': return scalar_of_truth(a > b);                                                       \
    case 'l': return scalar_of_truth(a <= b);                                                      \
    case 'g': return scalar_of_truth(a >= b);                                                      \
    case '=': return scalar_of_truth(a == b);                                                      \
    case '!': return scalar_of_truth(a != b);                                                      \
    default: return NULL;

/* The Scalar that a comparison of two ints of any types gives. NULL for other operators. */
static inline PyObject *compared_integers(int code, long long a, long long b)
{
    switch (code) {
    COMPARISON_CASES(a, b)
    }
}

/* Whether NumPy warns of this result of two numbers: it is nan, or infinite, and they are not. */
static inline int is_odd(double result, double a, double b)
{
    return !isfinite(result) &&
           (isnan(result) ? !isnan(a) && !isnan(b) : isfinite(a) && isfinite(b)) &&
           !errors_are_ignored();
}

/* The Scalar that an operator gives of two float32s. NULL for other operators. */
static inline PyObject *of_floats32(int code, float a, float b)
{
    switch (code) {
    case '+': return is_odd(a + b, a, b) ? NULL : scalar_of_float(a + b);
    case '-': return is_odd(a - b, a, b) ? NULL : scalar_of_float(a - b);
    case '*': return is_odd(a * b, a, b) ? NULL : scalar_of_float(a * b);
    case '/': return is_odd(a / b, a, b) ? NULL : scalar_of_float(a / b);
    COMPARISON_CASES(a, b)
    }
}

/* The bitwise operators, by Python's function. NULL for others: none of them warns. */
static inline binaryfunc bitwise(int code)
{
    switch (code) {
    case '&': return PyNumber_And;
    case '|': return PyNumber_Or;
    case 'x': return PyNumber_Xor;
    case 'L': return PyNumber_Lshift;
    case 'R': return PyNumber_Rshift;
    default: return NULL;
    }
}

/* NumPy's floor division and remainder of finite doubles, of which the second is not 0. NULL where
   NumPy warns. */
static inline PyObject *floor_of_doubles(int code, double a, double b)
{
    double rest = fmod(a, b), whole = (a - rest) / b;
    if (!isfinite(whole)) /* NumPy warns */
        return NULL;
    if (rest == 0) {
        rest = copysign(0.0, b);
    } else if ((b < 0) != (rest < 0)) {
        rest += b;
        whole -= 1.0;
    }
    if (code == '%')
        return scalar_of_double(rest);
    double down = floor(whole);
    return scalar_of_double(whole == 0 ? copysign(0.0, a / b) : down + (whole - down > 0.5));
}

static inline PyObject *unless_odd(double result, double a, double b)
{
    return is_odd(result, a, b) ? NULL : scalar_of_double(result);
}

/* The Scalar that an operator gives of two doubles, by IEEE arithmetic. NULL for other operators, and
   where NumPy warns, or an error. Call it only if nothing watches for floating-point errors. */
static inline PyObject *of_doubles(int code, double a, double b)
{
    switch (code) {
    case '+': return unless_odd(a + b, a, b);
    case '-': return unless_odd(a - b, a, b);
    case '*': return unless_odd(a * b, a, b);
    case '/': return unless_odd(a / b, a, b);
    case '^': return unless_odd(pow(a, b), a, b);
    case 'd':
    case '%': return b != 0 && isfinite(a) && isfinite(b) ? floor_of_doubles(code, a, b) : NULL;
    COMPARISON_CASES(a, b)
    }
}

static inline PyObject *complex_of(double real, double imag)
{
    npy_cdouble value;
    npy_csetreal(&value, real);
    npy_csetimag(&value, imag);
    return scalar_of_complex(value);
}

/* NumPy's quotient: that of R. L. Smith, Algorithm 116 (1962). */
static inline PyObject *quotient(double ar, double ai, double br, double bi)
{
    if (fabs(br) >= fabs(bi)) {
        if (br == 0 && bi == 0)
            return complex_of(ar / fabs(br), ai / fabs(br));
        double ratio = bi / br, scale = 1.0 / (br + bi * ratio);
        return complex_of((ar + ai * ratio) * scale, (ai - ar * ratio) * scale);
    }
    double ratio = br / bi, scale = 1.0 / (bi + br * ratio);
    return complex_of((ar * ratio + ai) * scale, (ai * ratio - ar) * scale);
}

/* A float64 times a complex number. NULL where a part is 0. */
static inline PyObject *of_scaled(double a, npy_cdouble b)
{
    double real = a * npy_creal(b) - 0.0 * npy_cimag(b), imag = a * npy_cimag(b) + 0.0 * npy_creal(b);
    return real == 0 || imag == 0 ? NULL : complex_of(real, imag);
}

/* The Scalar that an operator gives of one complex number, or of two. NULL for other operators. */
static inline PyObject *of_complex(int code, npy_cdouble a)
{
    double real = npy_creal(a), imag = npy_cimag(a);
    return code == '-'   ? complex_of(-real, -imag)
           : code == 'a' ? scalar_of_double(hypot(real, imag))
                         : NULL;
}

static inline PyObject *of_complexes(int code, npy_cdouble a, npy_cdouble b)
{
    double ar = npy_creal(a), ai = npy_cimag(a), br = npy_creal(b), bi = npy_cimag(b);
    switch (code) {
    case '+': return complex_of(ar + br, ai + bi);
    case '-': return complex_of(ar - br, ai - bi);
    case '*': return complex_of(ar * br - ai * bi, ar * bi + ai * br);
    case '/': return quotient(ar, ai, br, bi);
    case '^':
        return br == 2 && bi == 0 && (ar != 0 || ai != 0)
                   ? complex_of(ar * ar - ai * ai, ar * ai + ai * ar)
                   : NULL;
    case '=': return scalar_of_truth(ar == br && ai == bi);
    case '!': return scalar_of_truth(ar != br || ai != bi);
    default: return NULL;
    }
}

#ifdef __GNUC__
#define OVERFLOWS(operation, a, b, result) __builtin_##operation##_overflow(a, b, result)
#else
#define OVERFLOWS(operation, a, b, result) 1
#endif

/* A power of an int; NULL where it overflows. */
static inline PyObject *power_of_int64(npy_int64 base, npy_int64 exponent)
{
    npy_int64 result = 1;
    if (exponent < 0)
        return NULL;
    for (;;) {
        if ((exponent & 1) && OVERFLOWS(mul, result, base, &result))
            return NULL;
        exponent >>= 1;
        if (!exponent)
            return scalar_of_int64(result);
        if (OVERFLOWS(mul, base, base, &base))
            return NULL;
    }
}

/* The integer that an operator gives of one or of two. Whether int64 holds it, and NumPy need not
   warn; also not for other operators. */
static inline int integer_of_one(int code, npy_int64 a, npy_int64 *result)
{
    if (code == '~')
        *result = ~a;
    else if ((code == '-' || code == 'a') && a != NPY_MIN_INT64)
        *result = code == '-' || a < 0 ? -a : a;
    else
        return 0;
    return 1;
}

static inline int integer_of_two(int code, npy_int64 a, npy_int64 b, npy_int64 *result)
{
    switch (code) {
    case '+': return !OVERFLOWS(add, a, b, result);
    case '-': return !OVERFLOWS(sub, a, b, result);
    case '*': return !OVERFLOWS(mul, a, b, result);
    case 'd':
    case '%':
        if (b == 0 || b == -1)
            return 0;
        *result = code == 'd' ? a / b : a % b;
        if (a % b != 0 && (a < 0) != (b < 0))
            *result += code == 'd' ? -1 : b;
        return 1;
    case '&': *result = a & b; return 1;
    case '|': *result = a | b; return 1;
    case 'x': *result = a ^ b; return 1;
    default: return 0;
    }
}

/* What is left of a sum, a difference or a product that overflows, where nobody wants to know of it:
   its last bits. Whether it is one. */
static inline int wrapped(int code, npy_uint64 a, npy_uint64 b, npy_uint64 *result)
{
    if (code != '+' && code != '-' && code != '*')
        return 0;
    *result = code == '+' ? a + b : code == '-' ? a - b : a * b;
    return are_ignored(OVER);
}

/* The Scalar that an operator gives of two ints. NULL where NumPy may warn, too. */
static inline PyObject *of_int64s(int code, npy_int64 a, npy_int64 b)
{
    npy_int64 result;
    npy_uint64 rest;
    if (integer_of_two(code, a, b, &result))
        return scalar_of_int64(result);
    if (wrapped(code, a, b, &rest))
        return scalar_of_int64((npy_int64)rest);
    switch (code) {
    case '/': return b == 0 ? NULL : scalar_of_double((double)a / (double)b);
    case '^': return power_of_int64(a, b);
    case 'L': return b < 0 || b > 63 ? NULL : scalar_of_int64((npy_int64)((npy_uint64)a << b));
    case 'R': return b < 0 || b > 63 ? NULL : scalar_of_int64(a >> b);
    COMPARISON_CASES(a, b)
    }
}

/* The same of one int. */
static inline PyObject *of_int64(int code, npy_int64 a)
{
    npy_int64 result;
    return integer_of_one(code, a, &result) ? scalar_of_int64(result) : NULL;
}

/* An unsigned int of 64 bits, or an int of Python's, which becomes one beside it. */
static inline int as_uint64(PyObject *x, npy_uint64 *value)
{
    if (Py_TYPE(x) == &PyUInt64ArrType_Type) {
        *value = PyArrayScalar_VAL(x, UInt64);
        return 1;
    }
    if (!PyLong_CheckExact(x))
        return 0;
    *value = PyLong_AsUnsignedLongLong(x);
    if (*value != (npy_uint64)-1 || !PyErr_Occurred())
        return 1;
    PyErr_Clear(); /* it is negative, or too large */
    return 0;
}

/* The Scalar that an operator gives of two such ints, or of one. NULL as above. */
static PyObject *of_uint64s(int code, npy_uint64 a, npy_uint64 b)
{
    npy_uint64 result;
    switch (code) {
    case '+': return a + b >= a || are_ignored(OVER) ? scalar_of_uint64(a + b) : NULL;
    case '-': return a >= b || are_ignored(OVER) ? scalar_of_uint64(a - b) : NULL;
    case '*':
        return !OVERFLOWS(mul, a, b, &result) || are_ignored(OVER) ? scalar_of_uint64(a * b) : NULL;
    case '/': return b == 0 ? NULL : scalar_of_double((double)a / (double)b);
    case 'd': return b == 0 ? NULL : scalar_of_uint64(a / b);
    case '%': return b == 0 ? NULL : scalar_of_uint64(a % b);
    case '&': return scalar_of_uint64(a & b);
    case '|': return scalar_of_uint64(a | b);
    case 'x': return scalar_of_uint64(a ^ b);
    case 'L': return b > 63 ? NULL : scalar_of_uint64(a << b);
    case 'R': return b > 63 ? NULL : scalar_of_uint64(a >> b);
    COMPARISON_CASES(a, b)
    }
}

static inline PyObject *of_uint64(int code, npy_uint64 a)
{
    return code == '~'   ? scalar_of_uint64(~a)
           : code == '-' ? of_uint64s(code, 0, a)
           : code == 'a' ? scalar_of_uint64(a)
                         : NULL;
}

/* The Scalar that a bitwise operator gives of two truths. NULL for other operators. */
static inline PyObject *of_truths(int code, int a, int b)
{
    switch (code) {
    case '&': return scalar_of_truth(a & b);
    case '|': return scalar_of_truth(a | b);
    case 'x':
    case '!': return scalar_of_truth(a ^ b);
    case '=': return scalar_of_truth(a == b);
    default: return NULL;
    }
}

/* The least and the greatest of an integer type smaller than int64. Whether it is one. */
static inline int ends_of(int type, long long *least, long long *most)
{
    int bits = type == NPY_BYTE || type == NPY_UBYTE ? 8 : type == NPY_SHORT || type == NPY_USHORT ? 16
               : type == NPY_INT || type == NPY_UINT ? 32 : 0;
    int is_signed = type == NPY_BYTE || type == NPY_SHORT || type == NPY_INT;
    *most = (1LL << (bits - is_signed)) - 1;
    *least = is_signed ? -*most - 1 : 0;
    return bits != 0;
}

/* The number of such an integer's type; else NPY_NOTYPE. */
static inline int small_type_of(PyObject *x)
{
    PyTypeObject *type = Py_TYPE(x);
    return type == &PyUByteArrType_Type    ? NPY_UBYTE
           : type == &PyIntArrType_Type    ? NPY_INT
           : type == &PyByteArrType_Type   ? NPY_BYTE
           : type == &PyShortArrType_Type  ? NPY_SHORT
           : type == &PyUShortArrType_Type ? NPY_USHORT
           : type == &PyUIntArrType_Type   ? NPY_UINT
                                           : NPY_NOTYPE;
}

/* The Scalar that an operator gives of one or two integers of one such type; a Python int beside one
   takes its type. NULL where NumPy must say: other types, other operators, overflow. */
static PyObject *of_small_integers(int code, PyObject *const *values, Py_ssize_t n)
{
    int type = small_type_of(values[0]), other = n == 2 ? small_type_of(values[1]) : type;
    long long a, b = 0, least, most;
    npy_int64 result;
    if (type == NPY_NOTYPE && PyLong_CheckExact(values[0]))
        type = other;
    if (n == 2 && other == NPY_NOTYPE && PyLong_CheckExact(values[1]))
        other = type;
    if (type != other || !ends_of(type, &least, &most) || !as_integer(values[0], &a) || a < least ||
        a > most || (n == 2 && (!as_integer(values[1], &b) || b < least || b > most)))
        return NULL;
    if (n == 2 && code == '/')
        return b == 0 ? NULL : scalar_of_double((double)a / (double)b);
    if (n == 2 && (code == 'L' || code == 'R'))
        return b < 0 || b > 31 || (most - least) >> b == 0
                   ? NULL
                   : scalar_of_integer(type, code == 'R' ? a >> b : (long long)((npy_uint64)a << b));
    npy_uint64 rest;
    if (!(n == 1 ? integer_of_one(code, a, &result) : integer_of_two(code, a, b, &result)))
        return n == 2 && wrapped(code, a, b, &rest) ? scalar_of_integer(type, (long long)rest) : NULL;
    if (n == 1 && code == '~' && !least)
        result &= most; /* of an unsigned type */
    if ((result < least || result > most) && !are_ignored(OVER))
        return NULL;
    return scalar_of_integer(type, result);
}

/* The value of an array's or Scalar's node on the host, borrowed from the node: what a program gave is
   brought there. NULL: an error. */
static PyObject *value_on_host(PyObject *node)
{
    PyObject *value = PyList_GET_ITEM(node, VALUE);
    if (!the.buffers || Py_TYPE(value) != the.buffers || is_staged())
        return value;
    Py_INCREF(node);
    PyObject *found = PyObject_CallOneArg(the.host, node);
    value = found ? PyList_GET_ITEM(node, VALUE) : NULL;
    Py_XDECREF(found);
    Py_DECREF(node);
    return value;
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

/* The Scalar that an operator gives of one or two numbers. NULL where NumPy must say, or an error. */
static ALONE PyObject *of_values(int code, PyObject *const *values, Py_ssize_t n)
{
    double a, b;
    npy_int64 whole, other;
    npy_uint64 large, another;
    long long one, two;
    float x, y;
    npy_cdouble z, w;
    if (n == 1 && Py_TYPE(values[0]) == &PyCDoubleArrType_Type)
        return of_complex(code, PyArrayScalar_VAL(values[0], CDouble));
    if (n == 1 && as_double(values[0], &a) && (code == '-' || code == 'a'))
        return scalar_of_double(code == '-' ? -a : fabs(a));
    if (n == 1 && Py_TYPE(values[0]) == &PyUInt64ArrType_Type)
        return of_uint64(code, PyArrayScalar_VAL(values[0], UInt64));
    if (n == 1)
        return Py_TYPE(values[0]) == &PyInt64ArrType_Type
                   ? of_int64(code, PyArrayScalar_VAL(values[0], Int64))
                   : of_small_integers(code, values, n);
    if (Py_TYPE(values[0]) == &PyBoolArrType_Type && Py_TYPE(values[1]) == &PyBoolArrType_Type)
        return of_truths(code, PyArrayScalar_VAL(values[0], Bool), PyArrayScalar_VAL(values[1], Bool));
    if (as_int64(values[0], &whole) && as_int64(values[1], &other))
        return of_int64s(code, whole, other);
    if ((Py_TYPE(values[0]) == &PyUInt64ArrType_Type || Py_TYPE(values[1]) == &PyUInt64ArrType_Type) &&
        as_uint64(values[0], &large) && as_uint64(values[1], &another))
        return of_uint64s(code, large, another);
    if (as_exact_double(values[0], &a) && as_exact_double(values[1], &b))
        /* NumPy's loop for powers of an int64, or to one, rounds the last bit otherwise */
        return code == '^' && (Py_TYPE(values[0]) == &PyInt64ArrType_Type ||
                               Py_TYPE(values[1]) == &PyInt64ArrType_Type)
                   ? NULL
                   : of_doubles(code, a, b);
    if (as_exact_complex(values[0], &z) && as_exact_complex(values[1], &w)) {
        /* a complex number of Python's beside a float64, which is a float, is Python's */
        if (PyComplex_CheckExact(values[0]) && Py_TYPE(values[1]) == &PyDoubleArrType_Type)
            return NULL;
        /* NumPy's loop may fuse these, so that the sign of what underflows to 0 is another */
        forget_flags();
        PyObject *out = code == '*' && Py_TYPE(values[0]) == &PyDoubleArrType_Type
                            ? of_scaled(npy_creal(z), w)
                            : of_complexes(code, z, w);
        if (out && has_errors()) /* NumPy warns */
            Py_CLEAR(out);
        return out;
    }
    if (as_float(values[0], &x) && as_float(values[1], &y))
        return of_floats32(code, x, y);
    PyObject *small = of_small_integers(code, values, n);
    if (small || PyErr_Occurred())
        return small;
    if (as_integer(values[0], &one) && as_integer(values[1], &two))
        return compared_integers(code, one, two);
    return NULL;
}

/* The same where floating-point errors matter. NULL if there was one: then NumPy does it again, under
   the user's state. No destructor of the user's may compute in between. */
static PyObject *unless_noticed(int code, PyObject *const *values, Py_ssize_t n)
{
    int collecting = PyGC_Disable();
    forget_flags();
    PyObject *out = of_values(code, values, n);
    int noticed = has_flags();
    if (collecting)
        PyGC_Enable();
    if (out && noticed)
        Py_CLEAR(out);
    return out;
}

static PyObject *of_scalars(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *names)
{
    Front *front = (Front *)self;
    Py_ssize_t n = PyVectorcall_NARGS(nargsf);
    PyObject *values[2] = {NULL}, *result = NULL, *aval;
    int again = 0;
    if (n != front->operands || names || !nothing_staged() || watches_nans())
        return hand_on(front, args, nargsf, names);
    if (n == 2 && !watched() &&
        (carries_tangent(args[0]) || (is_scalar(args[0]) && carries_tangent(args[1]))) &&
        (is_scalar(args[1]) || is_array(args[1]) || is_python_number(args[1])))
        return PyObject_Vectorcall(front->operator, args, n, NULL);
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *x = args[i];
        PyObject *value = is_scalar(x) ? value_of_scalar(x) : NULL;
        if (!value && i && (is_python_number(x) || aval_of_number(x)))
            value = x;
        if (!value && i && is_array(x) && !watched())
            return PyObject_Vectorcall(front->operator, args, n, NULL);
        if (!value)
            return hand_on(front, args, nargsf, names);
        values[front->swap ? n - 1 - i : i] = value;
    }
    PyObject *out = watched() ? unless_noticed(front->symbol, values, n)
                              : of_values(front->symbol, values, n);
    if (out)
        return out;
    if (watched())
        return hand_on(front, args, nargsf, names);
    binaryfunc numpys = bitwise(front->symbol);
    if (!PyErr_Occurred()) {
        Py_INCREF(values[0]);
        Py_XINCREF(values[1]);
        result = numpys ? numpys(values[0], values[1])
                        : quiet(front->quiet, front->function, values, n, &again);
        Py_DECREF(values[0]);
        Py_XDECREF(values[1]);
    }
    if (!result)
        return again ? hand_on(front, args, nargsf, names) : NULL;
    if (PyComplex_CheckExact(result)) /* of a complex and a float64, which is a float: Python's */
        return result;
    aval = aval_of_number(result);
    out = aval ? scalar(result, aval) : NULL;
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
