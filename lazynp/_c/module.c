/* The module: all kinds of fronts in one translation unit, so that calls can be inlined. */

#include "buffer.h"
#include "handles.h"
#include "core.h"
#include "present.h"
#include "at_once.h"
#include "tangents.h"
#include "temporaries.h"
#include "ending.h"
#include "elementwise.h"
#include "scalars.h"
#include "indexing.h"
#include "storing.h"
#include "traced.h"
#include "methods.h"
#include "numbers.h"
#include "views.h"
#include "derived.h"
#include "whole.h"
#include "written.h"
#include "forms.h"
#include "loops_of_rules.h"
#include "orders.h"
#include "guarded.h"
#include "parts.h"
#include "programs.h"
#include "frames.h"
#include "tape.h"
#include "calls.h"
#include "elsewhere.h"
#include "here.h"

/* -- the type ---------------------------------------------------------------------------------- */

static int front_traverse(PyObject *self, visitproc visit, void *arg)
{
    Front *front = (Front *)self;
    Py_VISIT(front->python);
    Py_VISIT(front->function);
    Py_VISIT(front->second);
    Py_VISIT(front->first);
    Py_VISIT(front->method);
    Py_VISIT(front->tuples);
    return 0;
}

static int front_clear(PyObject *self)
{
    Front *front = (Front *)self;
    Py_CLEAR(front->python);
    Py_CLEAR(front->function);
    Py_CLEAR(front->second);
    Py_CLEAR(front->first);
    Py_CLEAR(front->method);
    Py_CLEAR(front->tuples);
    return 0;
}

static void front_dealloc(PyObject *self)
{
    PyObject_GC_UnTrack(self);
    if (((Front *)self)->weak)
        PyObject_ClearWeakRefs(self);
    front_clear(self);
    PyObject_GC_Del(self);
}

static PyObject *front_get(PyObject *self, PyObject *object, PyObject *Py_UNUSED(class))
{
    return object && object != Py_None ? PyMethod_New(self, object) : Py_NewRef(self);
}

/* The name, docstring and signature are those of the Python function. */
static PyObject *front_getattro(PyObject *self, PyObject *name)
{
    if (PyUnicode_Check(name) && PyUnicode_Tailmatch(name, the.reduce, 0, PY_SSIZE_T_MAX, -1) == 1)
        return PyObject_GenericGetAttr(self, name); /* __reduce__, __reduce_ex__ */
    PyObject *found = PyObject_GetAttr(((Front *)self)->python, name);
    if (found || !PyErr_ExceptionMatches(PyExc_AttributeError))
        return found;
    PyErr_Clear();
    return PyObject_GenericGetAttr(self, name);
}

/* Whatever is set is the Python function's, as what is read. */
static int front_setattro(PyObject *self, PyObject *name, PyObject *value)
{
    return PyObject_SetAttr(((Front *)self)->python, name, value);
}

static PyObject *front_repr(PyObject *self)
{
    return PyObject_Repr(((Front *)self)->python);
}

/* For pickle: a front is a function of the namespace, found by its name; or a method of an object
   that is pickled with it (of a ufunc; `reduced` says what a generator's is). */
static PyObject *front_reduce(PyObject *self, PyObject *Py_UNUSED(protocol))
{
    PyObject *python = ((Front *)self)->python;
    if (PyMethod_Check(python))
        return PyObject_CallMethod(python, "__reduce__", NULL);
    PyObject *reduced = PyObject_GetAttrString(python, "reduced");
    if (reduced || !PyErr_ExceptionMatches(PyExc_AttributeError))
        return reduced;
    PyErr_Clear();
    return PyObject_GetAttrString(((Front *)self)->python, "__qualname__");
}

/* For help(), which bypasses __getattribute__. */
static PyObject *front_doc(PyObject *self, void *Py_UNUSED(closure))
{
    return PyObject_GetAttrString(((Front *)self)->python, "__doc__");
}

static PyGetSetDef FRONT_GETSET[] = {
    {"__doc__", front_doc, NULL, NULL, NULL},
    {NULL},
};

