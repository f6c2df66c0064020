"""The headline of a page: what one model for all has and groups bring, who ties, which groups were found and moved."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from shoal.algorithms import ALGORITHMS
from shoal.analysis.advice.advice_input import ahead
from shoal.analysis.compare import Line, figures_for
from shoal.analysis.significance import Difference, differences, is_tie
from shoal.analysis.table import Cell, cell_of, partial_note
from shoal.errors import listing
from shoal.report.figures.events import touched
from shoal.report.figures.groups import stages
from shoal.report.loaded_run import LoadedRun
from shoal.scores import Score
from shoal.show import capital

EXACT = 0.995  # an adjusted Rand index that is shown as 1.00
NUMBERS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
DRIFT = ("swapped", "swapped part", "released")  # events after which a client has other data


def counted(n: int, what: str) -> str:
    """
    >>> counted(1, "time"), counted(3, "seed"), counted(24, "time")
    ('one time', 'three seeds', '24 times')
    """
    return f"{NUMBERS[n] if n < len(NUMBERS) else f'{n:,}'} {what}{'' if n == 1 else 's'}"


# ------------------------------------------------------------------------------------------------ one run


def run_story(loaded: LoadedRun) -> str:
    """The result of a run, against the runs beside it, and what became of its groups."""
    return " ".join([result(loaded), *one_model(loaded), *found_groups(loaded), *moved(loaded)])


def result(loaded: LoadedRun) -> str:
    """How well clients are served, and how much better than without groups."""
    score, summary = loaded.score, loaded.summary
    best, partial = summary.get(score.key("best")), summary.get(score.key("best_partial"))
    if best is None and partial is None:
        return "No round was tested yet."
    lower = " (lower is better)" if score.better == "lower" else ""
    if best is None:
        note = partial_note(summary, "best")
        return f"Best {score.title} {score.show(partial)}{lower} {note}; in no tested round every client had a model."
    sentence = f"Best {score.title} {score.show(best)}{lower} in round {summary['best_round']}"
    beside = [(ALGORITHMS.traits(b.algorithm)["baseline"], b.summary.get(score.key("best"))) for b in loaded.beside]
    told_of = [against(score, best, other, what) for what, other in beside if other is not None]
    return f"{sentence}: {' and '.join(told_of)}." if told_of else f"{sentence}."


def against(score: Score, best: float, other: float, what: str) -> str:
    """How a result stands to that of another run; one seed tells little, so what is close is level.

    >>> accuracy = Score()
    >>> against(accuracy, 0.9, 0.36, "every client alone"), against(accuracy, 0.9, 0.905, "every client alone")
    ('54.0 points above every client alone', 'level with every client alone (90.5 %)')
    """
    if not ahead(score, best, other) and not ahead(score, other, best):
        return f"level with {what} ({score.show(other)})"
    return f"{score.apart(best, other)} {what}"


def one_model(loaded: LoadedRun) -> list[str]:
    """What the mean of all groups' models has, where no run of one model for all lies beside."""
    if loaded.group_count < 2 or any(b.algorithm in ALGORITHMS.having("single_model") for b in loaded.beside):
        return []
    key = f"{loaded.score.name}_mean"
    mean = next((r[key] for r in reversed(loaded.tested) if r.get(key) is not None), None)
    return [] if mean is None else [f"The mean of its groups, as one model for all, has {loaded.score.show(mean)}."]


def found_groups(loaded: LoadedRun) -> list[str]:
    """Which groups there are at the end, and whether they are the true ones."""
    sizes = [n for n in loaded.history[-1].get("group_size", []) if n]
    if loaded.group_count < 2:
        return []
    groups = counted(len(sizes), "group")
    many = f" of {listing([str(n) for n in sorted(sizes, reverse=True)])} clients" if 1 < len(sizes) <= 6 else ""
    ari = loaded.summary.get("ari")
    if len(sizes) == 1:
        sentence = "In the end all clients are in one group."
    elif ari is None:
        sentence = f"In the end there are {groups}{many}."
    elif ari >= EXACT:
        sentence = f"It found the {groups} that are true (ARI 1.00)."
    else:
        sentence = f"Its {groups}{many} agree with the true ones to {ari:.2f} (ARI: 1 is exact, 0 chance)."
    collapsed = sum(e["kind"] == "collapsed" for e in loaded.events)
    more = [f"The groups collapsed into one in {counted(collapsed, 'round')}."] if collapsed else []
    return [capital(sentence), *more]


def moved(loaded: LoadedRun) -> list[str]:
    """How often clients changed their group, and how often their data changed."""
    _, moves = stages(loaded.members) if loaded.group_count > 1 and loaded.members else ([], None)
    swaps = sum(touched(e) for e in loaded.events if e["kind"] in DRIFT)
    drift = f"Data of clients changed {counted(swaps, 'time')}" if swaps else ""
    if moves is None:
        return [f"{drift}."] if drift else []
    sampled = len(loaded.members[-1][1]) < sum(loaded.history[-1].get("group_size", []))
    whom = f"the {len(loaded.members[-1][1]):,} recorded clients" if sampled else "clients"
    if not moves:
        return [f"{drift}, and nobody changed groups." if drift else "Nobody changed groups once they were formed."]
    sentence = f"{whom} changed groups {counted(moves, 'time')}"
    return [f"{drift}, and {sentence}." if drift else f"{capital(sentence)}."]


# ------------------------------------------------------------------------------------------------ several runs


