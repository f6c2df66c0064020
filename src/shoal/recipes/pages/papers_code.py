"""The page `docs/papers-code.md`: what the papers' public code does otherwise than their text, with our numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from shoal.recipes.grids import grid
from shoal.recipes.judging.relations import Known
from shoal.recipes.pages.as_in_code import as_in_code
from shoal.recipes.pages.beside import CHANGE, beside, shown, twin
from shoal.recipes.pages.duan_code import between_groups, first_weights, groups_apart
from shoal.recipes.pages.extra_pages import Extras
from shoal.recipes.pages.first_client import first_client
from shoal.recipes.pages.paper_pages import MADE
from shoal.recipes.pages.shift_test import shift_test
from shoal.recipes.pages.slips import slips
from shoal.recipes.pages.wecfl_code import wecfl_code
from shoal.recipes.papers.flexcfl_columns import IN_CODE

__all__ = ["page"]

DEALT = ("fedgroup/table2/mnist/federation", "fedgroup/table2/mnist-sigma1.55/federation")
T3, WHERE = "flexcfl/table3", "row and column of Table 3"
DEALT_TO = {  # methods that were played with both sizes of clients
    T3: ("FlexCFL", ("fedavg", "fedprox", "ifca", "fesem", "rcc", "rac", "flexcfl")),
    "fedgroup/table3": ("FedGroup", ("fedavg", "fedprox", "ifca", "fesem", "fg-rcc-edc", "fg-rac-edc", "fg-edc")),
}
LETTERS = {"femnist-mclr": "FEMNIST-MCLR", "femnist-mlp": "FEMNIST-MLP"}
HEAD = f"""# What the papers' code does

Three of the five papers come with public code, and the first author of a fourth has published a framework. A reader who
compares figures should know where it does something else than the text says. These are facts about code and data, found
by reading and tested by imitating them; nearly all imitations are settings of Shoal, off by default. They say nothing
about the worth of the papers' ideas, and authors who publish their code make such a page possible. {MADE}

Figures are per cent, the paper's, then ours without and with what the code does: mean ± standard deviation (seeds).
"""
FIRST = """## FlexCFL: IFCA and FeSEM apply the first client's update