static PyMethodDef FRONT_METHODS[] = {
    {"__reduce__", front_reduce, METH_NOARGS, NULL},
    {"__reduce_ex__", front_reduce, METH_O, NULL},
    {NULL},
};

static PyTypeObject FrontType = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "lazynp._fastpath.front",
    .tp_doc = "A Python function with a fast path in C for its usual calls.",
    .tp_basicsize = sizeof(Front),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL |
                Py_TPFLAGS_METHOD_DESCRIPTOR,
    .tp_vectorcall_offset = offsetof(Front, vectorcall),
    .tp_call = PyVectorcall_Call,
    .tp_dealloc = front_dealloc,
    .tp_traverse = front_traverse,
    .tp_clear = front_clear,
    .tp_descr_get = front_get,
    .tp_getattro = front_getattro,
    .tp_setattro = front_setattro,
    .tp_repr = front_repr,
    .tp_methods = FRONT_METHODS,
    .tp_getset = FRONT_GETSET,
    .tp_weaklistoffset = offsetof(Front, weak),
};

static PyObject *unbound_get(PyObject *self, PyObject *Py_UNUSED(object), PyObject *Py_UNUSED(class))
{
    return Py_NewRef(self);
}

/* A front that is no method where it is the attribute of a class, as a builtin of NumPy's. */
static PyTypeObject UnboundType = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "lazynp._fastpath.unbound",
    .tp_doc = "A front that is no method where it is the attribute of a class.",
    .tp_base = &FrontType,
    .tp_basicsize = sizeof(Front),
    .tp_flags = Py_TPFLAGS_DEFAULT, /* the rest is inherited */
    .tp_descr_get = unbound_get,
};

#include "slots.h"

/* -- the module -------------------------------------------------------------------------------- */

/* A kind of front, and the names of the arguments that set its `first` and `second`. */
typedef struct {
    const char *name;
    vectorcallfunc call;
    const char *first, *second;
} Kind;

static const Kind KINDS[] = {
    {"elementwise", elementwise, "entries", "primitive"},
    {"of_floats", of_floats, NULL, NULL},
    {"of_scalars", of_scalars, "operator", "quiet"},
    {"converted", converted, NULL, NULL},
    {"getitem", getitem, NULL, NULL},
    {"setitem", setitem, NULL, NULL},
    {"in_place", in_place, "operator", NULL},
    {"attribute", attribute, NULL, NULL},
    {"called", called, NULL, NULL},
    {"whole", whole, "not_numpys", "handle"},
    {"written", by_writing, NULL, NULL},
    {"reduction", reduction, "ops", "handle"},
    {"of_arrays", of_arrays, NULL, NULL},
    {"iterate", iterate, NULL, NULL},
    {"matched", matched, "slot_type", NULL},
    {"round", matched_round, "slot_type", NULL},
    {"shown", shown, "entries", NULL},
    {"asked", asked, "entries", "operators"},
    {"asked_function", asked_function, "entries", NULL},
    {"hosted", hosted, "hooks", "handle"},
    {"replayed", replayed, "rules", "more"},
    {"guarded", guarded, NULL, NULL},
    {"part", part, "places", "shape"},
    {"product", matrix_product, NULL, NULL},
    {"shaped", shaped, "aligned", "shape"},
    {"bind", bound, NULL, NULL},
    {"record", record_traced, NULL, NULL},
    {"jitted", jitted, "known", "times"},
    {"queued", queued, "queue", NULL},
    {"of_class", of_class, NULL, NULL},
    {"stripped", stripped, NULL, NULL},
    {"seen_in_class", seen_in_class, NULL, NULL},
    {"kept", kept, NULL, NULL},
    {"in_class", in_class, NULL, "handle"},
    {"is_instance", is_instance, NULL, NULL},
    {"class_told", class_told, NULL, NULL},
    {"lent_buffer", lent_buffer, NULL, NULL},
    {"record_field", record_field, NULL, NULL},
};

