"""Pages made of `results/extra`: what is measured without a run, by a command that each page names."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from shoal.errors import RunFolderError
from shoal.recipes.grids import grid

__all__ = ["EXTRA", "Extras", "edc_madc", "icg", "read_extras"]

EXTRA = "extra"  # the folder below that of results
Extras = Mapping[str, Any]  # documents by name
MADE = "Made by `shoal reproduce --write-docs` from `results/extra`; do not edit."
MODELS = "mclr,mlp:hidden=16,mlp:hidden=32,mlp:hidden=64,mlp:hidden=128,mlp:hidden=256,mlp:hidden=512"
PROBED = {"mnist": ("MNIST", 0.03), "fashion-mnist": ("Fashion-MNIST", 0.005)}
ICG_HEAD = f"""# How alike ICG's groups are

{MADE}

FedGSP's paper (figure 3a) measures how alike groups are by the class probability distance (CPD) of pairs of
them, and says that [ICG](../algorithms/fedgsp.md#from-the-paper-to-the-code) cuts its median by 82 % against single
clients, which are FedAvg's "groups", and by 41 % against random groups. Ours, on the same data set, FEMNIST by writer:
368 writers with at least 100 samples, 62 classes, label counts of their training samples, 52 groups of 7, for the seeds
0, 1 and 2:

```
shoal partition data=femnist seed=0 --icg 52 --format json > results/extra/icg-femnist-seed0.json
```

The seed decides which writers; figures are means over ten groupings of each kind. Median CPD times 1,000, then
FedGSP's objective z in thousands (single clients are more in number, so theirs does not compare):"""
ICG_FOOT = """Groups of seven writers at random are already much alike; ICG more than halves what is left. Both gains
are larger than the paper's, which gives neither its kernel nor its seeding. The bandwidth of the kernel does not
matter for ratios."""
EDC_HEAD = f"""# EDC stands for MADC, and distances keep their contrast

{MADE}

FedGroup and FlexCFL group clients by EDC, which needs a few directions, instead of MADC, which needs all pairs.
They claim that over pairs of pre-trained clients EDC is nearly a linear function of MADC (FedGroup, Fig. 5), and that
distances of parameters concentrate in high dimension (II-B, III-C). `shoal probe` measures both on any federation."""
EDC_ABOUT = """200 clients with two classes each and sizes by a power law pre-train for 50 mini-batches of 10 from one
random model, as clients do in FedGroup's cold start, where alpha m of them are asked: 60 of MNIST, 100 of FEMNIST. All
19,900 pairs are compared."""
FEMNIST = """FedGroup's own picture has FEMNIST with a perceptron of 415,258 weights, and Sent140, which is not here.
The first of them:

```console
$ shoal probe data=femnist:letters partition=letters clients=200 lr=0.003 engine=serial model=femnist-mlp-26 \\
    --figure docs/results/edc-madc-femnist --format json > results/extra/edc-madc-femnist.json
```"""
EDC_SAYS = """With m = 5, the papers' number of groups for FEMNIST and Fashion-MNIST, the correlation is above 0.94
for every model. It depends on m. On MNIST and Fashion-MNIST two or three directions are fewer than the groups that
these clients form (the silhouette says 7 to 9): different clients fall together and the line blurs, most of all for
softmax regression. The papers have m = 3 for MNIST. On FEMNIST three directions fit best."""
CONTRAST = """Relative contrast (max - min) / min over all pairs: how much farther apart the most distant clients are
than the nearest. Small means that all clients look alike."""
CONTRAST_SAYS = """At every size Euclidean distance has by far the least contrast; EDC has the most on MNIST and, but
for the narrowest perceptron, on Fashion-MNIST. A decline with the number of parameters, which concentration in the
strict sense would show, is not there: updates of clients with few classes stay in a few directions however wide the
model is. The minimum is a single pair, so single values jump."""
ALIKE = """Cosines of the updates, clients group by group. Clients that share one of their two classes show as the
fainter blocks beside the diagonal."""


def read_extras(results: Path) -> dict[str, Any]:
    """The documents of `extra` below a folder of results.

    Args:
        results: The folder.

    Returns:
        Documents by name; none where there is no such folder.

    >>> import tempfile
    >>> read_extras(Path(tempfile.mkdtemp()))
    {}
    """
    found = {}
    for path in sorted((results / EXTRA).glob("*.json")):
        try:
            found[path.stem] = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError) as e:
            raise RunFolderError(f"{path} cannot be read: {e}; make it anew with the command on its page") from e
    return found


