/* Reads and writes of rows that index arrays or a mask name: `x[k]`, `x[i, j] = v`, `x[mask]` of rows.
   See kernels.h.

   NumPy's iterator takes ten times as long for a short row, or for two indices, as the row itself. Here
   places are found block by block, and checked before anything is written; where one does not exist,
   NumPy is asked, and raises its error. */

#pragma once

#include "kernels.h"

enum { INDICES = 3, PLACES = 512 };

/* Which rows of C-ordered memory: `n` index arrays of one shape for its first axes. */
typedef struct {
    int n, of_ints[INDICES]; /* int32 rather than int64 */
    const char *at[INDICES];
    npy_intp dims[INDICES], count, width; /* items of a row */
    PyArrayObject *like;                  /* one of them */
} Rows;

/* Take an index array; whether it is one that is known here. */
static int take_index(Rows *rows, PyObject *index, npy_intp dim)
{
    PyArrayObject *them = (PyArrayObject *)index;
    if (!is_plain_memory(index) || !(PyArray_TYPE(them) == WHOLE || PyArray_TYPE(them) == NPY_INT) ||
        !PyArray_SIZE(them) || (rows->n && !PyArray_SAMESHAPE(rows->like, them)))
        return 0;
    rows->of_ints[rows->n] = PyArray_TYPE(them) == NPY_INT;
    rows->at[rows->n] = PyArray_BYTES(them);
    rows->dims[rows->n++] = dim;
    rows->like = them;
    rows->count = PyArray_SIZE(them);
    return 1;
}

/* Whether `x[index]` is of such rows. */
static int find_rows(Rows *rows, PyArrayObject *x, PyObject *index)
{
    int ndim = PyArray_NDIM(x), n = PyTuple_CheckExact(index) ? (int)PyTuple_GET_SIZE(index) : 1;
    rows->n = 0;
    if (!n || n > INDICES || n > ndim || !PyArray_SIZE(x))
        return 0;
    for (int i = 0; i < n; i++)
        if (!take_index(rows, PyTuple_CheckExact(index) ? PyTuple_GET_ITEM(index, i) : index,
                        PyArray_DIM(x, i)))
            return 0;
    if (ndim == 1 && !rows->of_ints[0])
        return 0; /* NumPy has a loop for it */
    rows->width = 1;
    for (int i = n; i < ndim; i++)
        rows->width *= PyArray_DIM(x, i);
    return ndim - n + PyArray_NDIM(rows->like) <= NPY_MAXDIMS;
}

/* Add the places on one axis; whether all exist. Others are put to 0. */
#define ADD_PLACES(name, type)                                                                     \
    static int name(const type *index, npy_intp n, npy_intp dim, int is_first, npy_intp *places)   \
    {                                                                                              \
        npy_uintp wrong = 0;                                                                       \
        for (npy_intp k = 0; k < n; k++) {                                                         \
            npy_intp place = index[k];                                                             \
            place += place < 0 ? dim : 0;                                                          \
            npy_uintp is_wrong = (npy_uintp)place >= (npy_uintp)dim;                               \
            wrong |= is_wrong;                                                                     \
            place &= (npy_intp)is_wrong - 1;                                                       \
            places[k] = is_first ? place : places[k] * dim + place;                                \
        }                                                                                          \
        return !wrong;                                                                             \
    }

ADD_PLACES(add_int_places, npy_int)
ADD_PLACES(add_long_places, npy_long)

/* The places of some rows, from one on; whether all exist. */
static int find_places(const Rows *rows, npy_intp from, npy_intp n, npy_intp *places)
{
    int exist = 1;
    for (int i = 0; i < rows->n; i++)
        exist &= rows->of_ints[i]
                     ? add_int_places((const npy_int *)rows->at[i] + from, n, rows->dims[i], !i, places)
                     : add_long_places((const npy_long *)rows->at[i] + from, n, rows->dims[i], !i, places);
    return exist;
}

static int all_exist(const Rows *rows)
{
    npy_intp places[PLACES];
    for (npy_intp from = 0; from < rows->count; from += PLACES)
        if (!find_places(rows, from, rows->count - from < PLACES ? rows->count - from : PLACES, places))
            return 0;
    return 1;
}

/* Copy rows of so many bytes, which the compiler knows where they are few. */
#define COPY_ROWS(bytes, to, from)                                                                 \
    for (npy_intp k = 0; k < n; k++)                                                               \
        memcpy(to, from, bytes);
#define COPY_BY_SIZE(bytes, to, from)                                                              \
    switch (bytes) {                                                                               \
    case 1: COPY_ROWS(1, to, from) break;                                                          \
    case 4: COPY_ROWS(4, to, from) break;                                                          \
    case 8: COPY_ROWS(8, to, from) break;                                                          \
    case 12: COPY_ROWS(12, to, from) break;                                                        \
    case 16: COPY_ROWS(16, to, from) break;                                                        \
    case 24: COPY_ROWS(24, to, from) break;                                                        \
    case 32: COPY_ROWS(32, to, from) break;                                                        \
    default: COPY_ROWS(bytes, to, from)                                                            \
    }