/* The integer arguments of `front`, for any kind. */
static const struct {
    const char *name;
    size_t offset;
} NUMBERS[] = {
    {"operands", offsetof(Front, operands)}, {"depth", offsetof(Front, depth)},
    {"swap", offsetof(Front, swap)},         {"records", offsetof(Front, records)},
    {"creates", offsetof(Front, creates)},   {"arrays_only", offsetof(Front, arrays_only)},
    {"powers", offsetof(Front, powers)},
    {"contiguous", offsetof(Front, contiguous)},
    {"anytime", offsetof(Front, anytime)},   {"lengths", offsetof(Front, lengths)},
    {"itself", offsetof(Front, itself)},     {"raw", offsetof(Front, raw)},
    {"into", offsetof(Front, into)},
    {"outer", offsetof(Front, outer)},       {"typed", offsetof(Front, typed)},
    {"named", offsetof(Front, named)},       {"many", offsetof(Front, many)},
    {"asks", offsetof(Front, asks)},         {"reduces", offsetof(Front, reduces)},
    {"kin", offsetof(Front, kin)},           {"bare", offsetof(Front, bare)},
    {"begins", offsetof(Front, begins)},
    {"counted", offsetof(Front, counted)},   {"symbol", offsetof(Front, symbol)},
};

static int find_slot(PyObject *class, const char *name, Py_ssize_t *offset)
{
    PyObject *descriptor = PyObject_GetAttrString(class, name);
    if (descriptor && Py_TYPE(descriptor) != &PyMemberDescr_Type) {
        PyErr_Format(PyExc_TypeError, "%R has no slot %s", class, name);
        Py_CLEAR(descriptor);
    }
    if (!descriptor)
        return -1;
    *offset = ((PyMemberDescrObject *)descriptor)->d_member->offset;
    Py_DECREF(descriptor);
    return 0;
}

static PyObject *new_front(PyObject *python, const Front *like)
{
    Front *new = PyObject_GC_New(Front, &FrontType);
    if (!new)
        return NULL;
    memcpy(&new->vectorcall, &like->vectorcall, sizeof(Front) - offsetof(Front, vectorcall));
    new->python = Py_NewRef(python);
    Py_INCREF(new->function);
    Py_INCREF(new->first);
    Py_INCREF(new->second);
    Py_INCREF(new->method);
    Py_INCREF(new->tuples);
    new->weak = NULL;
    PyObject_GC_Track(new);
    return (PyObject *)new;
}

/* Find the slots that this kind of front reads, in the class that it gets as `function`. */
static int find_slots_of(vectorcallfunc kind, PyObject *class)
{
    int failed = 0;
    if (kind == called)
        failed = find_slot(class, "nin", &the.ufunc_nin) < 0 ||
                 find_slot(class, "nout", &the.ufunc_nout) < 0 ||
                 find_slot(class, "_numpy", &the.ufunc__numpy) < 0 ||
                 find_slot(class, "_call", &the.ufunc__call) < 0;
    if (kind == matched) {
        the.Likeness = (PyTypeObject *)class;
#define X(name) failed = failed || find_slot(class, #name, &the.Likeness_##name) < 0;
        OF_LIKENESS(X)
#undef X
    }
    if (kind == matched_round) {
        the.Unit = (PyTypeObject *)class;
#define X(name) failed = failed || find_slot(class, #name, &the.Unit_##name) < 0;
        OF_UNIT(X)
#undef X
    }
    if (kind == replayed) {
        PyObject *JVPTrace, *JVPTracer, *LinearTrace, *LinearTracer, *RuleTemplate, *JVPTemplate;
        if (!PyArg_ParseTuple(class, "OOOOOO", &JVPTrace, &JVPTracer, &LinearTrace, &LinearTracer,
                              &RuleTemplate, &JVPTemplate))
            return -1;
#define X(class, name) failed = failed || find_slot(class, #name, &tangents.class##_##name) < 0;
        OF_TANGENTS(X)
#undef X
    }
    return failed ? -1 : 0;
}

