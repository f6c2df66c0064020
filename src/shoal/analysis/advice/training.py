"""What goes wrong in any run and is easily overlooked: clients without a model, lost answers, learning rates."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from statistics import fmean

from shoal.analysis.advice.advice_input import Advice, AdviceInput, ahead
from shoal.analysis.measured import number

LOST = 0.05  # share of answers left out from which it is worth a word
FALL = 0.05  # of the score lost since the best round
RISE = 0.01  # of the score gained in the last tenth


def clients(seen: AdviceInput) -> Iterator[Advice]:
    """Clients without a model, answers that were left out, rounds that were skipped."""
    partial = [r["round"] for r in seen.history if r.get("partial")]
    if partial and seen.last.get("partial"):
        text = (
            f"some clients have no model even in the last round ({len(partial)} tested rounds were partial): they were"
        )
        text += " never selected; play more rounds, or let everybody come once"
        yield Advice("clients", text, {"partial_rounds": len(partial)}, {"selection": "round-robin-then-random"})
    lost = sum(r.get("left_out", 0) for r in seen.history)
    came = sum(r.get("trained", 0) for r in seen.history)
    if lost > LOST * (came + lost):
        text = f"{lost} answers were left out and {came} trainings were used; events.jsonl has the reasons"
        yield Advice("left out", text, {"left_out": lost, "trained": came})
    skipped = [r["round"] for r in seen.history if r.get("skipped")]
    if skipped:
        text = f"{len(skipped)} rounds changed nothing, because too few clients answered (first: round {skipped[0]})"
        yield Advice("skipped", text, {"rounds": skipped[:20]})


def learning(seen: AdviceInput) -> Iterator[Advice]:
    """Losses that are not finite, a score that got worse, or still gets better."""
    broken = [
        r["round"]
        for r in seen.history
        if "loss" in r and r["loss"] is None and not r.get("skipped") and r.get("trained")
    ]
    if broken:
        text = f"the training loss is not finite from round {broken[0]} on; use a smaller learning rate"
        yield Advice("loss", text, {"rounds": broken[:20]})
    tested = seen.history.tested()
    if len(tested) < 5:
        return
    score, name = seen.history.score, seen.history.score.name
    best = max(tested, key=lambda r: score.sign * float(r[name]))
    last = fmean(r[name] for r in tested[-3:])
    falls, rises = ("fell", "rises") if score.better == "higher" else ("rose", "falls")
    if ahead(score, best[name], last, FALL):
        text = f"{score.title} {falls} from {score.show(best[name])} in round {best['round']} to {score.show(last)} in"
        text += " the last three tests: a smaller lr, lr_decay=0.99, or fewer rounds"
        yield Advice(name, text, {"best": best[name], "round": best["round"], "last_three": last})
    tenth = max(1, len(tested) // 10)
    before, after = (fmean(r[name] for r in part) for part in (tested[-2 * tenth : -tenth], tested[-tenth:]))
    if ahead(score, after, before, RISE) and len(tested) >= 10:
        text = (
            f"{score.title} still {rises} ({score.show(before)} to {score.show(after)} over the last tests): play more"
        )
        yield Advice("rounds", f"{text} rounds", {"before": before, "after": after}, {"rounds": 2 * seen.last["round"]})


def drift(seen: AdviceInput) -> Iterator[Advice]:
    """Swaps of data that a method with migration did not notice."""
    moved = sum(r.get("drifted", 0) for r in seen.history)
    shifted = seen.measured("shifted", number)
    if moved >= 5 and shifted and not sum(shifted):
        text = f"the data of clients were swapped {moved} times and no shift was noticed: their label counts are alike,"
        text += " and migration reads nothing else; ifca would follow"
        yield Advice("drift", text, {"drifted": moved, "shifted": 0})


def theory(seen: AdviceInput) -> Iterator[Advice]:
    """WeCFL's own figures, where they were measured."""
    moves = seen.measured("moved", number)
    late = moves[-max(1, len(moves) // 4) :]
    if len(moves) >= 8 and sum(late) > 0:
        text = f"groups have not settled: {sum(late):.0f} moves of clients in the last {len(late)} rounds"
        yield Advice("settling", f"{text}; a smaller lr or less local work steadies them", {"moves": sum(late)})
    R, squares = seen.measured("R", number), seen.measured("gradient_square", number)
    rises = sum(b > a * (1 + 1e-6) for a, b in pairwise(R))
    if R and squares:
        text = f"R, the loss of the groups' models on training data, went from {R[0]:.3g} to {R[-1]:.3g} and rose in"
        text += f" {rises} of {len(R) - 1} rounds; the mean squared gradient of equation 10 is {fmean(squares):.3g}"
        bound = seen.measured("lr_descent", number)
        if bound:
            text += f", and theorem 6.8 asks for lr below {bound[-1]:.2g} at the end" if bound[-1] > 0 else ""
        yield Advice("theory", text, {"R": [R[0], R[-1]], "rises": rises, "gradient_square": fmean(squares)})
