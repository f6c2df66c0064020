"""Parts of `docs/papers-code.md`: what the code of FedGroup and FlexCFL measures, divides by and begins with."""

from __future__ import annotations

from shoal.recipes.grids import grid
from shoal.recipes.judging.comparing import NAMES
from shoal.recipes.judging.relations import Known
from shoal.recipes.judging.statements_fedgroup import ETA_G, G3, GROUPED, HERE
from shoal.recipes.judging.statements_flexcfl import F3
from shoal.recipes.pages.beside import CHANGE, by_seed, change, spread, twin
from shoal.recipes.papers.fedgroup import RATES

__all__ = ["between_groups", "first_weights", "groups_apart"]

APART = """## FedGroup: the discrepancy of methods with groups

Equation 4 and the caption of Fig. 3 speak of the distance between clients and their model, with groups between clients
and their group. The first public [code](https://github.com/morningD/FlexCFL) (file `grouprox.py`) measures that for
FedAvg and FedProx, and for methods with groups the distance between groups and the mean of all groups; later versions
measure clients ([D78](departures.md#d78)). The paper's sentence that FedAvg and FedProx "achieve low discrepancy" fits
the first code; we do not know which version drew the figure. Distances, over all rounds for clients, at the end for
groups:"""
BETWEEN = """## FedGroup and FlexCFL: aggregation between groups

The text adds eta_g times the other groups' unit vectors to a group's model. The code divides that by the sum of the
weights ([D12](departures.md#d12)), so that a model does not grow but is drawn towards the others; Shoal does the same
unless `inter_group=paper`. FedGroup's text has it speed up MNIST-MCLR slightly, without a value of eta_g. Mean accuracy
of the first 100 rounds; without eta_g FedGroup has {alone}:"""
WEIGHTS = """## FlexCFL: first weights

Keras draws the weights of a layer from a wider range than torch (Glorot's rule; biases are 0), and the code uses Keras
([D101](departures.md#d101)). `model=mlp:start=glorot` imitates it. Of FeSEM it decides how many groups there are:
clients that never trained stand at the server's first model and go to the nearest centre. By torch's weights the centre
that trains moves away, and newcomers of later rounds go to another one; by Keras's, twice as long, the penalty on
weights draws it nearer, and most or all stay with it; without the penalty they do not. The paper says of MNIST-MLP that
FeSEM puts all clients into one group. Groups that are not empty in the end:"""
REACHED = "And the best accuracy in Table 3; without: as torch draws weights, with: as Keras does."
STARTS = {"torch": "mnist-mlp", "Keras": "mnist-mlp-glorot", "Keras, no penalty": "mnist-mlp-glorot-no-l2"}


def groups_apart(known: Known) -> list[str]:
    """FedAvg's and FedProx's discrepancy beside both readings of that of methods with groups."""
    rows = []
    for row in HERE:
        for column in ("fedavg", "fedprox", *GROUPED):
            cell = f"{G3}/{row}/{column}"
            clients = spread([*by_seed(cell, known, "discrepancy_mean", 1).values()], 2)
            groups = spread([*by_seed(cell, known, "code_discrepancy", 1).values()], 2) if column in GROUPED else "-"
            rows.append([f"{NAMES[row]}, `{column}`", clients, groups])
    ran = [row for row in rows if row[1] != "not run"]
    return [APART, grid(("row and column of Table III", "clients and their model", "groups and their mean"), ran)]


def between_groups(known: Known) -> list[str]:
    """How fast FedGroup is without and with aggregation between groups, in both forms."""
    alone = by_seed(f"{G3}/mnist-mclr/fg-edc", known, "early_accuracy")
    rows = []
    for rate in map("{:g}".format, RATES):
        for end, form in (("", "as the code"), ("-printed", "as printed")):
            found = by_seed(f"{ETA_G}-{rate}{end}", known, "early_accuracy")
            rows.append([f"eta_g = {rate}, {form}", spread([*found.values()]), change(alone, found)])
    told = BETWEEN.format(alone=spread([*alone.values()]))
    return [told, grid(("MNIST-MCLR", "mean accuracy, %", CHANGE), rows)]


def first_weights(known: Known) -> list[str]:
    """FeSEM's groups with weights as torch and as Keras draws them, and the accuracy of all columns of both."""
    groups, reached = [], []
    for column in ("fesem", "fesem-first"):
        found = [by_seed(f"{F3}/{row}/{column}", known, "groups", 1) for row in STARTS.values()]
        groups.append([f"`{column}`", *(", ".join(f"{v:.0f}" for v in one.values()) or "not run" for one in found)])
    for name in known:
        if name.startswith(f"{F3}/mnist-mlp-glorot/"):
            column = name.rsplit("/", 1)[1]
            reached.append([f"`{column}`", *twin(f"{F3}/mnist-mlp", "-glorot", column, known)])
    return [
        WEIGHTS,
        grid(("MNIST-MLP, by seed", *STARTS), groups),
        REACHED,
        grid(("MNIST-MLP", "paper", "torch", "Keras", CHANGE), reached),
    ]
