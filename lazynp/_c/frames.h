/* See frames.c. */
#include <Python.h>

PyObject *frame_function(PyObject *module, PyObject *frame);
PyObject *frame_value(PyObject *module, PyObject *args);
PyObject *set_frame_values(PyObject *module, PyObject *args);
PyObject *wait_for_line(PyObject *module, PyObject *args);
