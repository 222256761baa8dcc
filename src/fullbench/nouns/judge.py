"""A judge: whoever can mark a response."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Protocol, runtime_checkable

from fullbench.nouns.case import Case
from fullbench.nouns.verdict import Failure, Verdict


@runtime_checkable
class Judge(Protocol):
    """Anything that rules on cases.

    `hear` takes cases lazily and yields one verdict or failure for each, in any order. `name` is the identity: two
    judges that may rule differently never share one.
    """

    @property
    def name(self) -> str: ...

    @property
    def settings(self) -> Mapping[str, Any]: ...

    def hear(self, cases: Iterable[Case]) -> Iterator[Verdict | Failure]: ...
