"""What is behind statements that do not hold, those with the same reason told together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from shoal.recipes.judging.comparing import NAMES
from shoal.recipes.judging.relations import Verdict

__all__ = ["OF_ALL", "OF_THESE", "REASONS", "reason_rows", "reasons", "supposed_note"]

REASONS = ("statement", "cause", "what tells")
OF_THESE, OF_ALL = "Behind those that do not hold", "Behind those that do not hold or are undecided"
SUPPOSED = (
    "A cause that is not `supposed` is one that runs of two seeds at least show to be enough; that it made the paper's "
    "figures is not known."
)
UNKNOWN = "cause not known yet"


def reasons(verdicts: Sequence[Verdict], others: Sequence[Verdict] = (), undecided: bool = False) -> list[str]:
    """What is behind statements that do not hold, as a list in Markdown; nothing if all do.

    Args:
        verdicts: Of these statements.
        others: Those among which are what tells, if not among these.
        undecided: Whether statements that are undecided count, too, if something is known to be behind them.

    Returns:
        Paragraphs.
    """
    rows = reason_rows(verdicts, others, undecided)
    lines = [f"* {says}: {cause}. {why}".rstrip() for says, cause, why in rows]
    note = supposed_note(rows)
    return [f"{OF_ALL if undecided else OF_THESE}:", "\n".join(lines), *([note] if note else [])] if lines else []


def supposed_note(rows: Sequence[Sequence[str]]) -> str:
    """What it means that a cause is not called supposed; nothing if all are.

    >>> supposed_note([["a is above b", "supposed: the setting", ""]])
    ''
    """
    sure = any(cause != UNKNOWN and not cause.startswith("supposed") for _, cause, _ in rows)
    return SUPPOSED if sure else ""


def reason_rows(
    verdicts: Sequence[Verdict], others: Sequence[Verdict] = (), undecided: bool = False
) -> list[list[str]]:
    """The statements that do not hold with cause and what tells; those with the same reason in one row.

    A cause is supposed unless a run that would tell does, and none that would is missing or tells otherwise; what tells
    of one statement does not vouch for another, so that those of which it is supposed have a row of their own.

    Args:
        verdicts: Of a paper, or of all.
        others: Those among which are what tells, if not among these.
        undecided: Whether statements that are undecided count, too, if something is known to be behind them.

    Returns:
        Cells of a table with the heads `REASONS`.

    >>> from shoal.recipes.judging.claims import Relation
    >>> reason_rows([Verdict(Relation("p/a", "a is above b", "Table 1", ("x",), ("y",), least=0), "does not hold")])
    [['a is above b', 'cause not known yet', '']]
    """
    known = {v.relation.name: v for v in (*others, *verdicts)}
    alike: dict[tuple[str, str, bool], list[Verdict]] = {}
    for one in verdicts:
        if one.says == "does not hold" or (undecided and one.says == "undecided" and one.relation.why):
            reason = (one.relation.cause, one.relation.why) if one.relation.why else ("", one.relation.name)
            alike.setdefault((*reason, is_sure(one, known)), []).append(one)
    rows = []
    for (cause, _, sure), some in alike.items():
        says = [f"{what}{', '.join(places)}" for what, places in by_place(some).items()]
        names = dict.fromkeys(name for one in some for name in one.relation.tells if name in known)
        told = [telling(what, places) for what, places in by_place([known[name] for name in names]).items()]
        why = " ".join(filter(None, (some[0].relation.why, *told)))
        rows.append(["; ".join(says), f"{'supposed: ' if cause and not sure else ''}{cause or UNKNOWN}", why])
    return rows


def is_sure(one: Verdict, known: Mapping[str, Verdict]) -> bool:
    """Whether runs, of two seeds at least, tell that the cause of a statement is what is said."""
    told = [known[name] for name in one.relation.tells if name in known]
    enough = any(v.says == "holds" and v.n > 1 for v in told)
    return enough and not any(v.says in ("does not hold", "not run") for v in told)


def by_place(verdicts: Sequence[Verdict]) -> dict[str, dict[str, Verdict]]:
    """Statements without the row that they are about, each with the verdicts by row.

    >>> from shoal.recipes.judging.claims import Relation
    >>> says = [f"a is above b on {row}" for row in ("MNIST-MCLR", "MNIST-MLP", "average")]
    >>> found = by_place([Verdict(Relation("p/a", one, "", ()), "holds") for one in says])
    >>> {what: [*places] for what, places in found.items()}
    {'a is above b on ': ['MNIST-MCLR', 'MNIST-MLP'], 'a is above b on average': ['']}
    """
    found: dict[str, dict[str, Verdict]] = {}
    for one in verdicts:
        what, _, where = one.relation.says.rpartition(" on ")
        what, where = (f"{what} on ", where) if where in NAMES.values() else (one.relation.says, "")
        found.setdefault(what, {})[where] = one
    return found


def telling(what: str, places: dict[str, Verdict]) -> str:
    """One sentence of what a statement that tells was judged to be, row by row.

    >>> from shoal.recipes.judging.claims import Relation
    >>> one = Verdict(Relation("p/a", "a is above b on X", "", ()), "not run")
    >>> telling("a is above b on ", {"X": one}), telling("a is above b on ", {"X": one, "Y": one})
    ('"a is above b on X": not run.', '"a is above b": on X not run; on Y not run.')
    """
    found = {where: ", ".join(dict.fromkeys((v.shown, v.words))) for where, v in places.items()}
    if len(found) == 1:
        [(where, shown)] = found.items()
        return f'"{what}{where}": {shown}.'
    each = [f"on {where} {shown}" for where, shown in found.items()]
    return f'"{what.removesuffix(" on ")}": {"; ".join(each)}.'