/* Set one keyword argument of `front`. */
static int specify(Front *spec, const Kind *kind, const char *name, PyObject *value)
{
    if (!strcmp(name, "function"))
        spec->function = value;
    else if (!strcmp(name, "method"))
        spec->method = value;
    else if (!strcmp(name, "tuples") || !strcmp(name, "faster"))
        spec->tuples = value;
    else if (kind->first && !strcmp(name, kind->first))
        spec->first = value;
    else if (kind->second && !strcmp(name, kind->second))
        spec->second = value;
    else {
        for (size_t i = 0; i < sizeof(NUMBERS) / sizeof(NUMBERS[0]); i++) {
            if (strcmp(name, NUMBERS[i].name))
                continue;
            int number = PyUnicode_Check(value) && PyUnicode_GET_LENGTH(value) == 1
                             ? (int)PyUnicode_READ_CHAR(value, 0)
                             : (int)PyLong_AsLong(value);
            *(int *)((char *)spec + NUMBERS[i].offset) = number;
            return number == -1 && PyErr_Occurred() ? -1 : 0;
        }
        PyErr_Format(PyExc_TypeError, "a front of kind %s takes no argument %s", kind->name, name);
        return -1;
    }
    return 0;
}

static PyObject *front(PyObject *Py_UNUSED(module), PyObject *args, PyObject *named)
{
    const char *name;
    PyObject *python, *key, *value;
    if (!PyArg_ParseTuple(args, "sO", &name, &python))
        return NULL;
    for (size_t i = 0; i < sizeof(KINDS) / sizeof(KINDS[0]); i++) {
        if (strcmp(KINDS[i].name, name))
            continue;
        Front spec = {.vectorcall = KINDS[i].call, .function = Py_None, .first = Py_None,
                      .second = Py_None, .method = Py_None, .tuples = Py_None, .depth = 1};
        for (Py_ssize_t at = 0; named && PyDict_Next(named, &at, &key, &value);)
            if (specify(&spec, &KINDS[i], PyUnicode_AsUTF8(key), value) < 0)
                return NULL;
        if (find_slots_of(KINDS[i].call, spec.function) < 0)
            return NULL;
        if (KINDS[i].call == replayed && take_tangents(&spec) < 0)
            return NULL;
        if (KINDS[i].call == jitted && take_calls_of(&spec) < 0)
            return NULL;
        return new_front(python, &spec);
    }
    return PyErr_Format(PyExc_ValueError, "unknown kind of front: %s", name);
}

/* The same front for another Python function that does the same. */
static PyObject *moved(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *before, *python;
    int bare;
    if (!PyArg_ParseTuple(args, "O!Op", &FrontType, &before, &python, &bare))
        return NULL;
    PyObject *new = new_front(python, (Front *)before);
    if (new)
        ((Front *)new)->bare |= bare;
    return new;
}

static PyObject *handed_on(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *names)
{
    return hand_on((Front *)self, args, nargsf, names);
}

/* This front, or a new one of a Python function, as one that no class binds. */
static PyObject *unbound(PyObject *Py_UNUSED(module), PyObject *function)
{
    Front spec = {.vectorcall = handed_on, .function = Py_None, .first = Py_None,
                  .second = Py_None, .method = Py_None, .tuples = Py_None, .depth = 1};
    int is_front = Py_TYPE(function) == &FrontType;
    PyObject *made = is_front ? Py_NewRef(function) : new_front(function, &spec);
    if (made)
        Py_SET_TYPE(made, &UnboundType);
    return made;
}

