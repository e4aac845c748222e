/* NumPy's inner loops on arrays, without the ufunc around them. See core.h.

   A ufunc takes some 150 ns to find the loop for its operands, and to look at the error state. Its
   iterator takes some 20 ns for each row of a part of a plane. Here the memo table of a front tells
   what the operands are, and a walk over the rows is a few additions. The loop, and so each bit of the
   result, is the one that NumPy takes. */

#pragma once

#include "core.h"

/* Elements. Results above LOOPED make up for the time of the ufunc. Those above HELD are computed while
   other threads go on, and take the memory of a temporary. */
enum { LOOPED = 1 << 20, HELD = 4096 };

/* Without the interpreter's lock, where that takes long. */
#define BEGIN_LONG(elements) PyThreadState *state_ = (elements) > HELD ? PyEval_SaveThread() : NULL;
#define END_LONG                                                                                   \
    if (state_)                                                                                    \
        PyEval_RestoreThread(state_);

/* A new array in C order. */
static PyObject *new_memory(int type, int ndim, const npy_intp *dims)
{
    return PyArray_NewFromDescr(&PyArray_Type, PyArray_DescrFromType(type), ndim, dims, NULL, NULL, 0, NULL);
}

/* Whether this file takes Python's numbers of a class as elements of this type. */
static inline int takes_numbers(PyTypeObject *class, int type)
{
    if (type == NPY_CDOUBLE || class == &PyComplex_Type)
        return type == NPY_CDOUBLE;
    return type == NPY_DOUBLE || type == NPY_FLOAT ||
           (type == NPY_LONG && class == &PyLong_Type);
}

/* Whether a front knows an operand by this because it is a number of Python's. */
static inline int is_known_python(PyObject *known)
{
    return known == (PyObject *)&PyFloat_Type || known == (PyObject *)&PyLong_Type ||
           known == (PyObject *)&PyComplex_Type;
}

/* The type number of an operand that a front knows by `known` beside one known by `other`; -1: none
   that this file handles. */
static int type_of(PyObject *known, PyObject *other)
{
    int python = is_known_python(known);
    PyObject *aval = python ? other : known;
    if (!aval || Py_TYPE(aval) != (PyTypeObject *)the.Aval || OF(aval, Aval, traced) == Py_True)
        return -1;
    PyArray_Descr *dtype = (PyArray_Descr *)OF(aval, Aval, dtype);
    if (!PyArray_DescrCheck(dtype) || !PyArray_ISNBO(dtype->byteorder))
        return -1;
    int type = dtype->type_num;
    if (!is_number_type(type) || (python && !takes_numbers((PyTypeObject *)known, type)))
        return -1;
    return type;
}

enum { OF_FLOAT = 100, OF_INT, OF_COMPLEX };

static inline int kind_of_python(PyObject *known)
{
    return known == (PyObject *)&PyFloat_Type  ? OF_FLOAT
           : known == (PyObject *)&PyLong_Type ? OF_INT
                                               : OF_COMPLEX;
}

/* All that a loop depends on, of an operand that a front knows by this: its type, or that it is
   Python's; never 0. */
static inline int kind_of(PyObject *known, PyObject *other)
{
    int type = type_of(known, other);
    if (type < 0 || Py_TYPE(known) == (PyTypeObject *)the.Aval)
        return type < 0 ? -1 : type + 1;
    return kind_of_python(known);
}

/* Functions of real numbers whose results are exact or correctly rounded, zeros and NaNs included. The
   others' vectors and scalars may differ, so the order of a walk shows in their results. */
static const char *ROUNDED[] = {
    "absolute", "add", "bitwise_and", "bitwise_or", "bitwise_xor", "ceil", "divide", "equal",
    "fabs", "floor", "greater", "greater_equal", "invert", "isfinite", "isinf", "isnan",
    "left_shift", "less", "less_equal", "logical_and", "logical_not", "logical_or", "logical_xor",
    "multiply", "negative", "not_equal", "positive", "right_shift", "rint", "sign", "sqrt",
    "square", "subtract", "trunc",
};

