"""Functions with Python's control flow, as people write them, for `test_python_loops`.

Each is called with NumPy by Python, and with lazynp under a bare `jit`. `np` is replaced for each.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

# -- branches --------------------------------------------------------------------------------------


def if_else(x):
    if x > 0:
        y = x
    else:
        y = -x
    return y


def if_alone(x):
    y = x * 2
    if x > 1:
        y = y + 1
    return y


def elif_chain(x):
    if x > 2:
        y, z = x, 1
    elif x > 0:
        y, z = 2 * x, 2
    elif x > -1:
        y, z = 3 * x, 3
    else:
        y, z = 0.0, 4
    return y + z, z


def nested_if(x):
    if x > 0:
        if x > 1:
            y = x * 10
        else:
            y = x * 100
        z = y + 1
    else:
        z = 0.0
        y = -1.0
    return y, z


def early_return(x):
    if x > 1:
        return x * 2
    if x > 0:
        return x + 1
    return -x


def return_in_nested_if(x):
    if x > 0:
        if x > 1:
            return x * 3
        x = x + 0.25
    y = x * 2
    if y > 3:
        return y
    return y - 1


def return_in_else(x):
    if x > 0:
        y = x + 1
    else:
        return x - 1
    return y * 2


def conditional_expression(x):
    return x * 2 if x > 0 else x / 2 if x > -1 else 7.0


def and_or_not(x):
    a = x > 0 and x < 1
    b = x < 0 or not x < 2
    return (1 if a else 2) + (10 if b else 20) + (100 if not (a or b) else 200)


def and_of_numbers(x):
    return x and x + 1, x or 5.0


def chained(x):
    return 1.0 if -1 < x < 1 else 2.0 if 1 <= x <= 2 != 3 else 3.0


def known_condition(x):
    n = 3
    if n > 2:
        y = x + n
    else:
        y = "never"
    return y


def joined_types(x):
    if x > 0:
        y = 1
    else:
        y = x
    return y * 2


def bound_in_one_branch_and_returned_there(x):
    if x > 0:
        y = x * 3
        return y + 1
    return x


def tuple_in_branches(x):
    if x > 0:
        p = (x, x + 1)
    else:
        p = (x * 2, 0.0)
    a, b = p
    return a - b


def assigned_in_test(x):
    if (y := x * 2) > 1:
        return y
    return y - 1


def minimum_of_scalars(x):
    return min(x, 1.0) + max(x, 0.0, 0.5) * 2 + abs(min(x, -x))


def checked(x):
    assert x < 100, "too large"
    if x < -50:
        raise ValueError("too small")
    return x + 1


def asserting(x):
    for v in x:
        if v > 100:
            assert v < 200, "too large"
    return x.sum()


def truth_of_number(x):
    if x:
        return x * 2
    return x + 9


def is_none(x, scale=None):
    if scale is None:
        scale = 2.0
    return x * scale if scale else x


# -- branches on arrays ----------------------------------------------------------------------------


def branch_writes(x):
    y = np.zeros(3)
    if x[0] > 0:
        y[1] = x[1]
    else:
        y[2] = 5.0
        x[0] = 1.0
    return y * 2


def branch_augments(x):
    if x.sum() > 0:
        x += 1
    else:
        x *= 2
        x[0] -= 1
    return x.sum()


def branch_makes_array(x):
    if x[0] > x[1]:
        y = x[::-1] * 2
    else:
        y = np.zeros(len(x))
    return y


def view_in_branch(x):
    row = x[1:3]
    if x[0] > 0:
        row[:] = 7
    return row + x[1:3]


def guarded_index(x):
    i = len(x)
    last = 0.0
    while i > 0 and x[i - 1] < 100:
        i -= 1
        last = x[i]
    return last


# -- for -------------------------------------------------------------------------------------------


def total(x):
    s = 0
    for i in range(len(x)):
        s += x[i]
    return s


def total_of_elements(x):
    s = 0.0
    for v in x:
        s = s + v * v
    return s


def prefix_sums(x):
    out = np.empty_like(x)
    s = x[0] * 0
    for i in range(len(x)):
        s = s + x[i]
        out[i] = s
    return out


def recurrence(x):
    for i in range(1, len(x)):
        x[i] = x[i - 1] * 0.5 + x[i]
    return x[-1]


def backwards(x):
    out = x.copy()
    for i in range(len(x) - 2, -1, -1):
        out[i] = out[i] + 0.5 * out[i + 1]
    return out


def steps_of_three(x):
    s = 0.0
    for i in range(1, len(x), 3):
        s += x[i] * i
    return s, i


def reversed_range(x):
    s = 1.0
    for i in reversed(range(len(x))):
        s = s * 0.5 + x[i]
    return s


def reversed_array(x):
    s = 1.0
    for v in reversed(x):
        s = s * 0.5 + v
    return s


def enumerated(x):
    s = 0.0
    for i, v in enumerate(x):
        s += i * v
    return s


def enumerated_from(x):
    s = 0.0
    for i, v in enumerate(x, 3):
        s += i * v
    return s


def zipped(x):
    s = 0.0
    for a, b in zip(x, x[::-1]):
        s += a * b
    return s


def zipped_uneven(x):
    s = 0.0
    for a, b, i in zip(x, x[2:], range(100)):
        s += a * b - i
    return s


def enumerated_zip(x):
    s = 0.0
    for i, (a, b) in enumerate(zip(x, x[1:])):
        s += i * a - b
    return s


def rows_of_matrix(x):
    m = x.reshape(-1, 2)
    out = np.zeros(2)
    for row in m:
        out += row * row[0]
    return out


def rows_written(x):
    m = x.reshape(-1, 2).copy()
    for row in m:
        row[0] = row[1] * 2
    return m


def nested_loops(x):
    n = len(x)
    out = np.zeros((n, n))
    for i in range(n):
        for j in range(n):
            out[i, j] = x[i] * x[j] + i - j
    return out


def triangular(x):
    s = 0.0
    for i in range(len(x)):
        for j in range(i + 1, len(x)):
            s += x[i] * x[j]
    return s


def triangular_down(x):
    out = np.zeros(len(x))
    for i in range(len(x)):
        for j in range(i, -1, -1):
            out[i] += x[j]
    return out


def if_in_loop(x):
    s = 0.0
    for v in x:
        if v > 0:
            s += v
        elif v < -2:
            s -= 1
    return s


def counting(x):
    n = 0
    for v in x:
        if v > 0:
            n += 1
    return n


def largest(x):
    best, place = x[0], 0
    for i in range(len(x)):
        if x[i] > best:
            best = x[i]
            place = i
    return best, place


def broken(x):
    found = -1
    for i in range(len(x)):
        if x[i] > 2:
            found = i
            break
    return found


def broken_or_else(x):
    for i in range(len(x)):
        if x[i] > 2:
            found = i
            break
    else:
        found = -7
    return found


def continued(x):
    s = 0.0
    for v in x:
        if v < 0:
            continue
        s += v
        if v > 2:
            continue
        s += 100
    return s


def returned(x):
    for i in range(len(x)):
        if x[i] > 2:
            return x[i] * 10
    return -1.0


def returned_from_nest(x):
    for i in range(len(x)):
        for j in range(len(x)):
            if x[i] + x[j] == 3:
                return i * 100 + j
    return -1


def broken_inner(x):
    s = 0.0
    for i in range(len(x)):
        for j in range(len(x)):
            if x[j] > x[i]:
                break
            s += x[j]
        else:
            s += 1000
            continue
        s += 1
    return s


def broken_at_known_round(x):
    s = 0.0
    for i in range(len(x)):
        if i == 3:
            break
        s += x[i]
    return s, i


def short_broken(x):
    s = 0.0
    for i in range(4):
        if x[i] > 1:
            break
        s += x[i]
    return s


def short_known(x):
    for i in range(3):
        x = x * 2 + i
    return x


def bound_inside(x):
    for v in x:
        last = v * 2
    return last


def loop_variable_after(x):
    s = 0.0
    for i in range(len(x)):
        s += x[i]
    return s * i


def becomes_array(x):
    s = None
    for v in x:
        s = v if s is None else s + v
    return s


def integer_becomes_float(x):
    k = 1
    for i in range(len(x)):
        k = k * 0.5 + x[i]
    return k


def swapped(x):
    a, b = x.copy(), np.zeros_like(x)
    for _ in range(11):
        b[1:] = a[:-1] * 0.5 + a[1:]
        a, b = b, a
    return a, b


def swapped_arguments(x):
    y = np.zeros_like(x)
    a, b = x, y
    for _ in range(11):
        b[1:] = a[:-1] * 0.5 + a[1:]
        a, b = b, a
    return x.sum(), y.sum()


def rebound_arrays(x):
    y = x
    for _ in range(12):
        y = y * 0.9 + x
    return y


def augmented_arrays(x):
    y = x
    for _ in range(12):
        y += 1
    return y.sum() + x.sum()


def alias_of_two(x):
    a = b = x.copy()
    for i in range(len(x)):
        b[i] = a[i] + 1
    return a + b


def view_of_the_row_before(x):
    m = x.reshape(-1, 1) * np.ones(2)
    last = m[0]
    for i in range(1, len(m)):
        m[i - 1] = 5.0
        m[i] = last + m[i]
        last = m[i]
    return m, last


def two_names_in_turn(x):
    a = x * 1
    b = a * 2
    for i in range(len(x)):
        b[i] = 3.0
        a = b
        a[0] += 1
    return a, b


def view_of_a_new_array(x):
    a = x * 1
    v = a[1:]
    for _ in range(10):
        a = a * 0.5
        v = a[1:]
        v += 1
    return a, v


def view_that_is_read_later(x):
    a = x * 1
    v = a[2:]
    for _ in range(10):
        a[3] += 1
        v = a[2:] + v
    return a, v


def tuple_of_one_array(x):
    a = x * 1
    p = (a, a)
    for i in range(10):
        p[0][i] = i
        p = (p[1], p[0])
    return p[0] + p[1]


def generator_consumed(x):
    made = (w for w in [1.0, 2.0, 3.0])
    s = 0.0
    for _ in range(10):
        for w in made:
            s += w * x[0]
        s += x[1]
    return s


def appended(x):
    rows = []
    for i in range(10):
        rows.append(x * i)
    return np.stack(rows)


def filled_dict(x):
    d = {}
    for i in range(10):
        d[i] = x[0] * i
    return d[3] + d[9]


def list_inside(x):
    out = np.zeros(10)
    for i in range(10):
        parts = []
        for k in range(3):
            parts.append(x[0] * i + k)
        out[i] = sum(parts)
    return out


def formatted(x):
    table = {f"w{i}": i * 2.0 for i in range(10)}
    s = 0.0
    for i in range(10):
        s += x[0] * table[f"w{i}"]
    return s


def comprehension(x):
    s = 0.0
    for i in range(10):
        s += sum([x[0] * k for k in range(3)]) + i
    return s


def over_list(x):
    s = 0.0
    for w in [1.0, 2.0, 3.0]:
        s += w * x[0]
    return s


def only_python(x):
    n, facts = 1, []
    for i in range(1, 21):
        n *= i
        facts.append(n)
    return x * facts[-1]


def size_counted(x):
    n = 0
    for i in range(10):
        n += i
    return np.zeros(n).sum() + n


def power_of_index(x):
    s = 0.0
    for i in range(12):
        s += x[0] ** i
    return s


def isinstance_of_index(x):
    s = 0.0
    for i in range(10):
        s += x[0] if isinstance(i, int) else 1000
    return s


def empty_loop(x):
    s = 5.0
    for i in range(0):
        s += x[i]
    return s


def pass_only(x):
    for _ in range(20):
        pass
    return x


def division_of_index(x):
    out = np.zeros(20)
    for i in range(20):
        out[i] = x[0] * (i // 2) + i % 3 + i / 4
    return out


# -- while -----------------------------------------------------------------------------------------


def newton(x):
    y = abs(x) + 1.0
    while abs(y * y - abs(x) - 1) > 1e-9:
        y = 0.5 * (y + (abs(x) + 1) / y)
    return y


def halved(x):
    n = 0
    while x > 0.01:
        x = x / 2
        n += 1
    return x, n


def while_broken(x):
    n = 0
    while True:
        x = x * 0.5
        n += 1
        if x < 0.1:
            break
        if n > 20:
            break
    return n


def while_else(x):
    n = 0
    while n < 10 and x > 0:
        x = x - 1
        n += 1
        if x == 0.5:
            break
    else:
        n = n + 100
    return n


def while_continued(x):
    s = 0.0
    n = 0
    while n < 20:
        n += 1
        if n % 2:
            continue
        s += n * x
    return s


def while_returned(x):
    n = 0
    while n < 50:
        if x < 1:
            return n
        x = x / 3
        n += 1
    return -1


def while_counting(x):
    i, s = 0, 0.0
    while i < len(x):
        s += x[i]
        i += 1
    return s, i


def nested_while(x):
    n = 0
    for v in x:
        y = abs(v) + 0.1
        while y < 3:
            y = y * 2
            n += 1
    return n


def gcd(n, m):
    while m:
        n, m = m, n % m
    return n


def collatz(n):
    count = 0
    while n != 1:
        if n % 2 == 0:
            n = n // 2
        else:
            n = 3 * n + 1
        count += 1
    return count


# -- calls -----------------------------------------------------------------------------------------


def _clipped(v):
    if v > 1:
        return 1.0
    return v


def _power(v, n):
    out = 1.0
    for _ in range(n):
        out = out * v
    return out


def _grow(rows, v):
    rows.append(v)


def calls_helper(x):
    return _clipped(x) + _clipped(x * 2)


def helper_in_loop(x):
    s = 0.0
    for v in x:
        s += _clipped(v)
    return s


def helper_with_loop(x):
    return _power(x, 12) + _power(x, 2)


def helper_that_grows(x):
    rows: list[Any] = []
    for i in range(10):
        _grow(rows, x[0] * i)
    return np.stack(rows)


def closure(x):
    k = 2.0

    def scaled(v):
        if v > 0:
            return v * k
        return v

    s = 0.0
    for v in x:
        s += scaled(v)
    return s


def late_closure(x):
    def scaled(v):
        return v * k

    s = 0.0
    k = 1.0
    for v in x:
        k = k * 0.5
        s += scaled(v)
    return s


def lambda_called(x):
    f = lambda v: v if v > 0 else 0.0  # noqa: E731
    return sum([f(v) for v in x])


def mathematics(x):
    s = 0.0
    for i in range(10):
        s += math.sqrt(2.0) * x[0] * i
    return s


class Model:
    def __init__(self, k):
        self.k = k
        self.__hidden = 3.0

    def step(self, v):
        if v > 0:
            return v * self.k
        return v + self.__hidden

    def run(self, x):
        s = 0.0
        for v in x:
            s += self.step(v)
        return s


def methods(x):
    return Model(2.0).run(x)


class Layer:
    def __init__(self, k):
        self.k = k

    def __call__(self, v):
        return v * self.k if v > 0 else v


def callable_objects(x):
    layers = [Layer(2.0), Layer(0.5)]
    out = x * 0
    for i in range(len(x)):
        v = x[i]
        for layer in layers:
            v = layer(v) + 1
        out[i] = v
    return out


class Counter:
    def __init__(self):
        self.n = 0


def object_changed(x):
    c = Counter()
    for i in range(10):
        c.n = c.n + x[0] * i
    return c.n


# -- kernels ---------------------------------------------------------------------------------------


def gauss_seidel(x):
    u = np.zeros((6, 7))
    u[0] = x[0]
    for _ in range(4):
        for i in range(1, 5):
            for j in range(1, 6):
                u[i, j] = 0.25 * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1])
    return u


def edit_distance(x):
    a, b = x, x[::-1]
    n, m = len(a), len(b)
    d = np.zeros((n + 1, m + 1))
    for i in range(n + 1):
        d[i, 0] = i
    for j in range(m + 1):
        d[0, j] = j
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            cost = 0 if a[i - 1] == b[j - 1] else 1
            d[i, j] = min(d[i - 1, j] + 1, d[i, j - 1] + 1, d[i - 1, j - 1] + cost)
    return d[n, m]


def lu(x):
    n = 10
    a = np.eye(n) * 10 + np.outer(x[:n], x[:n])
    for k in range(n):
        for i in range(k + 1, n):
            a[i, k] = a[i, k] / a[k, k]
            for j in range(k + 1, n):
                a[i, j] -= a[i, k] * a[k, j]
    return a


def mandelbrot(x):
    out = np.zeros(len(x), dtype=int)
    for p in range(len(x)):
        c = x[p] * 0.3 + 0.4j
        z = 0.0
        for n in range(30):
            if abs(z) > 2:
                break
            z = z * z + c
            out[p] = n
    return out


def run_lengths(x):
    values, lengths = np.zeros(len(x)), np.zeros(len(x), dtype=int)
    n = 0
    values[0] = x[0]
    lengths[0] = 1
    for i in range(1, len(x)):
        if x[i] == x[i - 1]:
            lengths[n] += 1
        else:
            n += 1
            values[n] = x[i]
            lengths[n] = 1
    return values, lengths, n + 1


def bubble_sort(x):
    n = len(x)
    for i in range(n):
        swapped = False
        for j in range(n - 1 - i):
            if x[j] > x[j + 1]:
                x[j], x[j + 1] = x[j + 1], x[j]
                swapped = True
        if not swapped:
            break
    return x


def binary_search(x):
    low, high = 0, len(x)
    s = np.sort(x)
    while low < high:
        middle = (low + high) // 2
        if s[middle] < 1.0:
            low = middle + 1
        else:
            high = middle
    return low


def _leave(x):
    for i in range(len(x)):
        if x[i] > 2.4:
            return
        x[i] = 9.0


def _leave_at_once(x):
    if x[0] > 2.4:
        return
    x[1] = 9.0


def left_early(x):
    y = 2 * x
    _leave(y)
    _leave_at_once(y)
    return y


SCALARS = [2.5, 1.5, 1.0, 0.3, 0.0, -0.5, -3.0]
VECTORS = [
    [1.0, 2.0, -3.0, 4.0, 0.5, 1.0, 2.0, 2.0, -1.0, 0.0, 1.5, 3.0],
    [-1.0, -2.0, -3.0, -4.0, -0.5, -1.0, -2.0, -2.0, -1.0, -6.0, -1.5, -3.0],
    [3.0, 0.0, 0.0, 0.0, 0.0, 2.0, 2.0, 1.0, 1.0, 1.0, 1.0, 1.0],
]
SMALL = ["branch_writes", "branch_augments", "branch_makes_array", "view_in_branch"]
PAIRS = ["gcd"]
INTEGERS = ["collatz"]


def asserted(x):
    try:
        assert x < 0, "positive"
        y = x
    except:  # noqa: E722
        y = -x
    return y


def _asserted_elements(x):
    u = np.arange(8.0) - 6 * x
    for k, v in enumerate(u):
        assert v < 0, f"u[{k}] = {v} of {len(u)}"
    return u


def _asserted_at_once(x):
    assert x < 0, (x, "%.1f" % x)  # noqa: UP031
    return x
