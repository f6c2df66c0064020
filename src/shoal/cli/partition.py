"""`shoal partition`: what a split looks like before one trains on it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from shoal.analysis.units import percent
from shoal.cli.arguments import allowed
from shoal.cli.console import Format, FormatOption, echo, emit, out, table
from shoal.cli.failures import guarded
from shoal.errors import BadInput

if TYPE_CHECKING:
    from rich.console import Console

    from shoal.analysis.balance import Balance
    from shoal.data.build import Statistics

Words = Annotated[list[str] | None, typer.Argument(metavar="KEY=VALUE", help="data, partition, seed, data_seed, val.")]

ICG = Annotated[int | None, typer.Option("--icg", min=1, help="How alike would so many groups of unlike clients be?")]


@guarded
def partition(words: Words = None, icg: ICG = None, format: FormatOption = Format.text) -> None:
    """Show how a data set is dealt to clients.

    Sizes, classes, planted groups, and a picture of who has what.
    The split is the one that a run with the same keys gets.
    With --icg M also how alike M groups are that FedGSP would form of these clients, beside random ones.
    """
    from shoal.analysis.balance import balance, label_counts
    from shoal.data.build import describe
    from shoal.seeds import Key
    from shoal.setup.prepare import load_federation
    from shoal.setup.settings import check_settings

    settings = check_settings(allowed(words or [], ("data", "partition", "seed", "data_seed", "val")))
    source = load_federation(settings, None)
    stats = describe(source)
    if icg is not None and not stats.classes:
        raise BadInput("--icg compares counts of classes, and the targets of these data are none; leave it out")
    place = {client: i for i, client in enumerate(source.ids)}
    groups = None if source.truth is None else [int(source.truth[place[c]]) for c in stats.looked_at]
    found = None if icg is None else balance(label_counts(source, stats.looked_at), icg, Key(settings.seed)("icg"))
    if format is Format.json:
        emit(document(stats, groups, found))
    else:
        show(out(), stats, groups, len(getattr(source, "views", ())) > 1)
        if found is not None:
            show_balance(out(), found)


def document(stats: Statistics, groups: list[int] | None, formed: list[Balance] | None) -> dict[str, Any]:
    """The statistics for programs; with those of groups that could be formed, if asked, in place of single clients."""
    found: dict[str, Any] = {k: v for k, v in vars(stats).items() if k not in ("looked_at", "label_counts_NC")}
    if formed is not None:
        return found | {"grouping": [vars(f) for f in formed]}
    counts = stats.label_counts_NC.tolist()
    found["per_client"] = [
        {"id": client, "group": groups[i] if groups else None, "labels": counts[i]}
        for i, client in enumerate(stats.looked_at)
    ]
    return found


def show(console: Console, stats: Statistics, groups: list[int] | None, views: bool) -> None:
    from shoal.cli.partition_plot import PLAIN_SHADES, SHADES, histogram

    some = len(stats.looked_at) < stats.clients
    of = f" (of {len(stats.looked_at)} clients looked at)" if some else ""
    total = "" if stats.samples is None else f"{stats.samples:,}"
    distinct = "" if stats.distinct in (None, stats.samples) else f", {stats.distinct:,} of them distinct"
    rows = [
        ("clients", f"{stats.clients:,}"),
        ("training samples", f"{stats.train:,}"),
        *([("all samples", total + distinct)] if total else []),
        ("per client", f"{stats.mean:.1f} ± {stats.std:.1f}{of}"),
        ("smallest, median, largest", f"{stats.smallest:,}, {stats.median:g}, {stats.largest:,}"),
    ]
    if stats.classes:
        rows.append(("classes", f"{stats.classes}, on average {stats.classes_per_client:.1f} per client"))
    if stats.groups is not None:
        rows.append(("planted groups", f"{len(stats.groups)}, of {', '.join(map(str, stats.groups))} clients"))
    echo(console, stats.name, style="bold")
    console.print(table(["", ""], rows))
    unicode = console.encoding.lower().startswith("utf")
    shades = SHADES if unicode else PLAIN_SHADES
    if stats.classes:
        show_classes(console, stats, groups, shades)
    if views:
        echo(console, "the groups see images or labels differently, which no count of labels shows", style="dim")
    echo(console, "\nSamples per client, number of clients", style="bold")
    for bar in histogram(stats.label_counts_NC.sum(1), room=console.width // 2, full=shades[-1]):
        echo(console, bar)


def show_classes(console: Console, stats: Statistics, groups: list[int] | None, shades: str) -> None:
    from shoal.cli.partition_plot import distribution, legend, rows_of

    echo(console, "\nWho has which classes", style="bold")
    rows_shown = rows_of(stats.looked_at, stats.label_counts_NC, groups)
    for line in distribution(rows_shown, console.width, shades):
        console.print(line, no_wrap=True, crop=True)
    if len(rows_shown) < len(stats.looked_at):
        each = "means of neighbouring clients" if groups else "some clients chosen at random"
        echo(console, f"{len(rows_shown)} rows for {len(stats.looked_at)} clients: {each}", style="dim")
    echo(console, legend(shades), style="dim")


def show_balance(console: Console, found: list[Balance]) -> None:
    echo(console, "\nHow alike groups are: median distance of two by their classes", style="bold")
    *others, best = found
    rows = [[f.name, f"{f.groups:,}", f"{f.clients:,}", f"{f.median_cpd:.5f}", f"{f.z:,.0f}"] for f in found]
    console.print(table(["", "groups", "clients each", "median CPD", "z"], rows, right=True))
    for other in others:
        if other.median_cpd > 0:
            echo(
                console,
                f"ICG has {percent(1 - best.median_cpd / other.median_cpd)} less than {other.name}",
                style="dim",
            )
