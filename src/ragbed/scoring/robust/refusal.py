"""Detect refusals to answer, in any wording, in English and Chinese.

A refusal says that the texts do not tell the answer, that the speaker cannot or will not give it, or that other sources
are needed. It must be about the answer: a statement that no errors are mentioned, or that another detail than the asked
one is missing, is not a refusal.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from ragbed.scoring.robust.match import Mention
from ragbed.scoring.robust.patterns import SOURCES, any_of, is_quoted, lazy, words
from ragbed.scoring.robust.phrase_rules import PhraseRule
from ragbed.scoring.robust.question import Asked
from ragbed.scoring.robust.refusal_scope import is_about_detail
from ragbed.scoring.robust.refusal_zh import RULES_ZH

_TEXTS = (
    rf"(?:{SOURCES}|information|these|they|none|results|details|(?:document|passage|source)s? \[?[0-9]\]?|\[[0-9]\])"
)
# Beginnings of verbs for what a text states, and of verbs for what a person finds out.
_TELL = any_of(
    "contain provid mention specif stat(?:e|ing|ed) includ giv(?:e|ing|en) sa(?:y|ying|id) reveal indicat address "
    "offer tell(?:s|ing)? told disclos "
    "name naming named list show cover touch discuss answer help clarif identif describ speak spoke settl resolv "
    "refer(?:s|red|ring)?_to shed confirm "
    "establish relat pertain concern deal bear explain elaborat make_(?:it_)?clear make_any make_clear record "
    "report hint suggest_who "
    "suggest_what suggest_when suggest_where suggest_how spell_out go_into detail present supply support point_to "
    "let_us "
    "bring_up say_who go_that_far explicitly directly specifically actually"
)
_FIND = any_of(
    "answer determine confirm verify identify establish deduce infer pinpoint answered determined found confirmed "
    "decide resolve "
    "pin settle choose pick conclude work_(?:it_|this_|that_)?out make_out derive derived established named "
    "inferred deduced "
    "identified verified ascertain ascertained gather glean gleaned drawn known worked_out pinned pinpointed "
    "resolved settled "
    "decided extracted extract judge use tell_from be_sure be_certain(?!_given) figure_out respond reply commit "
    "vouch compute "
    "calculate"
)
_GIVE = any_of("find provide say tell locate give know help see offer name state speak comment")
_TOLD = any_of(
    "mentioned specified provided stated given included available known clear found disclosed addressed indicated "
    "listed named "
    r"explicitly_\w+ directly_\w+ specifically_\w+ recorded reported possible_to identified described discussed "
    "answered covered present(?!_at) "
    "revealed established documented spelled_out spelt_out shown noted published confirmed told explained "
    "touched_(?:up)?on "
    "detailed visible evident obvious apparent in_here supplied listed recorded set_out brought_up said part_of"
)
_TOLD_WORDS = words(
    "mentioned specified provided stated given included available known clear found disclosed addressed indicated "
    "listed named "
    "explicitly directly specifically recorded reported possible identified described discussed answered covered "
    "present "
    "revealed established documented spelled spelt shown noted published confirmed told explained touched detailed "
    "visible "
    "evident obvious apparent supplied set brought said part"
)
_UN = any_of(
    "missing absent lacking unavailable unanswered unresolved unmentioned unnamed undisclosed unstated unspecified "
    "unidentified "
    "undetermined unknown unclear uncertain unanswerable unrecorded undocumented unexplained unsaid unreported "
    "unaddressed "
    "inconclusive indeterminate left_out omitted cut_off kept_from unsettled undefined"
)
_MATTER = any_of(
    "information info details? data evidence context mention answer knowledge record indication reference facts? "
    "hint clues? "
    "basis insight trace sign support documentation answers material detail grounds word statement passage document "
    "source "
    "reason_to_name"
)
_DO_NOT = r"\b(?:do|does|did|will|would) ?(?:not|n't)"
_CAN_NOT = any_of(
    r"\bcan_?not can't \bunable_to not_able_to not_possible_to impossible_to \bcould_not couldn't would_not_be_able_to "
    r"(?:haven't|have_not|hasn't|wasn't|was_not|am_not|'m_not)_(?:been_)?able_to no_way_(?:to|of) "
    r"(?:hard|difficult|impossible|tough|tricky)_(?:for_\w+_)?to not_(?:possible"
    r"|feasible)_(?:for_\w+_)?to no_way_for_(?:me|us)_to "
    r"in_no_position_to not_in_a_position_to failed_to fail_to not_going_to"
)
_LACK = any_of(
    r"insuff?ici?ent not_enough n't_enough inadequate lack(?:s"
    r"|ing)?(?:_of)?(?:_any)? limited without too_little scant little_or_no "
    r"(?:do|does|did)_not_have_enough not_(?:\w+_)?sufficient insufficiently short_of"
)
_SPEAKER = r"\b(?:i|we|you|one|anyone|nobody|documents?|passages?|texts?|information|it)\b"
_MORE = any_of("more additional further another other_(?:documents?|sources?|texts?|information) a_different")

RULES: tuple[PhraseRule, ...] = (
    (
        "refusal.insufficient",
        words(
            "insufficient insufficent enough inadequate lack lacks lacking limited without little scant no "
            "sufficient short "
            "thin scarce sparse vague"
        ),
        lazy(
            rf"\b{_LACK}\b(?: \w+){{0,3}}? {_MATTER}\b|\bno\b(?: [\w-]+){{0,3}}? (?!reference to \w+ errors){_MATTER}\b"
            rf"|\b(?:{_MATTER}|{SOURCES})(?: \w+){{0,3}}? (?:is|are|seems?|was|were) (?:\w+ )?(?:insufficient"
            rf"|inadequate|too (?:\w+ )?(?:thin|little|vague|limited"
            r"|sparse|scarce|scant|weak|general|brief|short|fragmentary)|(?:not|n't) (?:enough|sufficient|adequate))\b"
            r"|\b(?:is|are|has|have)(?:n't| not) (?:\w+ )?enough\b(?: \w+){0,3} to (?:go on|say|tell|answer|know"
            r"|determine|be|name|conclude|decide)"
            r"|(?:\bnot|n't)(?: \w+)? enough(?: \w+)? to (?:go on|say|tell|answer|know|determine|be|name)\b"
            r"|\binsufficient\b[.!]?$"
        ),
    ),
    (
        "refusal.unable",
        words(
            "can_not cannot can't unable not_able n't_been_able not_been_able possible impossible could_not "
            "couldn't no_way hard_to hard_for difficult_to "
            "difficult_for tough_to tricky_to no_position a_position failed_to fail_to feasible unanswerable "
            "not_answerable not_going think_i_can think_we_can "
            "think_anyone_can think_it_can think_this_can think_that_can see_how would_not_be n't_think n't_believe "
            "not_think not_believe n't_able"
        ),
        lazy(
            rf"{_CAN_NOT}(?: \w+){{0,3}}? (?:be )?{_FIND}\b"
            # The speaker must be the model or the documents, because a person can also be unable to do something.
            rf"|(?:^|[.,;:\n] ?|{_SPEAKER}[^.\n]{{0,30}}?){_CAN_NOT}(?: \w+){{0,3}}? (?:be )?{_GIVE}(?:n|ed|d)?\b"
            rf"|{_CAN_NOT} be (?:(?!right|correct|true)\w+ )?(?:said|told|given|seen|named|answered|found|known|stated"
            r"|located|provided)\b"
            r"|\b(?:can't|cannot|can not|couldn't)(?: really| possibly)? (?:tell|say|help|be sure|know)\b"
            r"|\bunanswerable\b|\bnot answerable\b"
            r"|\b(?:don't|do not) (?:think|believe|see how) (?:i|we|anyone|it|this|that) (?:can"
            r"|could)\b(?! be (?:right|correct|true|accurate))|^(?:can't"
            r"|cannot|could not|couldn't) (?:say|tell|answer|find)"
        ),
    ),
    (
        "refusal.unsaid",
        words(
            "do_not does_not did_not will_not would_not don't doesn't didn't won't wouldn't fail fails failed never "
            "nowhere"
        ),
        lazy(
            rf"(?:{_DO_NOT}|\bfail(?:s|ed)? to|\bnever|\bnowhere (?:do|does)(?: \w+){{1,2}}?)(?: (?!think|tires?"
            rf"|believe|mean|need|want|contradict)\w+){{0,2}}? (?:{_TELL})\w*\b"
            rf"|\b{_TEXTS}\b[^.;\n]{{0,60}}?{_DO_NOT}(?:[.,;]|$| so\b)"
            rf"|{_DO_NOT} (?:\w+ )?(?:have|contain|hold|include) (?:\w+ ){{0,4}}(?:{_MATTER}|access|figure|number"
            rf"|name|date|answer)\b"
            rf"|\b(?:doesn't|does not|don't|do not), [^.,\n]{{1,40}}, (?:{_TELL})\w*"
            r"|\bnever (?:\w+ )?(?:comes? up|came up|appears?|mentioned|named|stated|given|specified|identified)\b"
            rf"|(?:do|does|did)(?: not|n't) (?:\w+ )?(?:appear|come up|figure|feature|show up"
            rf"|occur) (?:\w+ ){{0,2}}?(?:in|anywhere|among)\b"
            rf"|\bdo(?:n't| not) see (?:\w+ ){{1,4}}?(?:mentioned|named|stated|given|anywhere|in)\b"
            rf"|\bdon't see (?:it|that|this|any)\b"
        ),
    ),
    (
        "refusal.unsaid",
        words(
            "is_not are_not was_not were_not been_not has_not have_not 's_not 're_not be_not is_never been_never "
            "isn't aren't wasn't weren't hasn't "
            "haven't is_nowhere was_never goes_not remains_not not_in not_seeing no"
        )
        | frozenset(f"not {word}" for word in _TOLD_WORDS),
        lazy(
            rf"\b(?:is|are|was|were|been|has|have|'s|'re|be|goes|remains?) ?(?:not|n't|never"
            rf"|nowhere)(?: been)?(?: \w+)?? (?:{_TOLD}|in (?:the|these|any|your|this|what)|there|here|among"
            rf"|something)\b"
            rf"|(?:^|[:.;\n] ?)not (?:\w+ )?(?:{_TOLD}|in (?:the|these|any|your) )|\bnot seeing (?:a|an|any|the)\b"
            rf"|\bno (?:\w+ ){{1,3}}?(?:is|are|was|were|has been|have been|gets?)(?: \w+)? {_TOLD}\b"
        ),
    ),
    (
        "refusal.unsaid",
        words(
            "none neither nothing nobody no silent nowhere omit omits skips skip leave leaves left leaving keep "
            "keeps cut cuts stop stops ends end "
            "breaks glosses"
        ),
        lazy(
            rf"\b(?:none|neither|nothing)(?: of)?(?: the| these| them| those| any)?(?: \w+)?? (?:{SOURCES})\b"
            rf"|\b(?:none|neither|nothing|nobody|no one)(?: of (?:them|these|it"
            rf"|the \w+))?(?: [\w']+){{0,4}}? (?:{_TELL}|(?:is|are|was) (?:{_TOLD}|here|there)|does|do|helps)\w*\b"
            r"|\bnothing (?:is said |is stated |at all )?(?:about|on|regarding|concerning|in|here|from|that)\b"
            rf"|\bno(?: single)?(?: \w+)?? {SOURCES} (?:\w+ )?(?:{_TELL}|is|are)\w*"
            r"|\bsilent (?:on|about|as to|regarding)\b|\bnowhere (?:in|mentioned|stated|to be found|do|does)\b"
            r"|\bno mention\b|\bmakes? no (?:mention|reference)\b"
            rf"|\b(?:leaves?|left|leaving|keeps?)(?: \w+){{1,3}}? (?:out|open|unanswered|unresolved|unsaid|unnamed"
            rf"|blank|in the dark|unclear|unstated|unspecified)\b"
            r"|\b(?:stops?|cuts? off|ends?|breaks? off) (?:short )?before\b"
            rf"|\b{SOURCES}\b[^.;\n]{{0,30}}?\b(?:omits?|skips?|leaves? (?:this|that|it) out|gloss(?:es)? over"
            rf"|stops? short)\b"
        ),
    ),
    (
        "refusal.unsaid",
        words("but_not"),
        lazy(r"\bbut not (?:who|whom|what|when|where|which|why|how|the \w+ of)\b"),
    ),
    (
        "refusal.unknown",
        words(
            "know unknown unclear uncertain idea sure certain aware clue undetermined undisclosed unspecified "
            "unstated unidentified unnamed "
            "unmentioned missing absent lacking unavailable unanswered unresolved open unrecorded undocumented "
            "inconclusive indeterminate "
            "omitted left cut applicable none / telling anybody's anyone's guess beats stumped"
        ),
        lazy(
            rf"{_DO_NOT}(?: \w+)?? know\b|\b(?:is|are|remains?|goes|go|stays?|left|'s|was|were|seems?"
            rf"|not)(?: (?!an?\b)\w+)? {_UN}\b(?! [a-z]+[a-z] (?:in|of|from)\b)|\b(?:remains?|stays|left"
            rf"|leaves? \w+) open\b"
            r"|\bno (?:idea|clue|telling|info)\b|\bi(?:'m| am) not (?:\w+ )?(?:sure|certain|aware)\b"
            r"|\bnot aware of\b|\bnot a clue\b|\bi wish i knew\b"
            r"|\b(?:anybody|anyone)'s guess\b|\bbeats me\b|\bstumped\b|\bdon't have (?:a clue|the \w+ (?:figure"
            r"|number|answer|name))\b"
            rf"|^\W*(?:answer: ?)?(?:unknown|unclear|undetermined|unspecified|unanswerable|indeterminate|undisclosed"
            rf"|n/a|none(?= ?[.,!\n]| ?$)|not (?:sure|applicable))\b"
            rf"|\b(?:an )?open question\b"
        ),
    ),
    (
        "refusal.needs-more",
        words(
            "more additional further need needs needed consult check refer another different supply provide share "
            "elsewhere ask look verify "
            "lookup search contact"
        ),
        lazy(
            rf"\b(?:need|needs|require|requires|required|without|provide|share|supply|want|have to see"
            rf"|request)\b[^.\n]{{0,24}}?"
            rf"\b{_MORE}(?: \w+)?? (?:{_MATTER}|documents?|sources?|background|texts?|passages?|version)\b"
            rf"|\b(?:more|additional|further)(?: \w+)?? (?:{_MATTER}|documents?|sources?"
            rf"|background)\b[^.\n]{{0,24}}?\b(?:needed|required|necessary|helpful)\b"
            rf"|\b(?:i|we|you|one)(?:'d| would|'ll| will| may| might| should)? (?:\w+ )?(?:need|have to"
            rf"|want) (?:to )?(?:see|look|ask|consult|check|have|find|another|some|the|a)\b"
            rf"|\b(?:please|could you|can you|you could|you can|i suggest|i recommend|i'd suggest|try|best to"
            rf"|better to|you may want to|you might want to|you should|advise)(?: \w+)?? "
            r"(?:supply|provide|share|send|attach|give|consult(?:ing)?|check(?:ing)?|refer(?:ring)? to"
            r"|look(?:ing)? (?:it |this |that )?(?:up|elsewhere|at)|ask(?:ing)?|contact(?:ing)?|search(?:ing)?"
            r"|verify(?:ing)?)\b"
            r"|\blook elsewhere\b|\b(?:another|a different|other) (?:source|document|text|passage"
            r"|reference)s? (?:\w+ )?(?:is|are|would be) (?:needed|required|necessary)\b"
        ),
    ),
    (
        "refusal.irrelevant",
        words(
            "relevant irrelevant unrelated related different else relevance other others nothing topic off-topic "
            "bearing elsewhere"
        ),
        lazy(
            rf"\b{_TEXTS}\b[^.\n]{{0,60}}?\b(?:(?:not|n't)(?: \w+)?? (?:relevant|related|about|concerned)|irrelevant"
            rf"|unrelated|off-topic|off topic"
            r"|(?:about|concern|concerns|cover|covers|describe|describes|discuss|discusses|deal with|deals with"
            r"|treat|treats|on|address|talk about) (?:\w+ )?(?:an? )?(?:different"
            r"|other (?:\w+)?|others|something else|unrelated)\b|nothing to do with|no bearing)"
            r"|\bno relevant\b|\bnot relevant to (?:the|this|your)(?: \w+)? ?(?:question|query|topic)?\b"
            r"|\bno relevance\b|\b(?:irrelevant|unrelated) to (?:the|this|your)\b|\bno bearing on\b"
        ),
    ),
    (
        "refusal.only",
        words("only merely just"),
        lazy(
            rf"\b{_TEXTS}\b(?: [\w']+){{0,3}}? (?:only|merely|just) (?:\w+ )?(?:mention|discuss|describ|cover|talk"
            rf"|refer|deal|speak|touch|list|giv|hint|concern|sa(?:y|id)|drop)\w*\b"
        ),
    ),
    (
        "refusal.open",
        words(
            "guess guessing speculate speculation speculating pass abstain decline refrain rather hesitate blank "
            "empty irresponsible scope beyond outside "
            "basis commit comfortable conjecture unwilling reluctant wild apologies sorry afraid pick depends call "
            "derived helpful confirm rule skip here"
        ),
        lazy(
            r"(?:\bnot|n't|\bwithout|\bonly be|\bjust be|\bmerely be|\bpure|\bmere|\bsheer)(?: (?!sure|certain|my"
            r"|best)\w+){0,3}? (?:guess(?:ing|work)?|speculat\w+|conjecture)\b|\bwould be (?:guessing|speculating"
            r"|speculation)\b"
            r"|\b(?:i|we)(?: \w+)? ?(?:have to |must |will |'ll |shall |would |'d )?(?:pass|abstain|decline|refrain"
            r"|skip)\b"
            r"|\b(?:i'd|i would|i'll|would) (?:rather|sooner|prefer to) not\b|\bprefer not to\b|\bhesitate to\b"
            r"|\b(?:won't|will not|wouldn't|would not) (?:guess|commit|speculate|name|venture|answer|hazard)\b"
            r"|\b(?:came|come|comes|draw|drew|drawing|turned) (?:up )?(?:an? )?(?:empty|blank|nothing)\b"
            r"|\birresponsible (?:of me |for me )?to\b|\bunwise to (?:name|say|guess)\b"
            r"|\b(?:beyond|outside) (?:the scope|what|the (?:given |provided )?(?:documents|texts|context))\b"
            r"|\bgoes beyond\b|\bdecline to\b|\bno answer\b|\bno basis\b"
            r"|\banswer (?:is|was)(?:n't| not) (?:in|here|there|given|available|present|found|among|part)\b|\b(?:is"
            r"|are)(?:n't| not) helpful\b"
            r"|\bneither confirm nor\b|\bneither \w+ nor rule\b|\bnot (?:comfortable|willing|prepared)\b"
            r"|\bwon't commit to\b|\bi (?:would|could) not call\b|\btake your pick\b"
            r"|\b(?:it|that) depends on (?:who|what)m?\b|\bin the dark\b"
        ),
    ),
    (
        "refusal.open",
        words("no there's"),
        lazy(
            r"\bno (?:such \w+|(?:\w+ )?(?:date|number|figure|name|count|year|value|person|founder|winner|place"
            r"|location)s?) (?:\w+ )?(?:is|are|was|can|could|has|have|attached|given|here|about|on|for|at all)\b"
            r"|\bthere(?:'s no| is no| are no| isn't (?:any|an?)| is not (?:any|an?)| aren't any) (?:\w+ )?(?:date"
            r"|number|figure|name|count|year|value|info|telling|way|answer)s?(?: (?:\w+ )?(?:given|here|in|stated|for"
            r"|to)\b| ?(?=[,;:!]|$))"
        ),
    ),
    *RULES_ZH,
)

_ABOUT_ERRORS = lazy(
    r"[^.,;。\n]{0,30}?\b(?:errors?|mistakes?|inaccurac\w+|inconsisten\w+|contradict\w*|incorrect|false|conflict\w*|wrong)\b"
    r"|[^,。;\n]{0,10}?(?:错误|矛盾|不一致|不实|有误|冲突|出入)"
)
_NEGATED = lazy(
    r"(?:\b(?:not|no|never|isn't|without any)|n't)(?: \w+){0,3} ?$", r"(?:不是|并非|并不是|不存在)(?: \w+){0,3} ?$"
)
_CONDITIONAL = lazy(r"\b(?:if|when|unless)\b[^.,。]{0,40}$", r"(?:如果|若|假如)[^.,。]{0,40}$")
# 'The error is that the document does not say where' criticises the document and is not a refusal.
_AS_AN_ERROR = lazy(
    r"\b(?:error|mistake)s? (?:here |in [\w ]{1,30} )?(?:is|are|was|were) that\b[^.\n]{0,60}$",
    r"错(?:误(?:之处|的地方)?(?:是|在于)|在)[:,]?[^。,;\n]{0,30}$",
)
_ANSWERS_ANYWAY = lazy(
    r"\b(?:based on|from|according to|to the best of) (?:my|general|common|prior|public)\b(?: \w+)?? knowledge\b"
    r"|\banswer (?:is|would be|should be|might be)\b(?! (?:not|un\w+|missing|absent)\b)"
    r"|\bmy (?:best )?guess\b|\bi (?:believe|think|guess|assume|suppose|suspect)\b(?! (?:it|that|this) (?:is"
    r"|can)(?: not|n't)| (?:we|i|you) (?:need|can))"
    r"|\b(?:is|was) (?:probably|likely|most likely)\b(?! (?:not|un))|\b(?:but|yet|still),? (?:it|the \w+) (?:was"
    r"|is) (?!not|un)",
    r"据我所知|根据(?:我的(?:知识|了解)|常识)|我(?:认为|猜|觉得|推测)(?!无法|不)|(?:答案|应该|大概|可能)[是为](?!因为|由于|指|否)",
)


# Rules for advice and for statements about single documents, which can also accompany an answer.
WEAK = ("refusal.needs-more", "refusal.only", "refusal.irrelevant")


def is_withdrawn(text: str, refusals: Sequence[Mention]) -> bool:
    """Return whether a response gives an answer after its refusal."""
    first = min(refusal.end for refusal in refusals)
    return _ANSWERS_ANYWAY.search(text, first) is not None


def is_refusal(text: str, match: re.Match[str], asked: Asked) -> bool:
    """Return whether a match refuses to answer the question itself."""
    before = text[max(0, match.start() - 60) : match.start()]
    if (
        is_quoted(text, match.start())
        or _ABOUT_ERRORS.match(text, match.end())
        or _NEGATED.search(before)
        or _CONDITIONAL.search(before)
    ):
        return False
    return _AS_AN_ERROR.search(before) is None and not is_about_detail(text, match, before, asked)