The text averages the clients of a group plainly. In the [code](https://github.com/morningD/FlexCFL) the list of weights
for that mean has one element, so that of a group's clients only the first one's update is applied. `weighting=first`
imitates it ([D87](departures.md#d87)); FeSEM runs in the order of the code, `e_step=before` ([D88](departures.md#d88)).
We do not know which version of the code made the tables.
"""
SHRINK = """## FlexCFL: data that arrive bit by bit become fewer

Under the incremental drift clients have a quarter of their samples, and from round 50, 100 and 150 on half of them,
three quarters and all. The code takes each share of what is left of the samples, so that they become an eighth and then
three thirty-seconds ([D22](departures.md#d22)), and plays the group cold start on all of them
([D23](departures.md#d23)). `drift=incremental:shrinking=true:cold_start_on_full_data=true` imitates both.
"""
ENDING = """## FlexCFL: swaps of a round end early

Under swap part two clients exchange the samples of a label each, and a pair without two such labels cannot. In the code
such a pair ends the swaps of the round, where it should be passed over ([D21](departures.md#d21)).
`drift=swap-part:0.05:early_end=true` imitates it. Together with shared images, below, and the first client's update,
above, IFCA comes near to the paper's figure of FEMNIST-MCLR:
"""
DRIFTING = ("fedavg", "ifca", "ifca-first", "fesem", "fesem-first", "fedgroup", "flexcfl", "flexcfl-counts")
FALLING = {
    "mnist-mclr": "MNIST-MCLR",
    "mnist-mlp": "MNIST-MLP",
    "femnist-mclr-shared": "FEMNIST-MCLR with shared images",
}
SHARED = """## FEMNIST: clients share images

The script that deals letters to clients goes back to the first image of a class whenever there is room left, where it
should do so when there is none. All clients draw from the beginning of each class, so that they share images, also
between training samples of one and test samples of another ([D24](departures.md#d24)). `letters:overlap=true` imitates
it; the papers' data come from that script, as far as we can tell.
"""
SIZES = """## Sizes of clients

FedGroup and FlexCFL give devices and samples of their federations, and no spread. FedProx (Li et al. 2020), whose
federations of MNIST and FEMNIST both papers use, states 69 ± 106 and 92 ± 159 samples a device; Synthetic comes from
its generator. Its scripts draw log-normal sizes, those of MNIST and Synthetic without a seed, so that what was
published is one draw of many. `python -m tools.client_sizes` draws by the same laws, without training; sigma = 1.55 is
a value that we chose to match FedProx's spread on MNIST ([D73](departures.md#d73)); on Synthetic see
[D96](departures.md#d96):
"""
BOTH_SIZES = "What it does to accuracy on MNIST; without: sigma = 2, with: `power-law:sigma=1.55`."
DRAWN = {
    "mnist-sigma2": "MNIST, sigma = 2 as in the script: standard deviation",
    "mnist-sigma1.55": "MNIST, sigma = 1.55: standard deviation",
    "femnist": "FEMNIST: standard deviation",
    "synthetic": "Synthetic(1, 1): samples of all devices",
}
MOMENTUM = """## CFL's notebook: momentum

The optimisers of the [notebook](https://github.com/felisat/clustered-federated-learning) live on the clients, so that
momentum is kept from round to round, which the text does not mention (`momentum_memory=kept`). With it and without it,
and Shoal's own rule beside:
"""
IDS = """## CFL's notebook: positions and ids

The notebook stores the clients of a new cluster as positions inside the old one. They are ids as long as the old
cluster holds everybody, so that the first split is right. When a half is split again, the two new clusters hold the
clients 0, 1, 2, ... of the whole: some clients are then in two clusters, both of which are added to their models, and
others in none, whose models stay as they are ([D6](departures.md#d6)). The notebook's own experiment has two planted
groups and needs one split, and some copies of the notebook have mended it. `python -m tools.lost_ids` plays the
notebook's rounds with ids and with positions; it is an experiment, no setting of Shoal. With positions, `in none` and
`in two or more` count clients at the end:"""
GROUPS = {"two": "two planted groups, ten clients (the notebook's)", "four": "four planted groups, twelve clients"}


def page(known: Known, extras: Extras) -> str:
    """The page as text.

    Args:
        known: All cells with what is stored of them.
        extras: What was measured without recipes.

    Returns:
        Markdown.
    """
    ending, falling = (
        twins(f"flexcfl/table4-{drift}", FALLING, f"-{IN_CODE[drift][0]}", DRIFTING, known)
        for drift in ("swap-part", "incremental")
    )
    letters = twins(T3, LETTERS, "-shared", ("fedavg", "ifca", "fesem", "rcc", "rac", "flexcfl"), known)
    spread = ["samples of a client, standard deviation (FedProx: 106)", *beside(*DEALT, known, "size_std", 1.0)]
    sizes = [spread]
    for table, (title, columns) in DEALT_TO.items():
        sizes += twins(table, {"mnist-mclr": f"{title}, MNIST-MCLR"}, "-sigma1.55", columns, known)
    parts = [
        *(
            HEAD.strip(),
            *as_in_code(known),
            FIRST.strip(),
            *first_client(known),
            *first_weights(known),
            *shift_test(known),
        ),
        *(ENDING.strip(), grid(("row and column", "paper", "all pairs", "ended early", CHANGE), ending)),
        *(SHRINK.strip(), grid(("row and column", "paper", "more data", "fewer data", CHANGE), falling)),
        *(SHARED.strip(), grid((WHERE, "paper", "no shared images", "shared images", CHANGE), letters)),
        *(*groups_apart(known), *between_groups(known), SIZES.strip(), *drawn_sizes(extras), BOTH_SIZES),
        grid(("row and column of Tables 3 and III", "paper", "sigma 2", "sigma 1.55", CHANGE), sizes),
        *(MOMENTUM.strip(), notebook(known), IDS, *lost_ids(extras), *wecfl_code(known, extras), *slips()),
    ]
    return "\n\n".join(parts) + "\n"


def twins(table: str, rows: Mapping[str, str], end: str, columns: Sequence[str], known: Known) -> list[list[str]]:
    """Every column of some rows without and with what the end of the rows' names stands for."""
    return [[f"{title}, `{c}`", *twin(f"{table}/{row}", end, c, known)] for row, title in rows.items() for c in columns]


def drawn_sizes(extras: Extras) -> list[str]:
    """How sizes differ from draw to draw; nothing while they were not drawn."""
    if "client-sizes" not in extras:
        return []
    rows = []
    for name, found in extras["client-sizes"]["federations"].items():
        values = [f"{found[key]:,.0f}" for key in ("published", "least", "median", "largest")]
        rows.append([DRAWN[name], *values, f"{found['at_most_published']:.0%} of {found['draws']}"])
    heads = ("federation", "published", "least draw", "middle", "largest", "draws up to what is published")
    return [grid(heads, rows)]


def lost_ids(extras: Extras) -> list[str]:
    """The notebook's rounds with ids and with positions, seed by seed; nothing while they were not played."""
    if "lost-ids" not in extras:
        return []
    rows = []
    for name, found in extras["lost-ids"]["experiments"].items():
        for run in found["runs"]:
            ids, positions = run["ids"], run["positions"]
            accuracies = [f"{100 * one['last_three_accuracy']:.1f}" for one in (ids, positions)]
            rounds = [", ".join(str(split[0]) for split in one["splits"]) or "never" for one in (ids, positions)]
            lost = [str(positions[key]) for key in ("in_none", "in_several")]
            rows.append([GROUPS[name], str(run["seed"]), *rounds, *accuracies, *lost])
    heads = ("federation", "seed", "splits with ids", "with positions", "accuracy with ids", "with positions")
    return [grid((*heads, "in none", "in two or more"), rows), *lost_sentence(extras)]


def lost_sentence(extras: Extras) -> list[str]:
    """What positions cost where they matter."""
    runs = [run for found in extras["lost-ids"]["experiments"].values() for run in found["runs"]]
    again = [run for run in runs if len(run["ids"]["splits"]) > 1]
    costs = [100 * (run["ids"]["last_three_accuracy"] - run["positions"]["last_three_accuracy"]) for run in again]
    if not costs:
        return []
    span = f"{min(costs):.1f} to {max(costs):.1f} points" if len(costs) > 1 else f"{costs[0]:.1f} points"
    return [
        f"In {len(again)} of {len(runs)} runs a cluster is split that is not the whole; positions cost {span} there."
    ]


def notebook(known: Known) -> str:
    """The ways of the notebook's experiment: accuracy, models, rounds of the first split."""
    rows = []
    for way in ("authors", "authors-reset", "default", "never"):
        name = f"cfl/notebook/rotated/{way}"
        cell, result = known[name]
        splits = [run.get("splits", []) for run in result.runs.values() if run["complete"]] if result else []
        first = ", ".join(str(s[0]["round"]) if s else "never" for s in splits) or "not run"
        second = sum(len(s) > 1 for s in splits)
        rows.append([cell.note, shown(name, known, "last_three_accuracy"), first, f"{second} of {len(splits)}"])
    return grid(("setting", "accuracy at the end", "first split in round, by seed", "seeds with a second split"), rows)
