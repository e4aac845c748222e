"""Promotion: a hot function of the user's is compiled as a whole, without a decorator.

`_sampling` counts operations by the functions on the stack. A function in which many of them ran
gets a `Promoted` in front of it (`_function`), which takes each call apart (`_given`, `_objects`).
Once its calls have taken long enough (`_case`), one runs in Python as before, and then again, on
copies of its arguments, as one program (`_program`, `_results`). If both agree in every result,
type, written array and attribute (`_agreement`), and the program is faster, later calls with
arguments like these run the program. Anything else that Python could notice forbids it: a function
that changes other objects, prints, draws random numbers or reads what changes between calls
(`_guards`) stays as it is.

Calls of derivatives are tried in the same way (`_derived`, `_calls`). A long one ends in the midst,
once its program is there (`_giving_way`).
"""

from lazynp._promotion._derived import derivatives
from lazynp._promotion._function import Promoted, fronts, promote
from lazynp._promotion._giving_way import ticked as ticked_in_derivative
from lazynp._promotion._sampling import ticked
from lazynp._promotion._taken import all_told, taken
from lazynp._recorder import tick_observers

tick_observers += [ticked, ticked_in_derivative]

__all__ = ["Promoted", "all_told", "derivatives", "fronts", "promote", "taken"]
