/* The slots of the handles' classes. See core.h.

   Python fills the slot of an operator that a class defines by a function that looks the method up
   by its name at each call. The functions here know the front that would be found. They are taken
   for `NDArray` and `Scalar` themselves: a class of the user's that inherits from one of them has
   slots by Python, and so has each operator that is assigned anew. */

#pragma once

#include "buffer.h"
#include "core.h"

enum { CLASSES = 2 };

static inline int class_of(PyObject *x)
{
    return is_array(x) ? 0 : is_scalar(x) ? 1 : -1;
}

/* The operators: their slots, and their methods. */
#define BINARY_SLOTS(X)                                                                            \
    X(nb_add, "__add__", "__radd__") X(nb_subtract, "__sub__", "__rsub__")                         \
    X(nb_multiply, "__mul__", "__rmul__") X(nb_true_divide, "__truediv__", "__rtruediv__")         \
    X(nb_floor_divide, "__floordiv__", "__rfloordiv__") X(nb_remainder, "__mod__", "__rmod__")     \
    X(nb_and, "__and__", "__rand__") X(nb_or, "__or__", "__ror__")                                 \
    X(nb_xor, "__xor__", "__rxor__") X(nb_lshift, "__lshift__", "__rlshift__")                     \
    X(nb_rshift, "__rshift__", "__rrshift__")                                                      \
    X(nb_matrix_multiply, "__matmul__", "__rmatmul__")
#define POWER_SLOTS(X) X(nb_power, "__pow__")
#define IN_PLACE_SLOTS(X)                                                                          \
    X(nb_inplace_add, "__iadd__") X(nb_inplace_subtract, "__isub__")                               \
    X(nb_inplace_multiply, "__imul__") X(nb_inplace_true_divide, "__itruediv__")
#define UNARY_SLOTS(X) X(nb_negative, "__neg__") X(nb_absolute, "__abs__") X(nb_invert, "__invert__")
#define CONVERTING_SLOTS(X) X(nb_int, "__int__") X(nb_float, "__float__") X(nb_index, "__index__")

static const char *const COMPARISONS[] = {"__lt__", "__le__", "__eq__", "__ne__", "__gt__",
                                          "__ge__"}; /* in Python's order */

enum {
#define X(slot, ...) AT_##slot,
    BINARY_SLOTS(X) POWER_SLOTS(X) IN_PLACE_SLOTS(X) UNARY_SLOTS(X) CONVERTING_SLOTS(X) OPERATORS
#undef X
};

/* The fronts by class; NULL: the class has the slot of Python's. */
static struct {
    PyObject *own[OPERATORS][CLASSES], *reflected[OPERATORS][CLASSES];
    PyObject *rpow[CLASSES]; /* the method, which is no front */
    PyObject *compare[Py_GE + 1][CLASSES], *getitem[CLASSES], *setitem[CLASSES], *truth[CLASSES],
        *length[CLASSES], *hash[CLASSES];
    richcmpfunc compared;
    binaryfunc got;
    objobjargproc set;
    inquiry tested;
    lenfunc measured;
    hashfunc hashed;
    void *python[OPERATORS]; /* Python's functions for all but the binary operators */
} slots;

/* By operator, the callers of its slot where the interpreter runs it as an instruction; none: not
   tried, or it cannot be told. Second, where the left operand is of another class: the interpreter
   calls the slot from another place then. */
static Callers interpreter[OPERATORS][2];
static int noting; /* 1: operators only note who calls; -1: who calls must be known from them */

static void note_callers_of(int at, int reflected, void **from)
{
    Callers now = callers_from(from), *known = &interpreter[at][reflected];
    int common = common_callers(known, &now);
    if (noting > 0 && known->met)
        known->n = common;
    else if (noting > 0)
        *known = now;
    else if (common == known->n)
        known->n = 0; /* it cannot be told */
    else
        known->n = common + 1; /* the instruction; who ran the frame does not matter */
    known->met = 1;
}