static int is_rounded(const char *name, int type)
{
    if (PyTypeNum_ISCOMPLEX(type))
        return !strcmp(name, "add") || !strcmp(name, "subtract") || !strcmp(name, "negative");
    if (type == NPY_HALF)
        return 0;
    if (!strcmp(name, "maximum") || !strcmp(name, "minimum")) /* of floats, zeros may have either sign */
        return PyTypeNum_ISINTEGER(type);
    for (size_t i = 0; i < sizeof(ROUNDED) / sizeof(ROUNDED[0]); i++)
        if (!strcmp(ROUNDED[i], name))
            return 1;
    return 0;
}

/* Find the loop of a function for `operands` of one type, with this type of result. */
static void find_loop(Loop *it, PyObject *function, int operands, int type, int out)
{
    PyUFuncObject *ufunc = (PyUFuncObject *)function;
    it->type = type;
    it->out = out;
    it->rounded = 0;
    it->loop = NULL;
    if (type < 0 || out < 0 || !PyObject_TypeCheck(function, &PyUFunc_Type) ||
        ufunc->core_enabled || ufunc->nout != 1 || ufunc->nin != operands)
        return;
    for (int i = 0; i < ufunc->ntypes && !it->loop; i++) {
        const char *types = ufunc->types + i * ufunc->nargs;
        if (types[0] == type && types[operands - 1] == type && types[operands] == out) {
            it->data = ufunc->data ? ufunc->data[i] : NULL;
            it->loop = ufunc->functions[i];
            it->called = ufunc->name;
            it->integers = PyTypeNum_ISINTEGER(type) && !strcmp(ufunc->name, "floor_divide");
            it->rounded = is_rounded(ufunc->name, type);
        }
    }
}

/* A number as an element of any of these types. */
typedef union {
    double real;
    float single;
    npy_long integer;
    npy_cdouble pair;
} Number;

/* Whether memory holds numbers of this type as C does. */
static inline int is_of(PyArrayObject *memory, int type)
{
    return PyArray_TYPE(memory) == type && PyArray_ISBEHAVED_RO(memory);
}

/* Whether NumPy takes this number as an element of this type, beside an array of that type. */
static int is_number_of(PyObject *x, int type)
{
    if (PyFloat_CheckExact(x) || PyLong_CheckExact(x) || PyComplex_CheckExact(x))
        return takes_numbers(Py_TYPE(x), type);
    PyObject *aval = is_python_number(x) ? NULL : aval_of_number(x);
    return aval && type_of(aval, NULL) == type;
}

/* Take a number as an element of this type; whether that worked. A NumPy scalar has the type. */
static int take_number(PyObject *x, int type, Number *number)
{
    if (!is_python_number(x)) {
        PyArray_ScalarAsCtype(x, number);
        return 1;
    }
    if (PyLong_CheckExact(x)) {
        int overflow = 0;
        number->integer = PyLong_AsLongAndOverflow(x, &overflow);
        if (overflow || type == NPY_LONG)
            return !overflow;
    }
    if (PyComplex_CheckExact(x)) {
        Py_complex pair = PyComplex_AsCComplex(x);
        memcpy(&number->pair, &pair, sizeof pair);
        return 1;
    }
    double real = PyFloat_CheckExact(x) ? PyFloat_AS_DOUBLE(x) : PyLong_AsDouble(x);
    if (type == NPY_CDOUBLE)
        memcpy(&number->pair, (double[]){real, 0.0}, sizeof number->pair);
    else if (type == NPY_FLOAT)
        number->single = (float)real;
    else
        number->real = real;
    return 1;
}

enum { OPERANDS = 3, AXES = 4 };

/* What a loop runs over: the result's axes. The last operand is the result. */
typedef struct {
    int ndim;
    npy_intp dims[AXES];
    char *at[OPERANDS];
    npy_intp strides[AXES][OPERANDS];
} Walk;

/* Walk over all elements as one axis, if all arrays have one shape and lie in C order, or have one
   axis. Returns one of them; NULL: that is not so. */