static void get_rows(const char *x, const npy_intp *places, npy_intp n, char *out, npy_intp bytes)
{
    COPY_BY_SIZE(bytes, out + k * bytes, x + places[k] * bytes)
}

/* step: 0 if each row gets the same. */
static void set_rows(char *x, const npy_intp *places, npy_intp n, const char *values, npy_intp bytes,
                     npy_intp step)
{
    COPY_BY_SIZE(bytes, x + places[k] * bytes, values + k * step)
}

/* A new array for these rows. */
static PyObject *memory_for_rows(PyArrayObject *x, const Rows *rows)
{
    npy_intp dims[NPY_MAXDIMS];
    int n = PyArray_NDIM(rows->like), ndim = n + PyArray_NDIM(x) - rows->n;
    for (int i = 0; i < ndim; i++)
        dims[i] = i < n ? PyArray_DIM(rows->like, i) : PyArray_DIM(x, rows->n + i - n);
    return new_memory(PyArray_TYPE(x), ndim, dims);
}

/* `x[index]`, new; NULL without an error: NumPy must do it. */
static PyObject *gathered(PyArrayObject *x, PyObject *index)
{
    Rows rows;
    npy_intp places[PLACES];
    if (!find_rows(&rows, x, index))
        return NULL;
    PyObject *out = memory_for_rows(x, &rows);
    if (!out)
        return NULL;
    npy_intp bytes = rows.width * PyArray_ITEMSIZE(x);
    char *to = PyArray_BYTES((PyArrayObject *)out);
    const char *at = PyArray_BYTES(x);
    int exist = 1;
    BEGIN_LONG(PyArray_SIZE((PyArrayObject *)out))
    for (npy_intp from = 0; exist && from < rows.count; from += PLACES) {
        npy_intp n = rows.count - from < PLACES ? rows.count - from : PLACES;
        exist = find_places(&rows, from, n, places);
        get_rows(at, places, n, to + from * bytes, bytes);
    }
    END_LONG
    if (!exist)
        Py_CLEAR(out);
    return out;
}

/* A row of one number, of some thousand bytes at most; whether it fits. */
static int fill_row(char *row, npy_intp room, const Number *number, npy_intp size, npy_intp width)
{
    if (width * size > room)
        return 0;
    for (npy_intp i = 0; i < width; i++)
        memcpy(row + i * size, number, size);
    return 1;
}

/* Whether the value has the shape and dtype of these rows, and no memory of the array's. */
static int are_values(PyArrayObject *x, const Rows *rows, PyObject *value)
{
    PyArrayObject *given = (PyArrayObject *)value;
    int n = PyArray_NDIM(rows->like), ndim = n + PyArray_NDIM(x) - rows->n;
    if (!is_plain_memory(value) || PyArray_TYPE(given) != PyArray_TYPE(x) ||
        PyArray_NDIM(given) != ndim || !may_be_written(x, given))
        return 0;
    for (int i = 0; i < ndim; i++)
        if (PyArray_DIM(given, i) !=
            (i < n ? PyArray_DIM(rows->like, i) : PyArray_DIM(x, rows->n + i - n)))
            return 0;
    return 1;
}

/* `x[index] = value`; whether that was done. */
static int scattered(PyArrayObject *x, PyObject *index, PyObject *value)
{
    Rows rows;
    npy_intp places[PLACES];
    char row[PLACES];
    Number number;
    int type = PyArray_TYPE(x), many;
    if (!find_rows(&rows, x, index))
        return 0;
    for (int i = 0; i < rows.n; i++)
        if (!may_be_written(x, (PyArrayObject *)(PyTuple_CheckExact(index) ? PyTuple_GET_ITEM(index, i)
                                                                           : index)))
            return 0;
    npy_intp size = PyArray_ITEMSIZE(x), bytes = rows.width * size;
    many = is_memory(value);
    if (many ? !are_values(x, &rows, value)
             : !bytes_of_number(value, type, &number) || !fill_row(row, sizeof row, &number, size, rows.width))
        return 0;
    const char *values = many ? PyArray_BYTES((PyArrayObject *)value) : row;
    char *at = PyArray_BYTES(x);
    npy_intp step = many ? bytes : 0;
    BEGIN_LONG(rows.count * rows.width)
    int exist = all_exist(&rows);
    for (npy_intp from = 0; exist && from < rows.count; from += PLACES) {
        npy_intp n = rows.count - from < PLACES ? rows.count - from : PLACES;
        exist = find_places(&rows, from, n, places); /* another thread may change them meanwhile */
        if (exist)
            set_rows(at, places, n, values + from * step, bytes, step);
    }
    END_LONG
    return exist;
}