def icg(extras: Extras) -> str:
    """The page on groups by ICG.

    Args:
        extras: What `read_extras` gave.

    Returns:
        Markdown.
    """
    heads = ("seed", "single clients", "random groups", "ICG", "less than single", "less than random")
    rows = []
    for seed in range(3):
        alone, chance, groups = extras[f"icg-femnist-seed{seed}"]["grouping"]
        cpd = [f"{1000 * way['median_cpd']:.2f}" for way in (alone, chance, groups)]
        less = [f"{100 * (1 - groups['median_cpd'] / way['median_cpd']):.1f} %" for way in (alone, chance)]
        rows.append([str(seed), *cpd, *less, *(f"{way['z'] / 1e3:.1f}" for way in (chance, groups))])
    return "\n\n".join([ICG_HEAD, grid((*heads, "z random", "z ICG"), rows), ICG_FOOT]) + "\n"


def edc_madc(extras: Extras) -> str:
    """The page on EDC and MADC.

    Args:
        extras: What `read_extras` gave.

    Returns:
        Markdown.
    """
    commands = "\n".join(
        f"$ shoal probe data={data} partition=power-law:clients=200:classes=2 clients=200 lr={lr} engine=serial \\\n"
        f"    model={MODELS} \\\n"
        f"    --figure docs/results/edc-madc-{data} --format json > results/extra/edc-madc-{data}.json"
        for data, (_, lr) in PROBED.items()
    )
    parts = [EDC_HEAD, f"```console\n{commands}\n```", EDC_ABOUT, "## EDC over MADC", pictures("edc-madc")]
    for data, (title, _) in PROBED.items():
        parts += [f"Pearson correlation of EDC with MADC on {title}, by the number m of directions:"]
        parts += [correlations(extras[f"edc-madc-{data}"])]
    parts += [FEMNIST, correlations(extras["edc-madc-femnist"])]
    parts += ["![EDC over MADC on FEMNIST](edc-madc-femnist/edc-madc.svg)", EDC_SAYS]
    parts += ["## Contrast", CONTRAST, pictures("contrast")]
    for data, (title, _) in PROBED.items():
        parts += [
            f"On {title}:",
            models(extras[f"edc-madc-{data}"], "contrast", ("l2", "cosine", "madc", "edc"), ".3g"),
        ]
    parts += [CONTRAST_SAYS, "## Who learns like whom", pictures("similarity"), ALIKE]
    return "\n\n".join(parts) + "\n"


def pictures(kind: str) -> str:
    """A kind of picture of both data sets, side by side."""
    shown = [f"![{kind} on {title}](edc-madc-{data}/{kind}.svg)" for data, (title, _) in PROBED.items()]
    model = "" if kind == "contrast" else ", softmax regression"
    return grid([title + model for title, _ in PROBED.values()], [shown])


def correlations(found: Mapping[str, Any]) -> str:
    return models(found, "correlation", ("2", "3", "5", "10"), ".3f", "m = ")


def models(found: Mapping[str, Any], what: str, keys: Sequence[str], digits: str, before: str = "") -> str:
    """Models by figures.

    >>> one = {"model": "mclr", "parameters": 7850, "contrast": {"l2": 7.11, "edc": 150.4}}
    >>> print(models({"models": [one]}, "contrast", ("l2", "edc"), ".3g"))
    | model | parameters | L2 | EDC |
    | --- | --- | --- | --- |
    | `mclr` | 7,850 | 7.11 | 150 |
    """
    heads = [before + (key.upper() if key in ("l2", "madc", "edc") else key) for key in keys]
    rows = [
        [f"`{one['model']}`", f"{one['parameters']:,}", *(f"{one[what][key]:{digits}}" for key in keys)]
        for one in found["models"]
    ]
    return grid(("model", "parameters", *heads), rows)