static PyArrayObject *walk_flat(Walk *walk, PyObject *const *values, Py_ssize_t n, int type)
{
    PyArrayObject *like = NULL;
    for (Py_ssize_t i = 0; i < n; i++) {
        PyArrayObject *memory = (PyArrayObject *)values[i];
        if (!is_memory(values[i]))
            continue;
        int ndim = PyArray_NDIM(memory);
        if (!ndim || (ndim > 1 && !PyArray_IS_C_CONTIGUOUS(memory)) || !is_of(memory, type))
            return NULL;
        if (like && (PyArray_NDIM(like) != ndim ||
                     memcmp(PyArray_DIMS(like), PyArray_DIMS(memory), ndim * sizeof(npy_intp))))
            return NULL;
        like = memory;
        walk->at[i] = PyArray_BYTES(memory);
        walk->strides[0][i] = ndim == 1 ? PyArray_STRIDE(memory, 0) : PyArray_ITEMSIZE(memory);
    }
    walk->ndim = 1;
    walk->dims[0] = like ? PyArray_SIZE(like) : 0;
    return like && walk->dims[0] && walk->dims[0] <= LOOPED ? like : NULL;
}

/* Set the strides of an operand, broadcast to the walk's axes. Returns whether NumPy would walk it
   in C order: then its result lies in C order too. */
static int walks_over(Walk *walk, PyArrayObject *memory, Py_ssize_t which, int type)
{
    npy_intp before = NPY_MAX_INTP;
    int missing = walk->ndim - PyArray_NDIM(memory);
    if (missing < 0 || !is_of(memory, type))
        return 0;
    walk->at[which] = PyArray_BYTES(memory);
    for (int axis = 0; axis < walk->ndim; axis++) {
        npy_intp dim = axis < missing ? 1 : PyArray_DIM(memory, axis - missing);
        npy_intp stride = dim == 1 ? 0 : PyArray_STRIDE(memory, axis - missing);
        walk->strides[axis][which] = stride;
        if ((dim != 1 && dim != walk->dims[axis]) || stride < 0 || (stride && stride >= before))
            return 0;
        before = stride ? stride : before;
    }
    return 1;
}

/* Walk over these axes. Returns whether NumPy walks so. */
static int walk_axes(Walk *walk, PyObject *const *values, Py_ssize_t n, int type)
{
    npy_intp size = 1;
    for (int axis = 0; axis < walk->ndim; axis++) {
        if (walk->dims[axis] < 1 || walk->dims[axis] > LOOPED)
            return 0;
        size *= walk->dims[axis];
    }
    for (Py_ssize_t i = 0; i < n; i++)
        if (is_memory(values[i]) && !walks_over(walk, (PyArrayObject *)values[i], i, type))
            return 0;
    return walk->ndim && size <= LOOPED;
}

/* Drop axes of one element, and make one of two that follow each other in all arrays, as NumPy's
   iterator does: its inner loops are as long. */
static void merge_axes(Walk *walk)
{
    int last = walk->ndim - 1;
    for (int axis = last - 1; axis >= 0; axis--) {
        int single = walk->dims[axis] == 1, follows = 1;
        for (int which = 0; which < OPERANDS; which++)
            follows = follows && walk->strides[axis][which] ==
                                     walk->strides[axis + 1][which] * walk->dims[axis + 1];
        if (!single && !follows && walk->dims[axis + 1] != 1)
            continue;
        if (!single) {
            if (walk->dims[axis + 1] == 1)
                memcpy(walk->strides[axis + 1], walk->strides[axis], sizeof walk->strides[axis]);
            walk->dims[axis + 1] *= walk->dims[axis];
        }
        for (int to = axis; to < last; to++) {
            walk->dims[to] = walk->dims[to + 1];
            memcpy(walk->strides[to], walk->strides[to + 1], sizeof walk->strides[to]);
        }
        last--;
    }
    walk->ndim = last + 1;
}

/* The bytes of an element. */
static inline npy_intp size_of_type(int type)
{
    PyArray_Descr *dtype = PyArray_DescrFromType(type);
    npy_intp size = PyDataType_ELSIZE(dtype);
    Py_DECREF(dtype);
    return size;
}

