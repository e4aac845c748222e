"""Graphs, sorting, searching, automata, as people write them (`test_recipes`)."""

from __future__ import annotations

import numpy as np


def n_queens(n):
    cols = np.full(n, -1)
    count, row = 0, 0
    while row >= 0:
        cols[row] += 1
        if cols[row] == n:
            cols[row] = -1
            row -= 1
            continue
        ok = True
        for r in range(row):
            if cols[r] == cols[row] or abs(cols[r] - cols[row]) == row - r:
                ok = False
                break
        if ok:
            if row == n - 1:
                count += 1
            else:
                row += 1
    return count


def sieve(n):
    prime = np.ones(n + 1, dtype=bool)
    prime[0] = prime[1] = False
    i = 2
    while i * i <= n:
        if prime[i]:
            for j in range(i * i, n + 1, i):
                prime[j] = False
        i += 1
    return np.nonzero(prime)[0]


def sieve_slices(n):
    flags = np.ones(n + 1, dtype=bool)
    flags[:2] = False
    for i in range(2, int(n**0.5) + 1):
        if flags[i]:
            flags[i * i :: i] = False
    return flags.sum()


def union_find(n, edges):
    parent = np.arange(n)
    size = np.ones(n, dtype=np.int64)

    def find(x):
        while parent[x] != x:
            parent[x] = parent[parent[x]]
            x = parent[x]
        return x

    components = n
    for a, b in edges:
        ra, rb = find(a), find(b)
        if ra == rb:
            continue
        if size[ra] < size[rb]:
            ra, rb = rb, ra
        parent[rb] = ra
        size[ra] += size[rb]
        components -= 1
    return components, size.max()


def bfs_csr(indptr, indices, source):
    n = len(indptr) - 1
    level = -np.ones(n, dtype=np.int32)
    level[source] = 0
    frontier = np.zeros(n, dtype=np.int32)
    frontier[0] = source
    begin, end = 0, 1
    while begin != end:
        u = frontier[begin]
        begin += 1
        for k in range(indptr[u], indptr[u + 1]):
            v = indices[k]
            if level[v] == -1:
                level[v] = level[u] + 1
                frontier[end] = v
                end += 1
    return level


def dijkstra(w, source):
    n = len(w)
    dist = np.full(n, np.inf)
    done = np.zeros(n, dtype=bool)
    prev = np.full(n, -1)
    dist[source] = 0
    for _ in range(n):
        u = -1
        for v in range(n):
            if not done[v] and (u == -1 or dist[v] < dist[u]):
                u = v
        if np.isinf(dist[u]):
            break
        done[u] = True
        for v in range(n):
            if w[u, v] > 0 and dist[u] + w[u, v] < dist[v]:
                dist[v] = dist[u] + w[u, v]
                prev[v] = u
    return dist, prev


def topological(adj):
    n = len(adj)
    indegree = adj.sum(axis=0)
    order = []
    done = np.zeros(n, bool)
    for _ in range(n):
        for v in range(n):
            if indegree[v] == 0 and not done[v]:
                break
        else:
            raise ValueError("cycle")
        done[v] = True
        order.append(v)
        for u in range(n):
            if adj[v, u]:
                indegree[u] -= 1
    return np.array(order)


def pagerank(links, damping, tol):
    n = len(links)
    out = links.sum(axis=1)
    rank = np.ones(n) / n
    iterations = 0
    while True:
        new = np.full(n, (1 - damping) / n)
        for i in range(n):
            if out[i] == 0:
                new += damping * rank[i] / n
            else:
                for j in range(n):
                    if links[i, j]:
                        new[j] += damping * rank[i] / out[i]
        iterations += 1
        delta = np.abs(new - rank).sum()
        rank = new
        if delta < tol:
            return rank, iterations


