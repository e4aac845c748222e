/* Memory that one handle has for itself, and temporaries: `a * b` in `a * b + c`. See core.h.

   The interpreter drops the operands of an operator after it. An operand that nothing else refers to
   is lost then, so that its memory may take the result. A reference count of one is not enough to
   know that: code in C may hold the only reference, and go on using it. So the stack of calls is
   looked at: the operator must come from the interpreter's own instruction, by the way that such
   calls took when they were tried out (`note_callers`). */

#pragma once

#include "loops.h"

/* The memory of an owner's value if nobody else can see it; else NULL. Borrowed.

   Only the handle may refer to the node, and only the node to the memory. */
static PyArrayObject *memory_of_one(PyObject *node)
{
    PyObject *value = PyList_GET_ITEM(node, VALUE);
    if (Py_REFCNT(node) != 1 || !is_memory(value) || Py_REFCNT(value) != 1)
        return NULL;
    PyArrayObject *memory = (PyArrayObject *)value;
    PyObject *base = PyArray_BASE(memory);
    if (base && (!is_memory(base) || Py_REFCNT(base) != 1 ||
                 PyArray_BASE((PyArrayObject *)base)))
        return NULL;
    if (!PyArray_ISWRITEABLE(memory) || PyList_GET_ITEM(node, CODE) == the.lent)
        return NULL;
    return memory;
}

static PyArrayObject *sole_memory(PyObject *node)
{
    PyArrayObject *memory = memory_of_one(node);
    return memory && is_of_numbers(memory) ? memory : NULL;
}

/* The memory of a handle that nothing but one variable of C refers to; else NULL. Borrowed. */
static PyArrayObject *memory_of_temporary(PyObject *x)
{
    if (Py_REFCNT(x) != 1 || !is_array(x) || OF(x, Array, _base) != Py_None)
        return NULL;
    PyObject *node = node_of(x), *value = node ? PyList_GET_ITEM(node, VALUE) : Py_None;
    if (!is_memory(value) || PyArray_SIZE((PyArrayObject *)value) <= HELD)
        return NULL;
    PyArrayObject *memory = sole_memory(node);
    return memory && PyArray_IS_C_CONTIGUOUS(memory) && OF(x, Array, _flags) == Py_None &&
                   OF(x, Array, _order) == Py_None && !SLOT(x, Py_TYPE(x)->tp_weaklistoffset)
               ? memory
               : NULL;
}

/* -- who calls --------------------------------------------------------------------------------- */

enum { CALLERS = 4 }; /* functions of Python between an operator's slot and whoever ran the frame */

/* Return addresses, from that of an operator's slot up, and where each lies, from the first. */
typedef struct {
    void *found[CALLERS];
    Py_ssize_t at[CALLERS];
    int n, met;
} Callers;

/* Where the return address of this function lies. On other machines, no memory is used again. */
#if defined(__x86_64__) && defined(__GNUC__)
#include <unwind.h>

#define RETURN_ADDRESS ((void **)__builtin_frame_address(0) + 1)

enum { OURS = 16 }; /* functions of this file, at most */

/* The walk of an unwinder: `from` is where the first return address lies. */
typedef struct {
    Callers them;
    char *from;
    int steps;
} Walked;

static _Unwind_Reason_Code note_caller(struct _Unwind_Context *context, void *data)
{
    Walked *walked = data;
    Callers *them = &walked->them;
    void *address = (void *)_Unwind_GetIP(context);
    char *at = (char *)_Unwind_GetCFA(context) - sizeof(void *);
    if (them->n || at == walked->from) {
        if (*(void **)at != address)
            return _URC_END_OF_STACK;
        them->at[them->n] = at - walked->from;
        them->found[them->n++] = address;
    }
    return them->n == CALLERS || ++walked->steps == OURS ? _URC_END_OF_STACK : _URC_NO_REASON;
}

static Callers callers_from(void **from)
{
    Walked walked = {.from = (char *)from};
    _Unwind_Backtrace(note_caller, &walked);
    return walked.them;
}
#else
#define RETURN_ADDRESS NULL

static Callers callers_from(void **Py_UNUSED(from))
{
    return (Callers){.n = 0};
}
#endif

/* How many of the first callers are the same. */
static int common_callers(const Callers *these, const Callers *those)
{
    int n = 0;
    while (n < these->n && n < those->n && these->found[n] == those->found[n] &&
           these->at[n] == those->at[n])
        n++;
    return n;
}

/* Whether they called again. A function that calls at one instruction has a stack of one size there,
   so that the next return address lies where it lay. */
static inline int have_called(const Callers *them, void **from)
{
    for (int i = 0; i < them->n; i++)
        if (*(void **)((char *)from + them->at[i]) != them->found[i])
            return 0;
    return them->n > 0;
}