/* Elements: of a row that is too short for a call of a loop; of one where an element is repeated; of what
   is repeated for one call. */
enum { SHORT_LINE = 128, SHORT_COPIES = 32, REPEATED = 1024 };

#define REPEAT(size)                                                                               \
    for (npy_intp row = 0; row < rows; row++, from += steps[0])                                    \
        if (steps[1])                                                                              \
            for (npy_intp i = 0; i < width; i++, to += size)                                       \
                memcpy(to, from + i * steps[1], size);                                             \
        else {                                                                                     \
            char element[size];                                                                    \
            memcpy(element, from, size);                                                           \
            for (npy_intp i = 0; i < width; i++, to += size)                                       \
                memcpy(to, element, size);                                                         \
        }

/* Write the elements of some short rows one after the other. */
static void repeat(const char *restrict from, const npy_intp *steps, npy_intp rows, npy_intp width,
                   npy_intp size, char *restrict to)
{
    switch (size) {
    case 1: REPEAT(1) break;
    case 2: REPEAT(2) break;
    case 4: REPEAT(4) break;
    case 8: REPEAT(8) break;
    default: REPEAT(sizeof(npy_cdouble))
    }
}

/* Run a loop over several short rows at once, where an operand repeats a row, or an element for each
   row: its elements are copied into a block first, as NumPy's iterator does. 0: nothing was done. */
static int run_short_rows(const Loop *it, const Walk *walk, npy_intp size)
{
    npy_intp rows = walk->dims[0], width = walk->dims[1], strides[OPERANDS];
    char blocks[OPERANDS][REPEATED * sizeof(npy_cdouble)];
    int repeats[OPERANDS], some = 0;
    if (walk->ndim != 2 || width > SHORT_LINE || rows < 4 || !(size <= 8 || size == sizeof(npy_cdouble)))
        return 0;
    npy_intp most = REPEATED / width;
    for (int which = 0; which < OPERANDS; which++) {
        npy_intp steps[2] = {walk->strides[0][which], walk->strides[1][which]};
        repeats[which] = !steps[0] != !steps[1];
        if (repeats[which] ? !steps[1] && width > SHORT_COPIES : steps[0] != steps[1] * width)
            return 0;
        strides[which] = repeats[which] ? size : steps[1];
        some |= repeats[which];
        if (repeats[which] && !steps[0])
            repeat(walk->at[which], steps, most < rows ? most : rows, width, size, blocks[which]);
    }
    for (npy_intp row = 0; some && row < rows; row += most) {
        npy_intp count = rows - row < most ? rows - row : most, n = count * width;
        char *at[OPERANDS];
        for (int which = 0; which < OPERANDS; which++) {
            npy_intp steps[2] = {walk->strides[0][which], walk->strides[1][which]};
            at[which] = repeats[which] ? blocks[which] : walk->at[which] + row * steps[0];
            if (repeats[which] && steps[0])
                repeat(walk->at[which] + row * steps[0], steps, count, width, size, blocks[which]);
        }
        it->loop(at, &n, strides, it->data);
    }
    return some;
}

/* Run a loop over the last axis for each place on the others. It may leave an error. */
static void run_loop(const Loop *found, Walk *walk)
{
    if (walk->ndim > 1)
        merge_axes(walk);
    const Loop it = *found; /* its place may be another's by the time other threads have run */
    npy_intp place[AXES] = {0}, elements = 1, size_of = walk->ndim == 2 ? size_of_type(it.type) : 0;
    int last = walk->ndim - 1, axis;
    for (axis = 0; axis <= last; axis++)
        elements *= walk->dims[axis];
    BEGIN_LONG(elements)
    before_loop(&it);
    if (!run_short_rows(&it, walk, size_of)) do {
        char *at[OPERANDS] = {walk->at[0], walk->at[1], walk->at[2]};
        npy_intp size = walk->dims[last];
        it.loop(at, &size, walk->strides[last], it.data);
        for (axis = last - 1; axis >= 0; axis--) {
            int ends = ++place[axis] == walk->dims[axis];
            npy_intp steps = ends ? 1 - place[axis] : 1;
            for (int which = 0; which < OPERANDS; which++)
                walk->at[which] += steps * walk->strides[axis][which];
            if (!ends)
                break;
            place[axis] = 0;
        }
    } while (axis >= 0);
    END_LONG
    after_loop(&it);
}