def comparison_story(lines: Sequence[Line], algorithms: Mapping[str, str]) -> str:
    """Who is best or ties for it, what one model for all has and groups bring, and how sure that is.

    Args:
        lines: The settings.
        algorithms: The algorithm of each, by the name of the line.

    Returns:
        A few sentences.
    """
    best = lines[0].score.key("best") if lines else ""
    tested = [line for line in lines if line.figures.get(best) is not None]
    found = differences(tested) if len(tested) > 1 else []
    parts = [best_sentence(lines, found), *gain_of_groups(tested, algorithms), *how_sure(found), *true_groups(lines)]
    return " ".join(parts)


def best_sentence(lines: Sequence[Line], found: Sequence[Difference] = ()) -> str:
    """Which setting has the best score, who ties with it, and which have none because some client never had a model."""
    score = lines[0].score

    def having(prefix: str) -> list[tuple[float, Line]]:
        return [(got.mean, line) for line in lines if (got := line.figures.get(score.key(prefix))) is not None]

    whole, partial = having("best"), having("best_partial")
    if not whole and not partial:
        return "No run was tested yet."
    _, best = max(whole or partial, key=lambda pair: score.sign * pair[0])
    cell = score_cell(best)
    top = "highest" if score.better == "higher" else "lowest"
    some = [line.name for _, line in partial if line.figures[score.key("best")] is None]
    never = f"{listing(some)} had no tested round in which every client had a model" if some else ""
    if not whole:
        return f"{never}; {best.name} has the {top} {score.title}, {valued(cell, score)} of {cell.note}."
    named = tied(whole, best, found)
    if len(named) > 1:
        values = listing([valued(score_cell(line), score) for line in named])
        first = f"{listing([line.name for line in named])} tie for the {top} best {score.title}: {values}, and seeds"
        first += " alone differ by as much."
    else:
        runs = f" in {cell.note} runs" if cell.note else ""
        first = f"{best.name} has the {top} best {score.title}: {valued(cell, score)}{runs}."
    return f"{first} {never}." if never else first


def tied(whole: Sequence[tuple[float, Line]], best: Line, found: Sequence[Difference]) -> list[Line]:
    """The best and those that tie with it, best first; who is better than one of these is among them."""
    names = {d.setting for d in found if is_tie(d)}
    ranked = [best, *(line for _, line in sorted(whole, key=lambda p: -best.score.sign * p[0]) if line is not best)]
    last = max((i for i, line in enumerate(ranked) if line.name in names), default=0)
    return ranked[: last + 1]


def score_cell(line: Line) -> Cell:
    return cell_of(line, figures_for([line])[line.score.key("best")])


def valued(cell: Cell, score: Score) -> str:
    """A figure with its spread and unit."""
    shown = f"{cell.text} ± {cell.around}" if cell.around else cell.text
    return f"{shown} %" if score.percent else shown


def gain_of_groups(lines: Sequence[Line], algorithms: Mapping[str, str]) -> list[str]:
    """What one model for all has, what the best of the methods with groups brings over it, and clients alone."""

    def best_of(trait: str) -> Line | None:
        names = set(ALGORITHMS.having(trait)) - set(ALGORITHMS.having("simulation_only"))
        mine = [line for line in lines if algorithms[line.name] in names]
        return max(mine, key=lambda line: line.score.sign * mean_of(line), default=None)

    one, grouped, alone = best_of("single_model"), best_of("finds_groups"), best_of("own_models")
    if one is None or grouped is None:
        return []
    score = one.score
    [found] = differences([one, grouped], against=one.name)
    has = f"One model for all ({one.name}) has {score.show(mean_of(one))}"
    much, gain = score.apart(mean_of(grouped), mean_of(one)).rsplit(" ", 1)[0], score.sign * found.mean
    if is_tie(found):
        told = f"{has} and groups have {score.show(mean_of(grouped))} ({grouped.name}): groups bring nothing that seeds"
        told += " could show."
    elif gain > 0:
        way = "bring" if score.better == "higher" else "take off"
        told = f"{has}; groups {way} {much} ({grouped.name})."
    else:
        told = f"{has}, {much} {'more' if score.better == 'higher' else 'less'} than groups have ({grouped.name})."
    own = [f"Every client alone ({alone.name}) has {score.show(mean_of(alone))}."] if alone is not None else []
    return [told, *own]


def mean_of(line: Line) -> float:
    found = line.figures[line.score.key("best")]
    assert found is not None
    return found.mean


def how_sure(found: Sequence[Difference]) -> list[str]:
    """Significance in words: what so few seeds cannot show, or which leads chance does not make."""
    apart = [d for d in found if not is_tie(d)]
    if not apart:
        return []
    if all(d.p is None for d in apart):
        return ["One seed each cannot show it as significant: what other seeds would give is not known."]
    sure = [d for d in apart if d.p_holm is not None and d.p_holm < 0.05]
    if sure:
        worst = max(d.p_holm or 0.0 for d in sure)
        names = listing([d.setting for d in sure])
        return [
            f"The lead of {sure[0].against} over {names} is more than chance makes (p at most {worst:.2g}, by Holm)."
        ]
    few = max((d.n[0] for d in apart if d.least_p is not None and d.least_p > 0.05), default=None)
    if few is not None:
        least = min(d.least_p for d in apart if d.least_p is not None)
        so_few = f"with so few, no p is below {least:.2g}, however clear the case"
        return [f"{capital(counted(few, 'seed'))} cannot show it as significant: {so_few}."]
    return ["These seeds do not show it as significant: corrected for the number of settings, no p is below 0.05."]


def true_groups(lines: Sequence[Line]) -> list[str]:
    """Who found the groups that are true."""
    known = [(got.mean, line.name) for line in lines if (got := line.figures.get("ari")) is not None]
    exact = [name for ari, name in known if ari >= EXACT]
    if exact:
        return [f"{listing(exact)} found the true groups."]
    return [f"{max(known)[1]} comes nearest to the true groups (ARI {max(known)[0]:.2f})."] if known else []
