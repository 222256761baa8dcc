"""All commands under one name."""

from __future__ import annotations

from fullbench.cli.answer import answer
from fullbench.cli.audit import audit
from fullbench.cli.batch import batch_app
from fullbench.cli.building import blur, distort, grid, group, sanitise
from fullbench.cli.campaigns import assign, close, open_, set_
from fullbench.cli.card import card
from fullbench.cli.check import check
from fullbench.cli.compose import compose_app
from fullbench.cli.critic import critic_app
from fullbench.cli.demo import demo
from fullbench.cli.export import export
from fullbench.cli.fetch_pictures import fetch_pictures
from fullbench.cli.gate import gate
from fullbench.cli.group_link import link
from fullbench.cli.importing import import_files
from fullbench.cli.init import init
from fullbench.cli.judge import judge
from fullbench.cli.lake import lake_app
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
from fullbench.cli.rubric import rubric_app
from fullbench.cli.run import run
from fullbench.cli.scale import scale
from fullbench.cli.serve import serve
from fullbench.cli.serve_scores import serve_scores
from fullbench.cli.show import show
from fullbench.cli.succession import canary, equate
from fullbench.cli.tune import tune

app = application()
START, JUDGE, PEOPLE, RESULTS, DATA, ADMIN = "Start here", "Judge", "People", "Results", "Data", "Admin"
app.command("demo", rich_help_panel=START)(demo)
app.command("init", rich_help_panel=START)(init)
app.command("check", rich_help_panel=START)(check)
app.command("judge", rich_help_panel=JUDGE)(judge)
app.command("answer", rich_help_panel=JUDGE)(answer)
app.command("run", rich_help_panel=JUDGE)(run)
app.command("plan", rich_help_panel=JUDGE)(plan)
app.command("scale", rich_help_panel=JUDGE)(scale)
app.command("rerank", rich_help_panel=JUDGE)(rerank)
app.command("tune", rich_help_panel=JUDGE)(tune)
enter(app, rich_help_panel=JUDGE)
app.add_typer(batch_app, name="batch", rich_help_panel=JUDGE)
app.add_typer(rubric_app, name="rubric", rich_help_panel=JUDGE)
app.add_typer(critic_app, name="critic", rich_help_panel=JUDGE)
app.command("report", rich_help_panel=RESULTS)(report)
app.command("card", rich_help_panel=RESULTS)(card)
app.command("audit", rich_help_panel=RESULTS)(audit)
app.command("gate", rich_help_panel=RESULTS)(gate)
app.command("canary", rich_help_panel=RESULTS)(canary)
app.command("equate", rich_help_panel=RESULTS)(equate)
app.add_typer(leaderboard_app, name="leaderboard", rich_help_panel=RESULTS)
app.command("show", rich_help_panel=RESULTS)(show)
app.command("replay", rich_help_panel=RESULTS)(replay)
app.command("reproduce", rich_help_panel=RESULTS)(reproduce)
app.command("import", rich_help_panel=DATA)(import_files)
app.command("export", rich_help_panel=DATA)(export)
app.command("fetch-pictures", rich_help_panel=DATA)(fetch_pictures)
for _building in (blur, distort, grid, group, sanitise):
    compose_app.command(_building.__name__)(_building)
app.add_typer(compose_app, name="compose", rich_help_panel=DATA)
ledger_app.command("import")(import_)
ledger_app.command("alias")(alias)
ledger_app.command("reread")(reread)
ledger_app.command("backup")(backup)
ledger_app.command("upgrade")(upgrade)
ledger_app.command("sign")(sign)
app.add_typer(ledger_app, name="ledger", rich_help_panel=DATA)
app.add_typer(lake_app, name="lake", rich_help_panel=DATA)
for _running in (open_, close, set_, assign, link, splits, adjudicate, pilot, guidelines):
    people_app.command(_running.__name__.rstrip("_"))(_running)
app.add_typer(people_app, name="people", rich_help_panel=PEOPLE)
app.command("power", rich_help_panel=PEOPLE)(power)
app.command("serve", rich_help_panel=ADMIN)(serve)
app.command("serve-scores", rich_help_panel=ADMIN)(serve_scores)
app.command("list", rich_help_panel=ADMIN)(listing)
app.add_typer(new_app, name="new", rich_help_panel=ADMIN)
