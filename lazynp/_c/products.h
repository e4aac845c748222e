/* NumPy's matrix product of small arrays, without the ufunc around its loop. See core.h and loops.h.

   A loop over the rows of a matrix multiplies slices, whose lengths change from round to round. So
   nothing is looked up by shape: the loop depends on the dtype alone. */

#pragma once

#include "loops.h"

enum { MULTIPLIED = 1 << 16 }; /* products of elements; more of them make up for the ufunc */

/* The axes of a product: x has m rows of n elements, y has n rows of p. `rows`, `columns`: the axes of
   an operand, exchanged if it is taken transposed. */
typedef struct {
    npy_intp m, n, p;
    int is_vector[2], rows[2], columns[2];
} Product;

/* Which operands are taken transposed. */
enum { FIRST_TURNED = 1, SECOND_TURNED = 2 };

/* Whether these are vectors or matrices that fit, of one dtype, and neither empty nor large. */
static int is_product(Product *it, PyArrayObject *x, PyArrayObject *y, int turned)
{
    int type = PyArray_TYPE(x), dims_x = PyArray_NDIM(x), dims_y = PyArray_NDIM(y);
    if (dims_x < 1 || dims_x > 2 || dims_y < 1 || dims_y > 2 || !is_number_type(type) ||
        !is_of(x, type) || !is_of(y, type))
        return 0;
    it->is_vector[0] = dims_x == 1;
    it->is_vector[1] = dims_y == 1;
    it->rows[0] = turned & FIRST_TURNED && dims_x == 2;
    it->columns[0] = dims_x == 2 && !it->rows[0];
    it->rows[1] = turned & SECOND_TURNED && dims_y == 2;
    it->columns[1] = dims_y == 2 && !it->rows[1];
    it->m = dims_x == 1 ? 1 : PyArray_DIM(x, it->rows[0]);
    it->n = PyArray_DIM(x, it->columns[0]);
    it->p = dims_y == 1 ? 1 : PyArray_DIM(y, it->columns[1]);
    return it->n == PyArray_DIM(y, it->rows[1]) && it->m && it->n && it->p && it->m <= MULTIPLIED &&
           it->n <= MULTIPLIED && it->p <= MULTIPLIED && it->m * it->n <= MULTIPLIED &&
           it->m * it->n * it->p <= MULTIPLIED;
}

/* The stride of an axis as NumPy hands it to the loop. */
static inline npy_intp core_stride(PyArrayObject *memory, int axis)
{
    return PyArray_DIM(memory, axis) == 1 ? 0 : PyArray_STRIDE(memory, axis);
}

/* The loop of a ufunc for products of matrices: `loop->out` is below 0 if this is none. */
static void find_product(Loop *loop, PyObject *function, int type)
{
    PyUFuncObject *ufunc = (PyUFuncObject *)function;
    *loop = (Loop){.kinds = {type + 1}, .type = type, .out = -1};
    if (!PyObject_TypeCheck(function, &PyUFunc_Type) || !ufunc->core_enabled ||
        strcmp(ufunc->name, "matmul"))
        return;
    for (int i = 0; i < ufunc->ntypes && !loop->loop; i++) {
        const char *types = ufunc->types + 3 * i;
        if (types[0] == type && types[1] == type && types[2] == type) {
            loop->data = ufunc->data ? ufunc->data[i] : NULL;
            loop->loop = ufunc->functions[i];
            loop->out = type;
            loop->called = ufunc->name;
        }
    }
}

/* NumPy's product `x @ y`, by the loop of its ufunc, new: an array, or one number in an array without
   axes. NULL without an error: the ufunc must do it. */
static PyArrayObject *product_by(Loop *loop, PyObject *function, PyObject *x, PyObject *y, int turned)
{
    Product it;
    PyArrayObject *a = (PyArrayObject *)x, *b = (PyArrayObject *)y;
    if (!is_memory(x) || !is_memory(y) || !is_product(&it, a, b, turned))
        return NULL;
    if (loop->kinds[0] != PyArray_TYPE(a) + 1)
        find_product(loop, function, PyArray_TYPE(a));
    if (!loop->loop)
        return NULL;
    npy_intp shape[2] = {it.m, it.p}, *dims = shape + it.is_vector[0];
    int ndim = 2 - it.is_vector[0] - it.is_vector[1];
    PyArrayObject *out = (PyArrayObject *)PyArray_NewFromDescr(
        &PyArray_Type, PyArray_DescrFromType(loop->out), ndim, dims, NULL, NULL, 0, NULL);
    if (!out)
        return NULL;
    char *at[OPERANDS] = {PyArray_BYTES(a), PyArray_BYTES(b), PyArray_BYTES(out)};
    npy_intp sizes[4] = {1, it.m, it.n, it.p};
    npy_intp steps[9] = {
        0, 0, 0, /* there is one product */
        it.is_vector[0] ? 0 : core_stride(a, it.rows[0]), core_stride(a, it.columns[0]),
        core_stride(b, it.rows[1]), it.is_vector[1] ? 0 : core_stride(b, it.columns[1]),
        it.is_vector[0] ? 0 : core_stride(out, 0),
        it.is_vector[1] ? 0 : core_stride(out, 1 - it.is_vector[0]),
    };
    PyUFuncGenericFunction run = loop->loop;
    before_loop(loop);
    run(at, sizes, steps, loop->data);
    if (PyErr_Occurred() || after_loop(loop) < 0)
        Py_CLEAR(out);
    return out;
}

static inline PyArrayObject *multiplied(Front *front, PyObject *x, PyObject *y)
{
    int type = is_memory(x) ? PyArray_TYPE((PyArrayObject *)x) : 0;
    return product_by(&front->loops[type % 8], front->function, x, y, 0);
}

/* The reference of a product of vectors or matrices, some transposed: `symbol` is what is turned. */
static PyObject *matrix_product(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *names)
{
    Front *front = (Front *)self;
    PyObject *out = NULL;
    if (PyVectorcall_NARGS(nargsf) == 2 && !names && !watched()) {
        int type = is_memory(args[0]) ? PyArray_TYPE((PyArrayObject *)args[0]) : 0;
        out = (PyObject *)product_by(&front->loops[type % 8], front->function, args[0], args[1],
                                     front->symbol);
    }
    return out || PyErr_Occurred() ? out : hand_on(front, args, nargsf, names);
}
