"""A judge as a package of another author registers it."""

from collections.abc import Iterable, Iterator, Mapping

from fullbench import Case, Verdict


class BrevityJudge:
    """Prefers the shorter response, and abstains from scores."""

    kind = "metric"
    models = ()

    def __init__(self) -> None:
        self.name = "brevity"
        self.settings = {"prefers": "shorter"}

    def judge(self, cases: Iterable[Case]) -> Iterator[Verdict]:
        for case in cases:
            if case.ballot.spec != "choice+tie":
                yield Verdict.from_case(case, self.name, "abstained")
                continue
            one, two = (len(response.text) for response in case.responses)
            marks = (0.5, 0.5) if one == two else (float(one < two), float(one > two))
            yield Verdict.from_case(case, self.name, marks)


def build(name: str, options: Mapping[str, str]) -> BrevityJudge:
    return BrevityJudge()