/* Let the walk read the operands that are numbers. */
static int walk_numbers(Walk *walk, PyObject *const *values, Py_ssize_t n, int type,
                        Number *numbers)
{
    for (Py_ssize_t i = 0; i < n; i++) {
        if (is_memory(values[i]))
            continue;
        if (!take_number(values[i], type, &numbers[i]))
            return 0;
        walk->at[i] = (char *)&numbers[i];
    }
    return 1;
}

/* Set the walk's axes to those of the result: the operands', broadcast. 0 if they do not fit. */
static int broadcast(Walk *walk, PyObject *const *values, Py_ssize_t n)
{
    for (Py_ssize_t i = 0; i < n; i++)
        if (is_memory(values[i]) && PyArray_NDIM((PyArrayObject *)values[i]) > walk->ndim)
            walk->ndim = PyArray_NDIM((PyArrayObject *)values[i]);
    if (walk->ndim > AXES)
        return 0;
    for (int axis = 0; axis < walk->ndim; axis++)
        walk->dims[axis] = 1;
    for (Py_ssize_t i = 0; i < n; i++) {
        PyArrayObject *memory = (PyArrayObject *)values[i];
        int missing = is_memory(values[i]) ? walk->ndim - PyArray_NDIM(memory) : walk->ndim;
        for (int axis = missing; axis < walk->ndim; axis++)
            if (PyArray_DIM(memory, axis - missing) != 1)
                walk->dims[axis] = PyArray_DIM(memory, axis - missing);
    }
    return 1; /* `walks_over` compares them with each operand */
}

/* Walk over arrays of one shape whose axes lie in another order than C's, the same in all of them; NumPy
   walks so, and its result lies so. `axes`: the order. Where the last bit may depend on the walk, they
   must lie without gaps. Returns one of them; NULL: that is not so. */
static PyArrayObject *walk_permuted(Walk *walk, PyObject *const *values, Py_ssize_t n,
                                    const Loop *it, int *axes)
{
    PyArrayObject *like = NULL;
    npy_intp size = 1;
    for (Py_ssize_t i = 0; i < n; i++) {
        PyArrayObject *memory = (PyArrayObject *)values[i];
        if (!is_memory(values[i]))
            continue;
        int ndim = PyArray_NDIM(memory);
        if (ndim < 2 || ndim > AXES || !is_of(memory, it->type) ||
            (like && !PyArray_SAMESHAPE(like, memory)))
            return NULL;
        for (int axis = 0; !like && axis < ndim; axis++) { /* by insertion, the longest stride first */
            int to = axis;
            for (; to && PyArray_STRIDE(memory, axes[to - 1]) < PyArray_STRIDE(memory, axis); to--)
                axes[to] = axes[to - 1];
            axes[to] = axis;
            size *= PyArray_DIM(memory, axis);
        }
        like = memory;
        walk->ndim = ndim;
        walk->at[i] = PyArray_BYTES(memory);
        npy_intp below = 0, gapless = PyArray_ITEMSIZE(memory);
        for (int k = ndim - 1; k >= 0; k--) {
            npy_intp dim = PyArray_DIM(memory, axes[k]), stride = PyArray_STRIDE(memory, axes[k]);
            if (dim < 2 || stride <= below || (!it->rounded && stride != gapless))
                return NULL;
            walk->dims[k] = dim;
            walk->strides[k][i] = below = stride;
            gapless *= dim;
        }
    }
    return size <= LOOPED ? like : NULL;
}

