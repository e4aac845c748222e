/* A tape: the words that a bit generator will give, as a bit generator of its own.
 *
 * NumPy's distributions read it as they read the true one, from any place on. So what each of them
 * would draw after so many words is known beforehand, whichever a loop will draw. See
 * `_promotion/_tapes.py`. The struct is NumPy's `bitgen_t`, which is part of its public interface.
 */
#include <numpy/random/bitgen.h>

typedef struct {
    PyObject_HEAD bitgen_t functions;
    Py_buffer words; /* 64 bits each; of a narrow tape, 32 of them */
    Py_ssize_t count, at, read; /* the place, and how many words were read */
    int has;                    /* whether the upper half of a word is left, as NumPy keeps it */
    uint32_t half;
    Py_ssize_t kept; /* of the last word that was halved: 1 + how many were read before; or 0 */
} Tape;

static uint64_t tape_word(void *state)
{
    Tape *tape = state;
    uint64_t word = ((const uint64_t *)tape->words.buf)[tape->at];
    tape->read++;
    if (++tape->at == tape->count)
        tape->at = 0;
    return word;
}

static uint32_t tape_half(void *state)
{
    Tape *tape = state;
    if (tape->has) {
        tape->has = 0;
        return tape->half;
    }
    uint64_t word = tape_word(tape);
    tape->has = 1;
    tape->half = (uint32_t)(word >> 32);
    tape->kept = tape->read;
    return (uint32_t)word;
}

static double tape_double(void *state)
{
    return (double)(tape_word(state) >> 11) * (1.0 / 9007199254740992.0);
}

static uint32_t tape_narrow_word(void *state)
{
    return (uint32_t)tape_word(state);
}

static uint64_t tape_narrow_pair(void *state)
{
    uint64_t first = tape_word(state);
    return first << 32 | tape_word(state);
}

static double tape_narrow_double(void *state)
{
    uint64_t a = tape_word(state) >> 5, b = tape_word(state) >> 6;
    return ((double)a * 67108864.0 + (double)b) / 9007199254740992.0;
}

static PyObject *tape_new(PyTypeObject *type, PyObject *args, PyObject *Py_UNUSED(named))
{
    PyObject *words;
    int narrow;
    if (!PyArg_ParseTuple(args, "Op", &words, &narrow))
        return NULL;
    Tape *tape = (Tape *)type->tp_alloc(type, 0);
    if (!tape)
        return NULL;
    if (PyObject_GetBuffer(words, &tape->words, PyBUF_SIMPLE) < 0) {
        Py_DECREF(tape);
        return NULL;
    }
    tape->count = tape->words.len / (Py_ssize_t)sizeof(uint64_t);
    if (!tape->count) {
        PyErr_SetString(PyExc_ValueError, "a tape needs words");
        Py_DECREF(tape);
        return NULL;
    }
    tape->functions.state = tape;
    tape->functions.next_uint64 = narrow ? tape_narrow_pair : tape_word;
    tape->functions.next_uint32 = narrow ? tape_narrow_word : tape_half;
    tape->functions.next_double = narrow ? tape_narrow_double : tape_double;
    tape->functions.next_raw = tape_word;
    return (PyObject *)tape;
}

static void tape_dealloc(PyObject *self)
{
    PyBuffer_Release(&((Tape *)self)->words);
    Py_TYPE(self)->tp_free(self);
}

static void tape_forget(PyObject *capsule)
{
    Py_XDECREF((PyObject *)PyCapsule_GetContext(capsule));
}

/* What NumPy's generators read. It keeps the tape. */
static PyObject *tape_capsule(PyObject *self, PyObject *Py_UNUSED(none))
{
    PyObject *made = PyCapsule_New(&((Tape *)self)->functions, "BitGenerator", tape_forget);
    if (made && PyCapsule_SetContext(made, self) == 0)
        Py_INCREF(self);
    return made;
}

/* place(at, half): go there; half: what is left of a word, or None. */
static PyObject *tape_place(PyObject *self, PyObject *args)
{
    Tape *tape = (Tape *)self;
    Py_ssize_t at;
    PyObject *half;
    if (!PyArg_ParseTuple(args, "nO", &at, &half))
        return NULL;
    tape->has = half != Py_None;
    tape->half = tape->has ? (uint32_t)PyLong_AsUnsignedLongMask(half) : 0;
    if (PyErr_Occurred())
        return NULL;
    tape->at = at % tape->count, tape->read = tape->kept = 0;
    Py_RETURN_NONE;
}

/* told(): the words read since then; whether a half is left; see `kept`. */
static PyObject *tape_told(PyObject *self, PyObject *Py_UNUSED(none))
{
    Tape *tape = (Tape *)self;
    return Py_BuildValue("nin", tape->read, tape->has, tape->kept);
}

/* walk(draw, halves, first, read, kept): what `draw` gives at each place from the first one on, with
 * half a word left or without. `read` and `kept` (int64) get what `told` says, `kept` twice that and whether a half is
 * left. */
static PyObject *tape_walk(PyObject *self, PyObject *args)
{
    Tape *tape = (Tape *)self;
    PyObject *draw;
    int halves;
    Py_ssize_t first;
    Py_buffer read, kept;
    if (!PyArg_ParseTuple(args, "Opnw*w*", &draw, &halves, &first, &read, &kept))
        return NULL;
    Py_ssize_t count = read.len / (Py_ssize_t)sizeof(int64_t);
    PyObject *made = NULL;
    if (kept.len != read.len || first < 0 || count > tape->count - first)
        PyErr_SetString(PyExc_ValueError, "as many places as words, at most");
    else
        made = PyList_New(count);
    const uint64_t *words = tape->words.buf;
    for (Py_ssize_t i = 0; made && i < count; i++) {
        tape->at = first + i, tape->read = tape->kept = 0, tape->has = halves;
        tape->half = (uint32_t)(words[first + i] >> 32);
        PyObject *value = PyObject_CallNoArgs(draw);
        if (!value) {
            Py_CLEAR(made);
            break;
        }
        PyList_SET_ITEM(made, i, value);
        ((int64_t *)read.buf)[i] = tape->read;
        ((int64_t *)kept.buf)[i] = 2 * tape->kept + tape->has;
    }
    PyBuffer_Release(&read);
    PyBuffer_Release(&kept);
    return made;
}

static PyMethodDef TAPE_METHODS[] = {
    {"capsule", tape_capsule, METH_NOARGS, "capsule(): for NumPy's generators."},
    {"place", tape_place, METH_VARARGS, "place(at, half): go there."},
    {"told", tape_told, METH_NOARGS, "told(): (words read, whether a half is left, kept)."},
    {"walk", tape_walk, METH_VARARGS, "walk(draw, halves, first, read, kept): see tape.h."},
    {NULL},
};

static PyTypeObject TapeType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "lazynp._fastpath.Tape",
    .tp_basicsize = sizeof(Tape),
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_new = tape_new,
    .tp_dealloc = tape_dealloc,
    .tp_methods = TAPE_METHODS,
};
