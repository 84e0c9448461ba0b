"""Detect statements that the documents contain errors or contradict each other, in English."""

from __future__ import annotations

from ragbed.scoring.robust.patterns import (
    CLAIMS,
    ERROR_ADJECTIVES,
    ERROR_NOUNS,
    NOT_RIGHT,
    SAYING,
    SOURCES,
    any_of,
    lazy,
    words,
)
from ragbed.scoring.robust.phrase_rules import PhraseRule

# Excludes phrases such as 'switched off'.
_WRONG = rf"(?<!cut )(?<!called )(?<!switched )(?<!turned )(?<!taken )(?<!paid )(?<!set )(?<!shut ){ERROR_ADJECTIVES}"
_TEXT = rf"(?:{SOURCES}|{CLAIMS}|\[[0-9]\])"
_IT = "(?:this|that|it|which|these|they|those)"
_BE = r"(?:is|are|was|were|be|being|been|'s|'re|seems?|looks?|appears?|sounds?|proves?|turns? out)"
_NOT = r"(?:cannot|can not|can't|couldn't|could not|can hardly|could hardly|must not|mustn't)"
_TRULY = any_of("actually in_fact in_reality really the_(?:correct|right|actual|true|real) should_(?:be|have)")
_MADE_WRONG = any_of(
    r"confus(?:es?|ed|ing) conflat(?:es?|ed|ing) muddl(?:es?|ed) jumbl(?:es?|ed) garbl(?:es?|ed) swaps? swapped "
    r"transpos(?:es?|ed) invert(?:s|ed) switch(?:es|ed) exaggerat(?:es?|ed) overstat(?:es?|ed) understat(?:es?|ed) "
    r"inflat(?:es?|ed) slip(?:s|ped)(?:_up)? err(?:s|ed)? mix(?:es|ed) fabricat(?:es?|ed) "
    r"(?:misses|missed)_the_mark falls?_apart"
)
_MIS = (
    r"mis(?:stat|report|identif|attribut|quot|represent|dat|nam|spel|plac|lead|inform|count|label|print"
    r"|calculat|describ|assign|credit|cit|transcrib|translat|translit|put|copi)\w*"
)
_HAS_WRONG = (
    r"(?:gets?|got|getting|has|have|had|gives?|gave|names?|named|credits?|lists?|picks?|cites?|states?|uses?|prints?"
    r"|shows?|quotes?|contains?|puts?|put|describes?|mentions?|provides?|reports?|records?|claims?|says?"
    r"|makes?|made)"
)
_PLURAL = (
    r"(?:documents|docs|passages|texts|sources|articles|snippets|excerpts|reports|papers|pieces|pages|paragraphs"
    r"|entries|accounts|records|versions|materials|references|figures|numbers|dates|names|claims|statements|details"
    r"|years|answers|they|these|those|two|both|three|others?|context|information|data|text|(?:document|passage|source"
    r"|article|doc|text|report)s? \[?[0-9a-d]\]?|\[[0-9]\]|itself)"
)
_ANOTHER = r"(?:itself|themselves|each other|one another|another|the others?)"
_CONFLICT = (
    r"(?:contradict(?:s|ed|ing|ory)?|conflict(?:s|ed|ing)?|disagree(?:s|d|ing|ment)?|differ(?:s|ed|ing)?|diverg(?:es?"
    r"|ed|ing)|clash(?:es|ed|ing)?|inconsistent|incompatible|irreconcilable|at odds|at variance|out of step"
    r"|mutually exclusive|(?:do|does|did|can)(?: not|n't) (?:\w+ )?(?:agree|match|tally|add up|line up|go together"
    r"|square|fit|correspond|both be|all be)|not (?:\w+ )?(?:agree|match|tally|consistent|in agreement)"
    r"|vary|varies|tell (?:a )?different|gives? different|give different|name different|report different|say different)"
)
_UNTRUSTED = (
    r"(?:don't|do not|wouldn't|would not|can't|cannot|shouldn't|should not|couldn't|hard to|difficult to|not to|never"
    r"|unwise to|not be) (?:\w+ )?(?:be )?(?:trust(?:ed)?|believ(?:e|ed)|rel(?:y|ied) (?:up)?on|go by|accept(?:ed)?"
    r"|take \w+ \w+ at face value)"
)
_CORRECTING = (
    r"(?:should|must|needs? to|has to|have to|ought to) (?:probably |really )?(?:be )?(?:corrected|fixed|updated"
    r"|revised|removed"
    r"|disregarded|ignored|discarded|amended|treated as|read as)"
)
CONTRADICTIONS = words(
    "contradict contradicts contradicted contradicting contradictory conflict conflicts conflicted conflicting "
    "disagree disagrees "
    "disagreed disagreement differ differs differed differing different diverge diverges clash clashes clashing "
    "inconsistent "
    "incompatible irreconcilable at_odds at_variance out_of_step mutually not_agree n't_agree not_match n't_match "
    "not_tally n't_tally "
    "not_fit n't_fit not_square n't_square add_up line_up go_together not_correspond both_be all_be vary varies "
    "not_consistent something "
    "another is_wrong is_false is_mistaken is_incorrect be_wrong be_false be_mistaken be_incorrect in_error"
)