/* The next places, from `*i` on, where the mask is true; at most so many. Returns how many. */
static npy_intp places_of_true(const npy_bool *mask, npy_intp *i, npy_intp n, npy_intp most,
                               npy_intp *places)
{
    npy_intp k = 0, at = *i;
    most = most < PLACES ? most : PLACES;
    for (; at < n && k < most; at++)
        if (mask[at])
            places[k++] = at;
    *i = at;
    return k;
}

/* `x[mask]` of rows, new; NULL without an error: NumPy must do it. */
static PyObject *rows_by_mask(PyArrayObject *x, PyArrayObject *mask)
{
    npy_intp n = PyArray_DIM(x, 0), dims[NPY_MAXDIMS], places[PLACES];
    const npy_bool *bools = PyArray_DATA(mask);
    if (PyArray_NDIM(mask) != 1 || PyArray_NDIM(x) < 2 || PyArray_DIM(mask, 0) != n || !PyArray_SIZE(x))
        return NULL;
    npy_intp count = count_true(bools, n), found = 0, bytes = PyArray_SIZE(x) / n * PyArray_ITEMSIZE(x);
    memcpy(dims, PyArray_DIMS(x), PyArray_NDIM(x) * sizeof *dims);
    dims[0] = count;
    PyObject *out = new_memory(PyArray_TYPE(x), PyArray_NDIM(x), dims);
    if (!out)
        return NULL;
    char *to = PyArray_BYTES((PyArrayObject *)out);
    const char *at = PyArray_BYTES(x);
    BEGIN_LONG(PyArray_SIZE(x))
    for (npy_intp i = 0; i < n && found < count;) {
        npy_intp k = places_of_true(bools, &i, n, count - found, places);
        get_rows(at, places, k, to + found * bytes, bytes);
        found += k;
    }
    END_LONG
    return out;
}

/* `x[mask] = value` of rows; whether that was done. */
static int put_rows(PyArrayObject *x, PyArrayObject *mask, PyObject *value)
{
    npy_intp n = PyArray_DIM(x, 0), places[PLACES], done = 0;
    char row[PLACES];
    Number number;
    const npy_bool *bools = PyArray_DATA(mask);
    if (PyArray_NDIM(mask) != 1 || PyArray_NDIM(x) < 2 || PyArray_DIM(mask, 0) != n ||
        !PyArray_SIZE(x) || !may_be_written(x, mask))
        return 0;
    npy_intp count = count_true(bools, n), size = PyArray_ITEMSIZE(x), width = PyArray_SIZE(x) / n;
    int many = is_memory(value);
    PyArrayObject *given = (PyArrayObject *)value;
    if (!many && (!bytes_of_number(value, PyArray_TYPE(x), &number) ||
                  !fill_row(row, sizeof row, &number, size, width)))
        return 0;
    if (many && (!is_plain_memory(value) || PyArray_TYPE(given) != PyArray_TYPE(x) ||
                 PyArray_NDIM(given) != PyArray_NDIM(x) || PyArray_DIM(given, 0) != count ||
                 memcmp(PyArray_DIMS(given) + 1, PyArray_DIMS(x) + 1,
                        (PyArray_NDIM(x) - 1) * sizeof(npy_intp)) ||
                 !may_be_written(x, given)))
        return 0;
    npy_intp bytes = width * size, step = many ? bytes : 0;
    const char *values = many ? PyArray_BYTES(given) : row;
    char *at = PyArray_BYTES(x);
    BEGIN_LONG(PyArray_SIZE(x))
    for (npy_intp i = 0; i < n && done < count;) {
        npy_intp k = places_of_true(bools, &i, n, count - done, places);
        set_rows(at, places, k, values + done * step, bytes, step);
        done += k;
    }
    END_LONG
    return 1;
}

/* `x[index]` as NumPy makes it, new. */
static PyObject *item_of(PyObject *x, PyObject *index)
{
    PyArrayObject *memory = (PyArrayObject *)x;
    PyObject *out = NULL;
    if (is_plain_memory(x))
        out = !is_mask(index)                                        ? gathered(memory, index)
              : PyArray_SAMESHAPE(memory, (PyArrayObject *)index) ? taken(memory, (PyArrayObject *)index)
                                                                      : rows_by_mask(memory, (PyArrayObject *)index);
    return out || PyErr_Occurred() ? out : PyObject_GetItem(x, index);
}

/* `x[index] = value` by NumPy: 0, or -1 with an error. */
static int set_item(PyObject *x, PyObject *index, PyObject *value)
{
    PyArrayObject *memory = (PyArrayObject *)x, *mask = (PyArrayObject *)index;
    int done = is_plain_memory(x) && PyArray_ISWRITEABLE(memory) &&
               (!is_mask(index)                        ? scattered(memory, index, value)
                : PyArray_SAMESHAPE(memory, mask) ? put_true(memory, mask, value)
                                                       : put_rows(memory, mask, value));
    return PyErr_Occurred() ? -1 : done ? 0 : PyObject_SetItem(x, index, value);
}
