/* The end of a process whose threads are still inside XLA. See lowering/_closing.py. */

#pragma once

#include "core.h"

#if defined(__unix__) || defined(__APPLE__)
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static pthread_t ending_thread;
static struct sigaction handled_before;

/* CPython unwinds the stack of a thread that asks for the interpreter now. C++ answers by
   `terminate` and `abort`. Here the thread waits for the end of the process. */
static void stay_if_other(void)
{
    while (!pthread_equal(pthread_self(), ending_thread))
        pause();
}

static void aborted(int signal_number)
{
    stay_if_other();
    sigaction(signal_number, &handled_before, NULL);
    raise(signal_number); /* comes when this function returns */
}

static void terminated(void)
{
    stay_if_other();
    abort();
}

#ifdef __GLIBC__
/* Destructors of static objects would run beside the threads that use them. */
static void end_now(int status, void *none)
{
    (void)none;
    fflush(NULL);
    _exit(status);
}
#endif

/* `inside`: whether other threads run XLA's code, and will go on. */
static PyObject *end_beside_threads(PyObject *self, PyObject *inside)
{
    (void)self;
    struct sigaction action = {.sa_handler = aborted};
    void *library = dlopen("libstdc++.so.6", RTLD_LAZY | RTLD_NOLOAD);
    void *(*set_terminate)(void (*)(void)) = NULL;
    if (library)
        *(void **)&set_terminate = dlsym(library, "_ZSt13set_terminatePFvvE");
    if (set_terminate)
        set_terminate(terminated);
    ending_thread = pthread_self();
    sigaction(SIGABRT, &action, &handled_before);
#ifdef __GLIBC__
    if (inside == Py_True)
        on_exit(end_now, NULL); /* the last that is registered runs first */
#endif
    Py_RETURN_NONE;
}

#else

static PyObject *end_beside_threads(PyObject *self, PyObject *inside)
{
    (void)self, (void)inside;
    Py_RETURN_NONE;
}

#endif
