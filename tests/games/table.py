"""Players that follow a script, for the tests of the game loop."""

import time

from harness.evidence import Evidence
from harness.quiz import Answer, Basis, Category, Gold, Option, ParseStep, Question

RIGHT = "rowan"
NAMES = ("alder", "birch", "cedar", RIGHT)


def make_questions(per_category=5, categories=tuple(Category)):
    return [
        Question(
            f"{category.value}-{number}",
            category,
            f"What grows at place {number} of {category.value}?",
            tuple(Option(place, f"{name} {number}") for place, name in enumerate(NAMES)),
            Gold(f"{RIGHT} {number}"),
        )
        for category in category_list(categories)
        for number in range(per_category)
    ]


def category_list(categories):
    return [Category(one) for one in categories]


class Player:
    """Knows all the answers; ``moods`` maps the n-th question (from 1) to something else.

    A mood is ``"wrong"``, a number of seconds to think, or an exception to
    raise.  ``asked`` is the history of questions, ``transports`` of what came
    with them.
    """

    def __init__(self, moods=None, thinks_s=0.0):
        self.moods = moods or {}
        self.thinks_s = thinks_s
        self.asked = []
        self.transports = []
        self.closed = False

    def describe(self):
        return {"engine": "script"}

    def play(self, question, transport, trace):
        self.transports.append(transport)
        return self.answer(question, Evidence.none(), trace)

    def research(self, text, category, transport, trace):
        self.transports.append(transport)
        with trace.stage("search"):
            trace.note(query=text)
        return Evidence.none()

    def answer(self, question, evidence, trace):
        self.asked.append(question)
        mood = self.moods.get(len(self.asked))
        with trace.stage("generate"):
            if self.thinks_s:
                time.sleep(self.thinks_s)
            if isinstance(mood, Exception):
                raise mood
            if isinstance(mood, (int, float)):
                time.sleep(mood)
        trace.note(output="ANSWER")
        options = [one for one in question.options if one.text.startswith(RIGHT)]
        if mood == "wrong":
            options = [one for one in question.options if not one.text.startswith(RIGHT)]
        return Answer(options[0], Basis.MODEL, ParseStep.TEXT)

    def close(self):
        self.closed = True