RULES_EN: tuple[PhraseRule, ...] = (
    (
        "flag.errors",
        words(
            "error errors inaccuracy inaccuracies mistake mistakes inconsistency inconsistencies contradiction "
            "contradictions misinformation discrepancy discrepancies falsehood falsehoods untruth untruths typo typos "
            "misprint misprints mix-up mixup erratum errata fallacy conflict disagreement slip slips problem correction"
        ),
        lazy(
            rf"(?<!by )\b(?:{ERROR_NOUNS})\b|\b(?:slips?|problem|conflict|disagreement|correction"
            rf"|flaws?)\b (?:here )?(?:in|with|between|among"
            rf"|to|of) (?:\w+ ){{0,3}}?{SOURCES}\b|\b{SOURCES}\b[^.;\n]{{0,40}}?\b(?:an?|is) (?:\w+ )?slip\b"
        ),
    ),
    (
        "flag.errors",
        words("incorrect wrong false inaccurate mistaken erroneous untrue misleading bogus fabricated"),
        lazy(
            rf"\b(?:incorrect|wrong|false|inaccurate|mistaken|erroneous|untrue|misleading|bogus|fabricated"
            rf"|contradictory) "
            rf"(?:{CLAIMS}|{SOURCES})\b"
        ),
    ),
    (
        "flag.wrong",
        (
            words(
                "incorrect wrong false inaccurate mistaken erroneous untrue misleading fictional fabricated bogus "
                "spurious "
                "fictitious fake flawed faulty implausible dubious outdated obsolete garbled nonsense absurd "
                "unreliable "
                "untrustworthy unbelievable inflated exaggerated suspect suspicious questionable invalid off error "
                "impossible "
                "unfounded baseless unsupported mix-up slip correct true right accurate factual believable credible "
                "plausible genuine valid reliable trustworthy invention forgery misprint typo mistake "
                "out_of_date made_up"
            ),
            words("is are was were be being been seem seems appear appears look looks sound sounds isn't wasn't aren't")
            | frozenset("'"),
        ),
        lazy(
            rf"\b{_TEXT}\b(?:(?! may | might | could )[^.;\n]){{0,110}}?\b{_BE}(?: [\w-]+){{0,3}}? "
            rf"{_WRONG}\b(?! that| to\b)"
            rf"|\b{_TEXT}\b[^.;\n]{{0,80}}?(?:\b{_BE}\b {NOT_RIGHT}|n't (?:\w+ )?(?:correct|true|accurate|right"
            rf"|reliable|credible|believable|genuine))\b"
            rf"|\b{_IT}\b(?: \w+){{0,2}}?(?: {_BE}|'s)(?: [\w-]+){{0,3}}? (?:{_WRONG}"
            rf"|{NOT_RIGHT})\b(?! that| to\b)"
            rf"|\b{_IT} (?:is|was)n't (?:correct|true|accurate|right)\b|^(?:not (?:correct|true|accurate|right)"
            rf"|wrong|incorrect|false)[.!:,]"
        ),
    ),
    (
        "flag.wrong",
        (words("cannot can't can couldn't could must mustn't"), words("be been have")),
        lazy(
            r"(?:don't|do not) think (?:that|this|it) (?:can|could) be (?:right|correct|true|accurate)\b|"
            rf"{_NOT} (?:possibly |really |both |all |be both )?(?:be|have been) (?:\w+ )?(?:right|correct|true"
            rf"|accurate|trusted|relied"
            rf"|believed|genuine|valid)\b|\b{_TEXT}\b[^.;\n]{{0,40}}?\bmust (?:\w+ )?(?:be"
            rf"|have) (?:\w+ ){{0,2}}?(?:{ERROR_ADJECTIVES}"
            r"|(?:an? )?(?:error|mistake|typo|misprint|mix-up|slip))\b"
        ),
    ),
    (
        "flag.wrongly",
        words("incorrectly wrongly mistakenly falsely erroneously inaccurately"),
        lazy(
            rf"\b(?:incorrectly|wrongly|mistakenly|falsely|erroneously|inaccurately) (?:\w+ )?(?:{SAYING}|puts?"
            rf"|gives?|gave|given"
            r"|dates?|dated|places?|placed|credit\w*|print\w*|quot\w*|cites?|cited|shows?|uses?|used|attribut\w*)\w*"
        ),
    ),
    (
        "flag.contrary",
        words(
            "contrary despite spite whatever matter regardless notwithstanding contradict contradicts otherwise "
            "conflict conflicts "
            "odds variance inconsistent clash clashes"
        ),
        lazy(
            rf"\b(?:contrary to|despite|in spite of|whatever|no matter what|regardless of"
            rf"|notwithstanding)(?: what)?(?: (?:the|this|that"
            rf"|these|your|one|any|some))?(?: [\w']+){{0,2}}? (?:{SOURCES}|it)\b(?: (?:says?|said|claims?|states?"
            rf"|suggests?|may say|might say))?"
            r"|\b(?:contradicts?|conflicts? with|at odds with|at variance with|inconsistent with"
            r"|clash(?:es)? with) (?:the |all |every |what |well-)?"
            r"(?:\w+ )?(?:known|facts?|reality|history|historical|established|common|record|truth|knowledge|evidence"
            r"|chronology|science|(?:i|we)(?: \w+)? (?:know|learned|learnt|remember|recall))\b"
            rf"|\b{SOURCES}\b[^.;\n]{{0,30}}?\bsays? otherwise\b"
        ),
    ),
    (
        "flag.correction",
        (
            words("but however although though while not whereas yet"),
            words(
                "document documents doc docs passage passages text texts source sources article articles snippet "
                "excerpt says stated "
                "claimed mentioned suggested report reports entry book page brochure context claims would it "
                "magazine paper"
            ),
        ),
        lazy(
            rf"\b{SOURCES}\b[^.\n]{{0,80}}?\b(?:but|however|although|yet)\b[^.\n]{{0,40}}?\b{_TRULY}\b"
            rf"|\b(?:although|though|while|whereas|even though) [^.\n]{{0,24}}?\b{SOURCES}\b[^.\n]{{0,24}}?"
            rf"\b(?:{SAYING})\w*\b[^.\n]{{1,60}}?, [^.\n]{{0,40}}?\b{_TRULY}\b"
            rf"|\bnot [^.;\n]{{1,50}}?,? as (?:it|the|this|that|one|your)?(?: \w+){{0,2}}? ?(?:{SOURCES}"
            rf"|it) (?:\w+ )?(?:{SAYING}|would|has|puts|have)"
            rf"|\bnot [^.,;\n]{{1,40}}? as (?:stated|claimed|mentioned|suggested|written|reported|printed|given)\b"
        ),
    ),
    (
        "flag.mistake",
        words(
            "confuses confused confusing confuse conflates conflated conflate muddles muddled jumbled garbled "
            "swapped swap swaps "
            "transposed transposes inverted switched exaggerates exaggerated overstates overstated understates "
            "understated inflated "
            "inflates slipped slips argue argues errs erred err mixes mixed mix fabricates fabricated contradicts "
            "wrong altered "
            "tampered doctored "
            "edited replaced corrupted reversed zero digit decimal falls missed misses mark invented"
        ),
        lazy(
            rf"\b{_TEXT}\b[^.;\n]{{0,60}}?(?<!not )\b{_MADE_WRONG}\b"
            r"|\b(?:author|writer|editor|whoever|typist|someone|somebody)\b[^.;\n]{0,50}?\b(?:slipped|erred|misread"
            r"|made a (?:mistake|slip)|got (?:it|this|that) wrong|mixed)\b"
            rf"|\b{_PLURAL}\b[^.;\n]{{0,20}}?\bargue with (?:each other|one another)\b"
            rf"|\b(?:{_TEXT}|{_IT})\b[^.;\n]{{0,60}}?\b{_HAS_WRONG}\b(?: [\w'-]+){{0,6}}? (?:wrong|mixed up"
            rf"|backwards|muddled|confused|the wrong way)\b"
            rf"|\b(?:{_TEXT}|{_IT})\b[^.;\n]{{0,60}}?\b(?:has|have|had|was|were|is|are|to have)(?: apparently"
            rf"| clearly| obviously)?(?: been)? (?:altered|tampered|swapped"
            r"|doctored|corrupted|reversed|transposed|switched(?! off| on)|mixed up|invented|made up)\b"
            rf"|\b(?:swapped|switched|mixed up|confused|transposed|reversed|altered|changed) (?:the |these |those "
            rf"|two )(?:\w+ )?(?:dates|names|years|numbers|figures|digits|facts)\b"
            r"|\b(?:lost|dropped|added|missed|misplaced|missing|extra|swapped|transposed)(?: an?| the| some"
            r"| two)? (?:\w+ )?(?:zeroe?s?|digits?|decimals?)\b"
        ),
    ),
    (
        "flag.mistake",
        words(
            "misstates misstated misreports misreported misidentifies misidentified misattributes misattributed "
            "misquotes misquoted misrepresents misdates misdated misnames misnamed misspells misspelled misplaces "
            "misplaced misleads misinforms misinformed miscounts miscounted mislabels mislabelled mislabeled "
            "misprinted miscalculates miscalculated misdescribes misassigned miscredits miscredited miscites "
            "misputs mistranslates mistranslated mistranscribed mislead misstating"
        ),
        lazy(rf"\b{_TEXT}\b[^.;\n]{{0,60}}?\b{_MIS}|\b{_MIS} (?:by|in|on) (?:the |this |that )?(?:\w+ )?{SOURCES}\b"),
    ),
    (
        "flag.contradiction",
        CONTRADICTIONS,
        lazy(
            rf"\b{_PLURAL}\b(?:(?! not |n't |\b(?:no|nothing|nobody|none|never|neither"
            rf"|without)\b)[^.;\n]){{0,60}}?\b{_CONFLICT}\b(?! from (?:mine|ours)| (?:in|on) (?:style|tone))"
            rf"|\b(?:contradict|conflict)(?:s|ing|ed)?(?: with)? (?:{_ANOTHER}|(?:document|passage|source|article"
            rf"|text)s? \[?[0-9a-d]|\[[0-9])"
            rf"|\b(?:conflicting|contradictory|inconsistent|contradicting|incompatible"
            rf"|differing) (?:\w+ ){{0,2}}?(?:{CLAIMS}|{SOURCES}|answers?|accounts?|versions?|[a-z]+s)\b"
            rf"|\b(?:{SOURCES}"
            rf"|one) \[?[0-9a-d]?\]?(?: \w+)? (?:{SAYING})\w* one\b[^.;\n]{{1,50}}? (?:{SAYING})\w* (?:another"
            rf"|a different)\b"
            rf"|\b(?:inconsistent|at odds|at variance|conflicts?|disagrees?|clash(?:es)?|does not (?:agree|match"
            rf"|square|fit)|doesn't (?:agree|match|square|fit))(?: with)? (?:\w+ ){{0,3}}?{SOURCES}\b"
            r"|\b(?:mention|name|give|list|report|state)s? different (?:\w+ )?(?:authors?|names?|dates?|numbers?"
            r"|figures?|answers?|people|years?|places?|cities|persons?|values?)\b"
            r"|\bon one page,? [^.;\n]{1,40} on another\b"
            r"|\bvar(?:y|ies) from (?:article|document|source|passage|text)\b"
            r"|\b(?:one|some|which|at least one|either)(?: of (?:these|them|the (?:two|\w+)))? (?:is|must be"
            r"|has to be) (?:wrong|false|mistaken|incorrect|in error)\b"
            r"|\bsomething (?:is|seems|looks|does(?:n't| not))(?: \w+)? (?:off|wrong|not right|fishy|amiss|add up"
            r"|adds up|fit)\b"
        ),
    ),
    (
        "flag.unreliable",
        words(
            "trust trusted believe believed rely relied accept accepted of_salt caution with_care take_issue "
            "dispute disputes doubt as_false as_wrong "
            "corrected fixed updated revised removed disregarded ignored discarded amended treated correct beware "
            "careful unfounded "
            "should must_be must_read wary sceptical skeptical hold_up hold_water stand_up disagree suspect "
            "square_with ring_true survive make_sense"
        ),
        lazy(
            rf"\b{_UNTRUSTED}\b[^.;\n]{{0,24}}?\b(?:{_TEXT}|it|them|that)\b"
            rf"|\b{_TEXT}\b[^.;\n]{{0,40}}?\b{_UNTRUSTED}\b|\b{_TEXT}\b[^.;\n]{{0,60}}?\b{_CORRECTING}\b"
            r"|\b(?:grain|pinch) of salt\b"
            rf"|\b(?:treat|take|use|read|handle)\b[^.;\n]{{0,30}}?\b(?:{_TEXT}|it|this"
            rf"|them)\b[^.;\n]{{0,20}}?\b(?:caution|care|as (?:false|wrong|suspect|unreliable))\b"
            rf"|\b(?:i|i'd|we|must|would|have to)(?: \w+)? (?:take issue with|disagree with|dispute|question|doubt"
            rf"|suspect) (?:the|this|that|what|your)(?: [\w']+){{0,3}}? {_TEXT}\b"
            rf"|\b(?:have to|has to|must|should|need to|needs to|let me|i'd like to|want to|to) (?:correct"
            rf"|fix) (?:the|this|these|that|your|an?) (?:\w+ )?{_TEXT}\b"
            rf"|\b(?:be careful|careful|beware|wary|sceptical|skeptical)(?: \w+)? (?:the|this|these|that"
            rf"|your) (?:\w+ )?{SOURCES}\b"
            rf"|\b{SOURCES}\b[^.;\n]{{0,40}}?\bshould (?:read|say|have (?:read|said|named|been|given|stated))\b"
            rf"|\b{_TEXT}\b[^.;\n]{{0,50}}?\b(?:do|does|did|will|would)(?: not|n't) (?:\w+ )?(?:hold up|hold water"
            rf"|add up|stand up|square with|ring true|survive|make sense)\b"
            r"|\b[0-9][0-9.,]* (?:should|must) (?:\w+ )?(?:be|read|have been) [0-9]"
        ),
    ),
)