/* A new array whose axes lie in this order. */
static PyArrayObject *new_permuted(int type, PyArrayObject *like, const int *axes)
{
    PyArray_Descr *dtype = PyArray_DescrFromType(type);
    npy_intp strides[AXES], stride = PyDataType_ELSIZE(dtype);
    for (int k = PyArray_NDIM(like) - 1; k >= 0; k--) {
        strides[axes[k]] = stride;
        stride *= PyArray_DIM(like, axes[k]);
    }
    return (PyArrayObject *)PyArray_NewFromDescr(&PyArray_Type, dtype, PyArray_NDIM(like),
                                                 PyArray_DIMS(like), strides, NULL, 0, NULL);
}

/* The memory for a result of this shape: that of an operand which nobody else has, `into`, if it fits,
   else a new array. An operand is read before its memory is written, element by element. New. */
static PyArrayObject *memory_of_result(PyArrayObject *into, const Loop *it, int ndim,
                                       const npy_intp *dims, int is_flat)
{
    int fits = into && PyArray_TYPE(into) == it->out && it->type == it->out &&
               (is_flat || it->rounded) && PyArray_NDIM(into) == ndim &&
               !memcmp(PyArray_DIMS(into), dims, ndim * sizeof(npy_intp));
    return (PyArrayObject *)(fits ? Py_NewRef(into) : new_memory(it->out, ndim, dims));
}

/* NumPy's result for arrays in another order than C's: see `by_loop`. */
static PyArrayObject *by_permuted_loop(const Loop *it, PyObject *const *values, Py_ssize_t n)
{
    Walk walk = {0};
    Number numbers[2];
    int axes[AXES];
    PyArrayObject *like = walk_permuted(&walk, values, n, it, axes);
    PyArrayObject *out = like && walk_numbers(&walk, values, n, it->type, numbers)
                             ? new_permuted(it->out, like, axes)
                             : NULL;
    if (!out)
        return NULL;
    walk.at[n] = PyArray_BYTES(out);
    for (int k = 0; k < walk.ndim; k++)
        walk.strides[k][n] = PyArray_STRIDE(out, axes[k]);
    run_loop(it, &walk);
    if (PyErr_Occurred())
        Py_CLEAR(out);
    return out;
}

/* NumPy's result, new. `into`: memory of an operand that nobody else has, or NULL. NULL without an
   error: the ufunc must do it. */
static PyArrayObject *by_loop(const Loop *it, PyObject *const *values, Py_ssize_t n,
                              PyArrayObject *into)
{
    Walk walk = {0};
    Number numbers[2];
    PyArrayObject *like = walk_flat(&walk, values, n, it->type);
    if (!like && (!it->rounded || !broadcast(&walk, values, n) ||
                  !walk_axes(&walk, values, n, it->type)))
        return NULL;
    if (!walk_numbers(&walk, values, n, it->type, numbers))
        return NULL;
    PyArrayObject *out = like ? memory_of_result(into, it, PyArray_NDIM(like), PyArray_DIMS(like), 1)
                              : memory_of_result(into, it, walk.ndim, walk.dims, 0);
    if (!out)
        return NULL;
    walk.at[n] = PyArray_BYTES(out);
    for (int axis = 0; axis < walk.ndim; axis++)
        walk.strides[axis][n] = like ? PyArray_ITEMSIZE(out) : PyArray_STRIDE(out, axis);
    run_loop(it, &walk);
    if (PyErr_Occurred()) /* a negative power of an integer */
        Py_CLEAR(out);
    return out;
}

/* Whether no element of one array shares bytes with another element of the other. */
static int may_be_written(PyArrayObject *target, PyArrayObject *other)
{
    npy_intp ends[2];
    PyArrayObject *both[2] = {target, other};
    for (int i = 0; i < 2; i++) {
        ends[i] = PyArray_ITEMSIZE(both[i]);
        for (int axis = 0; axis < PyArray_NDIM(both[i]); axis++) {
            if (PyArray_STRIDE(both[i], axis) < 0)
                return 0;
            ends[i] += (PyArray_DIM(both[i], axis) - 1) * PyArray_STRIDE(both[i], axis);
        }
    }
    char *first = PyArray_BYTES(target), *second = PyArray_BYTES(other);
    int ndim = PyArray_NDIM(target);
    if (first + ends[0] <= second || second + ends[1] <= first)
        return 1;
    return first == second && ndim == PyArray_NDIM(other) &&
           !memcmp(PyArray_DIMS(target), PyArray_DIMS(other), ndim * sizeof(npy_intp)) &&
           !memcmp(PyArray_STRIDES(target), PyArray_STRIDES(other), ndim * sizeof(npy_intp));
}