/* The operand of an operator that is lost after it, if it is worth having; else NULL. Borrowed. */
Py_NO_INLINE static PyObject *temporary_among(int at, int reflected, void **from, PyObject *x,
                                              PyObject *y)
{
    PyObject *found = memory_of_temporary(x) ? x : y && memory_of_temporary(y) ? y : NULL;
    return found && have_called(&interpreter[at][reflected], from) ? found : NULL;
}

static inline PyObject *temporary_of(int at, int reflected, void **from, PyObject *x, PyObject *y)
{
    return Py_REFCNT(x) == 1 || (y && Py_REFCNT(y) == 1)
               ? temporary_among(at, reflected, from, x, y)
               : NULL;
}

static inline PyObject *call_front(PyObject *front, PyObject *const *args, size_t n)
{
    return ((Front *)front)->vectorcall(front, args, n, NULL);
}

static inline PyObject *call_operator(PyObject *front, PyObject *const *args, size_t n,
                                      PyObject *temporary)
{
    return temporary && ((Front *)front)->vectorcall == elementwise
               ? elementwise_into(front, args, n, NULL, temporary)
               : call_front(front, args, n);
}

/* The method of a class, left to right or reflected. Python's function asks both operands only if
   both have it, so that this takes its place altogether. */
static PyObject *operate(int at, PyObject *x, PyObject *y, void **from)
{
    int left = class_of(x), right = class_of(y);
    PyObject *out = NULL;
    if (noting) {
        note_callers_of(at, left < 0, from);
        Py_RETURN_NOTIMPLEMENTED;
    }
    if (left >= 0 && slots.own[at][left]) {
        PyObject *args[2] = {x, y};
        out = call_operator(slots.own[at][left], args, 2, temporary_of(at, 0, from, x, y));
        if (out != Py_NotImplemented)
            return out;
        Py_DECREF(out);
    }
    if (right >= 0 && right != left && slots.reflected[at][right]) {
        PyObject *args[2] = {y, x};
        return call_operator(slots.reflected[at][right], args, 2,
                             temporary_of(at, left < 0, from, x, y));
    }
    Py_RETURN_NOTIMPLEMENTED;
}

