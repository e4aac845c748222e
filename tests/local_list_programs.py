"""Random functions that change lists of numbers which they make, for test_local_lists.py."""

from __future__ import annotations

from random import Random

_BEGINS = {"int": "[0]", "float": "[0.0]", "bool": "[False]"}


class Generator:
    """The source of `f(x)`, where x has 20 small whole numbers: the same for each seed."""

    def __init__(self, seed: int) -> None:
        self.r = Random(seed)
        self.n = self.r.choice([3, 8, 9, 12, 30, 80])
        self.kind = self.r.choice(["int", "float", "bool", "int"])
        self.lines: list[str] = []

    def source(self) -> str:
        r, begin = self.r, f"{_BEGINS[self.kind]} * {self.n}"
        other = r.choice(
            [begin, "s", "s[:]", f"[{', '.join(self.number() for _ in range(self.n))}]"]
        )
        self.lines = ["def f(x):", f"    s = {begin}", f"    t = {other}"]
        self.block(0, 1, r.randint(2, 5))
        more = r.sample(["s[0]", "t[-1]", "len(s)", "sum(t)", "max(s)", "any(s)", "min(t)"], 3)
        second = "t, " if other != "s" else ""
        self.lines.append(f"    return s, {second}t is s, {', '.join(more)}, np.array(s)")
        return "\n".join(["import lazynp as np", "", "", *self.lines, ""])

    def number(self) -> str:
        k = self.r.randint(-4, 6)
        return {"int": str(k), "float": repr(k / 2), "bool": str(k > 0)}[self.kind]

    def index(self, depth: int) -> str:
        found = [str(self.r.randrange(self.n)), "-1", f"int(x[{self.r.randrange(20)}]) % {self.n}"]
        if depth:
            i = f"i{depth - 1}"
            found += [f"{i} % {self.n}", f"int(x[{i}]) % {self.n}"] * 2
        return self.r.choice(found)

    def element(self, depth: int) -> str:
        return f"{self.r.choice('st')}[{self.index(depth)}]"

    def value(self, depth: int) -> str:
        a, b = self.element(depth), self.number()
        more = {
            "bool": [f"not {a}"], "float": [f"{a} + {b}", f"{a} * 0.5", "float(x[3])"],
            "int": [f"{a} + {b}", f"{a} - 1", f"int(x[{self.r.randrange(20)}])"],
        }  # fmt: skip
        return self.r.choice([a, b, *more[self.kind]])

    def test(self, depth: int) -> str:
        found = [f"x[{self.r.randrange(20)}] > {self.r.randint(0, 3)}"]
        found += [f"x[i{depth - 1}] > 1"] * 2 if depth else []
        a, b = self.element(depth), self.element(depth)
        return self.r.choice([*found, a if self.kind == "bool" else f"{a} > {b}"])

    def block(self, depth: int, indent: int, size: int) -> None:
        for _ in range(size):
            self.statement(depth, indent)

    def statement(self, depth: int, indent: int) -> None:
        r, add = self.r, lambda line: self.lines.append("    " * indent + line)
        at, choice = self.index(depth), r.random()
        if choice < 0.5 and (choice < 0.3 or self.kind == "bool"):
            add(f"{r.choice('st')}[{at}] = {self.value(depth)}")
        elif choice < 0.5:
            add(f"{r.choice('st')}[{at}] {r.choice(['+=', '-='])} {self.number()}")
        elif choice < 0.6:
            add(f"s[{at}], s[{self.index(depth)}] = {self.element(depth)}, s[{at}]")
        elif choice < 0.66:
            add(r.choice(["t = s[:]", "s = t.copy()", "t = list(s)"]))
        elif choice < 0.7 and not depth:
            add(f"s.append({self.number()})")
        elif choice < 0.82 and indent < 4:
            add(f"if {self.test(depth)}:")
            self.block(depth, indent + 1, r.randint(1, 2))
            if r.random() < 0.5:
                add("else:")
                self.block(depth, indent + 1, 1)
        elif indent < 4 and depth < 2 and r.random() < 0.75:
            add(f"for i{depth} in range(x.shape[0]):")
            self.block(depth + 1, indent + 1, r.randint(1, 3))
        elif indent < 4 and depth < 2:
            add(f"i{depth} = int(x[0])")
            add(f"while i{depth} < 15:")
            self.block(depth + 1, indent + 1, r.randint(1, 2))
            add(f"    i{depth} += 1")
        else:
            add(f"s[{at}] = {self.value(depth)}")
