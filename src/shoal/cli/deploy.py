"""`shoal deploy`: from a simulated run to real sites on Flower."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from shoal.cli.failures import guarded

deploy = typer.Typer(
    name="deploy",
    help="Real sites on Flower: an app, keys, what a site lets leave, a rehearsal on this machine.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

Words = Annotated[
    list[str] | None,
    typer.Argument(metavar="[ALGORITHM] [KEY=VALUE]...", help="The words of `shoal run`.", show_default=False),
]
Where = Annotated[Path, typer.Argument(metavar="DIR", help="A new folder.", show_default=False)]
Sites = Annotated[int, typer.Option(min=1, help="How many sites.")]


def refuse_own_files(algorithms: Iterable[str], pairs: Mapping[str, Any]) -> None:
    """A sentence if a run needs files that sites do not have; a package that is installed there is another matter."""
    from shoal.cli.arguments import names_of
    from shoal.errors import BadInput
    from shoal.setup.own import origins_of, with_names

    named = with_names({key: value for key, value in pairs.items() if isinstance(value, str)})
    for name in names_of(algorithms):
        files = [origin["path"] for origin in origins_of({**named, "algorithm": name}) if "path" in origin]
        if files:
            raise BadInput(
                f"{name} needs {files[0]}, and sites run no code that was not installed there; make a package of it "
                "with an entry point (docs/extend.md), and install it on the server and at the sites"
            )


def needs_flower() -> None:
    """A sentence if Flower is not there."""
    from importlib.util import find_spec

    from shoal.errors import BadInput

    if find_spec("flwr") is None:
        raise BadInput("shoal deploy needs flwr; install with: pip install 'shoal[flower]'")


@deploy.command("init")
@guarded
def init(folder: Where, words: Words = None, sites: Sites = 3) -> None:
    """Write an app that `flwr run` starts: a run of Shoal whose clients are at sites.

    The words are those of `shoal run` without data, which sites have: shoal deploy init app flexcfl groups=3 rounds=20
    """
    from shoal.cli.arguments import read_request
    from shoal.flower.app_files import init_app

    request = read_request(words or [])
    refuse_own_files(request.algorithms, request.pairs)
    text = " ".join([*request.algorithms, *(f"{key}={value}" for key, value in request.pairs.items())])
    init_app(folder.expanduser(), text, request.out, sites)
    print(f"{folder}: pyproject.toml says what is run; docs/deploy.md tells how to go on")


@deploy.command("keys")
@guarded
def keys(
    folder: Where,
    host: Annotated[list[str], typer.Option(help="A name or address of the SuperLink; may be given again.")],
    site: Annotated[list[str] | None, typer.Option(help="A site that needs a key; may be given again.")] = None,
) -> None:
    """Make a certificate authority, a certificate of the SuperLink and keys of sites; what is there stays."""
    needs_flower()
    from shoal.flower.keys import make_keys

    make_keys(folder.expanduser(), host, site or [])
    for path in sorted(folder.expanduser().iterdir()):
        print(f"{path}  {'secret: ' if path.suffix == '.key' else ''}{KEY_FILES.get(path.name, 'of a site')}")


KEY_FILES = {
    "ca.crt": "the authority, for the SuperLink, every site and whoever starts runs",
    "ca.key": "of the authority: keep it off line",
    "server.crt": "of the SuperLink",
    "server.key": "of the SuperLink",
}


@deploy.command("policy")
@guarded
def policy() -> None:
    """Print what a site lets leave by default, as a file to be changed: shoal deploy policy > policy.toml"""
    from shoal.flower.policy import default_policy, policy_text

    print(policy_text(default_policy()), end="")


@deploy.command("rehearse")
@guarded
def rehearse(
    words: Words = None,
    sites: Sites = 3,
    folder: Annotated[Path | None, typer.Option(help="Where everything goes; default: rehearsals/<date>.")] = None,
    policy: Annotated[Path | None, typer.Option(help="What sites let leave; default: `shoal deploy policy`.")] = None,
    compare: Annotated[bool, typer.Option(help="Simulate the run as well: the models must be the same.")] = True,
    minutes: Annotated[float, typer.Option(min=1, help="How long the run may take.")] = 60,
) -> None:
    """Run a federation on this machine as it would be on several: SuperLink, sites, TLS, node keys; then end it all.

    The words are those of `shoal run`. Its data are dealt to the sites: shoal deploy rehearse flexcfl rounds=3 groups=2
    """
    needs_flower()
    from shoal.cli.arguments import read_request
    from shoal.errors import command
    from shoal.flower.rehearse import rehearse as play

    request = read_request(words or [])
    refuse_own_files(request.algorithms, request.pairs)
    pairs: dict[str, Any] = dict(request.pairs)
    done = play(request.algorithms, pairs, sites, folder, request.out, policy, compare, 60 * minutes, tell)
    print(f"look        {command('report', done)}")


def tell(line: str) -> None:
    print(line, flush=True)