#define X(slot, name, other)                                                                        \
    static PyObject *by_##slot(PyObject *x, PyObject *y)                                           \
    {                                                                                              \
        return operate(AT_##slot, x, y, RETURN_ADDRESS);                                           \
    }
BINARY_SLOTS(X)
#undef X

/* The reflected method is no front: it is called as Python's slot would call it. */
static PyObject *by_nb_power(PyObject *x, PyObject *y, PyObject *modulus)
{
    int left = class_of(x), right = class_of(y);
    if (modulus != Py_None)
        Py_RETURN_NOTIMPLEMENTED;
    if (left >= 0 && slots.own[AT_nb_power][left]) {
        PyObject *out = operate(AT_nb_power, x, y, RETURN_ADDRESS);
        if (out != Py_NotImplemented || noting)
            return out;
        Py_DECREF(out);
    }
    if (right >= 0 && right != left && slots.rpow[right])
        return PyObject_CallFunctionObjArgs(slots.rpow[right], y, x, NULL);
    Py_RETURN_NOTIMPLEMENTED;
}

#define X(slot, name)                                                                              \
    static PyObject *by_##slot(PyObject *x, PyObject *y)                                           \
    {                                                                                              \
        int class = class_of(x);                                                                   \
        PyObject *args[2] = {x, y};                                                                \
        if (class >= 0 && slots.own[AT_##slot][class])                                             \
            return call_front(slots.own[AT_##slot][class], args, 2);                               \
        return ((binaryfunc)slots.python[AT_##slot])(x, y);                                        \
    }
IN_PLACE_SLOTS(X)
#undef X

#define X(slot, name)                                                                              \
    static PyObject *by_##slot(PyObject *x)                                                        \
    {                                                                                              \
        int class = class_of(x);                                                                   \
        if (noting) {                                                                              \
            note_callers_of(AT_##slot, 0, RETURN_ADDRESS);                                         \
            return Py_NewRef(x);                                                                   \
        }                                                                                          \
        if (class >= 0 && slots.own[AT_##slot][class])                                             \
            return call_operator(slots.own[AT_##slot][class], &x, 1,                               \
                                 temporary_of(AT_##slot, 0, RETURN_ADDRESS, x, NULL));             \
        return ((unaryfunc)slots.python[AT_##slot])(x);                                            \
    }
UNARY_SLOTS(X)
#undef X

/* The number of Python's that `int`, `float` or an index takes of an integer or a float. NULL: the
   front must say, which also raises. */
static PyObject *as_pythons(int at, PyObject *x)
{
    PyObject *number = NULL, *node = is_scalar(x) ? node_of(x) : NULL;
    if (node && value_on_host(node))
        number = value_of_scalar(x);
    long long whole;
    double value;
    float single;
    if (!number)
        return NULL;
    if (!PyLong_Check(number) && as_integer(number, &whole))
        return at == AT_nb_float ? PyFloat_FromDouble((double)whole) : PyLong_FromLongLong(whole);
    if (at == AT_nb_index)
        return NULL;
    if (!as_double(number, &value)) {
        if (!as_float(number, &single))
            return NULL;
        value = single;
    }
    return at == AT_nb_float ? PyFloat_FromDouble(value) : PyLong_FromDouble(value);
}

#define X(slot, name)                                                                              \
    static PyObject *by_##slot(PyObject *x)                                                        \
    {                                                                                              \
        int class = class_of(x);                                                                   \
        if (class < 0 || !slots.own[AT_##slot][class])                                             \
            return ((unaryfunc)slots.python[AT_##slot])(x);                                        \
        PyObject *out = as_pythons(AT_##slot, x);                                                  \
        return out || PyErr_Occurred() ? out : call_front(slots.own[AT_##slot][class], &x, 1);     \
    }
CONVERTING_SLOTS(X)
#undef X

static Py_hash_t by_hash(PyObject *x)
{
    int class = class_of(x);
    PyObject *number = class == 1 && slots.hash[class] ? value_of_scalar(x) : NULL;
    if (!number)
        return slots.hashed(x);
    Py_INCREF(number);
    Py_hash_t hash = PyObject_Hash(number);
    Py_DECREF(number);
    return hash;
}

#if PY_VERSION_HEX >= 0x030C0000 /* before, C types alone have buffers: see `BufferedType` */
static getbufferproc buffered;

static int by_buffer(PyObject *x, Py_buffer *view, int flags)
{
    PyObject *number = shown_by_number(x);
    return number ? PyObject_GetBuffer(number, view, flags) : buffered(x, view, flags);
}
#endif

static PyObject *by_compare(PyObject *x, PyObject *y, int comparison)
{
    int class = class_of(x);
    PyObject *args[2] = {x, y};
    if (class >= 0 && slots.compare[comparison][class])
        return call_front(slots.compare[comparison][class], args, 2);
    return slots.compared(x, y, comparison);
}

static PyObject *by_getitem(PyObject *x, PyObject *index)
{
    int class = class_of(x);
    PyObject *args[2] = {x, index};
    if (class >= 0 && slots.getitem[class])
        return call_front(slots.getitem[class], args, 2);
    return slots.got(x, index);
}

static int by_setitem(PyObject *x, PyObject *index, PyObject *value)
{
    int class = class_of(x);
    PyObject *args[3] = {x, index, value};
    if (!value || class < 0 || !slots.setitem[class])
        return slots.set(x, index, value);
    PyObject *out = call_front(slots.setitem[class], args, 3);
    Py_XDECREF(out);
    return out ? 0 : -1;
}

static int by_truth(PyObject *x)
{
    int class = class_of(x);
    if (class < 0 || !slots.truth[class])
        return slots.tested(x);
    PyObject *number = is_scalar(x) ? value_of_scalar(x) : NULL;
    if (number && Py_TYPE(number) == &PyBoolArrType_Type)
        return PyArrayScalar_VAL(number, Bool);
    if (number && Py_TYPE(number) == &PyDoubleArrType_Type)
        return PyArrayScalar_VAL(number, Double) != 0;
    if (number && Py_TYPE(number) == &PyInt64ArrType_Type)
        return PyArrayScalar_VAL(number, Int64) != 0;
    PyObject *out = call_front(slots.truth[class], &x, 1);
    int truth = out ? out == Py_True : -1;
    Py_XDECREF(out);
    return truth;
}

static Py_ssize_t by_length(PyObject *x)
{
    int class = class_of(x);
    PyObject *aval = class == 0 && slots.length[class] && nothing_staged() ? lasting_aval(x) : NULL;
    PyObject *shape = aval ? OF(aval, Aval, shape) : NULL;
    if (!shape || OF(aval, Aval, device) != Py_True || !PyTuple_GET_SIZE(shape))
        return slots.measured(x);
    return PyLong_AsSsize_t(PyTuple_GET_ITEM(shape, 0));
}

/* A call of a ufunc of ours, which Python looks up by its name. */
static ternaryfunc ufunc_called;
static PyObject *ufunc_front;

static PyObject *by_call(PyObject *self, PyObject *args, PyObject *names)
{
    enum { MOST = 4 };
    Py_ssize_t n = PyTuple_GET_SIZE(args);
    PyObject *all[MOST + 1] = {self};
    if (n > MOST || (names && PyDict_GET_SIZE(names)))
        return ufunc_called(self, args, names);
    memcpy(all + 1, &PyTuple_GET_ITEM(args, 0), n * sizeof(PyObject *));
    return call_front(ufunc_front, all, n + 1);
}

/* -- taking them ------------------------------------------------------------------------------- */

/* The front that is the class's method; NULL if there is none, or if its method is no front. An
   attribute of the class may be another function: see `attribute_of_class`. */
static PyObject *front_of(PyTypeObject *class, const char *name)
{
    PyObject *text = PyUnicode_InternFromString(name);
    PyObject *found = text ? _PyType_Lookup(class, text) : NULL;
    Py_XDECREF(text);
    if (found && Py_TYPE(found) == &FrontType)
        return Py_NewRef(found); /* kept for good, as the class is */
    PyErr_Clear();
    return NULL;
}

/* Put `ours` in a slot where `*python`, the function that Python fills it with, stands. */
static int take_slot(void **slot, void *ours, void **python)
{
    if (*slot == ours)
        return 1;
    if (!*slot || (*python && *slot != *python))
        return 0;
    *python = *slot;
    *slot = ours;
    return 1;
}

/* Returns how many. */
static int take_slots_of(int class, PyTypeObject *type)
{
    int taken = 0;
    PyNumberMethods *number = type->tp_as_number;
    PyMappingMethods *mapping = type->tp_as_mapping;
#define X(slot, name, other)                                                                       \
    PyObject *own_##slot = front_of(type, name), *reflected_##slot = front_of(type, other);        \
    if (own_##slot && reflected_##slot &&                                                          \
        take_slot((void **)&number->slot, by_##slot, &slots.python[AT_##slot])) {                  \
        slots.own[AT_##slot][class] = own_##slot;                                                  \
        slots.reflected[AT_##slot][class] = reflected_##slot;                                      \
        taken++;                                                                                   \
    }
    BINARY_SLOTS(X)
#undef X
#define X(slot, name)                                                                              \
    PyObject *own_##slot = front_of(type, name);                                                   \
    if (own_##slot && take_slot((void **)&number->slot, by_##slot, &slots.python[AT_##slot])) {    \
        slots.own[AT_##slot][class] = own_##slot;                                                  \
        taken++;                                                                                   \
    }
    POWER_SLOTS(X) IN_PLACE_SLOTS(X) UNARY_SLOTS(X) CONVERTING_SLOTS(X)
#undef X
    if (slots.own[AT_nb_power][class] && !slots.rpow[class])
        slots.rpow[class] = PyObject_GetAttrString((PyObject *)type, "__rpow__");
    if (take_slot((void **)&type->tp_richcompare, by_compare, (void **)&slots.compared))
        for (int i = Py_LT; i <= Py_GE; i++)
            taken += (slots.compare[i][class] = front_of(type, COMPARISONS[i])) != NULL;
    if ((slots.getitem[class] = front_of(type, "__getitem__")) &&
        !take_slot((void **)&mapping->mp_subscript, by_getitem, (void **)&slots.got))
        slots.getitem[class] = NULL;
    if ((slots.setitem[class] = front_of(type, "__setitem__")) &&
        !take_slot((void **)&mapping->mp_ass_subscript, by_setitem, (void **)&slots.set))
        slots.setitem[class] = NULL;
    if ((slots.truth[class] = front_of(type, "__bool__")) &&
        !take_slot((void **)&number->nb_bool, by_truth, (void **)&slots.tested))
        slots.truth[class] = NULL;
    if (class == 0 && (slots.length[class] = front_of(type, "__len__")) &&
        !take_slot((void **)&type->tp_as_sequence->sq_length, by_length, (void **)&slots.measured))
        slots.length[class] = NULL;
#if PY_VERSION_HEX >= 0x030C0000
    if (type->tp_as_buffer && type->tp_as_buffer->bf_releasebuffer)
        type->tp_as_buffer->bf_releasebuffer = keep_buffer;
    if (class == 1 && type->tp_as_buffer)
        take_slot((void **)&type->tp_as_buffer->bf_getbuffer, by_buffer, (void **)&buffered);
#endif
    if (class == 1 && (slots.hash[class] = front_of(type, "__hash__")) &&
        !take_slot((void **)&type->tp_hash, by_hash, (void **)&slots.hashed))
        slots.hash[class] = NULL;
    return taken + (slots.getitem[class] != NULL) + (slots.setitem[class] != NULL) +
           (slots.truth[class] != NULL) + (slots.length[class] != NULL) +
           (slots.hash[class] != NULL);
}

/* Calls of the class's instances need no search, until somebody assigns `__call__` anew; a class
   that inherits from it, and has a `__call__` of its own, has a slot by Python. */
static PyObject *take_calls(PyObject *Py_UNUSED(module), PyObject *class)
{
    PyTypeObject *type = (PyTypeObject *)class;
    if (!PyType_Check(class) || !(type->tp_flags & Py_TPFLAGS_HEAPTYPE) || ufunc_front) {
        PyErr_SetString(PyExc_TypeError, "take_calls takes a class, once");
        return NULL;
    }
    if ((ufunc_front = front_of(type, "__call__")))
        take_slot((void **)&type->tp_call, by_call, (void **)&ufunc_called);
    Py_RETURN_NONE;
}

/* From now on, operators note their callers: see `noting`; 0: no longer. */
static PyObject *note_callers(PyObject *Py_UNUSED(module), PyObject *how)
{
    long n = PyLong_AsLong(how);
    if (n == -1 && PyErr_Occurred())
        return NULL;
    noting = (int)n;
    Py_RETURN_NONE;
}

/* Call it when the operators are attached. Returns how many slots have their fronts. */
static PyObject *take_slots(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(none))
{
    return PyLong_FromLong(take_slots_of(0, (PyTypeObject *)the.NDArray) +
                           take_slots_of(1, (PyTypeObject *)the.Scalar));
}