def heap_sort(a):
    n = len(a)

    def sift(lo, hi):
        root = lo
        while 2 * root + 1 <= hi:
            child = 2 * root + 1
            if child + 1 <= hi and a[child] < a[child + 1]:
                child += 1
            if a[root] >= a[child]:
                return
            a[root], a[child] = a[child], a[root]
            root = child

    for k in range((n - 2) // 2, -1, -1):
        sift(k, n - 1)
    for end in range(n - 1, 0, -1):
        a[0], a[end] = a[end], a[0]
        sift(0, end - 1)
    return a


def insertion_sort(x):
    x = np.array(x)
    for i in range(1, len(x)):
        key = x[i]
        j = i - 1
        while j >= 0 and x[j] > key:
            x[j + 1] = x[j]
            j -= 1
        x[j + 1] = key
    return x


def bubble_sort(a):
    n = len(a)
    swaps = 0
    while True:
        swapped = False
        for i in range(n - 1):
            if a[i] > a[i + 1]:
                a[i], a[i + 1] = a[i + 1], a[i]
                swapped = True
                swaps += 1
        n -= 1
        if not swapped:
            break
    return swaps


def quick_select(a, k):
    a = a.copy()
    lo, hi = 0, len(a) - 1
    while lo < hi:
        pivot = a[(lo + hi) // 2]
        i, j = lo, hi
        while i <= j:
            while a[i] < pivot:
                i += 1
            while a[j] > pivot:
                j -= 1
            if i <= j:
                a[i], a[j] = a[j], a[i]
                i += 1
                j -= 1
        if k <= j:
            hi = j
        elif k >= i:
            lo = i
        else:
            break
    return a[k]


def merge_sorted(a, b):
    out = np.empty(len(a) + len(b), dtype=a.dtype)
    i = j = k = 0
    while i < len(a) and j < len(b):
        if a[i] <= b[j]:
            out[k] = a[i]
            i += 1
        else:
            out[k] = b[j]
            j += 1
        k += 1
    while i < len(a):
        out[k] = a[i]
        i, k = i + 1, k + 1
    while j < len(b):
        out[k] = b[j]
        j, k = j + 1, k + 1
    return out


def binary_searches(table, keys):
    found = np.zeros(len(keys), dtype=int)
    for q, key in enumerate(keys):
        lo, hi = 0, len(table)
        while lo < hi:
            mid = (lo + hi) // 2
            if table[mid] < key:
                lo = mid + 1
            else:
                hi = mid
        found[q] = lo if lo < len(table) and table[lo] == key else -1
    return found


def longest_run(x):
    best = current = 1
    where = 0
    for i in range(1, len(x)):
        current = current + 1 if x[i] == x[i - 1] else 1
        if current > best:
            best, where = current, i - current + 1
    return best, where


def rule_automaton(rule, width, steps):
    table = [(rule >> k) & 1 for k in range(8)]
    row = np.zeros(width, dtype=np.int8)
    row[width // 2] = 1
    rows = np.zeros((steps, width), dtype=np.int8)
    for t in range(steps):
        rows[t] = row
        new = np.zeros_like(row)
        for i in range(width):
            left = row[i - 1] if i > 0 else 0
            right = row[i + 1] if i < width - 1 else 0
            new[i] = table[4 * left + 2 * row[i] + right]
        row = new
    return rows


def flood_fill(image, y, x, new):
    old = image[y, x]
    if old == new:
        return 0
    h, w = image.shape
    stack = np.zeros((h * w * 4 + 4, 2), dtype=int)
    stack[0] = y, x
    top, filled = 1, 0
    while top:
        top -= 1
        cy, cx = stack[top]
        if cy < 0 or cy >= h or cx < 0 or cx >= w or image[cy, cx] != old:
            continue
        image[cy, cx] = new
        filled += 1
        for dy, dx in ((1, 0), (-1, 0), (0, 1), (0, -1)):
            stack[top, 0] = cy + dy
            stack[top, 1] = cx + dx
            top += 1
    return filled


def huffman_cost(weights):
    w = np.sort(weights).astype(float)
    n = len(w)
    merged = np.full(n, np.inf)
    i, head, tail, cost = 0, 0, 0, 0.0
    for _ in range(n - 1):
        total = 0.0
        for _ in range(2):
            if i < n and (head >= tail or w[i] <= merged[head]):
                total += w[i]
                i += 1
            else:
                total += merged[head]
                head += 1
        merged[tail] = total
        tail += 1
        cost += total
    return cost


def arguments(rng):
    """For each function."""
    return {
        n_queens: (4,),
        sieve: (40,),
        sieve_slices: (40,),
        union_find: (9, rng.integers(0, 9, (9, 2))),
        bfs_csr: (np.array([0, 2, 4, 5, 6, 7]), np.array([1, 2, 0, 3, 3, 4, 0]), 1),
        dijkstra: (np.where(rng.random((6, 6)) < 0.4, rng.random((6, 6)), 0.0), 0),
        topological: (np.triu(np.ones((5, 5), int), 1),),
        pagerank: ((rng.random((5, 5)) < 0.4).astype(int), 0.85, 1e-3),
        heap_sort: (rng.random(9),),
        insertion_sort: (rng.integers(0, 50, 9),),
        bubble_sort: (rng.random(9),),
        quick_select: (rng.random(11), 4),
        merge_sorted: (np.sort(rng.random(6)), np.sort(rng.random(7))),
        binary_searches: (np.sort(rng.integers(0, 30, 12)), rng.integers(0, 30, 9)),
        longest_run: (np.array([1, 1, 2, 2, 2, 0, 0, 0, 0, 1]),),
        rule_automaton: (110, 9, 12),
        flood_fill: (np.array([[0, 0, 1], [1, 0, 0], [0, 1, 0]]), 0, 0, 7),
        huffman_cost: (rng.integers(1, 50, 10),),
    }
