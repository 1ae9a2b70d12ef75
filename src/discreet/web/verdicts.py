"""The verdict bar: what a question would cost and say, in one shape for all states.

An icon, two or three words, facts, at most one button. It is made from public facts and the ledger;
where the table is on the page already, also from what was published.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from urllib.parse import quote

from ..core.loss import PureLoss, read_as
from ..errors import Refusal
from ..languages import number, say, together
from ..methods.declaration import Spends
from ..outlook import Standing, largest
from ..server.asking import Asking
from ..store.base import Standing as Budget
from .address import Place
from .amounts import amount, of_cap


@dataclass(frozen=True)
class Fact:
    """One figure of a verdict."""

    words: str
    value: str
    noisy: bool = False
    minor: bool = False
    """Left out where there is little room."""


@dataclass(frozen=True)
class Action:
    """The one button: a link, or a form that posts what is on the page."""

    words: str
    address: str
    posts: bool = False
    main: bool = True


@dataclass(frozen=True)
class Verdict:
    """What is said of a question."""

    kind: str
    """ok, cost, no or wait: one colour each."""
    words: str
    facts: tuple[Fact, ...] = ()
    action: Action | None = None
    sentences: tuple[str, ...] = ()
    """What else must be said, whole."""

    @property
    def mark(self) -> str:
        """The icon."""
        return {"ok": "tick", "cost": "epsilon", "no": "bar"}.get(self.kind, "ring")


def budget_of(asking: Asking) -> Budget | None:
    """The tightest budget this asker spends from; None where nothing is spent."""
    if asking.data.policy.budget is None:
        return None
    standings = asking.data.ledger().standing(user=asking.asker.user, project=asking.wish.project)
    return standings[-1] if standings else None


def judged(asking: Asking, place: Place, *, shown: bool, withheld: int = 0) -> Verdict:
    """The verdict on a question that breaks no rule; `shown`: its table is on this page."""
    if not asking.may_have:
        return _numbers_for_others(asking)
    if asking.withheld:
        return Verdict("wait", say("Not before its release"), _size(asking))
    if asking.must_be_job and not shown:
        return _as_job(asking, place)
    by_spending = {
        Spends.NOTHING: lambda: _free(asking),
        Spends.RECORD: lambda: _recorded(asking, place, shown, withheld),
        Spends.LOSS: lambda: _charged(asking, place, shown),
    }
    return by_spending[asking.asked.declaration.spends]()


def _free(asking: Asking) -> Verdict:
    return Verdict("ok", say("Allowed, and free"), (*_size(asking), *_error(asking)))


def _charged(asking: Asking, place: Place, shown: bool) -> Verdict:
    if asking.asked.answered:
        return _released(asking, place)
    if not shown:
        return _costs(asking, place)
    words = say("Follows from an earlier release, free")
    anew = _release(place, asking, main=False) if may_pay(asking) else None
    return Verdict("ok", words, _size(asking), anew)


def may_pay(asking: Asking) -> bool:
    """Whether this asker may spend at all, however much is left."""
    try:
        asking.may_spend()
    except Refusal:
        return False
    return True


def refused(sentences: Sequence[str]) -> Verdict:
    """A rule says no: which, with what was got and what is allowed."""
    return Verdict("no", say("Not this table"), (), None, tuple(sentences))


def not_understood(sentence: str) -> Verdict:
    """An address that says something no table has."""
    return Verdict("no", say("Not understood"), (), None, (sentence,))


def _size(asking: Asking) -> tuple[Fact, ...]:
    return (Fact(say("cells"), number(asking.cells), minor=True),)


def _error(asking: Asking) -> tuple[Fact, ...]:
    """How far off numbers are; the share that noise leaves alone, where it is one."""
    errors = asking.asked.plan.errors
    if not errors:
        return ()
    error = errors[0]
    facts = [
        Fact(
            say("95 of 100 within"),
            together("±", number(max(one.half_width for one in errors)), between=""),
            noisy=True,
        )
    ]
    if error.share_unchanged is not None and asking.asked.declaration.spends is Spends.NOTHING:
        share = number(f"{100 * error.share_unchanged:.0f}")
        facts.append(Fact(say("unchanged"), say("{share} %", share=share), minor=True))
    return tuple(facts)


def _numbers_for_others(asking: Asking) -> Verdict:
    words = say("Allowed; numbers are for those who may ask")
    return Verdict("wait", words, (*_size(asking), *_error(asking)))


def _as_job(asking: Asking, place: Place) -> Verdict:
    action = Action(say("Start the job"), f"{_path(place)}/release", posts=True)
    facts = (*_size(asking), *_error(asking))
    sentences = (
        say(
            "This is large: {cells} cells. It runs as a job, and the link stays good for {days} days.",
            cells=asking.cells,
            days=asking.service.settings.keep_days,
        ),
    )
    charge = asking.asked.plan.charge
    if charge is None or charge.loss is None or asking.asked.answered:
        return Verdict("ok", say("Allowed, as a job"), facts, action, sentences)
    verdict = _costs(asking, place)
    return replace(verdict, sentences=(*sentences, *verdict.sentences))


def _released(asking: Asking, place: Place) -> Verdict:
    charge, budget = asking.asked.plan.charge, budget_of(asking)
    facts = [*_size(asking), *_error(asking)]
    if charge is not None and charge.loss is not None:
        paid = say("{cost}, paid once", cost=amount(charge.loss))
        facts.append(Fact(say("cost"), paid, minor=True))
    if budget is not None:
        facts.append(Fact(say("left"), of_cap(budget.left, budget.cap)))
    sharper = place.seen(show="").saying(**_sharper(asking))
    action = Action(say("Sharper…"), sharper.address, main=False)
    return Verdict(
        "ok", say("Released"), tuple(facts), action if sharper.said != place.said else None
    )


def _sharper(asking: Asking) -> dict[str, str]:
    """The next accuracy up that can be afforded, by its setting."""
    rungs = asking.asked.ladder()
    current = [n for n, rung in enumerate(rungs) if rung.value == _amount_asked(asking)]
    for rung in rungs[current[0] + 1 :] if current else ():
        if rung.affordable:
            return {rung.setting: rung.value}
    return {}


def _amount_asked(asking: Asking) -> str:
    settings = asking.asked.plan.question.settings
    named = (s.name for s in asking.asked.declaration.settings if s.amount)
    return next((settings[name] for name in named if name in settings), "")


def _recorded(asking: Asking, place: Place, shown: bool, withheld: int) -> Verdict:
    """Exact or a star: nothing is spent, and what was released is remembered."""
    if shown:
        cells = asking.cells
        facts = (
            Fact(say("shown exactly"), say("{shown} of {all}", shown=cells - withheld, all=cells)),
            Fact(say("withheld"), number(withheld)),
            Fact(say("noise"), say("none"), minor=True),
        )
        return Verdict("ok", say("Released"), facts)
    before = (*_size(asking), Fact(say("noise"), say("none")))
    sentences = tuple(error.note for error in asking.asked.plan.errors if error.note)
    return Verdict(
        "cost", say("Allowed, and remembered"), before, _release(place, asking), sentences
    )


def _costs(asking: Asking, place: Place) -> Verdict:
    charge, budget = asking.asked.plan.charge, budget_of(asking)
    loss = charge.loss if charge is not None and charge.loss is not None else PureLoss(0)
    if asking.asked.standing is Standing.REFUSED:
        return _too_much(asking, place, budget)
    facts = [*_size(asking), *_error(asking)]
    if not may_pay(asking):
        signing = Action(say("Sign in"), f"/login?next={_quoted(place.address)}")
        facts.append(Fact(say("cost"), amount(loss)))
        return Verdict("cost", say("Sign in to spend"), tuple(facts), signing)
    if budget is not None:
        after = budget.left - read_as(loss, budget.left.kind)
        facts.append(Fact(say("left after"), of_cap(after, budget.cap)))
    words = say("Allowed, for {cost}", cost=amount(loss))
    return Verdict("cost", words, tuple(facts), _release(place, asking))


def _too_much(asking: Asking, place: Place, budget: Budget | None) -> Verdict:
    charge = asking.asked.plan.charge
    facts = []
    if charge is not None and charge.loss is not None:
        facts.append(Fact(say("asked"), amount(charge.loss)))
    if budget is not None:
        facts.append(Fact(say("left"), of_cap(budget.left, budget.cap)))
    most = largest(asking.asked)
    action = None
    if most not in (None, "0"):
        facts.append(Fact(say("largest that fits"), together("ε", number(str(most)))))
        smaller = place.saying(epsilon=most, rho=None, within=None, of=None)
        words = say("Use ε {epsilon}", epsilon=number(str(most)))
        action = Action(words, smaller.address, main=False)
    return Verdict("no", say("More than is left"), tuple(facts), action)


def _release(place: Place, asking: Asking, *, main: bool = True) -> Action:
    """The button that spends: it names its price, one press, no further question."""
    charge = asking.asked.plan.charge
    if charge is None or charge.loss is None:
        words = say("Release")
    elif main:
        words = say("Release for {cost}", cost=amount(charge.loss))
    else:
        words = say("Measure it anew for {cost}", cost=amount(charge.loss))
    return Action(words, f"{_path(place)}/release", posts=True, main=main)


def _path(place: Place) -> str:
    return place.address.partition("?")[0]


def _quoted(address: str) -> str:
    return quote(address, safe="/")