/* Run `target op= other`; whether that worked. 0 without an error: the ufunc must do it. */
static int looped_into(Front *front, PyArrayObject *target, PyObject *other)
{
    Walk walk = {0};
    Number numbers[2];
    PyObject *values[2] = {(PyObject *)target, other};
    int type = PyArray_TYPE(target);
    Loop *it = &front->loops[type % 8];
    if (PyArray_SIZE(target) > LOOPED || !PyArray_ISWRITEABLE(target) ||
        (is_memory(other) ? !may_be_written(target, (PyArrayObject *)other)
                          : !is_number_of(other, type)))
        return 0;
    if (it->kinds[0] != type + 1) {
        find_loop(it, front->function, 2, type, type);
        it->kinds[0] = type + 1;
    }
    if (!it->loop)
        return 0;
    int flat = walk_flat(&walk, values, 2, type) != NULL;
    if (flat && !it->rounded &&
        (walk.strides[0][0] != PyArray_ITEMSIZE(target) || walk.dims[0] == 1))
        return 0; /* NumPy may walk backwards; it takes one element for a reduction */
    if (!flat) {
        walk.ndim = PyArray_NDIM(target) > AXES ? 0 : PyArray_NDIM(target);
        memcpy(walk.dims, PyArray_DIMS(target), walk.ndim * sizeof(npy_intp));
        if (!it->rounded || !walk_axes(&walk, values, 2, type))
            return 0;
    }
    if (!walk_numbers(&walk, values, 2, type, numbers))
        return 0;
    walk.at[2] = walk.at[0];
    for (int axis = 0; axis < walk.ndim; axis++)
        walk.strides[axis][2] = walk.strides[axis][0];
    run_loop(it, &walk);
    return !PyErr_Occurred();
}

/* `function(*values, out=target)` by its inner loop; whether that worked. 0 without an error: the ufunc
   must do it. */
static int looped_out(PyObject *function, PyArrayObject *target, PyObject *const *values, Py_ssize_t n)
{
    Walk walk = {0};
    Loop it = {{0}};
    Number numbers[2];
    PyObject *all[OPERANDS];
    int type = PyArray_TYPE(target), typed = 0;
    for (Py_ssize_t i = 0; i < n; i++)
        typed = typed || !is_python_number(values[i]);
    if (!typed) /* NumPy computes with Python's numbers alone in their own dtype, and casts that */
        return 0;
    if (n < 1 || n > 2 || PyArray_SIZE(target) > LOOPED || PyArray_NDIM(target) > AXES ||
        !is_number_type(type) || !is_of(target, type) || !PyArray_ISWRITEABLE(target))
        return 0;
    for (Py_ssize_t i = 0; i < n; i++) {
        all[i] = values[i];
        if (is_memory(values[i]) ? !may_be_written(target, (PyArrayObject *)values[i])
                                 : !is_number_of(values[i], type))
            return 0;
    }
    all[n] = (PyObject *)target;
    find_loop(&it, function, (int)n, type, type);
    if (!it.loop || !it.rounded)
        return 0;
    if (!walk_flat(&walk, all, n + 1, type)) {
        walk.ndim = PyArray_NDIM(target);
        memcpy(walk.dims, PyArray_DIMS(target), walk.ndim * sizeof(npy_intp));
        if (!walk_axes(&walk, all, n + 1, type))
            return 0;
    }
    if (!walk_numbers(&walk, all, n, type, numbers))
        return 0;
    run_loop(&it, &walk);
    return !PyErr_Occurred();
}
