"""What goes wrong in any run and is easily overlooked: clients without a model, lost answers, learning rates."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from statistics import fmean

from shoal.experiment.advice.look import Advice, Look, percent

LOST = 0.05  # share of answers left out from which it is worth a word
FALL = 0.05  # accuracy lost since the best round
RISE = 0.01  # accuracy gained in the last tenth


def clients(look: Look) -> Iterator[Advice]:
    """Clients without a model, answers that were left out, rounds that were skipped."""
    partial = [r["round"] for r in look.history if r.get("partial")]
    if partial and look.last.get("partial"):
        text = (
            f"some clients have no model even in the last round ({len(partial)} tested rounds were partial): they were"
        )
        text += " never selected; play more rounds, or let everybody come once"
        yield Advice("clients", text, {"partial_rounds": len(partial)}, {"selection": "round-robin-then-random"})
    lost = sum(r.get("left_out", 0) for r in look.history)
    came = sum(r.get("trained", 0) for r in look.history)
    if lost > LOST * (came + lost):
        text = f"{lost} answers were left out and {came} trainings were used; events.jsonl has the reasons"
        yield Advice("left out", text, {"left_out": lost, "trained": came})
    skipped = [r["round"] for r in look.history if r.get("skipped")]
    if skipped:
        text = f"{len(skipped)} rounds changed nothing, because too few clients answered (first: round {skipped[0]})"
        yield Advice("skipped", text, {"rounds": skipped[:20]})


def learning(look: Look) -> Iterator[Advice]:
    """Losses that are not finite, accuracy that fell, or still rises."""
    broken = [
        r["round"]
        for r in look.history
        if "loss" in r and r["loss"] is None and not r.get("skipped") and r.get("trained")
    ]
    if broken:
        text = f"the training loss is not finite from round {broken[0]} on; use a smaller learning rate"
        yield Advice("loss", text, {"rounds": broken[:20]})
    tested = look.history.tested()
    if len(tested) < 5:
        return
    best = max(tested, key=lambda r: float(r["accuracy"]))
    last = fmean(r["accuracy"] for r in tested[-3:])
    if best["accuracy"] - last > FALL:
        text = f"accuracy fell from {percent(best['accuracy'])} in round {best['round']} to {percent(last)} in the last"
        text += " three tests: a smaller lr, lr_decay=0.99, or fewer rounds"
        yield Advice("accuracy", text, {"best": best["accuracy"], "round": best["round"], "last_three": last})
    tenth = max(1, len(tested) // 10)
    before, after = (fmean(r["accuracy"] for r in part) for part in (tested[-2 * tenth : -tenth], tested[-tenth:]))
    if after - before > RISE and len(tested) >= 10:
        text = f"accuracy still rises ({percent(before)} to {percent(after)} over the last tests): play more rounds"
        yield Advice("rounds", text, {"before": before, "after": after}, {"rounds": 2 * int(look.last["round"])})


def drift(look: Look) -> Iterator[Advice]:
    """Swaps of data that a method with migration did not notice."""
    moved = sum(r.get("drifted", 0) for r in look.history)
    shifted = look.measured("shifted")
    if moved >= 5 and shifted and not sum(n for _, n in shifted):
        text = f"the data of clients were swapped {moved} times and no shift was noticed: their label counts are alike,"
        text += " and migration reads nothing else; ifca would follow"
        yield Advice("drift", text, {"drifted": moved, "shifted": 0})


def theory(look: Look) -> Iterator[Advice]:
    """WeCFL's own figures, where they were measured."""
    moves = [n for _, n in look.measured("moved")]
    late = moves[-max(1, len(moves) // 4) :]
    if len(moves) >= 8 and sum(late) > 0:
        text = f"groups have not settled: {sum(late)} moves of clients in the last {len(late)} rounds"
        yield Advice("settling", f"{text}; a smaller lr or less local work steadies them", {"moves": sum(late)})
    R = [v for _, v in look.measured("R")]
    rises = sum(b > a * (1 + 1e-6) for a, b in pairwise(R))
    if R:
        squares = [v for _, v in look.measured("gradient_square")]
        text = f"R, the loss of the groups' models on training data, went from {R[0]:.3g} to {R[-1]:.3g} and rose in"
        text += f" {rises} of {len(R) - 1} rounds; the mean squared gradient of equation 10 is {fmean(squares):.3g}"
        bound = [v for _, v in look.measured("lr_descent")]
        if bound:
            text += f", and theorem 6.8 asks for lr below {bound[-1]:.2g} at the end" if bound[-1] > 0 else ""
        yield Advice("theory", text, {"R": [R[0], R[-1]], "rises": rises, "gradient_square": fmean(squares)})
