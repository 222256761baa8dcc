"""`fullbench serve-scores`: HTTP server for a score model."""

from __future__ import annotations

from typing import Annotated

from fullbench.cli.console import print_message
from fullbench.cli.options import argument, option


def serve_scores(
    judge: Annotated[str, argument("The score model, as KIND:NAME?OPTIONS.")],
    host: Annotated[str, option("Where to listen; there are no keys, so keep it to your own machines.")] = (
        "127.0.0.1"
    ),
    port: Annotated[int, option("0: any free one.", min=0, max=65535)] = 8710,
) -> None:
    """Serve a score model over HTTP, so that others can judge by it as scores:http://HOST:PORT.

    For models whose packages clash with those of another: each has an environment and a server of its own.

    Example:

        fullbench serve-scores "imagereward?device=cuda" --port 8711
    """
    from fullbench.judges.scorers.scorer_server import ScoreServer
    from fullbench.studies import judge_and_model_specs

    with ScoreServer(judge_and_model_specs.judge_from_spec(judge), host, port) as server:
        print_message(
            f"{server.judge.name} gives scores at {server.url}; judge by it as scores:{server.url}. Ctrl-C ends it."
        )
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            print_message("Ended.")
