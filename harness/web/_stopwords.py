"""Words that carry no meaning in a search, per language.

Lower case, without accents removed; each list holds articles, pronouns,
prepositions, auxiliaries and the fixed phrases of quiz questions ("which of
the following …").
"""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["STOP_WORDS"]

_ENGLISH = """
a about above according after again all also although am among an and another any are aren't as at
be because been before being below between both but by
can can't cannot correct correctly could couldn't
describe described describes did didn't do does doesn't doing don't during
each either ever every except excluding exactly
few following for from further
given had hadn't has hasn't have haven't having he her here hers herself him himself his how
i if in incorrect into is isn't it it's its itself
just least let list listed made make many may me might more most much must my myself
name named neither no nor not
of off often on once one only option options or other our ours out over own
please
rather really
same select she should shouldn't so some statement statements such
than that that's the their theirs them themselves then there these they this those through to
too true false
under until up upon us usually
very via
was wasn't we were weren't what what's when where whether which while who who's whom whose why
will with within without won't would wouldn't
yes yet you your yours
"""

_ITALIAN = """
a ad agli ai al alla alle allo anche ancora avere aveva avevano
c che chi ci ciascuno cioè come con contro cosa così cui
d da dagli dai dal dalla dalle dallo degli dei del della delle dello dentro di dopo dove dunque
durante
e è ebbe ecco ed era erano esso essa essi esse
fa fra fu furono
gli già
ha hanno ho
i il in invece io
l la le lei li lo loro lui
ma mentre mi mia mie miei mio molto
né negli nei nel nella nelle nello noi non nostra nostro
o od ogni oltre oppure
per perché perciò però più poi presso prima può
qual quale quali qualsiasi quando quanta quante quanti quanto quella quelle quelli quello
quest questa queste questi questo qui quindi
sarà saranno se secondo sei seguente seguenti sempre senza si sia siano siamo sono stata state
stati stato su sua sue sugli sui sul sulla sulle sullo suo suoi
tanta tante tanti tanto tra tranne tua tue tuo tuoi tutta tutte tutti tutto
un una uno
v vi voi vostra vostro
vero falso eccetto opzione opzioni affermazione affermazioni elencati elencate risposta
"""

STOP_WORDS: Mapping[str, frozenset[str]] = {
    "en": frozenset(_ENGLISH.split()),
    "it": frozenset(_ITALIAN.split()),
}
