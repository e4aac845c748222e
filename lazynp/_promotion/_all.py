"""All that `lazynp._promotion` gives."""

# ruff: noqa: F401 - names for `lazynp._promotion`
from lazynp._promotion._derived import derivatives
from lazynp._promotion._function import Promoted, fronts, promote
from lazynp._promotion._giving_way import ticked as ticked_in_derivative
from lazynp._promotion._sampling import ticked
from lazynp._promotion._taken import all_told, taken
from lazynp._recorder import tick_observers

tick_observers += [ticked, ticked_in_derivative]
