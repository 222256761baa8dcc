"""All commands under one name."""

from __future__ import annotations

from fullbench.cli.answer import answer
from fullbench.cli.audit import audit
from fullbench.cli.batch import batch_app
from fullbench.cli.building import blur, distort, grid, group, sanitise
from fullbench.cli.campaigns import assign, close, open_, set_
from fullbench.cli.card import card
from fullbench.cli.compose import compose_app
from fullbench.cli.critic import critic_app
from fullbench.cli.demo import demo
from fullbench.cli.export import export
from fullbench.cli.fetch_pictures import fetch_pictures
from fullbench.cli.gate import gate
from fullbench.cli.judge import judge
from fullbench.cli.leaderboard import leaderboard_app
from fullbench.cli.leads import adjudicate, guidelines, pilot, splits
from fullbench.cli.ledger import ledger_app
from fullbench.cli.ledger_safety import backup, sign, upgrade
from fullbench.cli.ledger_votes import alias, import_, reread
from fullbench.cli.listing import listing
from fullbench.cli.new import new_app
from fullbench.cli.people import people_app
from fullbench.cli.plan import plan
from fullbench.cli.plugins import enter
from fullbench.cli.power import power
from fullbench.cli.replay import replay
from fullbench.cli.report import report
from fullbench.cli.reproduce import reproduce
from fullbench.cli.rerank import rerank
from fullbench.cli.root import application
from fullbench.cli.run import run
from fullbench.cli.serve import serve
from fullbench.cli.show import show
from fullbench.cli.succession import canary, equate
from fullbench.cli.tune import tune

app = application()
app.command("demo")(demo)
app.command("judge")(judge)
app.command("answer")(answer)
app.command("fetch-pictures")(fetch_pictures)
app.command("run")(run)
app.command("replay")(replay)
app.command("plan")(plan)
app.command("power")(power)
enter(app)
app.command("report")(report)
app.command("show")(show)
app.command("card")(card)
app.command("audit")(audit)
app.command("gate")(gate)
app.command("canary")(canary)
app.command("equate")(equate)
app.command("reproduce")(reproduce)
app.command("export")(export)
app.command("rerank")(rerank)
app.command("tune")(tune)
app.command("serve")(serve)
app.command("list")(listing)
app.add_typer(batch_app, name="batch")
for _building in (blur, distort, grid, group, sanitise):
    compose_app.command(_building.__name__)(_building)
app.add_typer(compose_app, name="compose")
app.add_typer(critic_app, name="critic")
app.add_typer(leaderboard_app, name="leaderboard")
ledger_app.command("import")(import_)
ledger_app.command("alias")(alias)
ledger_app.command("reread")(reread)
ledger_app.command("backup")(backup)
ledger_app.command("upgrade")(upgrade)
ledger_app.command("sign")(sign)
app.add_typer(ledger_app, name="ledger")
app.add_typer(new_app, name="new")
for _running in (open_, close, set_, assign, splits, adjudicate, pilot, guidelines):
    people_app.command(_running.__name__.rstrip("_"))(_running)
app.add_typer(people_app, name="people")
