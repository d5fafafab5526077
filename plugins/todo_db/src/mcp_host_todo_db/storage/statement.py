"""One statement, as its driver takes it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Row = Sequence[Any]
Convert = Callable[[Any], Any]


@dataclass(frozen=True, slots=True)
class Statement:
    """One statement as its driver takes it.

    `names` are its parameters in order, and `converts` has, by their places in it, what makes the
    driver's value of ours, where that is another;
    `constants` are those that no call gives. `only_reads` statements change nothing; what is
    `repeatable` changes nothing more when it runs once more. `before` and `after` are run with it
    in one transaction, for a database that cannot say all in one statement. `keyed` does the same
    and keeps the request's key with it, which fails where the key is taken.
    """

    sql: str
    names: Sequence[str]
    converts: Sequence[tuple[int, Convert]]
    constants: Mapping[str, Any]
    only_reads: bool = False
    repeatable: bool = False
    before: Sequence["Statement"] = ()
    after: Sequence["Statement"] = ()
    keyed: "Statement | None" = None

    def arguments(self, values: Mapping[str, Any]) -> list[Any]:
        """Put the values in the order of the parameters, as the driver takes them."""
        given = {**self.constants, **values}
        arguments = [given[name] for name in self.names]
        for at, convert in self.converts:
            arguments[at] = convert(arguments[at])
        return arguments