static PyObject *configure(PyObject *Py_UNUSED(module), PyObject *args, PyObject *named)
{
    if (PyTuple_GET_SIZE(args) || !named) {
        PyErr_SetString(PyExc_TypeError, "configure takes keyword arguments only");
        return NULL;
    }
#define X(name)                                                                                    \
    {                                                                                              \
        PyObject *given = PyDict_GetItemString(named, #name);                                      \
        if (!given)                                                                                \
            return PyErr_Format(PyExc_TypeError, "configure needs %s", #name);                     \
        Py_XSETREF(the.name, Py_NewRef(given));                                                    \
    }
    OBJECTS(X)
#undef X
#define X(class, name)                                                                             \
    if (find_slot(the.class, #name, &the.class##_##name) < 0)                                      \
        return NULL;
    SLOTS(X)
#undef X
    if (find_slot((PyObject *)Py_TYPE(the.config), "debug_nans", &the.config_debug_nans) < 0 ||
        find_slot((PyObject *)Py_TYPE(the.config), "execution", &the.config_execution) < 0)
        return NULL;
    struct {
        const char *name;
        Py_ssize_t *at;
    } sizes[] = {{"large", &the.large}, {"stage", &the.stage}, {"bound", &the.bound},
                 {"few", &the.few}, {"filled", &the.filled}, {"tick", &the.tick}};
    for (int i = 0; i < 6; i++) {
        PyObject *given = PyDict_GetItemString(named, sizes[i].name);
        *sizes[i].at = given ? PyLong_AsSsize_t(given) : -1;
        if (*sizes[i].at < 0)
            return PyErr_Format(PyExc_TypeError, "configure needs %s", sizes[i].name);
    }
    the.recorder = PyUnicode_InternFromString("recorder");
    the.acquire = PyUnicode_InternFromString("acquire");
    the.release = PyUnicode_InternFromString("release");
    the.ops = PyUnicode_InternFromString("ops");
    the.starts = PyUnicode_InternFromString("starts");
    the.spent = PyUnicode_InternFromString("spent");
    the.ticked = PyUnicode_InternFromString("ticked");
    the.out = PyUnicode_InternFromString("out");
    the.where = PyUnicode_InternFromString("where");
    the.copies = PyUnicode_InternFromString("copies");
    the.name_of = PyUnicode_InternFromString("name");
    the.adds = PyUnicode_InternFromString("adds");
    the.kind = PyUnicode_InternFromString("kind");
    the.params = PyUnicode_InternFromString("params");
    the.scalar_of = PyUnicode_InternFromString("scalar");
    the.overlaps = PyUnicode_InternFromString("overlaps");
    the.layout = PyUnicode_InternFromString("layout");
    the.shape = PyUnicode_InternFromString("shape");
    the.permutation = PyUnicode_InternFromString("permutation");
    the.shows = PyUnicode_InternFromString("shows");
    the.name = PyUnicode_InternFromString("__name__");
    the.scipy = PyUnicode_InternFromString("scipy.");
    the.pandas = PyUnicode_InternFromString("pandas.core.construction");
    the.array_ufunc = PyUnicode_InternFromString("__array_ufunc__");
    the.array_wrap = PyUnicode_InternFromString("__array_wrap__");
    the.array_priority = PyUnicode_InternFromString("__array_priority__");
    the.array_function = PyUnicode_InternFromString("__array_function__");
    the.array_finalize = PyUnicode_InternFromString("__array_finalize__");
    tangents.where = PyUnicode_InternFromString("where");
    the.aval_of_double = PyDict_GetItemWithError(the.avals, (PyObject *)&PyDoubleArrType_Type);
    the.aval_of_int64 = PyDict_GetItemWithError(the.avals, (PyObject *)&PyInt64ArrType_Type);
    the.aval_of_bool = PyDict_GetItemWithError(the.avals, (PyObject *)&PyBoolArrType_Type);
    if (!the.recorder || !the.acquire || !the.release || !the.ops || !the.starts ||
        !the.spent || !the.ticked || !the.overlaps || !the.layout || !the.shows || !the.shape || !the.permutation || !the.name ||
        !the.scipy || !the.pandas || !the.array_ufunc || !the.array_wrap || !the.array_priority ||
        !the.array_function || !the.array_finalize || !tangents.where || !the.aval_of_double || !the.aval_of_int64 ||
        !the.aval_of_bool) {
        if (!PyErr_Occurred())
            PyErr_SetString(PyExc_TypeError, "configure needs the avals of numpy.float64, int64 and bool");
        return NULL;
    }
    if (take_pools() < 0 || take_names_of_records() < 0)
        return NULL;
    Py_RETURN_NONE;
}

/* Objects of the permanent generation become young ones. */
static PyObject *track_again(PyObject *Py_UNUSED(module), PyObject *objects)
{
    if (!PyList_Check(objects))
        return PyErr_Format(PyExc_TypeError, "a list is required");
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(objects); i++) {
        PyObject *x = PyList_GET_ITEM(objects, i);
        if (PyObject_IS_GC(x) && PyObject_GC_IsTracked(x)) {
            PyObject_GC_UnTrack(x);
            PyObject_GC_Track(x);
        }
    }
    Py_RETURN_NONE;
}

/* Before a full collection, and only then, call the function of Python's. It would run a signal's
 * handler first, whose exception the collector drops. */
static PyObject *when_full(PyObject *function, PyObject *const *args, Py_ssize_t n)
{
    if (n == 2 && PyUnicode_Check(args[0]) && PyDict_Check(args[1]) &&
        PyUnicode_CompareWithASCIIString(args[0], "start") == 0) {
        PyObject *generation = PyDict_GetItemString(args[1], "generation");
        if (generation && PyLong_Check(generation) && PyLong_AsLong(generation) == 2)
            return PyObject_Vectorcall(function, args, 2, NULL);
    }
    Py_RETURN_NONE;
}

static PyMethodDef WHEN_FULL = {"when_full", (PyCFunction)(void (*)(void))when_full, METH_FASTCALL,
                                "A callback of the collector."};

static PyObject *before_full(PyObject *Py_UNUSED(module), PyObject *function)
{
    return PyCFunction_New(&WHEN_FULL, function);
}

static PyMethodDef METHODS[] = {
    {"front", (PyCFunction)(void (*)(void))front, METH_VARARGS | METH_KEYWORDS,
     "front(kind, python, **options): put a fast path in front of a Python function."},
    {"moved", moved, METH_VARARGS,
     "moved(front, python, bare): the same fast path in front of another function."},
    {"unbound", unbound, METH_O,
     "unbound(function): it, or a front of it, which is no method as an attribute of a class."},
    {"frame_value", frame_value, METH_VARARGS,
     "frame_value(frame, at, missing): a variable of a frame, or, from -1 downwards, a value of "
     "its stack."},
    {"frame_function", frame_function, METH_O,
     "frame_function(frame): the function that runs there, or None."},
    {"set_frame_values", set_frame_values, METH_VARARGS,
     "set_frame_values(frame, places, values): swap values of a frame with those of the list."},
    {"wait_for_line", wait_for_line, METH_VARARGS,
     "wait_for_line(frame, line, first, last, callback): call it once: with the frame when that "
     "comes to the line, with None when it leaves the lines from first to last. False if this thread "
     "is traced."},
    {"end_beside_threads", end_beside_threads, METH_O,
     "end_beside_threads(inside): let the process end while other threads are inside C++."},
    {"refuse_contents", refuse_contents, METH_O,
     "refuse_contents(class): its instances are no containers, although they have items."},
    {"refuse_index", refuse_index, METH_VARARGS,
     "refuse_index(class, function): where an index is needed, call this, which raises."},
    {"name_in_errors", name_in_errors, METH_VARARGS,
     "name_in_errors(class, name): Python's own errors call the class so."},
    {"class_attributes", class_attributes, METH_VARARGS,
     "class_attributes(metaclass, class, table): the class has what the table names."},
    {"exclusive", (PyCFunction)(void (*)(void))exclusive, METH_FASTCALL,
     "exclusive(owner, view=None): see lazynp._ownership."},
    {"stable_order", stable_order, METH_VARARGS,
     "stable_order(x, wide): the stable order of each row of an array in C order; None for other "
     "arrays. wide: NumPy sorts integers by vectors."},
    {"add_rows", add_rows, METH_VARARGS,
     "add_rows(out, rows, values): out[rows[k]] += values[k], in order. False, with nothing done, "
     "for arrays of a kind that it does not take."},
    {"strided", strided, METH_VARARGS,
     "strided(memory, shape, strides): NumPy's view of it; nothing is checked."},
    {"take_kernels", take_kernels, METH_VARARGS,
     "take_kernels(ufuncs, functions): NumPy's functions that have kernels here. See kernels.h."},
    {"add_templates", add_templates, METH_VARARGS,
     "add_templates(tape, at, key, read): see lazynp.transforms._kept."},
    {"run_steps", run_steps, METH_VARARGS,
     "run_steps(steps, values): see lazynp.transforms._kept."},
    {"linear_recurrence", linear_recurrence, METH_VARARGS,
     "linear_recurrence(factors, out, axis, backwards): out[i] += factors[i] * out[i - 1], in "
     "place. False, with nothing done, for arrays of a kind that it does not take."},
    {"configure", (PyCFunction)(void (*)(void))configure, METH_VARARGS | METH_KEYWORDS,
     "configure(**objects): give the fronts the objects of lazynp. Call it before any front."},
    {"before_full", before_full, METH_O,
     "before_full(function): a callback of the collector that calls it before full collections."},
    {"track_again", track_again, METH_O,
     "track_again(objects): let the collector look at these again, which `gc.freeze` has set aside."},
    {"note_callers", note_callers, METH_O,
     "note_callers(how): 1: operators do nothing but note who calls them; -1: these are others; 0: "
     "operators work again. See `_temporaries`."},
    {"take_calls", take_calls, METH_O,
     "take_calls(class): let calls of its instances call the front that is its `__call__`."},
    {"take_slots", take_slots, METH_NOARGS,
     "take_slots(): let operators and indices of lazynp's classes call their fronts without a "
     "search by name."},
    {NULL},
};

static struct PyModuleDef MODULE = {
    PyModuleDef_HEAD_INIT,
    .m_name = "lazynp._fastpath",
    .m_doc = "The fast path in C; see _fronts.py.",
    .m_size = -1,
    .m_methods = METHODS,
};

/* The custom call that holds a value (`lowering/_holds.py`): its result has the memory of its
   operand, so that there is nothing to do. The compiler can fuse nothing across it. */
static void hold(void *out, const void **operands)
{
    if (out != operands[0])
        memcpy(out, operands[0], *(const int64_t *)operands[1]);
}

PyMODINIT_FUNC PyInit__fastpath(void)
{
    import_array();
    import_umath();
    the.reduce = PyUnicode_InternFromString("__reduce");
    if (!the.reduce)
        return NULL;
    BufferedType.tp_new = PyBaseObject_Type.tp_new; /* as for a Python class */
    if (PyType_Ready(&FrontType) < 0 || PyType_Ready(&UnboundType) < 0 ||
        PyType_Ready(&IteratorType) < 0 || PyType_Ready(&BufferedType) < 0 ||
        PyType_Ready(&TapeType) < 0)
        return NULL;
    PyObject *module = PyModule_Create(&MODULE);
    if (module && (PyModule_AddObjectRef(module, "Front", (PyObject *)&FrontType) < 0 ||
                   PyModule_AddObjectRef(module, "Iterator", (PyObject *)&IteratorType) < 0 ||
                   PyModule_AddObjectRef(module, "Buffered", (PyObject *)&BufferedType) < 0 ||
                   PyModule_AddObjectRef(module, "Tape", (PyObject *)&TapeType) < 0))
        Py_CLEAR(module);
    PyObject *call = PyCapsule_New((void *)hold, "xla._CUSTOM_CALL_TARGET", NULL);
    if (module && (!call || PyModule_AddObjectRef(module, "HOLD", call) < 0))
        Py_CLEAR(module);
    Py_XDECREF(call);
    /* increase this number when the methods or their arguments change */
    if (module && PyModule_AddIntConstant(module, "INTERFACE", 49) < 0)
        Py_CLEAR(module);
    return module;
}
